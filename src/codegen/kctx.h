/* kctx.h: what a kernel gets besides its buffers: the same struct, here and in the emitted text
 * (kctx_text). */
#ifndef SINTER_KCTX_H
#define SINTER_KCTX_H
#include <stdint.h>

typedef struct sinter_kctx {
    char *scratch;          /* this thread's, 64-byte aligned */
    int64_t thread, threads;
    /* error[0]: the offending index, when the kernel returns a site number */
    int64_t *error;
    uint64_t seed;
    const struct Kernels *kernels; /* unused by tier 0 */
    /* of the chosen instruction set */
    const void *igemm, *pack_b, *strip, *unstrip, *transpose, *depthwise, *rows;
} sinter_kctx;
typedef int KernelFn(const sinter_kctx *c, void *const *buf, const int64_t *dim, int64_t lo,
    int64_t hi);

extern const char kctx_text[];
#endif
