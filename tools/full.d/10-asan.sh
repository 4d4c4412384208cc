#!/bin/sh
# All tests under AddressSanitizer (leaks included) and UndefinedBehaviorSanitizer.
cd "$SINTER_ROOT" || exit 1
sh tools/build_and_count.sh "$SINTER_OUT" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSINTER_SANITIZE=address,undefined
