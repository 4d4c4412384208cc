/* resize.c: Resize and Upsample.
 *
 * Axes are independent: each has a coordinate x(o) in the input for position o of the output, a few
 * taps around it and their weights. Only what the output's position decides is tabulated, one row
 * per position: the weights, and the taps' indices where they are no plain index form. Tables are
 * definitions like any other, so sizes need not be known; where they are, the table is evaluated
 * here and becomes a constant.
 *
 * Where the scale is the ratio P/Q of integers, x(o) is an exact fraction (num / den) and its floor
 * an index form: the taps of an upsampling by 2 are affine in o div 2, and nothing is chosen by
 * data.
 */
#include "graph/interp.h"
#include "graph/ops/dims.h"
#include <math.h>

typedef enum { NEAREST, LINEAR, CUBIC } Mode;
typedef enum {
    HALF_PIXEL,
    SYMMETRIC,
    PYTORCH,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_CROP,
    TF_HALF
} Transform;
typedef enum { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, SIMPLE } Rounding;

typedef struct Axis {
    const Ix *in, *out;
    const Expr *scale;       /* out / in, of type `work` */
    const Expr *width;       /* scale * in: the extent before it was made an integer */
    const Expr *start, *end; /* region of interest */
    int64_t p, q;            /* scale == p / q; 0: not a simple ratio */
} Axis;

typedef struct Resize {
    Op *o;
    const Value *x;
    Mode mode;
    Transform transform;
    Rounding rounding;
    bool antialias, exclude_outside;
    DType work, acc; /* of coordinates, of sums */
    Axis axis[MAX_RANK];
    Interp *interp;
} Resize;

/* The position in the input that stands for position o of the output. */
typedef struct Coord {
    const Ix *num; /* exact: num / den; else NULL */
    int64_t den;
    const Expr *x, *floor, *frac; /* work, i64, work; x only where not exact */
} Coord;

/* ---- tables ---------------------------------------------------------------------------------- */

enum { TABLE_MAX = 1 << 18 };

