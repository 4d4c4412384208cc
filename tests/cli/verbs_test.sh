#!/bin/sh
# verbs_test.sh SINTER: inspect, verify, report, emit, bench.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

check 0 "inspect tells inputs and outputs" "$sinter" inspect relu.onnx
says out "x:0"
says out "[batch, 3]"
check 0 "a line of JSON for each model" "$sinter" inspect --format json relu.onnx bias.onnx
if [ "$(wc -l <out)" -eq 2 ]; then good; else bad "not two lines"; fi
says out '"model":"relu.onnx"'
says out '"op_counts":{"Relu":1}'
says out '"parameters":3'
check 0 "inspect lists what is unsupported, and that is no error" \
    "$sinter" inspect unknown.onnx --format json
says out '"op_type":"Frobnicate"'
says out '"op_type":"Blorp"'
check 1 "inspect of no model" "$sinter" inspect labels

check 0 "verify agrees" "$sinter" verify chain.onnx --dim n=5
says out "ok"
check 0 "verify in JSON" "$sinter" verify chain.onnx bias.onnx --format json
if [ "$(grep -c '"verdict":"ok"' out)" -eq 2 ]; then good; else bad "not two verdicts"; fi
for reference in interp scalar; do
    check 0 "verify against $reference" "$sinter" verify chain.onnx --dim n=2 --reference $reference
done
check 4 "verify of unsupported operators" "$sinter" verify unknown.onnx
says err Blorp

check 0 "report has the account and the verdict" \
    "$sinter" report chain.onnx --format json --threads 2 --dim n=4
for key in schema model dims threads nodes_imported nodes_final groups launches library_calls \
    unique_kernels loop_nests contractions materialised unfused arena_bytes arena_bound_bytes \
    compile_ms min_ms min_ms_unfused max_ulp max_abs edges; do
    says out "\"$key\":"
done
says out '"verdict":"ok"'
says out '"dims":{"n":4}'
says out '"launches":1,'
says out '"unfused":{"launches":3,'
check 0 "the chain is one launch in text, too" "$sinter" report chain.onnx
says out "1 (unfused 3)"
check 0 "--no-run measures nothing" "$sinter" report chain.onnx --no-run --format json
says out '"verdict":"not run"'
check 0 "--record keeps the counts" "$sinter" report chain.onnx --record base.json
check 0 "--check finds them again" "$sinter" report chain.onnx --check base.json
sed 's/"launches": 1/"launches": 2/' base.json >higher.json
check 3 "a count that fell is a difference" "$sinter" report chain.onnx --check higher.json
says err "launches was 2, is 1"
check 3 "a count that rose is a difference" "$sinter" report chain.onnx --no-fuse --check base.json
check 1 "a model without a baseline" "$sinter" report relu.onnx --check base.json
for format in csv md; do
    check 0 "report as $format" "$sinter" report chain.onnx relu.onnx --format $format --no-run
    says out launches_unfused
    says out relu.onnx
done

check 0 "emit writes source and steps" "$sinter" emit chain.onnx --target=c -o emitted
there emitted/model.c
there emitted/program.json
check 0 "what is emitted compiles" \
    "${CC:-cc}" -std=c11 -Werror -c emitted/model.c -o emitted/model.o
check 0 "emit of CUDA" "$sinter" emit chain.onnx --target=cuda -o emitted
says err "emitted/model.cu"
there emitted/model.cu
check 2 "emit wants a folder" "$sinter" emit chain.onnx
check 2 "emit knows its targets" "$sinter" emit chain.onnx --target=fortran -o emitted

check 0 "bench has a line for each mode" \
    "$sinter" bench relu.onnx --runs 5 --format json --dim batch=2
if [ "$(wc -l <out)" -eq 2 ]; then good; else bad "not two lines"; fi
for key in schema model version isa threads load_ms first_ms min_ms med_ms p99_ms runs \
    rss_peak_mb; do
    says out "\"$key\":"
done
says out '"fused":true'
says out '"fused":false'
says out '"dims":{"batch":2}'
check 0 "with --no-fuse only that" "$sinter" bench relu.onnx --runs 5 --format json --no-fuse
if [ "$(wc -l <out)" -eq 1 ]; then good; else bad "not one line"; fi
says out '"fused":false'
check 4 "bench of unsupported operators tells them once" "$sinter" bench unknown.onnx
if [ "$(grep -c Blorp err)" -eq 1 ]; then good; else bad "not once"; fi
done_testing
