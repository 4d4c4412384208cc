/* test_kernels.c: the kernels of every instruction set that this CPU has, against plain loops.
 *
 * Every array that a kernel is given ends at an unreadable page, so one element too many ends the
 * test. Sums are held to the bound of a dot product of n terms in any order: n * 2^-24 / (1 - n *
 * 2^-24) times the sum of the terms' magnitudes; whatever only moves or repeats is held to equality
 * of bits.
 */
#include "runtime/kernels/kernels.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define NELEM(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
enum { MAX_MR = 12, MAX_NR = 32 };

/* ---- guarded memory -------------------------------------------------------------------------- */

/* Blocks between unreadable pages; `bytes` end at the later one, so reading past them traps. */
typedef struct Guarded {
    char *map;
    size_t size;
} Guarded;
static Guarded blocks[512];
static int n_blocks;

static void *guarded(int64_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = ((size_t)bytes + page - 1) / page * page;
    char *map =
        mmap(NULL, room + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    assert_int_equal(mprotect(map, page, PROT_NONE), 0);
    assert_int_equal(mprotect(map + page + room, page, PROT_NONE), 0);
    assert_true(n_blocks < NELEM(blocks));
    blocks[n_blocks++] = (Guarded){map, room + 2 * page};
    return map + page + room - bytes;
}

static void free_guarded(int keep)
{
    for (; n_blocks > keep; n_blocks--)
        munmap(blocks[n_blocks - 1].map, blocks[n_blocks - 1].size);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static uint32_t seed = 1;
static float next_float(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / 8388608.0f - 1.0f;
}

static float *floats(int64_t n)
{
    float *p = guarded(n * 4);
    for (int64_t i = 0; i < n; i++)
        p[i] = next_float();
    return p;
}

static bool same_bits(const void *a, const void *b, int64_t bytes)
{
    return !memcmp(a, b, (size_t)bytes);
}

/* |y - (sum clamped)| for a sum of n roundings over terms of total magnitude `size`. The clamp
 * never widens it. */
static void check_sum(float y, double sum, double size, int64_t n, float lo, float hi)
{
    double u = (double)n * 0x1p-24, want = sum < lo ? lo : sum > hi ? hi : sum;
    if (!(fabs(y - want) <= u / (1 - u) * size))
        fail_msg("%.9g instead of %.9g, off by %.3g, allowed %.3g", y, want, fabs(y - want),
            u / (1 - u) * size);
}

/* ---- one tile of the contraction ------------------------------------------------------------- */

/* All that igemm takes, each row of a and each row of c, res in memory of its own. */
typedef struct Tile {
    int64_t mr, nc, nr, taps, kc, aoff, flags, ldc, ldres;
    const float *a[MAX_MR * 9], *zero;
    float *w, *c, *c0;
    IgEpilogue e;
} Tile;

static void tile_init(Tile *t, const Kernels *k, int64_t mr, int64_t nc, int64_t taps, int64_t kc)
{
    *t = (Tile){.mr = mr, .nc = nc, .nr = k->nr, .taps = taps, .kc = kc, .aoff = 3};
    t->zero = floats(kc); /* not zero: the test can tell it from no row at all */
    t->w = (float *)(((uintptr_t)floats(taps * kc * k->nr + 16)) & ~(uintptr_t)63);
    for (int64_t i = 0; i < taps * mr; i++)
        t->a[i] = (i * 7 + kc) % 5 ? floats(3 + kc) : t->zero;
    t->ldc = nc + 5;
    t->ldres = nc + 2;
    t->c = floats((mr - 1) * t->ldc + nc);
    t->c0 = floats((mr - 1) * t->ldc + nc);
    memcpy(t->c0, t->c, (size_t)((mr - 1) * t->ldc + nc) * 4);
    t->e = (IgEpilogue){floats(nc), floats((mr - 1) * t->ldres + nc), t->ldres, -0.75f, 1.5f};
}

static void tile_run(Tile *t, const Kernels *k, int64_t flags)
{
    t->flags = flags;
    memcpy(t->c, t->c0, (size_t)((t->mr - 1) * t->ldc + t->nc) * 4);
    k->igemm(t->mr, t->nc, t->taps, t->kc, t->a, t->aoff, t->zero, t->w, t->c, t->ldc, flags, &t->e,
        t->mr % 2 ? (const char *)t->w : NULL);
}

static void check_element(const Tile *t, int64_t m, int64_t n)
{
    double sum = t->flags & IG_ACC ? t->c0[m * t->ldc + n]
        : t->e.bias                ? t->e.bias[n]
                                   : 0,
           size = fabs(sum);
    for (int64_t i = 0; i < t->taps * t->kc; i++) {
        const float *row = t->a[i / t->kc * t->mr + m];
        double x = row == t->zero ? row[i % t->kc] : row[t->aoff + i % t->kc];
        sum += x * t->w[i * t->nr + n];
        size += fabs(x * t->w[i * t->nr + n]);
    }
    bool last = t->flags & IG_LAST;
    double res = last && t->e.res ? t->e.res[m * t->ldres + n] : 0;
    check_sum(t->c[m * t->ldc + n], sum + res, size + fabs(res), 2 * t->taps * t->kc + 2,
        last ? t->e.lo : -INFINITY, last ? t->e.hi : INFINITY);
}

/* Every element of the tile, and that what lies between its rows is untouched. */
static void check_tile(const Tile *t)
{
    for (int64_t m = 0; m < t->mr; m++) {
        for (int64_t n = 0; n < t->nc; n++)
            check_element(t, m, n);
        int64_t gap = m * t->ldc + t->nc;
        assert_true(m == t->mr - 1 || same_bits(t->c + gap, t->c0 + gap, (t->ldc - t->nc) * 4));
    }
}

static void check_flags(const Kernels *k, int64_t mr, int64_t nc, int64_t taps, int64_t kc)
{
    int keep = n_blocks;
    Tile t;
    tile_init(&t, k, mr, nc, taps, kc);
    for (int64_t flags = 0; flags < 4; flags++) {
        tile_run(&t, k, flags);
        check_tile(&t);
    }
    t.e.bias = t.e.res = NULL;
    tile_run(&t, k, IG_LAST);
    check_tile(&t);
    free_guarded(keep);
}

static void igemm_is_a_sum_of_products_for_every_tile(void **state)
{
    const Kernels *k = *state;
    static const int64_t depths[][2] = {{1, 1}, {1, 7}, {1, 8}, {1, 19}, {2, 9}, {9, 3}};
    for (int64_t mr = 1; mr <= k->mr; mr++)
        for (int64_t nc = 1; nc <= k->nr; nc++)
            for (int i = 0; i < NELEM(depths); i++)
                check_flags(k, mr, nc, depths[i][0], depths[i][1]);
    check_flags(k, k->mr, k->nr, 1, 3001);
}

/* Row m, column n of any tile are those of the same row alone, all columns. */
static void igemm_does_not_depend_on_the_tile(void **state)
{
    const Kernels *k = *state;
    Tile t, one;
    tile_init(&t, k, k->mr, k->nr, 3, 21);
    tile_init(&one, k, 1, k->nr, 3, 21);
    one.zero = t.zero;
    one.w = t.w;
    float *whole = guarded((k->mr - 1) * t.ldc * 4 + k->nr * 4);
    tile_run(&t, k, IG_LAST);
    memcpy(whole, t.c, (size_t)((k->mr - 1) * t.ldc + k->nr) * 4);
    const float *rows[MAX_MR * 9];
    memcpy(rows, t.a, sizeof rows);
    for (int64_t mr = 1; mr <= k->mr; mr++)
        for (int64_t nc = 1; nc <= k->nr; nc++) {
            for (int64_t i = 0; i < 3 * mr; i++)
                t.a[i] = rows[i / mr * k->mr + i % mr];
            t.mr = mr;
            t.nc = nc;
            tile_run(&t, k, IG_LAST);
            for (int64_t m = 0; m < mr; m++)
                assert_true(same_bits(t.c + m * t.ldc, whole + m * t.ldc, nc * 4));
        }
    free_guarded(0);
}

/* Stopping after some taps and going on from C changes no bit. */
static void igemm_in_parts_equals_igemm_at_once(void **state)
{
    const Kernels *k = *state;
    Tile t;
    tile_init(&t, k, k->mr - 1, k->nr - 1, 5, 11);
    float *whole = guarded(((t.mr - 1) * t.ldc + t.nc) * 4);
    tile_run(&t, k, IG_LAST);
    memcpy(whole, t.c, (size_t)((t.mr - 1) * t.ldc + t.nc) * 4);
    for (int64_t tap = 0; tap < 5; tap++)
        k->igemm(t.mr, t.nc, 1, t.kc, t.a + tap * t.mr, t.aoff, t.zero, t.w + tap * t.kc * t.nr,
            t.c, t.ldc, (tap > 0 ? IG_ACC : 0) | (tap == 4 ? IG_LAST : 0), &t.e, NULL);
    assert_true(same_bits(t.c, whole, ((t.mr - 1) * t.ldc + t.nc) * 4));
    free_guarded(0);
}

static void a_nan_passes_the_clamp(void **state)
{
    const Kernels *k = *state;
    Tile t;
    tile_init(&t, k, 1, k->nr, 1, 4);
    t.w[0] = NAN;
    t.e.lo = 0;
    tile_run(&t, k, IG_LAST);
    assert_true(isnan(t.c[0]));
    for (int64_t n = 1; n < k->nr; n++)
        assert_true(t.c[n] >= 0 && t.c[n] <= 1.5f);
    free_guarded(0);
}

/* ---- depthwise ------------------------------------------------------------------------------- */

typedef struct Depthwise {
    int64_t nq, nc, taps, ldw, ldo;
    const float *in[32 * 9], *zero;
    float *w, *out, *bias;
} Depthwise;

static void depthwise_init(Depthwise *d, int64_t nq, int64_t nc, int64_t taps)
{
    *d = (Depthwise){.nq = nq, .nc = nc, .taps = taps, .ldw = nc + 1, .ldo = nc + 3};
    d->zero = floats(nc);
    for (int64_t i = 0; i < nq * taps; i++)
        d->in[i] = i % 4 ? floats(2 + nc) : d->zero;
    d->w = floats((taps - 1) * d->ldw + nc);
    d->out = floats((nq - 1) * d->ldo + nc);
    d->bias = floats(nc);
}

static void check_channel(const Depthwise *d, int64_t q, int64_t c)
{
    double sum = d->bias ? d->bias[c] : 0, size = fabs(sum);
    for (int64_t t = 0; t < d->taps; t++) {
        const float *p = d->in[q * d->taps + t];
        double term = (double)(p == d->zero ? p[c] : p[2 + c]) * d->w[t * d->ldw + c];
        sum += term;
        size += fabs(term);
    }
    check_sum(d->out[q * d->ldo + c], sum, size, 2 * d->taps + 1, -0.5f, 1.25f);
}

static void check_depthwise(const Kernels *k, int64_t nq, int64_t nc, int64_t taps)
{
    Depthwise d;
    depthwise_init(&d, nq, nc, taps);
    for (int bias = 1; bias >= 0; bias--) {
        d.bias = bias ? d.bias : NULL;
        float gap = d.out[(nq > 1) * nc];
        k->depthwise(nq, nc, taps, d.in, 2, d.zero, d.w, d.ldw, d.out, d.ldo, d.bias, -0.5f, 1.25f);
        for (int64_t q = 0; q < nq; q++)
            for (int64_t c = 0; c < nc; c++)
                check_channel(&d, q, c);
        assert_true(nq == 1 || d.out[nc] == gap);
    }
    free_guarded(0);
}

static void depthwise_is_a_sum_of_products_per_channel(void **state)
{
    const Kernels *k = *state;
    for (int64_t nq = 1; nq <= 19; nq += nq < 10 ? 1 : 3)
        for (int64_t nc = 1; nc <= 9 * k->lanes; nc += nc < 2 * k->lanes + 2 ? 1 : k->lanes - 1)
            check_depthwise(k, nq, nc, 9);
    check_depthwise(k, 5, 3 * k->lanes, 1);
}

/* A row of a convolution with a kh x kw window: pixel q's taps are columns q*s - pad.. of kh input
 * rows, the first of which is padding. Pixel by pixel no window can be seen to slide, so that is
 * the reference. */
static void check_window(const Kernels *k, int64_t kh, int64_t kw, int64_t s, int64_t nq,
    int64_t nc)
{
    const float *in[20 * 49], *zero = floats(nc), *columns[8][64];
    int64_t taps = kh * kw, wide = (nq - 1) * s + kw - 2; /* one column of padding at either end */
    for (int64_t i = 0; i < kh * wide; i++)
        columns[i / wide][i % wide] = i < wide && kh > 1 ? zero : floats(nc);
    for (int64_t i = 0; i < nq * taps; i++) {
        int64_t x = i / taps * s + i % kw - 1;
        in[i] = x < 0 || x >= wide ? zero : columns[i % taps / kw][x];
    }
    float *w = floats(taps * nc), *bias = floats(nc), *out = floats(nq * nc),
          *want = floats(nq * nc);
    k->depthwise(nq, nc, taps, in, 0, zero, w, nc, out, nc, bias, -4, 4);
    for (int64_t q = 0; q < nq; q++)
        k->depthwise(1, nc, taps, in + q * taps, 0, zero, w, nc, want + q * nc, nc, bias, -4, 4);
    assert_true(same_bits(out, want, nq * nc * 4));
    free_guarded(0);
}

static void sliding_windows_equal_separate_pixels(void **state)
{
    const Kernels *k = *state;
    static const int64_t windows[][3] = {{3, 3, 1}, {3, 3, 2}, {5, 5, 1}, {5, 5, 2}, {7, 7, 1},
        {7, 7, 2}, {1, 3, 1}, {1, 5, 2}, {3, 5, 1}, {2, 3, 2}, {3, 3, 3}, {2, 4, 1}};
    for (int i = 0; i < NELEM(windows); i++)
        for (int64_t nq = 4; nq <= 11; nq += 1 + nq % 3)
            for (int64_t nc = 1; nc <= 3 * k->lanes + 1; nc += k->lanes - 1)
                check_window(k, windows[i][0], windows[i][1], windows[i][2], nq, nc);
}

/* ---- moves ----------------------------------------------------------------------------------- */

static void fill(uint8_t *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = (uint8_t)(next_float() * 128);
}

static const int64_t elems[] = {1, 2, 4, 8, 16};

static void strips_move_each_element(void **state)
{
    const Kernels *k = *state;
    static const int64_t strides[] = {0, 1, 2, 3, 17, -1, -4};
    for (int i = 0; i < NELEM(elems) * NELEM(strides); i++) {
        int64_t e = elems[i % NELEM(elems)], s = strides[i / NELEM(elems)], n = 37,
                span = (n - 1) * labs(s) + 1;
        uint8_t *src = guarded(span * e), *dst = guarded(n * e), *back = guarded(span * e);
        fill(src, span * e);
        fill(back, span * e);
        int64_t first = s < 0 ? span - 1 : 0;
        k->strip(dst, src + first * e, s, n, e);
        if (s)
            k->unstrip(back + first * e, dst, s, n, e);
        for (int64_t j = 0; j < n; j++) {
            assert_true(same_bits(dst + j * e, src + (first + j * s) * e, e));
            assert_true(!s || same_bits(back + (first + j * s) * e, dst + j * e, e));
        }
        free_guarded(0);
    }
}

static void check_transpose(const Kernels *k, int64_t rows, int64_t cols, int64_t e)
{
    int64_t ldd = cols + 3, lds = rows + 1, n = (rows - 1) * ldd + cols;
    uint8_t *src = guarded(((cols - 1) * lds + rows) * e), *dst = guarded(n * e),
            *want = guarded(n * e);
    fill(src, ((cols - 1) * lds + rows) * e);
    fill(dst, n * e);
    memcpy(want, dst, (size_t)(n * e));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++)
            memcpy(want + (r * ldd + c) * e, src + (c * lds + r) * e, (size_t)e);
    k->transpose(dst, ldd, src, lds, rows, cols, e);
    assert_true(same_bits(dst, want, n * e));
    free_guarded(0);
}

static void transposition_moves_each_element_and_no_other(void **state)
{
    const Kernels *k = *state;
    static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 16, 31, 40};
    for (int i = 0; i < NELEM(sizes); i++)
        for (int j = 0; j < NELEM(sizes); j++)
            for (int e = 0; e < NELEM(elems); e++)
                check_transpose(k, sizes[i], sizes[j], elems[e]);
}

