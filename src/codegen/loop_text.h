/* loop_text.h: Loop IR as text, and back.
 *
 *     kernel k00_softmax id 0 accs 1 scratch 64 {
 *       nodes 0, 3                                  by id
 *       tile t8<4                                   the parallel axis
 *       place input %x: float32[4, 8] = arg 0 strides [8, 1]
 *       place value %#3: float32[4] = scratch 0 bytes 4 strides [1 from t8]
 *       place value %y: float32[4, 8] = arg 1 written strides [8, 1]
 *       acc0: float32 = 0:float32
 *       for i9<8 {
 *         acc0 = sum(acc0, %x[t8, i9])
 *       }
 *       %#3[t8] = acc0
 *       body rows 1 lanes 8 {
 *         port 0 = %x[t8, 0] step 0 where the port leads, then the body as body.h prints it
 *         code
 *         port 0 lanes float32 load
 *       }
 *     }
 *
 * also: if COND { }, let i4<8 = IX, %y[...] = transpose %x[...] rows R by STRIDE lanes L by STRIDE,
 * and contract MR x NR { rows.. column.. taps.. k.. out.. a.. b.. table.. scratch.. }.
 */
#ifndef SINTER_LOOP_TEXT_H
#define SINTER_LOOP_TEXT_H
#include "codegen/loop.h"
#include "graph/ir_text.h"

/* The next kernel of the text, verified. Values that the graph does not have are made from their
 * places; nodes must exist. Errors as for ir_text.h. */
Kernel *loop_kernel(IrReader *r);

#endif
