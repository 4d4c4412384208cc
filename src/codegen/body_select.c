/* body_select.c: from a body to vector code: which machine instructions do what each instruction
 * says. */
#include "codegen/body_internal.h"
#include "codegen/vec.h"

/* ---- values ---------------------------------------------------------------------------------- */

/* A value of the body: one register of 32-bit lanes, or two of 64-bit lanes. */
typedef struct Val {
    int r[2];
    int n; /* registers; 0: not made */
} Val;

/* A reduction whose parts are to be put together after the loop. */
typedef struct Pending {
    int id; /* the body's instruction */
    Val parts;
    Val nan; /* lanes that were NaN; n = 0: not looked for */
} Pending;

typedef struct Select {
    VCode *v;
    const Body *b;
    Val *val; /* by the body's instruction */
    VEC(Pending) pending;
} Select;

static Val one(int r) { return (Val){{r, -1}, 1}; }
static Val two(int lo, int hi) { return (Val){{lo, hi}, 2}; }
static bool is_wide(DType t) { return t == DT_F64 || t == DT_I64; }

/* A function of one or two registers, applied to each register of a value. */
static Val map1(VCode *v, XOp x, Val a)
{
    return a.n == 1 ? one(v1(v, x, a.r[0])) : two(v1(v, x, a.r[0]), v1(v, x, a.r[1]));
}

static Val map1i(VCode *v, XOp x, Val a, int imm)
{
    return a.n == 1 ? one(v1i(v, x, a.r[0], imm))
                    : two(v1i(v, x, a.r[0], imm), v1i(v, x, a.r[1], imm));
}

static Val map2i(VCode *v, XOp x, Val a, Val b, int imm)
{
    int lo = v2i(v, x, a.r[0], b.r[0], imm);
    return a.n == 1 ? one(lo) : two(lo, v2i(v, x, a.r[1], b.r[1], imm));
}

static Val map2(VCode *v, XOp x, Val a, Val b) { return map2i(v, x, a, b, 0); }

static Val map3(VCode *v, XOp x, Val a, Val b, Val c)
{
    int lo = v3(v, x, a.r[0], b.r[0], c.r[0]);
    return a.n == 1 ? one(lo) : two(lo, v3(v, x, a.r[1], b.r[1], c.r[1]));
}

static Val both(int r, int n) { return (Val){{r, r}, n}; }

/* c ? b : a, for n registers */
static Val blend(VCode *v, Val a, Val b, Val c)
{
    return map3(v, a.n == 1 ? X_blendps : X_blendpd, a, b, c);
}

/* ---- between widths -------------------------------------------------------------------------- */

/* 32-bit lanes (integers or masks) to 64-bit ones by an instruction that reads the lower half. */
static Val widen(VCode *v, XOp x, int a)
{
    int upper = v1i(v, X_extracti128, a, 1);
    return two(v1(v, x, a), v1(v, x, upper));
}

/* The low dwords of the 64-bit lanes, in order: the pairs come out as 0 1 4 5 | 2 3 6 7. */
static int narrow(VCode *v, Val a)
{
    int mixed = v2i(v, X_shufps, a.r[0], a.r[1], 0x88);
    return v1i(v, X_permq, mixed, 0xD8);
}

/* Masks are as wide as what they were compared from; they change when they meet another width. */
static Val mask_as(VCode *v, Val m, int n)
{
    if (m.n == n)
        return m;
    return n == 2 ? widen(v, X_pmovsxdq, m.r[0]) : one(narrow(v, m));
}

/* ---- rounding to 16-bit floats --------------------------------------------------------------- */

/* The upper halves of the lanes are the bfloat16, ties to even; a NaN stays one. */
static int round_bf16(VCode *v, int a)
{
    int odd = v2(v, X_and, v1i(v, X_psrld, a, 16), v_k32(v, 1));
    int up = v2(v, X_paddd, v2(v, X_paddd, a, v_k32(v, 0x7fff)), odd);
    int quiet = v2(v, X_or, a, v_k32(v, 0x400000));
    return v3(v, X_blendps, up, quiet, v2i(v, X_cmpps, a, a, 3));
}

