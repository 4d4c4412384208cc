# shellcheck shell=sh
# lib.sh: what the scripts of this folder share: `check`, and small ONNX models written byte by
# byte.
#
#     . lib.sh               in a script called with SINTER: sets $sinter, makes $tmp (removed at
#                            exit) and goes there
#     check STATUS 'what it proves' command...
#                            runs the command; its output is in $tmp/out and $tmp/err
#     says out|err TEXT      the last command printed that
#     silent out|err         it printed nothing there
#     done_testing           prints `N passed, M failed`
set -u
sinter=$1
case $sinter in /*) ;; *) sinter=$PWD/$sinter ;; esac
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
cd "$tmp" || exit 1
passed=0 failed=0 proves=

good() { passed=$((passed + 1)); }
bad() {
    failed=$((failed + 1))
    echo "FAILED: $proves: $1"
    sed 's/^/    stdout: /' "$tmp/out" | head -n 20
    sed 's/^/    stderr: /' "$tmp/err" | head -n 20
}

check() {
    want=$1 proves=$2
    shift 2
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    if [ $got -eq "$want" ]; then good; else bad "exit status $got, not $want: $*"; fi
}
says() { if grep -qF -e "$2" "$tmp/$1"; then good; else bad "no \"$2\" on std$1"; fi; }
silent() { if [ ! -s "$tmp/$1" ]; then good; else bad "something on std$1"; fi; }
same() { if cmp -s "$1" "$2"; then good; else bad "$1 and $2 differ"; fi; }
there() { if [ -e "$1" ]; then good; else bad "$1 is not there"; fi; }
absent() { if [ ! -e "$1" ]; then good; else bad "$1 is there"; fi; }
done_testing() {
    echo "$passed passed, $failed failed"
    [ $failed -eq 0 ]
}

# ---- protobuf, as hex text --------------------------------------------------------------------

hex() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'; }
varint() {
    n=$1
    while [ "$n" -gt 127 ]; do
        printf '%02x' $((n % 128 + 128))
        n=$((n / 128))
    done
    printf '%02x' "$n"
}
int_field() { varint $(($1 * 8)); varint "$2"; }                             # NUMBER VALUE
bytes_field() { varint $(($1 * 8 + 2)); varint $((${#2} / 2)); printf %s "$2"; } # NUMBER HEX
text_field() { bytes_field "$1" "$(hex "$2")"; }
# The escapes are octal: those every printf knows.
write_hex() { # FILE HEX
    # shellcheck disable=SC2059 # the format is what is written
    printf "$(printf %s "$2" | sed 's/../& /g' | tr ' ' '\n' | while read -r b; do
        [ -z "$b" ] || printf '\\%03o' "0x$b"
    done)" >"$1"
}

# ---- ONNX ---------------------------------------------------------------------------------------

# dims: numbers or names
type_of() { # ELEM_TYPE DIM...
    elem=$1 shape=
    shift
    for d in "$@"; do
        case $d in
        *[!0-9]*) shape=$shape$(bytes_field 1 "$(text_field 2 "$d")") ;;
        *) shape=$shape$(bytes_field 1 "$(int_field 1 "$d")") ;;
        esac
    done
    bytes_field 1 "$(int_field 1 "$elem")$(bytes_field 2 "$shape")"
}
value_info() { # NAME ELEM_TYPE DIM...
    name=$1
    shift
    printf %s "$(text_field 1 "$name")$(bytes_field 2 "$(type_of "$@")")"
}
node() { # NAME OP OUTPUT INPUT...
    n_name=$1 n_op=$2 n_out=$3 n_ins=
    shift 3
    for i in "$@"; do n_ins=$n_ins$(text_field 1 "$i"); done
    bytes_field 1 "$n_ins$(text_field 2 "$n_out")$(text_field 3 "$n_name")$(text_field 4 "$n_op")"
}
input() { bytes_field 11 "$(value_info "$@")"; }
output() { bytes_field 12 "$(value_info "$@")"; }
# A float tensor of rank 1; the values as hex.
tensor() { # NAME N HEX
    printf %s "$(int_field 1 "$2")$(int_field 2 1)$(text_field 8 "$1")$(bytes_field 9 "$3")"
}
initializer() { bytes_field 5 "$(tensor "$@")"; }
model() { # FILE GRAPH
    write_hex "$1" "$(int_field 1 3)$(bytes_field 8 "$(int_field 2 13)")$(
        )$(bytes_field 7 "$2$(text_field 2 g)")"
}

# relu.onnx: y = Relu(x:0), x:0 float [batch, 3]
model relu.onnx "$(node relu Relu y x:0)$(input x:0 1 batch 3)$(output y 1 batch 3)"
# bias.onnx: y = x + b; b has the default 1, 2, 3
model bias.onnx "$(node add Add y x b)$(initializer b 3 0000803f0000004000004040)$(
    )$(input x 1 2 3)$(input b 1 3)$(output y 1 2 3)"
# chain.onnx: y = Sigmoid(Relu(x) * x), out of two kernels when unfused
model chain.onnx "$(node relu Relu a x)$(node mul Mul m a x)$(node sigmoid Sigmoid y m)$(
    )$(input x 1 n 8)$(output y 1 n 8)"
# unknown.onnx: two operators that nobody has
model unknown.onnx "$(node first Frobnicate a x)$(node second Blorp y a)$(
    )$(input x 1 3)$(output y 1 3)"
# A data file of chain's and relu's input: float [2, 3] holding 1 2 3 -1 -2 -3
rows=0000803f0000004000004040000080bf000000c0000040c0
write_hex rows.pb "$(int_field 1 2)$(int_field 1 3)$(int_field 2 1)$(
    )$(text_field 8 rows)$(bytes_field 9 $rows)"
