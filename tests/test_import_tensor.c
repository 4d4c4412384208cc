/* Importing tensors: every form in which a file can hold elements, and the forms that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/onnx_pb.h"

/* Imports a TensorProto alone; NULL when that failed. */
static Tensor *read_tensor(Ctx *cx, const Pb *t)
{
    Tensor *volatile tensor = NULL;
    ctx_init(cx, alloc_default());
    TRY(cx) {
        tensor = tensor_import(cx, t->at, t->n, NULL);
    }
    CATCH {
        tensor = NULL;
    }
    return tensor;
}

static void done(Ctx *cx, Pb *t)
{
    ctx_free(cx);
    pb_free(t);
}

static void assert_tensor_refused(Pb *t, const char *text)
{
    Ctx cx;
    assert_null(read_tensor(&cx, t));
    if (!strstr(cx.problems->message, text))
        print_error("wanted '%s', got '%s'\n", text, cx.problems->message);
    assert_non_null(strstr(cx.problems->message, text));
    done(&cx, t);
}

/* A tensor whose elements are `n` varints in one typed field, packed or not. */
static Pb varint_tensor(DType type, int field, bool packed, int n, const int64_t *v, int count)
{
    Pb t = pb_tensor("t", type, DIMS(count)), list = {0};
    for (int i = 0; i < n; i++)
        if (packed)
            pb_varint(&list, (uint64_t)v[i]);
        else
            pb_int(&t, field, v[i]);
    if (packed)
        pb_msg(&t, field, &list);
    return t;
}

static void typed_integers_are_read_packed_and_unpacked(void **state)
{
    (void)state;
    static const struct {
        DType type;
        int field;
        int64_t v[2];
    } row[] = {{DT_I8, TENSOR_INT32S, {-128, 127}}, {DT_U8, TENSOR_INT32S, {0, 255}},
        {DT_I16, TENSOR_INT32S, {-32768, 32767}}, {DT_U16, TENSOR_INT32S, {0, 65535}},
        {DT_I32, TENSOR_INT32S, {INT32_MIN, INT32_MAX}},
        {DT_I64, TENSOR_INT64S, {INT64_MIN, INT64_MAX}}, {DT_U32, TENSOR_UINT64S, {0, UINT32_MAX}},
        {DT_U64, TENSOR_UINT64S, {1, -1}}, {DT_BOOL, TENSOR_INT32S, {0, 1}}};
    for (int i = 0; i < 2 * NELEM(row); i++) {
        DType type = row[i / 2].type;
        Pb p = varint_tensor(type, row[i / 2].field, i % 2, 2, row[i / 2].v, 2);
        Ctx cx;
        Tensor *t = read_tensor(&cx, &p);
        assert_non_null(t);
        for (int k = 0; k < 2; k++)
            assert_int_equal(scalar_load(type, t->data, k).i, row[i / 2].v[k]);
        done(&cx, &p);
    }
}

static void halves_in_int32_data_are_bit_patterns(void **state)
{
    (void)state;
    Pb p = varint_tensor(DT_F16, TENSOR_INT32S, true, 2, (const int64_t[]){0x3c00, 0xc000}, 2);
    Ctx cx;
    Tensor *t = read_tensor(&cx, &p);
    assert_non_null(t);
    assert_true(scalar_load(DT_F16, t->data, 0).f == 1 && scalar_load(DT_F16, t->data, 1).f == -2);
    done(&cx, &p);
}

static void four_bit_integers_are_packed_low_half_first(void **state)
{
    (void)state;
    Pb p = varint_tensor(DT_I4, TENSOR_INT32S, true, 2, (const int64_t[]){0xf1, 0x08}, 3);
    Ctx cx;
    Tensor *t = read_tensor(&cx, &p);
    assert_non_null(t);
    assert_int_equal(scalar_load(DT_I4, t->data, 0).i, 1);
    assert_int_equal(scalar_load(DT_I4, t->data, 1).i, -1);
    assert_int_equal(scalar_load(DT_I4, t->data, 2).i, -8);
    done(&cx, &p);
}

