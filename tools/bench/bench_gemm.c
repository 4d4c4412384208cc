/* bench_gemm.c: the speed of the contraction microkernel, one core, as JSON, one object per line.
 *
 *   bench_gemm [ISA]...          (default: every set that this CPU has)
 *
 * "peak": the best that registers alone allow. "gemm": a whole product driven as generated code
 * drives it, and its ratio to the peak (goal 0.85). "rows0": what short row tiles cost. The time of
 * r rows is fitted by a + b*r; the share of the peak that r rows reach is then r / (r + a/b) of
 * what many rows reach, and ROWS0 = a/b is the constant of the fusion pass's cost model.
 */
#include "runtime/kernels/kernels.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The time this thread has run: other work on the machine does not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *must(void *p)
{
    if (!p) {
        fprintf(stderr, "bench_gemm: out of memory\n");
        exit(1);
    }
    return p;
}

static float *floats(int64_t n)
{
    float *p = must(aligned_alloc(64, ((size_t)n * sizeof(float) + 63) / 64 * 64));
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)((i * 2654435761u >> 7) % 2001) / 1000.0f - 1.0f;
    return p;
}

/* ---- the peak -------------------------------------------------------------------------------- */

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
enum { CHAINS = 12, ROUNDS = 50000 };
static volatile float sink;

/* Twelve independent chains of multiply-add (or of multiply and add, where there is no FMA). */
#define PEAK(name, V, attribute, op, reg)                                                   \
    attribute static void name(float one)                                                   \
    {                                                                                       \
        V x = one - (V){0}, y = 1e-9f * one - (V){0}, a[CHAINS];                            \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) a[i] = (float)i - (V){0}; \
        for (int n = 0; n < ROUNDS; n++)                                                    \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) op(a[i], x, y, reg);  \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) sink = a[i][0];           \
    }
#define FUSED(a, x, y, reg) __asm__ volatile("vfmadd213ps %2, %1, %0" : "+" reg(a) : reg(x), reg(y))
#define TWO(a, x, y, reg) ((a) = (a) * (x) + (y), ({ __asm__ volatile("" : "+" reg(a)); }))
PEAK(peak_sse2, v4, , TWO, "x")
PEAK(peak_avx2, v8, __attribute__((target("avx2,fma"))), FUSED, "x")
PEAK(peak_avx512, v16, __attribute__((target("avx512f"))), FUSED, "v")

static double peak_gflops(const Kernels *k)
{
    void (*loop)(float) = k->lanes == 16 ? peak_avx512 : k->lanes == 8 ? peak_avx2 : peak_sse2;
    double best = INFINITY;
    for (int run = 0; run < 200; run++) {
        double t = now();
        loop(1.0000001f);
        best = fmin(best, now() - t);
    }
    return 2.0 * CHAINS * ROUNDS * k->lanes / best * 1e-9;
}

/* ---- a product, driven as generated code does it --------------------------------------------- */

typedef struct Gemm {
    const Kernels *k;
    int64_t M, N, K;
    const float *w, *bias, *zero;
    const float *
        *rows; /* all of A's rows; a tile's table is a part of it, since there is one tap */
    float *c;
} Gemm;

static Gemm gemm_new(const Kernels *k, int64_t M, int64_t N, int64_t K)
{
    Gemm g = {.k = k, .M = M, .N = N, .K = K};
    int64_t padded = (N + k->nr - 1) / k->nr * k->nr;
    float *a = floats(M * K), *b = floats(K * N), *w = floats(padded * K);
    k->pack_b(b, N, 1, K, N, w);
    free(b);
    g.w = w;
    g.bias = floats(padded);
    g.zero = floats(K);
    g.c = floats(M * N);
    g.rows = must(malloc((size_t)M * sizeof *g.rows));
    for (int64_t m = 0; m < M; m++)
        g.rows[m] = a + m * K;
    return g;
}

static void gemm_free(Gemm *g)
{
    free((void *)g->rows[0]);
    free((void *)g->w);
    free((void *)g->bias);
    free((void *)g->zero);
    free(g->c);
    free(g->rows);
}

