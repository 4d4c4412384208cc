#!/bin/sh
# fetch.sh URL SHA256: prints the path of the file in the cache
# (${XDG_CACHE_HOME:-~/.cache}/sinter), downloading it if it is not there. Three tries; a file with
# another sum is never used. Exit 1 when it can't be had.
set -u
url=$1 sum=$2
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sinter
file=$cache/$sum-$(basename "$url")
part=$file.$$

right() {
    [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$sum" ]
}

mkdir -p "$cache" || exit 1
trap 'rm -f "$part"' EXIT
for try in 1 2 3; do
    if right "$file"; then
        echo "$file"
        exit 0
    fi
    [ "$try" = 1 ] || sleep $((try * 5))
    if curl -fsSL --connect-timeout 20 --max-time 900 -o "$part" "$url"; then
        right "$part" || echo "fetch.sh: $url: sha256 differs" >&2
        right "$part" && mv "$part" "$file"
    fi
done
if right "$file"; then
    echo "$file"
    exit 0
fi
echo "fetch.sh: can't download $url" >&2
exit 1
