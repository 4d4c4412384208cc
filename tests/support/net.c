/* net.c: see net.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/net.h"

/* ---- models ---------------------------------------------------------------------------------- */

/* TypeProto.tensor_type = 1 {elem_type = 1, shape = 2 {dim = 1 {dim_value = 1, dim_param = 2}}} */
void net_io(Pb *g, int field, const char *name, DType type, const char *dims)
{
    Pb value = {0}, type_proto = {0}, tensor = {0}, shape = {0};
    for (const char *d = dims; *d;) {
        size_t n = strcspn(d, ",");
        Pb dim = {0};
        if (d[0] >= '0' && d[0] <= '9')
            pb_int(&dim, 1, strtol(d, NULL, 10));
        else
            pb_bytes(&dim, 2, d, n);
        pb_msg(&shape, 1, &dim);
        d += n + (d[n] != 0);
    }
    pb_int(&tensor, 1, type);
    pb_msg(&tensor, 2, &shape);
    pb_msg(&type_proto, 1, &tensor);
    pb_str(&value, 1, name);
    pb_msg(&value, 2, &type_proto);
    pb_msg(g, field, &value);
}

static int parse_ints(const char *list, int64_t *at)
{
    int n = 0;
    for (char *end; *list; list = *end ? end + 1 : end)
        at[n++] = strtoll(list, &end, 10);
    return n;
}

/* A small generator (xorshift*), so that a test makes the same numbers everywhere. */
static float random_float(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (float)((int64_t)((*state * 0x2545f4914f6cdd1du) >> 40) - (1 << 23)) / (1 << 23);
}

void net_weight(Pb *g, const char *name, const char *dims)
{
    int64_t dim[MAX_RANK], n = 1;
    int rank = parse_ints(dims, dim);
    for (int k = 0; k < rank; k++)
        n *= dim[k];
    uint64_t seed = hash_bytes(name, strlen(name), 1) | 1;
    float *data = malloc((size_t)n * sizeof *data);
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++)
        data[i] = random_float(&seed);
    Pb t = pb_tensor(name, DT_F32, rank, dim);
    pb_bytes(&t, TENSOR_RAW, data, (size_t)n * sizeof *data);
    pb_msg(g, GRAPH_INITIALIZER, &t);
    free(data);
}

void net_ints(Pb *g, const char *name, const char *list)
{
    int64_t data[64];
    int n = parse_ints(list, data);
    Pb t = pb_tensor(name, DT_I64, DIMS(n));
    pb_bytes(&t, TENSOR_RAW, data, (size_t)n * sizeof *data);
    pb_msg(g, GRAPH_INITIALIZER, &t);
}

/* One "name=value" of n bytes. */
static void add_attr(Pb *node, const char *s, size_t n)
{
    char text[128];
    assert_true(n < sizeof text);
    memcpy(text, s, n);
    text[n] = 0;
    char *v = strchr(text, '=');
    assert_non_null(v);
    *v++ = 0;
    Pb a = {0};
    pb_str(&a, ATTR_NAME_FIELD, text);
    int kind = ATTR_INT;
    if (v[0] == '[') {
        int64_t list[16];
        v[strlen(v) - 1] = 0;
        int count = parse_ints(v + 1, list);
        for (int i = 0; i < count; i++)
            pb_int(&a, ATTR_INTS_FIELD, list[i]);
        kind = ATTR_INTS;
    } else if (v[strlen(v) - 1] == 'f') {
        float f = strtof(v, NULL);
        pb_varint(&a, ATTR_F_FIELD << 3 | 5);
        pb_raw(&a, &f, sizeof f);
        kind = ATTR_FLOAT;
    } else if (v[0] == '-' || (v[0] >= '0' && v[0] <= '9'))
        pb_int(&a, ATTR_I_FIELD, strtoll(v, NULL, 10));
    else {
        pb_str(&a, ATTR_S_FIELD, v);
        kind = ATTR_STRING;
    }
    pb_int(&a, ATTR_TYPE_FIELD, kind);
    pb_msg(node, NODE_ATTR, &a);
}

