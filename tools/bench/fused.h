/* fused.h: the bodies of bench_body.c as a C programmer fuses them by hand, for gcc -O3
 * -march=native: the same formulas and polynomials in gcc's vector types, which it keeps in
 * registers. Included as text (FUSED_C) so that the compiler of the machine that is measured
 * compiles it.
 */
#define FUSED_C \
"typedef float v8 __attribute__((vector_size(32), aligned(4)));\n" \
"typedef int i8 __attribute__((vector_size(32)));\n" \
"#define FN static inline __attribute__((always_inline))\n" \
"#define MIN(a, b) __builtin_ia32_minps256(a, b)\n" \
"#define MAX(a, b) __builtin_ia32_maxps256(a, b)\n" \
"#define FMA(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)\n" \
"FN v8 all(float x) { return (v8){x, x, x, x, x, x, x, x}; }\n" \
"FN v8 horner(v8 x, const float *k, int n)\n" \
"{\n" \
"    v8 p = all(k[n - 1]);\n" \
"    for (int i = n - 2; i >= 0; i--)\n" \
"        p = FMA(p, x, all(k[i]));\n" \
"    return p;\n" \
"}\n" \
"FN v8 vexp(v8 x)\n" \
"{\n" \
"    static const float k[] = {0x1p0f, 0x1p0f, 0x1.00000cp-1f, 0x1.555512p-3f, 0x1.5549ccp-5f,\n" \
"        0x1.112644p-7f, 0x1.71bcb8p-10f, 0x1.9b991ap-13f};\n" \
"    x = MIN(all(89), MAX(all(-104), x));\n" \
"    v8 t = FMA(x, all(0x1.715476p-1f), all(0x1.8p23f)), m = t - all(0x1.8p23f);\n" \
"    v8 r = FMA(-m, all(-0x1.05c61p-28f), FMA(-m, all(0x1.62e43p0f), x));\n" \
"    v8 s = (v8)(((i8)t << 23) + (i8)all(1));\n" \
"    return horner(r, k, 8) * s * s;\n" \
"}\n" \
"FN v8 verf(v8 x)\n" \
"{\n" \
"    static const float p[] = {0x1.20dd74p0f, 0x1.85f38cp-3f, 0x1.b01df4p-5f, 0x1.ed906ep-9f,\n" \
"        0x1.2ab894p-12f, 0x1.1328bap-19f};\n" \
"    static const float q[] = {0x1p0f, 0x1.01100ep-1f, 0x1.d363dap-4f, 0x1.ea8286p-7f,\n" \
"        0x1.30c022p-10f, 0x1.3f897ep-15f};\n" \
"    x = MIN(all(3.92f), MAX(all(-3.92f), x));\n" \
"    return x * horner(x * x, p, 6) / horner(x * x, q, 6);\n" \
"}\n" \
"#define LD(p) (*(const v8 *)(p))\n" \
"#define ST(p, x) (*(v8 *)(p) = (x))\n" \
"FN float sum(v8 v) { float s = 0; for (int i = 0; i < 8; i++) s += v[i]; return s; }\n" \
"FN float top(v8 v)\n" \
"{\n" \
"    float s = v[0];\n" \
"    for (int i = 1; i < 8; i++)\n" \
"        s = v[i] > s ? v[i] : s;\n" \
"    return s;\n" \
"}\n" \
"void chain(const float *x, const float *y, float *o, long n)\n" \
"{\n" \
"    for (long i = 0; i < n; i += 8) {\n" \
"        v8 a = LD(x + i), b = LD(y + i), t = a * 1.1f + b;\n" \
"        t = MAX(all(0), t * 0.9f);\n" \
"        v8 u = MIN(all(6), (t - a) * 1.3f);\n" \
"        ST(o + i, (u + b) * t + 0.25f);\n" \
"    }\n" \
"}\n" \
"void gelu(const float *x, float *o, long n)\n" \
"{\n" \
"    for (long i = 0; i < n; i += 8) {\n" \
"        v8 a = LD(x + i);\n" \
"        ST(o + i, a * 0.5f * (verf(a * 0.70710678f) + 1.0f));\n" \
"    }\n" \
"}\n" \
"void silu(const float *x, float *o, long n)\n" \
"{\n" \
"    for (long i = 0; i < n; i += 8) {\n" \
"        v8 a = LD(x + i);\n" \
"        ST(o + i, a / (vexp(-a) + 1.0f));\n" \
"    }\n" \
"}\n" \
"void softmax(const float *x, float *o, long n, long rows)\n" \
"{\n" \
"    for (long r = 0; r < rows; r++, x += n, o += n) {\n" \
"        v8 m[4] = {LD(x), LD(x + 8), LD(x + 16), LD(x + 24)};\n" \
"        v8 s[4] = {all(0), all(0), all(0), all(0)};\n" \
"        for (long i = 32; i < n; i += 32)\n" \
"            for (int k = 0; k < 4; k++)\n" \
"                m[k] = MAX(m[k], LD(x + i + 8 * k));\n" \
"        v8 t = all(top(MAX(MAX(m[0], m[1]), MAX(m[2], m[3]))));\n" \
"        for (long i = 0; i < n; i += 32)\n" \
"            for (int k = 0; k < 4; k++) {\n" \
"                v8 e = vexp(LD(x + i + 8 * k) - t);\n" \
"                ST(o + i + 8 * k, e);\n" \
"                s[k] += e;\n" \
"            }\n" \
"        v8 f = all(1 / sum(s[0] + s[1] + (s[2] + s[3])));\n" \
"        for (long i = 0; i < n; i += 8)\n" \
"            ST(o + i, LD(o + i) * f);\n" \
"    }\n" \
"}\n" \
"void layernorm(const float *x, const float *g, const float *b, float *o, long n, long rows)\n" \
"{\n" \
"    for (long r = 0; r < rows; r++, x += n, o += n) {\n" \
"        v8 s[4] = {all(0), all(0), all(0), all(0)}, q[4] = {all(0), all(0), all(0), all(0)};\n" \
"        for (long i = 0; i < n; i += 32)\n" \
"            for (int k = 0; k < 4; k++)\n" \
"                s[k] += LD(x + i + 8 * k);\n" \
"        v8 mean = all(sum(s[0] + s[1] + (s[2] + s[3])) / n);\n" \
"        for (long i = 0; i < n; i += 32)\n" \
"            for (int k = 0; k < 4; k++) {\n" \
"                v8 d = LD(x + i + 8 * k) - mean;\n" \
"                q[k] += d * d;\n" \
"            }\n" \
"        v8 w = all(1 / __builtin_sqrtf(sum(q[0] + q[1] + (q[2] + q[3])) / n + 1e-5f));\n" \
"        for (long i = 0; i < n; i += 8)\n" \
"            ST(o + i, (LD(x + i) - mean) * w * LD(g + i) + LD(b + i));\n" \
"    }\n" \
"}\n"
