/* body_math.c: exp, log, erf, tanh, pow on float32 lanes, as vector code.
 *
 * The polynomials and rational functions are minimax fits made for these intervals (Remez exchange, and
 * iteratively reweighted least squares for the rational ones, in 40-digit arithmetic), their coefficients
 * rounded to float32 in turn. Range reductions are the usual ones (Cody and Waite, "Software manual for the
 * elementary functions", 1980; Muller, "Elementary functions", 2016). Errors in ULP were measured against the
 * double functions of libm over float32 arguments of all exponents: tests/test_body.c keeps them.
 *
 * Only here may multiplication and addition be contracted: these are approximations anyway. No case leaves the
 * straight line: special arguments work out by themselves or are blended in at the end.
 */
#include "codegen/vec.h"

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

/* exp x = 2^2m exp r with |r| <= ln 2: an even exponent, so that multiplying twice by 2^m reaches both
 * infinity and the subnormals, rounding once. 1 at 0. Error below 1.2 ULP. */
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
    int tiny = v2i(v, X_cmpps, x, v_kf(v, 0x1p-126f), 1);
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
    int finite = v2i(v, X_cmpps, x, v_kf(v, __builtin_inff()), 1);
    r = v3(v, X_blendps, add(v, x, x), r, finite);
    int zero = v_zero(v);
    r = v3(v, X_blendps, r, v_kf(v, -__builtin_inff()), v2i(v, X_cmpps, x, zero, 0));
    return v2(v, X_or, r, v2i(v, X_cmpps, x, zero, 1));
}

/* x p(x^2) / q(x^2), x clamped to where the function rounds to 1. */
static int odd_rational(VCode *v, int x, float limit, const float *p, int np, const float *q, int nq)
{
    x = clamp(v, x, -limit, limit);
    int x2 = mul(v, x, x);
    int numerator = mul(v, x, horner(v, -1, x2, p, np));
    return v2(v, X_divps, numerator, horner(v, -1, x2, q, nq));
}

static int math_erf(VCode *v, int x)
{
    static const float p[] = {0x1.20dd74p0f, 0x1.85f38cp-3f, 0x1.b01df4p-5f, 0x1.ed906ep-9f, 0x1.2ab894p-12f,
        0x1.1328bap-19f};
    static const float q[] = {0x1p0f, 0x1.01100ep-1f, 0x1.d363dap-4f, 0x1.ea8286p-7f, 0x1.30c022p-10f,
        0x1.3f897ep-15f};
    return odd_rational(v, x, 3.92f, p, 6, q, 6);
}

static int math_tanh(VCode *v, int x)
{
    static const float p[] = {0x1p0f, 0x1.121716p-3f, 0x1.ca840cp-9f, 0x1.5a6ad6p-16f, 0x1.cc7854p-27f};
    static const float q[] = {0x1p0f, 0x1.de60d8p-2f, 0x1.a822acp-6f, 0x1.58f40ep-12f, 0x1.a29c58p-21f};
    return odd_rational(v, x, 9.01f, p, 5, q, 5);
}

int v_math(VCode *v, Prim p, int a, int b)
{
    (void)b;
    switch (p) {
    case P_exp: return math_exp(v, a);
    case P_log: return math_log(v, a);
    case P_erf: return math_erf(v, a);
    case P_tanh: return math_tanh(v, a);
    default: return -1;
    }
}
