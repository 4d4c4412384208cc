/* elementwise.c: maps of two and more operands: arithmetic, bits, powers, minimum and maximum. */
#include "graph/ops/map.h"
#include <float.h>

const Expr *load_into(Op *o, const Value *v, const Ix *const *idx, const Ix *const *dim, int rank)
{
    if (v->rank > rank)
        op_error(o, "input %s of rank %d cannot be broadcast to rank %d", v->name, v->rank, rank);
    for (int k = 0; k < v->rank; k++)
        if (!ix_is(v->dim[k], 1))
            op_require_equal(o, v->dim[k], dim[rank - v->rank + k],
                "dimensions broadcast to the first input");
    return op_bcast(o, v, idx, rank);
}

MAP2(add, T_NUM, DT_NONE, ADD(x, y))
OP("Add", "", 1, add)
MAP2(sub, T_NUM, DT_NONE, SUB(x, y))
OP("Sub", "", 1, sub)
MAP2(mul, T_NUM, DT_NONE, MUL(x, y))
OP("Mul", "", 1, mul)
MAP2(div_, T_NUM, DT_NONE, DIV(x, y))
OP("Div", "", 1, div_)

MAP2(bitwise_and, T_INT, DT_NONE, AND(x, y))
OP("BitwiseAnd", "", 18, bitwise_and)
MAP2(bitwise_or, T_INT, DT_NONE, OR(x, y))
OP("BitwiseOr", "", 18, bitwise_or)
MAP2(bitwise_xor, T_INT, DT_NONE, XOR(x, y))
OP("BitwiseXor", "", 18, bitwise_xor)

/* BitShift (ai.onnx 11): x << y or x >> y by the attribute; bits shifted out are lost, a shift by
 * the width gives 0. */
static const Expr *bit_shift_of(Op *o, const Expr *x, const Expr *y)
{
    const char *direction = op_attr_s(o, "direction", "");
    if (!strcmp(direction, "LEFT"))
        return ex2(o->pool, shl, x, y);
    if (strcmp(direction, "RIGHT"))
        op_error(o, "attribute 'direction' is '%s': it must be 'LEFT' or 'RIGHT'", direction);
    return ex2(o->pool, shr, x, y);
}
static void bit_shift(Op *o) { op_binary(o, T_UINT, DT_NONE, bit_shift_of); }
OP("BitShift", "", 11, bit_shift)

/* Mod (ai.onnx 10, 13): with fmod=1 the remainder of truncated division (C), else of floored
 * division (Python), which takes the divisor's sign. */
static const Expr *mod_of(Op *o, const Expr *x, const Expr *y)
{
    Pool *p = o->pool;
    const Expr *m = ex2(p, mod, x, y);
    if (op_attr_i(o, "fmod", 0))
        return m;
    if (dtype_is_float(x->type))
        op_error(o, "elements of type %s need the attribute fmod=1", dtype_text(x->type));
    if (!dtype_is_signed(x->type))
        return m;
    const Expr *signs_differ = XOR(LT(m, K(0)), LT(y, K(0)));
    return SELECT(AND(NOT(EQ(m, K(0))), signs_differ), ADD(m, y), m);
}
static void mod(Op *o) { op_binary(o, T_NUM, DT_NONE, mod_of); }
OP("Mod", "", 10, mod)

/* ---- powers ------------------------------------------------------------------------------------
 */

/* x^e of integers, wrapping, by squaring over six bits of the exponent. Larger exponents keep their
 * parity, which is all that counts for 0, 1 and -1; any other base has overflowed. A negative
 * exponent gives 1/x^-e truncated. */
static const Expr *integer_power(Pool *p, const Expr *x, const Expr *e)
{
    const Expr *zero = ex_f(p, e->type, 0), *one = ex_f(p, e->type, 1);
    const Expr *size = ABS(e), *odd = AND(size, one), *r = K(1), *square = x;
    size = SELECT(LT(size, ex_f(p, e->type, 64)), size, ADD(ex_f(p, e->type, 62), odd));
    for (int bit = 0; bit < 6; bit++) {
        const Expr *off = EQ(AND(size, ex_f(p, e->type, 1 << bit)), zero);
        r = SELECT(off, r, MUL(r, square));
        square = MUL(square, square);
    }
    return SELECT(LT(e, zero), SELECT(EQ(ABS(x), K(1)), r, K(0)), r);
}

/* Whether all of v is known and survives a conversion to float type t. */
static bool is_exact_in(Op *o, const Value *v, DType t)
{
    const Tensor *k = op_const(o, v);
    if (!k)
        return false;
    for (int64_t i = 0; i < k->count; i++) {
        double x = scalar_double(v->type, scalar_load(v->type, k->data, i));
        if (scalar_round(t, x) != x)
            return false;
    }
    return true;
}

