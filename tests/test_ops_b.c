/* Constants, shapes, axes, Slice, Gather, Pad, Resize, ConvTranspose, space and depth: what each
 * means on small tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/op_case.h"

// clang-format off
static void a_constant_is_what_its_one_attribute_says(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Constant", 1, "value={i16[2,2] 1 -2 3 4}", "", "i16[2,2] 1 -2 3 4"},
        {"Constant", 13, "value_int=-7", "", "i64[] -7"},
        {"Constant", 13, "value_ints=[3,4]", "", "i64[2] 3 4"},
        {"Constant", 13, "value_float=0.5f", "", "f32[] 0.5"},
        {"Constant", 13, "value_floats=[0.5f,2f]", "", "f32[2] 0.5 2"},
        {"Constant", 13, "value={bool[0,3]}", "", "bool[0,3]"},
        {"Constant", 13, "value={bf16[1] 1.5}", "", "bf16[1] 1.5"},
        {"Constant", 13, "value_string=abc", "", "error: constants of strings"},
        {"Constant", 13, "value={str[0]}", "", "error: element type string"},
        {"Constant", 13, "", "", "error: one of the attributes"});
}

static void constant_of_shape_takes_its_extents_from_an_input(void **state)
{
    (void)state;
    CHECK_OPS(
        {"ConstantOfShape", 9, "", "#i64[2] 2 3", "f32[2,3] 0"},
        {"ConstantOfShape", 9, "value={i8[1] -5}", "#i64[1] 3", "i8[3] -5"},
        {"ConstantOfShape", 9, "value={f16[1] 2}", "i64[2] 1 2", "f16[1,2] 2"},
        {"ConstantOfShape", 9, "value={bool[1] 1}", "#i64[0]", "bool[] 1"},
        {"ConstantOfShape", 9, "", "i64[2] 0 3", "f32[0,3]"},
        {"ConstantOfShape", 9, "", "#i64[1] -1", "error: no extent"},
        {"ConstantOfShape", 9, "value={i8[2] 1 2}", "#i64[1] 3", "error: one element"});
}

static void shape_and_size_tell_the_extents(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Shape", 1, "", "f32[2,0,3]", "i64[3] 2 0 3"},
        {"Shape", 13, "", "f32[]  1", "i64[0]"},
        {"Shape", 15, "start=-2", "bool[2,N=3,4] 1", "i64[2] 3 4"},
        {"Shape", 15, "start=1 end=-1", "i8[2,3,4,5] 0", "i64[2] 3 4"},
        {"Shape", 15, "start=2 end=1", "i8[2,3,4] 0", "i64[0]"},
        {"Shape", 15, "start=-9 end=9", "i8[2,3] 0", "i64[2] 2 3"},
        {"Size", 1, "", "f64[2,N=3,4] 0", "i64[] 24"},
        {"Size", 13, "", "f64[2,0]", "i64[] 0"},
        {"Size", 13, "", "u64[] 9", "i64[] 1"});
}

static void range_stops_before_the_limit(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Range", 11, "", "#i32[] 3; #i32[] 10; #i32[] 3", "i32[3] 3 6 9"},
        {"Range", 11, "", "i64[] 10; i64[] 3; i64[] -3", "i64[3] 10 7 4"},
        {"Range", 11, "", "i64[] 10; i64[] 4; #i64[] -3", "i64[2] 10 7"},
        {"Range", 11, "", "i16[] -5; i16[] 5; i16[] 5", "i16[2] -5 0"},
        {"Range", 11, "", "i64[] 3; i64[] 3; i64[] 1", "i64[0]"},
        {"Range", 11, "", "i64[] 5; i64[] 3; i64[] 1", "i64[0]"},
        {"Range", 11, "", "f32[] 0; f32[] 1; f32[] 0.3", "f32[4] 0 0.3 0.6 0.9"},
        {"Range", 11, "", "#f64[] 1; #f64[] -1; #f64[] -0.5", "f64[4] 1 0.5 0 -0.5"},
        {"Range", 11, "", "#i64[] 1; #i64[] 2; #i64[] 0", "error: delta is 0"},
        {"Range", 11, "", "i64[] 1; i64[] 2; i64[] 0", "error: division by zero"},
        {"Range", 11, "", "i64[] 1; i32[] 2; i64[] 1", "error: same element type"});
}

static void masks_follow_the_diagonal_or_the_index(void **state)
{
    (void)state;
    CHECK_OPS(
        {"EyeLike", 9, "", "i32[2,3] 7", "i32[2,3] 1 0 0 0 1 0"},
        {"EyeLike", 9, "k=-1 dtype=11", "f32[3,2] 7", "f64[3,2] 0 0 1 0 0 1"},
        {"EyeLike", 9, "dtype=9", "f32[1,0]", "bool[1,0]"},
        {"Trilu", 14, "", "i64[3,3] 1 2 3 4 5 6 7 8 9", "i64[3,3] 1 2 3 0 5 6 0 0 9"},
        {"Trilu", 14, "upper=0", "f32[2,3] 1 2 3 4 5 6; #i64[] 1", "f32[2,3] 1 2 0 4 5 6"},
        {"Trilu", 14, "", "u8[2,2,2] 1 2 3 4 5 6 7 8; i64[1] 1", "u8[2,2,2] 0 2 0 0 0 6 0 0"},
        {"Trilu", 14, "upper=0", "bool[2,2] 1; i64[] -5", "bool[2,2] 0"},
        {"Trilu", 14, "", "f32[2] 1 2", "error: rank 1"},
        {"OneHot", 11, "", "i64[3] 1 -1 7; #i64[] 3; f32[2] 5 9", "f32[3,3] 5 9 5 5 5 9 5 5 5"},
        {"OneHot", 9, "axis=0", "f32[2] 1 0; f32[1] 2; i8[2] 0 1", "i8[2,2] 0 1 1 0"},
        {"OneHot", 11, "", "i32[] 1; i64[1] 2; bool[2] 1 0", "bool[2] 1 0"},
        {"OneHot", 11, "", "i32[] 1; i64[1] 2; f32[3] 1 0 0", "error: [off, on]"});
}

static void squeeze_and_unsqueeze_change_only_the_axes(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Squeeze", 1, "", "f32[1,2,1] 1 2", "f32[2] 1 2"},
        {"Squeeze", 11, "axes=[-1]", "f32[1,2,1] 1 2", "f32[1,2] 1 2"},
        {"Squeeze", 13, "", "f32[1,2,1] 1 2; #i64[2] 2 0", "f32[2] 1 2"},
        {"Squeeze", 13, "", "f32[1,2,1] 1 2; i64[1] -1", "f32[1,2] 1 2"},
        {"Squeeze", 13, "", "f32[1,N=2,1] 1 2; i64[2] 0 2", "f32[2] 1 2"},
        {"Squeeze", 13, "", "f32[1,N=1] 5; #i64[1] 1", "f32[1] 5"},
        {"Squeeze", 13, "", "f32[1,1] 5", "f32[] 5"},
        {"Squeeze", 13, "", "f32[1,2] 1 2; #i64[1] 1", "error: must have extent 1"},
        {"Squeeze", 13, "", "f32[1,2] 1 2; i64[1] 1", "error: do not fit"},
        {"Squeeze", 13, "", "f32[1,2] 1 2; #i64[1] 2", "error: outside [-2, 2)"},
        {"Squeeze", 13, "", "f32[1,N=1] 1", "error: give 'axes'"},
        {"Unsqueeze", 1, "axes=[0,2]", "f32[2] 1 2", "f32[1,2,1] 1 2"},
        {"Unsqueeze", 13, "", "i8[2,2] 1 2 3 4; #i64[2] -1 0", "i8[1,2,2,1] 1 2 3 4"},
        {"Unsqueeze", 13, "", "i8[2,2] 1 2 3 4; i64[2] 3 1", "i8[2,1,2,1] 1 2 3 4"},
        {"Unsqueeze", 13, "", "bool[] 1; #i64[1] 0", "bool[1] 1"},
        {"Unsqueeze", 13, "", "bool[0]; #i64[1] 0", "bool[1,0]"},
        {"Unsqueeze", 13, "", "f32[2] 1 2; #i64[2] 1 -2", "error: given twice"},
        {"Unsqueeze", 13, "", "f32[2] 1 2; i64[2] 1 -2", "error: given twice"},
        {"Unsqueeze", 13, "", "f32[2] 1 2", "error: 'axes' is required"});
}

static void expand_broadcasts_both_ways(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Expand", 8, "", "f32[2,1] 1 2; #i64[2] 1 3", "f32[2,3] 1 1 1 2 2 2"},
        {"Expand", 13, "", "i64[3] 1 2 3; i64[2] 2 1", "i64[2,3] 1 2 3 1 2 3"},
        {"Expand", 13, "", "f16[] 4; #i64[3] 1 2 1", "f16[1,2,1] 4 4"},
        {"Expand", 13, "", "f32[N=2] 1 2; #i64[1] 1", "f32[2] 1 2"},
        {"Expand", 13, "", "f32[1] 1; #i64[1] 0", "f32[0]"},
        {"Expand", 13, "", "f32[2] 1 2; #i64[1] 3", "error: does not fit"},
        {"Expand", 13, "", "f32[2] 1 2; i64[1] 3", "error: does not fit"});
}

static void tile_repeats_each_axis(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Tile", 6, "", "i32[2,2] 1 2 3 4; #i64[2] 1 2", "i32[2,4] 1 2 1 2 3 4 3 4"},
        {"Tile", 13, "", "f32[N=2] 1 2; i64[1] 3", "f32[6] 1 2 1 2 1 2"},
        {"Tile", 13, "", "f32[2] 1 2; #i64[1] 0", "f32[0]"},
        {"Tile", 13, "", "f32[0,2]; #i64[2] 3 2", "f32[0,4]"},
        {"Tile", 1, "", "f32[2,2] 1 2 3 4; #f32[1] 2; #f32[1] 1", "f32[2,4] 1 2 1 2 3 4 3 4"},
        {"Tile", 13, "", "f32[2] 1 2; #i64[2] 1 1", "error: repeats"});
}

static void concat_and_split_are_inverses(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Concat", 13, "axis=0", "f32[1,2] 1 2; f32[2,2] 3 4 5 6", "f32[3,2] 1 2 3 4 5 6"},
        {"Concat", 13, "axis=-1", "u8[2,1] 1 2; u8[2,0]; u8[2,2] 3 4 5 6", "u8[2,3] 1 3 4 2 5 6"},
        {"Concat", 1, "", "f32[1,1] 1; f32[1,1] 2", "f32[1,2] 1 2"},
        {"Concat", 13, "axis=0", "f32[A=2] 1 2; f32[B=1] 3; f32[C=0]; f32[1] 4", "f32[4] 1 2 3 4"},
        {"Concat", 13, "axis=0", "bool[0]; bool[0]", "bool[0]"},
        {"Concat", 13, "axis=0", "i8[1] 1; i8[1] 2; i8[1] 3; i8[1] 4; i8[1] 5; i8[1] 6; i8[1] 7",
            "i8[7] 1 2 3 4 5 6 7"},
        {"Concat", 13, "axis=1", "f32[1,N=1] 1; f32[2,1] 1", "error: other than the joined one"},
        {"Concat", 13, "axis=0", "f32[1] 1; i8[1] 1", "error: same element type"},
        {"Concat", 13, "", "f32[1] 1; f32[1] 1", "error: 'axis' is required"},
        {"Split", 2, "axis=1 split=[1,2]", "f32[2,3] 1 2 3 4 5 6",
            "f32[2,1] 1 4; f32[2,2] 2 3 5 6"},
        {"Split", 1, "", "f32[4] 1 2 3 4; #i64[2] 1 3", "f32[1] 1; f32[3] 2 3 4"},
        {"Split", 13, "axis=-1", "i64[4] 1 2 3 4; i64[2] 4 0", "i64[4] 1 2 3 4; i64[0]"},
        {"Split", 13, "", "f32[N=4] 1 2 3 4", "f32[2] 1 2; f32[2] 3 4"},
        {"Split", 18, "num_outputs=3", "f32[7] 1 2 3 4 5 6 7",
            "f32[3] 1 2 3; f32[3] 4 5 6; f32[1] 7"},
        {"Split", 18, "num_outputs=2", "f32[N=3] 1 2 3", "f32[2] 1 2; f32[1] 3"},
        {"Split", 18, "num_outputs=3", "f32[1] 1", "f32[1] 1; f32[0]; f32[0]"},
        {"Split", 13, "", "f32[3] 1 2 3; #i64[1] 2", "error: the sum of 'split'"},
        {"Split", 13, "", "f32[3] 1 2 3; i64[1] 2", "error: the sum of 'split'"},
        {"Split", 18, "num_outputs=3", "f32[3] 1 2 3", "error: 'num_outputs' is 3"});
}

static void slices_are_clamped_and_may_run_backwards(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Slice", 1, "starts=[1] ends=[3]", "f32[4,1] 1 2 3 4", "f32[2,1] 2 3"},
        {"Slice", 1, "starts=[0,-2] ends=[9,-1] axes=[1,0]", "f32[3,1] 1 2 3", "f32[1,1] 2"},
        {"Slice", 13, "", "i8[4] 1 2 3 4; #i64[1] -1; #i64[1] -9; #i64[1] 0; #i64[1] -1",
            "i8[4] 4 3 2 1"},
        {"Slice", 13, "", "i8[5] 1 2 3 4 5; i64[1] 9; i64[1] -9; i64[1] -1; i64[1] -2",
            "i8[3] 5 3 1"},
        {"Slice", 10, "", "i8[N=5] 1 2 3 4 5; #i64[1] -2; #i64[1] 2147483647", "i8[2] 4 5"},
        {"Slice", 10, "", "i8[N=1] 1; #i64[1] -2; #i64[1] 9223372036854775807", "i8[1] 1"},
        {"Slice", 10, "", "i8[N=0]; #i64[1] -1; #i64[1] -2147483648; _; #i64[1] -1", "i8[0]"},
        {"Slice", 10, "", "i8[N=5] 1 2 3 4 5; #i64[1] 1; #i64[1] -1; _; #i64[1] 2", "i8[2] 2 4"},
        {"Slice", 10, "", "i8[5] 1 2 3 4 5; i64[1] -4; i64[1] -1", "i8[3] 2 3 4"},
        {"Slice", 10, "", "i8[5] 1 2 3 4 5; i64[1] 1; i64[1] 4", "i8[3] 2 3 4"},
        {"Slice", 10, "", "i8[5] 1 2 3 4 5; i64[1] 4; i64[1] 1", "i8[0]"},
        {"Slice", 10, "", "i8[2,3] 1 2 3 4 5 6; i32[2] 0 1; i32[2] 1 3; i32[2] 0 1; i32[2] 1 1",
            "i8[1,2] 2 3"},
        {"Slice", 10, "", "i8[2] 1 2; #i64[2] 0 0; #i64[1] 1", "error: differ in length"},
        {"Slice", 10, "", "i8[2] 1 2; #i64[1] 0; #i64[1] 1; #i64[1] 0; #i64[1] 0",
            "error: step 0 is 0"},
        {"Slice", 10, "", "i8[1,2] 1 2; #i64[2] 0 0; #i64[2] 1 1; #i64[2] 1 -1",
            "error: sliced twice"});
}

static void padding_extends_or_cuts(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Pad", 1, "paddings=[0,1,0,2] value=0.5f", "f32[1,2] 1 2", "f32[1,5] 0.5 1 2 0.5 0.5"},
        {"Pad", 2, "pads=[1,-1]", "f32[3] 1 2 3", "f32[3] 0 1 2"},
        {"Pad", 11, "", "i32[2] 1 2; i64[2] 2 1; i32[] -7", "i32[5] -7 -7 1 2 -7"},
        {"Pad", 13, "", "bool[1] 1; #i64[2] 0 1; _", "bool[2] 1 0"},
        {"Pad", 18, "", "i8[2,2] 1 2 3 4; #i64[2] 1 0; _; #i64[1] -1", "i8[2,3] 0 1 2 0 3 4"},
        {"Pad", 18, "", "i8[2,2] 1 2 3 4; i64[2] 1 0; i8[] 9; i64[1] -1", "i8[2,3] 9 1 2 9 3 4"},
        {"Pad", 18, "mode=edge", "f32[3] 1 2 3; #i64[2] 4 5", "f32[12] 1 1 1 1 1 2 3 3 3 3 3 3"},
        {"Pad", 18, "mode=reflect", "f32[3] 1 2 3; #i64[2] 2 1", "f32[6] 3 2 1 2 3 2"},
        {"Pad", 18, "mode=reflect", "f32[N=3] 1 2 3; i64[2] 4 5",
            "f32[12] 1 2 3 2 1 2 3 2 1 2 3 2"},
        {"Pad", 18, "mode=reflect", "f32[1] 1; #i64[2] 1 1", "f32[3] 1 1 1"},
        {"Pad", 19, "mode=wrap", "f32[N=3] 1 2 3; #i64[2] 4 5", "f32[12] 3 1 2 3 1 2 3 1 2 3 1 2"},
        {"Pad", 18, "", "f32[0]; #i64[2] 1 1; f32[] 2", "f32[2] 2 2"},
        {"Pad", 18, "mode=edge", "f32[0]; #i64[2] 1 1", "error: no elements to pad with"},
        {"Pad", 18, "", "f32[2] 1 2; #i64[2] -2 -1", "error: is negative"},
        {"Pad", 18, "mode=mirror", "f32[2] 1 2; #i64[2] 1 1", "error: 'mode' is 'mirror'"},
        {"Pad", 18, "", "f32[2] 1 2; #i64[4] 1 1 1 1", "error: 4 pads for 1 axes"});
}

static void gathers_choose_by_data(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Gather", 13, "axis=1", "f32[2,3] 1 2 3 4 5 6; i64[2] -1 0", "f32[2,2] 3 1 6 4"},
        {"Gather", 1, "", "i8[3] 1 2 3; #i32[] 1", "i8[] 2"},
        {"Gather", 13, "", "i8[N=3,0]; i32[1,2] 1 1", "i8[1,2,0]"},
        {"Gather", 13, "", "i8[3] 1 2 3; i32[0]", "i8[0]"},
        {"Gather", 13, "", "i8[3] 1 2 3; i64[1] 3", "error: out of range"},
        {"Gather", 13, "", "i8[3] 1 2 3; #i64[1] -4", "error: out of range"},
        {"Gather", 13, "axis=1", "i8[3] 1 2 3; i64[1] 0", "error: axis 1"},
        {"GatherElements", 11, "axis=1", "f32[2,2] 1 2 3 4; i64[2,1] 1 -2", "f32[2,1] 2 3"},
        {"GatherElements", 13, "", "f32[2,3] 1 2 3 4 5 6; i32[1,2] 1 0", "f32[1,2] 4 2"},
        {"GatherElements", 13, "", "f32[2,1] 1 2; i32[1,2] 1 0", "error: larger extent"},
        {"GatherND", 11, "", "f32[2,2] 1 2 3 4; i64[2,2] 0 0 1 -1", "f32[2] 1 4"},
        {"GatherND", 11, "", "f32[2,2] 1 2 3 4; i64[2,1] 1 0", "f32[2,2] 3 4 1 2"},
        {"GatherND", 12, "batch_dims=1", "f32[2,3] 1 2 3 4 5 6; i64[2,1] 2 0", "f32[2] 3 4"},
        {"GatherND", 12, "batch_dims=1", "i8[2,2,2] 1 2 3 4 5 6 7 8; i64[2,1,1] 1 0",
            "i8[2,1,2] 3 4 5 6"},
        {"GatherND", 12, "", "f32[2] 1 2; i64[1,2] 0 0", "error: index tuples of 2"},
        {"ReverseSequence", 10, "", "f32[3,2] 1 2 3 4 5 6; i64[2] 3 2", "f32[3,2] 5 4 3 2 1 6"},
        {"ReverseSequence", 10, "batch_axis=0 time_axis=1", "i8[2,3] 1 2 3 4 5 6; i64[2] 1 3",
            "i8[2,3] 1 2 3 6 5 4"},
        {"ReverseSequence", 10, "", "f32[2,1] 1 2; i64[1] 3", "error: out of range"});
}

static void blocks_move_between_space_and_channels(void **state)
{
    (void)state;
    CHECK_OPS(
        {"DepthToSpace", 13, "blocksize=2", "i8[1,8,1,1] 0 1 2 3 4 5 6 7",
            "i8[1,2,2,2] 0 2 4 6 1 3 5 7"},
        {"DepthToSpace", 13, "blocksize=2 mode=CRD", "i8[1,C=8,1,1] 0 1 2 3 4 5 6 7",
            "i8[1,2,2,2] 0 1 2 3 4 5 6 7"},
        {"DepthToSpace", 1, "blocksize=1", "f32[1,1,1,2] 1 2", "f32[1,1,1,2] 1 2"},
        {"SpaceToDepth", 13, "blocksize=2", "i8[1,2,2,2] 0 2 4 6 1 3 5 7",
            "i8[1,8,1,1] 0 1 2 3 4 5 6 7"},
        {"SpaceToDepth", 1, "blocksize=2", "f32[0,1,2,H=4]", "f32[0,4,1,2]"},
        {"DepthToSpace", 13, "blocksize=2", "i8[1,6,1,1] 0", "error: multiple of blocksize"},
        {"SpaceToDepth", 13, "blocksize=2", "i8[1,1,2,W=3] 0", "error: multiples of blocksize"},
        {"DepthToSpace", 13, "", "i8[1,4,1,1] 0", "error: 'blocksize' must be positive"});
}

static void conv_transpose_spreads_each_input(void **state)
{
    (void)state;
    CHECK_OPS(
        {"ConvTranspose", 11, "", "f32[1,1,2] 1 10; f32[1,1,3] 1 2 3", "f32[1,1,4] 1 12 23 30"},
        {"ConvTranspose", 11, "strides=[2]", "f32[1,1,2] 1 10; f32[1,1,3] 1 2 3; f32[1] 100",
            "f32[1,1,5] 101 102 113 120 130"},
        {"ConvTranspose", 11, "strides=[2] pads=[1,1] output_padding=[1]",
            "f32[1,1,N=2] 1 10; f32[1,1,3] 1 2 3", "f32[1,1,4] 2 13 20 30"},
        {"ConvTranspose", 11, "dilations=[2]", "f64[1,1,2] 1 10; f64[1,1,2] 1 2",
            "f64[1,1,4] 1 10 2 20"},
        {"ConvTranspose", 11, "strides=[2] dilations=[2]", "f32[1,1,2] 1 10; f32[1,1,2] 1 2",
            "f32[1,1,5] 1 0 12 0 20"},
        {"ConvTranspose", 11, "strides=[2] dilations=[3]", "f32[1,1,2] 1 10; f32[1,1,2] 1 2",
            "f32[1,1,6] 1 0 10 2 0 20"},
        {"ConvTranspose", 11, "strides=[3]", "f32[1,1,2] 1 10; f32[1,1,1] 2",
            "f32[1,1,4] 2 0 0 20"},
        {"ConvTranspose", 11, "auto_pad=SAME_UPPER strides=[2]",
            "f32[1,1,2] 1 10; f32[1,1,3] 1 2 3", "f32[1,1,4] 1 2 13 20"},
        {"ConvTranspose", 11, "auto_pad=SAME_LOWER strides=[2]",
            "f32[1,1,2] 1 10; f32[1,1,3] 1 2 3", "f32[1,1,4] 2 13 20 30"},
        {"ConvTranspose", 1, "output_shape=[4] strides=[2]", "f32[1,1,2] 1 10; f32[1,1,3] 1 2 3",
            "f32[1,1,4] 2 13 20 30"},
        {"ConvTranspose", 1, "output_shape=[1,1,6] strides=[2]",
            "f32[1,1,2] 1 10; f32[1,1,3] 1 2 3", "f32[1,1,6] 1 2 13 20 30 0"},
        {"ConvTranspose", 11, "group=2", "f16[1,2,1] 1 10; f16[2,2,1] 1 2 3 4",
            "f16[1,4,1] 1 2 30 40"},
        {"ConvTranspose", 11, "", "f32[1,2,1] 1 10; f32[2,1,2] 1 2 3 4", "f32[1,1,2] 31 42"},
        {"ConvTranspose", 11, "strides=[1,2]", "f32[1,1,1,2] 1 2; f32[1,1,2,1] 1 10",
            "f32[1,1,2,3] 1 0 2 10 0 20"},
        {"ConvTranspose", 11, "", "f32[0,1,2]; f32[1,1,1] 2", "f32[0,1,2]"},
        {"ConvTranspose", 11, "group=2", "f32[1,3,1] 1; f32[3,1,1] 1", "error: multiple of group"},
        {"ConvTranspose", 11, "kernel_shape=[2]", "f32[1,1,1] 1; f32[1,1,1] 1",
            "error: contradicts"},
        {"ConvTranspose", 11, "strides=[0]", "f32[1,1,1] 1; f32[1,1,1] 1",
            "error: 'strides' can't be 0"});
}

static void resize_takes_the_nearest_element(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Resize", 19, "", "i8[4] 1 2 3 4; _; #f32[1] 2", "i8[8] 1 1 2 2 3 3 4 4"},
        {"Resize", 19, "", "i8[N=4] 1 2 3 4; _; #f32[1] 2", "i8[8] 1 1 2 2 3 3 4 4"},
        {"Resize", 19, "", "bool[N=2] 1 0; _; f32[1] 2", "bool[4] 1 1 0 0"},
        {"Resize", 11, "coordinate_transformation_mode=align_corners",
            "i8[4] 1 2 3 4; f32[0]; #f32[1] 2", "i8[8] 1 1 2 2 3 3 4 4"},
        {"Resize", 13, "coordinate_transformation_mode=align_corners nearest_mode=floor",
            "f32[6] 1 2 3 4 5 6; _; #f32[1] 3", "f32[18] 1 1 1 1 2 2 2 3 3 3 3 4 4 4 5 5 5 6"},
        {"Resize", 19, "coordinate_transformation_mode=asymmetric",
            "f32[4] 1 2 3 4; _; #f32[1] 0.8", "f32[3] 1 2 3"},
        {"Resize", 19, "coordinate_transformation_mode=half_pixel_symmetric",
            "f32[4] 1 2 3 4; _; #f32[1] 0.6", "f32[2] 2 3"},
        {"Resize", 19, "", "f32[4] 1 2 3 4; _; #f32[1] 0.5", "f32[2] 1 3"},
        {"Resize", 19, "nearest_mode=round_prefer_ceil", "f32[N=4] 1 2 3 4; _; #f32[1] 0.5",
            "f32[2] 2 4"},
        {"Resize", 19, "nearest_mode=floor", "f32[4] 1 2 3 4; _; _; #i64[1] 6",
            "f32[6] 1 1 2 2 3 4"},
        {"Resize", 19, "nearest_mode=floor", "f32[N=4] 1 2 3 4; _; _; i64[1] 6",
            "f32[6] 1 1 2 2 3 4"},
        {"Resize", 19, "nearest_mode=ceil", "f32[4] 1 2 3 4; _; _; #i64[1] 6",
            "f32[6] 1 2 3 3 4 4"},
        {"Resize", 11, "coordinate_transformation_mode=tf_half_pixel_for_nn nearest_mode=floor",
            "f32[4] 1 2 3 4; f32[0]; #f32[1] 0.5", "f32[2] 2 4"},
        {"Resize", 10, "", "f32[1,1,2,4] 1 2 3 4 5 6 7 8; #f32[4] 1 1 0.6 0.6", "f32[1,1,1,2] 1 3"},
        {"Resize", 19, "", "f32[1,2] 1 2; _; #f32[2] 1 1", "f32[1,2] 1 2"},
        {"Resize", 19, "", "f32[0,2]; _; #f32[2] 1 2", "f32[0,4]"});
}

static void resize_interpolates_linearly(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Resize", 19, "mode=linear", "f32[4] 1 2 3 4; _; #f32[1] 2",
            "f32[8] 1 1.25 1.75 2.25 2.75 3.25 3.75 4"},
        {"Resize", 19, "mode=linear", "f64[N=4] 1 2 3 4; _; #f32[1] 2",
            "f64[8] 1 1.25 1.75 2.25 2.75 3.25 3.75 4"},
        {"Resize", 19, "mode=linear", "f16[N=4] 1 2 3 4; _; f32[1] 2",
            "f16[8] 1 1.25 1.75 2.25 2.75 3.25 3.75 4"},
        {"Resize", 19, "mode=linear", "f32[2,2] 1 2 3 4; _; #f32[2] 2 2",
            "f32[4,4] 1 1.25 1.75 2 1.5 1.75 2.25 2.5 2.5 2.75 3.25 3.5 3 3.25 3.75 4"},
        {"Resize", 11, "mode=linear coordinate_transformation_mode=align_corners",
            "f32[4] 1 2 3 4; f32[0]; #f32[1] 0.8", "f32[3] 1 2.3636364 3.7272727"},
        {"Resize", 13, "mode=linear coordinate_transformation_mode=asymmetric",
            "f32[4] 1 2 3 4; _; #f32[1] 2", "f32[8] 1 1.5 2 2.5 3 3.5 4 4"},
        {"Resize", 13, "mode=linear coordinate_transformation_mode=pytorch_half_pixel",
            "f32[4] 1 2 3 4; _; _; #i64[1] 1", "f32[1] 1"},
        {"Resize", 18, "mode=linear", "f32[4] 1 2 3 4; _; #f32[1] 0.8", "f32[3] 1.125 2.375 3.625"},
        {"Resize", 13,
            "mode=linear coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=9f",
            "f32[4] 1 2 3 4; #f32[2] 0.25 1.25; _; #i64[1] 5", "f32[5] 1.75 2.5 3.25 4 9"},
        {"Resize", 13,
            "mode=linear coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=9f",
            "f32[N=4] 1 2 3 4; f32[2] 0.25 1.25; _; i64[1] 5", "f32[5] 1.75 2.5 3.25 4 9"},
        {"Resize", 19, "mode=linear", "u8[4] 0 255 7 8; _; _; #i64[1] 7",
            "u8[7] 0 91 237 131 7 8 8"},
        {"Resize", 19, "mode=linear antialias=1", "f32[8] 1 2 3 4 5 6 7 8; _; #f32[1] 0.5",
            "f32[4] 1.625 3.5 5.5 7.375"},
        {"Resize", 18, "mode=linear antialias=1", "f32[N=8] 1 2 3 4 5 6 7 8; _; _; i64[1] 3",
            "f32[3] 1.9767442 4.5 7.0232558"},
        {"Resize", 18, "mode=linear axes=[1]", "f32[2,2] 1 2 3 4; _; #f32[1] 2",
            "f32[2,4] 1 1.25 1.75 2 3 3.25 3.75 4"},
        {"Resize", 18, "mode=linear axes=[1,0]", "f32[2,2] 1 2 3 4; _; #f32[2] 2 1",
            "f32[2,4] 1 1.25 1.75 2 3 3.25 3.75 4"});
}

static void resize_interpolates_by_cubics(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Resize", 19, "mode=cubic", "f32[4] 1 2 3 4; _; #f32[1] 2",
            "f32[8] 0.89453125 1.1914062 1.6679688 2.296875 2.703125 3.3320312 3.8085938 "
            "4.1054688"},
        {"Resize", 11, "mode=cubic coordinate_transformation_mode=asymmetric",
            "f32[N=4] 1 2 3 4; f32[0]; #f32[1] 0.8", "f32[3] 1 2.296875 3.59375"},
        {"Resize", 19, "mode=cubic coordinate_transformation_mode=half_pixel_symmetric",
            "f32[4] 1 2 3 4; _; #f32[1] 0.6", "f32[2] 1.5740744 3.4259276"},
        {"Resize", 19, "mode=cubic exclude_outside=1 cubic_coeff_a=-0.5f",
            "f32[4] 1 2 3 4; _; #f32[1] 2",
            "f32[8] 0.91176468 1.1678832 1.7099236 2.25 2.75 3.2900763 3.8321168 4.0882354"},
        {"Resize", 19, "mode=cubic antialias=1", "f32[8] 1 2 3 4 5 6 7 8; _; #f32[1] 0.5",
            "f32[4] 1.4726562 3.4824219 5.5175781 7.5273438"},
        {"Resize", 19, "mode=cubic", "u8[4] 0 255 0 255; _; _; #i64[1] 8",
            "u8[8] 0 67 224 215 40 31 188 255"});
}

static void resize_finds_the_extents(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Resize", 18, "keep_aspect_ratio_policy=not_larger", "i8[2,2] 1 2 3 4; _; _; #i64[2] 4 3",
            "i8[3,3] 1 1 2 1 1 2 3 3 4"},
        {"Resize", 18, "keep_aspect_ratio_policy=not_smaller",
            "i8[N=2,2] 1 2 3 4; _; _; i64[2] 4 3", "i8[4,4] 1 1 2 2 1 1 2 2 3 3 4 4 3 3 4 4"},
        {"Resize", 13, "", "f32[N=10] 1; _; #f32[1] 0.7", "f32[7] 1"},
        {"Resize", 13, "", "f32[9] 1; _; #f32[1] 0.33333334", "f32[3] 1"},
        {"Resize", 13, "", "f32[2] 1 2; _; #f32[1] 2; #i64[1] 4", "error: one of scales and sizes"},
        {"Resize", 13, "", "f32[2] 1 2", "error: one of scales and sizes"},
        {"Resize", 13, "", "f32[2] 1 2; _; #f32[2] 2 2", "error: one element for each"},
        {"Resize", 13, "", "f32[2] 1 2; _; #f32[1] -2", "error: not positive"},
        {"Resize", 13, "", "f32[0]; _; _; #i64[1] 2", "error: no elements to resize"},
        {"Resize", 13, "mode=area", "f32[2] 1 2; _; #f32[1] 2", "error: 'mode' is 'area'"},
        {"Upsample", 9, "", "f32[1,1,1,2] 1 2; #f32[4] 1 1 2 3",
            "f32[1,1,2,6] 1 1 1 2 2 2 1 1 1 2 2 2"},
        {"Upsample", 7, "mode=linear scales=[1f,2f]", "f32[1,N=2] 1 2", "f32[1,4] 1 1.5 2 2"},
        {"Upsample", 1, "width_scale=2f height_scale=1f mode=bilinear", "f32[1,1,1,2] 1 2",
            "f32[1,1,1,4] 1 1.5 2 2"});
}

static void center_crop_pad_works_on_both_ends(void **state)
{
    (void)state;
    CHECK_OPS(
        {"CenterCropPad", 18, "", "i8[4] 1 2 3 4; #i64[1] 1", "i8[1] 2"},
        {"CenterCropPad", 18, "axes=[-1]", "i8[1,N=2] 1 2; i64[1] 5", "i8[1,5] 0 1 2 0 0"},
        {"CenterCropPad", 18, "axes=[1,0]", "i8[3,1] 1 2 3; #i32[2] 2 1", "i8[1,2] 2 0"},
        {"CenterCropPad", 18, "", "i8[2,1] 1 2; #i64[1] 1", "error: 1 elements for 2 axes"});
}

static void einsum_sums_over_labels_that_the_result_lacks(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Einsum", 12, "equation=ij,jk", "f32[2,2] 1 2 3 4; f32[2,1] 1 10", "f32[2,1] 21 43"},
        {"Einsum", 12, "equation=ij->ji", "i8[1,N=2] 1 2", "i8[2,1] 1 2"},
        {"Einsum", 12, "equation=ii", "f64[2,2] 1 2 3 4", "f64[] 5"},
        {"Einsum", 12, "equation=a...ii->a...i", "i32[1,1,2,2] 1 2 3 4", "i32[1,1,2] 1 4"},
        {"Einsum", 12, "equation=a...,...", "i32[2,1] 1 2; i32[3] 1 2 3", "i32[3,2] 1 2 2 4 3 6"},
        {"Einsum", 12, "equation=b,a", "i32[2] 1 2; i32[1] 3", "i32[1,2] 3 6"},
        {"Einsum", 12, "equation=i,i,i->", "f16[2] 1 2; f16[2] 3 4; f16[2] 5 6", "f16[] 63"},
        {"Einsum", 12, "equation=ij,jk,kl->il", "f32[1,2] 1 2; f32[2,2] 1 0 0 1; f32[2,1] 5 6",
            "f32[1,1] 17"},
        {"Einsum", 12, "equation=i->", "f32[0]", "f32[] 0"},
        {"Einsum", 12, "equation=ij", "f32[2] 1 2", "error: operand 0 of rank 1"},
        {"Einsum", 12, "equation=i", "f32[2] 1 2; f32[2] 1 2", "error: fewer terms"},
        {"Einsum", 12, "equation=i,j", "f32[2] 1 2", "error: more terms"},
        {"Einsum", 12, "equation=i->j", "f32[2] 1 2", "error: in no operand"},
        {"Einsum", 12, "equation=i->ii", "f32[2] 1 2", "error: twice"},
        {"Einsum", 12, "equation=i,i", "f32[2] 1 2; f32[3] 1 2 3", "error: one label"},
        {"Einsum", 12, "equation=i$", "f32[2] 1 2", "error: wrong at '$'"});
}

static void grids_are_sampled_between_the_elements(void **state)
{
    (void)state;
    CHECK_OPS(
        {"GridSample", 16, "mode=bilinear align_corners=1",
            "f32[1,1,1,3] 1 2 4; f32[1,1,2,2] 0.5 0 -1 0", "f32[1,1,1,2] 3 1"},
        {"GridSample", 20, "mode=nearest", "i8[1,1,N=3] 1 2 4; f32[1,3,1] -0.6 0 3",
            "i8[1,1,3] 1 2 0"},
        {"GridSample", 20, "mode=linear", "f32[1,1,2] 1 3; f32[1,3,1] -1 0 1",
            "f32[1,1,3] 0.5 2 1.5"},
        {"GridSample", 20, "padding_mode=border", "f32[1,1,2] 1 3; f32[1,3,1] -1 0 9e30",
            "f32[1,1,3] 1 2 3"},
        {"GridSample", 20, "padding_mode=reflection", "f64[1,1,2] 1 3; f32[1,3,1] -1.5 0 2.5",
            "f64[1,1,3] 1 2 1"},
        {"GridSample", 20, "mode=cubic align_corners=1", "f32[1,1,4] 1 2 3 4; f32[1,1,1] 0",
            "f32[1,1,1] 2.5"},
        {"GridSample", 20, "", "f32[1,1,2] 1 2; f32[1,1,2] 0 0",
            "error: one value for each spatial axis"},
        {"AffineGrid", 20, "align_corners=1", "f32[1,2,3] 1 0 0 0 1 0; #i64[4] 1 1 2 2",
            "f32[1,2,2,2] -1 -1 1 -1 -1 1 1 1"},
        {"AffineGrid", 20, "", "f32[1,2,3] 2 0 1 0 1 0; i64[4] 1 1 1 2", "f32[1,1,2,2] 0 0 2 0"},
        {"AffineGrid", 20, "", "f32[1,2,3] 2; #i64[5] 1 1 1 2 2", "error: rows of theta"});
}
// clang-format on

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_is_what_its_one_attribute_says),
        cmocka_unit_test(constant_of_shape_takes_its_extents_from_an_input),
        cmocka_unit_test(shape_and_size_tell_the_extents),
        cmocka_unit_test(range_stops_before_the_limit),
        cmocka_unit_test(masks_follow_the_diagonal_or_the_index),
        cmocka_unit_test(squeeze_and_unsqueeze_change_only_the_axes),
        cmocka_unit_test(expand_broadcasts_both_ways),
        cmocka_unit_test(tile_repeats_each_axis),
        cmocka_unit_test(concat_and_split_are_inverses),
        cmocka_unit_test(slices_are_clamped_and_may_run_backwards),
        cmocka_unit_test(padding_extends_or_cuts),
        cmocka_unit_test(gathers_choose_by_data),
        cmocka_unit_test(blocks_move_between_space_and_channels),
        cmocka_unit_test(conv_transpose_spreads_each_input),
        cmocka_unit_test(resize_takes_the_nearest_element),
        cmocka_unit_test(resize_interpolates_linearly),
        cmocka_unit_test(resize_interpolates_by_cubics),
        cmocka_unit_test(resize_finds_the_extents),
        cmocka_unit_test(center_crop_pad_works_on_both_ends),
        cmocka_unit_test(einsum_sums_over_labels_that_the_result_lacks),
        cmocka_unit_test(grids_are_sampled_between_the_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
