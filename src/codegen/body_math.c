/* body_math.c: exp, log, erf, tanh, pow, sin, cos on float32 lanes, as vector code.
 *
 * The polynomials and rational functions are minimax fits made for these intervals (Remez exchange,
 * and iteratively reweighted least squares for the rational ones, in 40-digit arithmetic), their
 * coefficients rounded to float32 in turn. Range reductions are the usual ones (Cody and Waite,
 * "Software manual for the elementary functions", 1980; Muller, "Elementary functions", 2016).
 * Errors in ULP were measured against the double functions of libm over float32 arguments of all
 * exponents: tests/test_body.c keeps them.
 *
 * Only here may multiplication and addition be contracted: these are approximations anyway. No case
 * leaves the straight line: special arguments work out by themselves or are blended in at the end.
 */
#include "codegen/vec.h"

/* Predicates of comparisons. */
enum { EQ = 0, LT = 1, UNORD = 3, NEQ = 4 };

static int add(VCode *v, int a, int b) { return v2(v, X_addps, a, b); }
static int sub(VCode *v, int a, int b) { return v2(v, X_subps, a, b); }
static int mul(VCode *v, int a, int b) { return v2(v, X_mulps, a, b); }
static int madd(VCode *v, int a, int b, int c) { return v3(v, X_fma, a, b, c); }
static int nmadd(VCode *v, int a, int b, int c) { return v3(v, X_fnma, a, b, c); } /* c - a * b */

/* lo <= x <= hi; a NaN stays: the machine's min and max give their second operand for it. */
static int clamp(VCode *v, int x, float lo, float hi)
{
    return v2(v, X_minps, v_kf(v, hi), v2(v, X_maxps, v_kf(v, lo), x));
}

/* k[0] + k[1] x + ... by Horner's rule, continuing from p if p >= 0. */
static int horner(VCode *v, int p, int x, const float *k, int n)
{
    for (int i = n - 1; i >= 0; i--)
        p = p < 0 ? v_kf(v, k[i]) : madd(v, p, x, v_kf(v, k[i]));
    return p;
}

/* exp x = 2^2m exp r with |r| <= ln 2: an even exponent, so that multiplying twice by 2^m reaches
 * both infinity and the subnormals, rounding once. 1 at 0. Error below 1.6 ULP. */
static int math_exp(VCode *v, int x)
{
    static const float k[] = {0x1p0f, 0x1p0f, 0x1.00000cp-1f, 0x1.555512p-3f, 0x1.5549ccp-5f,
        0x1.112644p-7f, 0x1.71bcb8p-10f, 0x1.9b991ap-13f};
    x = clamp(v, x, -104, 89);
    /* Adding 1.5 * 2^23 leaves the rounded m in the low bits. */
    int magic = v_kf(v, 0x1.8p23f);
    int t = madd(v, x, v_kf(v, 0x1.715476p-1f), magic);
    int m = sub(v, t, magic);
    int r = nmadd(v, m, v_kf(v, 0x1.62e43p0f), x);
    r = nmadd(v, m, v_kf(v, -0x1.05c61p-28f), r);
    int p = horner(v, -1, r, k, 8);
    int scale = v2(v, X_paddd, v1i(v, X_pslld, t, 23), v_kf(v, 1));
    return mul(v, mul(v, p, scale), scale);
}

