/* compare.c: maps to truth values and of them: comparisons, logic, tests of floats, Where. */
#include "graph/ops/map.h"
#include <math.h>

MAP2(equal, T_ANY, DT_BOOL, EQ(x, y))
OP("Equal", "", 1, equal)
MAP2(less, T_NUM, DT_BOOL, LT(x, y))
OP("Less", "", 1, less)
MAP2(greater, T_NUM, DT_BOOL, LT(y, x))
OP("Greater", "", 1, greater)
MAP2(less_or_equal, T_NUM, DT_BOOL, LE(x, y))
OP("LessOrEqual", "", 12, less_or_equal)
MAP2(greater_or_equal, T_NUM, DT_BOOL, LE(y, x))
OP("GreaterOrEqual", "", 12, greater_or_equal)

MAP1(not_, T_BOOL, NOT(x))
OP("Not", "", 1, not_)
MAP2(and_, T_BOOL, DT_BOOL, AND(x, y))
OP("And", "", 1, and_)
MAP2(or_, T_BOOL, DT_BOOL, OR(x, y))
OP("Or", "", 1, or_)
MAP2(xor_, T_BOOL, DT_BOOL, XOR(x, y))
OP("Xor", "", 1, xor_)

MAP1(is_nan, T_FLOAT, ex1(p, isnan, x))
OP("IsNaN", "", 9, is_nan)

/* IsInf (ai.onnx 10, 20): infinite, of a sign that the attributes ask for. */
static const Expr *is_inf_of(Op *o, const Expr *x)
{
    Pool *p = o->pool;
    const Expr *no = ex_bool(p, false);
    const Expr *above = op_attr_i(o, "detect_positive", 1) ? EQ(x, K(INFINITY)) : no;
    const Expr *below = op_attr_i(o, "detect_negative", 1) ? EQ(x, K(-INFINITY)) : no;
    return OR(above, below);
}
static void is_inf(Op *o) { op_unary(o, T_FLOAT, is_inf_of); }
OP("IsInf", "", 10, is_inf)

/* Where (ai.onnx 9, 16): condition ? x : y, all three broadcast. */
static void where(Op *o)
{
    const Value *v[3] = {op_in(o, 0, T_BOOL), op_in(o, 1, T_ANY), op_in(o, 2, T_ANY)};
    op_same_type(o, v[1], v[2]);
    int rank;
    const Ix **dim = op_bcast_dims(o, 3, v, &rank);
    Build b = op_out(o, 0, v[1]->type, rank, dim);
    const Expr *e[3];
    for (int j = 0; j < 3; j++)
        e[j] = op_bcast(o, v[j], b.i, rank);
    build_map(&b, ex_select(o->pool, e[0], e[1], e[2]));
}
OP("Where", "", 9, where)
