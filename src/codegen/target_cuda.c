/* target_cuda.c: CUDA's spellings: the parallel axis is spread over the blocks. */
#include "codegen/emit.h"

const Target target_cuda = {
    .name = "cuda",
    .kernel_open =
        "extern \"C\" __global__ void %s(const sinter_kctx *c, void *const *buf, const sn_i64 *dim, "
        "sn_i64 lo, sn_i64 hi)\n{\n",
    .kernel_close = "}\n",
    .parallel_open = "    for (sn_i64 t = lo + blockIdx.x; t < hi; t += gridDim.x) {\n",
};
