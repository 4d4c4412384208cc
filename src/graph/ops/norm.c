/* norm.c: normalisations. Each is a few stages that walk the same elements (a sum, a mean, a sum of
 * squares, a map), so that fusion can keep a row at hand from the first to the last. They are
 * computed in float at least.
 */
#include "graph/ops/reduce.h"

/* Mean and population variance of x over `axes`, kept with extent 1, computed in type t. */
typedef struct Moments {
    Value *mean, *var;
} Moments;

/* sum / number of its terms */
static Value *mean_of(Op *o, Value *sum, const Ix *n)
{
    Pool *p = o->pool;
    Build b = op_temp(o, sum->type, sum->rank, sum->dim);
    return build_map(&b, DIV(op_load(o, sum, b.i), CAST(sum->type, ex_ix(p, n))));
}

static Moments moments(Op *o, const Value *x, const Axes *axes, DType t)
{
    Pool *p = o->pool;
    const Ix *n = axes_count(o, axes, x->dim);
    Moments m;
    m.mean = mean_of(o, fold_plain(o, RED_SUM, t, x, axes), n);
    Fold f = fold_begin(o, -1, t, x, axes);
    const Expr *d = SUB(CAST(t, op_load(o, x, f.at)), op_load(o, m.mean, f.kept));
    m.var = mean_of(o, fold_end(&f, RED_SUM, t, MUL(d, d)), n);
    return m;
}

/* 1 / sqrt(v + epsilon) */
static Value *inverse_root(Op *o, const Value *v, double epsilon)
{
    Pool *p = o->pool;
    Build b = op_temp(o, v->type, v->rank, v->dim);
    const Expr *x = op_load(o, v, b.i);
    return build_map(&b, DIV(K(1), SQRT(ADD(x, K(epsilon)))));
}

static double epsilon_of(Op *o) { return op_attr_f(o, "epsilon", 1e-5); }

/* The first stage's type: what stash_type says, but never narrower than x's. */
static DType stage_type(Op *o, const Value *x)
{
    int64_t stash = op_attr_i(o, "stash_type", DT_F32);
    if (stash != DT_F32 && stash != DT_BF16 && stash != DT_F16 && stash != DT_F64)
        op_error(o, "attribute 'stash_type' is %lld, which is no float type", (long long)stash);
    DType t = wide_type(x->type);
    return stash == DT_F64 ? DT_F64 : t;
}

/* ---- over the last axes ------------------------------------------------------------------------
 */

/* All axes from the attribute `axis` on. */
static Axes trailing_axes(Op *o, const Value *x)
{
    int first = op_axis(o, op_attr_i(o, "axis", -1), x->rank);
    return axes_kept(o, x->rank, (1u << x->rank) - (1u << first));
}

/* Output `out`, where it is asked for: a statistic in the type that stash_type names. */
static void statistic(Op *o, int out, const Value *v)
{
    if (!op_has_out(o, out))
        return;
    Build b = op_out(o, out, (DType)op_attr_i(o, "stash_type", DT_F32), v->rank, v->dim);
    build_map(&b, ex_cast(o->pool, b.out->type, op_load(o, v, b.i)));
}

/* LayerNormalization (ai.onnx 17): (x - mean) / sqrt(var + epsilon) over the last axes, then *
 * Scale + B. */
static void layer_normalization(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT), *scale = op_in(o, 1, T_FLOAT),
                *bias = op_opt(o, 2, T_FLOAT);
    Axes axes = trailing_axes(o, x);
    DType t = stage_type(o, x);
    Moments m = moments(o, x, &axes, t);
    Value *inverse = inverse_root(o, m.var, epsilon_of(o));
    Build y = op_out(o, 0, x->type, x->rank, x->dim);
    const Expr *d = SUB(CAST(t, op_load(o, x, y.i)), op_bcast(o, m.mean, y.i, x->rank));
    const Expr *e = CAST(x->type, MUL(d, op_bcast(o, inverse, y.i, x->rank)));
    op_same_type(o, x, scale);
    e = MUL(e, load_into(o, scale, y.i, x->dim, x->rank));
    if (bias) {
        op_same_type(o, x, bias);
        e = ADD(e, load_into(o, bias, y.i, x->dim, x->rank));
    }
    build_map(&y, e);
    statistic(o, 1, m.mean);
    statistic(o, 2, inverse);
}
OP("LayerNormalization", "", 17, layer_normalization)

