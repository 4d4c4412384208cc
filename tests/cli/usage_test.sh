#!/bin/sh
# usage_test.sh SINTER: help, wrong command lines, and that docs/cli.md says what the tables say.
# shellcheck source-path=SCRIPTDIR
docs=$(CDPATH='' cd -- "$(dirname -- "$0")/../../docs" && pwd)/cli.md
. "$(dirname "$0")/lib.sh"

check 0 "--help is a result" "$sinter" --help
silent err
says out "sinter run model.onnx"
for verb in run inspect verify report emit bench; do
    check 0 "help of $verb" "$sinter" $verb --help
    says out "sinter $verb"
    says out "examples:"
    check 0 "the other way round" "$sinter" help $verb
    says out "sinter $verb"
done
check 0 "--version" "$sinter" --version
says out "sinter "
check 0 "--list-ops" "$sinter" --list-ops
says out Relu
check 0 "--list-ops in JSON" "$sinter" --list-ops --format json
says out '"op_type":"Relu"'
check 0 "--list-passes" "$sinter" --list-passes
says out fuse

check 2 "no arguments" "$sinter"
silent out
check 2 "a mistyped verb" "$sinter" rnu relu.onnx
says err "did you mean sinter run?"
check 2 "a model in the place of the verb" "$sinter" relu.onnx
says err "did you mean sinter run relu.onnx?"
check 2 "a mistyped option" "$sinter" run relu.onnx --inptu x
says err "did you mean --input?"
check 2 "an option of another verb" "$sinter" run relu.onnx --runs 5
check 2 "a missing model" "$sinter" run
check 2 "one model too many" "$sinter" run relu.onnx bias.onnx
check 2 "a missing value" "$sinter" run relu.onnx --threads
check 2 "a value that is no number" "$sinter" run relu.onnx --threads many
check 2 "a value where none belongs" "$sinter" run relu.onnx --strict=yes
check 2 "an unknown instruction set" "$sinter" run relu.onnx --isa z80
check 2 "an unknown pass" "$sinter" run relu.onnx --disable-pass nonsense
check 2 "a broken --dim" "$sinter" run relu.onnx --dim batch
check 2 "a broken --input" "$sinter" run relu.onnx --input x:0=rand:1
for verb in explain compile reduce tune train cache; do
    check 2 "$verb is not in this version, and says so" "$sinter" $verb relu.onnx
    says err "not in this version"
done
check 2 "a usage error in JSON" "$sinter" run relu.onnx --nonsense --format json
says out '{"error":{"code":"usage"'
for key in message node op_type tensor hint; do says out "\"$key\":"; done
check 0 "-- ends the options" "$sinter" inspect -- relu.onnx
check 0 "--option=value and --option value are the same" \
    "$sinter" run relu.onnx --dim=batch=2 --threads 1 -q

# The reference sections of docs/cli.md are printed by the command itself.
check 0 "help as Markdown" "$sinter" --help --format md
missing=0
while IFS= read -r line; do
    [ -z "$line" ] || grep -qxF -e "$line" "$docs" || {
        missing=1
        echo "docs/cli.md lacks: $line"
    }
done <out
if [ $missing -eq 0 ]; then good; else bad "docs/cli.md is behind sinter --help --format md"; fi
if [ -w /dev/full ]; then
    # shellcheck disable=SC2016 # the inner shell expands it
    check 1 "results that can't be written are an error" sh -c '"$1" --help >/dev/full' sh "$sinter"
fi
done_testing
