#!/bin/sh
# run.sh - small cases made from public bug reports of other runtimes (see README.md), fused and
# with --no-fuse.
#
#     sh run.sh SINTER BIN [--bless]         BIN: the folder with outcheck
#     sh run.sh SINTER BIN --only PATTERN    cases whose name matches, saying why each fails
#
# MODES='fused nofuse' in the environment says in which modes; a case that is unsupported when it
# should not be is so in both, and runs once.
# Ends with "N passed, M failed"; expected_failures.txt is a ratchet (tests/models/ratchet.sh).
set -eu
sinter=$1 outcheck=$2/outcheck action=${3:-} only=${4:-*}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
modes=${MODES:-fused nofuse}
jobs=${JOBS:-2} limit=${CPU_LIMIT:-20} # seconds of processor time after which a run counts as hung
tab=$(printf '\t')
# A sanitizer's own exit status must not pass for a clean error.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:exitcode=99" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:exitcode=99"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
tar -xJf "$here/cases.tar.xz" -C "$tmp"

# Prints nothing when the outputs of one data set are right, else what is wrong; returns sinter's
# status. The judge is a program of the tests, not `sinter run --expect`, which may be wrong
# itself.
run_set() { # case set rule mode out
    case_set=$2 case_rule=$3 out=$5 status=0
    set -- run "$tmp/$1/model.onnx" -o "$out/" ${4:+"$4"}
    # Without a data set the model alone is the case: it has no inputs.
    [ ! -d "$case_set" ] || set -- "$@" --input "$case_set"
    # shellcheck disable=SC3045 # dash and bash know it
    (ulimit -t "$limit" && exec timeout 900 "$sinter" "$@") >"$out.log" 2>&1 || status=$?
    case $case_rule in
    bits) set -- --bits 1 ;;
    exact) set -- --rtol 0 --atol 0 ;;
    *) set -- --rtol "${case_rule% *}" --atol "${case_rule#* }" ;;
    esac
    [ $status -ne 0 ] || "$outcheck" "$@" "$case_set" "$out" 2>&1 || :
    return $status
}
# An error must say something, and not that sinter itself is at fault.
error_text() {
    if ! [ -s "$1" ]; then echo "fails without a message"
    elif grep -qi 'internal error' "$1"; then tail -n 3 "$1"; fi
}
# Sets `wrong`: empty, or what is wrong with the case in this mode.
judge_case() { # case statuses rule mode out
    wrong=''
    for set in "$tmp/$1"/test_data_set_*; do
        rm -rf "$5"; mkdir "$5"
        status=0
        wrong=$(run_set "$1" "$set" "$3" "$4" "$5") || status=$?
        case ",$2," in
        *",$status,"*) [ $status -eq 0 ] || wrong=$(error_text "$5.log") ;;
        *) wrong="status $status, not $2: $(head -n 3 "$5.log")" ;;
        esac
        [ -z "$wrong" ] || break
    done
}
run_case() { # case statuses rule out
    wrong='' status=0
    for mode in $modes; do
        option=''; [ "$mode" = fused ] || option=--no-fuse
        if [ -z "$wrong" ] || [ $status -ne 4 ]; then
            judge_case "$1" "$2" "$3" "$option" "$4"
        fi
        verdict=pass; [ -z "$wrong" ] || verdict=fail
        printf '%s\t%s\t%s\n' $verdict "$1${option:+ $option}" \
            "$(printf %s "$wrong" | tr '\t\n' '  ' | cut -c1-300)"
    done
}
worker() { # number: every jobs-th case
    n=0
    while IFS=$tab read -r name statuses rule; do
        n=$((n + 1))
        [ $((n % jobs)) -eq "$1" ] || continue
        run_case "$name" "$statuses" "$rule" "$tmp/out$1"
    done <"$tmp/wanted"
}
grep -v '^#' "$here/cases.tsv" | while IFS=$tab read -r name rest; do
    # shellcheck disable=SC2254 # a pattern is meant
    case $name in $only) printf '%s\t%s\n' "$name" "$rest" ;; esac
done >"$tmp/wanted"
i=0
while [ $i -lt "$jobs" ]; do worker $i >"$tmp/results$i" & i=$((i + 1)); done
wait
cat "$tmp"/results* >"$tmp/results"
if [ "$action" = --only ]; then cat "$tmp/results"; exit; fi
list=$here/expected_failures.txt
if [ "$modes" = fused ]; then # what is listed for the other mode is not run
    [ "$action" != --bless ] || { echo "run.sh: --bless needs both modes" >&2; exit 2; }
    grep -v ' --no-fuse$' "$list" >"$tmp/list" || :
    list=$tmp/list
fi
sh "$here/../models/ratchet.sh" "$list" "$tmp/results" "$action"
