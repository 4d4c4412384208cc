/* grid.c: GridSample and AffineGrid. */
#include "graph/ops/dims.h"

typedef enum { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC } GridMode;
typedef enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } GridPadding;

typedef struct Sampler {
    Op *o;
    const Value *x;
    int n; /* spatial axes */
    GridMode mode;
    GridPadding padding;
    bool aligned;
    DType work, acc;             /* of coordinates, of sums */
    const Value *index, *weight; /* [N, o.., axis, tap] */
} Sampler;

static const Expr *num(const Sampler *s, double x) { return ex_f(s->o->pool, s->work, x); }

static const Expr *as_num(const Sampler *s, const Ix *i)
{
    return ex_cast(s->o->pool, s->work, ex_ix(s->o->pool, i));
}

/* x mirrored at lo and hi until it lies between: a triangle wave. */
static const Expr *mirrored(const Sampler *s, const Expr *x, const Expr *lo, const Expr *hi)
{
    Pool *p = s->o->pool;
    const Expr *span = ex2(p, sub, hi, lo), *twice = ex2(p, mul, num(s, 2), span);
    const Expr *m = ex2(p, mod, ex1(p, abs, ex2(p, sub, x, lo)), twice);
    m = ex_select(p, ex2(p, le, m, span), m, ex2(p, sub, twice, m));
    const Expr *inside = ex_and(p, ex2(p, le, lo, x), ex2(p, le, x, hi));
    m = ex_select(p, ex2(p, lt, num(s, 0), span), ex2(p, add, lo, m), lo);
    return ex_select(p, inside, x, m);
}

/* The coordinate in the input of grid value g in [-1, 1] along an axis of extent d; far outside,
 * where nothing but padding is, it stops short of what integers can't hold. */
static const Expr *coordinate(const Sampler *s, const Expr *g, const Ix *d)
{
    Pool *p = s->o->pool;
    const Expr *one = num(s, 1), *two = num(s, 2), *half = num(s, 0.5), *len = as_num(s, d), *x;
    const Expr *last = as_num(s, ix_addi(p, d, -1)), *up = ex2(p, add, g, one);
    if (s->aligned)
        x = ex2(p, mul, ex2(p, div, up, two), last);
    else
        x = ex2(p, div, ex2(p, sub, ex2(p, mul, up, len), one), two);
    if (s->mode == GRID_NEAREST)
        x = ex1(p, rint, x);
    const Expr *lo = s->aligned ? num(s, 0) : num(s, -0.5),
               *hi = s->aligned ? last : ex2(p, sub, len, half);
    if (s->padding == PAD_REFLECTION)
        x = mirrored(s, x, lo, hi);
    if (s->padding == PAD_BORDER) { /* the half elements at the ends are not padding */
        const Expr *inside = ex_and(p, ex2(p, le, lo, x), ex2(p, le, x, hi));
        x = ex_select(p, inside, x, ex2(p, max, num(s, 0), ex2(p, min, x, last)));
    }
    return ex2(p, max, num(s, -3), ex2(p, min, x, ex2(p, add, len, two)));
}

/* Integer i mirrored into [0, d): with the border on the last element, or half an element past it.
 */
static const Expr *mirrored_int(const Sampler *s, const Expr *i, const Ix *d)
{
    Pool *p = s->o->pool;
    const Ix *top = ix_addi(p, ix_muli(p, d, 2), s->aligned ? -2 : -1);
    const Expr *period = ex_ix(p, ix_max(p, ix_int(p, 1), s->aligned ? top : ix_addi(p, top, 1)));
    const Expr *m = ex2(p, mod, ex2(p, add, ex2(p, mod, i, period), period), period);
    return ex2(p, min, m, ex2(p, sub, ex_ix(p, top), m));
}

/* Weight of the input at distance d of a tap. */
static const Expr *tap_weight(const Sampler *s, const Expr *d)
{
    Pool *p = s->o->pool;
    const Expr *one = num(s, 1), *x = ex1(p, abs, d);
    if (s->mode == GRID_NEAREST)
        return one;
    if (s->mode == GRID_LINEAR)
        return ex2(p, sub, one, x);
    const double a = -0.75;
    const Expr *near = ex2(p, sub, ex2(p, mul, num(s, a + 2), x), num(s, a + 3));
    near = ex2(p, add, ex2(p, mul, ex2(p, mul, near, x), x), one);
    const Expr *far = ex2(p, sub, ex2(p, mul, num(s, a), x), num(s, 5 * a));
    far = ex2(p, add, ex2(p, mul, far, x), num(s, 8 * a));
    far = ex2(p, sub, ex2(p, mul, far, x), num(s, 4 * a));
    return ex_select(p, ex2(p, le, x, one), near, far);
}

