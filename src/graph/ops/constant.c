/* constant.c: constants, and values that depend on nothing but shapes and indices. */
#include "graph/ops/dims.h"

/* ---- Constant -------------------------------------------------------------------------------- */

/* The output holds the tensor itself, so that weights given by Constant nodes are as good as
 * initializers. */
static void put_tensor(Op *o, Tensor *t)
{
    const Ix *dim[MAX_RANK];
    if (!dtype_computes(t->type))
        op_unsupported(o, "a constant of element type %s", dtype_text(t->type));
    for (int k = 0; k < t->rank; k++)
        dim[k] = ix_int(o->pool, t->dim[k]);
    op_out(o, 0, t->type, t->rank, dim).out->data = t;
}

static Tensor *floats_tensor(Op *o, const float *x, int n, int rank)
{
    int64_t dim = n;
    Tensor *t = tensor_new(o->cx, DT_F32, rank, &dim);
    for (int i = 0; i < n; i++)
        scalar_store(DT_F32, t->data, i, scalar_f(DT_F32, (double)x[i]));
    return t;
}

static Tensor *ints_tensor(Op *o, const int64_t *x, int n, int rank)
{
    int64_t dim = n;
    Tensor *t = tensor_new(o->cx, DT_I64, rank, &dim);
    for (int i = 0; i < n; i++)
        scalar_store(DT_I64, t->data, i, (Scalar){.i = x[i]});
    return t;
}

/* Constant (ai.onnx 1, 9, 11, 12, 13, ...): the tensor in the one attribute that is given. */
static void constant(Op *o)
{
    static const char *const name[] = {"value", "sparse_value", "value_float", "value_floats",
        "value_int", "value_ints", "value_string", "value_strings"};
    Attr *a = NULL;
    for (int i = 0; i < NELEM(name) && !a; i++)
        a = node_attr(o->node, name[i]);
    if (!a)
        op_error(o, "one of the attributes value, value_float, value_int... is required");
    switch (a->kind) {
    case ATTR_TENSOR: put_tensor(o, a->tensor); break;
    case ATTR_FLOAT: put_tensor(o, floats_tensor(o, &a->f, 1, 0)); break;
    case ATTR_FLOATS: put_tensor(o, floats_tensor(o, a->floats, a->n, 1)); break;
    case ATTR_INT: put_tensor(o, ints_tensor(o, &a->i, 1, 0)); break;
    case ATTR_INTS: put_tensor(o, ints_tensor(o, a->ints, a->n, 1)); break;
    case ATTR_STRING:
    case ATTR_STRINGS: op_unsupported(o, "attribute '%s': constants of strings", a->name);
    default: op_error(o, "attribute '%s' has the wrong type", a->name);
    }
}
OP("Constant", "", 1, constant)

/* The one element of the tensor attribute 'value'; float 0 when it is not given. */
static const Expr *fill_value(Op *o)
{
    Attr *a = node_attr(o->node, "value");
    if (!a)
        return ex_f(o->pool, DT_F32, 0);
    if (a->kind != ATTR_TENSOR || a->tensor->count != 1)
        op_error(o, "attribute 'value' must be a tensor of one element");
    if (!dtype_computes(a->tensor->type))
        op_unsupported(o, "a value of element type %s", dtype_text(a->tensor->type));
    return ex_const(o->pool, a->tensor->type, scalar_load(a->tensor->type, a->tensor->data, 0));
}

/* ConstantOfShape (ai.onnx 9, 20, 21, 23, ...): one value everywhere. */
static void constant_of_shape(Op *o)
{
    const Value *shape = op_in(o, 0, T_BIT(DT_I64));
    const Ix *dim[MAX_RANK];
    int n = list_count(o, shape, MAX_RANK);
    for (int k = 0; k < n; k++)
        dim[k] = list_dim(o, shape, k);
    const Expr *e = fill_value(o);
    Build y = op_out(o, 0, e->type, n, dim);
    build_map(&y, e);
}
OP("ConstantOfShape", "", 1, constant_of_shape)

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Shape (ai.onnx 1, 13, 15, 19, 21, ...): dims start to end (15: negative ones count from the end).
 */
static void shape(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY);
    int64_t r = x->rank, from = op_attr_i(o, "start", 0), to = op_attr_i(o, "end", r);
    from = MAX(0, MIN(r, from < 0 ? from + r : from));
    to = MAX(from, MIN(r, to < 0 ? to + r : to));
    const Ix *n = ix_int(o->pool, to - from);
    Build y = op_out(o, 0, DT_I64, 1, &n);
    build_map(&y, select_ix(o, y.i[0], (int)(to - from), x->dim + from));
}
OP("Shape", "", 1, shape)

/* Size (ai.onnx 1, 13, 19, 21, ...): the number of elements. */
static void size(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY);
    Build y = op_out(o, 0, DT_I64, 0, NULL);
    build_map(&y, ex_ix(o->pool, op_numel(o, x->rank, x->dim)));
}
OP("Size", "", 1, size)

/* ---- Range ----------------------------------------------------------------------------------- */

/* ceil((limit - start) / delta) of integers: truncation, plus one where a positive rest was cut
 * off. */
static const Expr *int_steps(Pool *p, const Expr *start, const Expr *limit, const Expr *delta)
{
    const Expr *d = ex2(p, sub, limit, start), *zero = ex_i(p, 0);
    if (delta->kind == EX_CONST && delta->k.i > 0 && ex_ix(p, ix_of_expr(p, d, 0, 0)) == d) {
        const Ix *step = ix_int(p, delta->k.i);
        return ex_ix(p, ix_ceil_div(p, ix_of_expr(p, d, 0, 0), step));
    }
    const Expr *q = ex2(p, div, d, delta), *rest = ex2(p, mod, d, delta);
    const Expr *same = ex1(p, not, ex2(p, xor, ex2(p, lt, rest, zero), ex2(p, lt, delta, zero)));
    const Expr *more = ex_and(p, ex1(p, not, ex2(p, eq, rest, zero)), same);
    return ex2(p, add, q, ex_cast(p, DT_I64, more));
}

