/* random_ops.c: families of operators that compute: elementwise, products, windows, normalizations,
 * reductions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>

#include "fuzz/random_graph.h"

/* ---- elementwise ----------------------------------------------------------------------------- */

/* x + a number, so that what follows is defined. */
static int plus(Draw *d, int x, double number)
{
    RValue v = *value_at(d, x);
    int c = add_range(d, v.type, 0, NULL, number, number * 1.001);
    return add_node(d, "Add", IN(x, c), v.type, v.rank, v.dim, "%s", "");
}

typedef struct Unary {
    const char *op, *attrs;
    double scale; /* of results; 0: like the operand */
    bool exact;
} Unary;
static const Unary unary[] = {{"Relu", "", 0, true}, {"Relu", "", 0, true}, {"Neg", "", 0, true},
    {"Abs", "", 0, true}, {"Sigmoid", "", 1, false}, {"Tanh", "", 1, false}, {"Erf", "", 1, false},
    {"LeakyRelu", "alpha=0.25f", 0, true}, {"LeakyRelu", "alpha=0.01f", 0, false},
    {"Elu", "alpha=0.5f", 0, false}, {"HardSwish", "", 0, false}, {"HardSigmoid", "", 1, false},
    {"Softplus", "", 0, false}, {"Softsign", "", 1, false}, {"Sin", "", 1, false},
    {"Cos", "", 1, false}, {"Atan", "", 1.6, false}, {"Selu", "", 0, false}, {"Celu", "", 0, false},
    {"ThresholdedRelu", "alpha=0.5f", 0, true}, {"Identity", "", 0, true},
    {"Dropout", "", 0, true}};

static bool unary_family(Draw *d)
{
    const Unary *u = &unary[below(d, NELEM(unary))];
    int x = pick_float(d);
    if (x < 0)
        return false;
    RValue v = *value_at(d, x);
    bool jumps = !strcmp(u->op, "ThresholdedRelu");
    bool narrow = !strcmp(u->op, "Celu") || !strcmp(u->op, "Atan") || !strcmp(u->op, "Selu");
    if ((jumps && !v.exact) || (narrow && v.type != DT_F32) ||
        (v.type == DT_BF16 && u->op[1] != 'e'))
        return false;
    return settle(d, add_like(d, u->op, x, u->attrs), u->scale ? u->scale : v.scale, u->exact);
}

static bool partial_family(Draw *d)
{
    int x = pick_type(d, DT_F32);
    if (x < 0)
        return false;
    int safe = plus(d, add_like(d, "Abs", x, ""), 0.5);
    double scale = value_at(d, x)->scale;
    switch (below(d, 5)) {
    case 0: return settle(d, add_like(d, "Sqrt", safe, ""), sqrt(scale + 1), true);
    case 1: return settle(d, add_like(d, "Log", safe, ""), 2, false);
    case 2: return settle(d, add_like(d, "Reciprocal", safe, ""), 2, true);
    case 3: return settle(d, add_like(d, "Exp", add_like(d, "Neg", safe, ""), ""), 1, false);
    default: return settle(d, add_like(d, "Exp", add_like(d, "Tanh", x, ""), ""), 3, false);
    }
}

/* Steps are for values that are the same to the bit on every level. */
static bool step_family(Draw *d)
{
    static const char *const ops[] = {"Floor", "Ceil", "Round", "Sign"};
    int x = pick_type(d, DT_F32);
    if (x < 0 || !value_at(d, x)->exact)
        return false;
    return settle(d, add_like(d, ops[below(d, 4)], x, ""), value_at(d, x)->scale + 1, true);
}

static bool integer_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (v.type == DT_BOOL)
        return settle(d, add_like(d, "Not", x, ""), 1, true);
    if (v.type != DT_I32 && v.type != DT_I64)
        return false;
    return settle(d, add_like(d, ANY(d, 0, 1) ? "Neg" : "Abs", x, ""), v.scale, true);
}

