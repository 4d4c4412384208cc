/* contract.h: the contraction statement of Loop IR: out[m.., n..] = sum over taps and k of A * B for a region,
 * by the indirect-GEMM microkernel.
 *
 * Rows are the points of the region's M axes, columns those of its N axes; taps are the reduction variables that
 * are not contiguous in A. A's row for (m, tap) is a pointer to kc consecutive elements, or to zeros where the
 * guard is false. B is packed: a constant when compiling, else for each tile by the kernel itself.
 */
#ifndef SINTER_CONTRACT_H
#define SINTER_CONTRACT_H
#include "codegen/loop.h"

enum { CONTRACT_MAX_AXES = 8 };
struct Contract {
    const Value *out, *a, *b;
    /* Loop variables over the region, all fresh: rows (M axes, outer to inner), columns (one variable over the
     * flattened N axes), taps, and k. */
    int n_m, n_tap;
    const Var *m[CONTRACT_MAX_AXES], *tap[CONTRACT_MAX_AXES];
    const Var *n, *k;
    const Ix *out_idx[MAX_RANK]; /* at n = 0 */
    const Ix *a_idx[MAX_RANK];   /* at k = 0 */
    const Ix *b_idx[MAX_RANK];   /* in n, taps, k: for packing */
    const Expr *guard;           /* in m and taps; NULL: always inside */
    const Ix *rows;              /* product of the extents of m */
    const Value *packed;         /* the packed panels (an argument), or NULL: packed into scratch by the kernel */
    const Ix *panel0;            /* first panel of this tile: (first column) / nr */
    const Ix *pack_offset;       /* scratch for packing, in bytes */
    const Ix *rows_offset;       /* scratch for the row pointers, in bytes */
    const Ix *zero_offset;       /* scratch of kc zeros, in bytes (with a guard) */
};
void contract_print(Buf *b, const Contract *c);
#endif
