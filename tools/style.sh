#!/bin/sh
# style.sh [BUILD] | --fix [FILE]: the style gate. Each check prints what breaks it; the last line
# is `N passed, M failed`. BUILD (default build) is where the libraries lie whose symbols are
# counted. --fix reformats.
set -u
cd "$(dirname "$0")/.." || exit 1
LC_ALL=C.UTF-8
export LC_ALL

# Tracked and new files; without git (an unpacked archive) all but build folders.
list_files() {
    git ls-files -co --exclude-standard 2>/dev/null ||
        find . -type d -name 'build*' -prune -o -type f -print | sed 's|^\./||'
}
files=$(list_files | sort -u | while read -r f; do [ -f "$f" ] && echo "$f"; done)
matching() {
    echo "$files" | grep -E "$1"
}
code=$(matching '\.(c|h|cpp)$')
c_files=$(matching '\.c$')
text=$(matching '\.(c|h|cpp|def|rules|cmake|in|sh|awk|proto|json|md|txt)$' | grep -v '^models/')

if [ "${1-}" = --fix ]; then
    for f in ${2:-$code}; do
        # "/* ---- title ---- */" as wide as a line may be
        awk '/^\/\* ---- .* -+ \*\/$/ {
                sub(/ -+ \*\/$/, " ")
                while (length($0) < 97)
                    $0 = $0 "-"
                $0 = $0 " */"
            } { print }' "$f" >"$f.fixed" && { cmp -s "$f" "$f.fixed" || cat "$f.fixed" >"$f"; }
        rm -f "$f.fixed"
        case $f in
        *.c) # twice: reflowed comments may move once more
            clang-format-14 -i "$f"
            clang-format-14 -i "$f"
            ;;
        *) # only comments that are too wide
            lines=$(grep -nE '^.{101,}$' "$f" | grep -E '^[0-9]+:( \* ?[^ ]|/\*|//)' |
                sed 's/^\([0-9]*\):.*/--lines=\1:\1/')
            [ -z "$lines" ] || clang-format-14 -i $lines "$f"
            ;;
        esac
    done
    exit
fi
build=${1:-build}

passed=0 failed=0
# check NAME OUTPUT: passes when the output is empty.
# shellcheck disable=SC2086 # lists of names without spaces, throughout
check() {
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        return
    fi
    failed=$((failed + 1))
    echo "style: $1:"
    echo "$2" | head -n 60 | sed 's/^/    /'
}