static bool clip_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (v.type != DT_F32 && v.type != DT_I32 && v.type != DT_F64 && v.type != DT_I8)
        return false;
    int lo = chance(d, 80) ? add_range(d, v.type, 0, NULL, -1, 0) : -1;
    int hi = lo < 0 || chance(d, 80) ? add_range(d, v.type, 0, NULL, 1, 3) : -1;
    return settle(d,
        add_node(d, "Clip", hi < 0 ? 2 : 3, (int[]){x, lo, hi}, v.type, v.rank, v.dim, "%s", ""),
        v.scale, true);
}

/* The shape that both broadcast to; false if they don't. */
static bool broadcast(const RValue *a, const RValue *b, int *rank, Dim *dim)
{
    *rank = MAX(a->rank, b->rank);
    for (int k = 0; k < *rank; k++) {
        int i = k - (*rank - a->rank), j = k - (*rank - b->rank);
        const Dim one = {.at = {1, 1}};
        const Dim *x = i < 0 ? &one : &a->dim[i], *y = j < 0 ? &one : &b->dim[j];
        if (!dim_same(x, y) && !dim_same(x, &one) && !dim_same(y, &one))
            return false;
        dim[k] = dim_same(x, &one) ? *y : *x;
    }
    return true;
}

/* New data that broadcasts against x: some of its dims, some of them 1. */
static int partner_data(Draw *d, int x)
{
    RValue v = *value_at(d, x);
    int rank = chance(d, 50) ? v.rank : (int)below(d, v.rank + 1);
    Dim dim[RECIPE_RANK];
    for (int k = 0; k < rank; k++)
        dim[k] = chance(d, 35) ? fixed(1) : v.dim[v.rank - rank + k];
    return add_data(d, v.type, rank, dim);
}

/* Another value of its type that broadcasts against it; else new data. */
static int partner(Draw *d, int x)
{
    int rank;
    Dim dim[RECIPE_RANK];
    for (int i = 0; i < 12 && chance(d, 90); i++) {
        int y = pick(d);
        if (value_at(d, y)->type == value_at(d, x)->type && (y != x || chance(d, 20)) &&
            broadcast(value_at(d, x), value_at(d, y), &rank, dim))
            return y;
    }
    return partner_data(d, x);
}

static int add_binary(Draw *d, const char *op, int a, int b, DType out, const char *attrs)
{
    int rank;
    Dim dim[RECIPE_RANK];
    if (!broadcast(value_at(d, a), value_at(d, b), &rank, dim))
        d->failed = true, rank = 0;
    return chance(d, 80) || !strcmp(op, "Div") || !strcmp(op, "Mod")
        ? add_node(d, op, IN(a, b), out, rank, dim, "%s", attrs)
        : add_node(d, op, IN(b, a), out, rank, dim, "%s", attrs);
}

static bool binary_family(Draw *d)
{
    static const char *const ops[] = {"Add", "Add", "Mul", "Mul", "Sub", "Min", "Max"};
    const char *op = ops[below(d, NELEM(ops))];
    int x = pick(d), y = partner(d, x);
    RValue v = *value_at(d, x), w = *value_at(d, y);
    if (v.type == DT_BOOL || v.type == DT_I8 || v.type == DT_U8)
        return false;
    double scale = op[0] == 'M' && op[1] == 'u' ? v.scale * w.scale : v.scale + w.scale;
    if (!dtype_is_float(v.type) && scale > 1e6)
        return false;
    return settle(d, add_binary(d, op, x, y, v.type, ""), scale, true);
}

static bool divide_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (v.type == DT_I32 || v.type == DT_I64) {
        int y = partner_data(d, x);
        value_at(d, y)->lo = 1;
        value_at(d, y)->hi = 5;
        const char *op = chance(d, 50) ? "Div" : "Mod";
        return settle(d, add_binary(d, op, x, y, v.type, ""), v.scale, true);
    }
    if (v.type != DT_F32)
        return false;
    int y = plus(d, add_like(d, "Abs", partner(d, x), ""), 0.5);
    return settle(d, add_binary(d, "Div", x, y, v.type, ""), v.scale * 2, true);
}

