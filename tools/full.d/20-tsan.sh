#!/bin/sh
# What runs threads, under ThreadSanitizer: the pool, the public interface, symbolic dims, the
# memory plan, the kernels. Its fixed shadow needs the old address layout, which setarch -R gives.
cd "$SINTER_ROOT" || exit 1
SINTER_TARGETS='test_threads test_api test_symbolic test_plan test_kernels'
SINTER_TESTS_RUN='^(test_threads|test_api|test_symbolic|test_plan|test_kernels)$'
export SINTER_TARGETS SINTER_TESTS_RUN
exec setarch -R sh tools/build_and_count.sh "$SINTER_OUT" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSINTER_SANITIZE=thread
