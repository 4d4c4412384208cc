/* reduce.c: Reduce*, ArgMax, ArgMin. */
#include "graph/ops/reduce.h"
#include <math.h>

/* ---- axes --------------------------------------------------------------------------------------
 */

/* 1 if a == b, else 0. */
static const Ix *same(Pool *p, const Ix *a, const Ix *b)
{
    const Ix *apart = ix_max(p, ix_sub(p, a, b), ix_sub(p, b, a));
    return ix_sub(p, ix_int(p, 1), ix_min(p, ix_int(p, 1), ix_max(p, ix_int(p, 0), apart)));
}

/* Without keepdims the axes that remain move up: axis k is axis j of the result if it is not
 * reduced and k - j axes before it are. */
static void drop_reduced(Op *o, Axes *a, int n_reduced)
{
    Pool *p = o->pool;
    a->out_rank = a->rank - n_reduced;
    const Ix *place = ix_int(p, 0);
    for (int k = 0; k < a->rank; k++) {
        const Ix *stays = ix_sub(p, ix_int(p, 1), a->in[k]);
        for (int j = 0; j < a->out_rank; j++)
            a->is[k][j] = axes_opaque(o, ix_mul(p, stays, same(p, place, ix_int(p, j))));
        place = ix_add(p, place, stays);
    }
}

/* The set given by the elements of `list`. */
static void mark_axes(Op *o, Axes *a, const Value *list, int n)
{
    Pool *p = o->pool;
    const Ix *rank = ix_int(p, a->rank), *sum = ix_int(p, 0);
    if (n > a->rank)
        op_error(o, "%d axes are given for an input of rank %d", n, a->rank);
    for (int i = 0; i < n; i++) {
        const Ix *axis = op_elem_ix(o, list, i);
        if (ix_is_const(axis))
            op_axis(o, axis->c, a->rank);
        op_require(o, ex_ix_inside(p, ix_add(p, axis, rank), ix_int(p, 2 * a->rank)),
            "an axis is out of range");
        axis = ix_mod(p, axis, rank);
        for (int k = 0; k < a->rank; k++)
            a->in[k] = ix_max(p, a->in[k], same(p, axis, ix_int(p, k)));
    }
    for (int k = 0; k < a->rank; k++) {
        a->in[k] = axes_opaque(o, a->in[k]);
        sum = ix_add(p, sum, a->in[k]);
    }
    op_require_equal(o, sum, ix_int(p, n), "an axis is given twice");
}

/* Axes by the attribute before version `input_since`, by an input from it on; none given means all,
 * unless noop_with_empty_axes. */
static Axes reduced_axes(Op *o, const Value *x, int input_since)
{
    Axes a = axes_kept(o, x->rank, 0);
    const Value *list = o->opset >= input_since ? op_opt(o, 1, T_INDEX) : NULL;
    int n = 0;
    const int *axes = o->opset < input_since ? op_axes(o, "axes", -1, x->rank, &n) : NULL;
    if (list)
        mark_axes(o, &a, list, n = op_count(o, list));
    for (int i = 0; i < n && axes; i++)
        a.in[axes[i]] = ix_int(o->pool, 1);
    if (n <= 0 && !op_attr_i(o, "noop_with_empty_axes", 0)) {
        a = axes_kept(o, x->rank, (1u << x->rank) - 1);
        n = x->rank;
    }
    if (!op_attr_i(o, "keepdims", 1))
        drop_reduced(o, &a, MAX(n, 0));
    return a;
}

/* ---- the family --------------------------------------------------------------------------------
 */

/* post(red over the axes of pre(x)); post also gets the number of elements. */
typedef struct Reduction {
    int input_since; /* the version from which axes are an input */
    unsigned types;
    bool real; /* integers are computed in double */
    Red red;
    const Expr *(*pre)(Pool *p, const Expr *x);
    const Expr *(
        *post)(Pool *p, const Expr *x, const Expr *n); /* NULL: the reduction is the result */
} Reduction;

static void reduce(Op *o, const Reduction *r)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, r->types);
    Axes axes = reduced_axes(o, x, r->input_since);
    DType t = wide_type(r->real ? real_type(x->type) : x->type);
    Red red = x->type != DT_BOOL ? r->red : r->red == RED_MAX ? RED_ANY : RED_ALL;
    Fold f = fold_begin(o, r->post ? -1 : 0, r->post ? t : x->type, x, &axes);
    Value *v = fold_end(&f, red, t, r->pre(p, CAST(t, op_load(o, x, f.at))));
    if (!r->post)
        return;
    Build y = op_out(o, 0, x->type, v->rank, v->dim);
    const Ix *n = axes_count(o, &axes, x->dim);
    if (!dtype_is_float(t)) /* a mean of nothing: 0, no division by 0 */
        n = ix_max(p, n, ix_int(p, 1));
    build_map(&y, CAST(x->type, r->post(p, op_load(o, v, y.i), CAST(t, ex_ix(p, n)))));
}

/* REDUCE(function, version of the axes input, types, computed in reals, reduction, formula of an
 * element x) */