static bool power_family(Draw *d)
{
    int x = pick_type(d, DT_F32);
    if (x < 0)
        return false;
    RValue v = *value_at(d, x);
    double of = (double)ANY(d, 2, 2, 3);
    int e = add_range(d, DT_F32, 0, NULL, of, of * 1.001);
    return settle(d, add_node(d, "Pow", IN(x, e), v.type, v.rank, v.dim, "%s", ""),
        pow(v.scale, of), false);
}

static bool logic_family(Draw *d)
{
    static const char *const ops[] = {"And", "Or", "Xor", "Equal"};
    int x = pick_type(d, DT_BOOL);
    return x >= 0 &&
        settle(d, add_binary(d, ops[below(d, 4)], x, partner(d, x), DT_BOOL, ""), 1, true);
}

static bool compare_family(Draw *d)
{
    static const char *const ops[] = {"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"};
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (!v.exact || v.type == DT_BOOL || v.type == DT_BF16)
        return false;
    int y = partner(d, x);
    return value_at(d, y)->exact &&
        settle(d, add_binary(d, ops[below(d, 5)], x, y, DT_BOOL, ""), 1, true);
}

static bool where_family(Draw *d)
{
    int c = pick_type(d, DT_BOOL), x = pick(d);
    int rank, rank2;
    Dim dim[RECIPE_RANK], dim2[RECIPE_RANK];
    RValue v = *value_at(d, x);
    if (c < 0)
        c = add_data(d, DT_BOOL, v.rank, v.dim);
    int y = partner(d, x);
    if (!broadcast(&v, value_at(d, y), &rank, dim))
        return false;
    RValue both = {.rank = rank};
    memcpy(both.dim, dim, sizeof dim);
    if (!broadcast(&both, value_at(d, c), &rank2, dim2))
        return false;
    double scale = MAX(v.scale, value_at(d, y)->scale);
    return settle(d, add_node(d, "Where", IN(c, x, y), v.type, rank2, dim2, "%s", ""), scale, true);
}

static bool cast_family(Draw *d)
{
    DType to =
        (DType)ANY(d, DT_F32, DT_F32, DT_I32, DT_I64, DT_BOOL, DT_F16, DT_BF16, DT_F64, DT_I8);
    int x = pick(d);
    RValue v = *value_at(d, x);
    bool steps = !dtype_is_float(to) || dtype_bytes(to) < dtype_bytes(v.type);
    if (v.type == to || (!dtype_is_float(to) && dtype_is_float(v.type) && (!v.exact || d->r->odd)))
        return false;
    if (v.scale > 100 && to == DT_I8)
        return false;
    char attrs[24];
    snprintf(attrs, sizeof attrs, "to=%d", to);
    int y = add_node(d, "Cast", IN(x), to, v.rank, v.dim, "%s", attrs);
    return settle(d, y, to == DT_BOOL ? 1 : v.scale, v.exact || !steps);
}

static bool many_family(Draw *d)
{
    static const char *const ops[] = {"Sum", "Mean", "Max", "Min"};
    int x = pick_type(d, DT_F32);
    if (x < 0)
        return false;
    RValue v = *value_at(d, x);
    int y = partner_data(d, x), z = chance(d, 50) ? x : partner_data(d, x);
    return settle(d, add_node(d, ops[below(d, 4)], IN(x, y, z), v.type, v.rank, v.dim, "%s", ""),
        2 * v.scale + 2, false);
}

/* ---- products -------------------------------------------------------------------------------- */

static double product_scale(const RValue *a, const RValue *b, double k)
{
    return a->scale * b->scale * sqrt(k) * 0.5 + 0.1;
}

static bool product_type(DType t) { return t == DT_F32 || t == DT_F16 || t == DT_F64; }

