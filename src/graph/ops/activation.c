/* activation.c: the activation functions of neural networks, as formulas of one operand; and PRelu.
 */
#include "graph/ops/map.h"
#include <math.h>

MAP1(relu, T_FLOAT | T_SINT, LARGER(x, K(0)))
OP("Relu", "", 1, relu)

#define SIGMOID(a) DIV(K(1), ADD(K(1), EXP(NEG(a))))
MAP1(sigmoid, T_FLOAT, SIGMOID(x))
OP("Sigmoid", "", 1, sigmoid)

MAP1(leaky_relu, T_FLOAT, SELECT(LT(x, K(0)), MUL(x, ATTR("alpha", 0.01)), x))
OP("LeakyRelu", "", 1, leaky_relu)

MAP1(elu, T_FLOAT, SELECT(LT(x, K(0)), MUL(ATTR("alpha", 1), SUB(EXP(x), K(1))), x))
OP("Elu", "", 1, elu)

/* Selu (ai.onnx 1, 6, 22): gamma * (x > 0 ? x : alpha*exp(x) - alpha); version 6 has more digits of
 * the defaults. */
static const Expr *selu_of(Op *o, const Expr *x)
{
    Pool *p = o->pool;
    const Expr *alpha = ATTR("alpha", o->opset < 6 ? 1.6732 : 1.67326319217681884765625);
    const Expr *gamma = ATTR("gamma", o->opset < 6 ? 1.0507 : 1.05070102214813232421875);
    return MUL(gamma, SELECT(LT(K(0), x), x, SUB(MUL(alpha, EXP(x)), alpha)));
}
static void selu(Op *o) { op_unary(o, T_FLOAT, selu_of); }
OP("Selu", "", 1, selu)

/* Celu (ai.onnx 12): max(0, x) + min(0, alpha * (exp(x/alpha) - 1)). */
static const Expr *celu_of(Op *o, const Expr *x)
{
    Pool *p = o->pool;
    const Expr *alpha = ATTR("alpha", 1), *below = MUL(alpha, SUB(EXP(DIV(x, alpha)), K(1)));
    return ADD(LARGER(x, K(0)), LESSER(below, K(0)));
}
static void celu(Op *o) { op_unary(o, T_FLOAT, celu_of); }
OP("Celu", "", 12, celu)

#define UNIT(a) LARGER(K(0), LESSER(K(1), a)) /* clamped to [0, 1] */
MAP1(hard_sigmoid, T_FLOAT, UNIT(ADD(MUL(x, ATTR("alpha", 0.2)), ATTR("beta", 0.5))))
OP("HardSigmoid", "", 1, hard_sigmoid)
MAP1(hard_swish, T_FLOAT, MUL(x, UNIT(ADD(MUL(x, K(1.0 / 6)), K(0.5)))))
OP("HardSwish", "", 14, hard_swish)

/* log(1 + exp(x)), without overflow of exp. */
#define SOFTPLUS ADD(LARGER(x, K(0)), LOG(ADD(K(1), EXP(NEG(ABS(x))))))
MAP1(softplus, T_FLOAT, SOFTPLUS)
OP("Softplus", "", 1, softplus)
MAP1(mish, T_FLOAT, MUL(x, TANH(SOFTPLUS)))
OP("Mish", "", 18, mish)

MAP1(softsign, T_FLOAT, DIV(x, ADD(K(1), ABS(x))))
OP("Softsign", "", 1, softsign)
MAP1(swish, T_FLOAT, MUL(x, SIGMOID(MUL(ATTR("alpha", 1), x))))
OP("Swish", "", 24, swish)
MAP1(thresholded_relu, T_FLOAT, SELECT(LT(ATTR("alpha", 1), x), x, K(0)))
OP("ThresholdedRelu", "", 10, thresholded_relu)

/* Gelu (ai.onnx 20): x/2 * (1 + erf(x/sqrt(2))), or the approximation by tanh. */
static const Expr *gelu_of(Op *o, const Expr *x)
{
    Pool *p = o->pool;
    const char *form = op_attr_s(o, "approximate", "none");
    bool by_tanh = !strcmp(form, "tanh");
    if (!by_tanh && strcmp(form, "none"))
        op_error(o, "attribute 'approximate' is '%s': it must be 'none' or 'tanh'", form);
    const Expr *cubic = ADD(x, MUL(K(0.044715), MUL(x, MUL(x, x))));
    const Expr *f = by_tanh ? TANH(MUL(K(sqrt(2 / M_PI)), cubic)) : ERF(MUL(x, K(M_SQRT1_2)));
    return MUL(MUL(K(0.5), x), ADD(K(1), f));
}
static void gelu(Op *o) { op_unary(o, T_FLOAT, gelu_of); }
OP("Gelu", "", 20, gelu)

/* Shrink (ai.onnx 9): x + bias below -lambd, x - bias above lambd, 0 between; of integers in
 * double. */
static const Expr *shrink_of(Op *o, const Expr *operand)
{
    Pool *p = o->pool;
    const Expr *x = CAST(real_type(operand->type), operand);
    const Expr *lambd = ATTR("lambd", 0.5), *bias = ATTR("bias", 0);
    const Expr *above = SELECT(LT(lambd, x), SUB(x, bias), K(0));
    return CAST(operand->type, SELECT(LT(x, NEG(lambd)), ADD(x, bias), above));
}
static void shrink(Op *o) { op_unary(o, T_NUM, shrink_of); }
OP("Shrink", "", 9, shrink)

/* Before version 7 a slope of several elements is per channel. */
static const Expr *old_slope(Op *o, const Value *slope, const Value *v, const Ix *const *idx)
{
    if (slope->rank == 0 || ix_is(op_numel(o, slope->rank, slope->dim), 1))
        return op_load0(o, slope);
    op_need_rank(o, slope, 1, 1);
    op_need_rank(o, v, 2, MAX_RANK);
    op_require_equal(o, slope->dim[0], v->dim[1], "length of the slope against the channels");
    return op_load1(o, slope, idx[1]);
}

/* PRelu (ai.onnx 1, 6, 7, 9, 16): x < 0 ? slope*x : x, the slope broadcast to x. */
static void prelu(Op *o)
{
    Pool *p = o->pool;
    const Value *v = op_in(o, 0, T_NUM), *slope = op_in(o, 1, T_NUM);
    op_same_type(o, v, slope);
    Build y = op_out(o, 0, v->type, v->rank, v->dim);
    const Expr *x = op_load(o, v, y.i);
    const Expr *s =
        o->opset < 7 ? old_slope(o, slope, v, y.i) : load_into(o, slope, y.i, v->dim, v->rank);
    build_map(&y, SELECT(LT(x, K(0)), MUL(x, s), x));
}
OP("PRelu", "", 1, prelu)
