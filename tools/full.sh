#!/bin/sh
# full.sh: what takes long or downloads. Runs the stages tools/full.d/*.sh in order; each is a
# program of its own that ends with `N passed, M failed`, and gets
#     SINTER_ROOT   this tree          SINTER_OUT    a folder for what it makes (build-full/<stage>)
#     SINTER_BUILD  a release build (with the command `sinter`)
# Stages download through tools/fetch.sh only. Ends with the total; exit 0 only when nothing failed.
#
#     full.sh [STAGE...]   only the stages whose names begin so, for example: full.sh 10 30-isa
set -u
cd "$(dirname "$0")/.." || exit 1
SINTER_ROOT=$(pwd)
SINTER_BUILD=$SINTER_ROOT/build
export SINTER_ROOT SINTER_BUILD
mkdir -p build-full

fail() {
    echo "full.sh: $1" >&2
    echo "0 passed, 1 failed"
    exit 1
}

wanted() {
    [ $# -eq 1 ] && return 0
    name=$1
    shift
    for prefix; do
        case $name in "$prefix"*) return 0 ;; esac
    done
    return 1
}

sh tools/setup.sh full || fail "packages are missing"
build() {
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DSINTER_SANITIZE= -DSINTER_TESTS=ON &&
        cmake --build build -j "$(nproc)"
}
build >build-full/build.log 2>&1 || fail "build failed: see build-full/build.log"

: >build-full/totals
for stage in tools/full.d/*.sh; do
    name=$(basename "$stage" .sh)
    wanted "$name" "$@" || continue
    SINTER_OUT=$SINTER_ROOT/build-full/$name
    export SINTER_OUT
    mkdir -p "$SINTER_OUT"
    echo "== $name"
    sh "$stage" >"build-full/$name.log" 2>&1
    status=$?
    total=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "build-full/$name.log" | tail -n 1)
    # A stage that says nothing, or fails without a failed test, is a failure.
    echo "${total:-none} $status" >>build-full/totals
    [ $status -eq 0 ] || tail -n 40 "build-full/$name.log"
    echo "$name: ${total:-no total} (exit $status)"
done
awk '/^[0-9]+ passed/ { p += $1; f += $3; if ($5 != 0 && $3 == 0) f++; n++; next } { f++; n++ }
    END { if (!n) f++; printf "%d passed, %d failed\n", p, f; exit f > 0 }' build-full/totals