/* Range (ai.onnx 11, 27): start, start + delta, ... before limit. */
static void range(Op *o)
{
    Pool *p = o->pool;
    const Expr *e[3];
    for (int k = 0; k < 3; k++) {
        const Value *v = op_in(o, k, T_FLOAT | T_BIT(DT_I16) | T_INDEX);
        op_same_type(o, op_in(o, 0, T_ANY), v);
        if (list_count(o, v, 1) != 1)
            op_error(o, "input %s must have one element", v->name);
        e[k] = list_elem(o, v, 0);
    }
    DType t = e[0]->type, wide = dtype_is_float(t) ? DT_F64 : DT_I64;
    DType work = !dtype_is_float(t) || t == DT_F64     ? wide
        : op_attr_i(o, "stash_type", DT_F32) == DT_F64 ? DT_F64
                                                       : DT_F32;
    const Expr *w[3], *n;
    for (int k = 0; k < 3; k++)
        w[k] = ex_cast(p, wide, e[k]);
    if (w[2]->kind == EX_CONST && !w[2]->k.u)
        op_error(o, "delta is 0");
    if (wide == DT_I64)
        n = int_steps(p, w[0], w[1], w[2]);
    else
        n = ex_cast(p, DT_I64, ex1(p, ceil, ex2(p, div, ex2(p, sub, w[1], w[0]), w[2])));
    const Ix *count = dim_of_expr(o, ex2(p, max, n, ex_i(p, 0)));
    Build y = op_out(o, 0, t, 1, &count);
    const Expr *i = ex_cast(p, work, ex_ix(p, y.i[0]));
    const Expr *at = ex2(p, add, ex_cast(p, work, e[0]), ex2(p, mul, i, ex_cast(p, work, e[2])));
    build_map(&y, ex_cast(p, t, at));
}
OP("Range", "", 1, range)

/* ---- masks ----------------------------------------------------------------------------------- */

/* EyeLike (ai.onnx 9, 22): ones on diagonal k, zeros elsewhere. */
static void eye_like(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY);
    op_need_rank(o, x, 2, 2);
    DType t = (DType)op_attr_i(o, "dtype", x->type);
    if (!dtype_computes(t))
        op_unsupported(o, "element type %s of the result", dtype_text(t));
    Build y = op_out(o, 0, t, 2, x->dim);
    const Expr *at = ex_ix(p, ix_addi(p, y.i[0], op_attr_i(o, "k", 0)));
    build_map(&y, ex_cast(p, t, ex2(p, eq, at, ex_ix(p, y.i[1]))));
}
OP("EyeLike", "", 1, eye_like)

/* Trilu (ai.onnx 14): the matrix on and above (upper) or below diagonal k, zeros elsewhere. */
static void trilu(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *k = op_opt(o, 1, T_BIT(DT_I64));
    op_need_rank(o, x, 2, MAX_RANK);
    if (k && list_count(o, k, 1) != 1)
        op_error(o, "input %s must have one element", k->name);
    const Expr *diagonal = k ? list_elem(o, k, 0) : ex_i(p, 0);
    Build y = op_out(o, 0, x->type, x->rank, x->dim);
    const Expr *at = ex_ix(p, ix_sub(p, y.i[x->rank - 1], y.i[x->rank - 2]));
    bool upper = op_attr_i(o, "upper", 1) != 0;
    const Expr *keep = upper ? ex2(p, le, diagonal, at) : ex2(p, le, at, diagonal);
    build_map(&y, ex_select(p, keep, op_load(o, x, y.i), ex_f(p, x->type, 0)));
}
OP("Trilu", "", 1, trilu)

/* OneHot (ai.onnx 9, 11): values[1] where the new axis' index is the given one (negative: from the
 * end), values[0] elsewhere; an index out of range hits nothing. */
static void one_hot(Op *o)
{
    Pool *p = o->pool;
    const Value *ind = op_in(o, 0, T_NUM), *depth = op_in(o, 1, T_NUM),
                *values = op_in(o, 2, T_ANY);
    op_need_rank(o, values, 1, 1);
    op_require_equal(o, values->dim[0], ix_int(p, 2), "'values' must be [off, on]");
    if (list_count(o, depth, 1) != 1)
        op_error(o, "input %s must have one element", depth->name);
    int rank = ind->rank + 1, axis = op_axis(o, op_attr_i(o, "axis", -1), rank);
    const Ix *dim[MAX_RANK + 1], *at[MAX_RANK];
    for (int k = 0; k < ind->rank; k++)
        dim[k + (k >= axis)] = ind->dim[k];
    dim[axis] = list_dim(o, depth, 0);
    Build y = op_out(o, 0, values->type, rank, dim);
    for (int k = 0; k < ind->rank; k++)
        at[k] = y.i[k + (k >= axis)];
    const Expr *hot = ex_cast(p, DT_I64, op_load(o, ind, at));
    const Expr *wrapped = ex2(p, add, hot, ex_ix(p, dim[axis]));
    hot = ex_select(p, ex2(p, lt, hot, ex_i(p, 0)), wrapped, hot);
    const Expr *on = op_load1(o, values, ix_int(p, 1)), *off = op_load1(o, values, ix_int(p, 0));
    build_map(&y, ex_select(p, ex2(p, eq, hot, ex_ix(p, y.i[axis])), on, off));
}
OP("OneHot", "", 1, one_hot)
