#!/bin/sh
# run.sh - all 1,914 backend tests of ONNX 1.22.0, fused and unfused (part of tools/full.sh:
# needs python3-venv and pip).
#
#     sh run.sh SINTER [--bless]           judges, or rewrites expected_failures.txt
#     sh run.sh SINTER --only 'node/*lstm*'    only those, printing why each fails
#
# Ends with "N passed, M failed"; a test that fails and is listed counts as neither
# (tests/models/ratchet.sh).
set -eu
sinter=$1 action=${2:-} only=${3:-*}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if ! python=$(sh "$here/../../tools/venv.sh" "$here/requirements.txt"); then
    echo "0 passed, 1 failed"
    exit 1
fi
results=$(mktemp)
trap 'rm -f "$results"' EXIT
trap 'exit 1' INT TERM
"$python" "$here/conformance.py" "$sinter" "$results" -j "${JOBS:-2}" --only "$only"
if [ "$action" = --only ]; then cat "$results"; exit; fi
sh "$here/../models/ratchet.sh" "$here/expected_failures.txt" "$results" "$action"
