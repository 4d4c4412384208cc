/* slice.c: Slice. */
#include "graph/ops/dims.h"

/* From this on a bound means "to the end" (the spec's INT_MAX), and from its negative on "from the beginning". */
enum { SLICE_INF = INT32_MAX };

/* a counted from the end when negative. Where the sign is known only when the inputs are bound, the extent is
 * added times 1 or 0. */
static const Ix *from_end(Op *o, const Ix *a, const Ix *d)
{
    Pool *p = o->pool;
    if (ix_is_const(a) && (a->c >= SLICE_INF || a->c <= -SLICE_INF))
        return ix_int(p, a->c > 0 ? (int64_t)1 << 48 : -((int64_t)1 << 48));
    if (ix_nonneg(p, a))
        return a;
    if (a->hi < 0)
        return ix_add(p, a, d);
    const Ix *below = ix_min(p, ix_int(p, 1), ix_max(p, ix_int(p, 0), ix_muli(p, a, -1)));
    return ix_add(p, a, ix_mul(p, d, below));
}

/* first and extent of start:end:step on an axis of extent d. A start past the end needs no clamp: the extent is 0
 * then, and nothing is read. */
static void bounds(Op *o, const Ix *d, const Ix *start, const Ix *end, int64_t step, const Ix **first, const Ix **n)
{
    Pool *p = o->pool;
    const Ix *zero = ix_int(p, 0), *s = from_end(o, start, d), *e = from_end(o, end, d), *span;
    if (step > 0) {
        e = ix_min(p, e, d);
        *first = ix_max(p, s, zero);
        /* e - max(s, 0), in the form that keeps x[-k:] simple: min(e, e - s). */
        span = ix_min(p, e, ix_sub(p, e, s));
    } else {
        const Ix *last = ix_addi(p, d, -1);
        *first = ix_max(p, ix_min(p, s, last), ix_min(p, zero, last)); /* -1 on an empty axis */
        span = ix_sub(p, *first, ix_max(p, e, ix_int(p, -1)));
    }
    *n = ix_max(p, zero, ix_ceil_div(p, span, ix_int(p, step < 0 ? -step : step)));
}

/* Slice (ai.onnx 1, 10, 11, 13): y[i] = x[start + i*step] on some axes. Attributes at first, inputs from 10 on. */
static void slice(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *in[5] = {NULL};
    static const char *const name[] = {NULL, "starts", "ends", "axes"};
    const int64_t *list[4] = {NULL};
    int count[5] = {0};
    for (int j = 1; j < 5 && o->opset >= 10; j++) {
        in[j] = j < 3 ? op_in(o, j, T_INDEX) : op_opt(o, j, T_INDEX);
        count[j] = in[j] ? list_count(o, in[j], MAX_RANK) : 0;
    }
    for (int j = 1; j < 4 && o->opset < 10; j++)
        list[j] = op_attr_ints(o, name[j], &count[j]);
    if (count[1] != count[2] || ((list[3] || in[3]) && count[3] != count[1]) || (in[4] && count[4] != count[1]))
        op_error(o, "starts, ends, axes and steps differ in length");
    if (count[1] > x->rank)
        op_error(o, "%d axes to slice, but the input has rank %d", count[1], x->rank);
    const Ix *dim[MAX_RANK], *first[MAX_RANK] = {NULL}, *at[MAX_RANK];
    int64_t step[MAX_RANK];
    memcpy(dim, x->dim, (size_t)x->rank * sizeof *dim);
    for (int j = 0; j < count[1]; j++) {
        int k = in[3] ? list_axis(o, in[3], j, x->rank) : list[3] ? op_axis(o, list[3][j], x->rank) : j;
        const Ix *st = in[4] ? op_elem_ix(o, in[4], j) : ix_int(p, 1);
        if (first[k])
            op_error(o, "axis %d is sliced twice", k);
        if (!ix_is_const(st))
            op_unsupported(o, "a step that is not known when compiling");
        if (st->c == 0)
            op_error(o, "step %d is 0", j);
        step[k] = MAX(-SLICE_INF, MIN(SLICE_INF, st->c));
        const Ix *s = in[1] ? op_elem_ix(o, in[1], j) : ix_int(p, list[1][j]);
        const Ix *e = in[2] ? op_elem_ix(o, in[2], j) : ix_int(p, list[2][j]);
        bounds(o, x->dim[k], s, e, step[k], &first[k], &dim[k]);
    }
    Build y = op_out(o, 0, x->type, x->rank, dim);
    for (int k = 0; k < x->rank; k++)
        at[k] = first[k] ? ix_add(p, first[k], ix_muli(p, y.i[k], step[k])) : y.i[k];
    build_map(&y, op_load(o, x, at));
}
OP("Slice", "", 1, slice)
