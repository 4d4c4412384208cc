#!/bin/sh
# judges_test.sh BIN: the judges of the other suites can say no. Ends with "N passed, M failed".
set -u
outcheck=$1/outcheck
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0
expect() { # status sentence command...
    want=$1 sentence=$2 got=0
    shift 2
    "$@" >"$tmp/log" 2>&1 || got=$?
    if [ $got -eq "$want" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $sentence (status $got)"
        sed 's/^/    /' "$tmp/log"
    fi
}
# tensor FOLDER TYPE DIM BYTES: a TensorProto with raw data (octal escapes, BYTES = length, data).
tensor() {
    mkdir -p "$tmp/$1"
    # shellcheck disable=SC2059 # the escapes are the point
    printf "\\010\\$3\\020\\$2\\112$4" >"$tmp/$1/output_0.pb"
}
check() { (cd "$tmp" && "$outcheck" "$@"); }

tensor one 001 001 '\004\000\000\200\077'   # 1.0f
tensor next 001 001 '\004\001\000\200\077'  # the next float
tensor far 001 001 '\004\000\000\220\077'   # 1.125f
tensor nan 001 001 '\004\000\000\300\177'
tensor zero 001 001 '\004\000\000\000\000'
tensor minus 001 001 '\004\000\000\000\200' # -0.0f
tensor int 006 001 '\004\000\000\200\077'
tensor two 001 002 '\010\000\000\200\077\000\000\200\077'
tensor u8 002 001 '\001\007'
tensor u8b 002 001 '\001\010'
tensor short 001 002 '\004\000\000\200\077'
mkdir "$tmp/empty"

expect 0 "equal outputs are equal" check one one
expect 0 "the next float is near enough by default" check one next
expect 1 "the next float is not equal bit by bit" check --bits 1 one next
expect 1 "the next float is not within a tolerance of zero" check --rtol 0 --atol 0 one next
expect 1 "an eighth is too far" check one far
expect 0 "an eighth is near enough when the rule says so" check --rel 0.2 one far
expect 1 "a number for NaN is wrong" check nan one
expect 1 "NaN for a number is wrong" check one nan
expect 0 "NaN for NaN is right" check --bits 1 nan nan
expect 0 "-0 is 0" check zero minus
expect 1 "-0 is not 0 bit by bit" check --bits 1 zero minus
expect 1 "another type is wrong" check one int
expect 1 "another shape is wrong" check one two
expect 1 "integers are exact" check u8 u8b
expect 0 "integers within the steps allowed" check --steps 1 u8 u8b
expect 1 "a missing output is wrong" check one empty
expect 1 "nothing to compare with is not success" check empty one
expect 1 "a tensor with too few bytes is wrong" check one short
mkdir "$tmp/sample"
expect 0 "a sample is made" check --sample 2 two/output_0.pb sample/output_0.sample
expect 0 "a sample is like the whole" check sample two
expect 1 "a sample knows the shape" check sample one
sed -i '2s/ .*/ 0x1.2p+0/' "$tmp/sample/output_0.sample"
expect 1 "a sample knows the values" check sample two

judge() { sh "$here/ratchet.sh" "$tmp/list" "$tmp/results"; }
results() { printf "$1" >"$tmp/results"; }
printf '# known\nbad\n' >"$tmp/list"
results 'pass\tgood\t\nfail\tbad\twhy\n'
expect 0 "what is listed may fail" judge
results 'fail\tgood\twhy\nfail\tbad\twhy\n'
expect 1 "what is not listed must not fail" judge
results 'pass\tgood\t\npass\tbad\t\n'
expect 1 "what is listed must not pass" judge
results 'pass\tgood\t\n'
expect 1 "what is listed must have been run" judge
: >"$tmp/results"
expect 1 "no case at all is not success" judge
results 'fail\tgood\twhy\npass\tbad\t\n'
expect 0 "blessing takes the results as they are" \
    sh "$here/ratchet.sh" "$tmp/list" "$tmp/results" --bless
expect 0 "blessing keeps the comment" grep -qx '# known' "$tmp/list"

echo "$passed passed, $failed failed"
[ $failed = 0 ]
