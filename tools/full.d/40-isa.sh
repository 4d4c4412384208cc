#!/bin/sh
# Every instruction set that this CPU has, and 1 to 4 threads: the committed models and the small
# zoo give their recorded answers.
cd "$SINTER_ROOT" || exit 1
passed=0 failed=0

levels=sse2 best=sse2
has() { for flag; do grep -qw "$flag" /proc/cpuinfo || return 1; done; }
has avx2 fma f16c && levels="$levels avx2" best=avx2
has avx2 fma f16c avx512f avx512bw avx512vl avx512dq && levels="$levels avx512" best=avx512

suite() { # script what: run with $SINTER_OPTIONS, and added to the sums
    sh "tests/$1/run.sh" "$SINTER_BUILD/sinter" "$SINTER_BUILD/tests/zoo-tools" "$2" \
        >"$SINTER_OUT/log" 2>&1
    total=$(tail -n 1 "$SINTER_OUT/log" | grep -E '^[0-9]+ passed, [0-9]+ failed$') ||
        total='0 passed, 1 failed'
    [ "${total##*, }" = '0 failed' ] || {
        echo "$1 $2 with $SINTER_OPTIONS:"
        tail -n 20 "$SINTER_OUT/log"
    }
    passed=$((passed + ${total%% *}))
    rest=${total##*, }
    failed=$((failed + ${rest%% *}))
}
both() {
    export SINTER_OPTIONS="--isa $1 --threads $2"
    suite zoo small
    suite models committed
}
for isa in $levels; do both "$isa" 1; done
both $best 2
both $best 4
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