static bool matmul_family(Draw *d)
{
    int x = pick_float(d);
    if (x < 0 || value_at(d, x)->rank < 1 || !product_type(value_at(d, x)->type))
        return false;
    RValue v = *value_at(d, x);
    Dim dim[RECIPE_RANK], k = v.dim[v.rank - 1];
    int64_t n = ANY(d, 1, 2, 5, 8, 16, 17, 24, 32, 48, 64);
    int rank = v.rank > 2 && chance(d, 40) ? v.rank : 2; /* of B: batched or not */
    for (int i = 0; i < rank - 2; i++)
        dim[i] = chance(d, 30) ? fixed(1) : v.dim[i];
    dim[rank - 2] = k;
    dim[rank - 1] = fixed(n);
    int w = chance(d, 10) ? add_data(d, v.type, 1, &k) : add_data(d, v.type, rank, dim);
    memcpy(dim, v.dim, sizeof v.dim);
    dim[v.rank - 1] = fixed(n);
    int out_rank = v.rank;
    if (value_at(d, w)->rank == 1)
        out_rank--; /* a vector */
    else if (v.rank == 1)
        out_rank = 1;
    d->work += elements(&v) * (double)n;
    double scale = product_scale(&v, value_at(d, w), (double)MAX(k.at[0], k.at[1]));
    return settle(d, add_node(d, "MatMul", IN(x, w), v.type, out_rank, dim, "%s", ""), scale,
        false);
}

/* x times its own transpose, or that of a value of the same shape: as in attention. */
static bool self_product_family(Draw *d)
{
    int x = pick_type(d, DT_F32);
    if (x < 0 || value_at(d, x)->rank < 2 || value_at(d, x)->rank > 4)
        return false;
    RValue v = *value_at(d, x);
    int last = v.rank - 1;
    int y = chance(d, 50) ? x : add_like(d, "Sin", x, "");
    Dim dim[RECIPE_RANK];
    char perm[32] = "perm=[0,1,2,3";
    perm[6 + 2 * v.rank - 1] = 0;
    perm[6 + 2 * last] = (char)('0' + last - 1);
    perm[6 + 2 * (last - 1)] = (char)('0' + last);
    strcat(perm, "]");
    memcpy(dim, v.dim, sizeof dim);
    dim[last] = v.dim[last - 1];
    dim[last - 1] = v.dim[last];
    int t = add_node(d, "Transpose", IN(y), v.type, v.rank, dim, "%s", perm);
    dim[last - 1] = v.dim[last - 1];
    Dim *m = &v.dim[last - 1], *k = &v.dim[last];
    d->work += elements(&v) * (double)MAX(m->at[0], m->at[1]);
    int p = add_node(d, "MatMul", IN(x, t), v.type, v.rank, dim, "%s", "");
    double scale = product_scale(&v, value_at(d, y), (double)MAX(k->at[0], k->at[1]));
    if (chance(d, 50))
        return settle(d, p, scale * 2, false);
    int s = add_node(d, "Softmax", IN(p), v.type, v.rank, dim, "axis=-1");
    settle(d, s, 1, false);
    if (chance(d, 50))
        return true;
    d->work += elements(&v) * (double)MAX(m->at[0], m->at[1]);
    return settle(d, add_node(d, "MatMul", IN(s, x), v.type, v.rank, v.dim, "%s", ""), v.scale,
        false);
}

static bool einsum_family(Draw *d)
{
    static const char *const equations[] = {"equation=abc,cd->abd", "equation=abc,cd->adb",
        "equation=abc,abd->acd", "equation=abc,dc->dab"};
    int x = pick_type(d, DT_F32), e = (int)below(d, NELEM(equations));
    if (x < 0 || value_at(d, x)->rank != 3)
        return false;
    RValue v = *value_at(d, x);
    Dim n = fixed(ANY(d, 1, 4, 9, 16)), *a = &v.dim[0], *b = &v.dim[1], *c = &v.dim[2];
    Dim weight[4][3] = {{*c, n}, {*c, n}, {*a, *b, n}, {n, *c}};
    Dim out[4][3] = {{*a, *b, n}, {*a, n, *b}, {*a, *c, n}, {n, *a, *b}};
    int w = add_data(d, v.type, e == 2 ? 3 : 2, weight[e]);
    Dim *k = e == 2 ? b : c;
    d->work += elements(&v) * (double)n.at[0];
    return settle(d, add_node(d, "Einsum", IN(x, w), v.type, 3, out[e], "%s", equations[e]),
        product_scale(&v, value_at(d, w), (double)MAX(k->at[0], k->at[1])), false);
}