/* Tables over grid points, axes and taps: the input index, and the weight (0 on padding of zeros).
 */
static void tabulate(Sampler *s, const Value *grid, int taps)
{
    Pool *p = s->o->pool;
    int rank = grid->rank + 1;
    const Ix *dim[MAX_RANK + 1], *at[MAX_RANK];
    memcpy(dim, grid->dim, (size_t)grid->rank * sizeof *dim);
    dim[rank - 1] = ix_int(p, taps);
    for (int table = 0; table < 2; table++) {
        Build b = op_temp(s->o, table ? s->acc : DT_I64, rank, dim);
        const Ix *axis = b.i[rank - 2], *d = s->x->dim[2 + s->n - 1];
        const Expr *extent = ex_ix(p, d), *x, *i, *e;
        memcpy(at, b.i, (size_t)grid->rank * sizeof *at);
        x = coordinate(s, ex_cast(p, s->work, op_load(s->o, grid, at)), d);
        /* Axis 0 of the grid is the last of the input. */
        for (int k = 1; k < s->n; k++) {
            const Ix *dk = s->x->dim[2 + s->n - 1 - k];
            const Expr *here = ex2(p, eq, ex_ix(p, axis), ex_i(p, k));
            x = ex_select(p, here, coordinate(s, ex_cast(p, s->work, op_load(s->o, grid, at)), dk),
                x);
            extent = ex_select(p, here, ex_ix(p, dk), extent);
        }
        const Expr *f = ex1(p, floor, x),
                   *j = ex_ix(p, ix_addi(p, b.i[rank - 1], s->mode == GRID_CUBIC ? -1 : 0));
        i = ex2(p, add, ex_cast(p, DT_I64, f), j);
        const Expr *in = ex_and(p, ex2(p, le, ex_i(p, 0), i), ex2(p, lt, i, extent));
        if (table) {
            e = tap_weight(s, ex2(p, sub, ex_cast(p, s->work, j), ex2(p, sub, x, f)));
            e = s->padding == PAD_ZEROS ? ex_select(p, in, e, num(s, 0)) : e;
            s->weight = build_map(&b, ex_cast(p, s->acc, e));
            continue;
        }
        e = i;
        for (int k = 0; k < s->n && s->padding == PAD_REFLECTION; k++) {
            const Expr *here = ex2(p, eq, ex_ix(p, axis), ex_i(p, k));
            e = ex_select(p, here, mirrored_int(s, i, s->x->dim[2 + s->n - 1 - k]), e);
        }
        e = ex2(p, max, ex_i(p, 0), ex2(p, min, e, ex2(p, sub, extent, ex_i(p, 1))));
        s->index = build_map(&b, e);
    }
}

/* weight * input at tap j[k] of each axis k (in the order of the input), for the output's indices
 * i. */
static const Expr *tap(const Sampler *s, const Ix *const *i, const Ix *const *j)
{
    Pool *p = s->o->pool;
    const Ix *at[MAX_RANK] = {i[0], i[1]}, *row[MAX_RANK + 1] = {i[0]};
    const Expr *w = NULL;
    memcpy(row + 1, i + 2, (size_t)s->n * sizeof *row);
    for (int k = 0; k < s->n; k++) {
        row[1 + s->n] = ix_int(p, s->n - 1 - k);
        row[2 + s->n] = j[k];
        at[2 + k] = op_data_index(s->o, op_load(s->o, s->index, row), s->x->dim[2 + k], false);
        const Expr *one = op_load(s->o, s->weight, row);
        w = w ? ex2(p, mul, w, one) : one;
    }
    const Expr *e = op_load(s->o, s->x, at), *zero = ex_f(p, s->acc, 0);
    if (s->mode == GRID_NEAREST)
        return ex_select(p, ex2(p, eq, w, zero), ex_f(p, e->type, 0), e);
    e = ex2(p, mul, w, ex_cast(p, s->acc, e));
    return s->padding == PAD_ZEROS ? ex_select(p, ex2(p, eq, w, zero), zero, e) : e;
}

static int choice(Op *o, const char *attr, const char *dflt, int n, const char *const *name)
{
    const char *v = op_attr_s(o, attr, dflt);
    for (int i = 0; i < n; i++)
        if (!strcmp(v, name[i]))
            return i;
    op_error(o, "attribute '%s' is '%s'", attr, v);
}

