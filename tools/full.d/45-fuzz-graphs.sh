#!/bin/sh
# Random graphs: every level, set of passes and instruction set against the interpreter. Other seeds
# than the tests use.
cd "$SINTER_ROOT" || exit 1
if "$SINTER_BUILD/tests/fuzz/fuzz_graph" 3000 100000 >"$SINTER_OUT/log" 2>&1; then
    tail -n 1 "$SINTER_OUT/log"
    echo "1 passed, 0 failed"
else
    tail -n 200 "$SINTER_OUT/log"
    echo "0 passed, 1 failed"
    exit 1
fi