static bool gemm_family(Draw *d)
{
    int x = pick_type(d, DT_F32);
    if (x < 0 || value_at(d, x)->rank != 2)
        return false;
    RValue v = *value_at(d, x);
    bool ta = chance(d, 30), tb = chance(d, 50);
    Dim m = v.dim[ta], k = v.dim[!ta], n = fixed(ANY(d, 1, 3, 8, 10, 16, 20, 33));
    int w = add_data(d, v.type, 2, (Dim[]){tb ? n : k, tb ? k : n}), c = -1;
    if (chance(d, 70))
        c = chance(d, 50) ? add_data(d, v.type, 1, &n)
                          : add_data(d, v.type, 2, (Dim[]){chance(d, 50) ? m : fixed(1), n});
    d->work += elements(&v) * (double)n.at[0];
    int y = add_node(d, "Gemm", c < 0 ? 2 : 3, (int[]){x, w, c}, v.type, 2, (Dim[]){m, n},
        "transA=%d transB=%d alpha=%sf beta=%sf", ta, tb, chance(d, 70) ? "1.0" : "0.5",
        chance(d, 70) ? "1.0" : "2.0");
    return settle(d, y, product_scale(&v, value_at(d, w), (double)MAX(k.at[0], k.at[1])) + 4,
        false);
}

/* ---- windows --------------------------------------------------------------------------------- */

typedef struct Windows {
    int n; /* spatial axes */
    int64_t kernel[3], stride[3], dilation[3], before[3], after[3];
    bool ceil;
    char attrs[120];
} Windows;

static void list_text(char *s, const char *name, int n, const int64_t *at, const int64_t *more)
{
    s += strlen(s);
    s += sprintf(s, "%s=[", name);
    for (int i = 0; i < n; i++)
        s += sprintf(s, i ? ",%lld" : "%lld", (long long)at[i]);
    for (int i = 0; i < n && more; i++)
        s += sprintf(s, ",%lld", (long long)more[i]);
    sprintf(s, "] ");
}

/* Windows over the axes from 2; false if some does not fit. */
static bool draw_windows(Draw *d, const RValue *v, bool pool, Windows *w, Dim *out)
{
    w->n = v->rank - 2;
    w->ceil = pool && chance(d, 20);
    bool same = chance(d, 60), unit = chance(d, 60);
    uint32_t how = w->ceil;
    for (int i = 0; i < w->n; i++) {
        w->kernel[i] = i && same ? w->kernel[0] : ANY(d, 1, 2, 3, 3, 3, 5);
        w->stride[i] = i && same ? w->stride[0] : ANY(d, 1, 1, 2, 2, 3);
        w->dilation[i] = unit ? 1 : ANY(d, 1, 2, 3);
        int64_t span = (w->kernel[i] - 1) * w->dilation[i] + 1;
        w->before[i] = below(d, MIN(3, pool ? w->kernel[i] : 3));
        w->after[i] = same ? w->before[i] : below(d, MIN(3, pool ? w->kernel[i] : 3));
        int64_t n[2];
        for (int run = 0; run < 2; run++) {
            int64_t room = v->dim[i + 2].at[run] + w->before[i] + w->after[i] - span;
            if (room < 0 || !v->dim[i + 2].at[run])
                return false;
            n[run] = room / w->stride[i] + 1;
            if (w->ceil && room % w->stride[i]) {
                /* a window that would begin in the padding behind is left out */
                int64_t start = n[run] * w->stride[i];
                n[run] += start < v->dim[i + 2].at[run] + w->before[i];
            }
        }
        how = how * 31 +
            (uint32_t)(w->stride[i] * 1000 + span * 100 + w->before[i] * 10 + w->after[i]);
        out[i + 2] = dim_of(&v->dim[i + 2], n[0], n[1], how);
    }
    w->attrs[0] = 0;
    list_text(w->attrs, "kernel_shape", w->n, w->kernel, NULL);
    list_text(w->attrs, "strides", w->n, w->stride, NULL);
    list_text(w->attrs, "pads", w->n, w->before, w->after);
    if (!unit)
        list_text(w->attrs, "dilations", w->n, w->dilation, NULL);
    w->attrs[strlen(w->attrs) - 1] = 0;
    return true;
}

