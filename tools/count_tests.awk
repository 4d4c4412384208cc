# count_tests.awk: adds up the output of `ctest -V` into `N passed, M failed`.
#
# ctest prefixes each line of test K with "K: ". cmocka ends a group with "[  PASSED  ] n test(s)."
# and, when some failed, "[  FAILED  ] m test(s), listed below:". Scripts end with "N passed, M
# failed". A program that fails without saying how many (it crashed, timed out, was never built)
# counts as one failure, one that passes silently as one pass; a skipped test is a failed test.
/^[0-9]+: \[  PASSED  \] [0-9]+ test/ { k = $1 + 0; said[k] = 1; passed += $5 }
/^[0-9]+: \[  FAILED  \] [0-9]+ test/ { k = $1 + 0; said[k] = 1; bad[k] += $5; failed += $5 }
/^[0-9]+: \[  SKIPPED \] [0-9]+ test/ { k = $1 + 0; bad[k] += $5; failed += $5 }
/^[0-9]+: [0-9]+ passed, [0-9]+ failed/ {
    k = $1 + 0
    said[k] = 1
    passed += $2
    bad[k] += $4
    failed += $4
}
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
    k = $0
    sub(/^.*#/, "", k)
    k += 0
    if ($0 ~ / Passed /) {
        if (!said[k])
            passed++
    } else if (!bad[k])
        failed++
    seen++
}
END {
    if (!seen) # ctest itself failed
        failed++
    printf "%d passed, %d failed\n", passed, failed
    exit failed > 0
}
