/* gather.c: elements chosen by indices that are data. */
#include "graph/ops/dims.h"

/* Gather (ai.onnx 1, 11, 13): y[a.., i.., b..] = x[a.., ind[i..], b..]. */
static void gather(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY), *ind = op_in(o, 1, T_INDEX);
    op_need_rank(o, x, 1, MAX_RANK);
    int axis = op_axis(o, op_attr_i(o, "axis", 0), x->rank), q = ind->rank, rank = x->rank - 1 + q;
    const Ix *dim[2 * MAX_RANK], *at[MAX_RANK];
    for (int k = 0; k < rank; k++)
        dim[k] = k < axis ? x->dim[k] : k < axis + q ? ind->dim[k - axis] : x->dim[k - q + 1];
    Build y = op_out(o, 0, x->type, rank, dim);
    for (int k = 0; k < x->rank; k++)
        at[k] = y.i[k < axis ? k : k == axis ? 0 : k + q - 1];
    at[axis] = op_data_index(o, op_load(o, ind, y.i + axis), x->dim[axis], true);
    build_map(&y, op_load(o, x, at));
}
OP("Gather", "", 1, gather)

/* GatherElements (ai.onnx 11, 13): y[i..] = x[i.. with ind[i..] for the axis]. */
static void gather_elements(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *ind = op_in(o, 1, T_INDEX);
    op_need_rank(o, x, 1, MAX_RANK);
    op_need_rank(o, ind, x->rank, x->rank);
    int axis = op_axis(o, op_attr_i(o, "axis", 0), x->rank);
    Build y = op_out(o, 0, x->type, x->rank, ind->dim);
    const Ix *at[MAX_RANK];
    for (int k = 0; k < x->rank; k++) {
        at[k] = y.i[k];
        if (k != axis)
            op_require(o, ex2(p, le, ex_ix(p, ind->dim[k]), ex_ix(p, x->dim[k])),
                "the indices have a larger extent than the data");
    }
    at[axis] = op_data_index(o, op_load(o, ind, y.i), x->dim[axis], true);
    build_map(&y, op_load(o, x, at));
}
OP("GatherElements", "", 1, gather_elements)

/* GatherND (ai.onnx 11, 12, 13): y[b.., i.., r..] = x[b.., ind[b.., i.., 0..m-1], r..], b over
 * batch_dims axes. */
static void gather_nd(Op *o)
{
    const Value *x = op_in(o, 0, T_ANY), *ind = op_in(o, 1, T_BIT(DT_I64));
    op_need_rank(o, x, 1, MAX_RANK);
    op_need_rank(o, ind, 1, MAX_RANK);
    int64_t b = op_attr_i(o, "batch_dims", 0);
    int q = ind->rank - 1;
    if (!ix_is_const(ind->dim[q]))
        op_unsupported(o, "the last extent of the indices is not known when compiling");
    if (b < 0 || b > q || b >= x->rank)
        op_error(o, "attribute 'batch_dims' is %lld for ranks %d and %d", (long long)b, x->rank,
            ind->rank);
    int64_t m = ind->dim[q]->c;
    if (m < 1 || b + m > x->rank)
        op_error(o, "index tuples of %lld elements do not fit a data rank of %d", (long long)m,
            x->rank);
    int rest = x->rank - (int)(b + m), rank = q + rest;
    const Ix *dim[2 * MAX_RANK], *at[MAX_RANK], *iat[MAX_RANK];
    for (int k = 0; k < rank; k++)
        dim[k] = k < q ? ind->dim[k] : x->dim[b + m + k - q];
    Build y = op_out(o, 0, x->type, rank, dim);
    memcpy(iat, y.i, (size_t)q * sizeof *iat);
    for (int k = 0; k < x->rank; k++) {
        if (k < b) {
            op_require_equal(o, ind->dim[k], x->dim[k], "batch dimensions of data and indices");
            at[k] = y.i[k];
        } else if (k < b + m) {
            iat[q] = ix_int(o->pool, k - b);
            at[k] = op_data_index(o, op_load(o, ind, iat), x->dim[k], true);
        } else {
            at[k] = y.i[q + k - b - m];
        }
    }
    build_map(&y, op_load(o, x, at));
}
OP("GatherND", "", 1, gather_nd)

/* ReverseSequence (ai.onnx 10): the first lens[b] steps of each sequence in reverse order. */
static void reverse_sequence(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_ANY), *lens = op_in(o, 1, T_BIT(DT_I64));
    op_need_rank(o, x, 2, MAX_RANK);
    op_need_rank(o, lens, 1, 1);
    int time = op_axis(o, op_attr_i(o, "time_axis", 0), x->rank);
    int batch = op_axis(o, op_attr_i(o, "batch_axis", 1), x->rank);
    if (time == batch)
        op_error(o, "time_axis and batch_axis are the same");
    op_require_equal(o, lens->dim[0], x->dim[batch], "one length per sequence");
    Build y = op_out(o, 0, x->type, x->rank, x->dim);
    const Ix *at[MAX_RANK];
    memcpy(at, y.i, (size_t)x->rank * sizeof *at);
    const Expr *len = op_load1(o, lens, y.i[batch]), *t = ex_ix(p, y.i[time]);
    const Expr *mirrored = ex2(p, sub, ex2(p, sub, len, ex_i(p, 1)), t);
    at[time] = op_data_index(o, ex_select(p, ex2(p, lt, t, len), mirrored, t), x->dim[time], false);
    build_map(&y, op_load(o, x, at));
}
OP("ReverseSequence", "", 1, reverse_sequence)
