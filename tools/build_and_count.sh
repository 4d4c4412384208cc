#!/bin/sh
# build_and_count.sh BUILD [CMAKE OPTION...]: configures, builds, runs all tests there, and ends
# with `N passed, M failed`. The log stays in BUILD/test.log. The environment may choose:
#     SINTER_TESTS_RUN    only the tests whose names match this regular expression
#     SINTER_TESTS_LEAVE  not these
#     SINTER_TARGETS      what to build for that, if not all
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
shift
# shellcheck disable=SC2086 # a list of names
if ! cmake -S . -B "$build" -DSINTER_TESTS=ON "$@" ||
    ! cmake --build "$build" -j "$(nproc)" ${SINTER_TARGETS:+--target $SINTER_TARGETS}; then
    echo "0 passed, 1 failed"
    exit 1
fi
# Tests run two at a time: many of them use two threads.
ctest --test-dir "$build" -V -j 2 --timeout 1200 --no-tests=error \
    ${SINTER_TESTS_RUN:+-R "$SINTER_TESTS_RUN"} ${SINTER_TESTS_LEAVE:+-E "$SINTER_TESTS_LEAVE"} \
    >"$build/test.log" 2>&1
grep -E '^[0-9]+: .*(\[  FAILED|FAILED: |\[   LINE|ERROR|WARNING: |runtime error)' "$build/test.log"
grep -E 'Test +#.*(\*\*\*|Not Run)' "$build/test.log"
awk -f tools/count_tests.awk "$build/test.log"
