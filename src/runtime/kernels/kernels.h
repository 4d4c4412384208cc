/* kernels.h: the precompiled kernels: one source, built once per instruction set, chosen at
 * start-up by CPUID.
 *
 * The contraction microkernel is an indirect GEMM: the rows of A come through a table of row
 * pointers, one per tile row and tap, so GEMM (one tap, row = A + m*lda), any convolution (channels
 * last; padding is a pointer to a zero row), gathered rows and Winograd's frequency products are
 * the same call.
 */
#ifndef SINTER_KERNELS_H
#define SINTER_KERNELS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { IG_ACC = 1 /* start from C instead of bias */, IG_LAST = 2 /* apply residual and clamp */ };
typedef struct IgEpilogue {
    const float *bias;  /* nr values for this panel, or NULL: zero */
    const float *res;   /* residual for this tile, added before the clamp, or NULL */
    int64_t ldres;      /* elements */
    float lo, hi;       /* clamp; -inf, inf for none */
} IgEpilogue;

/* c[m*ldc + n] for m < mr, n < nc (nc <= NR; 1 <= mr <= MR):
 *   acc = (flags & IG_ACC ? c : bias) + sum over t < taps, k < kc of row(t, m)[k] * w[(t*kc + k)*NR
 *   + n]
 *   row(t, m) = a[t*mr + m] == zero ? zero : a[t*mr + m] + aoff
 * and with IG_LAST  c = min(max(acc + res, lo), hi). `prefetch` (or NULL): the next panel, one line
 * every 8 steps. The order of additions depends on taps, kc only: results do not depend on mr, nc
 * or tiling. */
typedef void IgemmFn(int64_t mr, int64_t nc, int64_t taps, int64_t kc, const float *const *a,
    int64_t aoff,
    const float *zero, const float *w, float *c, int64_t ldc, int64_t flags, const IgEpilogue *e,
    const char *prefetch);

/* How the rows of A lie, for the table of row pointers: variables are those of the rows (outer to
 * inner), then the taps. The row for a point of all variables is at  a + sum v*stride[v]  if every
 * condition cond0[c] + sum v*cond[c][v]  is >= 0 there, else it is `zero`. */
enum { ROW_TABLE_VARS = 8, ROW_TABLE_CONDS = 8 };
typedef struct RowTable {
    int64_t n_m, n_tap, n_cond;
    int64_t extent[ROW_TABLE_VARS];
    int64_t stride[ROW_TABLE_VARS]; /* bytes */
    int64_t cond0[ROW_TABLE_CONDS];
    int64_t cond[ROW_TABLE_CONDS][ROW_TABLE_VARS];
} RowTable;

typedef struct Kernels {
    const char *isa; /* "sse2" (portable C), "avx2", "avx512" */
    int lanes;       /* floats per vector */
    int mr, nr;      /* largest tile: rows, columns */
    IgemmFn *igemm;
    /* Packs B[k][n] = b[k*sk + n*sn], k < K, n < N, into ceil(N/nr) panels of K x nr, zero
     * padded. */
    void (*pack_b)(const float *b, int64_t sk, int64_t sn, int64_t K, int64_t N, float *out);
    /* dst[i] = src[i*stride] for elements of 1, 2, 4, 8 bytes: strided strips for vector bodies. */
    void (*strip)(void *dst, const void *src, int64_t stride, int64_t n, int64_t elem);
    /* dst[i*stride] = src[i] */
    void (*unstrip)(void *dst, const void *src, int64_t stride, int64_t n, int64_t elem);
    /* dst[r*ldd + c] = src[c*lds + r], r < rows, c < cols: blocked transpose; strides in
     * elements. */
    void (*transpose)(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows,
        int64_t cols, int64_t elem);
    /* Depthwise row: out[q*ldo + c] = bias[c] + sum over t < taps of (in[q*taps + t][c]) * w[t*ldw
     * + c], clamped; q < nq pixels, c < nc channels (any), in = row pointers as above (zero row for
     * padding, aoff added). */
    void (*depthwise)(int64_t nq, int64_t nc, int64_t taps, const float *const *in, int64_t aoff,
        const float *zero,
        const float *w, int64_t ldw, float *out, int64_t ldo, const float *bias, float lo,
            float hi);
    /* Row pointers for `rows` rows from number `first` on (flattened over the row variables), in
     * tiles of at most mr rows of even height: p[tile][tap][row of the tile]. At most 512 taps. */
    void (*rows)(const RowTable *t, const char *a, const float *zero, int64_t first, int64_t rows,
        int64_t mr, const float **p);
} Kernels;

/* The best set that this CPU has, or the one named (NULL if this CPU lacks it or the name is
 * unknown). */
const Kernels *kernels_for(const char *isa);
/* The names this CPU can run, best first; NULL-terminated. */
const char *const *kernels_available(void);

#endif
