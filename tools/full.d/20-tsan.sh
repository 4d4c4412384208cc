#!/bin/sh
# All tests under ThreadSanitizer. Its fixed shadow needs the old address layout, which setarch -R
# gives.
cd "$SINTER_ROOT" || exit 1
setarch -R sh tools/build_and_count.sh "$SINTER_OUT" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSINTER_SANITIZE=thread
