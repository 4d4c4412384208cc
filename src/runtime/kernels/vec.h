/* vec.h: the one vector type of the instruction set that a kernel source is being compiled for, and
 * the few operations that need more than the compiler's vector extensions. Every source of this
 * folder but kernels.c is compiled once per instruction set with -DISA=<name>; NAME(f) gives each
 * copy its own symbols.
 *
 * The level follows from ISA, never from predefined macros: a build with -march=native must not put
 * AVX2 code into the set that is chosen because a CPU lacks AVX2.
 */
#ifndef SINTER_VEC_H
#define SINTER_VEC_H
#include "runtime/kernels/kernels.h"
#include <string.h>

#ifndef ISA
#error "compile with -DISA=sse2 (portable, avx2, avx512): see src/runtime/kernels/CMakeLists.txt"
#endif
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define NAME(f) PASTE(f##_, ISA)

#define LEVEL_portable 0
#define LEVEL_sse2 0
#define LEVEL_avx2 1
#define LEVEL_avx512 2
#define LEVEL PASTE(LEVEL_, ISA)

/* A register tile is ROWS x 2 vectors: 12 accumulators of 16 registers, 24 of 32, the rest for
 * operands. */
#if LEVEL == 2
#define LANES 16
#define ROWS 12
#elif LEVEL == 1
#define LANES 8
#define ROWS 6
#else
#ifndef LANES /* wider: an AVX-512 tile in plain C, to test its logic on any CPU */
#define LANES 4
#endif
#define ROWS (LANES == 16 ? 12 : 6)
#endif
#define PANEL (2 * LANES)

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#define UNROLL_STEPS _Pragma("unroll 4")
#define NO_UNROLL _Pragma("nounroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define UNROLL_STEPS _Pragma("GCC unroll 4")
#define NO_UNROLL _Pragma("GCC unroll 1")
#endif

/* A loop over m < n for a constant n <= max, n often being an argument of an inlined function. The
 * bound is one that is constant already before inlining: only then does clang unroll early enough
 * to keep arrays in registers. */
#define EACH(m, n, max) UNROLL for (int m = 0; m < (max); m++) if (m < (n))
#define EACH_ROW(m, rows) EACH(m, rows, ROWS)

typedef float vf __attribute__((vector_size(4 * LANES)));
typedef int32_t vi __attribute__((vector_size(4 * LANES)));
/* a vector anywhere in memory */
typedef float vf_mem __attribute__((vector_size(4 * LANES), may_alias, aligned(4)));

INLINE vf vload(const float *p) { return *(const vf_mem *)p; }
INLINE void vstore(float *p, vf v) { *(vf_mem *)p = v; }

/* VFMA(acc, a, b): acc += a * b, where acc must stay in a register.
 * An asm statement because gcc 12, given plain C, hoists the broadcasts or picks the forms of FMA
 * that need moves, and then spills accumulators (-35 %), depending on unrelated code of the
 * function. `volatile` pins the order of the statements as well. Without FMA the addition is the
 * pinned part. */
#if LEVEL == 2
#define VFMA(acc, a, b) __asm__ volatile("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))
#elif LEVEL == 1
#define VFMA(acc, a, b) __asm__ volatile("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b))
#elif defined(__SSE2__) && LANES == 4
#define VFMA(acc, a, b) __asm__ volatile("addps %1, %0" : "+x"(acc) : "x"((a) * (b)))
#elif defined(__aarch64__) && LANES == 4
#define VFMA(acc, a, b) ((acc) += (a) * (b), ({ __asm__ volatile("" : "+w"(acc)); }))
#else
#define VFMA(acc, a, b) ((acc) += (a) * (b))
#endif

/* vload_n, vstore_n: the first n lanes (0 < n < LANES), touching nothing beyond; the other lanes
 * load as 0. clamp_lo, clamp_hi: max and min in which a NaN of x survives: x86 returns the second
 * operand when they do not compare, and so does the portable form. */
#if LEVEL == 2
#include <immintrin.h>
INLINE vf vdup(float x) { return (vf)_mm512_set1_ps(x); }
INLINE vf clamp_lo(vf lo, vf x) { return (vf)_mm512_max_ps((__m512)lo, (__m512)x); }
INLINE vf clamp_hi(vf hi, vf x) { return (vf)_mm512_min_ps((__m512)hi, (__m512)x); }
INLINE __mmask16 first_lanes(int64_t n) { return (__mmask16)((1u << n) - 1); }
INLINE vf vload_n(const float *p, int64_t n) { return (vf)_mm512_maskz_loadu_ps(first_lanes(n), p);
    }
INLINE void vstore_n(float *p, vf v, int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n),
    (__m512)v); }
#elif LEVEL == 1
#include <immintrin.h>
INLINE vf vdup(float x) { return (vf)_mm256_set1_ps(x); }
INLINE vf clamp_lo(vf lo, vf x) { return (vf)_mm256_max_ps((__m256)lo, (__m256)x); }
INLINE vf clamp_hi(vf hi, vf x) { return (vf)_mm256_min_ps((__m256)hi, (__m256)x); }
INLINE vf vload_n(const float *p, int64_t n)
{
    const vi lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (vf)_mm256_maskload_ps(p, (__m256i)(lane < (vi)_mm256_set1_epi32((int)n)));
}
/* In halves: a masked store takes 42 micro-operations on AMD's cores up to Zen 3. */
INLINE void vstore_n(float *p, vf v, int64_t n)
{
    __m128 part = _mm256_castps256_ps128((__m256)v);
    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps((__m256)v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, part);
}
#else
INLINE vf vdup(float x) { return x - (vf){0}; }
INLINE vf vselect(vi mask, vf a, vf b) { return (vf)((mask & (vi)a) | (~mask & (vi)b)); }
INLINE vf clamp_lo(vf lo, vf x) { return vselect(lo > x, lo, x); }
INLINE vf clamp_hi(vf hi, vf x) { return vselect(hi < x, hi, x); }
INLINE vf vload_n(const float *p, int64_t n)
{
    vf v = {0};
    for (int64_t i = 0; i < n; i++)
        v[i] = p[i];
    return v;
}
INLINE void vstore_n(float *p, vf v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = v[i];
}
#endif

/* The last vector of a row, of which n lanes exist (0 < n <= LANES). */
INLINE vf vload_tail(const float *p, int64_t n) { return n == LANES ? vload(p) : vload_n(p, n); }
INLINE void vstore_tail(float *p, vf v, int64_t n)
{
    if (n == LANES)
        vstore(p, v);
    else
        vstore_n(p, v, n);
}

/* What the sources export to set.c, which lists them in the Kernels of this instruction set. */
IgemmFn NAME(igemm);
void NAME(pack_b)(const float *b, int64_t sk, int64_t sn, int64_t K, int64_t N, float *out);
void NAME(strip)(void *dst, const void *src, int64_t stride, int64_t n, int64_t elem);
void NAME(unstrip)(void *dst, const void *src, int64_t stride, int64_t n, int64_t elem);
void NAME(transpose)(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows,
    int64_t cols, int64_t elem);
void NAME(rows)(const RowTable *t, const char *a, const float *zero, int64_t first, int64_t rows,
    int64_t mr, const float **p);
void NAME(depthwise)(int64_t nq, int64_t nc, int64_t taps, const float *const *in, int64_t aoff,
    const float *zero,
    const float *w, int64_t ldw, float *out, int64_t ldo, const float *bias, float lo, float hi);

#endif
