/* reshape.c: operators that only rename elements: the result is a load at another index. */
#include "graph/ops/dims.h"

/* out has the elements of x in the same row-major order. */
static void view(Op *o, const Value *x, int rank, const Ix *const *dim)
{
    Build y = op_out(o, 0, x->type, rank, dim);
    const Ix *at[MAX_RANK];
    op_unflatten(o, op_flatten(o, rank, y.i, dim), x->rank, x->dim, at);
    build_map(&y, op_load(o, x, at));
}

/* Dims that only the inputs tell: 0 and -1 are told apart when they are bound. With one -1 the
 * product of all elements is the negative of what the others multiply to. */
static void open_dims(Op *o, const Value *x, int n, bool zero, const Ix *total, const Ix **dim)
{
    Pool *p = o->pool;
    const Expr *elem[MAX_RANK], *product = ex_i(p, 1);
    for (int k = 0; k < n; k++) {
        elem[k] = ex_ix(p, dim[k]);
        if (!zero && k < x->rank)
            elem[k] = ex_select(p, ex2(p, eq, elem[k], ex_i(p, 0)), ex_ix(p, x->dim[k]), elem[k]);
        product = ex2(p, mul, product, elem[k]);
    }
    const Expr *others = ex2(p, max, ex1(p, neg, product), ex_i(p, 1));
    const Expr *rest = ex2(p, div, ex_ix(p, total), others);
    const Ix *known = ix_int(p, 1);
    for (int k = 0; k < n; k++) {
        dim[k] = dim_of_expr(o, ex_select(p, ex2(p, eq, elem[k], ex_i(p, -1)), rest, elem[k]));
        known = ix_mul(p, known, dim[k]);
    }
    op_require_equal(o, known, total, "the number of elements changes");
}

/* Reshape (ai.onnx 1, 5, 13, 14, 19, 21, 23): 0 copies the input's dim (unless allowzero), -1 is
 * what remains. */
static void reshape(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY);
    const Ix *dim[MAX_RANK];
    int n, rest = -1;
    bool zero = op_attr_i(o, "allowzero", 0) != 0, open = false;
    const Value *shape = o->opset >= 5 ? op_in(o, 1, T_BIT(DT_I64)) : NULL;
    const int64_t *list = shape ? NULL : op_attr_ints(o, "shape", &n);
    if (shape)
        n = op_count(o, shape);
    if (n > MAX_RANK)
        op_error(o, "rank %d is above the limit of %d", n, MAX_RANK);
    const Ix *known = ix_int(p, 1), *total = op_numel(o, x->rank, x->dim);
    for (int k = 0; k < n; k++) {
        dim[k] = shape ? op_elem_ix(o, shape, k) : ix_int(p, list[k]);
        open |= dim[k]->lo < 0 && dim[k]->hi > 0;
    }
    if (open) {
        open_dims(o, x, n, zero, total, dim);
        view(o, x, n, dim);
        return;
    }
    for (int k = 0; k < n; k++) {
        const Ix *d = dim[k];
        if (ix_is(d, 0) && !zero) {
            if (k >= x->rank)
                op_error(o, "shape element %d is 0, but the input has rank %d", k, x->rank);
            d = x->dim[k];
        }
        if (ix_is(d, -1)) {
            if (rest >= 0)
                op_error(o, "the shape has more than one -1");
            rest = k;
            continue;
        }
        if (d->hi < 0)
            op_error(o, "shape element %d is %lld", k, (long long)d->hi);
        dim[k] = d;
        known = ix_mul(p, known, d);
    }
    if (rest >= 0) {
        dim[rest] = ix_is(known, 0) ? ix_int(p, 0) : ix_div(p, total, known);
        known = ix_mul(p, known, dim[rest]);
    }
    op_require_equal(o, known, total, "the number of elements changes");
    view(o, x, n, dim);
}
OP("Reshape", "", 1, reshape)

/* Flatten (ai.onnx 1, 9, 11, 13, 21): a matrix: axes before `axis`, axes from it on. */
static void flatten(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY);
    int64_t axis = op_attr_i(o, "axis", 1);
    if (axis < -x->rank || axis > x->rank)
        op_error(o, "axis %lld is outside [%d, %d]", (long long)axis, -x->rank, x->rank);
    axis = axis < 0 ? axis + x->rank : axis;
    const Ix *dim[2] = {op_numel(o, (int)axis, x->dim),
        op_numel(o, x->rank - (int)axis, x->dim + axis)};
    view(o, x, 2, dim);
}
OP("Flatten", "", 1, flatten)

/* Transpose (ai.onnx 1, 13, 21): y[i..] = x[i permuted]. */
static void transpose(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY);
    int n;
    const int64_t *perm = op_attr_ints(o, "perm", &n);
    bool seen[MAX_RANK] = {false};
    if (perm && n != x->rank)
        op_error(o, "attribute 'perm' has %d values for rank %d", n, x->rank);
    const Ix *dim[MAX_RANK], *at[MAX_RANK];
    int from[MAX_RANK];
    for (int k = 0; k < x->rank; k++) {
        from[k] = perm ? op_axis(o, perm[k], x->rank) : x->rank - 1 - k;
        if (seen[from[k]])
            op_error(o, "attribute 'perm' is not a permutation");
        seen[from[k]] = true;
        dim[k] = x->dim[from[k]];
    }
    Build y = op_out(o, 0, x->type, x->rank, dim);
    for (int k = 0; k < x->rank; k++)
        at[from[k]] = y.i[k];
    build_map(&y, op_load(o, x, at));
}
OP("Transpose", "", 1, transpose)

/* Identity (ai.onnx 1, 13, 14, 16, ...). */
static void identity(Op *o) { op_alias(o, 0, op_in(o, 0, T_ANY)); }
OP("Identity", "", 1, identity)
