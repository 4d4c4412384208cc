#!/bin/sh
# Trained models as their publishers ship them.
set -eu
dir=$(sh "$SINTER_ROOT/tools/get_models.sh") || { echo "0 passed, 1 failed"; exit 1; }
exec sh "$SINTER_ROOT/tests/models/run.sh" "$SINTER_BUILD/sinter" "$SINTER_BUILD/tests/zoo-tools" \
    fetched "$dir"
