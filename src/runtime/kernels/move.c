/* move.c: kernels that only move elements: packing, strided strips, transposition. */
#include "runtime/kernels/vec.h"

/* ---- elements by size ------------------------------------------------------------------------ */

typedef struct Wide {
    uint64_t half[2];
} Wide; /* complex128 */

/* Defines f_1, f_2, ... from one body written over T, and SWITCH_ELEM calls the one for `elem`.
 * Element types of one size move alike, so only sizes are told apart. */
#define FOR_ELEMS(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, Wide)
#define CASE(size, f, ...)       \
    case size:                   \
        f##_##size(__VA_ARGS__); \
        break;
#define SWITCH_ELEM(elem, f, ...)                                                \
    switch (elem) {                                                              \
        CASE(1, f, __VA_ARGS__)                                                  \
        CASE(2, f, __VA_ARGS__)                                                  \
        CASE(4, f, __VA_ARGS__) CASE(8, f, __VA_ARGS__) CASE(16, f, __VA_ARGS__) \
    }

/* ---- strips ---------------------------------------------------------------------------------- */

#define STRIP(size, T)                                                          \
    static void strip_##size(T *dst, const T *src, int64_t stride, int64_t n)   \
    {                                                                           \
        for (int64_t i = 0; i < n; i++)                                         \
            dst[i] = src[i * stride];                                           \
    }                                                                           \
    static void unstrip_##size(T *dst, const T *src, int64_t stride, int64_t n) \
    {                                                                           \
        for (int64_t i = 0; i < n; i++)                                         \
            dst[i * stride] = src[i];                                           \
    }
FOR_ELEMS(STRIP)

void NAME(strip)(void *dst, const void *src, int64_t stride, int64_t n, int64_t elem)
{
    if (stride == 1)
        memcpy(dst, src, (size_t)(n * elem));
    else
        SWITCH_ELEM(elem, strip, dst, src, stride, n)
}

void NAME(unstrip)(void *dst, const void *src, int64_t stride, int64_t n, int64_t elem)
{
    if (stride == 1)
        memcpy(dst, src, (size_t)(n * elem));
    else
        SWITCH_ELEM(elem, unstrip, dst, src, stride, n)
}

/* ---- transposition --------------------------------------------------------------------------- */

/* A square of SQUARE x SQUARE four-byte elements in registers: log2 rounds, each of which exchanges
 * blocks of half the size between rows `gap` apart. */
#if LEVEL == 0
#define SQUARE 4
#else
#define SQUARE 8
#endif
typedef int32_t vs __attribute__((vector_size(4 * SQUARE)));
typedef int32_t vs_mem __attribute__((vector_size(4 * SQUARE), may_alias, aligned(4)));

#if SQUARE == 8
#define SWAP1(a, b, h) \
    __builtin_shufflevector(a, b, h, 8 + h, 2 + h, 10 + h, 4 + h, 12 + h, 6 + h, 14 + h)
#define SWAP2(a, b, h) \
    __builtin_shufflevector(a, b, h, 1 + h, 8 + h, 9 + h, 4 + h, 5 + h, 12 + h, 13 + h)
#define SWAP4(a, b, h) \
    __builtin_shufflevector(a, b, h, 1 + h, 2 + h, 3 + h, 8 + h, 9 + h, 10 + h, 11 + h)
#else
#define SWAP1(a, b, h) __builtin_shufflevector(a, b, h, 4 + h, 2 + h, 6 + h)
#define SWAP2(a, b, h) __builtin_shufflevector(a, b, h, 1 + h, 4 + h, 5 + h)
#endif
#define EXCHANGE(v, gap)                       \
    UNROLL                                     \
    for (int i = 0; i < SQUARE; i++)           \
        if (!(i & gap)) {                      \
            vs a = v[i], b = v[i + gap];       \
            v[i] = SWAP##gap(a, b, 0);         \
            v[i + gap] = SWAP##gap(a, b, gap); \
        }

