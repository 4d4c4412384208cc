/* test_cli_compare.c: tolerances, distances and the generator of inputs. */
#include "cli_test.h"
#include "sinter/compare.h"
#include "sinter/element.h"
#include "sinter/generate.h"
#include <math.h>
#include <string.h>

static const Tolerance defaults = {-1, -1};

static sinter_tensor vector(sinter_dtype type, int64_t n, void *data)
{
    return (sinter_tensor){type, 1, {n}, n, (size_t)(n * dtype_size(type)), data};
}

static Comparison floats(float e, float a, float largest, Tolerance tolerance)
{
    float x[2] = {e, largest}, y[2] = {a, largest};
    sinter_tensor s = vector(SINTER_FLOAT32, 2, x), t = vector(SINTER_FLOAT32, 2, y);
    return compare_tensors(&s, &t, tolerance);
}

static void floats_may_differ_by_the_default_tolerance(void **state)
{
    (void)state;
    assert_true(floats(1, 1.0009f, 1, defaults).same);
    assert_false(floats(1, 1.0011f, 1, defaults).same);
    assert_true(floats(0, 0.0009f, 100, defaults).same); /* 1e-5 of the largest */
    assert_false(floats(0, 0.0011f, 100, defaults).same);
    assert_true(floats(1, 1.4f, 1, (Tolerance){0.5, 0}).same);
    assert_false(floats(1, 1.0009f, 1, (Tolerance){0, 0}).same);
}

static void narrow_floats_have_a_wider_one(void **state)
{
    (void)state;
    uint16_t e, a;
    sinter_tensor s = vector(SINTER_FLOAT16, 1, &e), t = vector(SINTER_FLOAT16, 1, &a);
    element_set(SINTER_FLOAT16, &e, 0, 1);
    element_set(SINTER_FLOAT16, &a, 0, 1.009);
    assert_true(compare_tensors(&s, &t, defaults).same);
    element_set(SINTER_FLOAT16, &a, 0, 1.02);
    assert_false(compare_tensors(&s, &t, defaults).same);
}

static void nan_and_infinity_match_themselves_only(void **state)
{
    (void)state;
    assert_true(floats(NAN, NAN, 1, defaults).same);
    assert_false(floats(NAN, 1, 1, defaults).same);
    assert_false(floats(1, NAN, 1, defaults).same);
    assert_true(floats(INFINITY, INFINITY, 1, defaults).same);
    assert_false(floats(INFINITY, -INFINITY, 1, defaults).same);
    assert_false(floats(INFINITY, 3e38f, 1, defaults).same);
    assert_false(floats(3e38f, INFINITY, 1, defaults).same);
    assert_true(floats(NAN, 1, 1, defaults).max_ulp == 4294967295.0);
}

static void ulp_counts_the_floats_between(void **state)
{
    (void)state;
    assert_true(floats(1, nextafterf(1, 2), 1, defaults).max_ulp == 1);
    assert_true(floats(-1e-45f, 1e-45f, 1, defaults).max_ulp == 2); /* through both zeros */
    assert_true(floats(0.0f, -0.0f, 1, defaults).max_ulp == 0);
    assert_true(floats(1, 2, 2, defaults).max_ulp == 8388608);
}

static void integers_must_be_equal(void **state)
{
    (void)state;
    int64_t e[3] = {0, INT64_MAX, 5}, a[3] = {0, INT64_MAX - 1, 5};
    sinter_tensor s = vector(SINTER_INT64, 3, e), t = vector(SINTER_INT64, 3, a);
    Comparison c = compare_tensors(&s, &t, defaults);
    assert_true(!c.same && c.worst == 1 && c.differing == 1 && c.max_abs == 1);
    a[1] = INT64_MAX;
    c = compare_tensors(&s, &t, defaults);
    assert_true(c.same && c.worst == -1 && c.max_abs == 0);
    e[0] = INT64_MIN;
    a[0] = INT64_MAX;
    assert_true(compare_tensors(&s, &t, defaults).max_abs > 1.8e19);
}

static void type_and_shape_must_be_equal(void **state)
{
    (void)state;
    float x[4] = {0};
    sinter_tensor s = vector(SINTER_FLOAT32, 4, x), t = {SINTER_FLOAT32, 2, {2, 2}, 4, 16, x};
    assert_non_null(strstr(compare_tensors(&s, &t, defaults).problem, "[2, 2]"));
    t = vector(SINTER_INT32, 4, x);
    assert_non_null(strstr(compare_tensors(&s, &t, defaults).problem, "int32"));
}

static void the_worst_element_is_named_by_its_index(void **state)
{
    (void)state;
    float x[6] = {0, 0, 0, 0, 0, 1}, y[6] = {0, 0.1f, 0, 0, 0.9f, 1};
    sinter_tensor s = {SINTER_FLOAT32, 2, {2, 3}, 6, 24, x},
                  t = {SINTER_FLOAT32, 2, {2, 3}, 6, 24, y};
    Comparison c = compare_tensors(&s, &t, defaults);
    assert_int_equal(c.differing, 2);
    assert_string_equal(show_index(&s, c.worst), "[1, 1]");
}

static void generated_numbers_stay_in_their_range(void **state)
{
    (void)state;
    float f[500];
    int64_t i[500];
    sinter_tensor s = vector(SINTER_FLOAT32, 500, f), t = vector(SINTER_INT64, 500, i);
    int seen = 0;
    generate(&s, "x", 7, -2, 3);
    generate(&t, "x", 7, -1, 4);
    for (int k = 0; k < 500; k++) {
        assert_true(f[k] >= -2 && f[k] <= 3 && i[k] >= -1 && i[k] < 4);
        seen |= 1 << (i[k] + 1);
    }
    assert_int_equal(seen, 31); /* all five values came */
}

static void generated_numbers_depend_on_seed_name_and_index_only(void **state)
{
    (void)state;
    float a[8], b[8], more[16];
    sinter_tensor s = vector(SINTER_FLOAT32, 8, a), t = vector(SINTER_FLOAT32, 8, b);
    sinter_tensor longer = vector(SINTER_FLOAT32, 16, more);
    generate(&s, "x", 1, 0, 1);
    generate(&longer, "x", 1, 0, 1);
    assert_memory_equal(a, more, sizeof a);
    generate(&t, "x", 2, 0, 1);
    assert_memory_not_equal(a, b, sizeof a);
    generate(&t, "y", 1, 0, 1);
    assert_memory_not_equal(a, b, sizeof a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_may_differ_by_the_default_tolerance),
        cmocka_unit_test(narrow_floats_have_a_wider_one),
        cmocka_unit_test(nan_and_infinity_match_themselves_only),
        cmocka_unit_test(ulp_counts_the_floats_between),
        cmocka_unit_test(integers_must_be_equal),
        cmocka_unit_test(type_and_shape_must_be_equal),
        cmocka_unit_test(the_worst_element_is_named_by_its_index),
        cmocka_unit_test(generated_numbers_stay_in_their_range),
        cmocka_unit_test(generated_numbers_depend_on_seed_name_and_index_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