static int pick_image(Draw *d)
{
    for (int i = 0; i < 40; i++) {
        int x = pick(d);
        const RValue *v = value_at(d, x);
        if (v->type == DT_F32 && v->rank >= 3 && v->rank <= 5 && (v->rank == 4 || chance(d, 30)) &&
            !v->dim[1].tag)
            return x;
    }
    return -1;
}

static bool conv_family(Draw *d)
{
    int x = pick_image(d);
    if (x < 0)
        return false;
    RValue v = *value_at(d, x);
    Dim out[RECIPE_RANK], weight[RECIPE_RANK];
    Windows w;
    int64_t c = v.dim[1].at[0], groups = 1, m = ANY(d, 1, 2, 4, 8, 12, 16, 17, 32);
    if (d->r->odd || !c || !draw_windows(d, &v, false, &w, out))
        return false; /* a padding of 0 times infinity: taps outside may be left out */
    if (chance(d, 25))
        groups = c; /* depthwise */
    else if (chance(d, 20) && c % 2 == 0)
        groups = 2;
    m = groups == 1 ? m : groups * ANY(d, 1, 1, 2);
    out[0] = v.dim[0];
    out[1] = weight[0] = fixed(m);
    weight[1] = fixed(c / groups);
    double taps = (double)(c / groups);
    for (int i = 0; i < w.n; i++) {
        weight[i + 2] = fixed(w.kernel[i]);
        taps *= (double)w.kernel[i];
    }
    int k = add_data(d, v.type, v.rank, weight);
    int b = chance(d, 60) ? add_data(d, v.type, 1, &weight[0]) : -1;
    int y = add_node(d, "Conv", b < 0 ? 2 : 3, (int[]){x, k, b}, v.type, v.rank, out,
        "%s group=%lld", w.attrs, (long long)groups);
    d->work += taps * elements(value_at(d, y));
    settle(d, y, product_scale(&v, value_at(d, k), taps) + 2, false);
    return true;
}

static bool conv_transpose_family(Draw *d)
{
    int x = pick_image(d);
    if (x < 0 || value_at(d, x)->rank != 4 || d->r->odd)
        return false;
    RValue v = *value_at(d, x);
    int64_t c = v.dim[1].at[0], k = ANY(d, 1, 2, 3), s = ANY(d, 1, 2, 2, 3),
            p = below(d, MIN(2, k));
    int64_t groups = chance(d, 20) ? c : 1, m = groups > 1 ? 1 : ANY(d, 1, 3, 8);
    Dim out[4] = {v.dim[0], fixed(m * groups)};
    for (int i = 2; i < 4; i++) {
        int64_t n[2];
        for (int run = 0; run < 2; run++)
            n[run] = (v.dim[i].at[run] - 1) * s - 2 * p + k;
        if (n[0] < 1 || n[1] < 1)
            return false;
        out[i] = dim_of(&v.dim[i], n[0], n[1], (uint32_t)(s * 100 + p * 10 + k));
    }
    if (!c)
        return false;
    int w = add_data(d, v.type, 4, (Dim[]){fixed(c), fixed(m), fixed(k), fixed(k)});
    int y = add_node(d, "ConvTranspose", IN(x, w), v.type, 4, out,
        "strides=[%lld,%lld] pads=[%lld,%lld,%lld,%lld] group=%lld", (long long)s, (long long)s,
        (long long)p, (long long)p, (long long)p, (long long)p, (long long)groups);
    d->work += elements(value_at(d, y)) * (double)(c / groups * k * k * 3);
    return settle(d, y, product_scale(&v, value_at(d, w), (double)(c / groups * k * k)), false);
}

