#!/bin/sh
# All backend tests of ONNX.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
exec sh "$root/tests/conformance/run.sh" "$1/sinter"
