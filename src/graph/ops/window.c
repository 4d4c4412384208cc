/* window.c: sliding windows. Source: the output shape formulas of Conv and MaxPool in the ONNX
 * spec. */
#include "graph/ops/window.h"

static void positive_list(Op *o, const char *name, int n, int64_t *out)
{
    int count;
    const int64_t *list = op_attr_ints(o, name, &count);
    for (int k = 0; k < n; k++)
        out[k] = 1;
    if (!list)
        return;
    if (count != n)
        op_error(o, "attribute '%s' has %d values for %d spatial axes", name, count, n);
    for (int k = 0; k < n; k++) {
        if (list[k] < 1)
            op_error(o, "attribute '%s' must be positive, not %lld", name, (long long)list[k]);
        out[k] = list[k];
    }
}

/* (in + pads - dilated kernel) / stride + 1, rounded as ceil_mode says. */
static const Ix *out_extent(Op *o, const Window *w, int k, bool ceil_mode)
{
    Pool *p = o->pool;
    const Ix *padded = ix_add(p, w->in[k], ix_add(p, w->pad[k], w->pad_end[k]));
    const Ix *room = ix_addi(p, padded, -((w->kernel[k] - 1) * w->dilation[k] + 1));
    if (room->hi < 0)
        op_error(o,
            "the kernel of extent %lld (dilation %lld) does not fit into spatial axis %d, padded "
            "to %lld",
            (long long)w->kernel[k], (long long)w->dilation[k], k, (long long)padded->hi);
    const Ix *s = ix_int(p, w->stride[k]);
    if (!ceil_mode)
        return ix_addi(p, ix_div(p, room, s), 1);
    /* A window that would start in the end padding is dropped. */
    const Ix *n = ix_addi(p, ix_ceil_div(p, room, s), 1);
    const Ix *last = ix_muli(p, ix_addi(p, n, -1), w->stride[k]);
    const Ix *limit = ix_add(p, w->in[k], w->pad[k]);
    if (ix_less(p, last, limit))
        return n;
    const Ix *over = ix_addi(p, ix_sub(p, last, limit), 1); /* > 0 when dropped */
    return ix_sub(p, n, ix_max(p, ix_int(p, 0), ix_min(p, ix_int(p, 1), over)));
}

/* SAME_UPPER, SAME_LOWER: out = ceil(in / stride); the odd pad goes to the end, or the beginning.
 */
static void same_pads(Op *o, Window *w, int k, bool lower)
{
    Pool *p = o->pool;
    w->out[k] = ix_ceil_div(p, w->in[k], ix_int(p, w->stride[k]));
    const Ix *need = ix_muli(p, ix_addi(p, w->out[k], -1), w->stride[k]);
    need = ix_sub(p, ix_addi(p, need, (w->kernel[k] - 1) * w->dilation[k] + 1), w->in[k]);
    need = ix_max(p, need, ix_int(p, 0));
    const Ix *half = ix_div(p, need, ix_int(p, 2)), *rest = ix_sub(p, need, half);
    w->pad[k] = lower ? rest : half;
    w->pad_end[k] = lower ? half : rest;
}

static void explicit_pads(Op *o, Window *w)
{
    int count;
    const int64_t *pads = op_attr_ints(o, "pads", &count);
    if (pads && count != 2 * w->n)
        op_error(o, "attribute 'pads' has %d values for %d spatial axes", count, w->n);
    for (int k = 0; k < w->n; k++) {
        w->pad[k] = ix_int(o->pool, pads ? pads[k] : 0);
        w->pad_end[k] = ix_int(o->pool, pads ? pads[k + w->n] : 0);
        if (pads && (pads[k] < 0 || pads[k + w->n] < 0))
            op_error(o, "attribute 'pads' must not be negative");
    }
}

void window_init(Op *o, Window *w, const Value *x, const int64_t *kernel)
{
    op_need_rank(o, x, 3, MAX_RANK);
    w->n = x->rank - 2;
    int count;
    const int64_t *shape = op_attr_ints(o, "kernel_shape", &count);
    if (!kernel && !shape)
        op_error(o, "attribute 'kernel_shape' is required");
    if (shape && count != w->n)
        op_error(o, "attribute 'kernel_shape' has %d values for %d spatial axes", count, w->n);
    positive_list(o, "strides", w->n, w->stride);
    positive_list(o, "dilations", w->n, w->dilation);
    for (int k = 0; k < w->n; k++) {
        w->in[k] = x->dim[2 + k];
        w->kernel[k] = kernel ? kernel[k] : shape[k];
        if (kernel && shape && shape[k] != kernel[k])
            op_error(o, "attribute 'kernel_shape' contradicts the shape of the weights");
        if (w->kernel[k] < 1)
            op_error(o, "attribute 'kernel_shape' must be positive");
    }
    const char *mode = op_attr_s(o, "auto_pad", "NOTSET");
    bool ceil_mode = op_attr_i(o, "ceil_mode", 0) != 0;
    bool upper = !strcmp(mode, "SAME_UPPER"), lower = !strcmp(mode, "SAME_LOWER");
    bool valid = !strcmp(mode, "VALID");
    if (!upper && !lower && !valid && strcmp(mode, "NOTSET"))
        op_error(o, "attribute 'auto_pad' is '%s'", mode);
    if (!upper && !lower && !valid)
        explicit_pads(o, w);
    for (int k = 0; k < w->n; k++) {
        if (valid)
            w->pad[k] = w->pad_end[k] = ix_int(o->pool, 0);
        if (upper || lower)
            same_pads(o, w, k, lower);
        else
            w->out[k] = out_extent(o, w, k, ceil_mode);
    }
}

const Ix *window_at(Op *o, const Window *w, int k, const Ix *i, const Ix *r)
{
    Pool *p = o->pool;
    const Ix *at = ix_add(p, ix_muli(p, i, w->stride[k]), ix_muli(p, r, w->dilation[k]));
    return ix_sub(p, at, w->pad[k]);
}

const Expr *window_inside(Op *o, const Window *w, const Ix *const *at)
{
    const Expr *in = ex_bool(o->pool, true);
    for (int k = 0; k < w->n; k++)
        in = ex_and(o->pool, in, ex_ix_inside(o->pool, at[k], w->in[k]));
    return in;
}
