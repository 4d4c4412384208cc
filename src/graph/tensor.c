/* tensor.c: dense constants: their layout, and writing them as TensorProto. */
#include "graph/graph.h"
#include "graph/onnx.pb-c.h"

void tensor_layout(Ctx *cx, Tensor *t, const Where *where)
{
    int64_t bits;
    if (!dtype_bits(t->type))
        ctx_fail(cx, ST_MODEL, where, "%d is no element type", (int)t->type);
    if (t->rank < 0 || t->rank > LIM_RANK)
        ctx_fail(cx, ST_LIMIT, where, "rank %d exceeds the limit of %d", t->rank, (int)LIM_RANK);
    t->count = 1;
    /* A zero anywhere makes the tensor empty, but the product of the others must not overflow even
     * so. */
    bool empty = false, fits = true;
    for (int i = 0; i < t->rank; i++) {
        if (t->dim[i] < 0)
            ctx_fail(cx, ST_MODEL, where, "dim %d of a tensor is %lld", i, (long long)t->dim[i]);
        empty |= t->dim[i] == 0;
        fits = fits && (t->dim[i] == 0 || mul_ok(t->count, t->dim[i], &t->count));
    }
    if (!fits || !mul_ok(t->count, dtype_bits(t->type), &bits) || (bits + 7) / 8 > LIM_TENSOR_BYTES)
        ctx_fail(cx, ST_LIMIT, where, "a tensor exceeds the limit of %lld bytes",
            (long long)LIM_TENSOR_BYTES);
    t->count = empty ? 0 : t->count;
    t->bytes = empty ? 0 : (size_t)(bits + 7) / 8;
}

static Tensor *new_tensor(Ctx *cx, DType type, int rank, const int64_t *dim, bool zero)
{
    Tensor *t = NEW(cx, Tensor);
    t->type = type;
    t->rank = rank;
    for (int i = 0; i < rank && i < MAX_RANK; i++)
        t->dim[i] = dim[i];
    tensor_layout(cx, t, NULL);
    if (type != DT_STRING) {
        t->data = (zero ? arena_try : arena_raw)(&cx->arena, t->bytes, 64);
        if (!t->data)
            ctx_fail(cx, ST_MEMORY, NULL, "out of memory for a tensor of %lld bytes",
                (long long)t->bytes);
        return t;
    }
    t->strings = NEW_N(cx, char *, t->count);
    for (int64_t i = 0; i < t->count; i++)
        t->strings[i] = (char *)""; /* never written through */
    return t;
}

Tensor *tensor_new(Ctx *cx, DType type, int rank, const int64_t *dim)
{
    return new_tensor(cx, type, rank, dim, true);
}

Tensor *tensor_new_raw(Ctx *cx, DType type, int rank, const int64_t *dim)
{
    return new_tensor(cx, type, rank, dim, false);
}

/* ---- export ---------------------------------------------------------------------------------- */

static void put_varint(Buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        buf_putc(out, (char)(v | 0x80));
    buf_putc(out, (char)v);
}

static void put_number(Buf *out, int field, uint64_t v)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, v);
}

static void put_bytes(Buf *out, int field, const void *p, size_t n)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, n);
    buf_write(out, p, n);
}

/* Field numbers of TensorProto: dims 1, data_type 2, string_data 6, name 8, raw_data 9. Written by
 * hand, since protobuf-c would need the whole tensor in memory of its own first. */
void tensor_export(Ctx *cx, const Tensor *t, const char *name, Buf *out)
{
    (void)cx;
    for (int i = 0; i < t->rank; i++)
        put_number(out, 1, (uint64_t)t->dim[i]);
    put_number(out, 2, (uint64_t)t->type);
    if (t->type == DT_STRING)
        for (int64_t i = 0; i < t->count; i++)
            put_bytes(out, 6, t->strings[i], strlen(t->strings[i]));
    put_bytes(out, 8, name, strlen(name));
    if (t->type != DT_STRING)
        put_bytes(out, 9, t->data, t->bytes);
}
