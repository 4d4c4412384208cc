/* slice.c: Slice. */
#include "graph/ops/dims.h"

/* From this on a bound means "to the end" (the spec's INT_MAX), and from its negative on "from the
 * beginning". */
enum { SLICE_INF = INT32_MAX };

/* a counted from the end when negative. Where the sign is known only when the inputs are bound, the
 * extent is added times 1 or 0. */
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

/* first and extent of start:end:step on an axis of extent d. A start past the end needs no clamp:
 * the extent is 0 then, and nothing is read. */
static void bounds(Op *o, const Ix *d, const Ix *start, const Ix *end, int64_t step,
    const Ix **first, const Ix **n)
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

/* The four lists: starts, ends, axes, steps; by attribute at first, by input from version 10 on. */
typedef struct Lists {
    const Value *in[5];     /* 1 to 4, as the inputs are numbered */
    const int64_t *attr[5]; /* the same as attributes */
    int n;
} Lists;

static Lists read_lists(Op *o, int rank)
{
    static const char *const name[] = {NULL, "starts", "ends", "axes", NULL};
    Lists l = {.n = 0};
    for (int j = 1; j < 5; j++) {
        int count = 0;
        if (o->opset >= 10)
            l.in[j] = j < 3 ? op_in(o, j, T_INDEX) : op_opt(o, j, T_INDEX);
        else if (name[j])
            l.attr[j] = op_attr_ints(o, name[j], &count);
        if (l.in[j])
            count = list_count(o, l.in[j], MAX_RANK);
        if (j == 1)
            l.n = count;
        else if (count != l.n && (j == 2 || l.in[j] || l.attr[j]))
            op_error(o, "starts, ends, axes and steps differ in length");
    }
    if (l.n > rank)
        op_error(o, "%d axes to slice, but the input has rank %d", l.n, rank);
    return l;
}

static const Ix *list_ix(Op *o, const Lists *l, int which, int j)
{
    return l->in[which] ? op_elem_ix(o, l->in[which], j) : ix_int(o->pool, l->attr[which][j]);
}

/* The element of list `which` that speaks of axis k, where the axes come with the data; dflt if
 * none does. */
static const Expr *late_elem(Op *o, const Lists *l, int which, int k, int rank, const Expr *dflt)
{
    Pool *p = o->pool;
    const Expr *e = dflt;
    for (int j = 0; l->in[which] && j < l->n; j++) {
        const Expr *here = l->in[3] ? list_names_axis(o, l->in[3], j, k, rank) : ex_bool(p, j == k);
        e = ex_select(p, here, ex_cast(p, DT_I64, list_elem(o, l->in[which], j)), e);
    }
    return e;
}

static const Expr *clamp(Pool *p, const Expr *e, const Expr *lo, const Expr *hi)
{
    return ex2(p, max, lo, ex2(p, min, hi, e));
}

/* bounds() for an axis of which not even the step is known when compiling. */
static void late_bounds(Op *o, const Lists *l, int k, int rank, const Ix *dim, const Ix **first,
    const Ix **n, const Ix **step)
{
    Pool *p = o->pool;
    const Expr *zero = ex_i(p, 0), *one = ex_i(p, 1), *d = ex_ix(p, dim), *far = ex_i(p, INT64_MAX);
    const Expr *last = ex2(p, sub, d, one), *none = ex_i(p, -1);
    const Expr *st = late_elem(o, l, 4, k, rank, one), *s = late_elem(o, l, 1, k, rank, zero);
    const Expr *e = late_elem(o, l, 2, k, rank, far), *up = ex2(p, lt, zero, st);
    s = ex_select(p, ex2(p, lt, s, zero), ex2(p, add, s, d), s);
    e = ex_select(p, ex2(p, lt, e, zero), ex2(p, add, e, d), e);
    s = ex_select(p, up, clamp(p, s, zero, d), clamp(p, s, ex2(p, min, zero, last), last));
    e = ex_select(p, up, clamp(p, e, zero, d), clamp(p, e, none, last));
    /* (e - s) / st rounded away from zero, which is up where the slice is not empty */
    const Expr *slack = ex_select(p, up, ex2(p, sub, st, one), ex2(p, add, st, one));
    const Expr *steps = ex2(p, div, ex2(p, add, ex2(p, sub, e, s), slack), st);
    *first = ix_fixed(o, s);
    *step = ix_fixed(o, st);
    *n = dim_of_expr(o, ex2(p, max, zero, steps));
}

/* The slice of every axis, when axes and steps are constants. */
static void early_slices(Op *o, const Lists *l, const Value *x, const Ix **first, const Ix **dim,
    const Ix **step)
{
    Pool *p = o->pool;
    bool seen[MAX_RANK] = {false};
    for (int j = 0; j < l->n; j++) {
        int k = l->in[3] ? list_axis(o, l->in[3], j, x->rank)
            : l->attr[3] ? op_axis(o, l->attr[3][j], x->rank)
                         : j;
        int64_t st = l->in[4] ? op_elem_ix(o, l->in[4], j)->c : 1;
        if (seen[k])
            op_error(o, "axis %d is sliced twice", k);
        if (st == 0)
            op_error(o, "step %d is 0", j);
        seen[k] = true;
        st = MAX(-SLICE_INF, MIN(SLICE_INF, st));
        step[k] = ix_int(p, st);
        bounds(o, x->dim[k], list_ix(o, l, 1, j), list_ix(o, l, 2, j), st, &first[k], &dim[k]);
    }
}

/* Slice (ai.onnx 1, 10, 11, 13): y[i] = x[start + i*step] on some axes. */
static void slice(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY);
    Lists l = read_lists(o, x->rank);
    const Ix *dim[MAX_RANK], *first[MAX_RANK], *at[MAX_RANK], *step[MAX_RANK];
    bool late =
        (l.in[3] && !list_known(o, l.in[3], l.n)) || (l.in[4] && !list_known(o, l.in[4], l.n));
    for (int k = 0; k < x->rank; k++) {
        dim[k] = x->dim[k];
        first[k] = ix_int(p, 0);
        step[k] = ix_int(p, 1);
        if (late)
            late_bounds(o, &l, k, x->rank, x->dim[k], &first[k], &dim[k], &step[k]);
    }
    if (!late)
        early_slices(o, &l, x, first, dim, step);
    Build y = op_out(o, 0, x->type, x->rank, dim);
    for (int k = 0; k < x->rank; k++)
        at[k] = ix_add(p, first[k], ix_mul(p, y.i[k], step[k]));
    build_map(&y, op_load(o, x, at));
}
OP("Slice", "", 1, slice)
