/* contract.h: the contraction statement of Loop IR: out[m.., n] = sum over taps and k of A * B for
 * a region, by the indirect-GEMM microkernel.
 *
 * Rows are the points of the row variables m (outer to inner); one row after the other lies ldc
 * elements further in `out`. Columns are n, contiguous in `out`. Taps are the reduction variables
 * along which A is not contiguous. A's row for (m, tap) is a pointer to kc consecutive elements, or
 * to zeros where the guard is false. B lies packed in panels of nr columns, each taps*kc rows of
 * nr: packed when compiling if B is constant, else by the kernel.
 */
#ifndef SINTER_CONTRACT_H
#define SINTER_CONTRACT_H
#include "codegen/loop.h"

enum { CONTRACT_ROWS = 64 }; /* rows whose pointers are made at a time; they share a pass over B */
struct Contract {
    const Value *out, *a, *b;
    int n_m, n_tap;
    const Var *m[MAX_RANK], *tap[MAX_RANK], *n, *k;
    const Ix *out_idx[MAX_RANK]; /* at m = 0, n = 0 */
    const Ix *a_idx[MAX_RANK];   /* in m and taps, at k = 0 */
    const Ix *b_idx[MAX_RANK];   /* dynamic B: at n = 0, k = 0 */
    const Expr *guard;           /* in m and taps; NULL: always inside */
    const Ix *rows, *ldc, *taps; /* products of extents; elements */
    /* the row pointers follow from these (see RowTable in kernels.h) */
    bool tabled;
    int n_cond;
    /* by variable: m, then taps; elements */
    const Ix *a_stride[2 * MAX_RANK], *cond0[8], *cond[8][2 * MAX_RANK];
    /* constant B: the panels (an argument); NULL: packed into scratch */
    const Value *packed;
    const Ix *panel;             /* constant B: number of the first panel */
    const Ix *sk, *sn;           /* dynamic B: strides of k and n in elements */
    const Ix *pack_offset, *rows_offset, *zero_offset; /* scratch, in bytes */
    /* depthwise: B's columns are the lanes, its taps lie ldw elements apart; else NULL */
    const Ix *ldw;
    int mr, nr;
};
#endif
