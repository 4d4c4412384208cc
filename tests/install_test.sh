#!/bin/sh
# install_test.sh BUILD: installs into a folder of its own, moves that folder, and builds and runs
# examples/ against it: from C and C++, by pkg-config and by the CMake package, with the shared and
# with the static library.
set -u
build=$1
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
model=$root/models/mnist8_cnn/model.onnx
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

verdict() { # sentence command...
    sentence=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $sentence"
        sed 's/^/    /' "$tmp/log"
    fi
}

# Every example takes a model first, and says no to a file that is none.
runs() {
    case $1 in
    *filetype*) "$1" "$root/models/magika/model.onnx" "$root/CMakeLists.txt" | grep -q cmake ;;
    *) "$1" "$model" ;;
    esac && ! "$1" "$root/LICENSE" </dev/null
}

cmake --install "$build" --prefix "$tmp/first" >"$tmp/log" 2>&1 || cat "$tmp/log"
mv "$tmp/first" "$tmp/prefix" # what is installed must not know where it was installed
prefix=$tmp/prefix
pc=$(find "$prefix" -name sinter.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir sinter)

verdict "the command is installed and runs" "$prefix/bin/sinter" run "$model" -v
strict="-pedantic-errors -Wall -Wextra -Werror -fsyntax-only"
# shellcheck disable=SC2086 # words
verdict "the header alone compiles as C11" gcc -std=c11 $strict -x c "$prefix/include/sinter.h"
# shellcheck disable=SC2086 # words
verdict "the header alone compiles as C++" g++ -std=c++11 $strict -x c++ "$prefix/include/sinter.h"

# shellcheck disable=SC2046 # pkg-config prints words
for source in "$root"/examples/*.c "$root"/examples/*.cpp; do
    name=$(basename "$source")
    case $name in *.c) compiler="gcc -std=c11" ;; *) compiler="g++ -std=c++17" ;; esac
    flags="-Wall -Wextra -Werror"
    verdict "pkg-config, shared: $name" $compiler $flags "$source" -o "$tmp/$name.so-exe" \
        $(pkg-config --cflags --libs sinter) "-Wl,-rpath,$libdir"
    # --static adds protobuf-c and the rest; -l:libsinter.a picks the archive beside the .so.
    verdict "pkg-config, static: $name" $compiler $flags "$source" -o "$tmp/$name.a-exe" \
        $(pkg-config --cflags --libs --static sinter | sed 's/-lsinter/-l:libsinter.a/')
    verdict "$name runs with the shared library" runs "$tmp/$name.so-exe"
    verdict "$name runs with the static library" runs "$tmp/$name.a-exe"
done

verdict "CMake package: configure" \
    cmake -S "$root/examples" -B "$tmp/cmake" "-DCMAKE_PREFIX_PATH=$prefix"
verdict "CMake package: build" cmake --build "$tmp/cmake"
for exe in "$tmp"/cmake/*_shared "$tmp"/cmake/*_static; do
    verdict "CMake package: $(basename "$exe") runs" runs "$exe"
done

echo "$passed passed, $failed failed"
[ $failed = 0 ]
