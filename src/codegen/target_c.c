/* target_c.c: C's spellings. */
#include "codegen/emit.h"

const Target target_c = {
    .name = "c",
    .kernel_open =
        "int %s(const sinter_kctx *c, void *const *buf, const sn_i64 *dim, sn_i64 lo, sn_i64 hi)\n{\n",
    .kernel_close = "    return 0;\n}\n",
    .parallel_open = "    for (sn_i64 t = lo; t < hi; t++) {\n",
};
