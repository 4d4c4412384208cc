/* conv_transpose.c: ConvTranspose, gathered: each output element sums the taps that reach it. */
#include "graph/ops/dims.h"

/* One spatial axis. Position o of the result gets input i through tap r where o + pad = i*stride +
 * r*dilation. With o + pad = stride*q + f (phase f), g = gcd(stride, dilation) and step = stride/g,
 * those taps are r = r0(f) + step*j, and only where g divides f; then i = q + (f -
 * r0*dilation)/stride - j*dilation/g. So the sum over j multiplies nothing in vain, and for each
 * phase it is a plain convolution. */
typedef struct Spatial {
    int64_t kernel, stride, dilation, g, step, inverse; /* inverse of dilation/g modulo step */
    const Ix *in, *out, *pad;
} Spatial;

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static int64_t inverse_mod(int64_t a, int64_t m)
{
    for (int64_t x = 0; x < m; x++)
        if (a % m * x % m == 1 % m)
            return x;
    return 0;
}

static int64_t list_at(Op *o, const char *name, int k, int n, int64_t dflt, int64_t least)
{
    int count;
    const int64_t *list = op_attr_ints(o, name, &count);
    if (list && count != n)
        op_error(o, "attribute '%s' has %d values instead of %d", name, count, n);
    int64_t x = list ? list[k] : dflt;
    if (x < least || x > INT32_MAX)
        op_error(o, "attribute '%s' can't be %lld", name, (long long)x);
    return x;
}

/* The extent asked for by auto_pad or output_shape; NULL when pads decide. output_shape may have N
 * and C in front. */
static const Ix *wanted_extent(Op *o, const Spatial *s, int k, int n, bool same)
{
    int count;
    const int64_t *shape = op_attr_ints(o, "output_shape", &count);
    if (shape && count != n && count != n + 2)
        op_error(o, "attribute 'output_shape' has %d values for %d spatial axes", count, n);
    if (shape)
        return ix_int(o->pool, shape[k + count - n]);
    return same ? ix_muli(o->pool, s->in, s->stride) : NULL;
}

static void spatial_init(Op *o, Spatial *s, const Ix *in, int64_t kernel, int k, int n)
{
    Pool *p = o->pool;
    const char *mode = op_attr_s(o, "auto_pad", "NOTSET");
    bool upper = !strcmp(mode, "SAME_UPPER"), lower = !strcmp(mode, "SAME_LOWER"),
         valid = !strcmp(mode, "VALID");
    if (!upper && !lower && !valid && strcmp(mode, "NOTSET"))
        op_error(o, "attribute 'auto_pad' is '%s'", mode);
    if (list_at(o, "kernel_shape", k, n, kernel, 1) != kernel)
        op_error(o, "attribute 'kernel_shape' contradicts the shape of the weights");
    *s = (Spatial){.kernel = kernel, .in = in};
    s->stride = list_at(o, "strides", k, n, 1, 1);
    s->dilation = list_at(o, "dilations", k, n, 1, 1);
    s->g = gcd(s->stride, s->dilation);
    s->step = s->stride / s->g;
    s->inverse = inverse_mod(s->dilation / s->g, s->step);
    int64_t tail = list_at(o, "output_padding", k, n, 0, 0) + (kernel - 1) * s->dilation + 1;
    const Ix *full = ix_addi(p, ix_muli(p, ix_addi(p, in, -1), s->stride), tail);
    const Ix *want = wanted_extent(o, s, k, n, upper || lower);
    if (want) {
        const Ix *total = ix_max(p, ix_sub(p, full, want), ix_int(p, 0)),
                 *half = ix_div(p, total, ix_int(p, 2));
        s->out = want;
        s->pad = upper ? half : ix_sub(p, total, half);
    } else {
        int64_t begin = valid ? 0 : list_at(o, "pads", k, 2 * n, 0, 0);
        int64_t end = valid ? 0 : list_at(o, "pads", k + n, 2 * n, 0, 0);
        s->out = ix_addi(p, full, -begin - end);
        s->pad = ix_int(p, begin);
    }
}

/* Input position and tap of phase f, block q, step j; *ok gets the conditions under which they
 * exist. */
static void reach(Op *o, const Spatial *s, const Ix *q, const Ix *f, const Ix *j, const Ix **i,
    const Ix **r, const Expr **ok)
{
    Pool *p = o->pool;
    const Ix *g = ix_int(p, s->g), *zero = ix_int(p, 0);
    const Ix *r0 = ix_mod(p, ix_muli(p, ix_div(p, f, g), s->inverse), ix_int(p, s->step));
    const Ix *shift = ix_div(p, ix_sub(p, f, ix_muli(p, r0, s->dilation)), ix_int(p, s->stride));
    *r = ix_add(p, r0, ix_muli(p, j, s->step));
    *i = ix_sub(p, ix_add(p, q, shift), ix_muli(p, j, s->dilation / s->g));
    *ok = ex_and(p, *ok, ex2(p, eq, ex_ix(p, ix_mod(p, f, g)), ex_ix(p, zero)));
    *ok = ex_and(p, *ok, ex_ix_less(p, *r, ix_int(p, s->kernel)));
    *ok = ex_and(p, *ok, ex_ix_inside(p, *i, s->in));
}