static void floats_may_come_in_several_pieces(void **state)
{
    (void)state;
    Pb p = pb_tensor("t", DT_F32, DIMS(3));
    pb_bytes(&p, TENSOR_FLOATS, (const float[]){1, 2}, 8);
    pb_varint(&p, TENSOR_FLOATS << 3 | 5);
    pb_raw(&p, (const float[]){3}, 4);
    Ctx cx;
    Tensor *t = read_tensor(&cx, &p);
    assert_non_null(t);
    for (int k = 0; k < 3; k++)
        assert_true(scalar_load(DT_F32, t->data, k).f == k + 1);
    done(&cx, &p);
}

static void doubles_and_complex_numbers_have_typed_fields(void **state)
{
    (void)state;
    Pb d = pb_tensor("t", DT_F64, DIMS(1)), c = pb_tensor("t", DT_C64, DIMS(1));
    pb_bytes(&d, TENSOR_DOUBLES, (const double[]){0.1}, 8);
    pb_bytes(&c, TENSOR_FLOATS, (const float[]){1, 2}, 8);
    Ctx cx;
    Tensor *t = read_tensor(&cx, &d);
    assert_non_null(t);
    assert_true(scalar_load(DT_F64, t->data, 0).f == 0.1);
    done(&cx, &d);
    t = read_tensor(&cx, &c);
    assert_non_null(t);
    assert_memory_equal(t->data, ((const float[]){1, 2}), 8);
    done(&cx, &c);
}

static void strings_are_handles(void **state)
{
    (void)state;
    Pb p = pb_tensor("t", DT_STRING, DIMS(2));
    pb_str(&p, TENSOR_STRINGS, "ab");
    pb_str(&p, TENSOR_STRINGS, "");
    Ctx cx;
    Tensor *t = read_tensor(&cx, &p);
    assert_non_null(t);
    assert_string_equal(t->strings[0], "ab");
    assert_string_equal(t->strings[1], "");
    done(&cx, &p);
}

static void every_type_is_read_from_raw_data(void **state)
{
    (void)state;
    for (int type = 1; type < DT_COUNT; type++) {
        if (type == DT_STRING)
            continue;
        Pb p = pb_tensor("t", (DType)type, DIMS(3));
        uint8_t raw[48];
        for (int i = 0; i < NELEM(raw); i++)
            raw[i] = (uint8_t)(type == DT_BOOL ? i & 1 : i);
        size_t bytes = ((size_t)dtype_bits((DType)type) * 3 + 7) / 8;
        pb_bytes(&p, TENSOR_RAW, raw, bytes);
        Ctx cx;
        Tensor *t = read_tensor(&cx, &p);
        assert_non_null(t);
        assert_int_equal(t->bytes, bytes);
        assert_memory_equal(t->data, raw, bytes);
        done(&cx, &p);
    }
}

static void bools_other_than_0_and_1_become_1(void **state)
{
    (void)state;
    Pb p = pb_tensor("t", DT_BOOL, DIMS(2000));
    uint8_t *raw = calloc(1, 2000);
    raw[1999] = 7;
    pb_bytes(&p, TENSOR_RAW, raw, 2000);
    free(raw);
    Ctx cx;
    Tensor *t = read_tensor(&cx, &p);
    assert_non_null(t);
    assert_int_equal(((uint8_t *)t->data)[1998], 0);
    assert_int_equal(((uint8_t *)t->data)[1999], 1);
    done(&cx, &p);
}

static void big_raw_data_is_used_in_place_and_small_is_aligned(void **state)
{
    (void)state;
    float big[1000] = {0};
    for (int pad = 0; pad < 4; pad++) {
        Pb p = pb_tensor(&"abcd"[pad], DT_F32, DIMS(1000)),
           small = pb_tensor(&"abcd"[pad], DT_F32, DIMS(2));
        pb_bytes(&p, TENSOR_RAW, big, sizeof big);
        pb_bytes(&small, TENSOR_RAW, big, 8);
        Ctx cx;
        Tensor *t = read_tensor(&cx, &p);
        assert_non_null(t);
        assert_in_range((uintptr_t)t->data, (uintptr_t)p.at, (uintptr_t)p.at + p.n);
        done(&cx, &p);
        t = read_tensor(&cx, &small);
        assert_non_null(t);
        assert_int_equal((uintptr_t)t->data % 16, 0);
        done(&cx, &small);
    }
}

