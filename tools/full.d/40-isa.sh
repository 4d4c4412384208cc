#!/bin/sh
# Every instruction set that this CPU has, and 1 to 4 threads: each committed model verifies, fused
# against the oracle.
cd "$SINTER_ROOT" || exit 1
passed=0 failed=0

levels=sse2
grep -qw fma /proc/cpuinfo && grep -qw avx2 /proc/cpuinfo && levels="$levels avx2"
grep -qw avx512vl /proc/cpuinfo && grep -qw avx512dq /proc/cpuinfo && levels="$levels avx512"

for model in models/*/*.onnx models/*.onnx; do
    [ -f "$model" ] || continue
    for isa in $levels; do
        for threads in 1 2 4; do
            if "$SINTER_BUILD/sinter" verify "$model" --isa "$isa" --threads $threads \
                >"$SINTER_OUT/log" 2>&1; then
                passed=$((passed + 1))
            else
                failed=$((failed + 1))
                echo "FAILED: sinter verify $model --isa $isa --threads $threads"
                tail -n 5 "$SINTER_OUT/log"
            fi
        done
    done
done
[ $((passed + failed)) -gt 0 ] || failed=1 # no model found: nothing was proven
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
