/* arrange.c: operators that insert, drop, repeat, join and cut axes. */
#include "graph/ops/dims.h"

/* ---- Squeeze and Unsqueeze ------------------------------------------------------------------- */

/* is[k][j]: axis k of the operand is axis j of the result; conditions, for axes that come with the
 * data. What no axis of the operand stands for has extent 1. */
typedef const Expr *Match[MAX_RANK][MAX_RANK];

static void late_view(Op *o, const Value *x, int rank, Match is)
{
    Pool *p = o->pool;
    const Ix *dim[MAX_RANK], *at[MAX_RANK];
    for (int j = 0; j < rank; j++) {
        const Expr *e = ex_i(p, 1);
        for (int k = 0; k < x->rank; k++)
            e = ex_select(p, is[k][j], ex_ix(p, x->dim[k]), e);
        dim[j] = dim_of_expr(o, e);
    }
    op_require_equal(o, op_numel(o, rank, dim), op_numel(o, x->rank, x->dim),
        "the axes do not fit the input");
    Build y = op_out(o, 0, x->type, rank, dim);
    for (int k = 0; k < x->rank; k++) {
        at[k] = ix_int(p, 0);
        for (int j = 0; j < rank; j++) {
            const Ix *one = dim_of_expr(o, ex_cast(p, DT_I64, is[k][j]));
            at[k] = ix_add(p, at[k], ix_mul(p, one, y.i[j]));
        }
    }
    build_map(&y, op_load(o, x, at));
}

/* Of `wide` axes those in the list are not axes of the narrow tensor: the others are its axes
 * in order. */
static void late_match(Op *o, const Value *list, int n, int wide, bool squeeze, Match is)
{
    Pool *p = o->pool;
    const Expr *kept = ex_i(p, 0); /* so many before k are not listed */
    for (int k = 0; k < wide; k++) {
        const Expr *listed = ex_bool(p, false);
        for (int j = 0; j < n; j++)
            listed = ex2(p, or, listed, list_names_axis(o, list, j, k, wide));
        const Expr *stays = ex1(p, not, listed);
        for (int j = 0; j < wide - n; j++) {
            const Expr *here = ex_and(p, stays, ex2(p, eq, kept, ex_i(p, j)));
            *(squeeze ? &is[k][j] : &is[j][k]) = here;
        }
        kept = ex2(p, add, kept, ex_cast(p, DT_I64, stays));
    }
    op_require(o, ex2(p, eq, kept, ex_i(p, wide - n)), "an axis is given twice");
}

/* Squeeze (ai.onnx 1, 11, 13, 21, ...): drops axes of extent 1; without a list, all that have it.
 */
static void squeeze(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *list = op_opt(o, 1, T_INDEX);
    int n = list ? list_count(o, list, x->rank) : 0;
    if (list && !list_known(o, list, n)) {
        Match is;
        late_match(o, list, n, x->rank, true, is);
        late_view(o, x, x->rank - n, is);
        return;
    }
    const int *axes = op_axes(o, "axes", 1, x->rank, &n);
    bool drop[MAX_RANK] = {false};
    for (int i = 0; i < n; i++) {
        drop[axes[i]] = true;
        op_require_equal(o, x->dim[axes[i]], ix_int(p, 1),
            "an axis to be squeezed must have extent 1");
    }
    const Ix *dim[MAX_RANK], *at[MAX_RANK];
    int rank = 0;
    for (int k = 0; k < x->rank; k++) {
        if (n < 0)
            drop[k] = ix_is(x->dim[k], 1);
        if (n < 0 && !drop[k]) {
            const Expr *one = ex2(p, eq, ex_ix(p, x->dim[k]), ex_i(p, 1));
            op_require(o, ex1(p, not, one),
                "an axis of unknown extent turned out to be 1; give 'axes'");
        }
        if (!drop[k])
            dim[rank++] = x->dim[k];
    }
    Build y = op_out(o, 0, x->type, rank, dim);
    for (int k = 0, j = 0; k < x->rank; k++)
        at[k] = drop[k] ? ix_int(p, 0) : y.i[j++];
    build_map(&y, op_load(o, x, at));
}
OP("Squeeze", "", 1, squeeze)

/* Unsqueeze (ai.onnx 1, 11, 13, 21, ...): inserts axes of extent 1; the list counts in the result.
 */
