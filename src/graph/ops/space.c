/* space.c: blocks of space to channels and back; Transpose and Reshape in one. */
#include "graph/ops/dims.h"

static int64_t block_size(Op *o)
{
    int64_t b = op_attr_i(o, "blocksize", 0);
    if (b < 1 || b > INT32_MAX)
        op_error(o, "attribute 'blocksize' must be positive");
    return b;
}

/* DepthToSpace (ai.onnx 1, 11, 13): y[n, c, h*b + i, w*b + j] = x[n, channel(i, j, c), h, w]. The
 * channel is (i*b + j)*C + c in mode DCR, (c*b + i)*b + j in mode CRD. */
static void depth_to_space(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY);
    op_need_rank(o, x, 4, 4);
    int64_t b = block_size(o);
    const char *mode = op_attr_s(o, "mode", "DCR");
    bool crd = !strcmp(mode, "CRD");
    if (!crd && strcmp(mode, "DCR"))
        op_error(o, "attribute 'mode' is '%s'", mode);
    const Ix *B = ix_int(p, b), *BB = ix_int(p, b * b), *C = ix_div(p, x->dim[1], BB);
    op_require_equal(o, ix_mod(p, x->dim[1], BB), ix_int(p, 0),
        "the channels must be a multiple of blocksize^2");
    const Ix *dim[4] = {x->dim[0], C, ix_mul(p, x->dim[2], B), ix_mul(p, x->dim[3], B)};
    Build y = op_out(o, 0, x->type, 4, dim);
    const Ix *c = y.i[1], *i = ix_mod(p, y.i[2], B), *j = ix_mod(p, y.i[3], B);
    const Ix *dcr = ix_add(p, ix_mul(p, ix_add(p, ix_mul(p, i, B), j), C), c);
    const Ix *at[4] = {y.i[0], dcr, ix_div(p, y.i[2], B), ix_div(p, y.i[3], B)};
    if (crd)
        at[1] = ix_add(p, ix_mul(p, ix_add(p, ix_mul(p, c, B), i), B), j);
    build_map(&y, op_load(o, x, at));
}
OP("DepthToSpace", "", 1, depth_to_space)

/* SpaceToDepth (ai.onnx 1, 13): y[n, (i*b + j)*C + c, h, w] = x[n, c, h*b + i, w*b + j]. */
static void space_to_depth(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY);
    op_need_rank(o, x, 4, 4);
    int64_t b = block_size(o);
    const Ix *B = ix_int(p, b), *C = x->dim[1];
    for (int k = 2; k < 4; k++)
        op_require_equal(o, ix_mod(p, x->dim[k], B), ix_int(p, 0),
            "height and width must be multiples of blocksize");
    const Ix *dim[4] = {x->dim[0], ix_muli(p, C, b * b), ix_div(p, x->dim[2], B),
        ix_div(p, x->dim[3], B)};
    Build y = op_out(o, 0, x->type, 4, dim);
    const Ix *block = safe_div(o, y.i[1], C);
    const Ix *i = ix_div(p, block, B), *j = ix_mod(p, block, B);
    const Ix *at[4] = {y.i[0], safe_mod(o, y.i[1], C), ix_add(p, ix_mul(p, y.i[2], B), i),
        ix_add(p, ix_mul(p, y.i[3], B), j)};
    build_map(&y, op_load(o, x, at));
}
OP("SpaceToDepth", "", 1, space_to_depth)
