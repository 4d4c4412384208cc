#!/bin/sh
# test.sh: setup, release build in build/, all tests, style. Ends with `N passed, M failed`; the
# exit status is 0 only when M is 0. Needs apt and nothing else.
set -u
cd "$(dirname "$0")/.." || exit 1
build=build
log=$build/build-and-tests.log

fail() {
    echo "test.sh: $1" >&2
    echo "0 passed, 1 failed"
    exit 1
}

mkdir -p $build
sh tools/setup.sh || fail "packages are missing"
sh tools/build_and_count.sh $build -DCMAKE_BUILD_TYPE=Release -DSINTER_SANITIZE= >$log 2>&1
tests=$(tail -n 1 $log)
case $tests in
*" passed, 0 failed") ;;
*) tail -n 60 $log ;;
esac
sh tools/style.sh $build >$build/style.log 2>&1
style=$(tail -n 1 $build/style.log)
sed '$d' $build/style.log

# "a passed, b failed" twice -> the sum
echo "tests: $tests"
echo "style: $style"
printf '%s\n%s\n' "$tests" "$style" | awk '
    /^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3; n++ }
    END { if (n != 2) f++; printf "%d passed, %d failed\n", p, f; exit f > 0 }'
