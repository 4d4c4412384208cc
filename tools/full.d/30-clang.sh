#!/bin/sh
# clang compiles everything without a warning, and what it compiles passes the tests (the suites
# over many models, whose work is done by TinyCC's code and the kernels, ran with gcc's build).
cd "$SINTER_ROOT" || exit 1
SINTER_TESTS_LEAVE='^(bugs|fuzz_import|fuzz_graph|test_cuda|test_exec|test_api_memory)$' \
    sh tools/build_and_count.sh "$SINTER_OUT" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang -DSINTER_BENCH=ON