static void what_is_exported_is_imported_again(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Buf b;
    const char *name = NULL;
    Tensor *volatile back = NULL;
    TRY(&cx) {
        Tensor *t = tensor_new(&cx, DT_F32, DIMS(2, 1));
        memcpy(t->data, (const float[]){-0.0f, 1e-40f}, 8);
        buf_init(&b, &cx);
        tensor_export(&cx, t, "the name", &b);
        back = tensor_import(&cx, b.s, b.n, &name);
        assert_memory_equal(back->data, t->data, 8);
    }
    assert_non_null(back);
    assert_string_equal(name, "the name");
    assert_int_equal(back->rank, 2);
    assert_int_equal(back->dim[0], 2);
    ctx_free(&cx);
}

/* ---- wrong ones ------------------------------------------------------------------------------ */

static void sizes_must_match_the_dims(void **state)
{
    (void)state;
    Pb raw = pb_tensor("t", DT_F32, DIMS(2)), typed = pb_tensor("t", DT_F32, DIMS(2));
    Pb none = pb_tensor("t", DT_F32, DIMS(2)), scalar = pb_tensor("t", DT_F32, SCALAR);
    pb_bytes(&raw, TENSOR_RAW, "1234567", 7);
    pb_bytes(&typed, TENSOR_FLOATS, (const float[]){1}, 4);
    assert_tensor_refused(&raw, "needs 8 bytes in raw_data, but has 7");
    assert_tensor_refused(&typed, "needs 2 entries in float_data, but has 1");
    assert_tensor_refused(&none, "has no data");
    assert_tensor_refused(&scalar, "has no data");
}

static void data_must_be_in_one_field_and_in_the_right_one(void **state)
{
    (void)state;
    Pb both = pb_floats("t", 1, (const float[]){1}), wrong = pb_tensor("t", DT_F32, DIMS(1));
    pb_bytes(&both, TENSOR_FLOATS, (const float[]){1}, 4);
    pb_int(&wrong, TENSOR_INT64S, 3);
    assert_tensor_refused(&both, "both float_data and raw_data");
    assert_tensor_refused(&wrong, "can't be in int64_data");
}

static void entries_must_fit_the_type(void **state)
{
    (void)state;
    Pb p = varint_tensor(DT_U8, TENSOR_INT32S, true, 1, (const int64_t[]){256}, 1);
    assert_tensor_refused(&p, "no uint8");
}

static void types_must_exist(void **state)
{
    (void)state;
    Pb zero = pb_tensor("t", DT_NONE, DIMS(1)), big = pb_tensor("t", (DType)99, DIMS(1));
    assert_tensor_refused(&zero, "data type 0");
    assert_tensor_refused(&big, "data type 99");
}

static void dims_must_be_sane(void **state)
{
    (void)state;
    Pb negative = pb_tensor("t", DT_F32, DIMS(-2)),
       huge = pb_tensor("t", DT_F32, DIMS(INT64_MAX, 4));
    Pb large = pb_tensor("t", DT_F32, DIMS((int64_t)1 << 40)),
       empty = pb_tensor("t", DT_F32, DIMS(0, INT64_MAX, 9));
    Pb deep = pb_tensor("t", DT_F32, 17, (const int64_t[17]){0});
    assert_tensor_refused(&negative, "dim 0 of a tensor is -2");
    assert_tensor_refused(&huge, "exceeds the limit");
    assert_tensor_refused(&large, "exceeds the limit");
    assert_tensor_refused(&empty, "exceeds the limit");
    assert_tensor_refused(&deep, "rank 17");
}

/* ---- sparse ---------------------------------------------------------------------------------- */