static void unsqueeze(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY), *list = op_opt(o, 1, T_INDEX);
    int n;
    op_attr_ints(o, "axes", &n);
    if (!list && !op_has_attr(o, "axes"))
        op_error(o, "'axes' is required");
    if (list)
        n = list_count(o, list, MAX_RANK);
    int rank = x->rank + n;
    if (rank > MAX_RANK)
        op_error(o, "rank %d is above the limit of %d", rank, MAX_RANK);
    if (list && !list_known(o, list, n)) {
        Match is;
        late_match(o, list, n, rank, false, is);
        late_view(o, x, rank, is);
        return;
    }
    const int *axes = op_axes(o, "axes", 1, rank, &n);
    const Ix *dim[MAX_RANK], *at[MAX_RANK];
    bool added[MAX_RANK] = {false};
    for (int i = 0; i < n; i++)
        added[axes[i]] = true;
    for (int k = 0, j = 0; k < rank; k++)
        dim[k] = added[k] ? ix_int(o->pool, 1) : x->dim[j++];
    Build y = op_out(o, 0, x->type, rank, dim);
    for (int k = 0, j = 0; k < rank; k++)
        if (!added[k])
            at[j++] = y.i[k];
    build_map(&y, op_load(o, x, at));
}
OP("Unsqueeze", "", 1, unsqueeze)

/* ---- Expand and Tile ------------------------------------------------------------------------- */

/* The extent of an axis of extent d broadcast against s, where 1 gives way on both sides. */
static const Ix *expanded(Op *o, const Ix *d, const Ix *s)
{
    static const char what[] = "the shape to expand to does not fit the input";
    Pool *p = o->pool;
    if (ix_is(d, 1) || ix_is(s, 1) || d == s)
        return ix_is(d, 1) ? s : d;
    if (ix_is_const(s)) {
        op_require_equal(o, d, s, what);
        return s;
    }
    const Expr *one = ex2(p, eq, ex_ix(p, s), ex_i(p, 1)),
               *same = ex2(p, eq, ex_ix(p, s), ex_ix(p, d));
    op_require(o, ex2(p, or, one, same), what);
    return d;
}

/* Expand (ai.onnx 8, 13): broadcasts the input with a shape. */
static void expand(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY), *shape = op_in(o, 1, T_BIT(DT_I64));
    int n = list_count(o, shape, MAX_RANK), rank = MAX(n, x->rank);
    const Ix *dim[MAX_RANK], *one = ix_int(o->pool, 1);
    for (int k = 0; k < rank; k++) {
        int from_x = k - (rank - x->rank), from_shape = k - (rank - n);
        const Ix *s = from_shape < 0 ? one : list_dim(o, shape, from_shape);
        dim[k] = from_x < 0 ? s : expanded(o, x->dim[from_x], s);
    }
    Build y = op_out(o, 0, x->type, rank, dim);
    build_map(&y, op_bcast(o, x, y.i, rank));
}
OP("Expand", "", 1, expand)

/* Tile (ai.onnx 1, 6, 13): the input repeated along each axis; version 1 names one axis. */
static void tile(Op *o)
{
    bool old = o->opset < 6;
    const Value *x = op_in(o, 0, T_ANY), *times = op_in(o, 1, old ? T_NUM : T_BIT(DT_I64));
    const Ix *dim[MAX_RANK], *at[MAX_RANK], *one = ix_int(o->pool, 1);
    int n = list_count(o, times, MAX_RANK),
        axis = old ? list_axis(o, op_in(o, 2, T_NUM), 0, x->rank) : 0;
    if (n != (old ? 1 : x->rank))
        op_error(o, "%d repeats for rank %d", n, x->rank);
    for (int k = 0; k < x->rank; k++) {
        const Ix *r = !old ? list_dim(o, times, k) : k == axis ? list_dim(o, times, 0) : one;
        dim[k] = ix_mul(o->pool, x->dim[k], r);
    }
    Build y = op_out(o, 0, x->type, x->rank, dim);
    for (int k = 0; k < x->rank; k++)
        at[k] = dim[k] == x->dim[k] ? y.i[k] : safe_mod(o, y.i[k], x->dim[k]);
    build_map(&y, op_load(o, x, at));
}
OP("Tile", "", 1, tile)

/* ---- Concat ---------------------------------------------------------------------------------- */

typedef struct Parts {
    Op *o;
    const Build *y;
    int axis;
    const Value **part; /* those that may have elements */
    const Ix **first;   /* where each begins in the result */
} Parts;

/* The element among parts lo..hi-1, found by bisection. */
static const Expr *element_of(const Parts *c, int lo, int hi)
{
    Pool *p = c->o->pool;
    const Ix *i = c->y->i[c->axis];
    if (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        const Expr *first = element_of(c, lo, mid), *rest = element_of(c, mid, hi);
        return ex_select(p, ex_ix_less(p, i, c->first[mid]), first, rest);
    }
    const Ix *at[MAX_RANK];
    memcpy(at, c->y->i, (size_t)c->y->rank * sizeof *at);
    at[c->axis] = ix_sub(p, i, c->first[lo]);
    return op_load(c->o, c->part[lo], at);
}