/* Rounding to float16 is converting there and back. */
static int round_to(VCode *v, DType t, int a)
{
    if (t == DT_F16)
        return v1(v, X_cvtph2ps, v1i(v, X_cvtps2ph, a, 0));
    if (t == DT_BF16)
        return v2(v, X_and, round_bf16(v, a), v_k32(v, 0xffff0000u));
    return a;
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* How elements of a port's type come into 32-bit lanes (or, u32, into 64-bit ones). */
static XOp widening(DType t)
{
    switch (t) {
    case DT_BOOL:
    case DT_U8: return X_pmovzxbd;
    case DT_I8: return X_pmovsxbd;
    case DT_U16:
    case DT_BF16: return X_pmovzxwd;
    case DT_I16: return X_pmovsxwd;
    case DT_F16: return X_cvtph2ps;
    case DT_U32: return X_pmovzxdq;
    default: return X_movups;
    }
}

/* From widened lanes to the value: only bool and bfloat16 have something left to do. */
static int finish_load(VCode *v, DType t, int a)
{
    if (t == DT_BOOL)
        return v2(v, X_pcmpgtd, a, v_zero(v));
    return t == DT_BF16 ? v1i(v, X_pslld, a, 16) : a;
}

static int load_part(VCode *v, VKind kind, XOp x, int port, int part)
{
    VIns ins = v_blank(kind, x);
    ins.port = port;
    ins.part = (uint8_t)part;
    return v_push(v, ins);
}

/* One load for 32-bit lanes, two for 64-bit ones; narrow elements widen in the same instruction. */
static Val load_lanes(VCode *v, const BodyIns *ins, DType t)
{
    XOp x = widening(t);
    int lo = load_part(v, V_LOAD, x, ins->port, 0);
    if (is_wide(ins->type))
        return two(lo, load_part(v, V_LOAD, x, ins->port, 1));
    return one(finish_load(v, t, lo));
}

/* The broadcast of an element of its own size, then widened as lanes are. */
static Val load_row(VCode *v, const BodyIns *ins, DType t)
{
    static const XOp by_size[] =
        {[1] = X_pbroadcastb, [2] = X_pbroadcastw, [4] = X_broadcastss, [8] = X_broadcastsd};
    int a = load_part(v, V_LOAD1, by_size[dtype_bytes(t)], ins->port, 0);
    if (widening(t) != X_movups)
        a = v1(v, widening(t), a);
    return is_wide(ins->type) ? two(a, a) : one(finish_load(v, t, a));
}

static void store_part(VCode *v, VKind kind, XOp x, int port, int part, int a)
{
    int id = load_part(v, kind, x, port, part);
    v->ins.at[id].a = a;
}

/* The low 16 or 8 bits of the lanes, packed at the bottom of the register. */
static int pack(VCode *v, int a, int bytes)
{
    VConst pick = {{0}};
    if (bytes == 2) {
        for (int half = 0; half < 8; half += 4) {
            pick.lane[half] = 0x05040100u;
            pick.lane[half + 1] = 0x0D0C0908u;
        }
        return v1i(v, X_permq, v2(v, X_pshufb, a, v_k(v, pick)), 0x08);
    }
    pick.lane[0] = pick.lane[4] = 0x0C080400u;
    VConst order = {{0, 4, 1, 1, 1, 1, 1, 1}};
    return v2(v, X_permd, v_k(v, order), v2(v, X_pshufb, a, v_k(v, pick)));
}

/* The bits to store in the low part of each 32-bit lane. */
static int before_store(VCode *v, DType t, Val a)
{
    if (t == DT_BOOL)
        return v1i(v, X_psrld, mask_as(v, a, 1).r[0], 31);
    if (t == DT_BF16)
        return v1i(v, X_psrld, round_bf16(v, a.r[0]), 16);
    if (t == DT_F16)
        return v1i(v, X_cvtps2ph, a.r[0], 0);
    return a.r[0];
}

/* Narrow lanes are packed to the bottom of the register: one store of 8 or 16 bytes. */
static void store_lanes(VCode *v, int port, DType t, Val a)
{
    int bytes = dtype_bytes(t);
    if (bytes == 8) {
        store_part(v, V_STORE, X_storeups, port, 0, a.r[0]);
        store_part(v, V_STORE, X_storeups, port, 1, a.r[1]);
    } else if (bytes == 4) {
        store_part(v, V_STORE, X_storeups, port, 0, t == DT_U32 ? narrow(v, a) : a.r[0]);
    } else {
        int low = before_store(v, t, a);
        int packed = t == DT_F16 ? low : pack(v, low, bytes);
        store_part(v, V_STORE, bytes == 2 ? X_storeups128 : X_storeq128, port, 0, packed);
    }
}

/* Lane 0 only; its low bits are there without packing. */
static void store_row(VCode *v, int port, DType t, Val a)
{
    static const XOp by_size[] =
        {[1] = X_pextrb128, [2] = X_pextrw128, [4] = X_stored128, [8] = X_storeq128};
    store_part(v, V_STORE1, by_size[dtype_bytes(t)], port, 0, before_store(v, t, a));
}

/* ---- primitives ------------------------------------------------------------------------------ */

typedef struct Binary {
    Prim prim;
    XOp f32, f64, i32, i64; /* N_XOPS: not one instruction */
} Binary;
static const Binary binaries[] = {
    {P_add, X_addps, X_addpd, X_paddd, X_paddq},
    {P_sub, X_subps, X_subpd, X_psubd, X_psubq},
    {P_mul, X_mulps, X_mulpd, X_pmulld, N_XOPS},
    {P_div, X_divps, X_divpd, N_XOPS, N_XOPS},
    {P_min, N_XOPS, N_XOPS, X_pminsd, N_XOPS},
    {P_max, N_XOPS, N_XOPS, X_pmaxsd, N_XOPS},
};

/* The one instruction for a primitive on a type, or N_XOPS. */
static XOp binary(Prim p, DType t)
{
    for (int k = 0; k < NELEM(binaries); k++)
        if (binaries[k].prim == p)
            return t == DT_F32 ? binaries[k].f32
                : t == DT_F64  ? binaries[k].f64
                : t == DT_I32  ? binaries[k].i32
                : t == DT_I64  ? binaries[k].i64
                               : N_XOPS;
    return N_XOPS;
}

/* A constant that is no NaN: spares two instructions in every Relu and Clip. */
static bool is_number(const Body *b, int id)
{
    const BodyIns *ins = &b->ins.at[id];
    return ins->op == B_CONST && ins->k.f == ins->k.f;
}

/* The machine's min and max give their second operand when either is NaN or they tie: with the
 * operands exchanged that is right for all but a NaN in b. */
static Val float_extreme(Select *s, const BodyIns *ins, Val a, Val b)
{
    bool wide = ins->type == DT_F64;
    XOp x = ins->prim == P_min ? (wide ? X_minpd : X_minps) : wide ? X_maxpd : X_maxps;
    Val r = map2(s->v, x, b, a);
    if (is_number(s->b, ins->b))
        return r;
    return blend(s->v, r, b, map2i(s->v, wide ? X_cmppd : X_cmpps, b, b, 3));
}

static Val sign_mask64(VCode *v, Val a) { return map2(v, X_pcmpgtq, both(v_zero(v), 2), a); }

/* The product of the low dwords, plus the cross products in the upper dword. */
static Val mul64(VCode *v, Val a, Val b)
{
    Val cross = map2(v, X_pmulld, a, map1i(v, X_pshufd, b, 0xB1));
    Val sum = map2(v, X_paddd, cross, map1i(v, X_psrlq, cross, 32));
    return map2(v, X_paddq, map2(v, X_pmuludq, a, b), map1i(v, X_psllq, sum, 32));
}

/* Counts outside 0..width-1 give 0; the machine's logical shifts do that by themselves. */
static Val shift(VCode *v, Prim p, DType t, Val a, Val count)
{
    if (t == DT_I32 && p == P_shl)
        return map2(v, X_psllvd, a, count);
    if (t == DT_I64 && p == P_shl)
        return map2(v, X_psllvq, a, count);
    if (t == DT_I32) {
        int big = v2(v, X_and, count.r[0], v_k32(v, ~31u));
        int fits = v2(v, X_pcmpeqd, big, v_zero(v));
        return one(v2(v, X_and, v2(v, X_psravd, a.r[0], count.r[0]), fits));
    }
    Val fits =
        map2(v, X_pcmpeqq, map2(v, X_and, count, both(v_k64(v, ~63ull), 2)), both(v_zero(v), 2));
    Val sign = sign_mask64(v, a);
    Val moved = map2(v, X_xor, map2(v, X_psrlvq, map2(v, X_xor, a, sign), count), sign);
    return map2(v, X_and, moved, fits);
}

/* int32 by a constant that is not 0, through float64, whose quotient is right after truncation.
 * Other divisors stay scalar: there a zero is reported. */
static Val divide(Select *s, const BodyIns *ins, Val a, Val b)
{
    VCode *v = s->v;
    const BodyIns *divisor = &s->b->ins.at[ins->b];
    if (ins->type != DT_I32 || divisor->op != B_CONST || (int32_t)divisor->k.i == 0) {
        v->failed = true;
        return a;
    }
    Val num = widen(v, X_cvtdq2pd, a.r[0]), den = both(v_kd(v, (double)(int32_t)divisor->k.i), 2);
    Val half = map1(v, X_cvttpd2dq, map2(v, X_divpd, num, den));
    int q = v2i(v, X_inserti128, half.r[0], half.r[1], 1);
    if (ins->prim == P_div)
        return one(q);
    return one(v2(v, X_psubd, a.r[0], v2(v, X_pmulld, q, b.r[0])));
}

/* What has no instruction of its own, mostly on 64-bit lanes, where AVX2 has gaps. */
static Val int_binary(Select *s, const BodyIns *ins, Val a, Val b)
{
    VCode *v = s->v;
    switch (ins->prim) {
    case P_div:
    case P_mod: return divide(s, ins, a, b);
    case P_mul: return mul64(v, a, b);
    case P_min: return blend(v, b, a, map2(v, X_pcmpgtq, b, a));
    case P_max: return blend(v, b, a, map2(v, X_pcmpgtq, a, b));
    case P_and: return map2(v, X_and, a, b);
    case P_or: return map2(v, X_or, a, b);
    case P_xor: return map2(v, X_xor, a, b);
    case P_shl:
    case P_shr:
        if (ins->type != DT_BOOL)
            return shift(v, ins->prim, ins->type, a, b);
        break;
    default: break;
    }
    v->failed = true;
    return a;
}

/* On masks: a < b is ~a & b. */
static Val compare_bool(VCode *v, Prim p, Val a, Val b)
{
    if (p == P_lt)
        return map2(v, X_andn, a, b);
    Val different = map2(v, p == P_eq ? X_xor : X_andn, p == P_eq ? a : b, p == P_eq ? b : a);
    return map2(v, X_xor, different, both(v_ones(v), different.n));
}

/* There is no "less or equal" for integers: it is "not greater". */
static Val compare(VCode *v, Prim p, DType t, Val a, Val b)
{
    if (t == DT_BOOL)
        return compare_bool(v, p, a, b);
    if (dtype_is_float(t))
        return map2i(v, t == DT_F32 ? X_cmpps : X_cmppd, a, b, p == P_eq ? 0 : p == P_lt ? 1 : 2);
    if (p == P_eq)
        return map2(v, t == DT_I32 ? X_pcmpeqd : X_pcmpeqq, a, b);
    XOp greater = t == DT_I32 ? X_pcmpgtd : X_pcmpgtq;
    if (p == P_lt)
        return map2(v, greater, b, a);
    Val not_le = map2(v, greater, a, b);
    return map2(v, X_xor, not_le, both(v_ones(v), not_le.n));
}

/* Rounding modes: bit 3 suppresses the inexact exception, the low bits choose. */
static Val float_unary(VCode *v, const BodyIns *ins, Val a)
{
    bool wide = a.n == 2;
    int sign = wide ? v_k64(v, 1ull << 63) : v_k32(v, 1u << 31);
    XOp cmp = wide ? X_cmppd : X_cmpps, round = wide ? X_roundpd : X_roundps;
    switch (ins->prim) {
    case P_neg: return map2(v, X_xor, a, both(sign, a.n));
    case P_abs: return map2(v, X_andn, both(sign, a.n), a);
    case P_sqrt: return map1(v, wide ? X_sqrtpd : X_sqrtps, a);
    case P_rint: return map1i(v, round, a, 8);
    case P_floor: return map1i(v, round, a, 9);
    case P_ceil: return map1i(v, round, a, 10);
    case P_trunc: return map1i(v, round, a, 11);
    case P_isnan: return map2i(v, cmp, a, a, 3);
    case P_sign: { /* 1 with the sign of a, but zeros and NaN are themselves (predicate 8: equal or
                      unordered) */
        int unit = wide ? v_kd(v, 1) : v_kf(v, 1);
        Val signed_one = map2(v, X_or, map2(v, X_and, a, both(sign, a.n)), both(unit, a.n));
        return blend(v, signed_one, a, map2i(v, cmp, a, both(v_zero(v), a.n), 8));
    }
    default: break;
    }
    int r = wide ? -1 : v_math(v, ins->prim, a.r[0], -1);
    v->failed |= r < 0;
    return one(r);
}

/* Negative by comparing with zero: there is no arithmetic 64-bit shift. */
static Val int_unary(VCode *v, const BodyIns *ins, Val a)
{
    bool wide = ins->type == DT_I64;
    Val zero = both(v_zero(v), a.n);
    switch (ins->prim) {
    case P_neg: return map2(v, wide ? X_psubq : X_psubd, zero, a);
    case P_not: return map2(v, X_xor, a, both(v_ones(v), a.n));
    case P_abs:
        if (!wide)
            return map1(v, X_pabsd, a);
        Val sign = sign_mask64(v, a);
        return map2(v, X_psubq, map2(v, X_xor, a, sign), sign);
    case P_sign:
        if (!wide)
            return one(v2(v, X_psignd, v_k32(v, 1), a.r[0]));
        Val positive = map2(v, X_pcmpgtq, a, zero), negative = map2(v, X_pcmpgtq, zero, a);
        return map2(v, X_psubq, negative, positive); /* masks are -1 */
    default: v->failed = true; return a;
    }
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* Toward zero; the machine gives 0x80000000 for all that does not fit: right for the low side,
 * inverted for the high side, cleared for NaN. */
static int f32_to_i32(VCode *v, int a)
{
    int high = v2i(v, X_cmpps, v_kf(v, 0x1p31f), a, 2);
    int r = v2(v, X_xor, v1(v, X_cvttps2dq, a), high);
    return v2(v, X_and, r, v2i(v, X_cmpps, a, a, 7));
}

/* The bounds of int32 are exact in float64, so clamping first is enough. */
static int f64_to_i32(VCode *v, Val a)
{
    Val low = map2(v, X_maxpd, a, both(v_kd(v, -0x1p31), 2));
    Val in = map2(v, X_minpd, low, both(v_kd(v, 2147483647.0), 2));
    Val ordered = map2(v, X_and, in, map2i(v, X_cmppd, a, a, 7));
    Val half = map1(v, X_cvttpd2dq, ordered);
    return v2i(v, X_inserti128, half.r[0], half.r[1], 1);
}

/* Exact halves by exponent tricks: 2^52 + low and 2^84 + 2^63 + high * 2^32, then one rounding
 * addition. */
static Val i64_to_f64(VCode *v, Val a)
{
    uint64_t magic_low = 0x4330000000000000u, magic_high = 0x4530000080000000u;
    Val low = map2(v, X_or, map2(v, X_and, a, both(v_k64(v, 0xffffffffu), 2)),
        both(v_k64(v, magic_low), 2));
    Val high = map2(v, X_xor, map1i(v, X_psrlq, a, 32), both(v_k64(v, magic_high), 2));
    Val bias = both(v_kd(v, 0x1p84 + 0x1p63 + 0x1p52), 2);
    return map2(v, X_addpd, map2(v, X_subpd, high, bias), low);
}

/* Keeps the upper bits of an int64 and one that says whether there were others: rounding that, by
 * way of float64, to float32 rounds once. Small numbers are exact in float64 anyway. */
static Val i64_to_f32(VCode *v, Val a)
{
    Val low = both(v_k64(v, 0xfff), 2), none = both(v_zero(v), 2);
    Val exact = map2(v, X_pcmpeqq, map2(v, X_and, a, low), none);
    Val sticky = map2(v, X_andn, exact, both(v_k64(v, 0x800), 2));
    Val kept = map2(v, X_or, map2(v, X_andn, low, a), sticky);
    Val size = map2(v, X_xor, a, sign_mask64(v, a));
    Val large = map2(v, X_pcmpgtq, size, both(v_k64(v, 1ull << 48), 2));
    Val half = map1(v, X_cvtpd2ps, i64_to_f64(v, blend(v, a, kept, large)));
    return one(v2i(v, X_inserti128, half.r[0], half.r[1], 1));
}

/* Toward zero, saturating, NaN to 0: upper and lower dword apart, each brought to the end of a
 * mantissa. */
static Val f64_to_i64(VCode *v, Val a)
{
    Val whole = map1i(v, X_roundpd, map2(v, X_maxpd, a, both(v_kd(v, -0x1p63), 2)), 11);
    Val high = map1i(v, X_roundpd, map2(v, X_mulpd, whole, both(v_kd(v, 0x1p-32), 2)), 9);
    Val low = map3(v, X_fnmapd, high, both(v_kd(v, 0x1p32), 2), whole);
    Val high_bits = map1i(v, X_psllq, map2(v, X_addpd, high, both(v_kd(v, 0x1.8p52), 2)), 32);
    Val low_bits = map2(v, X_and, map2(v, X_addpd, low, both(v_kd(v, 0x1p52), 2)),
        both(v_k64(v, 0xffffffffu), 2));
    Val too_big = map2i(v, X_cmppd, both(v_kd(v, 0x1p63), 2), a, 2);
    Val r = blend(v, map2(v, X_or, high_bits, low_bits), both(v_k64(v, INT64_MAX), 2), too_big);
    return map2(v, X_and, r, map2i(v, X_cmppd, a, a, 7));
}

/* A value that is all ones or zero to a number. */
static Val bool_to(VCode *v, DType to, Val a)
{
    int n = is_wide(to) ? 2 : 1;
    int unit = to == DT_F32 ? v_kf(v, 1)
        : to == DT_F64      ? v_kd(v, 1)
        : n == 2            ? v_k64(v, 1)
                            : v_k32(v, 1);
    return map2(v, X_and, mask_as(v, a, n), both(unit, n));
}

static Val to_bool(VCode *v, DType from, Val a)
{
    Val zero = both(v_zero(v), a.n);
    if (dtype_is_float(from)) /* predicate 4: not equal, or unordered */
        return map2i(v, from == DT_F32 ? X_cmpps : X_cmppd, a, zero, 4);
    Val is_zero = map2(v, from == DT_I32 ? X_pcmpeqd : X_pcmpeqq, a, zero);
    return map2(v, X_xor, is_zero, both(v_ones(v), a.n));
}

#define FROM_TO(from, to) ((from)*DT_COUNT + (to))
/* The pairs that exist; others (there are few) make the body scalar. */
static Val cast(VCode *v, DType from, DType to, Val a)
{
    if (from == to)
        return a;
    if (from == DT_BOOL)
        return bool_to(v, to, a);
    if (to == DT_BOOL)
        return to_bool(v, from, a);
    switch (FROM_TO(from, to)) {
    case FROM_TO(DT_I32, DT_I64): return widen(v, X_pmovsxdq, a.r[0]);
    case FROM_TO(DT_I64, DT_I32): return one(narrow(v, a));
    case FROM_TO(DT_I32, DT_F32): return map1(v, X_cvtdq2ps, a);
    case FROM_TO(DT_I32, DT_F64): return widen(v, X_cvtdq2pd, a.r[0]);
    case FROM_TO(DT_I64, DT_F64): return i64_to_f64(v, a);
    case FROM_TO(DT_I64, DT_F32): return i64_to_f32(v, a);
    case FROM_TO(DT_F64, DT_I64): return f64_to_i64(v, a);
    case FROM_TO(DT_F32, DT_I64): return f64_to_i64(v, widen(v, X_cvtps2pd, a.r[0]));
    case FROM_TO(DT_F32, DT_I32): return one(f32_to_i32(v, a.r[0]));
    case FROM_TO(DT_F64, DT_I32): return one(f64_to_i32(v, a));
    case FROM_TO(DT_F32, DT_F64): return widen(v, X_cvtps2pd, a.r[0]);
    case FROM_TO(DT_F64, DT_F32): {
        Val half = map1(v, X_cvtpd2ps, a);
        return one(v2i(v, X_inserti128, half.r[0], half.r[1], 1));
    }
    default: v->failed = true; return a;
    }
}

/* A cast to a 16-bit float rounds once: only where the step by way of float32 is exact can it be
 * done. */
static bool rounds_twice(DType from, DType round)
{
    return round != DT_NONE && (is_wide(from) || (from == DT_I32 && round == DT_BF16));
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* By arity and class; bool operands of different widths meet at 32 bits. */
static Val select_prim(Select *s, const BodyIns *ins)
{
    VCode *v = s->v;
    const PrimInfo *info = &prim_info[ins->prim];
    Val a = s->val[ins->a], b = info->arity > 1 ? s->val[ins->b] : a;
    DType in = s->b->ins.at[ins->a].type;
    if (info->arity == 2 && in == DT_BOOL && a.n != b.n)
        a = mask_as(v, a, 1), b = mask_as(v, b, 1);
    if (ins->prim == P_select) {
        Val c = s->val[ins->c];
        if (ins->type == DT_BOOL)
            b = mask_as(v, b, 1), c = mask_as(v, c, 1);
        return blend(v, c, b, mask_as(v, a, b.n));
    }
    if (ins->prim == P_cast) {
        v->failed |= rounds_twice(in, ins->round);
        return cast(v, in, ins->type, a);
    }
    if (info->types == 'c')
        return compare(v, ins->prim, in, a, b);
    if (info->arity == 1)
        return dtype_is_float(in) ? float_unary(v, ins, a) : int_unary(v, ins, a);
    XOp x = binary(ins->prim, ins->type);
    if (x != N_XOPS)
        return map2(v, x, a, b);
    if (!dtype_is_float(in))
        return int_binary(s, ins, a, b);
    if (ins->prim == P_min || ins->prim == P_max)
        return float_extreme(s, ins, a, b);
    int r = ins->type == DT_F32 ? v_math(v, ins->prim, a.r[0], b.r[0]) : -1;
    v->failed |= r < 0;
    return one(r);
}

/* Constants of 64-bit types are one register used for both halves. */
static Val select_const(VCode *v, const BodyIns *ins)
{
    switch (ins->type) {
    case DT_F32: return one(v_kf(v, (float)ins->k.f));
    case DT_F64: return both(v_kd(v, ins->k.f), 2);
    case DT_I64: return both(v_k64(v, ins->k.u), 2);
    case DT_I32: return one(v_k32(v, (uint32_t)ins->k.u));
    default: return one(ins->k.u ? v_ones(v) : v_zero(v));
    }
}

/* The index of the first lane plus 0..7; in two registers for int64. */
static Val select_iota(VCode *v, DType t)
{
    bool wide = t == DT_I64;
    VConst k[2] = {{{0, 1, 2, 3, 4, 5, 6, 7}}, {{0}}};
    for (int i = 0; wide && i < 8; i++) {
        k[0].lane[i] = i & 1 ? 0 : (uint32_t)i / 2;
        k[1].lane[i] = i & 1 ? 0 : (uint32_t)i / 2 + 4;
    }
    int first = v_push(v, v_blank(V_LANE, wide ? X_pbroadcastq : X_pbroadcastd));
    if (!wide)
        return one(v2(v, X_paddd, first, v_k(v, k[0])));
    return two(v2(v, X_paddq, first, v_k(v, k[0])), v2(v, X_paddq, first, v_k(v, k[1])));
}

/* ---- reductions ------------------------------------------------------------------------------ */

/* Combining must be one instruction: it runs on accumulators that stay where they are. */
static XOp reduction_op(BodyOp red, DType t)
{
    static const Prim prim[] = {P_add, P_mul, P_max, P_min};
    if (red == B_RANY || red == B_RALL)
        return red == B_RANY ? X_or : X_and;
    if (dtype_is_float(t) && red == B_RMAX)
        return t == DT_F32 ? X_maxps : X_maxpd;
    if (dtype_is_float(t) && red == B_RMIN)
        return t == DT_F32 ? X_minps : X_minpd;
    return binary(prim[red - B_RSUM], t);
}

/* The reduction of one register: absent lanes become the identity. */
static int reduce_part(VCode *v, XOp x, int a, int identity, bool wide, int part)
{
    int present = v3(v, X_blendps, identity, a, v->mask[wide ? 1 + part : 0]);
    v->ins.at[present].tail_only = true;
    VIns ins = v_blank(V_REDUCE, x);
    ins.a = a;
    ins.b = present;
    ins.c = identity;
    ins.wide = wide;
    return v_push(v, ins);
}

/* As a constant of the pool. */
static int identity_of(VCode *v, BodyOp red, DType t)
{
    BodyIns ins = {.op = B_CONST, .type = t, .k = body_red_identity(red, t)};
    return select_const(v, &ins).r[0];
}

/* Max and min lose NaNs: the lanes that were NaN are collected beside them. */
static void select_reduction(Select *s, const BodyIns *ins, int id)
{
    VCode *v = s->v;
    Val a = s->val[ins->a];
    XOp x = reduction_op(ins->op, ins->type);
    v->failed |= x == N_XOPS;
    Pending p = {.id = id, .parts = a};
    int identity = identity_of(v, ins->op, ins->type);
    for (int k = 0; k < a.n; k++)
        p.parts.r[k] = reduce_part(v, x, a.r[k], identity, a.n == 2, k);
    if (dtype_is_float(ins->type) && (ins->op == B_RMAX || ins->op == B_RMIN)) {
        Val nan = map2i(v, ins->type == DT_F32 ? X_cmpps : X_cmppd, a, a, 3);
        p.nan = nan;
        for (int k = 0; k < a.n; k++)
            p.nan.r[k] = reduce_part(v, X_or, nan.r[k], v_zero(v), a.n == 2, k);
    }
    VEC_PUSH(v->cx, &s->pending, p);
}

/* Behind the loop: the two halves of 64-bit lanes together, NaN (all ones is one) where there was
 * any. */
static void finish_reductions(Select *s)
{
    VCode *v = s->v;
    for (int k = 0; k < s->pending.n; k++) {
        Pending *p = &s->pending.at[k];
        const BodyIns *ins = &s->b->ins.at[p->id];
        int r = p->parts.r[0];
        if (p->parts.n == 2)
            r = v2(v, reduction_op(ins->op, ins->type), r, p->parts.r[1]);
        for (int n = 0; n < p->nan.n; n++)
            r = v2(v, X_or, r, p->nan.r[n]);
        s->val[p->id] = both(r, p->parts.n);
    }
    s->pending.n = 0;
}

/* Nothing of the row loop shows here: a segment is just its instructions between V_LOOP and V_END.
 */
static void select_ins(Select *s, int i)
{
    VCode *v = s->v;
    const BodyIns *ins = &s->b->ins.at[i];
    const BodyPort *port = ins->port >= 0 ? &s->b->ports.at[ins->port] : NULL;
    switch (ins->op) {
    case B_LOAD:
        s->val[i] = port->kind == PORT_LANES ? load_lanes(v, ins, port->type)
                                             : load_row(v, ins, port->type);
        break;
    case B_STORE:
        (port->kind == PORT_LANES ? store_lanes : store_row)(v, ins->port, port->type,
            s->val[ins->a]);
        break;
    case B_CONST: s->val[i] = select_const(v, ins); break;
    case B_IOTA: s->val[i] = select_iota(v, ins->type); break;
    case B_PRIM:
        s->val[i] = select_prim(s, ins);
        if (ins->round != DT_NONE && !v->failed)
            s->val[i] = one(round_to(v, ins->round, s->val[i].r[0]));
        break;
    case B_LOOP: v_push(v, v_blank(V_LOOP, X_movups)); break;
    case B_END:
        v_push(v, v_blank(V_END, X_movups));
        finish_reductions(s);
        break;
    default: select_reduction(s, ins, i); break;
    }
}

/* The masks come first, so that they exist for the tail of any loop. */
bool body_select(VCode *v, Ctx *cx, const Body *b)
{
    memset(v, 0, sizeof *v);
    v->cx = cx;
    v->body = b;
    Select s = {.v = v, .b = b, .val = NEW_N(cx, Val, b->ins.n + 1)};
    for (int part = 0; part < 3; part++) {
        VIns mask = v_blank(V_MASK, X_movups);
        mask.part = (uint8_t)part;
        v->mask[part] = v_push(v, mask);
    }
    for (int i = 0; i < b->ins.n && !v->failed; i++)
        select_ins(&s, i);
    return !v->failed;
}
