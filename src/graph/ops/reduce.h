/* reduce.h: reductions over a set of axes, as Reduce*, softmax and the normalisations need them.
 *
 * Which axes are reduced may depend on an input that is known only when inputs are bound. So a set
 * of axes is index forms, each 0 or 1: for constant axes they are constants, and all that follows
 * simplifies to what one would write by hand.
 */
#ifndef SINTER_OPS_REDUCE_H
#define SINTER_OPS_REDUCE_H
#include "graph/ops/map.h"

typedef struct Axes {
    int rank, out_rank;
    const Ix *in[MAX_RANK];           /* axis k is reduced: 1, else 0 */
    const Ix *is[MAX_RANK][MAX_RANK]; /* axis k of the operand is axis j of the result: 1, else 0 */
} Axes;

/* The axes k with bit k of `mask`, kept with extent 1. */
Axes axes_kept(Op *o, int rank, unsigned mask);
/* f as a symbol of its own unless it is constant: products of such forms stay small. */
const Ix *axes_opaque(Op *o, const Ix *f);
/* The result's dims for an operand with dims `dim`. */
const Ix **axes_dims(Op *o, const Axes *a, const Ix *const *dim);
/* From indices i of the result those of the operand, 0 on reduced axes. */
void axes_at(Op *o, const Axes *a, const Ix *const *i, const Ix **at);
/* The number of elements that are reduced into one. */
const Ix *axes_count(Op *o, const Axes *a, const Ix *const *dim);

/* A reduction under construction: `at` are the indices of the operand, `kept` the same with 0 on
 * reduced axes. */
typedef struct Fold {
    Build b;
    int n;
    const Var *var[MAX_RANK];
    const Ix *at[MAX_RANK], *kept[MAX_RANK];
} Fold;
/* Defines output `out`, or a temporary if it is negative, over the dims of x. */
Fold fold_begin(Op *o, int out, DType type, const Value *x, const Axes *a);
/* Accumulated in `acc`, which is body's type. */
Value *fold_end(Fold *f, Red red, DType acc, const Expr *body);

/* The common case: a temporary of `type`, red over the axes of `a` of x's elements as that. */
Value *fold_plain(Op *o, Red red, DType type, const Value *x, const Axes *a);
#endif
