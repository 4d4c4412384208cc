#!/bin/sh
# run_test.sh SINTER: `sinter run`: inputs, dims, outputs, comparison, exit statuses.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

check 0 "no options: inputs and dims are made up, and said so" "$sinter" run relu.onnx
says out "y: float32 [1, 3]"
says err "batch=1"
says err "input x:0 not given"
cp out first
check 0 "the same seed gives the same inputs" "$sinter" run relu.onnx -q
same out first
silent err
check 0 "another seed gives others" "$sinter" run relu.onnx -q --seed 3
if cmp -s out first; then bad "the outputs are equal"; else good; fi

check 0 "a list of numbers fixes the symbolic dim" \
    "$sinter" run relu.onnx --input x:0=1,-2,3,-4,5,-6
says out "y: float32 [2, 3]"
says out "1 0 3 0 5 0"
check 0 "one number fills the input" "$sinter" run relu.onnx --input x:0=7 --dim batch=2
says out "7 7 7 7 7 7"
check 1 "a list that does not fit is refused" "$sinter" run relu.onnx --input x:0=1,2,3,4
says err "shape"
check 1 "a word that is not of the type is refused" "$sinter" run relu.onnx --dim bach=2
says err "did you mean batch?"
check 1 "an unknown input is named" "$sinter" run relu.onnx --input x:1=3
says err "did you mean x:0?"
check 0 "an odd size runs" "$sinter" run relu.onnx --dim batch=5
says out "[5, 3]"
check 0 "an empty batch runs" "$sinter" run relu.onnx --dim batch=0
says out "[0, 3]"
check 0 "--shape sets the dims of an input" "$sinter" run relu.onnx --shape x:0:4x3
says out "[4, 3]"
check 1 "--shape can't contradict a static dim" "$sinter" run relu.onnx --shape x:0:4x5
says err "batch, 3"
check 1 "--shape can't contradict --dim" "$sinter" run relu.onnx --shape x:0:4x3 --dim batch=3
check 0 "of several inputs the last wins" "$sinter" run relu.onnx --input x:0=1 --input x:0=2
says out "2 2 2"
check 0 "random inputs stay in their range" "$sinter" run relu.onnx --input x:0=rand:1:5:6
says out "min 5."

check 0 "a .pb is read" "$sinter" run relu.onnx --input x:0=@rows.pb
says out "1 2 3 0 0 0"
mkdir -p set/test_data_set_0
cp rows.pb set/test_data_set_0/input_0.pb
check 0 "a folder matches by position when the name is unknown" \
    "$sinter" run relu.onnx --input set -o out_dir/
silent out
there out_dir/output_0.pb
check 0 "the outputs of a run are as expected by the next" \
    "$sinter" run relu.onnx --input set --expect out_dir
check 3 "a difference is exit 3 and names output, place and values" \
    "$sinter" run relu.onnx --input set --input x:0=1,2,3,0,0,7 --expect out_dir
says err "output y differs in 1 of 6"
says err "[1, 2]: expected 0, got 7"
check 0 "--atol widens the tolerance" \
    "$sinter" run relu.onnx --input x:0=1,2,3,0,0,7 --expect out_dir --atol 8
check 1 "--expect needs files" "$sinter" run relu.onnx --expect set
check 1 "an empty folder is no data set" "$sinter" run relu.onnx --input "$tmp"

check 0 "-o F.npz writes an archive" "$sinter" run relu.onnx --input set -o a.npz
check 0 "an archive is read by key" "$sinter" run relu.onnx --input x:0=@a.npz:y --expect out_dir
check 0 "the only array needs no key" "$sinter" run relu.onnx --input x:0=@a.npz --expect out_dir
check 1 "a wrong key names the right ones" "$sinter" run relu.onnx --input x:0=@a.npz:z
says err "its arrays: y"
check 2 "-o of another form is refused" "$sinter" run relu.onnx -o result.txt
absent result.txt
check 2 "before the model is even run" "$sinter" run relu.onnx -o result.txt --dim batch=100000000
mkdir plain
check 0 "-o naming a folder writes into it" "$sinter" run relu.onnx -o plain
there plain/output_0.pb
check 1 "a file where the folder should be is an error" "$sinter" run relu.onnx -o relu.onnx/x/

check 0 "an input that is an initializer too keeps its default" "$sinter" run bias.onnx --input x=0
says out "1 2 3 1 2 3"
check 0 "unless it is given" "$sinter" run bias.onnx --input x=0 --input b=5,6,7
says out "5 6 7 5 6 7"
printf 'zero\none\ntwo\n' >labels
check 0 "--top names the largest" "$sinter" run relu.onnx --input x:0=1,9,3 --top 2 --labels labels
says out "one"
says out "two"
check 0 "JSON has the outputs" "$sinter" run relu.onnx --input x:0=1,9,3 --format json --top 1
says out '"outputs":[{"name":"y","dtype":"float32","shape":[1,3],"count":3,"first":[1,9,3]'
says out '"top":[[{"index":1,"value":9}]]'
check 0 "csv has a row for each output" "$sinter" run relu.onnx --input x:0=1,9,3 --format csv
says out 'y,float32,"[1, 3]",3,1,9,'

for level in -O0 -O1 -O2 "-O2 --no-fuse" "-O2 --fuse=min" "-O2 --strict" "--threads 1" \
    "--threads 2"; do
    # shellcheck disable=SC2086 # several words
    check 0 "right with $level" "$sinter" run chain.onnx $level --dim n=3 -o "levels/" -q
    # shellcheck disable=SC2086
    check 0 "equal with -O0" "$sinter" run chain.onnx -O0 --dim n=3 --expect levels -q
done

check 1 "a model that is not there" "$sinter" run nowhere.onnx
says err "nowhere.onnx"
check 1 "a file that is no model" "$sinter" run labels
check 1 "an empty file" "$sinter" run /dev/null
check 4 "unsupported operators are listed all at once" "$sinter" run unknown.onnx
says err Frobnicate
says err Blorp
check 4 "in JSON too" "$sinter" run unknown.onnx --format json
says out '{"error":{"code":"unsupported"'
says out '"op_type":"Frobnicate"'
done_testing
