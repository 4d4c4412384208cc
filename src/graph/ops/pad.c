/* pad.c: Pad and CenterCropPad. */
#include "graph/ops/dims.h"

typedef enum { PAD_CONSTANT, PAD_EDGE, PAD_REFLECT, PAD_WRAP, N_PAD_MODES } PadMode;

static PadMode pad_mode(Op *o)
{
    static const char *const name[] = {"constant", "edge", "reflect", "wrap"};
    const char *mode = op_attr_s(o, "mode", "constant");
    for (int m = 0; m < N_PAD_MODES; m++)
        if (!strcmp(mode, name[m]))
            return (PadMode)m;
    op_error(o, "attribute 'mode' is '%s'", mode);
}

/* The pad of axis k among elements from..from+n-1, where the axes come with the data. */
static const Ix *late_pad(Op *o, const Value *pads, const Value *axes, int from, int n, int k,
    int rank)
{
    Pool *p = o->pool;
    const Expr *e = ex_i(p, 0);
    for (int j = 0; j < n; j++)
        e = ex_select(p, list_names_axis(o, axes, j, k, rank), list_elem(o, pads, from + j), e);
    return ix_fixed(o, e);
}

/* Pads before and after each axis: attribute 'paddings' (1) or 'pads' (2), inputs from version 11
 * on. */
static void read_pads(Op *o, int rank, const Ix **before, const Ix **after)
{
    int count, n = rank;
    bool input = o->opset >= 11;
    const Value *v = input ? op_in(o, 1, T_BIT(DT_I64)) : NULL,
                *axes = input ? op_opt(o, 3, T_INDEX) : NULL;
    const int64_t *list =
        input ? NULL : op_attr_ints(o, o->opset < 2 ? "paddings" : "pads", &count);
    if (input)
        count = list_count(o, v, 2 * MAX_RANK);
    if (axes)
        n = list_count(o, axes, MAX_RANK);
    if (count != 2 * n)
        op_error(o, "%d pads for %d axes", count, n);
    bool late = axes && !list_known(o, axes, n);
    for (int k = 0; k < rank; k++) {
        before[k] = late ? late_pad(o, v, axes, 0, n, k, rank) : ix_int(o->pool, 0);
        after[k] = late ? late_pad(o, v, axes, n, n, k, rank) : ix_int(o->pool, 0);
    }
    for (int j = 0; j < n && !late; j++) {
        int k = axes ? list_axis(o, axes, j, rank) : j;
        before[k] = v ? op_elem_ix(o, v, j) : ix_int(o->pool, list[j]);
        after[k] = v ? op_elem_ix(o, v, j + n) : ix_int(o->pool, list[j + n]);
    }
}

/* Position i of an axis of extent d that goes on, mirrored at both ends, without repeating them. */
static const Ix *reflected(Pool *p, const Ix *i, const Ix *d, const Ix *before, const Ix *after)
{
    const Ix *last = ix_addi(p, d, -1), *twice = ix_muli(p, last, 2);
    if (ix_nonneg(p, ix_sub(p, last, before)) && ix_nonneg(p, ix_sub(p, last, after))) {
        const Ix *t = ix_max(p, i, ix_muli(p, i, -1));
        return ix_min(p, t, ix_sub(p, twice, t));
    }
    const Ix *period = ix_max(p, ix_int(p, 1), twice), *t = ix_mod(p, i, period);
    return ix_min(p, t, ix_sub(p, period, t)); /* d == 1: period 1, t == 0 */
}

/* Pad (ai.onnx 1, 2, 11, 13, 18, 19, ...): y[i] = x[i - before], and what `mode` says outside;
 * negative pads cut. */
static void pad(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *fill = o->opset >= 11 ? op_opt(o, 2, T_ANY) : NULL;
    PadMode mode = pad_mode(o);
    const Ix *before[MAX_RANK], *after[MAX_RANK], *dim[MAX_RANK], *at[MAX_RANK];
    read_pads(o, x->rank, before, after);
    for (int k = 0; k < x->rank; k++)
        dim[k] = ix_add(p, x->dim[k], ix_add(p, before[k], after[k]));
    Build y = op_out(o, 0, x->type, x->rank, dim);
    const Expr *inside = ex_bool(p, true);
    for (int k = 0; k < x->rank; k++) {
        const Ix *d = x->dim[k], *zero = ix_int(p, 0), *i = ix_sub(p, y.i[k], before[k]);
        bool pads = !ix_is(before[k], 0) || !ix_is(after[k], 0);
        if (pads && mode != PAD_CONSTANT && ix_is(d, 0) && dim[k]->hi > 0)
            op_error(o, "axis %d has no elements to pad with", k);
        at[k] = i;
        if (mode == PAD_CONSTANT)
            inside = ex_and(p, inside, ex_ix_inside(p, i, d));
        else if (pads && mode == PAD_EDGE)
            at[k] = ix_max(p, zero, ix_min(p, i, ix_addi(p, d, -1)));
        else if (pads && mode == PAD_REFLECT)
            at[k] = reflected(p, i, d, before[k], after[k]);
        else if (pads)
            at[k] = safe_mod(o, i, d);
    }
    const Expr *value = ex_f(p, x->type, o->opset < 11 ? op_attr_f(o, "value", 0) : 0);
    if (fill) {
        op_same_type(o, x, fill);
        if (list_count(o, fill, 1) == 1)
            value = list_elem(o, fill, 0);
    }
    build_map(&y, ex_select(p, inside, op_load(o, x, at), value));
}
OP("Pad", "", 1, pad)

/* CenterCropPad (ai.onnx 18): cut or padded by zeros to a shape, on both sides; what is odd goes to
 * the end. */
static void center_crop_pad(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *shape = op_in(o, 1, T_INDEX);
    int count, n = list_count(o, shape, MAX_RANK);
    const int64_t *axes = op_attr_ints(o, "axes", &count);
    const Ix *dim[MAX_RANK], *at[MAX_RANK], *shift[MAX_RANK], *zero = ix_int(p, 0),
                                                              *two = ix_int(p, 2);
    if (n != (axes ? count : x->rank))
        op_error(o, "a shape of %d elements for %d axes", n, axes ? count : x->rank);
    for (int k = 0; k < x->rank; k++) {
        dim[k] = x->dim[k];
        shift[k] = zero;
    }
    for (int j = 0; j < n; j++) {
        int k = axes ? op_axis(o, axes[j], x->rank) : j;
        dim[k] = list_dim(o, shape, j);
        const Ix *cut = ix_sub(p, x->dim[k], dim[k]), *grow = ix_sub(p, dim[k], x->dim[k]);
        shift[k] =
            ix_sub(p, ix_max(p, zero, ix_div(p, cut, two)), ix_max(p, zero, ix_div(p, grow, two)));
    }
    Build y = op_out(o, 0, x->type, x->rank, dim);
    const Expr *inside = ex_bool(p, true);
    for (int k = 0; k < x->rank; k++) {
        at[k] = ix_add(p, y.i[k], shift[k]);
        inside = ex_and(p, inside, ex_ix_inside(p, at[k], x->dim[k]));
    }
    build_map(&y, ex_select(p, inside, op_load(o, x, at), ex_f(p, x->type, 0)));
}
OP("CenterCropPad", "", 1, center_crop_pad)