void net_node(Pb *g, const char *op, const char *inputs, const char *outputs, const char *attrs)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(outputs, ","), outputs);
    Pb node = pb_node(op, inputs, outputs, name);
    while (*attrs) {
        size_t n = strcspn(attrs, " ");
        add_attr(&node, attrs, n);
        attrs += n + (attrs[n] != 0);
    }
    pb_msg(g, GRAPH_NODE, &node);
}

Pb net_file(const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", path[0] == '/' ? "" : SINTER_SOURCE_DIR, path);
    FILE *f = fopen(full, "rb");
    if (!f)
        fail_msg("can't open %s", full);
    Pb p = {0};
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        pb_raw(&p, part, n);
    fclose(f);
    return p;
}

sinter_value *net_value(const char *path)
{
    Pb p = net_file(path);
    sinter_value *v;
    assert_int_equal(sinter_value_parse(p.at, p.n, &v, NULL, NULL), SINTER_OK);
    pb_free(&p);
    return v;
}

/* ---- sessions -------------------------------------------------------------------------------- */

sinter_options net_options(int level, int threads, const char *isa)
{
    sinter_options o;
    sinter_options_init(&o);
    o.opt_level = level;
    o.threads = threads;
    o.isa = isa;
    return o;
}

sinter_code session_try(Session *s, const Pb *model, const sinter_options *o)
{
    memset(s, 0, sizeof *s);
    sinter_code code = sinter_load_memory(model->at, model->n, o, &s->model, &s->err);
    if (code == SINTER_OK)
        code = sinter_compile(s->model, o, &s->program, &s->err);
    return code == SINTER_OK ? sinter_context_new(s->program, &s->run, &s->err) : code;
}

void session_open(Session *s, const Pb *model, const sinter_options *o)
{
    if (session_try(s, model, o))
        fail_msg("%s", s->err.message);
}

void session_close(Session *s)
{
    sinter_context_free(s->run);
    sinter_program_free(s->program);
    sinter_model_free(s->model);
}

/* ---- values ---------------------------------------------------------------------------------- */

sinter_value *net_random(int rank, const int64_t *dim, uint64_t seed)
{
    sinter_value *v;
    sinter_tensor t;
    assert_int_equal(sinter_tensor_new(SINTER_FLOAT32, rank, dim, NULL, 0, &v, NULL), SINTER_OK);
    assert_int_equal(sinter_tensor_get(v, &t), SINTER_OK);
    seed = (seed + 1) * 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < t.count; i++)
        ((float *)t.data)[i] = random_float(&seed);
    return v;
}

static void get_both(const sinter_value *got, const sinter_value *want, sinter_tensor *a,
    sinter_tensor *b, const char *what)
{
    assert_int_equal(sinter_tensor_get(got, a), SINTER_OK);
    assert_int_equal(sinter_tensor_get(want, b), SINTER_OK);
    if (a->dtype != b->dtype || a->rank != b->rank)
        fail_msg("%s: type %d rank %d, not type %d rank %d", what, a->dtype, a->rank, b->dtype,
            b->rank);
    for (int k = 0; k < a->rank; k++)
        if (a->dim[k] != b->dim[k])
            fail_msg("%s: dim %d is %lld, not %lld", what, k, (long long)a->dim[k],
                (long long)b->dim[k]);
}

void assert_close(const sinter_value *got, const sinter_value *want, const char *what)
{
    sinter_tensor a, b;
    get_both(got, want, &a, &b, what);
    if (a.dtype != SINTER_FLOAT32) {
        if (memcmp(a.data, b.data, a.bytes))
            fail_msg("%s: differs", what);
        return;
    }
    const float *x = a.data, *y = b.data;
    float most = 0;
    for (int64_t i = 0; i < b.count; i++)
        most = fmaxf(most, fabsf(y[i])); /* fmaxf passes NaN over */
    for (int64_t i = 0; i < b.count; i++)
        if (!(fabsf(x[i] - y[i]) <= 1e-4f * most) && !(isnan(x[i]) && isnan(y[i])))
            fail_msg("%s: element %lld is %g, not %g", what, (long long)i, (double)x[i],
                (double)y[i]);
}

void assert_same(const sinter_value *got, const sinter_value *want)
{
    sinter_tensor a, b;
    get_both(got, want, &a, &b, "values");
    assert_memory_equal(a.data, b.data, a.bytes);
}
