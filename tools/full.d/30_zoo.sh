#!/bin/sh
# The whole zoo, against ONNX Runtime's recorded answers (the small one is part of tools/test.sh).
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
exec sh "$root/tests/zoo/run.sh" "$1/sinter" "$1/tests/zoo-tools" full
