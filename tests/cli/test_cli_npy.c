/* test_cli_npy.c: .npy arrays and .npz archives, read and written. */
#include "cli_test.h"
#include "sinter/element.h"
#include "sinter/file.h"
#include "sinter/npy.h"
#include "sinter/cli.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sinter_error err;

/* A version 1 file: magic, length, dict, data. */
static sinter_code parse(const char *dict, const void *data, size_t n, sinter_value **value)
{
    char bytes[1024];
    size_t length = strlen(dict);
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)length;
    bytes[9] = 0;
    memcpy(bytes + 10, dict, length);
    memcpy(bytes + 10 + length, data, n);
    *value = NULL;
    return npy_parse(bytes, 10 + length + n, "test", value, &err);
}

static void refuses(const char *dict, size_t n, const char *word)
{
    static const char zeros[256];
    sinter_value *value;
    assert_int_not_equal(parse(dict, zeros, n, &value), SINTER_OK);
    assert_non_null(strstr(err.message, word));
    assert_null(value);
}

static void c_order_is_copied(void **state)
{
    (void)state;
    static const int16_t data[6] = {1, 2, 3, 4, 5, -6};
    sinter_value *value;
    sinter_tensor t;
    assert_int_equal(parse("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", data,
                         sizeof data, &value),
        SINTER_OK);
    sinter_tensor_get(value, &t);
    assert_true(t.dtype == SINTER_INT16 && t.rank == 2 && t.dim[0] == 2 && t.dim[1] == 3);
    assert_memory_equal(t.data, data, sizeof data);
    sinter_value_free(value);
}

static void fortran_order_is_transposed(void **state)
{
    (void)state;
    static const uint8_t columns[6] = {1, 4, 2, 5, 3, 6}, rows[6] = {1, 2, 3, 4, 5, 6};
    sinter_value *value;
    sinter_tensor t;
    assert_int_equal(
        parse("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", columns, 6, &value),
        SINTER_OK);
    sinter_tensor_get(value, &t);
    assert_memory_equal(t.data, rows, 6);
    sinter_value_free(value);
}

static void scalars_and_empty_arrays_are_arrays(void **state)
{
    (void)state;
    static const double x = 2.5;
    sinter_value *value;
    sinter_tensor t;
    parse("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", &x, 8, &value);
    sinter_tensor_get(value, &t);
    assert_true(t.rank == 0 && t.count == 1 && *(double *)t.data == 2.5);
    sinter_value_free(value);
    parse("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 0, 2)}", "", 0, &value);
    sinter_tensor_get(value, &t);
    assert_true(t.rank == 3 && t.count == 0 && t.dim[1] == 0);
    sinter_value_free(value);
}

