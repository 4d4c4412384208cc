#!/bin/sh
# Trained models as their publishers ship them.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
dir=$(sh "$root/tools/get_models.sh") || { echo "0 passed, 1 failed"; exit 1; }
exec sh "$root/tests/models/run.sh" "$1/sinter" "$1/tests/zoo-tools" fetched "$dir"
