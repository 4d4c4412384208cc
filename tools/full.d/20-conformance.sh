#!/bin/sh
# All backend tests of ONNX, fused and unfused.
set -eu
exec sh "$SINTER_ROOT/tests/conformance/run.sh" "$SINTER_BUILD/sinter"