/* RMSNormalization (ai.onnx 23): x / sqrt(mean(x^2) + epsilon) over the last axes, then * scale, of
 * scale's type. */
static void rms_normalization(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT), *scale = op_in(o, 1, T_FLOAT);
    Axes axes = trailing_axes(o, x);
    DType t = stage_type(o, x);
    Fold f = fold_begin(o, -1, t, x, &axes);
    const Expr *e = CAST(t, op_load(o, x, f.at));
    Value *squares = fold_end(&f, RED_SUM, t, MUL(e, e));
    Value *inverse =
        inverse_root(o, mean_of(o, squares, axes_count(o, &axes, x->dim)), epsilon_of(o));
    Build y = op_out(o, 0, scale->type, x->rank, x->dim);
    e = MUL(CAST(t, op_load(o, x, y.i)), op_bcast(o, inverse, y.i, x->rank));
    build_map(&y, MUL(CAST(scale->type, e), load_into(o, scale, y.i, x->dim, x->rank)));
}
OP("RMSNormalization", "", 23, rms_normalization)

/* ---- over planes and groups of channels --------------------------------------------------------
 */

/* y = (x - mean) / sqrt(var + epsilon) * scale + bias, with mean and variance of `grouped`: x as
 * [n, group, channel in the group, d..]. scale and bias have an element per channel, or per group.
 */
static void normalise_groups(Op *o, const Value *x, const Value *grouped, bool per_group)
{
    Pool *p = o->pool;
    const Value *scale = op_in(o, 1, T_FLOAT), *bias = op_in(o, 2, T_FLOAT);
    const Ix *size = grouped->dim[2], *params = per_group ? grouped->dim[1] : x->dim[1];
    Axes axes = axes_kept(o, grouped->rank, (1u << grouped->rank) - 4);
    DType t = stage_type(o, x);
    Moments m = moments(o, grouped, &axes, t);
    Value *inverse = inverse_root(o, m.var, epsilon_of(o));
    op_same_type(o, x, scale);
    op_same_type(o, x, bias);
    op_need_rank(o, scale, 1, 1);
    op_need_rank(o, bias, 1, 1);
    op_require_equal(o, scale->dim[0], params, "length of scale");
    op_require_equal(o, bias->dim[0], params, "length of bias");
    Build y = op_out(o, 0, x->type, x->rank, x->dim);
    const Ix *at[MAX_RANK] = {y.i[0], ix_div(p, y.i[1], size)}, *which = per_group ? at[1] : y.i[1];
    for (int k = 2; k < grouped->rank; k++)
        at[k] = ix_int(p, 0);
    const Expr *d = SUB(CAST(t, op_load(o, x, y.i)), op_load(o, m.mean, at));
    const Expr *e = MUL(CAST(t, op_load1(o, scale, which)), MUL(d, op_load(o, inverse, at)));
    build_map(&y, CAST(x->type, ADD(e, CAST(t, op_load1(o, bias, which)))));
}

/* x[n, c, d..] as [n, g, c/g, d..] */
static Value *group_channels(Op *o, const Value *x, const Ix *groups)
{
    Pool *p = o->pool;
    const Ix *dim[MAX_RANK] = {x->dim[0], groups, ix_div(p, x->dim[1], groups)}, *at[MAX_RANK];
    op_need_rank(o, x, 2, MAX_RANK - 1);
    op_require_equal(o, ix_mod(p, x->dim[1], groups), ix_int(p, 0),
        "num_groups must divide the channels");
    for (int k = 2; k < x->rank; k++)
        dim[k + 1] = x->dim[k];
    Build b = op_temp(o, x->type, x->rank + 1, dim);
    at[0] = b.i[0];
    at[1] = ix_add(p, ix_mul(p, b.i[1], dim[2]), b.i[2]);
    for (int k = 2; k < x->rank; k++)
        at[k] = b.i[k + 1];
    return build_map(&b, op_load(o, x, at));
}