/* A 2x3 matrix with values 5 and 7 at the given indices. */
static Pb sparse(int rank, const int64_t *index_dims, const int64_t *index, int n)
{
    Pb s = {0}, values = pb_floats("s", 2, (const float[]){5, 7}),
       indices = pb_tensor("", DT_I64, rank, index_dims);
    pb_bytes(&indices, TENSOR_RAW, index, (size_t)n * 8);
    pb_msg(&s, 1, &values);
    pb_msg(&s, 2, &indices);
    pb_int(&s, 3, 2);
    pb_int(&s, 3, 3);
    return s;
}

static Pb sparse_model(Pb *s)
{
    Pb g = {0};
    pb_msg(&g, GRAPH_SPARSE, s);
    pb_value(&g, GRAPH_OUTPUT, "s", DT_F32, DIMS(2, 3));
    return pb_model(&g);
}

static void sparse_initializers_become_dense(void **state)
{
    (void)state;
    Pb s[] = {sparse(DIMS(2), (const int64_t[]){1, 5}, 2),
        sparse(DIMS(2, 2), (const int64_t[]){0, 1, 1, 2}, 4)};
    for (int i = 0; i < 2; i++) {
        Pb m = sparse_model(&s[i]);
        Loaded l;
        load(&l, &m);
        assert_non_null(l.g);
        assert_memory_equal(value_named(l.g, "s")->data->data, ((const float[]){0, 5, 0, 0, 0, 7}),
            24);
        unload(&l, &m);
    }
}

static void sparse_indices_must_fit(void **state)
{
    (void)state;
    Pb outside = sparse(DIMS(2), (const int64_t[]){1, 6}, 2), m = sparse_model(&outside);
    assert_refused(&m, ST_MODEL, "outside");
    Pb negative = sparse(DIMS(2, 2), (const int64_t[]){0, -1, 1, 2}, 4);
    m = sparse_model(&negative);
    assert_refused(&m, ST_MODEL, "outside");
    Pb few = sparse(DIMS(1), (const int64_t[]){1}, 1);
    m = sparse_model(&few);
    assert_refused(&m, ST_MODEL, "a row per value");
}

/* ---- external data --------------------------------------------------------------------------- */

typedef struct Folder {
    char path[64];
} Folder;

static void write_file(const Folder *f, const char *name, const void *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    fclose(file);
}

static int make_folder(void **state)
{
    Folder *f = calloc(1, sizeof *f);
    strcpy(f->path, "/tmp/sinter-external-XXXXXX");
    char path[128];
    if (!mkdtemp(f->path))
        return 1;
    snprintf(path, sizeof path, "%s/sub", f->path);
    mkdir(path, 0700);
    write_file(f, "w..bin", (const float[]){0, 1, 2, 3}, 16);
    write_file(f, "sub/w.bin", (const float[]){0, 1, 2, 3}, 16);
    snprintf(path, sizeof path, "%s/inside", f->path);
    if (symlink("w..bin", path))
        return 1;
    snprintf(path, sizeof path, "%s/outside", f->path);
    if (symlink("/etc/passwd", path))
        return 1;
    snprintf(path, sizeof path, "%s/fifo", f->path);
    *state = f;
    return mkfifo(path, 0600);
}

static int remove_folder(void **state)
{
    Folder *f = *state;
    static const char *const names[] = {"w..bin", "sub/w.bin", "inside", "outside", "fifo",
        "m.onnx", "sub", ""};
    char path[128];
    for (int i = 0; i < NELEM(names); i++) {
        snprintf(path, sizeof path, "%s/%s", f->path, names[i]);
        remove(path);
    }
    free(f);
    return 0;
}

static void external_key(Pb *t, const char *key, const char *value)
{
    Pb e = {0};
    pb_str(&e, 1, key);
    pb_str(&e, 2, value);
    pb_msg(t, TENSOR_EXTERNAL, &e);
}

