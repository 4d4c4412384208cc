#!/bin/sh
# clang compiles everything without a warning, and what it compiles passes.
cd "$SINTER_ROOT" || exit 1
sh tools/build_and_count.sh "$SINTER_OUT" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang
