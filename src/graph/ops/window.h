/* window.h: sliding windows, shared by convolutions and pools: how auto_pad, pads, strides,
 * dilations and ceil_mode of the spec become index forms. */
#ifndef SINTER_WINDOW_H
#define SINTER_WINDOW_H
#include "graph/op.h"

typedef struct Window {
    int n; /* spatial axes */
    int64_t kernel[MAX_RANK], stride[MAX_RANK], dilation[MAX_RANK];
    const Ix *pad[MAX_RANK], *pad_end[MAX_RANK];
    const Ix *in[MAX_RANK], *out[MAX_RANK]; /* spatial extents */
} Window;

/* Reads the attributes for input x (spatial axes from 2 on) and kernel extents `kernel` (NULL: from
 * the attribute kernel_shape); computes out. */
void window_init(Op *o, Window *w, const Value *x, const int64_t *kernel);
/* The input coordinate of output position i and tap r on axis k: i*stride + r*dilation - pad. */
const Ix *window_at(Op *o, const Window *w, int k, const Ix *i, const Ix *r);
/* Condition that all coordinates at[k] lie in the input. */
const Expr *window_inside(Op *o, const Window *w, const Ix *const *at);
#endif