static bool pool_family(Draw *d)
{
    int x = pick_image(d);
    if (x < 0)
        return false;
    RValue v = *value_at(d, x);
    Dim out[RECIPE_RANK] = {v.dim[0], v.dim[1]};
    Windows w;
    if (chance(d, 20)) {
        for (int k = 2; k < v.rank; k++) {
            out[k] = fixed(1);
            if (!v.dim[k].at[0] || !v.dim[k].at[1])
                return false;
        }
        bool max = chance(d, 40);
        return settle(d,
            add_node(d, max ? "GlobalMaxPool" : "GlobalAveragePool", IN(x), v.type, v.rank, out,
                "%s", ""),
            v.scale, max);
    }
    if (!draw_windows(d, &v, true, &w, out))
        return false;
    bool max = chance(d, 60);
    if (!max && strstr(w.attrs, "dilations")) /* not at this opset */
        return false;
    int y = add_node(d, max ? "MaxPool" : "AveragePool", IN(x), v.type, v.rank, out,
        "%s ceil_mode=%d%s", w.attrs, w.ceil, !max && chance(d, 50) ? " count_include_pad=1" : "");
    d->work += elements(value_at(d, y)) * 9;
    return settle(d, y, v.scale, max);
}

/* ---- normalizations -------------------------------------------------------------------------- */

static bool softmax_family(Draw *d)
{
    int x = pick_float(d);
    if (x < 0 || !value_at(d, x)->rank || value_at(d, x)->type == DT_BF16)
        return false;
    int64_t rank = value_at(d, x)->rank, axis = chance(d, 60) ? -1 : below(d, 2 * rank) - rank;
    char attrs[24];
    snprintf(attrs, sizeof attrs, "axis=%lld", (long long)axis);
    bool logs = chance(d, 20);
    return settle(d, add_like(d, logs ? "LogSoftmax" : "Softmax", x, attrs),
        logs ? value_at(d, x)->scale + 4 : 1, false);
}

static bool layer_norm_family(Draw *d)
{
    int x = pick_type(d, DT_F32);
    if (x < 0 || !value_at(d, x)->rank)
        return false;
    RValue v = *value_at(d, x);
    int axis = chance(d, 75) ? v.rank - 1 : (int)below(d, v.rank);
    int s = add_data(d, v.type, v.rank - axis, v.dim + axis);
    int b = chance(d, 80) ? add_data(d, v.type, v.rank - axis, v.dim + axis) : -1;
    int y = add_node(d, "LayerNormalization", b < 0 ? 2 : 3, (int[]){x, s, b}, v.type, v.rank,
        v.dim, "axis=%d epsilon=0.01f", axis);
    return settle(d, y, 5, false);
}

static bool channel_norm_family(Draw *d)
{
    int x = pick_image(d);
    if (x < 0)
        return false;
    RValue v = *value_at(d, x);
    Dim *c = &v.dim[1];
    int s = add_data(d, v.type, 1, c), b = add_data(d, v.type, 1, c);
    if (chance(d, 40))
        return settle(d,
            add_node(d, "InstanceNormalization", IN(x, s, b), v.type, v.rank, v.dim,
                "epsilon=0.01f"),
            5, false);
    if (chance(d, 20))
        return settle(d,
            add_node(d, "LRN", IN(x), v.type, v.rank, v.dim, "size=%d", (int)ANY(d, 1, 3, 5)),
            v.scale, false);
    int mean = add_data(d, v.type, 1, c), var = add_range(d, v.type, 1, c, 0.5, 3);
    return settle(d,
        add_node(d, "BatchNormalization", IN(x, s, b, mean, var), v.type, v.rank, v.dim, "%s", ""),
        v.scale * 2, false);
}

/* ---- reductions ------------------------------------------------------------------------------ */

typedef struct Reduction {
    const char *op;
    int grows;                 /* 0: no, 1: like a sum, 2: like a sum of squares */
    bool exact, floats, empty; /* may be of ints only if exact; has a value for nothing */
} Reduction;
static const Reduction reductions[] = {{"ReduceSum", 1, false, false, true},
    {"ReduceSum", 1, false, false, true}, {"ReduceMean", 0, false, true, false},
    {"ReduceMean", 0, false, true, false}, {"ReduceMax", 0, true, false, false},
    {"ReduceMin", 0, true, false, false}, {"ReduceL1", 1, false, true, true},
    {"ReduceL2", 1, false, true, true}, {"ReduceSumSquare", 2, false, true, true},
    {"ReduceLogSumExp", 0, false, true, false}};