/* The sums by phase: acc[n, g, m, q.., f..]. */
static Value *phase_sums(Op *o, const Value *x, const Value *w, int n, const Spatial *s,
    int64_t groups)
{
    Pool *p = o->pool;
    const Ix *G = ix_int(p, groups), *C = ix_div(p, x->dim[1], G);
    const Ix *dim[3 + 2 * MAX_RANK] = {x->dim[0], G, w->dim[1]}, *xat[MAX_RANK], *wat[MAX_RANK];
    for (int k = 0; k < n; k++) {
        const Ix *stride = ix_int(p, s[k].stride),
                 *used = ix_add(p, s[k].out, ix_mod(p, s[k].pad, stride));
        dim[3 + k] = ix_ceil_div(p, used, stride);
        dim[3 + n + k] = stride;
    }
    Build acc = op_temp(o, x->type, 3 + 2 * n, dim);
    const Var *red[MAX_RANK];
    red[0] = op_var(o, C, "c");
    xat[0] = acc.i[0];
    xat[1] = wat[0] = ix_add(p, ix_mul(p, acc.i[1], C), ix_of_var(p, red[0]));
    wat[1] = acc.i[2];
    const Expr *ok = ex_bool(p, true);
    for (int k = 0; k < n; k++) {
        red[1 + k] = op_var(o, ix_int(p, (s[k].kernel + s[k].step - 1) / s[k].step), "r");
        const Ix *q = ix_add(p, acc.i[3 + k], ix_div(p, s[k].pad, dim[3 + n + k]));
        reach(o, &s[k], q, acc.i[3 + n + k], ix_of_var(p, red[1 + k]), &xat[2 + k], &wat[2 + k],
            &ok);
    }
    DType wide = dtype_bits(x->type) < 32 ? DT_F32 : x->type;
    const Expr *prod = ex2(p, mul, op_load(o, x, xat), op_load(o, w, wat));
    prod = ex_select(p, ok, ex_cast(p, wide, prod), ex_f(p, wide, 0));
    return build_reduce(&acc, RED_SUM, wide, 1 + n, red, prod);
}

/* ConvTranspose (ai.onnx 1, 11, 22): the transpose of Conv as a map from its result to its input.
 */
static void conv_transpose(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT), *w = op_in(o, 1, T_FLOAT), *bias = op_opt(o, 2, T_FLOAT);
    op_same_type(o, x, w);
    op_need_rank(o, x, 3, 2 + (MAX_RANK - 3) / 2);
    op_need_rank(o, w, x->rank, x->rank);
    int n = x->rank - 2;
    int64_t groups = op_attr_i(o, "group", 1);
    if (groups < 1 || groups > INT32_MAX)
        op_error(o, "attribute 'group' must be positive");
    op_require_equal(o, x->dim[1], w->dim[0], "channels of the input against the weights");
    op_require_equal(o, ix_mod(p, x->dim[1], ix_int(p, groups)), ix_int(p, 0),
        "channels must be a multiple of group");
    Spatial s[MAX_RANK];
    const Ix *dim[MAX_RANK] = {x->dim[0], ix_muli(p, w->dim[1], groups)}, *at[MAX_RANK];
    for (int k = 0; k < n; k++) {
        if (!ix_is_const(w->dim[2 + k]) || w->dim[2 + k]->c < 1)
            op_unsupported(o, "a kernel extent that is 0 or not known when compiling");
        spatial_init(o, &s[k], x->dim[2 + k], w->dim[2 + k]->c, k, n);
        dim[2 + k] = s[k].out;
    }
    Build y = op_out(o, 0, x->type, x->rank, dim);
    const Value *sums = phase_sums(o, x, w, n, s, groups);
    at[0] = y.i[0];
    at[1] = safe_div(o, y.i[1], w->dim[1]);
    at[2] = safe_mod(o, y.i[1], w->dim[1]);
    for (int k = 0; k < n; k++) {
        const Ix *stride = ix_int(p, s[k].stride),
                 *i = ix_add(p, y.i[2 + k], ix_mod(p, s[k].pad, stride));
        at[3 + k] = ix_div(p, i, stride);
        at[3 + n + k] = ix_mod(p, i, stride);
    }
    const Expr *e = op_load(o, sums, at);
    if (bias) {
        op_same_type(o, x, bias);
        op_need_rank(o, bias, 1, 1);
        op_require_equal(o, bias->dim[0], dim[1], "length of the bias against the output channels");
        e = ex2(p, add, e, op_load1(o, bias, y.i[1]));
    }
    build_map(&y, e);
}
OP("ConvTranspose", "", 1, conv_transpose)
