/* Element types: sizes, and conversions that round once, to nearest, ties to even. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "graph/expr.h"

static double value_of(DType t, uint16_t bits) { return scalar_load(t, &bits, 0).f; }

static uint16_t bits_of(DType t, double x)
{
    uint16_t bits;
    scalar_store(t, &bits, 0, (Scalar){.f = scalar_round(t, x)});
    return bits;
}

static int64_t to_int(DType from, DType to, Scalar s) { return scalar_cast(from, to, s).i; }

static void sizes_are_those_of_onnx(void **state)
{
    (void)state;
    static const int bits[DT_COUNT] = {0, 32, 8, 8, 16, 16, 32, 64, 64, 8, 16, 64, 32, 64, 64, 128,
        16, 8, 8, 8, 8, 4, 4, 4, 8, 2, 2};
    for (int t = 0; t < DT_COUNT; t++)
        assert_int_equal(dtype_bits((DType)t), bits[t]);
    assert_string_equal(dtype_text(DT_BF16), "bfloat16");
    assert_string_equal(dtype_text((DType)99), "undefined");
    assert_int_equal(dtype_bytes(DT_I4), 1);
}

static void every_16_bit_float_is_a_value_that_stores_back(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int bits = 0; bits < 65536; bits++) {
            DType type = t ? DT_BF16 : DT_F16;
            double x = value_of(type, (uint16_t)bits);
            if (isnan(x))
                assert_true(isnan(value_of(type, bits_of(type, x))));
            else
                assert_int_equal(bits_of(type, x), bits);
        }
}

/* Between two neighbours a and b: what is nearer, and the even one in the middle. */
static void check_between(DType t, int low)
{
    double a = value_of(t, (uint16_t)low), b = value_of(t, (uint16_t)(low + 1)),
           middle = (a + b) / 2;
    assert_int_equal(bits_of(t, middle), low & 1 ? low + 1 : low);
    assert_int_equal(bits_of(t, nextafter(middle, a)), low);
    assert_int_equal(bits_of(t, nextafter(middle, b)), low + 1);
    assert_int_equal(bits_of(t, -middle), (low & 1 ? low + 1 : low) | 0x8000);
}

static void rounding_is_to_nearest_with_ties_to_even(void **state)
{
    (void)state;
    for (int low = 0; low < 0x7bff; low++) /* all pairs of finite halves */
        check_between(DT_F16, low);
    for (int low = 0; low < 0x7f7f; low++)
        check_between(DT_BF16, low);
}

static void what_is_too_large_becomes_infinity(void **state)
{
    (void)state;
    assert_int_equal(bits_of(DT_F16, 65519.999), 0x7bff);
    assert_int_equal(bits_of(DT_F16, 65520), 0x7c00);
    assert_int_equal(bits_of(DT_F16, -1e300), 0xfc00);
    assert_int_equal(bits_of(DT_BF16, 3.4e38), 0x7f80);
    assert_int_equal(bits_of(DT_BF16, 3.39e38), 0x7f7f);
    assert_true(isinf(scalar_round(DT_F32, 1e39)));
}

static void a_double_is_rounded_once_not_by_way_of_float(void **state)
{
    (void)state;
    double x = 1 + ldexp(1, -11) +
        ldexp(1, -40); /* just above a tie of halves; as a float it is the tie */
    assert_true(scalar_cast(DT_F64, DT_F16, (Scalar){.f = x}).f == 1 + ldexp(1, -10));
    double y = 1 + ldexp(1, -8) + ldexp(1, -40);
    assert_true(scalar_cast(DT_F64, DT_BF16, (Scalar){.f = y}).f == 1 + ldexp(1, -7));
}