/* GroupNormalization (ai.onnx 18, 21): channels normalised in num_groups groups; version 18 has
 * scale and bias per group, 21 per channel. */
static void group_normalization(Op *o)
{
    const Value *x = op_in(o, 0, T_FLOAT);
    int64_t groups = op_attr_i(o, "num_groups", 0);
    if (groups < 1)
        op_error(o, "attribute 'num_groups' must be given, and positive");
    normalise_groups(o, x, group_channels(o, x, ix_int(o->pool, groups)), o->opset < 21);
}
OP("GroupNormalization", "", 18, group_normalization)

/* InstanceNormalization (ai.onnx 1, 6, 22): each channel of each instance is a group. */
static void instance_normalization(Op *o)
{
    const Value *x = op_in(o, 0, T_FLOAT);
    normalise_groups(o, x, group_channels(o, x, x->dim[1]), false);
}
OP("InstanceNormalization", "", 1, instance_normalization)

/* MeanVarianceNormalization (ai.onnx 9, 13): (x - mean) / (sqrt(var) + 1e-9) over the attribute's
 * axes. */
static void mean_variance_normalization(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT);
    int n;
    const int *list = op_axes(o, "axes", -1, x->rank, &n);
    unsigned mask = 0;
    for (int i = 0; i < n; i++)
        mask |= 1u << list[i];
    if (n < 0)
        op_need_rank(o, x, 4, 4);
    Axes axes = axes_kept(o, x->rank, n < 0 ? 13 : mask); /* by default 0, 2 and 3 */
    DType t = wide_type(x->type);
    Moments m = moments(o, x, &axes, t);
    Build y = op_out(o, 0, x->type, x->rank, x->dim);
    const Expr *d = SUB(CAST(t, op_load(o, x, y.i)), op_bcast(o, m.mean, y.i, x->rank));
    const Expr *root = SQRT(op_bcast(o, m.var, y.i, x->rank));
    build_map(&y, CAST(x->type, DIV(d, ADD(root, ex_f(p, t, 1e-9)))));
}
OP("MeanVarianceNormalization", "", 9, mean_variance_normalization)

/* ---- batch normalisation -----------------------------------------------------------------------
 */

/* Parameters and statistics are per channel (axis 1), or, in the old form with spatial=0, per
 * element of an instance; `axes` are those that the statistics of a batch run over. */
typedef struct Batch {
    const Value *x, *scale, *bias, *mean, *var;
    bool spatial;
    DType t; /* computed in */
    Axes axes;
} Batch;

/* Where the parameters of x's element i are. */
static void param_at(Op *o, const Batch *b, const Ix *const *i, const Ix **at)
{
    at[0] = b->x->rank > 1 ? i[1] : ix_int(o->pool, 0); /* one axis only: a batch of one channel */
    for (int k = 1; k < b->scale->rank; k++)
        at[k] = i[k + 1];
}

static const Value *param(Op *o, const Batch *b, int input)
{
    const Value *v = op_in(o, input, T_FLOAT);
    int rank = b->spatial ? 1 : b->x->rank - 1;
    op_need_rank(o, v, rank, rank);
    for (int k = 0; k < rank && b->x->rank > 1; k++)
        op_require_equal(o, v->dim[k], b->x->dim[k + 1],
            "extent of a parameter against the channels");
    return v;
}

