/* dropout.c: Dropout as inference sees it. */
#include "graph/ops/map.h"

/* In training elements are dropped at random; with a ratio of 0 none is. What is not known when
 * compiling is required when inputs are bound. */
static void require_inference(Op *o)
{
    Pool *p = o->pool;
    const Expr *training, *none_dropped;
    if (o->opset < 12) {
        training = ex_bool(p, o->opset < 7 && !op_attr_i(o, "is_test", 0));
        none_dropped = ex_bool(p, op_attr_f(o, "ratio", 0.5) == 0);
    } else {
        const Value *ratio = op_opt(o, 1, T_FLOAT), *mode = op_opt(o, 2, T_BOOL);
        op_attr_i(o, "seed", 0);
        training = mode ? value_elem(o->graph, (Value *)mode, 0) : ex_bool(p, false);
        const Expr *x = ratio ? value_elem(o->graph, (Value *)ratio, 0) : ex_f(p, DT_F32, 0.5);
        none_dropped = EQ(x, K(0));
    }
    const Expr *ok = OR(NOT(training), none_dropped);
    if (ok->kind == EX_CONST && !ok->k.u)
        op_unsupported(o, "training mode (elements dropped at random)");
    op_require(o, ok, "training mode (elements dropped at random) is not supported");
}

/* Dropout (ai.onnx 1, 6, 7, 10, 12, 13, 22): the input itself, and a mask that keeps all. */
static void dropout(Op *o)
{
    const Value *x = op_in(o, 0, T_FLOAT);
    require_inference(o);
    op_alias(o, 0, x);
    if (op_has_out(o, 1)) {
        Build mask = op_out(o, 1, o->opset < 10 ? x->type : DT_BOOL, x->rank, x->dim);
        build_map(&mask, ex_f(o->pool, mask.out->type, 1));
    }
}
OP("Dropout", "", 1, dropout)
