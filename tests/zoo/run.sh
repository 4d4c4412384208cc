#!/bin/sh
# run.sh - the zoo: real graphs with weights by recipe, against what ONNX Runtime answered
# (bless.py).
#
#     sh run.sh SINTER BIN small|full [--bless]    BIN: the folder with zoofill and outcheck
#
# Each model runs fused and with --no-fuse. Also checks that zoofill still makes the very same
# bytes (filled.sha256), without which the recorded answers would mean nothing. Ends with "N
# passed, M failed".
set -eu
SINTER=$1 OUTCHECK=$2/outcheck zoofill=$2/zoofill set=$3 bless=${4:-}
export SINTER OUTCHECK
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

check_bytes() { # name: the filled model is the one that the answers were recorded with
    want=$(awk -v f="$set/$1" '$2 == f { print $1 }' "$here/filled.sha256")
    got=$(sha256sum <"$tmp/model.onnx" | cut -d' ' -f1)
    if [ "$want" = "$got" ]; then printf 'pass\t%s filled\t\n' "$1"
    else printf 'fail\t%s filled\tsha256 %s, recorded: %s\n' "$1" "$got" "$want"; fi
}
for stripped in "$here/$set"/*.onnx; do
    name=$(basename "$stripped" .onnx)
    "$zoofill" "$stripped" "$tmp/model.onnx"
    "$zoofill" --inputs "$stripped" "$tmp/in"
    check_bytes "$name"
    for mode in '' --no-fuse; do
        sh "$here/../models/one.sh" "$name${mode:+ $mode}" "$tmp/model.onnx" "$tmp/in" \
            "$here/$set/$name" "--rel 1e-4" "$mode"
    done
    rm -rf "$tmp/model.onnx" "$tmp/in"
done >"$tmp/results"
sh "$here/../models/ratchet.sh" "$here/$set/expected_failures.txt" "$tmp/results" "$bless"