/* A model beside the files, whose one tensor of two floats is at this place. */
static void load_external(Loaded *l, const Folder *f, const char *location, const char *offset,
    const char *length)
{
    Pb g = {0}, t = pb_tensor("w", DT_F32, DIMS(2));
    external_key(&t, "location", location);
    external_key(&t, "offset", offset);
    external_key(&t, "length", length);
    pb_int(&t, TENSOR_LOCATION, 1);
    pb_msg(&g, GRAPH_INITIALIZER, &t);
    pb_value(&g, GRAPH_OUTPUT, "w", DT_F32, DIMS(2));
    Pb m = pb_model(&g);
    write_file(f, "m.onnx", m.at, m.n);
    pb_free(&m);
    char path[128];
    snprintf(path, sizeof path, "%s/m.onnx", f->path);
    load_path(l, path);
}

static void external_data_is_read_beneath_the_folder(void **state)
{
    static const char *const good[] = {"w..bin", "sub/w.bin", "./sub/w.bin", "inside"};
    for (int i = 0; i < NELEM(good); i++) {
        Loaded l;
        load_external(&l, *state, good[i], "4", "8");
        assert_non_null(l.g);
        assert_memory_equal(value_named(l.g, "w")->data->data, ((const float[]){1, 2}), 8);
        unload(&l, NULL);
    }
}

static void external_data_elsewhere_is_refused(void **state)
{
    static const char *const bad[] = {"", "..", "../x", "/etc/passwd", "sub/../w..bin", "outside",
        "sub", "fifo", "none", "sub//w.bin", "sub/"};
    for (int i = 0; i < NELEM(bad); i++) {
        Loaded l;
        load_external(&l, *state, bad[i], "0", "8");
        assert_null(l.g);
        assert_non_null(strstr(l.cx.problems->message, "external data"));
        assert_string_equal(l.cx.problems->where.tensor, "w");
        unload(&l, NULL);
    }
}

static void external_data_past_the_end_is_refused(void **state)
{
    static const char *const bad[][2] = {{"9", "8"}, {"17", "8"}, {"-4", "8"},
        {"9223372036854775807", "8"}, {"99999999999999999999", "8"}, {"x", "8"}, {"0", "7"},
        {"0", "9"}, {"", "8"}};
    for (int i = 0; i < NELEM(bad); i++) {
        Loaded l;
        load_external(&l, *state, "w..bin", bad[i][0], bad[i][1]);
        assert_null(l.g);
        unload(&l, NULL);
    }
}

static void a_model_from_memory_has_no_external_data(void **state)
{
    (void)state;
    Pb g = {0}, t = pb_tensor("w", DT_F32, DIMS(2));
    external_key(&t, "location", "w..bin");
    pb_int(&t, TENSOR_LOCATION, 1);
    pb_msg(&g, GRAPH_INITIALIZER, &t);
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "loaded from memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_integers_are_read_packed_and_unpacked),
        cmocka_unit_test(halves_in_int32_data_are_bit_patterns),
        cmocka_unit_test(four_bit_integers_are_packed_low_half_first),
        cmocka_unit_test(floats_may_come_in_several_pieces),
        cmocka_unit_test(doubles_and_complex_numbers_have_typed_fields),
        cmocka_unit_test(strings_are_handles),
        cmocka_unit_test(every_type_is_read_from_raw_data),
        cmocka_unit_test(bools_other_than_0_and_1_become_1),
        cmocka_unit_test(big_raw_data_is_used_in_place_and_small_is_aligned),
        cmocka_unit_test(what_is_exported_is_imported_again),
        cmocka_unit_test(sizes_must_match_the_dims),
        cmocka_unit_test(data_must_be_in_one_field_and_in_the_right_one),
        cmocka_unit_test(entries_must_fit_the_type),
        cmocka_unit_test(types_must_exist),
        cmocka_unit_test(dims_must_be_sane),
        cmocka_unit_test(sparse_initializers_become_dense),
        cmocka_unit_test(sparse_indices_must_fit),
        cmocka_unit_test(external_data_is_read_beneath_the_folder),
        cmocka_unit_test(external_data_elsewhere_is_refused),
        cmocka_unit_test(external_data_past_the_end_is_refused),
        cmocka_unit_test(a_model_from_memory_has_no_external_data),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