static void what_is_not_an_array_of_ours_is_refused_by_name(void **state)
{
    (void)state;
    refuses("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", 4, "big-endian");
    refuses("{'descr': '<U8', 'fortran_order': False, 'shape': (1,)}", 32, "<U8");
    refuses("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, "structured");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 7, "more bytes");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4, "shape");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 4,
        "overflows");
    refuses("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", 4,
        "more bytes");
    refuses("{'descr': '<f4', 'shape': (1,)}", 4, "header");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (1", 0, "shape");
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    static const float data[2] = {1, 2};
    sinter_tensor t = {SINTER_FLOAT32, 1, {2}, 2, 8, (void *)data};
    char *bytes;
    size_t n;
    sinter_value *value = NULL;
    assert_int_equal(npy_format(&t, &bytes, &n, &err), SINTER_OK);
    for (size_t k = 0; k < n; k++) {
        char *cut = malloc(k + 1); /* its own block: a sanitizer sees a read past the end */
        memcpy(cut, bytes, k);
        assert_int_not_equal(npy_parse(cut, k, "cut", &value, &err), SINTER_OK);
        free(cut);
    }
    free(bytes);
}

static void every_type_comes_back_from_its_file(void **state)
{
    (void)state;
    static const char data[96] =
        "some bytes that are not all zero: 0123456789 abcdefghijklmnopqrstuvwxyz";
    for (int type = 1; type <= 16; type++) {
        sinter_tensor t = {(sinter_dtype)type, 2, {3, 2}, 6, 0, (void *)data}, back;
        sinter_value *value = NULL;
        char *bytes;
        size_t n;
        if (type == SINTER_STRING || type == SINTER_BFLOAT16) {
            assert_false(npy_holds(t.dtype));
            assert_int_equal(npy_format(&t, &bytes, &n, &err), SINTER_ERR_USAGE);
            continue;
        }
        t.bytes = 6 * (size_t)dtype_size(t.dtype);
        assert_int_equal(npy_format(&t, &bytes, &n, &err), SINTER_OK);
        assert_int_equal((n - t.bytes) % 64, 0);
        assert_int_equal(npy_parse(bytes, n, "back", &value, &err), SINTER_OK);
        sinter_tensor_get(value, &back);
        assert_true(back.dtype == t.dtype && back.rank == 2 && back.dim[0] == 3);
        assert_memory_equal(back.data, data, t.bytes);
        sinter_value_free(value);
        free(bytes);
    }
}

static void archives_keep_names_and_arrays(void **state)
{
    (void)state;
    static const int64_t a[2] = {1, -2}, b[1] = {7};
    char path[] = "/tmp/sinter_npz_XXXXXX";
    const char *names[] = {"scores:0", "a/b"};
    sinter_tensor t[2] = {{SINTER_INT64, 1, {2}, 2, 16, (void *)a},
        {SINTER_INT64, 0, {0}, 1, 8, (void *)b}};
    sinter_tensor back;
    sinter_value *value = NULL;
    close(mkstemp(path));
    assert_int_equal(npz_write(path, 2, names, t, &err), SINTER_OK);
    assert_int_equal(npz_read(path, "scores:0", "x", &value, &err), SINTER_OK);
    sinter_tensor_get(value, &back);
    assert_memory_equal(back.data, a, 16);
    sinter_value_free(value);
    value = NULL;
    assert_int_equal(npz_read(path, NULL, "a/b", &value, &err), SINTER_OK);
    sinter_tensor_get(value, &back);
    assert_true(back.rank == 0 && *(int64_t *)back.data == 7);
    sinter_value_free(value);
    value = NULL;
    assert_int_equal(npz_read(path, NULL, "other", &value, &err), SINTER_ERR_INPUT);
    assert_non_null(strstr(err.hint, "scores:0, a/b"));
    unlink(path);
}

static void narrow_floats_convert_exactly_and_round_to_even(void **state)
{
    (void)state;
    uint16_t h, back;
    for (int bits = 0; bits < 0x10000; bits++) {
        h = (uint16_t)bits;
        if ((bits & 0x7fff) <= 0x7c00) { /* no NaN */
            element_set(SINTER_FLOAT16, &back, 0, element_get(SINTER_FLOAT16, &h, 0));
            assert_int_equal(back, h);
        }
        if ((bits & 0x7fff) <= 0x7f80) {
            element_set(SINTER_BFLOAT16, &back, 0, element_get(SINTER_BFLOAT16, &h, 0));
            assert_int_equal(back, h);
        }
    }
    element_set(SINTER_FLOAT16, &h, 0, 1 + 1.0 / 2048); /* halfway: to even, down */
    assert_int_equal(h, 0x3c00);
    element_set(SINTER_FLOAT16, &h, 0, 1 + 3.0 / 2048); /* halfway: to even, up */
    assert_int_equal(h, 0x3c02);
    element_set(SINTER_FLOAT16, &h, 0, 65520);
    assert_int_equal(h, 0x7c00);
}

static void integers_are_read_to_the_last_bit_or_refused(void **state)
{
    (void)state;
    int64_t i;
    uint64_t u;
    int8_t b;
    assert_true(element_parse(SINTER_INT64, &i, 0, "-9223372036854775808") && i == INT64_MIN);
    assert_true(element_parse(SINTER_UINT64, &u, 0, "18446744073709551615") && u == UINT64_MAX);
    assert_true(element_parse(SINTER_INT8, &b, 0, "-128") && b == -128);
    assert_false(element_parse(SINTER_INT8, &b, 0, "128"));
    assert_false(element_parse(SINTER_UINT64, &u, 0, "-1"));
    assert_false(element_parse(SINTER_INT64, &i, 0, "9223372036854775808"));
    assert_false(element_parse(SINTER_INT64, &i, 0, "1.5"));
    assert_false(element_parse(SINTER_BOOL, &b, 0, "2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c_order_is_copied),
        cmocka_unit_test(fortran_order_is_transposed),
        cmocka_unit_test(scalars_and_empty_arrays_are_arrays),
        cmocka_unit_test(what_is_not_an_array_of_ours_is_refused_by_name),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_type_comes_back_from_its_file),
        cmocka_unit_test(archives_keep_names_and_arrays),
        cmocka_unit_test(narrow_floats_convert_exactly_and_round_to_even),
        cmocka_unit_test(integers_are_read_to_the_last_bit_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
