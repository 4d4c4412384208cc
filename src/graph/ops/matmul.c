/* matmul.c: MatMul and Gemm. */
#include "graph/op.h"

static DType accumulator(DType t)
{
    if (dtype_is_float(t))
        return dtype_bits(t) < 32 ? DT_F32 : t;
    return t;
}

/* MatMul (ai.onnx 1, 9, 13), as numpy.matmul: y[b.., i, j] = sum(k, a[b.., i, k] * w[b.., k, j]); a
 * rank-1 operand gets an axis of extent 1 that the result does not have. */
static void matmul(Op *o)
{
    Pool *p = o->pool;
    const Value *a = op_in(o, 0, T_NUM), *b = op_in(o, 1, T_NUM);
    op_same_type(o, a, b);
    op_need_rank(o, a, 1, MAX_RANK);
    op_need_rank(o, b, 1, MAX_RANK);
    bool row = a->rank > 1, col = b->rank > 1;
    Value lead_a = *a, lead_b = *b; /* the batch axes alone */
    lead_a.rank = MAX(0, a->rank - 2);
    lead_b.rank = MAX(0, b->rank - 2);
    int rank;
    const Ix **lead = op_bcast_dims(o, 2, (const Value *const[]){&lead_a, &lead_b}, &rank);
    const Ix *dim[MAX_RANK + 2];
    int n = rank;
    memcpy(dim, lead, (size_t)rank * sizeof *dim);
    if (row)
        dim[n++] = a->dim[a->rank - 2];
    if (col)
        dim[n++] = b->dim[b->rank - 1];
    Build y = op_out(o, 0, a->type, n, dim);
    const Ix *K = a->dim[a->rank - 1];
    op_require_equal(o, K, b->dim[col ? b->rank - 2 : 0], "inner dimensions of the product");
    const Var *k = op_var(o, K, "k");
    const Ix *at[MAX_RANK], *bt[MAX_RANK];
    for (int i = 0; i < lead_a.rank; i++)
        at[i] = ix_is(a->dim[i], 1) ? ix_int(p, 0) : y.i[rank - lead_a.rank + i];
    for (int i = 0; i < lead_b.rank; i++)
        bt[i] = ix_is(b->dim[i], 1) ? ix_int(p, 0) : y.i[rank - lead_b.rank + i];
    if (row)
        at[a->rank - 2] = y.i[rank];
    at[a->rank - 1] = ix_of_var(p, k);
    bt[col ? b->rank - 2 : 0] = ix_of_var(p, k);
    if (col)
        bt[b->rank - 1] = y.i[rank + row];
    const Expr *prod = ex2(p, mul, op_load(o, a, at), op_load(o, b, bt));
    DType acc = accumulator(a->type);
    build_reduce(&y, RED_SUM, acc, 1, &k, ex_cast(p, acc, prod));
}
OP("MatMul", "", 1, matmul)

/* x * factor, and x itself where the factor is 1. */
static const Expr *scaled(Op *o, const Expr *x, double factor)
{
    return factor == 1 ? x : ex2(o->pool, mul, x, ex_f(o->pool, x->type, factor));
}

/* Gemm (ai.onnx 1, 6, 7, 9, 11, 13): alpha * op(A) * op(B) + beta * C, C broadcast to the result.
 */
static void gemm(Op *o)
{
    Pool *p = o->pool;
    const Value *a = op_in(o, 0, T_NUM), *b = op_in(o, 1, T_NUM), *c = op_opt(o, 2, T_NUM);
    op_same_type(o, a, b);
    op_need_rank(o, a, 2, 2);
    op_need_rank(o, b, 2, 2);
    bool ta = op_attr_i(o, "transA", 0) != 0, tb = op_attr_i(o, "transB", 0) != 0;
    const Ix *dim[2] = {a->dim[ta], b->dim[!tb]}, *K = a->dim[!ta];
    op_require_equal(o, K, b->dim[tb], "inner dimensions of the product");
    const Var *k = op_var(o, K, "k");
    Build s = op_temp(o, a->type, 2, dim);
    const Ix *kk = ix_of_var(p, k);
    const Ix *at[2] = {ta ? kk : s.i[0], ta ? s.i[0] : kk},
             *bt[2] = {tb ? s.i[1] : kk, tb ? kk : s.i[1]};
    const Expr *prod = ex2(p, mul, op_load(o, a, at), op_load(o, b, bt));
    DType acc = accumulator(a->type);
    Value *sum = build_reduce(&s, RED_SUM, acc, 1, &k, ex_cast(p, acc, prod));
    Build y = op_out(o, 0, a->type, 2, dim);
    const Expr *e = scaled(o, op_load(o, sum, y.i), op_attr_f(o, "alpha", 1));
    if (c) {
        op_same_type(o, a, c);
        op_need_rank(o, c, 0, 2);
        for (int i = 0; i < c->rank; i++) /* one-way broadcast */
            if (!ix_is(c->dim[i], 1))
                op_require_equal(o, c->dim[i], dim[2 - c->rank + i],
                    "C must be broadcastable to the result");
        e = ex2(p, add, e, scaled(o, op_bcast(o, c, y.i, 2), op_attr_f(o, "beta", 1)));
    }
    build_map(&y, e);
}
OP("Gemm", "", 1, gemm)
