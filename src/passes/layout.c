/* layout.c: the pass layout: in which order the axes of each value lie in memory. */
#include "passes/pass.h"

void pass_layout(Module *m)
{
    (void)m;
}