# base <- graph <- codegen <- passes <- runtime <- tools: who includes upwards?
dependency_direction() {
    grep -nE '^#include "' $code /dev/null | awk -F: '
        function rank(path, n, part) {
            n = split(path, part, "/")
            return n > 1 && part[1] in order ? order[part[1]] : 0
        }
        BEGIN {
            n = split("base graph codegen passes runtime", name, " ")
            for (i = 1; i <= n; i++)
                order[name[i]] = i
        }
        $1 ~ /^src\// {
            from = $1
            sub(/^src\//, "", from)
            to = $3
            sub(/^#include "/, "", to)
            sub(/".*/, "", to)
            if (to ~ /^tools\// || to ~ /^\.\./ || (rank(to) && rank(to) > rank(from)))
                print $1 ":" $2 ": includes " to
        }'
}

long_files() {
    for f in $code $(matching '\.(sh|awk)$'); do
        n=$(wc -l <"$f")
        [ "$n" -le 800 ] || echo "$f: $n lines, at most 800"
    done
}

# A function: from its line at column 0 to the `}` at column 0. Prints FILE:LINE LENGTH.
function_lengths() {
    for f in $c_files; do
        awk '
            /^[A-Za-z_].*[)({,]$/ && !/^(typedef|struct|enum|union)/ && !/;$/ {
                if (!head)
                    head = NR
            }
            /;$/ && !body { head = 0 }
            /^\{$/ { if (head) body = 1 }
            /^\}$/ { if (body) print FILENAME ":" head, NR - head + 1; head = body = 0 }
            /^\};/ { head = body = 0 }
            /^[A-Za-z_].*\) \{.*\}$/ { print FILENAME ":" NR, 1; head = body = 0 }' "$f"
    done
}

long_functions() {
    function_lengths | awk '$2 > 80 { print $1 ": " $2 " lines, at most 80" }'
    function_lengths | grep '^src/' | sort -k2n | awk '{ n[NR] = $2 }
        END {
            median = n[int((NR + 1) / 2)]
            if (median > 12)
                print "the median function has " median " lines, at most 12"
        }'
}

long_lines() {
    for f in $code $(matching '\.(sh|awk|cmake)$'); do
        n=$(grep -cE '^.{101,}$' "$f")
        first=$(grep -nE '^.{101,}$' "$f" | head -n 1 | cut -d: -f1)
        [ "$n" = 0 ] || echo "$f: $n lines of over 100 columns, the first is $first"
    done
}

untidy_space() {
    grep -nE '[ 	]+$' $text
    grep -nE '^ *	' $code $(matching '\.(sh|cmake|proto)$')
    for f in $text; do
        [ ! -s "$f" ] || [ -z "$(tail -c 1 "$f")" ] || echo "$f: no newline at the end"
    done
}

formatting() {
    for f in $c_files; do
        clang-format-14 --dry-run -Werror "$f" >/dev/null 2>&1 ||
            echo "$f: not as clang-format 14 prints it (tools/style.sh --fix)"
    done
}

generated_files() {
    matching '(^|/)(build[^/]*/|[^/]*\.pb-c\.[ch]$|op_table\.c$|compile_commands\.json$)'
    matching '\.(o|a|so|d)$'
}

# Names of machines, of other trees, of people's folders. The brackets keep this line from finding
# itself.
foreign_paths() {
    grep -nE '[.][.]/shared|/work/(main|[.])|/home/[a-z]|/root/' $text | grep -v '^tools/style.sh:'
}

public_functions() {
    n=$(grep -cE '^SINTER_API ' include/sinter.h)
    [ "$n" -le 30 ] || echo "include/sinter.h declares $n functions, at most 30"
    matching '^include/.*' | grep -v -x 'include/sinter.h'
}

exported_names() {
    for lib in libsinter.so libsinter.a; do
        [ -f "$build/$lib" ] || { echo "$build/$lib is not built"; continue; }
        case $lib in *.so) options=-D ;; *) options=-g ;; esac
        nm $options --defined-only "$build/$lib" |
            awk -v lib=$lib 'NF == 3 && $3 !~ /^sinter_/ { print lib " exports " $3 }'
    done
    [ -f "$build/libsinter.so" ] || return
    grep -E '^SINTER_API ' include/sinter.h | grep -oE 'sinter_[a-z0-9_]+\(' | tr -d '(' | sort \
        >"$build/declared"
    nm -D --defined-only "$build/libsinter.so" | awk '{ print $3 }' | sort |
        diff "$build/declared" - |
        sed -n 's/^< \(.*\)/declared, not exported: \1/p; s/^> \(.*\)/exported, not declared: \1/p'
}

# The library must not exit, print or depend on the locale: it must not even call what does.
forbidden_calls() {
    [ -f "$build/libsinter.a" ] || { echo "$build/libsinter.a is not built"; return; }
    outputs='(__)?v?printf(_chk)?|puts|putchar|perror|stdout|stderr'
    nm -u "$build/libsinter.a" | awk '{ print $2 }' |
        grep -xE "_?exit|_Exit|abort|__assert_fail|$outputs|atof|setlocale" |
        sed 's/^/the library calls /'
}

# Each source folder says what it is for.
folder_readmes() {
    for d in $(matching '^(src/.*|tools|tests)/[^/]*\.c$' | sed 's|/[^/]*$||' | sort -u); do
        [ -f "$d/README.md" ] || echo "$d/README.md is missing"
    done
}

check "includes point one way" "$(dependency_direction)"
check "file length" "$(long_files)"
check "function length" "$(long_functions)"
check "line length" "$(long_lines)"
check "white space" "$(untidy_space)"
check "clang-format" "$(formatting)"
check "generated files are not in the tree" "$(generated_files)"
check "no path of a machine or another tree" "$(foreign_paths)"
check "public header" "$(public_functions)"
check "exported names" "$(exported_names)"
check "calls that a library must not make" "$(forbidden_calls)"
check "a README in each folder" "$(folder_readmes)"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
