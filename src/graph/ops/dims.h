/* dims.h: extents and indices that come from the contents of small tensors. */
#ifndef SINTER_DIMS_H
#define SINTER_DIMS_H
#include "graph/op.h"

/* Number of elements of a list given as an input (rank 1, or 0 for one element); must be known, at
 * most max. */
int list_count(Op *o, const Value *v, int max);
/* Element i of a list as an extent: what is known only when the inputs are bound is taken to be >=
 * 0. */
const Ix *list_dim(Op *o, const Value *v, int i);
/* Element i of a value of any numeric type, traced as far as possible. */
const Expr *list_elem(Op *o, const Value *v, int i);
/* An i64 expression without variables as an extent. */
const Ix *dim_of_expr(Op *o, const Expr *e);
/* Are all elements constants? */
bool list_known(Op *o, const Value *v, int n);
/* Axis given by element i of a constant list, normalised. */
int list_axis(Op *o, const Value *v, int i, int rank);
/* Does element i of a list name axis k? For lists known only when the inputs are bound. */
const Expr *list_names_axis(Op *o, const Value *v, int i, int k, int rank);
/* An i64 expression without variables as any integer. */
const Ix *ix_fixed(Op *o, const Expr *e);
/* a mod n and a div n for an axis that may be empty: then nothing is read. */
const Ix *safe_div(Op *o, const Ix *a, const Ix *n);
const Ix *safe_mod(Op *o, const Ix *a, const Ix *n);
/* table[i] for a list of n index forms, as a tree of comparisons: i64. */
const Expr *select_ix(Op *o, const Ix *i, int n, const Ix *const *table);
#endif