/* log x = e ln 2 + log m with sqrt 1/2 <= m < sqrt 2. Error below 1 ULP. */
static int math_log(VCode *v, int x)
{
    static const float k[] = {0x1.555548p-2f, -0x1.00007p-2f, 0x1.99a542p-3f, -0x1.552f1p-3f,
        0x1.2302fcp-3f, -0x1.010262p-3f, 0x1.f006b6p-4f, -0x1.bf4764p-4f, 0x1.b501cp-5f};
    int tiny = v2i(v, X_cmpps, x, v_kf(v, 0x1p-126f), LT);
    int normal = v3(v, X_blendps, x, mul(v, x, v_kf(v, 0x1p23f)), tiny);
    int root = v_kf(v, 0x1.6a09e6p-1f);
    int e = v1i(v, X_psrad, v2(v, X_psubd, normal, root), 23);
    int m = v2(v, X_psubd, normal, v1i(v, X_pslld, e, 23));
    int ef = sub(v, v1(v, X_cvtdq2ps, e), v2(v, X_and, tiny, v_kf(v, 23)));
    int f = sub(v, m, v_kf(v, 1));
    int f2 = mul(v, f, f);
    int q = horner(v, -1, f, k, 9);
    int tail = mul(v, mul(v, q, f), f2);
    tail = madd(v, ef, v_kf(v, -0x1.bd0106p-13f), tail);
    tail = nmadd(v, f2, v_kf(v, 0.5f), tail);
    int r = madd(v, ef, v_kf(v, 0x1.63p-1f), add(v, f, tail));
    /* log inf = inf, log of NaN is NaN: x + x; of 0, -inf; below 0, NaN. */
    int finite = v2i(v, X_cmpps, x, v_kf(v, __builtin_inff()), LT);
    r = v3(v, X_blendps, add(v, x, x), r, finite);
    int zero = v_zero(v);
    r = v3(v, X_blendps, r, v_kf(v, -__builtin_inff()), v2i(v, X_cmpps, x, zero, EQ));
    return v2(v, X_or, r, v2i(v, X_cmpps, x, zero, LT));
}

/* x p(x^2) / q(x^2), x clamped to where the function rounds to 1. */
static int odd_rational(VCode *v, int x, float limit, const float *p, int np, const float *q,
    int nq)
{
    x = clamp(v, x, -limit, limit);
    int x2 = mul(v, x, x);
    int numerator = mul(v, x, horner(v, -1, x2, p, np));
    return v2(v, X_divps, numerator, horner(v, -1, x2, q, nq));
}

/* Both have errors up to 5.4 and 4.6 ULP close to 1, where an ULP is small; 3 elsewhere. */
static int math_erf(VCode *v, int x)
{
    static const float p[] = {0x1.20dd74p0f, 0x1.85f38cp-3f, 0x1.b01df4p-5f, 0x1.ed906ep-9f,
        0x1.2ab894p-12f, 0x1.1328bap-19f};
    static const float q[] = {0x1p0f, 0x1.01100ep-1f, 0x1.d363dap-4f, 0x1.ea8286p-7f,
        0x1.30c022p-10f, 0x1.3f897ep-15f};
    return odd_rational(v, x, 3.92f, p, 6, q, 6);
}

static int math_tanh(VCode *v, int x)
{
    static const float p[] = {0x1p0f, 0x1.121716p-3f, 0x1.ca840cp-9f, 0x1.5a6ad6p-16f,
        0x1.cc7854p-27f};
    static const float q[] = {0x1p0f, 0x1.de60d8p-2f, 0x1.a822acp-6f, 0x1.58f40ep-12f,
        0x1.a29c58p-21f};
    return odd_rational(v, x, 9.01f, p, 5, q, 5);
}

/* ---- in float64 lanes, four at a time -------------------------------------------------------- */

/* The four lanes of the lower or upper half of a. */
static int widen_half(VCode *v, int a, int upper)
{
    return v1(v, X_cvtps2pd, upper ? v1i(v, X_extracti128, a, 1) : a);
}

static int join_halves(VCode *v, int lo, int hi) { return v2i(v, X_inserti128, lo, hi, 1); }