/* A table over which nothing but constants have a say is computed now. */
static const Value *settled(Resize *r, const Axis *a, Value *v)
{
    int64_t dim[MAX_RANK], count = 1;
    bool known =
        a->scale->kind == EX_CONST && a->start->kind == EX_CONST && a->end->kind == EX_CONST;
    if (!known || !value_static(v, dim) || !ix_is_const(a->in))
        return v;
    for (int k = 0; k < v->rank; k++)
        count *= dim[k];
    if (count > TABLE_MAX)
        return v;
    if (!r->interp)
        r->interp = interp_new(r->o->cx, r->o->pool, NULL, NULL, NULL);
    v->data = interp_def(r->interp, v->def);
    v->def = NULL;
    r->o->node->defs.n--; /* the definition just built */
    return v;
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static const Expr *num(Resize *r, double x) { return ex_f(r->o->pool, r->work, x); }

static const Expr *as_num(Resize *r, const Ix *i)
{
    return ex_cast(r->o->pool, r->work, ex_ix(r->o->pool, i));
}

/* x(o) = num / den exactly; false where the transform or the scale does not allow it. */
static bool exact_coord(Resize *r, const Axis *a, const Ix *o, Coord *c)
{
    Pool *p = r->o->pool;
    const Ix *Q = ix_int(p, a->q), *odd = ix_addi(p, ix_muli(p, o, 2), 1);
    bool fixed = ix_is_const(a->in) && ix_is_const(a->out);
    bool whole = a->p && a->q && (a->q == 1 || (fixed && a->in->c * a->p == a->out->c * a->q));
    if (!a->p)
        return false;
    switch (r->transform) {
    case SYMMETRIC: /* from center to center: in/2 + (o + 1/2 - out/2) * q/p - 1/2 */
        c->num = ix_add(p, ix_mul(p, ix_sub(p, odd, a->out), Q),
            ix_muli(p, ix_addi(p, a->in, -1), a->p));
        c->den = 2 * a->p;
        return true;
    case PYTORCH:
        if (!whole || (fixed ? a->out->c < 2 : a->p < 2))
            return false;
        /* fall through */
    case HALF_PIXEL:
        c->num = ix_addi(p, ix_mul(p, odd, Q), -a->p);
        c->den = 2 * a->p;
        return true;
    case TF_HALF:
        c->num = ix_mul(p, odd, Q);
        c->den = 2 * a->p;
        return true;
    case ASYMMETRIC:
        c->num = ix_mul(p, o, Q);
        c->den = a->p;
        return true;
    case ALIGN_CORNERS:
        if (!whole || !fixed || a->out->c < 2)
            return false;
        c->num = ix_muli(p, o, a->in->c - 1);
        c->den = a->out->c - 1;
        return true;
    default: return false;
    }
}

/* x(o) by the formulas of the spec. */
static const Expr *inexact_coord(Resize *r, const Axis *a, const Ix *o)
{
    Pool *p = r->o->pool;
    const Expr *i = as_num(r, o), *one = num(r, 1), *half = num(r, 0.5), *zero = num(r, 0);
    const Expr *last = as_num(r, ix_addi(p, a->in, -1)), *last_out = ex2(p, sub, a->width, one);
    const Expr *many = ex2(p, lt, one, a->width);
    const Expr *center = ex2(p, sub, ex2(p, div, ex2(p, add, i, half), a->scale), half);
    switch (r->transform) {
    case SYMMETRIC: {
        const Expr *adjust = ex2(p, div, as_num(r, a->out), a->width);
        const Expr *offset =
            ex2(p, mul, ex2(p, mul, as_num(r, a->in), half), ex2(p, sub, one, adjust));
        return ex2(p, add, offset, center);
    }
    case PYTORCH: return ex_select(p, many, center, zero);
    case ALIGN_CORNERS:
        return ex_select(p, ex2(p, eq, a->width, one), zero,
            ex2(p, div, ex2(p, mul, i, last), last_out));
    case ASYMMETRIC: return ex2(p, div, i, a->scale);
    case TF_HALF: return ex2(p, div, ex2(p, add, i, half), a->scale);
    case TF_CROP: {
        const Expr *span = ex2(p, mul, ex2(p, sub, a->end, a->start), last);
        const Expr *at =
            ex2(p, add, ex2(p, mul, a->start, last), ex2(p, div, ex2(p, mul, i, span), last_out));
        const Expr *middle = ex2(p, mul, ex2(p, mul, half, ex2(p, add, a->start, a->end)), last);
        return ex_select(p, many, at, middle);
    }
    default: return center;
    }
}

static Coord coord_of(Resize *r, const Axis *a, const Ix *o)
{
    Pool *p = r->o->pool;
    Coord c = {0};
    if (exact_coord(r, a, o, &c)) {
        const Ix *den = ix_int(p, c.den);
        c.floor = ex_ix(p, ix_div(p, c.num, den));
        c.frac = ex2(p, div, as_num(r, ix_mod(p, c.num, den)), num(r, (double)c.den));
    } else {
        c.x = inexact_coord(r, a, o);
        const Expr *f = ex1(p, floor, c.x);
        c.floor = ex_cast(p, DT_I64, f);
        c.frac = ex2(p, sub, c.x, f);
    }
    return c;
}

/* ---- nearest --------------------------------------------------------------------------------- */

static const Ix *round_exact(Pool *p, Rounding rounding, bool down, const Ix *n, int64_t den)
{
    const Ix *d = ix_int(p, den), *d2 = ix_int(p, 2 * den), *n2 = ix_muli(p, n, 2);
    switch (rounding) {
    case PREFER_FLOOR: return ix_ceil_div(p, ix_sub(p, n2, d), d2);
    case PREFER_CEIL: return ix_div(p, ix_add(p, n2, d), d2);
    case CEIL: return ix_ceil_div(p, n, d);
    case SIMPLE: return down ? ix_ceil_div(p, n, d) : ix_div(p, n, d);
    default: return ix_div(p, n, d);
    }
}

static const Expr *round_inexact(Resize *r, const Axis *a, const Expr *x)
{
    Pool *p = r->o->pool;
    const Expr *half = num(r, 0.5);
    switch (r->rounding) {
    case PREFER_FLOOR: return ex1(p, ceil, ex2(p, sub, x, half));
    case PREFER_CEIL: return ex1(p, floor, ex2(p, add, x, half));
    case CEIL: return ex1(p, ceil, x);
    case SIMPLE:
        return ex_select(p, ex2(p, lt, a->scale, num(r, 1)), ex1(p, ceil, x), ex1(p, floor, x));
    default: return ex1(p, floor, x);
    }
}

/* For an upsampling by a whole p, is the nearest position o div p throughout? It is if it is for o
 * < p, where the coordinate moves on by 1 with every p positions. */
static bool is_repeat(Resize *r, const Axis *a)
{
    Pool *p = r->o->pool;
    bool repeat = a->q == 1 && a->p < 4096 && r->transform != ALIGN_CORNERS;
    for (int64_t i = 0; i < a->p && repeat; i++) {
        Coord c = {0};
        repeat = exact_coord(r, a, ix_int(p, i), &c) &&
            ix_is(round_exact(p, r->rounding, false, c.num, c.den), 0);
    }
    return repeat;
}

/* ---- taps and weights ------------------------------------------------------------------------ */

/* Weight of an input at distance x, the scale included. */
static const Expr *kernel(Resize *r, const Expr *x)
{
    Pool *p = r->o->pool;
    const Expr *one = num(r, 1), *zero = num(r, 0);
    x = ex1(p, abs, x);
    if (r->mode == LINEAR)
        return ex2(p, max, zero, ex2(p, sub, one, x));
    double a = op_attr_f(r->o, "cubic_coeff_a", -0.75);
    const Expr *near = ex2(p, sub, ex2(p, mul, num(r, a + 2), x), num(r, a + 3));
    near = ex2(p, add, ex2(p, mul, ex2(p, mul, near, x), x), one);
    const Expr *far = ex2(p, sub, ex2(p, mul, num(r, a), x), num(r, 5 * a));
    far = ex2(p, add, ex2(p, mul, far, x), num(r, 8 * a));
    far = ex2(p, sub, ex2(p, mul, far, x), num(r, 4 * a));
    return ex_select(p, ex2(p, le, x, one), near,
        ex_select(p, ex2(p, lt, x, num(r, 2)), far, zero));
}

/* The taps of one axis: their number, and row o of the tables. */
typedef struct Taps {
    const Ix *n, *before; /* the first tap is `before` to the left of the one after x */
    const Expr *stretch;  /* of the kernel: min(scale, 1) when antialiasing */
    bool norm;            /* weights need to be divided by their sum */
    const Value *weight;  /* [out, n] */
    const Value *index;   /* [out, n], where it is needed */
} Taps;

static Taps taps_of(Resize *r, const Axis *a)
{
    Pool *p = r->o->pool;
    double support = r->mode == LINEAR ? 1 : 2;
    if (r->mode == NEAREST)
        return (Taps){.n = ix_int(p, 1)};
    Taps t = {.before = ix_int(p, (int64_t)support), .norm = r->exclude_outside};
    bool up = a->scale->kind == EX_CONST && a->scale->k.f >= 1;
    if (r->antialias && !up) {
        t.norm = true;
        t.stretch = ex2(p, min, a->scale, num(r, 1));
        const Expr *reach = ex1(p, ceil, ex2(p, div, num(r, support), t.stretch));
        t.before = dim_of_expr(r->o, ex_cast(p, DT_I64, reach));
    }
    t.n = ix_muli(p, t.before, 2);
    return t;
}

/* Input position of tap j: floor(x) + 1 - before + j, not yet clamped. */
static const Expr *tap_at(Pool *p, const Taps *t, const Coord *c, const Ix *j)
{
    return ex2(p, add, c->floor, ex_ix(p, ix_addi(p, ix_sub(p, j, t->before), 1)));
}

static const Expr *raw_weight(Resize *r, const Axis *a, const Taps *t, const Ix *o, const Ix *j)
{
    Pool *p = r->o->pool;
    Coord c = coord_of(r, a, o);
    const Expr *w;
    if (r->mode == LINEAR && !t->stretch) {
        const Expr *second = ex2(p, eq, ex_ix(p, j), ex_i(p, 1));
        w = ex_select(p, second, c.frac, ex2(p, sub, num(r, 1), c.frac));
    } else {
        const Expr *d = ex2(p, sub, as_num(r, ix_addi(p, ix_sub(p, j, t->before), 1)), c.frac);
        w = kernel(r, t->stretch ? ex2(p, mul, d, t->stretch) : d);
    }
    if (!r->exclude_outside)
        return w;
    const Expr *at = tap_at(p, t, &c, j);
    const Expr *in = ex_and(p, ex2(p, le, ex_i(p, 0), at), ex2(p, lt, at, ex_ix(p, a->in)));
    return ex_select(p, in, w, num(r, 0));
}

static void tabulate_weights(Resize *r, const Axis *a, Taps *t)
{
    Pool *p = r->o->pool;
    const Ix *dim[2] = {a->out, t->n};
    DType raw_type = t->norm ? r->work : r->acc;
    Build raw = op_temp(r->o, raw_type, 2, dim);
    const Expr *e = raw_weight(r, a, t, raw.i[0], raw.i[1]);
    t->weight = settled(r, a, build_map(&raw, ex_cast(p, raw_type, e)));
    if (!t->norm)
        return;
    Build sum = op_temp(r->o, r->work, 1, dim);
    const Var *j = op_var(r->o, t->n, "t");
    const Ix *at[2] = {sum.i[0], ix_of_var(p, j)};
    const Value *total =
        settled(r, a, build_reduce(&sum, RED_SUM, r->work, 1, &j, op_load(r->o, t->weight, at)));
    Build w = op_temp(r->o, r->acc, 2, dim);
    const Expr *s = op_load1(r->o, total, w.i[0]);
    s = ex_select(p, ex2(p, eq, s, num(r, 0)), num(r, 1), s);
    e = ex2(p, div, op_load(r->o, t->weight, w.i), s);
    t->weight = settled(r, a, build_map(&w, ex_cast(p, r->acc, e)));
}

/* The input index of tap j of position o: i64. */
static const Expr *index_expr(Resize *r, const Axis *a, const Taps *t, const Ix *o, const Ix *j)
{
    Pool *p = r->o->pool;
    Coord c = coord_of(r, a, o);
    const Expr *i;
    if (r->mode != NEAREST)
        i = tap_at(p, t, &c, j);
    else if (c.num)
        i = ex_ix(p, round_exact(p, r->rounding, a->p < a->q, c.num, c.den));
    else
        i = ex_cast(p, DT_I64, round_inexact(r, a, c.x));
    return ex2(p, max, ex2(p, min, i, ex_ix(p, ix_addi(p, a->in, -1))), ex_i(p, 0));
}

/* The same as an index: through a table, made at the first call, if it is no index form. */
static const Ix *tap_index(Resize *r, const Axis *a, Taps *t, const Ix *o, const Ix *j)
{
    const Expr *e = index_expr(r, a, t, o, j);
    if (e->kind == EX_CONST || e->kind == EX_IX)
        return ix_of_expr(r->o->pool, e, 0, 0);
    const Ix *dim[2] = {a->out, t->n}, *row[2] = {o, j};
    if (!t->index) {
        Build table = op_temp(r->o, DT_I64, 2, dim);
        t->index = settled(r, a, build_map(&table, index_expr(r, a, t, table.i[0], table.i[1])));
    }
    return op_data_index(r->o, op_load(r->o, t->index, row), a->in, false);
}

/* weight * x at tap j of position i[k] on axis k. */
static const Expr *tap(Resize *r, Taps *t, const Value *x, const Ix *const *i, int k, const Ix *j)
{
    const Ix *at[MAX_RANK], *row[2] = {i[k], j};
    memcpy(at, i, (size_t)x->rank * sizeof *at);
    at[k] = tap_index(r, &r->axis[k], t, i[k], j);
    const Expr *e = ex_cast(r->o->pool, r->acc, op_load(r->o, x, at));
    return ex2(r->o->pool, mul, op_load(r->o, t->weight, row), e);
}

/* x interpolated along axis k, into y. Few taps are written out; many are a reduction. */
static const Expr *interpolated(Resize *r, const Value *x, Build *y, int k, int max_taps)
{
    Pool *p = r->o->pool;
    const Axis *a = &r->axis[k];
    Taps t = taps_of(r, a);
    tabulate_weights(r, a, &t);
    if (!ix_is_const(t.n) || t.n->c > max_taps) {
        const Var *j = op_var(r->o, t.n, "t");
        Build s = op_temp(r->o, r->acc, y->rank, (const Ix *const *)y->out->dim);
        const Value *sum =
            build_reduce(&s, RED_SUM, r->acc, 1, &j, tap(r, &t, x, s.i, k, ix_of_var(p, j)));
        return op_load(r->o, sum, y->i);
    }
    const Expr *e = NULL;
    for (int64_t j = 0; j < t.n->c; j++) {
        const Expr *one = tap(r, &t, x, y->i, k, ix_int(p, j));
        e = e ? ex2(p, add, e, one) : one;
    }
    return e;
}

/* A sum as an element of type t: integers get the nearest, and stay in range. */
static const Expr *as_element(Pool *p, DType t, const Expr *e)
{
    if (!dtype_is_int(t))
        return ex_cast(p, t, e);
    double lo = scalar_double(t, ex_identity(p, RED_MAX, t)->k),
           hi = scalar_double(t, ex_identity(p, RED_MIN, t)->k);
    if (dtype_bits(t) == 64)
        hi = nextafter(hi, 0); /* the largest double that fits */
    e = ex1(p, rint, e);
    return ex_cast(p, t, ex2(p, max, ex_f(p, e->type, lo), ex2(p, min, ex_f(p, e->type, hi), e)));
}

/* ---- attributes and sizes -------------------------------------------------------------------- */

static int choice(Op *o, const char *attr, const char *dflt, int n, const char *const *name)
{
    const char *s = op_attr_s(o, attr, dflt);
    for (int i = 0; i < n; i++)
        if (!strcmp(s, name[i]))
            return i;
    op_error(o, "attribute '%s' is '%s'", attr, s);
}

static void read_modes(Resize *r, bool upsample)
{
    static const char *const mode[] = {"nearest", "linear", "cubic", "bilinear"};
    static const char *const transform[] = {"half_pixel", "half_pixel_symmetric",
        "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
        "tf_half_pixel_for_nn"};
    static const char *const rounding[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
        "ceil"};
    Op *o = r->o;
    bool old = upsample || o->opset < 11;
    int m = choice(o, "mode", "nearest", upsample && o->opset < 7 ? 4 : old ? 2 : 3, mode);
    int t = choice(o, "coordinate_transformation_mode", "half_pixel", NELEM(transform), transform);
    r->mode = m == 3 ? LINEAR : (Mode)m;
    r->transform = old ? ASYMMETRIC : (Transform)t;
    r->rounding =
        old ? SIMPLE : (Rounding)choice(o, "nearest_mode", "round_prefer_floor", 4, rounding);
    r->antialias = op_attr_i(o, "antialias", 0) != 0 && r->mode != NEAREST;
    r->exclude_outside = op_attr_i(o, "exclude_outside", 0) != 0 && r->mode != NEAREST;
}

/* The scale as p/q, where it is so with a small power of two as q, or because it was computed from
 * the extents. */
static void find_ratio(Axis *a)
{
    bool fixed = ix_is_const(a->in) && ix_is_const(a->out) && a->in->c > 0 && a->out->c > 0;
    a->p = a->q = 0;
    if (a->scale->kind != EX_CONST || !(a->scale->k.f > 0))
        return;
    double s = a->scale->k.f;
    bool from_extents =
        fixed && fabs(s * (double)a->in->c - (double)a->out->c) <= ldexp((double)a->out->c, -22);
    if (from_extents && a->in->c < INT32_MAX && a->out->c < INT32_MAX) {
        a->p = a->out->c;
        a->q = a->in->c;
        if (a->p % a->q == 0) {
            a->p /= a->q;
            a->q = 1;
        }
        return;
    }
    for (int k = 0; k <= 10 && !a->p; k++) {
        double scaled = ldexp(s, k);
        if (scaled == floor(scaled) && scaled < (1 << 20)) {
            a->p = (int64_t)scaled;
            a->q = (int64_t)1 << k;
        }
    }
}

/* floor(in * scale), an index form where the scale is a whole number or a simple fraction. */
static const Ix *scaled_extent(Resize *r, const Ix *in, const Expr *scale)
{
    Pool *p = r->o->pool;
    Axis a = {.in = in, .out = ix_int(p, 0), .scale = scale};
    find_ratio(&a);
    if (a.p)
        return ix_div(p, ix_muli(p, in, a.p), ix_int(p, a.q));
    const Expr *width = ex2(p, mul, as_num(r, in), scale);
    return dim_of_expr(r->o, ex_cast(p, DT_I64, ex1(p, floor, width)));
}

static void use_scale(Resize *r, Axis *a, const Expr *scale)
{
    Pool *p = r->o->pool;
    a->scale = ex_cast(p, r->work, scale);
    if (a->scale->kind == EX_CONST && !(a->scale->k.f > 0 && a->scale->k.f < 1e9))
        op_error(r->o, "a scale is not positive");
    a->out = scaled_extent(r, a->in, a->scale);
    a->width = ex2(p, mul, as_num(r, a->in), a->scale);
    find_ratio(a);
}

static void use_extent(Resize *r, Axis *a, const Ix *out)
{
    Pool *p = r->o->pool;
    a->out = out;
    a->width = as_num(r, out);
    a->scale = ex2(p, div, a->width, as_num(r, a->in));
    const Ix *times = ix_is(a->in, 0) ? out : ix_div(p, out, a->in);
    if (ix_is_const(times) && ix_muli(p, a->in, times->c) == out) /* also of symbolic extents */
        a->scale = num(r, (double)times->c);
    find_ratio(a);
}

/* keep_aspect_ratio_policy: one scale for all the axes, the smallest or the largest that `sizes`
 * asks for. */
static void use_common_scale(Resize *r, int n, const int *axes, const Value *sizes, bool smallest)
{
    Pool *p = r->o->pool;
    const Expr *common = NULL;
    for (int j = 0; j < n; j++) {
        const Expr *size = as_num(r, list_dim(r->o, sizes, j));
        const Expr *s = ex2(p, div, size, as_num(r, r->axis[axes[j]].in));
        common = !common ? s : smallest ? ex2(p, min, common, s) : ex2(p, max, common, s);
    }
    for (int j = 0; j < n; j++) {
        Axis *a = &r->axis[axes[j]];
        a->scale = common;
        a->width = ex2(p, mul, as_num(r, a->in), common);
        const Expr *rounded = ex1(p, floor, ex2(p, add, a->width, num(r, 0.5)));
        a->out = dim_of_expr(r->o, ex_cast(p, DT_I64, rounded));
        find_ratio(a);
    }
}

/* The axes that scales, sizes and roi speak of, in their order. */
static int resized_axes(Resize *r, int *axes)
{
    int n;
    const int64_t *list = op_attr_ints(r->o, "axes", &n);
    bool given = op_has_attr(r->o, "axes"), seen[MAX_RANK] = {false};
    n = given ? n : r->x->rank;
    if (n > r->x->rank)
        op_error(r->o, "attribute 'axes' has %d values for rank %d", n, r->x->rank);
    for (int j = 0; j < n; j++) {
        axes[j] = given ? op_axis(r->o, list[j], r->x->rank) : j;
        if (seen[axes[j]])
            op_error(r->o, "axis %d is given twice", axes[j]);
        seen[axes[j]] = true;
    }
    return n;
}

static void read_roi(Resize *r, int n, const int *axes)
{
    const Value *roi = op_opt(r->o, 1, T_FLOAT);
    if (r->transform != TF_CROP)
        return;
    if (!roi || list_count(r->o, roi, 2 * MAX_RANK) != 2 * n)
        op_error(r->o, "tf_crop_and_resize needs a roi of %d elements", 2 * n);
    for (int j = 0; j < n; j++) {
        r->axis[axes[j]].start = ex_cast(r->o->pool, r->work, list_elem(r->o, roi, j));
        r->axis[axes[j]].end = ex_cast(r->o->pool, r->work, list_elem(r->o, roi, j + n));
    }
}

static void clear_axes(Resize *r)
{
    for (int k = 0; k < r->x->rank; k++) {
        Axis *a = &r->axis[k];
        a->in = r->x->dim[k];
        a->start = num(r, 0);
        a->end = num(r, 1);
        use_extent(r, a, a->in);
    }
}

/* Inputs X, roi, scales, sizes from version 11 on; X, scales before. */
static void read_sizes(Resize *r)
{
    static const char *const policy[] = {"stretch", "not_larger", "not_smaller"};
    Op *o = r->o;
    int axes[MAX_RANK], n = resized_axes(r, axes);
    const Value *scales = op_opt(o, o->opset < 11 ? 1 : 2, T_FLOAT),
                *sizes = op_opt(o, 3, T_BIT(DT_I64));
    if (scales && list_count(o, scales, MAX_RANK) == 0)
        scales = NULL;
    if (sizes && list_count(o, sizes, MAX_RANK) == 0)
        sizes = NULL;
    if (!scales == !sizes)
        op_error(o, "one of scales and sizes must be given");
    if (list_count(o, scales ? scales : sizes, MAX_RANK) != n)
        op_error(o, "%s has not one element for each of %d axes", scales ? "scales" : "sizes", n);
    r->work = scales ? DT_F32 : DT_F64;
    clear_axes(r);
    if (o->opset >= 11)
        read_roi(r, n, axes);
    int keep = choice(o, "keep_aspect_ratio_policy", "stretch", 3, policy);
    if (sizes && keep)
        use_common_scale(r, n, axes, sizes, keep == 1);
    for (int j = 0; j < n && !(sizes && keep); j++) {
        Axis *a = &r->axis[axes[j]];
        if (scales)
            use_scale(r, a, list_elem(o, scales, j));
        else
            use_extent(r, a, list_dim(o, sizes, j));
    }
}

/* ---- the operators --------------------------------------------------------------------------- */

/* Does every position of the axis stand for itself? */
static bool untouched(const Resize *r, const Axis *a)
{
    bool one = a->scale->kind == EX_CONST && a->scale->k.f == 1 && a->in == a->out;
    return one &&
        (r->transform != TF_CROP ||
            (a->start->kind == EX_CONST && a->start->k.f == 0 && a->end->kind == EX_CONST &&
                a->end->k.f == 1));
}

/* e, or extrapolation_value where some coordinate is outside the input (tf_crop_and_resize). */
static const Expr *extrapolated(Resize *r, const Build *y, const Expr *e)
{
    Pool *p = r->o->pool;
    const Expr *inside = ex_bool(p, true);
    for (int k = 0; k < y->rank && r->transform == TF_CROP; k++) {
        const Axis *a = &r->axis[k];
        if (untouched(r, a))
            continue;
        Build b = op_temp(r->o, DT_BOOL, 1, &a->out);
        const Expr *x = inexact_coord(r, a, b.i[0]), *last = as_num(r, ix_addi(p, a->in, -1));
        const Expr *in = ex_and(p, ex2(p, le, num(r, 0), x), ex2(p, le, x, last));
        inside = ex_and(p, inside, op_load1(r->o, settled(r, a, build_map(&b, in)), y->i[k]));
    }
    double outside = op_attr_f(r->o, "extrapolation_value", 0);
    return ex_select(p, inside, e, as_element(p, e->type, ex_f(p, DT_F64, outside)));
}

static const Ix *nearest_index(Resize *r, const Axis *a, const Ix *o)
{
    if (is_repeat(r, a))
        return ix_div(r->o->pool, o, ix_int(r->o->pool, a->p));
    Taps t = taps_of(r, a);
    return tap_index(r, a, &t, o, ix_int(r->o->pool, 0));
}

static void resize_nearest(Resize *r, Build *y)
{
    const Ix *at[MAX_RANK];
    for (int k = 0; k < y->rank; k++)
        at[k] = untouched(r, &r->axis[k]) ? y->i[k] : nearest_index(r, &r->axis[k], y->i[k]);
    build_map(y, extrapolated(r, y, op_load(r->o, r->x, at)));
}

/* One axis after the other; the last is the output's own definition. */
static void resize_weighted(Resize *r, Build *y)
{
    enum { WRITTEN_OUT = 4 };
    Op *o = r->o;
    int left = 0;
    for (int k = 0; k < y->rank; k++)
        left += !untouched(r, &r->axis[k]);
    const Value *x = r->x;
    const Ix *dim[MAX_RANK];
    const Expr *e = op_load(o, x, y->i);
    memcpy(dim, x->dim, (size_t)x->rank * sizeof *dim);
    for (int k = 0; k < y->rank; k++) {
        if (untouched(r, &r->axis[k]))
            continue;
        dim[k] = r->axis[k].out;
        if (--left == 0) {
            e = as_element(o->pool, y->out->type, interpolated(r, x, y, k, WRITTEN_OUT));
            break;
        }
        Build step = op_temp(o, r->acc, x->rank, dim);
        x = build_map(&step, interpolated(r, x, &step, k, WRITTEN_OUT));
    }
    build_map(y, extrapolated(r, y, e));
}

static void resize_all(Resize *r)
{
    const Ix *dim[MAX_RANK];
    DType t = r->x->type;
    bool wide = t == DT_F64 || (dtype_is_int(t) && dtype_bits(t) >= 32);
    r->acc = wide ? DT_F64 : DT_F32;
    for (int k = 0; k < r->x->rank; k++) {
        const Axis *a = &r->axis[k];
        dim[k] = a->out;
        if (ix_is(a->in, 0) && a->out->lo > 0)
            op_error(r->o, "axis %d has no elements to resize", k);
    }
    Build y = op_out(r->o, 0, t, r->x->rank, dim);
    if (r->mode == NEAREST)
        resize_nearest(r, &y);
    else
        resize_weighted(r, &y);
}

/* Resize (ai.onnx 10, 11, 13, 18, 19). */
static void resize(Op *o)
{
    Resize r = {.o = o, .x = op_in(o, 0, T_ANY)};
    read_modes(&r, false);
    read_sizes(&r);
    resize_all(&r);
}
OP("Resize", "", 1, resize)

/* Upsample (ai.onnx 1, 7, 9; dropped in 10): Resize as it was; version 1 names height and width of
 * an image. */
static void upsample(Op *o)
{
    Resize r = {.o = o, .x = op_in(o, 0, T_ANY), .work = DT_F32};
    int n = r.x->rank;
    read_modes(&r, true);
    clear_axes(&r);
    const Value *v = o->opset >= 9 ? op_in(o, 1, T_FLOAT) : NULL;
    const float *list = v ? NULL : op_attr_floats(o, "scales", &n);
    if (v)
        n = list_count(o, v, MAX_RANK);
    if (!v && !list)
        op_need_rank(o, r.x, 4, 4);
    else if (n != r.x->rank)
        op_error(o, "%d scales for rank %d", n, r.x->rank);
    for (int k = 0; k < r.x->rank; k++) {
        double old = k < 2 ? 1 : op_attr_f(o, k == 2 ? "height_scale" : "width_scale", 1);
        use_scale(&r, &r.axis[k],
            v ? list_elem(o, v, k) : ex_f(o->pool, DT_F32, list ? (double)list[k] : old));
    }
    resize_all(&r);
}
OP("Upsample", "", 1, upsample)