static Batch batch_inputs(Op *o)
{
    Batch b = {.x = op_in(o, 0, T_FLOAT), .spatial = true};
    op_need_rank(o, b.x, 1, MAX_RANK);
    if (o->opset < 9 && b.x->rank > 2)
        b.spatial = op_attr_i(o, "spatial", 1) != 0;
    b.scale = param(o, &b, 1);
    b.bias = param(o, &b, 2);
    b.mean = param(o, &b, 3);
    b.var = param(o, &b, 4);
    bool f64 = b.x->type == DT_F64 || b.scale->type == DT_F64 || b.mean->type == DT_F64;
    b.t = f64 ? DT_F64 : DT_F32;
    unsigned all = (1u << b.x->rank) - 1;
    b.axes = axes_kept(o, b.x->rank, b.spatial ? all & ~2u : 1u);
    return b;
}

/* A statistic of the batch in the form of a parameter. */
static const Value *as_param(Op *o, const Batch *b, const Value *kept)
{
    Build v = op_temp(o, kept->type, b->scale->rank, b->scale->dim);
    const Ix *at[MAX_RANK];
    for (int k = 0; k < kept->rank; k++)
        at[k] = k == 0 || k > v.rank ? ix_int(o->pool, 0) : v.i[k - 1];
    return build_map(&v, op_load(o, kept, at));
}

/* Output `out` of type `type`: old * momentum + now * (1 - momentum); just `now` without `old`. */
static void updated(Op *o, int out, DType type, const Value *old, const Value *now)
{
    Pool *p = o->pool;
    if (!op_has_out(o, out))
        return;
    Build b = op_out(o, out, type, now->rank, now->dim);
    const Expr *x = op_load(o, now, b.i);
    double momentum = op_attr_f(o, "momentum", 0.9);
    if (old)
        x = ADD(MUL(CAST(x->type, op_load(o, old, b.i)), K(momentum)), MUL(x, K(1 - momentum)));
    build_map(&b, CAST(type, x));
}

/* Version 14 says it; 1 and 6 unless is_test; 7 and 9 by the outputs that exist. */
static bool in_training(Op *o)
{
    if (o->opset >= 14)
        return op_attr_i(o, "training_mode", 0) != 0;
    if (o->opset < 7)
        return !op_attr_i(o, "is_test", 0);
    return op_has_out(o, 1) || op_has_out(o, 2) || op_has_out(o, 3) || op_has_out(o, 4);
}

/* Normalises by the batch's own statistics, and outputs the updated ones. */
static void use_batch(Op *o, Batch *b)
{
    Moments m = moments(o, b->x, &b->axes, b->t);
    const Value *mean = as_param(o, b, m.mean), *var = as_param(o, b, m.var);
    updated(o, 1, b->mean->type, b->mean, mean);
    updated(o, 2, b->var->type, b->var, var);
    updated(o, 3, b->mean->type, NULL, mean);
    updated(o, 4, b->var->type, NULL, var);
    b->mean = mean;
    b->var = var;
}

/* a = scale / sqrt(var + epsilon) */
static Value *batch_slope(Op *o, const Batch *b)
{
    Pool *p = o->pool;
    Build f = op_temp(o, b->t, b->scale->rank, b->scale->dim);
    const Expr *x = CAST(b->t, op_load(o, b->var, f.i));
    x = SQRT(ADD(x, K(epsilon_of(o))));
    return build_map(&f, DIV(CAST(b->t, op_load(o, b->scale, f.i)), x));
}

/* B - mean*a */
static Value *batch_offset(Op *o, const Batch *b, const Value *a)
{
    Pool *p = o->pool;
    Build f = op_temp(o, b->t, b->scale->rank, b->scale->dim);
    const Expr *shift = MUL(CAST(b->t, op_load(o, b->mean, f.i)), op_load(o, a, f.i));
    return build_map(&f, SUB(CAST(b->t, op_load(o, b->bias, f.i)), shift));
}

/* BatchNormalization (ai.onnx 1, 6, 7, 9, 14, 15): (x - mean) / sqrt(var + epsilon) * scale + B. In
 * inference as x*a + (B - mean*a), whose two parameters folding makes constants; in training, where
 * mean and x may nearly cancel against a huge a, as (x - mean)*a + B. */
