#!/bin/sh
# build_and_count.sh BUILD [CMAKE OPTION...]: configures, builds, runs all tests there, and ends
# with `N passed, M failed`. The log stays in BUILD/test.log.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1
shift
if ! cmake -S . -B "$build" -DSINTER_TESTS=ON "$@" || ! cmake --build "$build" -j "$(nproc)"; then
    echo "0 passed, 1 failed"
    exit 1
fi
ctest --test-dir "$build" -V --timeout 1200 >"$build/test.log" 2>&1
grep -E '^[0-9]+: .*(\[  FAILED|FAILED: |\[   LINE|ERROR|WARNING: |runtime error)' "$build/test.log"
grep -E 'Test +#.*(\*\*\*|Not Run)' "$build/test.log"
awk -f tools/count_tests.awk "$build/test.log"
