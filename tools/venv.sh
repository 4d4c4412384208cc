#!/bin/sh
# venv.sh - a Python environment with pinned packages, made once and kept in the user's cache.
#
#     python=$(sh venv.sh REQUIREMENTS.txt)
#
# Prints the path of its python. The folder is named after the sum of the requirements, so that
# changed pins make a new one. Packages are checked against their hashes; a download is tried
# three times. Status 1, with a message, if there is none.
set -eu
req=$1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sinter
dir=$cache/venv-$(sha256sum <"$req" | cut -c1-16)
if [ ! -f "$dir/complete" ]; then
    mkdir -p "$cache"
    rm -rf "$dir"
    if ! python3 -m venv "$dir" >&2; then
        echo "venv.sh: python3 -m venv failed: install it with: apt-get install python3-venv" >&2
        exit 1
    fi
    try=1
    until "$dir/bin/python" -m pip install -q --disable-pip-version-check --only-binary=:all: \
        --require-hashes -r "$req" >&2; do
        if [ $try -ge 3 ]; then
            echo "venv.sh: pip could not install $req, tried $try times" >&2
            exit 1
        fi
        try=$((try + 1))
        sleep 5
    done
    : >"$dir/complete"
fi
echo "$dir/bin/python"
