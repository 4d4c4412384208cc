#!/bin/sh
# mkops_test.sh MKOPS: rows become a sorted table; whatever is wrong with a row is an error that
# names the line.
set -u
mkops=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

verdict() { # sentence status
    if [ "$2" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1"
    fi
}

rejects() { # sentence rows line
    printf '%s\n' "$2" >"$tmp/a.c"
    "$mkops" "$tmp/out.c" "$tmp/a.c" 2>"$tmp/err" || grep -q "a.c:$3: error" "$tmp/err"
    status=$?
    [ $status = 0 ] && ! [ -s "$tmp/err" ] && status=1
    verdict "$1" $status
}

cat >"$tmp/a.c" <<'ROWS'
/* A comment with an example:
 *     OP("Ignored", "", 1, ignored)
 */
OP("Relu", "", 14, relu)
OP("Relu", "", 6, relu6)
OP("Abs",
    "ai.onnx.ml", 1, abs_ml)
ROWS
"$mkops" "$tmp/out.c" "$tmp/a.c" &&
    sed -n 's/^    &\(op_def_[a-z0-9_]*\),.*/\1/p' "$tmp/out.c" >"$tmp/rows"
printf 'op_def_abs_ml\nop_def_relu6\nop_def_relu\n' | cmp -s - "$tmp/rows"
verdict "rows are sorted by type, domain, version" $?
grep -q 'op_table_n = 3;' "$tmp/out.c"
verdict "the count is that of the rows" $?
"$mkops" "$tmp/out.c" && grep -q 'op_table_n = 0;' "$tmp/out.c"
verdict "no files make an empty table" $?

rejects "a row twice is an error" 'OP("A", "", 1, a)
OP("A", "", 1, b)' 2
rejects "a function twice is an error" 'OP("A", "", 1, a)
OP("B", "", 1, a)' 2
rejects "a row without a version is an error" 'OP("A", "", a)' 1
rejects "version 0 is an error" 'OP("A", "", 0, a)' 1
rejects "an unfinished row is an error" '
OP("A", "", 1' 2

echo "$passed passed, $failed failed"
[ $failed = 0 ]
