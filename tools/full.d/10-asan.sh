#!/bin/sh
# All tests under AddressSanitizer (leaks included) and UndefinedBehaviorSanitizer, the cases from
# bug reports as they run by default, and 10,000 mutants of models instead of test.sh's 1,000.
cd "$SINTER_ROOT" || exit 1
export MODES=fused CPU_LIMIT=60 SINTER_TESTS_LEAVE='^(fuzz_import|test_cuda)$'
sh tools/build_and_count.sh "$SINTER_OUT" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DSINTER_SANITIZE=address,undefined >"$SINTER_OUT/tests.log"
cat "$SINTER_OUT/tests.log"

half() { "$SINTER_OUT/tests/fuzz/fuzz_import" 5000 "$1" >"$SINTER_OUT/fuzz$1.log" 2>&1; }
half 0 &
half 5000
second=$?
wait $!
first=$?
tail -n 20 "$SINTER_OUT/fuzz0.log" "$SINTER_OUT/fuzz5000.log"
# The tests' sum, and a verdict for each half of the mutants.
bad=$(((first != 0) + (second != 0)))
tail -n 1 "$SINTER_OUT/tests.log" | awk -v bad=$bad '{
    printf "%d passed, %d failed\n", $1 + 2 - bad, $3 + bad
    exit $3 + bad > 0 }'
