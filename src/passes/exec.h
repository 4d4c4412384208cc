/* exec.h: the tile executor: the interpreter of groups. It walks the tiles of each group, and for
 * each tile computes of every stage just the box that region.h infers, element by element. All else
 * is poison: an element that is read must have been computed for this very tile, or lie in the
 * buffer of an earlier group; an element of a buffer is written exactly once; a box fits its
 * scratch. What breaks this raises ST_INTERNAL, with the value's name. So it tests fusion's
 * legality, tiles and boxes without a line of generated code. */
#ifndef SINTER_EXEC_H
#define SINTER_EXEC_H
#include "passes/sched.h"

/* Runs all groups (any time after the pass fuse). `input` by graph input, `sym` by symbol. Returns
 * the tensors by value id: those of inputs and of all that groups write to buffers, row-major. */
const Tensor **exec_groups(Module *m, const Tensor *const *input, const int64_t *sym);
#endif