/* Which axes, and what is left; returns the number of elements of each reduction. */
static double draw_axes(Draw *d, const RValue *v, bool keep, char *axes, int *rank, Dim *dim)
{
    double n = 1;
    int at_least = (int)below(d, v->rank), count = 0;
    *rank = 0;
    for (int k = 0; k < v->rank; k++) {
        bool reduced = k == at_least || chance(d, 30);
        if (reduced) {
            n *= (double)MIN(v->dim[k].at[0], v->dim[k].at[1]);
            axes += sprintf(axes, "%s%d", count++ ? "," : "", chance(d, 50) ? k : k - v->rank);
        }
        if (!reduced || keep)
            dim[(*rank)++] = reduced ? fixed(1) : v->dim[k];
    }
    return n;
}

static bool reduce_family(Draw *d)
{
    const Reduction *red = &reductions[below(d, NELEM(reductions))];
    int x = pick(d), rank;
    RValue v = *value_at(d, x);
    bool ints = v.type == DT_I32 || v.type == DT_I64, keep = chance(d, 50);
    if (!v.rank || v.type == DT_BOOL || (!ints && !dtype_is_float(v.type)) || (ints && red->floats))
        return false;
    char axes[64];
    Dim dim[RECIPE_RANK];
    double n = draw_axes(d, &v, keep, axes, &rank, dim);
    if ((n == 0 && !red->empty) || (ints && v.scale * n > 1e8))
        return false;
    double scale = red->grows == 2 ? v.scale * v.scale * n
        : red->grows               ? v.scale * sqrt(n + 1)
                                   : v.scale;
    if (!strcmp(red->op, "ReduceSum")) {
        int64_t list[RECIPE_RANK];
        int n_list = 0;
        char *end = axes;
        for (char *c = axes; *c; c = *end ? end + 1 : end)
            list[n_list++] = strtol(c, &end, 10);
        int l = add_list(d, n_list, list);
        return settle(d, add_node(d, red->op, IN(x, l), v.type, rank, dim, "keepdims=%d", keep),
            ints ? v.scale * n : scale, ints);
    }
    return settle(d,
        add_node(d, red->op, IN(x), v.type, rank, dim, "axes=[%s] keepdims=%d", axes, keep),
        scale + 5, red->exact || ints);
}

static bool arg_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (!v.rank || !v.exact || d->r->odd || (v.type != DT_F32 && v.type != DT_I32))
        return false;
    int axis = (int)below(d, v.rank), rank = 0;
    bool keep = chance(d, 50);
    Dim dim[RECIPE_RANK];
    if (!v.dim[axis].at[0] || !v.dim[axis].at[1])
        return false;
    for (int k = 0; k < v.rank; k++)
        if (k != axis || keep)
            dim[rank++] = k == axis ? fixed(1) : v.dim[k];
    return settle(d,
        add_node(d, chance(d, 50) ? "ArgMax" : "ArgMin", IN(x), DT_I64, rank, dim,
            "axis=%d keepdims=%d select_last_index=%d", axis, keep, chance(d, 50)),
        (double)MAX(v.dim[axis].at[0], v.dim[axis].at[1]), true);
}

const FamilyRow op_families[] = {{unary_family, 20}, {partial_family, 6}, {step_family, 3},
    {integer_family, 3}, {clip_family, 4}, {binary_family, 25}, {divide_family, 4},
    {power_family, 2}, {logic_family, 3}, {compare_family, 4}, {where_family, 5}, {cast_family, 5},
    {many_family, 2}, {matmul_family, 12}, {self_product_family, 5}, {gemm_family, 6},
    {einsum_family, 4}, {conv_family, 18}, {conv_transpose_family, 3}, {pool_family, 8},
    {softmax_family, 7}, {layer_norm_family, 6}, {channel_norm_family, 5}, {reduce_family, 14},
    {arg_family, 3}};
const int n_op_families = NELEM(op_families);
