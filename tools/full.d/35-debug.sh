#!/bin/sh
# The debug build: no optimisation hides what is uninitialised, and verifiers run after each pass.
cd "$SINTER_ROOT" || exit 1
SINTER_TESTS_LEAVE='^(bugs|fuzz_import|fuzz_graph|test_cuda|test_exec|test_api_memory)$' \
    sh tools/build_and_count.sh "$SINTER_OUT" -DCMAKE_BUILD_TYPE=Debug
