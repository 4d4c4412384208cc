/* conv.c: Conv. */
#include "graph/ops/window.h"

/* Conv (ai.onnx 1, 11, 22): y[n,o,p..] = b[o] + sum(c, r..; x[n, g*C+c, p*stride + r*dilation - pad
 * ..] * w[o,c,r..]), zero outside; with groups, o = g*M + m is a pair of axes, so that the
 * contraction's roles are plain. */
static void conv(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_FLOAT), *w = op_in(o, 1, T_FLOAT), *bias = op_opt(o, 2, T_FLOAT);
    op_same_type(o, x, w);
    op_need_rank(o, x, 3, MAX_RANK - 1);
    op_need_rank(o, w, x->rank, x->rank);
    int n = x->rank - 2;
    int64_t kernel[MAX_RANK], groups = op_attr_i(o, "group", 1);
    for (int k = 0; k < n; k++) {
        if (!ix_is_const(w->dim[2 + k]))
            op_unsupported(o, "a kernel extent that is not known when compiling");
        kernel[k] = w->dim[2 + k]->c;
    }
    Window win;
    window_init(o, &win, x, kernel);
    if (groups < 1)
        op_error(o, "attribute 'group' must be positive");
    const Ix *G = ix_int(p, groups), *C = w->dim[1];
    op_require_equal(o, x->dim[1], ix_mul(p, C, G),
        "channels of the input against the weights times group");
    op_require_equal(o, ix_mod(p, w->dim[0], G), ix_int(p, 0),
        "output channels must be a multiple of group");
    const Ix *M = ix_div(p, w->dim[0], G);

    /* acc[n, g, m, p..] */
    const Ix *dim[MAX_RANK] = {x->dim[0], G, M}, *at[MAX_RANK], *wat[MAX_RANK];
    for (int k = 0; k < n; k++)
        dim[3 + k] = win.out[k];
    Build acc = op_temp(o, x->type, n + 3, dim);
    const Var *red[MAX_RANK];
    red[n] = op_var(o, C, "c");
    at[0] = acc.i[0];
    at[1] = ix_add(p, ix_mul(p, acc.i[1], C), ix_of_var(p, red[n]));
    wat[0] = ix_add(p, ix_mul(p, acc.i[1], M), acc.i[2]);
    wat[1] = ix_of_var(p, red[n]);
    for (int k = 0; k < n; k++) {
        red[k] = op_var(o, w->dim[2 + k], "r");
        wat[2 + k] = ix_of_var(p, red[k]);
        at[2 + k] = window_at(o, &win, k, acc.i[3 + k], wat[2 + k]);
    }
    const Expr *zero = ex_f(p, x->type, 0);
    const Expr *xe = ex_select(p, window_inside(o, &win, at + 2), op_load(o, x, at), zero);
    const Expr *prod = ex2(p, mul, xe, op_load(o, w, wat));
    DType wide = dtype_bits(x->type) < 32 ? DT_F32 : x->type;
    Value *sum = build_reduce(&acc, RED_SUM, wide, n + 1, red, ex_cast(p, wide, prod));

    const Ix *ydim[MAX_RANK] = {x->dim[0], w->dim[0]}, *sat[MAX_RANK];
    for (int k = 0; k < n; k++)
        ydim[2 + k] = win.out[k];
    Build y = op_out(o, 0, x->type, x->rank, ydim);
    sat[0] = y.i[0];
    sat[1] = ix_div(p, y.i[1], M);
    sat[2] = ix_mod(p, y.i[1], M);
    for (int k = 0; k < n; k++)
        sat[3 + k] = y.i[2 + k];
    const Expr *e = op_load(o, sum, sat);
    if (bias) {
        op_same_type(o, x, bias);
        op_need_rank(o, bias, 1, 1);
        op_require_equal(o, bias->dim[0], w->dim[0],
            "length of the bias against the output channels");
        e = ex2(p, add, e, op_load1(o, bias, y.i[1]));
    }
    build_map(&y, e);
}
OP("Conv", "", 1, conv)
