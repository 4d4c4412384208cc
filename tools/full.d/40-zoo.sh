#!/bin/sh
# The whole zoo, against ONNX Runtime's recorded answers (the small one is part of tools/test.sh).
set -eu
exec sh "$SINTER_ROOT/tests/zoo/run.sh" "$SINTER_BUILD/sinter" "$SINTER_BUILD/tests/zoo-tools" full
