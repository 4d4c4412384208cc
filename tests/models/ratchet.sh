#!/bin/sh
# ratchet.sh - judges the results of a suite against the checked-in list of cases that do not
# pass yet.
#
#     sh ratchet.sh LIST RESULTS [--bless]
#
# RESULTS has a line per case: "pass" or "fail", tab, the case's name, tab, why it failed. LIST
# has a name per line (# starts a comment). It fails in both directions: an unlisted case that
# fails is a regression, a listed one that passes must be taken off the list, so that it can
# never fail again unnoticed; a listed name that was not run at all is stale. --bless rewrites
# LIST from RESULTS, keeping its leading comment. Ends with "N passed, M failed"; a failure that
# is on the list counts as neither.
set -eu
list=$1 results=$2 bless=${3:-}
[ -s "$results" ] || { echo "ratchet: no case was run" >&2; echo "0 passed, 1 failed"; exit 1; }
if [ "$bless" = --bless ]; then
    {
        [ ! -f "$list" ] || sed -n '/^#/!q;p' "$list"
        awk -F'\t' '$1 == "fail" { print $2 }' "$results" | LC_ALL=C sort
    } >"$list.new"
    mv "$list.new" "$list"
fi
awk -F'\t' -v list="$list" '
BEGIN {
    while ((getline line < list) > 0)
        if (line != "" && line !~ /^#/) expected[line] = 1
}
{ ran[$2] = 1; total++ }
$1 == "pass" { right++ }
$1 == "pass" && !($2 in expected) { passed++ }
$1 == "pass" && ($2 in expected) { print "passes now, take it off " list ": " $2; failed++ }
$1 != "pass" && !($2 in expected) { print "FAILED: " $2 ": " $3; failed++ }
END {
    for (name in expected)
        if (!(name in ran)) { print "listed in " list " but was not run: " name; failed++ }
    printf "%d of %d cases are right, %d known not to be yet\n", right, total, total - right
    printf "%d passed, %d failed\n", passed, failed
    exit failed > 0
}' "$results"