/* K, N, and the strides of k and n. */
static void check_pack(const Kernels *k, int64_t K, int64_t N, int64_t sk, int64_t sn)
{
    int64_t nr = k->nr, panels = (N + nr - 1) / nr;
    float *b = floats((K - 1) * sk + (N - 1) * sn + 1), *out = floats(panels * K * nr);
    k->pack_b(b, sk, sn, K, N, out);
    for (int64_t i = 0; i < panels * K * nr; i++) {
        int64_t n = i / (K * nr) * nr + i % nr, row = i / nr % K;
        assert_true(out[i] == (n < N ? b[row * sk + n * sn] : 0));
    }
    free_guarded(0);
}

static void packing_makes_zero_padded_panels(void **state)
{
    const Kernels *k = *state;
    for (int64_t N = 1; N <= 2 * k->nr + 3; N += 1 + N / 3)
        for (int64_t K = 1; K <= 20; K += 3) {
            check_pack(k, K, N, N, 1);
            check_pack(k, K, N, N + 2, 1);
            check_pack(k, K, N, 1, K);
            check_pack(k, K, N, 1, K + 5);
            check_pack(k, K, N, 3 * N, 3);
        }
}

/* ---- choice ---------------------------------------------------------------------------------- */

static void sets_are_found_by_name_best_first(void **state)
{
    (void)state;
    const char *const *names = kernels_available();
    assert_non_null(names[0]);
    assert_ptr_equal(kernels_for(NULL), kernels_for(names[0]));
    for (int i = 0; names[i]; i++) {
        const Kernels *k = kernels_for(names[i]);
        assert_non_null(k);
        assert_string_equal(k->isa, names[i]);
        assert_true(k->mr <= MAX_MR && k->nr <= MAX_NR && k->nr == 2 * k->lanes);
        assert_true(i == 0 || k->lanes < kernels_for(names[i - 1])->lanes);
    }
    assert_null(kernels_for("abacus"));
    assert_null(kernels_for(""));
}

/* The tests of each set this CPU has; the set's name is printed, so that a run tells what it
 * covered. */
static int test_set(const Kernels *k)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(igemm_is_a_sum_of_products_for_every_tile),
        cmocka_unit_test(igemm_does_not_depend_on_the_tile),
        cmocka_unit_test(igemm_in_parts_equals_igemm_at_once),
        cmocka_unit_test(a_nan_passes_the_clamp),
        cmocka_unit_test(depthwise_is_a_sum_of_products_per_channel),
        cmocka_unit_test(sliding_windows_equal_separate_pixels),
        cmocka_unit_test(strips_move_each_element),
        cmocka_unit_test(transposition_moves_each_element_and_no_other),
        cmocka_unit_test(packing_makes_zero_padded_panels),
    };
    for (int i = 0; i < NELEM(tests); i++)
        tests[i].initial_state = (void *)k;
    return cmocka_run_group_tests_name(k->isa, tests, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest choice[] = {cmocka_unit_test(sets_are_found_by_name_best_first)};
    int failed = cmocka_run_group_tests(choice, NULL, NULL);
    for (const char *const *isa = kernels_available(); *isa; isa++)
        failed += test_set(kernels_for(*isa));
    return failed;
}