static int horner_pd(VCode *v, int x, const double *k, int n)
{
    int p = v_kd(v, k[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        p = v3(v, X_fmapd, p, x, v_kd(v, k[i]));
    return p;
}

/* log2 of positive float64 lanes that were float32: e + log2 m with m about 1, by the series of
 * atanh in (m - 1) / (m + 1). Infinite for 0 and infinity. */
static int log2_pd(VCode *v, int x)
{
    static const double k[] = {0x1.71547652b8250p+1, 0x1.ec709dc53e4a4p-1, 0x1.2776c290e86f3p-1,
        0x1.a61a30c574268p-2, 0x1.4794ffa52a317p-2, 0x1.21b60499b8666p-2};
    int one = v_kd(v, 1);
    int exponent = v2(v, X_or, v1i(v, X_psrlq, x, 52), v_kd(v, 0x1p52));
    int e = v2(v, X_subpd, exponent, v_kd(v, 0x1p52 + 1023));
    int m = v2(v, X_or, v2(v, X_and, x, v_k64(v, 0xfffffffffffffu)), one);
    int big = v2i(v, X_cmppd, v_kd(v, 0x1.6a09e667f3bcdp0), m, LT);
    m = v3(v, X_blendpd, m, v2(v, X_mulpd, m, v_kd(v, 0.5)), big);
    e = v2(v, X_addpd, e, v2(v, X_and, big, one));
    int s = v2(v, X_divpd, v2(v, X_subpd, m, one), v2(v, X_addpd, m, one));
    int r = v3(v, X_fmapd, s, horner_pd(v, v2(v, X_mulpd, s, s), k, 6), e);
    int inf = v_kd(v, __builtin_inf());
    r = v3(v, X_blendpd, r, inf, v2i(v, X_cmppd, x, inf, EQ));
    return v3(v, X_blendpd, r, v_kd(v, -__builtin_inf()), v2i(v, X_cmppd, x, v_zero(v), EQ));
}

/* 2^x, |x| below 1000. */
static int exp2_pd(VCode *v, int x)
{
    static const double k[] = {0x1.0000000000000p+0, 0x1.62e4300ba59a4p-1, 0x1.ebfbe04586e35p-3,
        0x1.c6b05512b6ca4p-5, 0x1.3b2a1bd5cc37ep-7, 0x1.5dc0562793344p-10, 0x1.443fb644224eap-13,
        0x1.c049402ee5f98p-17};
    int magic = v_kd(v, 0x1.8p52), t = v2(v, X_addpd, x, magic);
    int f = v2(v, X_subpd, x, v2(v, X_subpd, t, magic));
    return v2(v, X_paddq, horner_pd(v, f, k, 8), v1i(v, X_psllq, t, 52));
}

/* |x|^y. Beyond the range of float32 the exponent does not matter. */
static int pow_half(VCode *v, int x, int y, int upper)
{
    int e = v2(v, X_mulpd, widen_half(v, y, upper), log2_pd(v, widen_half(v, x, upper)));
    e = v2(v, X_minpd, v_kd(v, 200), v2(v, X_maxpd, v_kd(v, -200), e));
    return v1(v, X_cvtpd2ps, exp2_pd(v, e));
}

static int compare(VCode *v, int predicate, int a, int b)
{
    return v2i(v, X_cmpps, a, b, predicate);
}

/* What C says of pow with signs, infinities and NaN, over r = |x|^y of the finite cases. */
static int pow_special(VCode *v, int r, int x, int y, int x_abs)
{
    int one = v_kf(v, 1), zero = v_zero(v), inf = v_kf(v, __builtin_inff()),
        sign = v_k32(v, 1u << 31);
    int half = mul(v, y, v_kf(v, 0.5f));
    int whole = compare(v, EQ, v1i(v, X_roundps, y, 8), y);
    int odd = v2(v, X_and, compare(v, NEQ, v1i(v, X_roundps, half, 8), half), whole);
    r = v2(v, X_xor, r, v2(v, X_and, v2(v, X_and, x, sign), odd));
    int negative = v2(v, X_and, compare(v, LT, x, zero), compare(v, LT, x_abs, inf));
    r = v2(v, X_or, r, v2(v, X_andn, whole, negative)); /* a negative number to a fraction: NaN */
    r = v2(v, X_or, r, compare(v, UNORD, x, y));
    int y_inf = compare(v, EQ, v2(v, X_andn, sign, y), inf);
    int ones = v2(v, X_or, compare(v, EQ, x, one), compare(v, EQ, y, zero));
    ones = v2(v, X_or, ones, v2(v, X_and, compare(v, EQ, x_abs, one), y_inf));
    return v3(v, X_blendps, r, one, ones);
}

/* x^k for the exponents that models have; -1 for others. */
static int pow_simple(VCode *v, int x, float k)
{
    if (k == 1)
        return x;
    if (k == 2)
        return mul(v, x, x);
    if (k == 3)
        return mul(v, mul(v, x, x), x);
    if (k == -1)
        return v2(v, X_divps, v_kf(v, 1), x);
    if (k != 0.5f)
        return -1;
    /* The root of -0 is 0 and that of -inf is inf here. */
    int low = compare(v, EQ, x, v_kf(v, -__builtin_inff()));
    int r = v1(v, X_sqrtps, add(v, x, v_zero(v)));
    return v3(v, X_blendps, r, v_kf(v, __builtin_inff()), low);
}

/* Error below 1 ULP: the work is done in float64. */
static int math_pow(VCode *v, int x, int y)
{
    const VIns *ins = &v->ins.at[y];
    float k;
    if (ins->kind == V_CONST) {
        memcpy(&k, &v->pool.at[ins->port], 4);
        int r = pow_simple(v, x, k);
        if (r >= 0)
            return r;
    }
    int x_abs = v2(v, X_andn, v_k32(v, 1u << 31), x);
    int lo = pow_half(v, x_abs, y, 0), hi = pow_half(v, x_abs, y, 1);
    return pow_special(v, join_halves(v, lo, hi), x, y, x_abs);
}

/* ---- sine and cosine ------------------------------------------------------------------------- */

/* The quarter turns nearest to x, and what remains, as parts of a quarter turn. 2/pi comes in
 * pieces of 29 bits, so that products with a float32 are exact; whole turns drop out of each
 * product by itself. That is exact for all of float32 (after Payne and Hanek, 1983, without the
 * integers). */
static int reduce_half(VCode *v, int x, int upper, int *quarters)
{
    static const double piece[] = {0x1.45f306dp-1, 0x1.9391054p-30, 0x1.4fe13abp-59,
        0x1.d1f534dp-88, 0x1.b81b6c5p-117, 0x1.5993c4p-148, 0x1.c820ff2p-175, 0x1.163abdep-204};
    int part[NELEM(piece)], wide = widen_half(v, x, upper), sum = -1, magic = v_kd(v, 0x1.8p52);
    for (int k = 0; k < NELEM(piece); k++) {
        int t = v2(v, X_mulpd, wide, v_kd(v, piece[k]));
        int turns = v1i(v, X_roundpd, v2(v, X_mulpd, t, v_kd(v, 0.25)), 8);
        part[k] = v3(v, X_fnmapd, turns, v_kd(v, 4), t);
        sum = k ? v2(v, X_addpd, sum, part[k]) : part[k];
    }
    int q = v2(v, X_addpd, sum, magic); /* the number of quarters in its low bits */
    int rest = v2(v, X_subpd, part[0], v2(v, X_subpd, q, magic));
    for (int k = 1; k < NELEM(piece); k++)
        rest = v2(v, X_addpd, rest, part[k]);
    *quarters = q;
    return v1(v, X_cvtpd2ps, v2(v, X_mulpd, rest, v_kd(v, 0x1.921fb54442d18p0)));
}

/* sin (|x| + first quarter turns), with the sign of x if `odd`. Error below 2 ULP. */
static int sin_cos(VCode *v, int x, int first, bool odd)
{
    static const float ks[] = {0x1p0f, -0x1.555544p-3f, 0x1.1106c6p-7f, -0x1.991c2ap-13f};
    static const float kc[] = {0x1p0f, -0x1p-1f, 0x1.55554ap-5f, -0x1.6c0c26p-10f, 0x1.99e714p-16f};
    int sign = v_k32(v, 1u << 31), x_abs = v2(v, X_andn, sign, x);
    int q_lo, q_hi, r_lo = reduce_half(v, x_abs, 0, &q_lo), r_hi = reduce_half(v, x_abs, 1, &q_hi);
    int r = join_halves(v, r_lo, r_hi);
    int q = v1i(v, X_permq, v2i(v, X_shufps, q_lo, q_hi, 0x88), 0xD8);
    if (first)
        q = v2(v, X_paddd, q, v_k32(v, (uint32_t)first));
    int r2 = mul(v, r, r);
    int sine = mul(v, r, horner(v, -1, r2, ks, 4)), cosine = horner(v, -1, r2, kc, 5);
    int y = v3(v, X_blendps, sine, cosine, v1i(v, X_pslld, q, 31));
    int flip = v1i(v, X_pslld, q, 30);
    return v2(v, X_xor, y, v2(v, X_and, odd ? v2(v, X_xor, flip, x) : flip, sign));
}

int v_math(VCode *v, Prim p, int a, int b)
{
    switch (p) {
    case P_exp: return math_exp(v, a);
    case P_log: return math_log(v, a);
    case P_erf: return math_erf(v, a);
    case P_tanh: return math_tanh(v, a);
    case P_pow: return math_pow(v, a, b);
    case P_sin: return sin_cos(v, a, 0, true);
    case P_cos: return sin_cos(v, a, 1, false);
    default: return -1;
    }
}
