/* Elementwise operators, reductions, softmax, normalisations: what each means on small tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/op_case.h"

// clang-format off
static void arithmetic_broadcasts_from_both_sides(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Add", 14, "", "f32[2,1] 1 2; f32[3] 10 20 30", "f32[2,3] 11 21 31 12 22 32"},
        {"Sub", 14, "", "u8[2] 1 5; u8[] 3", "u8[2] 254 2"},
        {"Mul", 14, "", "i16[2,2] 1 2 3 400; i16[1,1] 100", "i16[2,2] 100 200 300 -25536"},
        {"Div", 14, "", "i32[3] -7 7 8; i32[3] 2 -2 3", "i32[3] -3 -3 2"},
        {"Div", 14, "", "f16[2] 1 1; f16[2] 3 0", "f16[2] 0.333251953125 inf"},
        {"Add", 14, "", "f32[0,3]; f32[1,3] 1 2 3", "f32[0,3]"},
        {"Add", 14, "", "f32[N=2,1] 1 2; f32[1,M=2] 10 20", "f32[2,2] 11 21 12 22"},
        {"Add", 14, "", "bf16[1] 256; bf16[1] 1", "bf16[1] 256"},
        {"Add", 14, "", "f64[1,1,1,1,1,1,1,2] 1 2; f64[] 1", "f64[1,1,1,1,1,1,1,2] 2 3"},
        {"Add", 14, "", "f32[2] 1 2; f32[3] 1 2 3", "error: neither equal nor 1"},
        {"Add", 14, "", "f32[2] 1 2; f64[2] 1 2", "error: same element type"},
        {"Div", 14, "", "i32[1] 1; i32[1] 0", "error: division by zero"},
        {"Add", 14, "", "str[0]; str[0]", "error: element type string"},
        {"Add", 14, "", "f32[2] 1 2", "error: input 1 is required"});
}

static void before_version_7_the_second_operand_is_aligned_by_axis(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Add", 6, "broadcast=1 axis=0", "f32[2,2] 1 2 3 4; f32[2] 10 20", "f32[2,2] 11 12 23 24"},
        {"Mul", 6, "broadcast=1", "f32[2,2] 1 2 3 4; f32[2] 10 20", "f32[2,2] 10 40 30 80"},
        {"Less", 6, "broadcast=1 axis=0", "f32[2,2] 1 2 3 4; f32[2] 2 4", "bool[2,2] 1 0 1 0"},
        {"Pow", 1, "broadcast=1", "f32[2] 2 3; f32[] 3", "f32[2] 8 27"},
        {"Sub", 6, "", "f32[2,2] 1 2 3 4; f32[2] 10 20", "error: broadcast=1"},
        {"Add", 6, "broadcast=1 axis=2", "f32[2,2] 1; f32[2] 1", "error: axis = 2"});
}

static void powers_have_the_type_of_the_base(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Pow", 15, "", "f32[3] 2 9 -2; f32[3] 10 0.5 3", "f32[3] 1024 3 -8"},
        {"Pow", 15, "", "f32[2] 2 3; i64[2] 3 -1", "f32[2] 8 0.33333334"},
        {"Pow", 15, "", "f32[2] 2 3; #i64[] 2", "f32[2] 4 9"},
        {"Pow", 15, "", "f32[1] -1; i64[1] 16777217", "f32[1] -1"},
        {"Pow", 15, "", "i32[4] 2 -3 1 -1; i32[4] 10 3 -5 -3", "i32[4] 1024 -27 1 -1"},
        {"Pow", 15, "", "i64[3] 3 2 -1; i64[3] 39 -1 1001", "i64[3] 4052555153018976267 0 -1"},
        {"Pow", 15, "", "i32[3] 2 3 -2; u8[] 5", "i32[3] 32 243 -32"},
        {"Pow", 15, "", "i32[3] 2 4 9; f32[3] 3 0.5 1.5", "i32[3] 8 2 27"},
        {"Pow", 15, "", "f16[2] 2 3; f32[2] 3 2", "f16[2] 8 9"},
        {"Pow", 15, "", "i64[1] 0; i64[1] 0", "i64[1] 1"},
        {"Pow", 15, "", "f64[2,1] 2 3; f64[2] 2 3", "f64[2,2] 4 8 9 27"});
}

static void mod_follows_c_or_python(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Mod", 13, "", "i32[6] -4 7 5 4 -7 8; i32[6] 2 -3 8 -2 3 5", "i32[6] 0 -2 5 0 2 3"},
        {"Mod", 13, "fmod=1", "i32[6] -4 7 5 4 -7 8; i32[6] 2 -3 8 -2 3 5", "i32[6] 0 1 5 0 -1 3"},
        {"Mod", 13, "fmod=1", "f32[3] -4.5 7.25 5; f32[3] 2 -3.5 inf", "f32[3] -0.5 0.25 5"},
        {"Mod", 13, "fmod=1", "f16[1] -5; f16[1] 3", "f16[1] -2"},
        {"Mod", 10, "", "u64[2] 18446744073709551615 9; u64[] 10", "u64[2] 5 9"},
        {"Mod", 13, "", "i8[1] -128; i8[1] -1", "i8[1] 0"},
        {"Mod", 13, "", "f32[1] 1; f32[1] 1", "error: fmod=1"});
}

static void bits_are_combined_and_shifted(void **state)
{
    (void)state;
    CHECK_OPS(
        {"BitwiseAnd", 18, "", "i32[2] 12 -1; i32[2] 10 7", "i32[2] 8 7"},
        {"BitwiseOr", 18, "", "u8[2] 12 1; u8[] 10", "u8[2] 14 11"},
        {"BitwiseXor", 18, "", "i64[2] 12 -1; i64[2] 10 0", "i64[2] 6 -1"},
        {"BitwiseNot", 18, "", "u16[2] 0 65535", "u16[2] 65535 0"},
        {"BitShift", 11, "direction=LEFT", "u8[4] 16 4 1 1; u8[4] 1 2 7 8", "u8[4] 32 16 128 0"},
        {"BitShift", 11, "direction=RIGHT", "u64[2] 16 9223372036854775808; u64[2] 1 63",
            "u64[2] 8 1"},
        {"BitShift", 11, "", "u8[1] 1; u8[1] 1", "error: direction"},
        {"BitShift", 11, "direction=LEFT", "i8[1] 1; i8[1] 1", "error: does not take"});
}

static void variadic_operators_take_any_number(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Sum", 13, "", "f32[2] 1 2; f32[1] 10; f32[2,1] 100 200", "f32[2,2] 111 112 211 212"},
        {"Sum", 13, "", "f64[2] 1 2", "f64[2] 1 2"},
        {"Mean", 13, "", "f32[2] 1 2; f32[2] 3 4; f32[2] 5 9", "f32[2] 3 5"},
        {"Max", 13, "", "f32[3] 1 nan 3; f32[3] 2 2 nan", "f32[3] 2 nan nan"},
        {"Min", 13, "", "f16[2] 1 -inf; f16[2] nan 3", "f16[2] nan -inf"},
        {"Max", 13, "", "u64[2] 18446744073709551615 1; u64[2] 0 2; u64[] 1",
            "u64[2] 18446744073709551615 2"},
        {"Min", 13, "", "i8[2] -128 5; i8[2] 127 3", "i8[2] -128 3"},
        {"Max", 8, "", "f32[1,2] 1 5; f32[2,1] 3 4", "f32[2,2] 3 5 4 5"},
        {"Max", 13, "", "", "error: at least one input"});
}

static void clip_takes_bounds_from_attributes_or_inputs(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Clip", 6, "min=-1f max=2f", "f32[4] -5 0 5 nan", "f32[4] -1 0 2 nan"},
        {"Clip", 6, "", "f32[1] inf", "f32[1] 3.4028234663852886e38"},
        {"Clip", 1, "", "f32[1] inf", "f32[1] inf"},
        {"Clip", 13, "", "f32[3] -5 0 5; f32[] -1; f32[] 2", "f32[3] -1 0 2"},
        {"Clip", 13, "", "f32[2] -5 5; _; f32[] 2", "f32[2] -5 2"},
        {"Clip", 13, "", "i8[2] -5 5; i8[] -1", "i8[2] -1 5"},
        {"Clip", 13, "", "u64[2] 3 9; _; u64[1] 4", "u64[2] 3 4"},
        {"Clip", 13, "", "f32[2] 0 5; f32[] 3; f32[] 2", "f32[2] 2 2"},
        {"Clip", 13, "", "f32[2] 0 5", "f32[2] 0 5"},
        {"Clip", 13, "", "f32[2] 0 5; f32[2] 1 1", "error: one element"});
}

static void functions_of_one_operand(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Exp", 13, "", "f32[2] 0 1", "f32[2] 1 2.7182818"},
        {"Log", 13, "", "f64[] 10", "f64[] 2.302585092994046"},
        {"Sqrt", 13, "", "f16[2] 2 -1", "f16[2] 1.4142 nan"},
        {"Erf", 13, "", "f32[2] 0.5 -2", "f32[2] 0.5204999 -0.9953223"},
        {"Erf", 9, "", "i32[2] -5 0", "i32[2] -1 0"},
        {"Tanh", 13, "", "bf16[1] 1", "bf16[1] 0.76"},
        {"Sin", 7, "", "f64[] 1", "f64[] 0.8414709848078965"},
        {"Cos", 7, "", "f64[] 1", "f64[] 0.5403023058681398"},
        {"Tan", 7, "", "f64[] 1", "f64[] 1.557407724654902"},
        {"Asin", 7, "", "f64[] 0.5", "f64[] 0.5235987755982989"},
        {"Acos", 7, "", "f64[] 0.5", "f64[] 1.0471975511965979"},
        {"Atan", 7, "", "f64[] 0.5", "f64[] 0.4636476090008061"},
        {"Sinh", 9, "", "f64[] 1", "f64[] 1.1752011936438014"},
        {"Cosh", 9, "", "f64[] 1", "f64[] 1.5430806348152437"},
        {"Asinh", 9, "", "f64[] 1", "f64[] 0.881373587019543"},
        {"Acosh", 9, "", "f64[] 2", "f64[] 1.3169578969248166"},
        {"Atanh", 9, "", "f64[] 0.5", "f64[] 0.5493061443340549"},
        {"Neg", 13, "", "i8[2] -128 1", "i8[2] -128 -1"},
        {"Abs", 13, "", "i64[2] -5 5", "i64[2] 5 5"},
        {"Abs", 13, "", "u8[1] 200", "u8[1] 200"},
        {"Sign", 13, "", "f32[4] -2 0 3 nan", "f32[4] -1 0 1 nan"},
        {"Sign", 9, "", "u32[2] 0 7", "u32[2] 0 1"},
        {"Reciprocal", 13, "", "f32[2] 4 0", "f32[2] 0.25 inf"},
        {"Floor", 13, "", "f32[2] -1.5 1.5", "f32[2] -2 1"},
        {"Ceil", 13, "", "f16[2] -1.5 1.5", "f16[2] -1 2"},
        {"Round", 11, "", "f32[4] 0.5 1.5 -2.5 2.6", "f32[4] 0 2 -2 3"},
        {"Exp", 13, "", "f32[0]", "f32[0]"},
        {"Exp", 13, "", "i32[1] 1", "error: does not take"},
        {"Neg", 13, "", "u8[1] 1", "error: does not take"},
        {"Sinh", 8, "", "f32[] 1", "error: no operator"});
}

static void activations(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Relu", 14, "", "f32[3] -1 2 nan", "f32[3] 0 2 nan"},
        {"Relu", 14, "", "i8[2] -7 7", "i8[2] 0 7"},
        {"Sigmoid", 13, "", "f32[3] 0 2 -200", "f32[3] 0.5 0.8807971 0"},
        {"LeakyRelu", 16, "alpha=0.5f", "f32[2] -2 2", "f32[2] -1 2"},
        {"LeakyRelu", 1, "", "f64[1] -100", "f64[1] -0.9999999776482582"},
        {"Elu", 6, "alpha=2f", "f32[2] -1 3", "f32[2] -1.2642411 3"},
        {"Selu", 6, "", "f32[2] -1 1", "f32[2] -1.1113307 1.050701"},
        {"Selu", 1, "", "f32[2] -1 1", "f32[2] -1.1112878 1.0507"},
        {"Celu", 12, "alpha=2f", "f32[2] -1 3", "f32[2] -0.7869387 3"},
        {"HardSigmoid", 6, "", "f32[3] -5 0 5", "f32[3] 0 0.5 1"},
        {"HardSigmoid", 6, "alpha=0.5f beta=0.25f", "f32[1] 1", "f32[1] 0.75"},
        {"HardSwish", 14, "", "f32[3] -4 1 4", "f32[3] 0 0.6666667 4"},
        {"Softplus", 1, "", "f32[3] 0 100 -2", "f32[3] 0.6931472 100 0.126928"},
        {"Softsign", 1, "", "f32[2] -1 3", "f32[2] -0.5 0.75"},
        {"Mish", 18, "", "f32[2] 1 -1", "f32[2] 0.8650984 -0.30340147"},
        {"Swish", 24, "alpha=2f", "f32[1] 1", "f32[1] 0.8807971"},
        {"Gelu", 20, "", "f32[2] 1 -1", "f32[2] 0.8413447 -0.15865526"},
        {"Gelu", 20, "approximate=tanh", "f32[2] 1 -1", "f32[2] 0.841192 -0.158808"},
        {"Gelu", 20, "approximate=best", "f32[1] 1", "error: approximate"},
        {"ThresholdedRelu", 10, "alpha=2f", "f32[3] 1 2 3", "f32[3] 0 0 3"},
        {"Shrink", 9, "lambd=1.5f bias=1f", "f32[4] -3 -1 1 3", "f32[4] -2 0 0 2"},
        {"Shrink", 9, "lambd=1.5f bias=1.5f", "i32[3] -3 1 4", "i32[3] -1 0 2"});
}

static void prelu_slopes_broadcast_to_the_input(void **state)
{
    (void)state;
    CHECK_OPS(
        {"PRelu", 16, "", "f32[2,2] -1 -2 3 -4; f32[2] 2 10", "f32[2,2] -2 -20 3 -40"},
        {"PRelu", 6, "", "f32[1,2,2] -1 -2 3 -4; f32[2] 2 10", "f32[1,2,2] -2 -4 3 -40"},
        {"PRelu", 6, "", "f32[1,2] -1 2; f32[1] 3", "f32[1,2] -3 2"},
        {"PRelu", 9, "", "i32[2] -3 3; i32[1] 2", "i32[2] -6 3"},
        {"PRelu", 16, "", "f32[2] 1; f32[3] 1", "error: dimensions broadcast"},
        {"PRelu", 16, "", "f32[2] 1; f32[2,2] 1", "error: cannot be broadcast"});
}

static void comparisons_and_logic(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Equal", 19, "", "f32[3] 1 nan 3; f32[3] 1 nan 4", "bool[3] 1 0 0"},
        {"Equal", 11, "", "bool[2] 1 0; bool[] 1", "bool[2] 1 0"},
        {"Less", 13, "", "u64[2] 18446744073709551615 1; u64[] 2", "bool[2] 0 1"},
        {"Greater", 13, "", "i64[2] -1 3; i64[] 2", "bool[2] 0 1"},
        {"LessOrEqual", 16, "", "f16[3] 1 2 nan; f16[] 1", "bool[3] 1 0 0"},
        {"GreaterOrEqual", 16, "", "f32[3] 1 2 nan; f32[] 2", "bool[3] 0 1 0"},
        {"Not", 1, "", "bool[2] 0 1", "bool[2] 1 0"},
        {"And", 7, "", "bool[2] 0 1; bool[] 1", "bool[2] 0 1"},
        {"Or", 7, "", "bool[2] 0 1; bool[] 0", "bool[2] 0 1"},
        {"Xor", 7, "", "bool[2] 0 1; bool[] 1", "bool[2] 1 0"},
        {"And", 6, "broadcast=1 axis=0", "bool[2,1] 1 1; bool[2] 0 1", "bool[2,1] 0 1"},
        {"IsNaN", 20, "", "f16[3] 1 nan inf", "bool[3] 0 1 0"},
        {"IsInf", 20, "", "f32[3] inf -inf 1", "bool[3] 1 1 0"},
        {"IsInf", 20, "detect_negative=0", "f64[2] inf -inf", "bool[2] 1 0"},
        {"IsInf", 20, "detect_negative=0 detect_positive=0", "f64[2] inf -inf", "bool[2] 0 0"},
        {"Where", 16, "", "bool[2,1] 1 0; f32[2] 1 2; f32[] 9", "f32[2,2] 1 2 9 9"},
        {"Where", 9, "", "bool[] 0; u8[2] 1 2; u8[2] 3 4", "u8[2] 3 4"},
        {"Where", 9, "", "i32[] 0; u8[2] 1 2; u8[2] 3 4", "error: does not take"});
}

static void casts_between_all_classes_of_types(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Cast", 13, "to=7", "f32[3] -1.9 2.9 nan", "i64[3] -1 2 0"},
        {"Cast", 13, "to=2", "i32[2] 257 -1", "u8[2] 1 255"},
        {"Cast", 13, "to=9", "f32[3] 0 0.5 nan", "bool[3] 0 1 1"},
        {"Cast", 13, "to=10", "f32[2] 65520 0.1", "f16[2] inf 0.0999755859375"},
        {"Cast", 13, "to=16", "f64[1] 1.00390625", "bf16[1] 1"},
        {"Cast", 13, "to=1", "bool[2] 0 1", "f32[2] 0 1"},
        {"Cast", 13, "to=13", "i8[1] -1", "u64[1] 18446744073709551615"},
        {"Cast", 13, "to=11", "u64[1] 18446744073709551615", "f64[1] 18446744073709551616"},
        {"Cast", 13, "to=3", "f32[2] 1000 -1000", "i8[2] 127 -128"},
        {"Cast", 1, "to=INT32", "f32[1] 3.5", "i32[1] 3"},
        {"Cast", 13, "to=8", "f32[1] 1", "error: string"},
        {"Cast", 19, "to=17", "f32[1] 1", "error: float8e4m3fn"},
        {"Cast", 13, "", "f32[1] 1", "error: 'to' is required"},
        {"Cast", 13, "to=99", "f32[1] 1", "error: no element type"},
        {"CastLike", 15, "", "f32[2] 1.5 2; i16[0]", "i16[2] 1 2"},
        {"CastLike", 15, "", "f32[2] 1.5 2; c64[0]", "error: complex64"});
}

static void reductions_over_all_or_some_axes(void **state)
{
    (void)state;
    CHECK_OPS(
        {"ReduceSum", 11, "axes=[1]", "f32[2,3] 1 2 3 4 5 6", "f32[2,1] 6 15"},
        {"ReduceSum", 13, "keepdims=0", "f32[2,3] 1 2 3 4 5 6; #i64[1] -1", "f32[2] 6 15"},
        {"ReduceSum", 13, "", "f32[2,3] 1 2 3 4 5 6", "f32[1,1] 21"},
        {"ReduceSum", 13, "keepdims=0", "f32[2,3] 1 2 3 4 5 6; #i64[0]", "f32[] 21"},
        {"ReduceSum", 13, "noop_with_empty_axes=1", "f32[2] 1 2", "f32[2] 1 2"},
        {"ReduceSum", 13, "", "f32[] 5", "f32[] 5"},
        {"ReduceSum", 13, "", "i32[3] 2147483647 1 0", "i32[1] -2147483648"},
        {"ReduceMean", 18, "keepdims=0", "f32[2,2,2] 1 2 3 4 5 6 7 8; #i64[2] 0 2",
            "f32[2] 3.5 5.5"},
        {"ReduceMean", 13, "axes=[-1]", "i32[2,2] 1 2 -3 -4", "i32[2,1] 1 -3"},
        {"ReduceMean", 13, "", "f16[4] 60000 60000 60000 60000", "f16[1] 60000"},
        {"ReduceMax", 20, "", "bool[2,2] 0 1 0 0; #i64[1] 1", "bool[2,1] 1 0"},
        {"ReduceMin", 20, "", "bool[2,2] 0 1 1 1; #i64[1] 1", "bool[2,1] 0 1"},
        {"ReduceMax", 13, "keepdims=0", "f32[3] 1 nan 2", "f32[] nan"},
        {"ReduceMin", 13, "", "u8[3] 7 200 9", "u8[1] 7"},
        {"ReduceProd", 13, "", "f32[3] 2 3 4", "f32[1] 24"},
        {"ReduceL1", 13, "", "i64[2] -3 4", "i64[1] 7"},
        {"ReduceL2", 13, "", "f32[2] -3 4", "f32[1] 5"},
        {"ReduceL2", 13, "", "i32[2] 100000 0", "i32[1] 100000"},
        {"ReduceLogSum", 13, "", "f64[2] 1 2", "f64[1] 1.0986122886681098"},
        {"ReduceSumSquare", 13, "", "f32[2] 3 4", "f32[1] 25"},
        {"ReduceLogSumExp", 13, "", "f32[2] 1000 1000", "f32[1] 1000.6931"},
        {"ReduceLogSumExp", 13, "axes=[1] keepdims=0", "f64[2,2] -inf -inf inf 1",
            "f64[2] -inf inf"},
        {"ReduceLogSumExp", 18, "keepdims=0", "f64[2,1] 1 2; i64[1] 0",
            "f64[1] 2.313261687518223"},
        {"ReduceL1", 18, "noop_with_empty_axes=1", "f32[2] -1 2", "f32[2] 1 2"},
        {"ReduceL2", 18, "noop_with_empty_axes=1", "f32[2] -1 2", "f32[2] 1 2"},
        {"ReduceSum", 13, "", "f32[N=2,3] 1 2 3 4 5 6; #i64[1] 0", "f32[1,3] 5 7 9"},
        {"ReduceMax", 13, "axes=[2]", "f32[2,2] 1", "error: axis 2"},
        {"ReduceMax", 13, "axes=[0,-2]", "f32[2,2] 1", "error: twice"});
}

static void reductions_of_nothing_give_the_identity(void **state)
{
    (void)state;
    CHECK_OPS(
        {"ReduceSum", 13, "", "f32[2,0]; #i64[1] 1", "f32[2,1] 0 0"},
        {"ReduceProd", 13, "", "i32[0]", "i32[1] 1"},
        {"ReduceMax", 20, "", "f32[0]", "f32[1] -inf"},
        {"ReduceMin", 20, "", "f32[0]", "f32[1] inf"},
        {"ReduceMax", 20, "", "i8[0]", "i8[1] -128"},
        {"ReduceMin", 20, "", "u8[0]", "u8[1] 255"},
        {"ReduceMax", 20, "", "bool[0]", "bool[1] 0"},
        {"ReduceMin", 20, "", "bool[0]", "bool[1] 1"},
        {"ReduceLogSum", 18, "", "f32[0]", "f32[1] -inf"},
        {"ReduceLogSumExp", 18, "", "f32[0]", "f32[1] -inf"},
        {"ReduceMean", 18, "", "i32[0]", "i32[1] 0"},
        {"ReduceL2", 18, "", "f32[2,0]; #i64[1] 0", "f32[1,0]"});
}

static void axes_may_be_known_only_when_bound(void **state)
{
    (void)state;
    CHECK_OPS(
        {"ReduceSum", 13, "", "f32[2,3] 1 2 3 4 5 6; i64[1] 0", "f32[1,3] 5 7 9"},
        {"ReduceSum", 13, "", "f32[2,3] 1 2 3 4 5 6; i64[1] -1", "f32[2,1] 6 15"},
        {"ReduceSum", 13, "keepdims=0", "f32[2,3] 1 2 3 4 5 6; i64[1] 0", "f32[3] 5 7 9"},
        {"ReduceMean", 18, "keepdims=0", "f32[2,3] 1 2 3 4 5 6; i64[1] 1", "f32[2] 2 5"},
        {"ReduceMax", 18, "keepdims=0", "f32[2,2,2] 1 2 3 4 5 6 7 8; i64[2] 2 0", "f32[2] 6 8"},
        {"ReduceSum", 13, "keepdims=0", "f32[2,3] 1 2 3 4 5 6; i64[0]", "f32[] 21"},
        {"ReduceSum", 13, "", "f32[2,3] 1; i64[1] 2", "error: axis is out of range"},
        {"ReduceSum", 13, "", "f32[2,3] 1; i64[2] 1 -1", "error: axis is given twice"});
}

static void positions_of_the_best(void **state)
{
    (void)state;
    CHECK_OPS(
        {"ArgMax", 13, "axis=1", "f32[2,3] 1 3 3 5 4 5", "i64[2,1] 1 0"},
        {"ArgMax", 13, "axis=-1 keepdims=0 select_last_index=1", "f32[2,3] 1 3 3 5 4 5",
            "i64[2] 2 2"},
        {"ArgMin", 13, "keepdims=0", "i8[2,2] 3 -1 -4 -1", "i64[2] 1 0"},
        {"ArgMax", 13, "", "f32[3] 1 nan 9", "i64[1] 1"},
        {"ArgMin", 12, "select_last_index=1", "u64[3] 1 1 9", "i64[1] 1"},
        {"ArgMax", 13, "axis=1", "f32[2,0]", "error: no elements"});
}

static void softmax_of_rows_and_of_matrices(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Softmax", 13, "", "f32[1,2] 0 0.6931472", "f32[1,2] 0.33333334 0.6666667"},
        {"Softmax", 13, "axis=0", "f32[2,2] 1000 0 1000 0", "f32[2,2] 0.5"},
        {"Softmax", 11, "", "f32[1,2,2] 0 0 0 0", "f32[1,2,2] 0.25"},
        {"Softmax", 11, "axis=2", "f32[1,2,2] 0 0 0 0", "f32[1,2,2] 0.5"},
        {"Softmax", 11, "axis=-1", "f32[2,2] 3", "f32[2,2] 0.5"},
        {"Softmax", 13, "", "f16[3] 1 2 3", "f16[3] 0.09003 0.2447 0.665"},
        {"Softmax", 13, "", "f32[2,0]", "f32[2,0]"},
        {"Softmax", 13, "", "f32[0,2]", "f32[0,2]"},
        {"Softmax", 13, "", "f32[] 7", "f32[] 1"},
        {"Softmax", 13, "", "f32[N=1,2] 1 1", "f32[1,2] 0.5"},
        {"Softmax", 13, "axis=2", "f32[2,2] 1", "error: axis 2"},
        {"LogSoftmax", 13, "", "f64[2] 0 0", "f64[2] -0.6931471805599453"},
        {"LogSoftmax", 1, "", "f32[1,2,2] 5", "f32[1,2,2] -1.3862944"},
        {"LogSoftmax", 13, "", "f32[2] 1000 0", "f32[2] 0 -1000"},
        {"Hardmax", 13, "", "f32[2,3] 1 3 3 2 1 0", "f32[2,3] 0 1 0 1 0 0"},
        {"Hardmax", 11, "", "f32[1,2,2] 1 2 4 4", "f32[1,2,2] 0 0 1 0"},
        {"Hardmax", 13, "axis=0", "f64[2,2] 1 2 3 0", "f64[2,2] 0 1 1 0"});
}

static void layer_and_rms_normalisation(void **state)
{
    (void)state;
    CHECK_OPS(
        {"LayerNormalization", 17, "epsilon=0f", "f32[2,2] 1 3 5 5.5; f32[2] 1 2; f32[2] 0 1",
            "f32[2,2] -1 3 -1 3; f32[2,1] 2 5.25; f32[2,1] 1 4"},
        {"LayerNormalization", 17, "axis=0 epsilon=0f", "f32[2,1] 1 3; f32[1] 2",
            "f32[2,1] -2 2; f32[1,1] 2"},
        {"LayerNormalization", 17, "axis=1", "f16[1,2,2] 1 1 3 3; f16[2,2] 1",
            "f16[1,2,2] -1 -1 1 1; f32[1,1,1] 2; f32[1,1,1] 0.999995"},
        {"LayerNormalization", 17, "epsilon=0f", "f64[2] 1 3; f64[] 1", "f64[2] -1 1; f32[1] 2"},
        {"LayerNormalization", 17, "", "f32[0,2]; f32[2] 1", "f32[0,2]; f32[0,1]; f32[0,1]"},
        {"LayerNormalization", 17, "axis=2", "f32[2,2] 1; f32[2] 1", "error: axis 2"},
        {"LayerNormalization", 17, "", "f32[2,2] 1; f32[3] 1", "error: dimensions broadcast"},
        {"RMSNormalization", 23, "epsilon=0f", "f32[2,2] 3 3 0 2; f32[2] 1 2",
            "f32[2,2] 1 2 0 2.828427"},
        {"RMSNormalization", 23, "epsilon=0f axis=0", "f16[1,2] 2 2; f32[1,2] 3 4",
            "f32[1,2] 3 4"});
}

static void group_and_instance_normalisation(void **state)
{
    (void)state;
    CHECK_OPS(
        {"InstanceNormalization", 6, "epsilon=0f", "f32[1,2,2] 1 3 5 9; f32[2] 1 2; f32[2] 0 10",
            "f32[1,2,2] -1 1 8 12"},
        {"GroupNormalization", 21, "num_groups=1 epsilon=0f",
            "f32[1,2,1] 1 3; f32[2] 1 2; f32[2] 0 10",
            "f32[1,2,1] -1 12"},
        {"GroupNormalization", 18, "num_groups=2 epsilon=0f",
            "f32[1,4] 1 3 5 9; f32[2] 1 2; f32[2] 0 10",
            "f32[1,4] -1 1 8 12"},
        {"GroupNormalization", 21, "num_groups=3", "f32[1,4] 1; f32[4] 1; f32[4] 1",
            "error: num_groups"},
        {"InstanceNormalization", 6, "", "f32[1,2,2] 1; f32[3] 1; f32[2] 1",
            "error: length of scale"},
        {"MeanVarianceNormalization", 13, "", "f32[1,2,1,2] 1 3 4 8", "f32[1,2,1,2] -1 1 -1 1"},
        {"MeanVarianceNormalization", 13, "axes=[1]", "f64[1,2] 1 3",
            "f64[1,2] -0.999999999 0.999999999"},
        {"LpNormalization", 22, "", "f32[2,2] 3 4 0 0", "f32[2,2] 0.6 0.8 0 0"},
        {"LpNormalization", 1, "p=1 axis=0", "f32[2] 1 -3", "f32[2] 0.25 -0.75"},
        {"LpNormalization", 1, "p=3", "f32[2] 1 -3", "error: 'p'"},
        {"LRN", 13, "size=3 alpha=3f beta=1f bias=1f", "f32[1,3] 1 2 3",
            "f32[1,3] 0.16666667 0.13333333 0.21428571"},
        {"LRN", 1, "size=2 alpha=2f beta=1f", "f32[1,2] 1 2", "f32[1,2] 0.16666667 0.4"},
        {"LRN", 1, "", "f32[1,2] 1 2", "error: size"});
}

static void batch_normalisation(void **state)
{
    (void)state;
    CHECK_OPS(
        {"BatchNormalization", 15, "epsilon=0f",
            "f32[1,2,2] 1 3 5 9; f32[2] 1 2; f32[2] 0 10; f32[2] 1 5; f32[2] 4 1",
            "f32[1,2,2] 0 1 10 18"},
        {"BatchNormalization", 9, "epsilon=0f",
            "f32[2,1] 1 3; f32[1] 1; f32[1] 0; f32[1] 1; f32[1] 4",
            "f32[2,1] 0 1"},
        {"BatchNormalization", 6, "is_test=1 epsilon=0f",
            "f32[2] 1 3; f32[1] 1; f32[1] 0; f32[1] 1; f32[1] 4",
            "f32[2] 0 1"},
        {"BatchNormalization", 15, "training_mode=1 epsilon=0f momentum=0.5f",
            "f32[2,1,1] 1 5; f32[1] 1; f32[1] 3; f32[1] 1; f32[1] 2",
            "f32[2,1,1] 2 4; f32[1] 2; f32[1] 3"},
        {"BatchNormalization", 7, "epsilon=0f momentum=0.5f",
            "f32[2,1] 1 5; f32[1] 1; f32[1] 3; f32[1] 1; f32[1] 2",
            "f32[2,1] 2 4; f32[1] 2; f32[1] 3; f32[1] 3; f32[1] 4"},
        {"BatchNormalization", 7, "spatial=0 epsilon=0f",
            "f32[1,1,2] 3 5; f32[1,2] 1 2; f32[1,2] 0 10; f32[1,2] 1 5; f32[1,2] 4 1",
            "f32[1,1,2] 1 10"},
        {"BatchNormalization", 15, "epsilon=0f",
            "f16[1,1] 3; f32[1] 2; f32[1] 1; f32[1] 1; f32[1] 4",
            "f16[1,1] 3"},
        {"BatchNormalization", 15, "", "f32[1,2] 1; f32[3] 1; f32[2] 1; f32[2] 1; f32[2] 1",
            "error: extent of a parameter"});
}

static void dropout_is_the_identity_in_inference(void **state)
{
    (void)state;
    CHECK_OPS(
        {"Dropout", 13, "", "f32[2] 1 2", "f32[2] 1 2; bool[2] 1 1"},
        {"Dropout", 7, "ratio=0.3f", "f32[2] 1 2", "f32[2] 1 2; f32[2] 1 1"},
        {"Dropout", 13, "", "f32[2] 1 2; f32[] 0.5; bool[] 0", "f32[2] 1 2"},
        {"Dropout", 13, "", "f32[2] 1 2; f32[] 0; bool[] 1", "f32[2] 1 2; bool[2] 1"},
        {"Dropout", 13, "", "f32[2] 1 2; f32[] 0.5; bool[] 1", "error: training mode"},
        {"Dropout", 13, "", "f32[2] 1 2; #f32[] 0.5; #bool[] 1", "error: training mode"},
        {"Dropout", 6, "is_test=1", "f16[1] 1", "f16[1] 1"},
        {"Dropout", 6, "", "f16[1] 1", "error: training mode"});
}
// clang-format on

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_broadcasts_from_both_sides),
        cmocka_unit_test(before_version_7_the_second_operand_is_aligned_by_axis),
        cmocka_unit_test(powers_have_the_type_of_the_base),
        cmocka_unit_test(mod_follows_c_or_python),
        cmocka_unit_test(bits_are_combined_and_shifted),
        cmocka_unit_test(variadic_operators_take_any_number),
        cmocka_unit_test(clip_takes_bounds_from_attributes_or_inputs),
        cmocka_unit_test(functions_of_one_operand),
        cmocka_unit_test(activations),
        cmocka_unit_test(prelu_slopes_broadcast_to_the_input),
        cmocka_unit_test(comparisons_and_logic),
        cmocka_unit_test(casts_between_all_classes_of_types),
        cmocka_unit_test(reductions_over_all_or_some_axes),
        cmocka_unit_test(reductions_of_nothing_give_the_identity),
        cmocka_unit_test(axes_may_be_known_only_when_bound),
        cmocka_unit_test(positions_of_the_best),
        cmocka_unit_test(softmax_of_rows_and_of_matrices),
        cmocka_unit_test(layer_and_rms_normalisation),
        cmocka_unit_test(group_and_instance_normalisation),
        cmocka_unit_test(batch_normalisation),
        cmocka_unit_test(dropout_is_the_identity_in_inference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
