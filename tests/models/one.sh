#!/bin/sh
# one.sh - runs one model on one data set in one mode, judges the outputs, prints a result line
# for ratchet.sh.
#
#     sh one.sh NAME MODEL INPUTS EXPECTED 'outcheck options' 'sinter options'
#
# The environment's SINTER and OUTCHECK are the programs; SINTER_OPTIONS are more options for the
# former.
set -u
name=$1 model=$2 inputs=$3 expected=$4 rule=$5 options="$6 ${SINTER_OPTIONS:-}"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/out"
line() { tr '\t\n' '  ' | cut -c1-300; }
# shellcheck disable=SC2086 # the options are lists of words
if ! timeout "${TIMEOUT:-300}" "$SINTER" run "$model" --input "$inputs" $options -o "$tmp/out/" \
    >"$tmp/log" 2>&1; then
    printf 'fail\t%s\tsinter: %s\n' "$name" "$(line <"$tmp/log")"
elif ! "$OUTCHECK" $rule "$expected" "$tmp/out" >"$tmp/log" 2>&1; then
    printf 'fail\t%s\t%s\n' "$name" "$(line <"$tmp/log")"
else
    printf 'pass\t%s\t\n' "$name"
fi
