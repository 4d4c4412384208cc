/* map.h: elementwise operators are formulas. MAP1 and MAP2 make an operator's function of one; a
 * formula is in the terms below, where there are the operator `o`, its pool `p` and the
 * operand `x` (and `y`). Constants K(c) are of its type. 16-bit floats round after every term, as
 * the primitives do.
 *
 *     MAP1(softsign, T_FLOAT, DIV(x, ADD(K(1), ABS(x))))
 *     OP("Softsign", "", 1, softsign)
 */
#ifndef SINTER_OPS_MAP_H
#define SINTER_OPS_MAP_H
#include "graph/op.h"

#define ADD(a, b) ex2(p, add, a, b)
#define SUB(a, b) ex2(p, sub, a, b)
#define MUL(a, b) ex2(p, mul, a, b)
#define DIV(a, b) ex2(p, div, a, b)
#define POW(a, b) ex2(p, pow, a, b)
#define LESSER(a, b) ex2(p, min, a, b)
#define LARGER(a, b) ex2(p, max, a, b)
#define NEG(a) ex1(p, neg, a)
#define ABS(a) ex1(p, abs, a)
#define SQRT(a) ex1(p, sqrt, a)
#define EXP(a) ex1(p, exp, a)
#define LOG(a) ex1(p, log, a)
#define ERF(a) ex1(p, erf, a)
#define TANH(a) ex1(p, tanh, a)
#define EQ(a, b) ex2(p, eq, a, b)
#define LT(a, b) ex2(p, lt, a, b)
#define LE(a, b) ex2(p, le, a, b)
#define NOT(a) ex1(p, not, a)
#define AND(a, b) ex2(p, and, a, b)
#define OR(a, b) ex2(p, or, a, b)
#define XOR(a, b) ex2(p, xor, a, b)
#define SELECT(c, a, b) ex_select(p, c, a, b)
#define CAST(type, a) ex_cast(p, type, a)
#define K(c) ex_f(p, x->type, c)
#define ATTR(name, dflt) K(op_attr_f(o, name, dflt))

/* A map of one operand: MAP1(function, element types, formula). */
#define MAP1(fn, types, formula)                     \
    static const Expr *fn##_of(Op *o, const Expr *x) \
    {                                                \
        Pool *p = o->pool;                           \
        return formula;                              \
    }                                                \
    static void fn(Op *o) { op_unary(o, types, fn##_of); }

/* A broadcasting map of two: MAP2(function, element types, result type or DT_NONE, formula). */
#define MAP2(fn, types, result, formula)                            \
    static const Expr *fn##_of(Op *o, const Expr *x, const Expr *y) \
    {                                                               \
        Pool *p = o->pool;                                          \
        return formula;                                             \
    }                                                               \
    static void fn(Op *o) { op_binary(o, types, result, fn##_of); }

/* What sums, means and exponentials of a type are computed in: a 16-bit float's in float. */
static inline DType wide_type(DType t) { return t == DT_F16 || t == DT_BF16 ? DT_F32 : t; }
/* The type in which a function of real numbers is computed for elements of type t. */
static inline DType real_type(DType t) { return dtype_is_float(t) ? t : DT_F64; }

/* v at the trailing indices idx of a result whose dims are `dim`, which v must not change (one-way
 * broadcast). */
const Expr *load_into(Op *o, const Value *v, const Ix *const *idx, const Ix *const *dim, int rank);

#endif
