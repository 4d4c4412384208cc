/* softmax.c: Softmax, LogSoftmax, Hardmax. */
#include "graph/ops/reduce.h"

/* Version 13 works along one axis; before it the input was taken as a matrix whose rows are the
 * axes from `axis` on, so all of those belong together. */
static Axes softmax_axes(Op *o, const Value *x)
{
    bool matrix = o->opset < 13;
    int64_t axis = op_attr_i(o, "axis", matrix ? 1 : -1);
    if (x->rank == 0 && axis >= -1 && axis <= 0 + matrix)
        return axes_kept(o, 0, 0); /* a scalar is a row of its own */
    if (matrix && axis == x->rank)
        return axes_kept(o, x->rank, 0);
    int first = op_axis(o, axis, x->rank);
    unsigned rest = (1u << x->rank) - (1u << first);
    return axes_kept(o, x->rank, matrix ? rest : 1u << first);
}

/* The largest of each row, subtracted so that exp cannot overflow. */
static Value *less_largest(Op *o, const Value *x, const Axes *rows, bool exponential)
{
    Pool *p = o->pool;
    Value *largest = fold_plain(o, RED_MAX, x->type, x, rows);
    Build d = op_temp(o, wide_type(x->type), x->rank, x->dim);
    const Expr *e = CAST(d.out->type, op_load(o, x, d.i));
    e = SUB(e, CAST(d.out->type, op_bcast(o, largest, d.i, x->rank)));
    return build_map(&d, exponential ? EXP(e) : e);
}

/* Softmax (ai.onnx 1, 11, 13): exp(x - m) / sum(exp(x - m)), m the largest of the row. */
static void softmax(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT);
    Axes rows = softmax_axes(o, x);
    Value *e = less_largest(o, x, &rows, true);
    Value *s = fold_plain(o, RED_SUM, e->type, e, &rows);
    Build y = op_out(o, 0, x->type, x->rank, x->dim);
    build_map(&y, CAST(x->type, DIV(op_load(o, e, y.i), op_bcast(o, s, y.i, x->rank))));
}
OP("Softmax", "", 1, softmax)

/* LogSoftmax (ai.onnx 1, 11, 13): x - m - log(sum(exp(x - m))). */
static void log_softmax(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT);
    Axes rows = softmax_axes(o, x);
    Value *d = less_largest(o, x, &rows, false);
    Fold f = fold_begin(o, -1, d->type, d, &rows);
    Value *s = fold_end(&f, RED_SUM, d->type, EXP(op_load(o, d, f.at)));
    Build y = op_out(o, 0, x->type, x->rank, x->dim);
    build_map(&y, CAST(x->type, SUB(op_load(o, d, y.i), LOG(op_bcast(o, s, y.i, x->rank)))));
}
OP("LogSoftmax", "", 1, log_softmax)

/* The position within a row: the indices on its axes, flattened. */
static const Ix *place_in_row(Op *o, const Axes *rows, const Value *x, const Ix *const *at)
{
    const Ix *row_at[MAX_RANK], *row_dim[MAX_RANK];
    int n = 0;
    for (int k = 0; k < x->rank; k++)
        if (ix_is(rows->in[k], 1)) {
            row_at[n] = at[k];
            row_dim[n++] = x->dim[k];
        }
    return op_flatten(o, n, row_at, row_dim);
}

/* Hardmax (ai.onnx 1, 11, 13): 1 at the first of the largest elements of a row (NaN counts as
 * largest), else 0. */
static void hardmax(Op *o)
{
    Pool *p = o->pool;
    const Value *v = op_in(o, 0, T_FLOAT);
    Axes rows = softmax_axes(o, v);
    Value *largest = fold_plain(o, RED_MAX, v->type, v, &rows);
    Fold f = fold_begin(o, -1, DT_I64, v, &rows);
    const Expr *x = op_load(o, v, f.at), *m = op_bcast(o, largest, f.kept, v->rank);
    const Expr *here = ex_ix(p, place_in_row(o, &rows, v, f.at)),
               *none = ex_identity(p, RED_MIN, DT_I64);
    Value *first =
        fold_end(&f, RED_MIN, DT_I64, SELECT(OR(EQ(x, m), ex1(p, isnan, x)), here, none));
    Build y = op_out(o, 0, v->type, v->rank, v->dim);
    here = ex_ix(p, place_in_row(o, &rows, v, y.i));
    build_map(&y, SELECT(EQ(here, op_bcast(o, first, y.i, v->rank)), K(1), K(0)));
}
OP("Hardmax", "", 1, hardmax)