/* The type to compute x^e in: the base's, or one that holds every exponent. */
static DType power_type(Op *o, DType base, const Value *e)
{
    bool narrow = dtype_bits(e->type) < 32 && !dtype_is_float(e->type); /* fits a float */
    if (!dtype_is_float(base) || e->type == DT_F64)
        return DT_F64;
    if (e->type == base || is_exact_in(o, e, base) || base == DT_F64)
        return base;
    return e->type == DT_F32 || e->type == DT_F16 || e->type == DT_BF16 || narrow ? DT_F32 : DT_F64;
}

static const Expr *pow_of(Op *o, const Expr *x, const Expr *y) { return ex2(o->pool, pow, x, y); }

/* Pow (ai.onnx 1, 7, 12, 13, 15): x^e, of x's type; from version 12 the exponent may have another
 * type. */
static void pow_(Op *o)
{
    Pool *p = o->pool;
    if (o->opset < 7) {
        op_binary(o, T_FLOAT, DT_NONE, pow_of);
        return;
    }
    const Value *v[2] = {op_in(o, 0, T_NUM), op_in(o, 1, T_NUM)};
    int rank;
    const Ix **dim = op_bcast_dims(o, 2, v, &rank);
    Build b = op_out(o, 0, v[0]->type, rank, dim);
    const Expr *x = op_bcast(o, v[0], b.i, rank), *e = op_bcast(o, v[1], b.i, rank);
    if (!dtype_is_float(x->type) && !dtype_is_float(e->type)) {
        build_map(&b, integer_power(p, x, e));
        return;
    }
    DType t = power_type(o, x->type, v[1]);
    build_map(&b, CAST(x->type, POW(CAST(t, x), CAST(t, e))));
}
OP("Pow", "", 1, pow_)

/* ---- any number of operands --------------------------------------------------------------------
 */

/* out = f(... f(f(a, b), c) ...), broadcast; with `mean`, over the number of operands. */
static void variadic(Op *o, unsigned types, Map2Fn f, bool mean)
{
    int n = op_n_in(o), rank;
    if (n == 0)
        op_error(o, "at least one input is required");
    const Value **v = NEW_N(o->cx, const Value *, n);
    for (int j = 0; j < n; j++) {
        v[j] = op_in(o, j, types);
        op_same_type(o, v[0], v[j]);
    }
    const Ix **dim = op_bcast_dims(o, n, v, &rank);
    Build b = op_out(o, 0, v[0]->type, rank, dim);
    const Expr *e = op_bcast(o, v[0], b.i, rank);
    for (int j = 1; j < n; j++)
        e = f(o, e, op_bcast(o, v[j], b.i, rank));
    build_map(&b, mean ? ex2(o->pool, div, e, ex_f(o->pool, e->type, n)) : e);
}

#define VARIADIC(fn, types, mean, formula)                          \
    static const Expr *fn##_of(Op *o, const Expr *x, const Expr *y) \
    {                                                               \
        Pool *p = o->pool;                                          \
        return formula;                                             \
    }                                                               \
    static void fn(Op *o) { variadic(o, types, fn##_of, mean); }

VARIADIC(sum, T_FLOAT, false, ADD(x, y))
OP("Sum", "", 1, sum)
VARIADIC(mean, T_FLOAT, true, ADD(x, y))
OP("Mean", "", 1, mean)
VARIADIC(min, T_NUM, false, LESSER(x, y)) /* NaN where either is */
OP("Min", "", 1, min)
VARIADIC(max, T_NUM, false, LARGER(x, y))
OP("Max", "", 1, max)

/* ---- clip --------------------------------------------------------------------------------------
 */

/* A bound of Clip: an attribute before version 11, then an optional scalar input; NULL where there
 * is none. */
static const Expr *bound(Op *o, const Value *x, const char *name, int input, double dflt)
{
    if (o->opset < 11) {
        bool none =
            o->opset < 6 && !op_has_attr(o, name); /* version 6 has defaults that bound infinity */
        return none ? NULL : ex_f(o->pool, x->type, op_attr_f(o, name, dflt));
    }
    const Value *v = op_opt(o, input, T_NUM);
    if (!v)
        return NULL;
    op_same_type(o, x, v);
    op_require_equal(o, op_numel(o, v->rank, v->dim), ix_int(o->pool, 1),
        "a bound must have one element");
    return op_load0(o, v);
}

/* Clip (ai.onnx 1, 6, 11, 12, 13): min(max(x, low), high). */
static void clip(Op *o)
{
    Pool *p = o->pool;
    const Value *x = op_in(o, 0, T_NUM);
    const Expr *low = bound(o, x, "min", 1, -FLT_MAX), *high = bound(o, x, "max", 2, FLT_MAX);
    Build b = op_out(o, 0, x->type, x->rank, x->dim);
    const Expr *e = op_load(o, x, b.i);
    e = low ? LARGER(e, low) : e;
    build_map(&b, high ? LESSER(e, high) : e);
}
OP("Clip", "", 1, clip)
