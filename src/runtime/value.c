/* value.c: sinter_value: tensors of the caller or with memory of their own. */
#include "runtime/internal.h"

sinter_value *value_new(Alloc *a, const sinter_tensor *t, void *data)
{
    sinter_value *v = alloc_get(a, sizeof *v, 16);
    if (!v)
        return NULL;
    *v = (sinter_value){.t = *t, .alloc = a};
    if (!data) {
        v->own_bytes = MAX(t->bytes, (size_t)1);
        v->own = data = alloc_get(a, v->own_bytes, 64);
        if (!data) {
            alloc_put(a, v, sizeof *v);
            return NULL;
        }
        memset(data, 0, v->own_bytes);
    }
    v->room = t->bytes;
    v->t.data = data;
    return v;
}

/* Elements and bytes of a shape, overflow-checked. */
static bool measure(sinter_tensor *t)
{
    int64_t count = 1, bits;
    for (int k = 0; k < t->rank; k++)
        if (t->dim[k] < 0 || !mul_ok(count, t->dim[k], &count))
            return false;
    t->count = count;
    if (!mul_ok(count, dtype_bits((DType)t->dtype), &bits) || bits / 8 > LIM_TENSOR_BYTES)
        return false;
    t->bytes = (size_t)((bits + 7) / 8);
    return true;
}

sinter_code sinter_tensor_new(sinter_dtype dtype, int rank, const int64_t *dim, void *data,
    size_t bytes, sinter_value **value, sinter_error *err)
{
    sinter_tensor t = {.dtype = dtype, .rank = rank};
    if (!value || rank < 0 || rank > SINTER_MAX_RANK || (rank && !dim) ||
        dtype_bits((DType)dtype) == 0)
        return api_error(err, SINTER_ERR_USAGE, "sinter_tensor_new: bad element type, rank or dim");
    *value = NULL;
    for (int k = 0; k < rank; k++)
        t.dim[k] = dim[k];
    if (!measure(&t))
        return api_error(err, SINTER_ERR_LIMIT,
            "sinter_tensor_new: a dim is negative or the size overflows");
    if (data && bytes < t.bytes)
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_tensor_new: the memory is smaller than the shape needs");
    *value = value_new(alloc_default(), &t, data);
    if (*value && data)
        (*value)->room = bytes;
    return *value ? api_ok(err) : api_error(err, SINTER_ERR_MEMORY, "out of memory");
}

sinter_code sinter_tensor_get(const sinter_value *value, sinter_tensor *tensor)
{
    if (!value || !tensor)
        return SINTER_ERR_USAGE;
    *tensor = value->t;
    return SINTER_OK;
}

void sinter_value_free(sinter_value *v)
{
    if (!v)
        return;
    alloc_put(v->alloc, v->own, v->own_bytes);
    alloc_put(v->alloc, v->name, v->name_bytes);
    alloc_put(v->alloc, v, sizeof *v);
}

bool tensor_view(const sinter_value *v, Tensor *t)
{
    *t = (Tensor){.type = (DType)v->t.dtype,
        .rank = v->t.rank,
        .count = v->t.count,
        .bytes = v->t.bytes,
        .data = v->t.data};
    memcpy(t->dim, v->t.dim, sizeof v->t.dim);
    return true;
}

/* ---- TensorProto -------------------------------------------------------------------------------
 */

typedef struct Parse {
    Ctx *cx;
    const void *bytes;
    size_t n;
    const char *name;
    Tensor *t;
} Parse;

static void parse(void *arg)
{
    Parse *p = arg;
    p->t = tensor_import(p->cx, p->bytes, p->n, &p->name);
    if (p->t->type == DT_STRING)
        ctx_fail(p->cx, ST_UNSUPPORTED, NULL,
            "tensors of strings are not supported in this version");
}

/* A value with a copy of the data and of the name; NULL when out of memory. */
static sinter_value *parsed_value(const sinter_tensor *t, const void *data, const char *name)
{
    sinter_value *v = value_new(alloc_default(), t, NULL);
    if (!v)
        return NULL;
    if (t->bytes)
        memcpy(v->t.data, data, t->bytes);
    v->name_bytes = strlen(name ? name : "") + 1;
    v->name = alloc_get(v->alloc, v->name_bytes, 1);
    if (!v->name) {
        sinter_value_free(v);
        return NULL;
    }
    memcpy(v->name, name ? name : "", v->name_bytes);
    return v;
}

sinter_code sinter_value_parse(const void *bytes, size_t n, sinter_value **value, const char **name,
    sinter_error *err)
{
    if (!value || (!bytes && n))
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_value_parse: bytes and value must not be NULL");
    *value = NULL;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Parse p = {&cx, bytes, n, NULL, NULL};
    sinter_code code = api_call(&cx, parse, &p, err);
    if (code == SINTER_OK) {
        sinter_tensor t = {.dtype = (sinter_dtype)p.t->type,
            .rank = p.t->rank,
            .count = p.t->count,
            .bytes = p.t->bytes};
        memcpy(t.dim, p.t->dim, sizeof t.dim);
        *value = parsed_value(&t, p.t->data, p.name);
        if (!*value)
            code = api_error(err, SINTER_ERR_MEMORY, "out of memory");
        else if (name)
            *name = (*value)->name;
    }
    ctx_free(&cx);
    return code;
}

/* Texts and bytes that the caller frees carry their size in front. */
void *text_copy(const void *p, size_t n)
{
    Alloc *a = alloc_default();
    char *block = alloc_get(a, n + 17, 16);
    if (!block)
        return NULL;
    memcpy(block, &n, sizeof n);
    if (n)
        memcpy(block + 16, p, n);
    block[16 + n] = 0;
    return block + 16;
}

void sinter_text_free(char *text)
{
    if (!text)
        return;
    size_t n;
    memcpy(&n, text - 16, sizeof n);
    alloc_put(alloc_default(), text - 16, n + 17);
}

typedef struct Export {
    Ctx *cx;
    const sinter_value *v;
    const char *name;
    Buf out;
} Export;

static void export(void *arg)
{
    Export *x = arg;
    Tensor t;
    tensor_view(x->v, &t);
    buf_init(&x->out, x->cx);
    tensor_export(x->cx, &t, x->name, &x->out);
}

sinter_code sinter_value_serialize(const sinter_value *value, const char *name, void **bytes,
    size_t *n, sinter_error *err)
{
    if (!value || !bytes || !n)
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_value_serialize: value, bytes and n must not be NULL");
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Export x = {.cx = &cx, .v = value, .name = name ? name : ""};
    sinter_code code = api_call(&cx, export, &x, err);
    if (code == SINTER_OK) {
        *bytes = text_copy(x.out.s, x.out.n);
        *n = x.out.n;
        if (!*bytes)
            code = api_error(err, SINTER_ERR_MEMORY, "out of memory");
    }
    ctx_free(&cx);
    return code;
}
