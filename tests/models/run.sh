#!/bin/sh
# run.sh - trained models against recorded outputs, fused and with --no-fuse.
#
#     sh run.sh SINTER BIN committed [--bless]         those of models/
#     sh run.sh SINTER BIN fetched DIR [--bless]    those that tools/get_models.sh put into DIR
#
# BIN is the folder with outcheck. Ends with "N passed, M failed"; a model that is not there is a
# failure.
set -eu
SINTER=$1 OUTCHECK=$2/outcheck which=$3
export SINTER OUTCHECK
shift 3
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
models=$(CDPATH='' cd -- "$here/../../models" && pwd)
results=$(mktemp)
trap 'rm -f "$results"' EXIT
trap 'exit 1' INT TERM
tab=$(printf '\t')

run_sets() { # name model folder rule: every data set in both modes
    for set in "$3"/test_data_set_*; do
        k=${set##*_}
        sh "$here/one.sh" "$1 $k" "$2" "$set" "$set" "$4" ""
        sh "$here/one.sh" "$1 $k --no-fuse" "$2" "$set" "$set" "$4" --no-fuse
    done
}
check_sha() { # name file sha256
    got=$(sha256sum <"$2" | cut -d' ' -f1) || got=missing
    if [ "$got" = "$3" ]; then printf 'pass\t%s sha256\t\n' "$1"
    else printf 'fail\t%s sha256\t%s has sha256 %s, listed: %s\n' "$1" "$2" "$got" "$3"; fi
}
case $which in
committed)
    grep -v '^#' "$models/models.tsv" | while IFS=$tab read -r name _ rule sha; do
        check_sha "$name" "$models/$name/model.onnx" "$sha"
        run_sets "$name" "$models/$name/model.onnx" "$models/$name" "$rule"
    done >"$results" ;;
fetched)
    dir=$1; shift
    grep -v '^#' "$here/fetched.tsv" | while IFS=$tab read -r name _ _ _ _ sha refs rule _; do
        check_sha "$name" "$dir/$name.onnx" "$sha"
        run_sets "$name" "$dir/$name.onnx" "$here/../../$refs" "$rule"
    done >"$results" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
sh "$here/ratchet.sh" "$here/expected_failures_$which.txt" "$results" "${1:-}"
