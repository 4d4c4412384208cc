#!/bin/sh
# tools/quickstart.sh from another folder, twice: it must work, and its answers must mean something.
set -u
passed=0 failed=0
verdict() { # sentence command...
    sentence=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $sentence"
    fi
}
run() { (cd / && sh "$SINTER_ROOT/tools/quickstart.sh") >"$log" 2>&1; }
says() { grep -qx -- "$1" "$log"; }

for time in first second; do
    log=$SINTER_OUT/$time.txt
    verdict "the $time run ends well" run
    verdict "the picture is a 2 ($time run)" says 'So it is a 2\.'
    verdict "the report says what was fused ($time run)" grep -q 'launches .*unfused' "$log"
    for known in 'CMakeLists.txt: cmake' 'examples/filetype.c: c' 'tools/quickstart.sh: shell' \
        'tests/zoo/bless.py: python' 'models/mnist8_cnn/model.onnx: onnx' \
        'tests/bugs/cases.tar.xz: xz'; do
        verdict "$known ($time run)" says "$known (.*%)"
    done
    [ $failed = 0 ] || tail -n 30 "$log"
done
echo "$passed passed, $failed failed"
[ $failed = 0 ]
