#!/bin/sh
# setup.sh [full]: installs the Debian packages that build and tests need and that are missing; with
# `full` also those of tools/full.sh. Without root and sudo it prints the command to run and exits
# 1.
set -eu

packages="gcc g++ make cmake pkg-config binutils libc6-dev git
    libprotobuf-c-dev protobuf-c-compiler libtcc-dev libzip-dev zlib1g-dev libjansson-dev
    libcmocka-dev xz-utils clang-format-14"
[ "${1-}" = full ] &&
    packages="$packages clang curl ca-certificates python3 python3-venv python3-pip util-linux"

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=
for package in $packages; do
    installed "$package" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    root=sudo
else
    echo "packages are missing; please run:  apt-get install$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -q >&2
# shellcheck disable=SC2086 # a list of words
$root apt-get install -q -y --no-install-recommends $missing >&2