/* Concat (ai.onnx 1, 4, 11, 13): the inputs one after the other along an axis. */
static void concat(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY);
    if (o->opset >= 4 && !op_has_attr(o, "axis"))
        op_error(o, "attribute 'axis' is required");
    int n = op_n_in(o), used = 0, axis = op_axis(o, op_attr_i(o, "axis", 1), x->rank);
    const Ix *dim[MAX_RANK], *end = ix_int(p, 0);
    Parts c = {o, NULL, axis, NEW_N(o->cx, const Value *, n), NEW_N(o->cx, const Ix *, n)};
    memcpy(dim, x->dim, (size_t)x->rank * sizeof *dim);
    for (int j = 0; j < n; j++) {
        const Value *v = op_in(o, j, T_ANY);
        op_same_type(o, x, v);
        op_need_rank(o, v, x->rank, x->rank);
        for (int k = 0; k < x->rank; k++) {
            if (k != axis)
                op_require_equal(o, v->dim[k], dim[k], "dimensions other than the joined one");
            if (k != axis && ix_is_const(v->dim[k]))
                dim[k] = v->dim[k];
        }
        c.part[used] = v;
        c.first[used] = end;
        used += !ix_is(v->dim[axis], 0);
        end = ix_add(p, end, v->dim[axis]);
    }
    dim[axis] = end;
    Build y = op_out(o, 0, x->type, x->rank, dim);
    c.y = &y;
    build_map(&y, used ? element_of(&c, 0, used) : ex_f(p, x->type, 0));
}
OP("Concat", "", 1, concat)

/* ---- Split ----------------------------------------------------------------------------------- */

/* Equal parts. From version 18 on the last may be smaller; before, n must divide the extent. */
static void equal_parts(Op *o, const Ix *d, int n, const Ix **part)
{
    Pool *p = o->pool;
    const Ix *count = ix_int(p, n), *chunk = ix_ceil_div(p, d, count);
    if (o->opset < 18) {
        op_require_equal(o, ix_mod(p, d, count), ix_int(p, 0),
            "the extent is not a multiple of the parts");
        chunk = ix_div(p, d, count);
    }
    for (int j = 0; j < n; j++) {
        const Ix *left = ix_sub(p, d, ix_muli(p, chunk, j));
        bool uneven = o->opset >= 18 && (j == n - 1 || ix_is_const(d));
        part[j] = uneven ? ix_max(p, ix_int(p, 0), ix_min(p, chunk, left)) : chunk;
    }
}

/* The extents of the n parts from attribute or input 'split', or equal ones. */
static void split_parts(Op *o, const Ix *d, int n, const Ix **part)
{
    int count;
    const int64_t *list = op_attr_ints(o, "split", &count);
    const Value *v = op_opt(o, 1, o->opset < 13 ? T_NUM : T_BIT(DT_I64));
    if (!list && !v) {
        equal_parts(o, d, n, part);
        return;
    }
    if (v)
        count = list_count(o, v, INT32_MAX);
    if (count != n)
        op_error(o, "'split' has %d elements for %d outputs", count, n);
    const Ix *sum = ix_int(o->pool, 0);
    for (int j = 0; j < n; j++) {
        part[j] = v ? list_dim(o, v, j) : ix_int(o->pool, list[j]);
        sum = ix_add(o->pool, sum, part[j]);
    }
    op_require_equal(o, sum, d, "the sum of 'split' against the extent of the axis");
}

/* Split (ai.onnx 1, 2, 11, 13, 18): consecutive parts of an axis. */
static void split(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY);
    int n = o->node->n_out, axis = op_axis(o, op_attr_i(o, "axis", 0), x->rank);
    int asked = (int)op_attr_i(o, "num_outputs", n);
    if (asked != n)
        op_error(o, "attribute 'num_outputs' is %d, but the node has %d outputs", asked, n);
    const Ix **part = NEW_N(o->cx, const Ix *, n), *dim[MAX_RANK], *at[MAX_RANK],
             *first = ix_int(o->pool, 0);
    split_parts(o, x->dim[axis], n, part);
    memcpy(dim, x->dim, (size_t)x->rank * sizeof *dim);
    for (int j = 0; j < n; j++) {
        dim[axis] = part[j];
        Build y = op_out(o, j, x->type, x->rank, dim);
        memcpy(at, y.i, (size_t)x->rank * sizeof *at);
        at[axis] = ix_add(o->pool, y.i[axis], first);
        build_map(&y, op_load(o, x, at));
        first = ix_add(o->pool, first, part[j]);
    }
}
OP("Split", "", 1, split)