static void batch_normalization(Op *o)
{
    Pool *p = o->pool;
    Batch b = batch_inputs(o);
    bool training = in_training(o);
    if (training)
        use_batch(o, &b);
    else if (op_has_out(o, 1))
        op_error(o, "outputs besides the first need training mode");
    Value *a = batch_slope(o, &b), *offset = training ? NULL : batch_offset(o, &b, a);
    Build y = op_out(o, 0, b.x->type, b.x->rank, b.x->dim);
    const Ix *at[MAX_RANK];
    param_at(o, &b, y.i, at);
    const Expr *x = CAST(b.t, op_load(o, b.x, y.i)), *slope = op_load(o, a, at);
    if (training)
        x = ADD(MUL(SUB(x, op_load(o, b.mean, at)), slope), CAST(b.t, op_load(o, b.bias, at)));
    else
        x = ADD(MUL(x, slope), op_load(o, offset, at));
    build_map(&y, CAST(b.x->type, x));
}
OP("BatchNormalization", "", 1, batch_normalization)

/* ---- by a norm, by neighbours ------------------------------------------------------------------
 */

/* LpNormalization (ai.onnx 1, 22): x / (sum |x| or sqrt(sum x^2)) along an axis; 0 where the norm
 * is 0. */
static void lp_normalization(Op *o)
{
    Pool *p = o->pool;
    const Value *v = op_in(o, 0, T_FLOAT);
    int axis = op_axis(o, op_attr_i(o, "axis", -1), v->rank);
    int64_t order = op_attr_i(o, "p", 2);
    if (order != 1 && order != 2)
        op_error(o, "attribute 'p' is %lld: it must be 1 or 2", (long long)order);
    Axes axes = axes_kept(o, v->rank, 1u << axis);
    DType t = wide_type(v->type);
    Fold f = fold_begin(o, -1, t, v, &axes);
    const Expr *e = CAST(t, op_load(o, v, f.at));
    Value *sum = fold_end(&f, RED_SUM, t, order == 1 ? ABS(e) : MUL(e, e));
    Build y = op_out(o, 0, v->type, v->rank, v->dim);
    const Expr *x = CAST(t, op_load(o, v, y.i)), *norm = op_bcast(o, sum, y.i, v->rank);
    norm = order == 1 ? norm : SQRT(norm);
    build_map(&y, CAST(v->type, SELECT(EQ(norm, K(0)), K(0), DIV(x, norm))));
}
OP("LpNormalization", "", 1, lp_normalization)

/* LRN (ai.onnx 1, 13): x / (bias + alpha/size * sum of squares of the `size` channels around)^beta.
 */
static void lrn(Op *o)
{
    Pool *p = o->pool;
    const Value *v = op_in(o, 0, T_FLOAT);
    op_need_rank(o, v, 2, MAX_RANK);
    int64_t size = op_attr_i(o, "size", 0);
    if (size < 1)
        op_error(o, "attribute 'size' must be given, and positive");
    DType t = wide_type(v->type);
    Build s = op_temp(o, t, v->rank, v->dim);
    const Var *r = op_var(o, ix_int(p, size), "r");
    const Ix *at[MAX_RANK];
    memcpy(at, s.i, (size_t)v->rank * sizeof *at);
    at[1] = ix_addi(p, ix_add(p, at[1], ix_of_var(p, r)), -((size - 1) / 2));
    const Expr *x = CAST(t, op_load(o, v, at));
    const Expr *square = SELECT(ex_ix_inside(p, at[1], v->dim[1]), MUL(x, x), K(0));
    Value *sum = build_reduce(&s, RED_SUM, t, 1, &r, square);
    Build y = op_out(o, 0, v->type, v->rank, v->dim);
    const Expr *alpha = K(op_attr_f(o, "alpha", 1e-4) / (double)size);
    const Expr *base = ADD(ATTR("bias", 1), MUL(alpha, op_load(o, sum, y.i)));
    build_map(&y, CAST(v->type, DIV(CAST(t, op_load(o, v, y.i)), POW(base, ATTR("beta", 0.75)))));
}
OP("LRN", "", 1, lrn)