/* One panel against the row tiles [from, to) of `tiles`, rows spread evenly over the tiles. */
static void gemm_panel(const Gemm *g, int64_t tiles, int64_t from, int64_t to, int64_t n)
{
    const Kernels *k = g->k;
    const float *w = g->w + n * g->K;
    bool more = n + k->nr < g->N;
    IgEpilogue e = {.bias = g->bias + n, .lo = 0, .hi = INFINITY};
    for (int64_t t = from; t < to; t++) {
        int64_t m = g->M * t / tiles, end = g->M * (t + 1) / tiles;
        const char *next = more && t - from < 8
            ? (const char *)(w + g->K * k->nr) + (t - from) * g->K * k->nr / 2
            : NULL;
        k->igemm(end - m, g->N - n < k->nr ? g->N - n : k->nr, 1, g->K, g->rows + m, 0, g->zero, w,
            g->c + m * g->N + n, g->N, IG_LAST, &e, next);
    }
}

static void gemm_run(const Gemm *g)
{
    int64_t tiles = (g->M + g->k->mr - 1) / g->k->mr;
    for (int64_t from = 0; from < tiles; from += 8)
        for (int64_t n = 0; n < g->N; n += g->k->nr)
            gemm_panel(g, tiles, from, from + 8 < tiles ? from + 8 : tiles, n);
}

/* The best of many samples; a sample repeats a small product until reading the clock does not
 * matter. */
static double gemm_seconds(const Gemm *g)
{
    int repeat = 1 + (int)(4000000 / (g->M * g->N * g->K));
    double best = INFINITY, begin = now();
    for (int run = 0; run < 5 || now() - begin < 0.2; run++) {
        double t = now();
        for (int i = 0; i < repeat; i++)
            gemm_run(g);
        best = fmin(best, (now() - t) / repeat);
    }
    return best;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void report_gemm(const Kernels *k, double peak, int64_t M, int64_t N, int64_t K)
{
    Gemm g = gemm_new(k, M, N, K);
    double s = gemm_seconds(&g), gflops = 2.0 * (double)(M * N * K) / s * 1e-9;
    printf("{\"bench\":\"gemm\",\"isa\":\"%s\",\"M\":%ld,\"N\":%ld,\"K\":%ld,", k->isa, (long)M,
        (long)N, (long)K);
    printf("\"us\":%.1f,\"gflops\":%.1f,\"ratio\":%.3f}\n", s * 1e6, gflops, gflops / peak);
    gemm_free(&g);
}

enum { MAX_ROWS = 12 };

/* Least squares of time over rows; us[r - 1] is the time of r rows. */
static void report_rows0(const Kernels *k, int64_t N, int64_t K)
{
    double sr = 0, st = 0, srr = 0, srt = 0;
    printf("{\"bench\":\"rows0\",\"isa\":\"%s\",\"N\":%ld,\"K\":%ld,\"us\":[", k->isa, (long)N,
        (long)K);
    for (int r = 1; r <= MAX_ROWS; r++) {
        Gemm g = gemm_new(k, r, N, K);
        double us = gemm_seconds(&g) * 1e6;
        gemm_free(&g);
        printf("%s%.2f", r > 1 ? "," : "", us);
        sr += r;
        st += us;
        srr += r * r;
        srt += r * us;
    }
    double b = (MAX_ROWS * srt - sr * st) / (MAX_ROWS * srr - sr * sr),
           a = (st - b * sr) / MAX_ROWS;
    printf("],\"us_per_row\":%.3f,\"rows0\":%.2f}\n", b, a / b);
    fflush(stdout);
}

static void report(const Kernels *k)
{
    double peak = peak_gflops(k);
    printf("{\"bench\":\"peak\",\"isa\":\"%s\",\"gflops\":%.1f}\n", k->isa, peak);
    report_gemm(k, peak, 384, 768, 768);
    report_gemm(k, peak, 128, 768, 3072);
    report_gemm(k, peak, 3136, 256, 64);
    report_gemm(k, peak, 49, 512, 4608);
    static const int64_t shapes[][2] = {{64, 64}, {256, 256}, {384, 384}, {768, 768}, {3072, 768},
        {768, 3072}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        report_rows0(k, shapes[i][0], shapes[i][1]);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        for (const char *const *isa = kernels_available(); *isa; isa++)
            report(kernels_for(*isa));
    for (int i = 1; i < argc; i++) {
        const Kernels *k = kernels_for(argv[i]);
        if (!k) {
            fprintf(stderr, "bench_gemm: this CPU has no instruction set \"%s\"\n", argv[i]);
            return 2;
        }
        report(k);
    }
    return 0;
}
