/* prim.c: the meaning of each primitive on scalars: what the interpreter and constant folding
 * compute, and what every other tier must agree with. */
#include "graph/expr.h"
#include <math.h>

const PrimInfo prim_info[N_PRIMS] = {
#define PRIM(name, arity, types, ...) [P_##name] = {#name, arity, types},
#include "graph/prim.def"
#undef PRIM
};

const char *const red_name[] = {"none", "sum", "prod", "max", "min", "any", "all"};

Prim red_prim(Red red)
{
    static const Prim prim[] = {[RED_NONE] = N_PRIMS,
        [RED_SUM] = P_add,
        [RED_PROD] = P_mul,
        [RED_MAX] = P_max,
        [RED_MIN] = P_min,
        [RED_ANY] = P_or,
        [RED_ALL] = P_and};
    return prim[red];
}

static Scalar of_bool(bool b) { return (Scalar){.u = b}; }

/* float16 and bfloat16 compute in float, as every other tier does, then round. */
static Scalar float_unary(Prim op, DType t, double x)
{
    float f = (float)x;
    double r;
    bool wide = t == DT_F64;
#define BY_WIDTH(name, fn) \
    case P_##name: r = wide ? fn(x) : fn##f(f); break;
    switch (op) {
        BY_WIDTH(sqrt, sqrt)
        BY_WIDTH(exp, exp)
        BY_WIDTH(log, log)
        BY_WIDTH(erf, erf)
        BY_WIDTH(tanh, tanh)
        BY_WIDTH(sin, sin)
        BY_WIDTH(cos, cos)
        BY_WIDTH(tan, tan)
        BY_WIDTH(asin, asin)
        BY_WIDTH(acos, acos)
        BY_WIDTH(atan, atan)
        BY_WIDTH(sinh, sinh)
        BY_WIDTH(cosh, cosh)
        BY_WIDTH(asinh, asinh)
        BY_WIDTH(acosh, acosh)
        BY_WIDTH(atanh, atanh)
        BY_WIDTH(floor, floor)
        BY_WIDTH(ceil, ceil)
        BY_WIDTH(trunc, trunc)
        BY_WIDTH(rint, rint)
        BY_WIDTH(abs, fabs)
    case P_neg: r = -x; break;
    case P_sign: r = x > 0 ? 1 : x < 0 ? -1 : x; break;
    default: r = NAN; break;
    }
#undef BY_WIDTH
    return (Scalar){.f = scalar_round(t, r)};
}

static Scalar float_binary(Prim op, DType t, double x, double y)
{
    float a = (float)x, b = (float)y;
    bool wide = t == DT_F64;
    double r = NAN;
    switch (op) {
    case P_add: r = wide ? x + y : (double)(a + b); break;
    case P_sub: r = wide ? x - y : (double)(a - b); break;
    case P_mul: r = wide ? x * y : (double)(a * b); break;
    case P_div: r = wide ? x / y : (double)(a / b); break;
    case P_mod: r = wide ? fmod(x, y) : (double)fmodf(a, b); break;
    case P_pow: r = wide ? pow(x, y) : (double)powf(a, b); break;
    case P_min:
        r = x != x ? x : y != y ? y : y < x ? y : x; /* a tie is x */
        break;
    case P_max: r = x != x ? x : y != y ? y : y > x ? y : x; break;
    default: break;
    }
    return (Scalar){.f = scalar_round(t, r)};
}

/* Two's complement at the width of t. */
static Scalar wrap(DType t, uint64_t u)
{
    int drop = 64 - dtype_bits(t);
    if (t == DT_BOOL)
        return of_bool(u & 1);
    if (dtype_is_signed(t))
        return (Scalar){.i = (int64_t)(u << drop) >> drop};
    return (Scalar){.u = u << drop >> drop};
}

static uint64_t int_div(DType t, Scalar a, Scalar b, bool mod)
{
    if (b.u == 0)
        return 0;
    if (!dtype_is_signed(t))
        return mod ? a.u % b.u : a.u / b.u;
    if (b.i == -1)
        return mod ? 0 : 0 - a.u;
    return (uint64_t)(mod ? a.i % b.i : a.i / b.i);
}

static uint64_t int_shift(DType t, Scalar a, Scalar b, bool left)
{
    if (b.u >= (uint64_t)dtype_bits(t))
        return 0;
    return left ? a.u << b.u : dtype_is_signed(t) ? (uint64_t)(a.i >> b.u) : a.u >> b.u;
}

static Scalar int_prim(Prim op, DType t, Scalar a, Scalar b)
{
    bool s = dtype_is_signed(t);
    bool less = s ? a.i < b.i : a.u < b.u;
    switch (op) {
    case P_add: return wrap(t, a.u + b.u);
    case P_sub: return wrap(t, a.u - b.u);
    case P_mul: return wrap(t, a.u * b.u);
    case P_div:
    case P_mod: return wrap(t, int_div(t, a, b, op == P_mod));
    case P_min: return less ? a : b;
    case P_max: return less ? b : a;
    case P_neg: return wrap(t, 0 - a.u);
    case P_abs: return wrap(t, s && a.i < 0 ? 0 - a.u : a.u);
    case P_sign: return wrap(t, s && a.i < 0 ? (uint64_t)-1 : a.u != 0);
    case P_and: return wrap(t, a.u & b.u);
    case P_or: return wrap(t, a.u | b.u);
    case P_xor: return wrap(t, a.u ^ b.u);
    case P_not: return wrap(t, ~a.u);
    case P_shl:
    case P_shr: return wrap(t, int_shift(t, a, b, op == P_shl));
    default: return (Scalar){.u = 0};
    }
}

static Scalar compare(Prim op, DType t, Scalar a, Scalar b)
{
    if (dtype_is_float(t))
        return of_bool(op == P_eq ? a.f == b.f : op == P_lt ? a.f < b.f : a.f <= b.f);
    if (op == P_eq)
        return of_bool(a.u == b.u);
    bool less = dtype_is_signed(t) ? a.i < b.i : a.u < b.u;
    return of_bool(less || (op == P_le && a.u == b.u));
}

Scalar prim_eval(Prim op, DType in, DType out, const Scalar *arg)
{
    switch (prim_info[op].types) {
    case 's': return arg[0].u ? arg[1] : arg[2];
    case 't': return scalar_cast(in, out, arg[0]);
    case 'c': return compare(op, in, arg[0], arg[1]);
    case 'p': return of_bool(arg[0].f != arg[0].f);
    default: break;
    }
    if (!dtype_is_float(out))
        return int_prim(op, out, arg[0], prim_info[op].arity > 1 ? arg[1] : (Scalar){.u = 0});
    return prim_info[op].arity == 1 ? float_unary(op, out, arg[0].f)
                                    : float_binary(op, out, arg[0].f, arg[1].f);
}
