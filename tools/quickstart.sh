#!/bin/sh
# quickstart.sh: builds sinter and shows what it does with two trained networks: it reads a digit
# and names the type of some files. Works from any folder, on a fresh Debian 12 (installs missing
# packages as root or by sudo, else says which). What is built already is not built again.
set -eu
cd "$(dirname "$0")/.."
build=build
digit=models/mnist8_cnn
magika=models/magika

say() { printf '\n%s\n' "$1"; }

# The picture in an input_0.pb: its last 28 x 28 floats, as characters from dark to bright.
picture() {
    tail -c $((28 * 28 * 4)) "$1" | od -An -v -w112 -t f4 | LC_ALL=C awk '
        { line = "    "
          for (i = 1; i <= 28; i++) {
              shade = 1 + int($i / 256 * 5)
              line = line substr(" .+*#", shade, 1) substr(" .+*#", shade, 1)
          }
          sub(/ +$/, "", line)
          if (line != "") print line }'
}

sh tools/setup.sh
say "Building the library and the command (log: $build/quickstart.log) ..."
mkdir -p $build
if ! { cmake -S . -B $build -DCMAKE_BUILD_TYPE=Release -DSINTER_SANITIZE= &&
    cmake --build $build --target sinter sinter_shared -j "$(nproc)" &&
    cc -O2 -Iinclude examples/filetype.c -o $build/filetype -L$build -lsinter \
        "-Wl,-rpath,$PWD/$build"; } >$build/quickstart.log 2>&1; then
    tail -n 30 $build/quickstart.log >&2
    echo "quickstart.sh: the build failed" >&2
    exit 1
fi

say "A handwritten digit:"
picture $digit/test_data_set_0/input_0.pb
say "$ build/sinter run $digit/model.onnx --input $digit/test_data_set_0 --top 1"
$build/sinter run $digit/model.onnx --input $digit/test_data_set_0 --top 1
answer=$($build/sinter run $digit/model.onnx --input $digit/test_data_set_0 --top 1 --format json |
    sed -n 's/.*"top": *\[\[{"index": *\([0-9]*\).*/\1/p')
echo "So it is a ${answer:?the command gave no answer}."

say "What sinter made of the network:"
echo "$ build/sinter report $digit/model.onnx --input $digit/test_data_set_0"
$build/sinter report $digit/model.onnx --input $digit/test_data_set_0

say "The types of some files, by a network of 3 MB through the C API (examples/filetype.c):"
files="models/README.md CMakeLists.txt examples/filetype.c examples/run.cpp tools/quickstart.sh
    tests/zoo/bless.py models/mnist8_cnn/model.onnx tests/bugs/cases.tar.xz"
echo "$ build/filetype $magika/model.onnx ..."
# shellcheck disable=SC2086 # a list of names
$build/filetype $magika/model.onnx $files
