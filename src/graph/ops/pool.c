/* pool.c: pooling over sliding windows and over whole planes. */
#include "graph/ops/window.h"

/* x at tap `red` of output position i, and whether that lies in the input. */
static const Expr *tap(Op *o, const Window *w, const Value *x, const Build *y, const Var **red,
    const Expr **inside)
{
    const Ix *at[MAX_RANK];
    at[0] = y->i[0];
    at[1] = y->i[1];
    for (int k = 0; k < w->n; k++) {
        red[k] = op_var(o, ix_int(o->pool, w->kernel[k]), "r");
        at[2 + k] = window_at(o, w, k, y->i[2 + k], ix_of_var(o->pool, red[k]));
    }
    *inside = window_inside(o, w, at + 2);
    return op_load(o, x, at);
}

static Build pool_out(Op *o, const Window *w, const Value *x)
{
    const Ix *dim[MAX_RANK] = {x->dim[0], x->dim[1]};
    for (int k = 0; k < w->n; k++)
        dim[2 + k] = w->out[k];
    return op_out(o, 0, x->type, x->rank, dim);
}

/* MaxPool (ai.onnx 1, 8, 10, 11, 12, 22): the largest in each window; padding never wins. */
static void max_pool(Op *o)
{
    const Value *x = op_in(o, 0, T_FLOAT | T_BIT(DT_I8) | T_BIT(DT_U8));
    if (op_has_out(o, 1))
        op_unsupported(o, "the output Indices");
    Window w;
    window_init(o, &w, x, NULL);
    Build y = pool_out(o, &w, x);
    const Var *red[MAX_RANK];
    const Expr *inside, *e = tap(o, &w, x, &y, red, &inside);
    e = ex_select(o->pool, inside, e, ex_identity(o->pool, RED_MAX, x->type));
    build_reduce(&y, RED_MAX, x->type, w.n, red, e);
}
OP("MaxPool", "", 1, max_pool)

/* Taps of a window along axis k that count: those inside the input, or inside the padded input. */
static const Ix *taps_inside(Op *o, const Window *w, int k, const Ix *i, bool with_pads)
{
    Pool *p = o->pool;
    const Ix *first = ix_sub(p, ix_muli(p, i, w->stride[k]), w->pad[k]);
    const Ix *d = ix_int(p, w->dilation[k]), *taps = ix_int(p, w->kernel[k]);
    const Ix *end = with_pads ? ix_add(p, w->in[k], w->pad_end[k]) : w->in[k];
    const Ix *hi = ix_min(p, taps, ix_ceil_div(p, ix_sub(p, end, first), d));
    if (with_pads)
        return hi;
    const Ix *lo = ix_max(p, ix_int(p, 0), ix_ceil_div(p, ix_muli(p, first, -1), d));
    return ix_sub(p, hi, lo);
}

/* AveragePool (ai.onnx 1, 7, 10, 11, 19, 22): sum over the window / number of taps that count. */
static void average_pool(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT);
    Window w;
    window_init(o, &w, x, NULL);
    bool with_pads = op_attr_i(o, "count_include_pad", 0) != 0;
    Build y = pool_out(o, &w, x);
    Build s = op_temp(o, dtype_bits(x->type) < 32 ? DT_F32 : x->type, x->rank, y.out->dim);
    const Var *red[MAX_RANK];
    const Expr *inside, *e = ex_cast(p, s.out->type, tap(o, &w, x, &s, red, &inside));
    e = ex_select(p, inside, e, ex_f(p, s.out->type, 0));
    Value *sum = build_reduce(&s, RED_SUM, s.out->type, w.n, red, e);
    const Ix *count = ix_int(p, 1);
    for (int k = 0; k < w.n; k++)
        count = ix_mul(p, count, taps_inside(o, &w, k, y.i[2 + k], with_pads));
    e = ex2(p, div, op_load(o, sum, y.i), ex_cast(p, sum->type, ex_ix(p, count)));
    build_map(&y, ex_cast(p, x->type, e));
}
OP("AveragePool", "", 1, average_pool)

/* A reduction over all axes from 2 on, kept with extent 1. */
static Value *plane_reduce(Op *o, const Value *x, Build *s, Red red)
{
    const Var *rv[MAX_RANK];
    const Ix *at[MAX_RANK];
    for (int k = 0; k < x->rank; k++) {
        if (k >= 2)
            rv[k - 2] = op_var(o, x->dim[k], "r");
        at[k] = k < 2 ? s->i[k] : ix_of_var(o->pool, rv[k - 2]);
    }
    const Expr *e = ex_cast(o->pool, s->out->type, op_load(o, x, at));
    return build_reduce(s, red, s->out->type, x->rank - 2, rv, e);
}

static const Ix **plane_dims(Op *o, const Value *x)
{
    op_need_rank(o, x, 3, MAX_RANK);
    const Ix **dim = NEW_N(o->cx, const Ix *, x->rank);
    for (int k = 0; k < x->rank; k++)
        dim[k] = k < 2 ? x->dim[k] : ix_int(o->pool, 1);
    return dim;
}

/* GlobalMaxPool (ai.onnx 1, 22). */
static void global_max_pool(Op *o)
{
    const Value *x = op_in(o, 0, T_FLOAT);
    Build y = op_out(o, 0, x->type, x->rank, plane_dims(o, x));
    plane_reduce(o, x, &y, RED_MAX);
}
OP("GlobalMaxPool", "", 1, global_max_pool)

/* GlobalAveragePool (ai.onnx 1, 22): sum over the plane / its size. */
static void global_average_pool(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT);
    const Ix **dim = plane_dims(o, x);
    Build s = op_temp(o, dtype_bits(x->type) < 32 ? DT_F32 : x->type, x->rank, dim);
    Value *sum = plane_reduce(o, x, &s, RED_SUM);
    Build y = op_out(o, 0, x->type, x->rank, dim);
    const Ix *size = op_numel(o, x->rank - 2, x->dim + 2);
    const Expr *e = ex2(p, div, op_load(o, sum, y.i), ex_cast(p, sum->type, ex_ix(p, size)));
    build_map(&y, ex_cast(p, x->type, e));
}
OP("GlobalAveragePool", "", 1, global_average_pool)