/* GridSample (ai.onnx 16, 20, 22): the input at the points that the grid names, interpolated. */
static void grid_sample(Op *o)
{
    static const char *const mode[] = {"nearest", "linear", "cubic", "nearest", "bilinear",
        "bicubic"};
    static const char *const padding[] = {"zeros", "border", "reflection"};
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *grid = op_in(o, 1, T_FLOAT);
    op_need_rank(o, x, 3, MAX_RANK - 1);
    op_need_rank(o, grid, x->rank, x->rank);
    Sampler s = {.o = o,
        .x = x,
        .n = x->rank - 2,
        .aligned = op_attr_i(o, "align_corners", 0) != 0};
    s.mode = (GridMode)(choice(o, "mode", "linear", 6, mode) % 3);
    s.padding = (GridPadding)choice(o, "padding_mode", "zeros", 3, padding);
    s.work = grid->type == DT_F64 ? DT_F64 : DT_F32;
    s.acc =
        x->type == DT_F64 || (dtype_is_int(x->type) && dtype_bits(x->type) >= 32) ? DT_F64 : DT_F32;
    op_require_equal(o, grid->dim[0], x->dim[0], "batches of grid and input");
    op_require_equal(o, grid->dim[s.n + 1], ix_int(p, s.n),
        "a grid point must have one value for each spatial axis");
    int taps = s.mode == GRID_NEAREST ? 1 : s.mode == GRID_LINEAR ? 2 : 4, all = 1;
    const Ix *dim[MAX_RANK] = {x->dim[0], x->dim[1]}, *j[MAX_RANK];
    for (int k = 0; k < s.n; k++) {
        dim[2 + k] = grid->dim[1 + k];
        all = MIN(all * taps, 1 << 10);
    }
    Build y = op_out(o, 0, x->type, x->rank, dim);
    tabulate(&s, grid, taps);
    const Expr *sum = NULL;
    if (all <= 16) {
        for (int c = 0; c < all; c++) {
            for (int k = s.n - 1, rest = c; k >= 0; k--, rest /= taps)
                j[k] = ix_int(p, rest % taps);
            const Expr *e = tap(&s, y.i, j);
            sum = sum ? ex2(p, add, sum, e) : e;
        }
        build_map(&y, ex_cast(p, x->type, sum));
        return;
    }
    const Var *var[MAX_RANK];
    for (int k = 0; k < s.n; k++) {
        var[k] = op_var(o, ix_int(p, taps), "t");
        j[k] = ix_of_var(p, var[k]);
    }
    build_reduce(&y, RED_SUM, s.acc, s.n, var, tap(&s, y.i, j));
}
OP("GridSample", "", 1, grid_sample)

/* AffineGrid (ai.onnx 20): theta applied to the points of a regular grid over [-1, 1] in each axis.
 */
static void affine_grid(Op *o)
{
    Pool *p = o->pool;
    const Value *theta = op_in(o, 0, T_FLOAT), *size = op_in(o, 1, T_BIT(DT_I64));
    op_need_rank(o, theta, 3, 3);
    int n = list_count(o, size, MAX_RANK) - 2;
    bool aligned = op_attr_i(o, "align_corners", 0) != 0;
    if (n < 1 || n + 2 > MAX_RANK)
        op_error(o, "input %s must have the sizes N, C and spatial ones", size->name);
    op_require_equal(o, theta->dim[0], list_dim(o, size, 0), "batches of theta and size");
    op_require_equal(o, theta->dim[1], ix_int(p, n), "rows of theta against the spatial sizes");
    op_require_equal(o, theta->dim[2], ix_int(p, n + 1),
        "columns of theta against the spatial sizes");
    DType work = theta->type == DT_F64 ? DT_F64 : DT_F32;
    const Ix *dim[MAX_RANK] = {theta->dim[0]};
    for (int k = 0; k < n; k++)
        dim[1 + k] = list_dim(o, size, 2 + k);
    dim[1 + n] = ix_int(p, n);
    Build y = op_out(o, 0, theta->type, n + 2, dim);
    const Ix *at[3] = {y.i[0], y.i[1 + n], ix_int(p, n)};
    const Expr *sum = ex_cast(p, work, op_load(o, theta, at));
    for (int k = 0; k < n; k++) { /* column k is for the last axis but k */
        const Ix *d = dim[n - k], *i = y.i[n - k];
        const Ix *up = ix_muli(p, i, 2), *low = ix_addi(p, d, -1);
        const Ix *full = aligned ? ix_max(p, ix_int(p, 1), low) : d;
        const Expr *x = ex_cast(p, work, ex_ix(p, ix_sub(p, up, low)));
        x = ex2(p, div, x, ex_cast(p, work, ex_ix(p, full)));
        at[2] = ix_int(p, k);
        sum = ex2(p, add, sum, ex2(p, mul, ex_cast(p, work, op_load(o, theta, at)), x));
    }
    build_map(&y, ex_cast(p, theta->type, sum));
}
OP("AffineGrid", "", 1, affine_grid)
