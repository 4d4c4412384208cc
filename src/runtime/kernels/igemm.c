/* igemm.c: the contraction microkernel: a tile of C from rows reached through pointers and a packed
 * panel.
 *
 * Every tile height is its own straight-line code, so short tiles lose nothing but their smaller
 * share of the panel's loads; a driver spreads rows evenly (49 = 4 x 6 + 5 x 5) instead of ending
 * with a stump. A panel with fewer columns than one vector has its own tiles too and skips the
 * empty half.
 *
 * An accumulator sees its products in the order of (t, k), one rounding each (FMA where the set has
 * it; else product and sum round), whatever tile it lives in: results do not depend on how rows and
 * columns are cut.
 */
#include "runtime/kernels/vec.h"

/* The part of the tile that is memory: its columns end in a vector of `tail` lanes. */
typedef struct Edge {
    float *c;
    int64_t ldc, tail;
} Edge;

INLINE void load_row(vf *acc, const int vecs, const float *p, int64_t tail)
{
    if (vecs == 2)
        acc[0] = vload(p);
    acc[vecs - 1] = vload_tail(p + (vecs - 1) * LANES, tail);
}

INLINE void start(vf (*acc)[2], const int rows, const int vecs, const Edge *g, const float *bias,
    bool resume)
{
    vf first[2] = {vdup(0), vdup(0)};
    if (bias)
        load_row(first, vecs, bias, g->tail);
    EACH_ROW(m, rows) {
        acc[m][0] = first[0];
        acc[m][1] = first[1];
    }
    if (resume)
        EACH_ROW(m, rows)
            load_row(acc[m], vecs, g->c + m * g->ldc, g->tail);
}

/* One k for all rows: per row a broadcast and one multiply-add per vector. */
INLINE void step(vf (*acc)[2], const int rows, const int vecs, const float *const *row, int64_t k,
    const float *w)
{
    vf b0 = vload(w), b1 = vecs == 2 ? vload(w + LANES) : b0;
    EACH_ROW(m, rows) {
        vf x = vdup(row[m][k]);
        VFMA(acc[m][0], x, b0);
        if (vecs == 2)
            VFMA(acc[m][1], x, b1);
    }
}

INLINE void finish(vf (*acc)[2], const int rows, const int vecs, const Edge *g, const IgEpilogue *e)
{
    vf lo = vdup(e->lo), hi = vdup(e->hi);
    EACH_ROW(m, rows) {
        vf r[2] = {vdup(0), vdup(0)};
        if (e->res) {
            load_row(r, vecs, e->res + m * e->ldres, g->tail);
            acc[m][0] += r[0];
            acc[m][1] += r[1];
        }
        acc[m][0] = clamp_hi(hi, clamp_lo(lo, acc[m][0]));
        acc[m][1] = clamp_hi(hi, clamp_lo(lo, acc[m][1]));
    }
}

INLINE void store(vf (*acc)[2], const int rows, const int vecs, const Edge *g)
{
    EACH_ROW(m, rows) {
        float *c = g->c + m * g->ldc;
        if (vecs == 2)
            vstore(c, acc[m][0]);
        vstore_tail(c + (vecs - 1) * LANES, acc[m][vecs - 1], g->tail);
    }
}

/* Eight steps of a full panel are eight lines; each tile asks for one line of the next panel per
 * eight steps, so that eight tiles bring in all of it without ever queueing up requests. Without a
 * next panel the current one is named again, which costs nothing and saves a branch. */
INLINE void tile(const int rows, const int vecs, int64_t nc, int64_t taps, int64_t kc,
    const float *const *a, int64_t aoff, const float *zero, const float *w, float *c, int64_t ldc,
    int64_t flags, const IgEpilogue *e, const char *prefetch)
{
    vf acc[ROWS][2];
    Edge g = {c, ldc, nc - (vecs - 1) * LANES};
    start(acc, rows, vecs, &g, flags & IG_ACC ? NULL : e->bias, flags & IG_ACC);
    const char *line = prefetch ? prefetch : (const char *)w;
    for (int64_t t = 0; t < taps; t++, a += rows) {
        const float *row[ROWS];
        EACH_ROW(m, rows)
            row[m] = a[m] == zero ? zero : a[m] + aoff;
        int64_t k = 0;
        for (; k + 8 <= kc; k += 8, w += 8 * PANEL, line += 64) {
            __builtin_prefetch(line, 0, 2);
            UNROLL_STEPS
            for (int i = 0; i < 8; i++)
                step(acc, rows, vecs, row, k + i, w + i * PANEL);
        }
        NO_UNROLL
        for (; k < kc; k++, w += PANEL)
            step(acc, rows, vecs, row, k, w);
    }
    if (flags & IG_LAST)
        finish(acc, rows, vecs, &g, e);
    store(acc, rows, vecs, &g);
}

#define TILE_ARGS nc, taps, kc, a, aoff, zero, w, c, ldc, flags, e, prefetch
#define TILE(m)                    \
    case m:                        \
        if (nc > LANES)            \
            tile(m, 2, TILE_ARGS); \
        else                       \
            tile(m, 1, TILE_ARGS); \
        break;

void NAME(igemm)(int64_t mr, int64_t nc, int64_t taps, int64_t kc, const float *const *a,
    int64_t aoff, const float *zero, const float *w, float *c, int64_t ldc, int64_t flags,
    const IgEpilogue *e, const char *prefetch)
{
    // clang-format off
    switch (mr) {
        TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)
#if LANES == 16
        TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12)
#endif
    }
    // clang-format on
}