INLINE void transpose_square(uint32_t *dst, int64_t ldd, const uint32_t *src, int64_t lds)
{
    vs v[SQUARE];
    UNROLL
    for (int i = 0; i < SQUARE; i++)
        v[i] = *(const vs_mem *)(src + i * lds);
    EXCHANGE(v, 1)
    EXCHANGE(v, 2)
#if SQUARE == 8
    EXCHANGE(v, 4)
#endif
    UNROLL
    for (int i = 0; i < SQUARE; i++)
        *(vs_mem *)(dst + i * ldd) = v[i];
}

/* Element by element, in strips of so many columns of dst that each of its rows gets one line (at
 * most 16: as many rows of src are then walked at once, a line of each in the first cache). */
#define TRANSPOSE(size, T)                                                                     \
    static void transpose_##size(T *dst, int64_t ldd, const T *src, int64_t lds, int64_t rows, \
        int64_t cols)                                                                          \
    {                                                                                          \
        const int64_t step = size < 4 ? 16 : 64 / size;                                        \
        for (int64_t c = 0; c < cols; c += step)                                               \
            for (int64_t r = 0; r < rows; r++)                                                 \
                for (int64_t i = c; i < cols && i < c + step; i++)                             \
                    dst[r * ldd + i] = src[i * lds + r];                                       \
    }
FOR_ELEMS(TRANSPOSE)

/* Squares where they fit, the right and lower margins element by element. A band of 16 rows of dst
 * uses whole lines of src; more rows would collide in the first cache when ldd is a power of two.
 */
static void transpose_words(uint32_t *dst, int64_t ldd, const uint32_t *src, int64_t lds,
    int64_t rows, int64_t cols)
{
    int64_t whole_rows = rows - rows % SQUARE, whole_cols = cols - cols % SQUARE;
    for (int64_t band = 0; band < whole_rows; band += 16)
        for (int64_t c = 0; c < whole_cols; c += SQUARE)
            for (int64_t r = band; r < whole_rows && r < band + 16; r += SQUARE)
                transpose_square(dst + r * ldd + c, ldd, src + c * lds + r, lds);
    transpose_4(dst + whole_cols, ldd, src + whole_cols * lds, lds, whole_rows, cols - whole_cols);
    transpose_4(dst + whole_rows * ldd, ldd, src + whole_rows, lds, rows - whole_rows, cols);
}

void NAME(transpose)(void *dst, int64_t ldd, const void *src, int64_t lds, int64_t rows,
    int64_t cols, int64_t elem)
{
    if (elem == 4)
        transpose_words(dst, ldd, src, lds, rows, cols);
    else
        SWITCH_ELEM(elem, transpose, dst, ldd, src, lds, rows, cols)
}

/* ---- packing --------------------------------------------------------------------------------- */

/* One panel of nc <= PANEL columns. Weights come either row by row or (ONNX's transB, [out][in])
 * column by column; the first is a copy, the second a transposition, all else is walked element by
 * element. */
static void pack_panel(const float *b, int64_t sk, int64_t sn, int64_t K, int64_t nc, float *out)
{
    if (sn == 1)
        for (int64_t k = 0; k < K; k++)
            memcpy(out + k * PANEL, b + k * sk, (size_t)nc * sizeof(float));
    else if (sk == 1)
        transpose_words((uint32_t *)out, PANEL, (const uint32_t *)b, sn, K, nc);
    else
        for (int64_t k = 0; k < K; k++)
            for (int64_t n = 0; n < nc; n++)
                out[k * PANEL + n] = b[k * sk + n * sn];
    for (int64_t k = 0; k < K && nc < PANEL; k++)
        memset(out + k * PANEL + nc, 0, (size_t)(PANEL - nc) * sizeof(float));
}

void NAME(pack_b)(const float *b, int64_t sk, int64_t sn, int64_t K, int64_t N, float *out)
{
    for (int64_t n = 0; n < N; n += PANEL)
        pack_panel(b + n * sn, sk, sn, K, N - n < PANEL ? N - n : PANEL, out + n * K);
}
