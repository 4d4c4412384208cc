/* set.c: the kernels of one instruction set, under one name. */
#include "runtime/kernels/vec.h"

extern const Kernels NAME(kernels);
const Kernels NAME(kernels) = {
    .isa = TEXT(ISA),
    .lanes = LANES,
    .mr = ROWS,
    .nr = PANEL,
    .igemm = NAME(igemm),
    .pack_b = NAME(pack_b),
    .strip = NAME(strip),
    .unstrip = NAME(unstrip),
    .transpose = NAME(transpose),
    .depthwise = NAME(depthwise),
    .rows = NAME(rows),
};