static void integers_become_floats_with_one_rounding(void **state)
{
    (void)state;
    int64_t tie = ((int64_t)1 << 62) + ((int64_t)1 << 38); /* between two floats */
    assert_true(scalar_cast(DT_I64, DT_F32, (Scalar){.i = tie}).f == 0x1p62);
    assert_true(scalar_cast(DT_I64, DT_F32, (Scalar){.i = tie + 1}).f == 0x1p62 + 0x1p39);
    assert_true(scalar_cast(DT_I64, DT_F32, (Scalar){.i = -tie - 1}).f == -(0x1p62 + 0x1p39));
    assert_true(scalar_cast(DT_U64, DT_F32, (Scalar){.u = UINT64_MAX}).f == 0x1p64);
    assert_true(scalar_cast(DT_I64, DT_F64, (Scalar){.i = INT64_MIN}).f == -0x1p63);
    int64_t brain_tie = ((int64_t)1 << 62) + ((int64_t)1 << 54);
    assert_true(scalar_cast(DT_I64, DT_BF16, (Scalar){.i = brain_tie}).f == 0x1p62);
    assert_true(scalar_cast(DT_I64, DT_BF16, (Scalar){.i = brain_tie + 1}).f == 0x1p62 + 0x1p55);
    assert_true(scalar_cast(DT_BOOL, DT_F16, (Scalar){.u = 1}).f == 1);
}

static void floats_become_integers_by_truncation_and_saturation(void **state)
{
    (void)state;
    static const struct {
        DType to;
        double x;
        int64_t i;
    } row[] = {{DT_I32, 2.9, 2}, {DT_I32, -2.9, -2}, {DT_I32, 1e10, INT32_MAX},
        {DT_I32, -1e10, INT32_MIN}, {DT_I64, 1e30, INT64_MAX}, {DT_I64, -1e30, INT64_MIN},
        {DT_I64, NAN, 0}, {DT_U8, 300, 255}, {DT_U8, -1, 0}, {DT_I8, 127.5, 127},
        {DT_I8, -128.5, -128}, {DT_U64, 1e30, -1}, {DT_BOOL, NAN, 1}, {DT_BOOL, 0.25, 1},
        {DT_BOOL, -0.0, 0}};
    for (int i = 0; i < NELEM(row); i++)
        assert_int_equal(to_int(DT_F64, row[i].to, (Scalar){.f = row[i].x}), row[i].i);
}

static void integers_wrap_into_narrower_ones(void **state)
{
    (void)state;
    assert_int_equal(to_int(DT_I64, DT_I8, (Scalar){.i = 200}), -56);
    assert_int_equal(to_int(DT_I64, DT_U8, (Scalar){.i = -1}), 255);
    assert_int_equal(to_int(DT_I32, DT_U64, (Scalar){.i = -1}), -1);
    assert_int_equal(to_int(DT_U64, DT_I32, (Scalar){.u = 0x80000000u}), INT32_MIN);
    assert_int_equal(to_int(DT_I32, DT_BOOL, (Scalar){.i = 256}), 1);
}

static void loads_and_stores_need_no_alignment(void **state)
{
    (void)state;
    char bytes[64] = {0};
    static const DType types[] = {DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8, DT_I16, DT_I32, DT_I64,
        DT_U8, DT_U16, DT_U32, DT_U64, DT_BOOL};
    for (int i = 0; i < NELEM(types); i++)
        for (int at = 0; at < 8; at++) {
            Scalar s = scalar_f(types[i], 1);
            scalar_store(types[i], bytes + at, 2, s);
            assert_true(scalar_double(types[i], scalar_load(types[i], bytes + at, 2)) == 1);
        }
}

static void packed_types_have_their_low_bits_first(void **state)
{
    (void)state;
    uint8_t b[2] = {0x21, 0xf3};
    assert_int_equal(scalar_load(DT_U4, b, 1).u, 2);
    assert_int_equal(scalar_load(DT_I4, b, 3).i, -1);
    assert_int_equal(scalar_load(DT_U2, b, 2).u, 2);
    assert_int_equal(scalar_load(DT_I2, b, 4).i, -1);
    scalar_store(DT_I4, b, 0, (Scalar){.i = -8});
    assert_int_equal(b[0], 0x28);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_onnx),
        cmocka_unit_test(every_16_bit_float_is_a_value_that_stores_back),
        cmocka_unit_test(rounding_is_to_nearest_with_ties_to_even),
        cmocka_unit_test(what_is_too_large_becomes_infinity),
        cmocka_unit_test(a_double_is_rounded_once_not_by_way_of_float),
        cmocka_unit_test(integers_become_floats_with_one_rounding),
        cmocka_unit_test(floats_become_integers_by_truncation_and_saturation),
        cmocka_unit_test(integers_wrap_into_narrower_ones),
        cmocka_unit_test(loads_and_stores_need_no_alignment),
        cmocka_unit_test(packed_types_have_their_low_bits_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