#define REDUCE(fn, since, types, real, red, pre)                           \
    static const Expr *fn##_pre(Pool *p, const Expr *x)                    \
    {                                                                      \
        (void)p;                                                           \
        return pre;                                                        \
    }                                                                      \
    static void fn(Op *o)                                                  \
    {                                                                      \
        static const Reduction r = {since, types, real, red, fn##_pre, 0}; \
        reduce(o, &r);                                                     \
    }
/* The same with a formula of the reduced x and the number n of its elements. */
#define REDUCE_THEN(fn, since, types, real, red, pre, post)                        \
    static const Expr *fn##_pre(Pool *p, const Expr *x)                            \
    {                                                                              \
        (void)p;                                                                   \
        return pre;                                                                \
    }                                                                              \
    static const Expr *fn##_post(Pool *p, const Expr *x, const Expr *n)            \
    {                                                                              \
        (void)n;                                                                   \
        return post;                                                               \
    }                                                                              \
    static void fn(Op *o)                                                          \
    {                                                                              \
        static const Reduction r = {since, types, real, red, fn##_pre, fn##_post}; \
        reduce(o, &r);                                                             \
    }

REDUCE(reduce_sum, 13, T_NUM, false, RED_SUM, x)
OP("ReduceSum", "", 1, reduce_sum)
REDUCE(reduce_prod, 18, T_NUM, false, RED_PROD, x)
OP("ReduceProd", "", 1, reduce_prod)
REDUCE(reduce_max, 18, T_ANY, false, RED_MAX, x)
OP("ReduceMax", "", 1, reduce_max)
REDUCE(reduce_min, 18, T_ANY, false, RED_MIN, x)
OP("ReduceMin", "", 1, reduce_min)
REDUCE(reduce_l1, 18, T_NUM, false, RED_SUM, ABS(x))
OP("ReduceL1", "", 1, reduce_l1)
REDUCE(reduce_sum_square, 18, T_NUM, false, RED_SUM, MUL(x, x))
OP("ReduceSumSquare", "", 1, reduce_sum_square)
REDUCE_THEN(reduce_mean, 18, T_NUM, false, RED_SUM, x, DIV(x, n))
OP("ReduceMean", "", 1, reduce_mean)
REDUCE_THEN(reduce_l2, 18, T_NUM, true, RED_SUM, MUL(x, x), SQRT(x))
OP("ReduceL2", "", 1, reduce_l2)
REDUCE_THEN(reduce_log_sum, 18, T_NUM, true, RED_SUM, x, LOG(x))
OP("ReduceLogSum", "", 1, reduce_log_sum)

/* ReduceLogSumExp (ai.onnx 1, 11, 13, 18): m + log(sum(exp(x - m))), m the largest element where
 * that is finite. */
static void reduce_log_sum_exp(Op *o)
{
    Pool *p = o->pool;
    const Value *v = op_in(o, 0, T_NUM);
    Axes axes = reduced_axes(o, v, 18);
    DType t = wide_type(real_type(v->type));
    Fold f = fold_begin(o, -1, t, v, &axes);
    Value *largest = fold_end(&f, RED_MAX, t, CAST(t, op_load(o, v, f.at)));
    Build b = op_temp(o, t, largest->rank, largest->dim);
    const Expr *x = op_load(o, largest, b.i);
    Value *m = build_map(&b, SELECT(EQ(ABS(x), K(INFINITY)), K(0), x));
    f = fold_begin(o, -1, t, v, &axes);
    Value *s =
        fold_end(&f, RED_SUM, t, EXP(SUB(CAST(t, op_load(o, v, f.at)), op_load(o, m, f.b.i))));
    Build y = op_out(o, 0, v->type, s->rank, s->dim);
    build_map(&y, CAST(v->type, ADD(LOG(op_load(o, s, y.i)), op_load(o, m, y.i))));
}
OP("ReduceLogSumExp", "", 1, reduce_log_sum_exp)

/* ---- positions ---------------------------------------------------------------------------------
 */

/* y = the first (or last) k at which x is the best of its axis; NaN is better than any number. */
static void arg_best(Op *o, Red red)
{
    Pool *p = o->pool;
    const Value *v = op_in(o, 0, T_NUM);
    int axis = op_axis(o, op_attr_i(o, "axis", 0), v->rank);
    bool last = op_attr_i(o, "select_last_index", 0) != 0;
    if (ix_is(v->dim[axis], 0))
        op_error(o, "axis %d has no elements to choose from", axis);
    Axes axes = axes_kept(o, v->rank, 1u << axis);
    Value *best = fold_plain(o, red, v->type, v, &axes);
    Axes out = axes;
    if (!op_attr_i(o, "keepdims", 1))
        drop_reduced(o, &out, 1);
    Fold f = fold_begin(o, 0, DT_I64, v, &out);
    const Expr *x = op_load(o, v, f.at), *hit = EQ(x, op_bcast(o, best, f.kept, v->rank));
    if (dtype_is_float(v->type))
        hit = OR(hit, ex1(p, isnan, x));
    const Expr *none = last ? ex_i(p, -1) : ex_identity(p, RED_MIN, DT_I64);
    fold_end(&f, last ? RED_MAX : RED_MIN, DT_I64, SELECT(hit, ex_ix(p, f.at[axis]), none));
}

/* ArgMax (ai.onnx 1, 11, 12, 13). */
static void arg_max(Op *o) { arg_best(o, RED_MAX); }
OP("ArgMax", "", 1, arg_max)

/* ArgMin (ai.onnx 1, 11, 12, 13). */
static void arg_min(Op *o) { arg_best(o, RED_MIN); }
OP("ArgMin", "", 1, arg_min)
