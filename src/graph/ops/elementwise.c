/* elementwise.c: maps of one and two operands. */
#include "graph/op.h"
#include <math.h>

/* A map of one primitive: MAP1(function, element types, primitive). */
#define MAP1(fn, types, op)                         \
    static const Expr *fn##_of(Op *o, const Expr *x) \
    {                                               \
        return ex1(o->pool, op, x);                 \
    }                                               \
    static void fn(Op *o)                           \
    {                                               \
        op_unary(o, types, fn##_of);                \
    }
/* A broadcasting map of two operands: MAP2(function, element types, result type or DT_NONE, primitive). */
#define MAP2(fn, types, result, op)                                 \
    static const Expr *fn##_of(Op *o, const Expr *x, const Expr *y) \
    {                                                               \
        return ex2(o->pool, op, x, y);                              \
    }                                                               \
    static void fn(Op *o)                                           \
    {                                                               \
        op_binary(o, types, result, fn##_of);                       \
    }

MAP1(exp_, T_FLOAT, exp)
OP("Exp", "", 1, exp_)
MAP1(tanh_, T_FLOAT, tanh)
OP("Tanh", "", 1, tanh_)

MAP2(add, T_NUM, DT_NONE, add)
OP("Add", "", 1, add)
MAP2(sub, T_NUM, DT_NONE, sub)
OP("Sub", "", 1, sub)
MAP2(mul, T_NUM, DT_NONE, mul)
OP("Mul", "", 1, mul)
MAP2(div_, T_NUM, DT_NONE, div)
OP("Div", "", 1, div_)

/* Relu (ai.onnx 1, 6, 13, 14): max(x, 0). */
static const Expr *relu_of(Op *o, const Expr *x)
{
    return ex2(o->pool, max, x, ex_f(o->pool, x->type, 0));
}
static void relu(Op *o)
{
    op_unary(o, T_FLOAT | T_SINT, relu_of);
}
OP("Relu", "", 1, relu)

/* Sigmoid (ai.onnx 1, 6, 13): 1 / (1 + exp(-x)). */
static const Expr *sigmoid_of(Op *o, const Expr *x)
{
    Pool *p = o->pool;
    const Expr *one = ex_f(p, x->type, 1);
    return ex2(p, div, one, ex2(p, add, one, ex1(p, exp, ex1(p, neg, x))));
}
static void sigmoid(Op *o)
{
    op_unary(o, T_FLOAT, sigmoid_of);
}
OP("Sigmoid", "", 1, sigmoid)
