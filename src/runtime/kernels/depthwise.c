/* depthwise.c: one row of a depthwise convolution, channels last: each channel has its own filter.
 *
 * Nothing is shared between channels, so the work is bound by loads: of pixels, weights and row
 * pointers. Most rows are those of a convolution, in which a window slides over columns of the
 * input: neighbouring outputs then name the same pixels. Blocks in which they do (checked on the
 * pointers themselves, so that the caller need not say) load each pixel once for all of them; other
 * blocks (dilated, gathered) load it for each. An accumulator sees its taps in the same order
 * either way: the bits are the same.
 */
#include "runtime/kernels/vec.h"

enum { PIXELS = 4, MAX_KH = 8, MAX_COLS = 13 };

typedef struct Row {
    int64_t nq, nc, taps, aoff, ldw, ldo;
    const float *zero, *w, *bias;
    vf lo, hi;
} Row;

INLINE const float *resolve(const Row *r, const float *p) { return p == r->zero ? p : p + r->aoff; }

INLINE void begin(vf *acc, const int pixels, const Row *r, int64_t c, int64_t lanes)
{
    vf first = r->bias ? vload_tail(r->bias + c, lanes) : vdup(0);
    EACH(q, pixels, PIXELS)
        acc[q] = first;
}

/* lo and hi are copied first: for all that the compiler knows the stores might change r. */
INLINE void end(const vf *acc, const int pixels, const Row *r, float *out, int64_t lanes)
{
    vf lo = r->lo, hi = r->hi;
    int64_t ldo = r->ldo;
    EACH(q, pixels, PIXELS)
        vstore_tail(out + q * ldo, clamp_hi(hi, clamp_lo(lo, acc[q])), lanes);
}

/* ---- sliding windows ------------------------------------------------------------------------- */

/* Whether tap x of pixel q + 1 is tap x + s of pixel q throughout the block, for taps in rows of
 * kw: two lists of pointers, one from s further on, must agree but where a row of taps ends.
 * `inside` says where. */
INLINE bool slides(const int s, const Row *r, const uint64_t *inside, const float *const *in)
{
    typedef uint64_t v4 __attribute__((vector_size(32), may_alias, aligned(8)));
    v4 differ = {0};
    uint64_t rest = 0;
    UNROLL
    for (int q = 0; q < PIXELS - 1; q++) {
        const float *const *a = in + (q + 1) * r->taps, *const *b = in + q * r->taps + s;
        int64_t i = 0;
        for (; i + 4 <= r->taps - s; i += 4)
            differ |= (*(const v4 *)(a + i) ^ *(const v4 *)(b + i)) & *(const v4 *)(inside + i);
        NO_UNROLL
        for (; i < r->taps - s; i++)
            rest |= ((uint64_t)a[i] ^ (uint64_t)b[i]) & inside[i];
    }
    return (differ[0] | differ[1] | differ[2] | differ[3] | rest) == 0;
}

/* One row of the window for one vector of channels. Pixel q needs column q*s + x; all but the last
 * pixel have it from a neighbour's tap, if there was one. */
INLINE void window_row(vf *acc, const int kw, const int s, const Row *r, const float *const *col,
    int64_t c, const float *w, int64_t lanes)
{
    vf value[MAX_COLS];
    UNROLL
    for (int x = 0; x < kw; x++) {
        vf weight = vload_tail(w + x * r->ldw, lanes);
        UNROLL
        for (int q = 0; q < PIXELS; q++) {
            if (x < s || q == PIXELS - 1)
                value[q * s + x] = vload_tail(col[q * s + x] + c, lanes);
            VFMA(acc[q], weight, value[q * s + x]);
        }
    }
}

INLINE void window(const int kw, const int s, const int vecs, const Row *r, int64_t kh,
    const float *const *col, int64_t c, float *out, int64_t lanes)
{
    vf acc[2][PIXELS];
    EACH(v, vecs, 2)
        begin(acc[v], PIXELS, r, c + v * LANES, lanes);
    const float *w = r->w + c;
    for (int64_t y = 0; y < kh; y++, w += kw * r->ldw, col += MAX_COLS)
        EACH(v, vecs, 2)
            window_row(acc[v], kw, s, r, col, c + v * LANES, w + v * LANES, lanes);
    EACH(v, vecs, 2)
        end(acc[v], PIXELS, r, out + c + v * LANES, lanes);
}

INLINE void window_block(const int kw, const int s, const Row *r, int64_t kh,
    const float *const *in, float *out)
{
    const float *col[MAX_KH * MAX_COLS];
    for (int64_t y = 0; y < kh; y++) {
        UNROLL
        for (int j = 0; j < (PIXELS - 1) * s + kw; j++) {
            int q = j / s < PIXELS - 1 ? j / s : PIXELS - 1;
            col[y * MAX_COLS + j] = resolve(r, in[q * kh * kw + y * kw + j - q * s]);
        }
    }
    int64_t c = 0;
    for (; c + 2 * LANES <= r->nc; c += 2 * LANES)
        window(kw, s, 2, r, kh, col, c, out, LANES);
    if (c + LANES <= r->nc) {
        window(kw, s, 1, r, kh, col, c, out, LANES);
        c += LANES;
    }
    if (c < r->nc)
        window(kw, s, 1, r, kh, col, c, out, r->nc - c);
}

/* Where the block at `done` begins: the last one is moved back to end with the row, so that a few
 * pixels are computed twice, with the same result. */
INLINE int64_t block_at(const Row *r, int64_t done)
{
    return done + PIXELS <= r->nq ? done : r->nq - PIXELS;
}

/* Runs blocks from pixel `done` on for as long as they slide; returns the first pixel not done. */
INLINE int64_t windows(const int kw, const int s, const Row *r, const float *const *in, float *out,
    int64_t done)
{
    int64_t kh = r->taps / kw;
    if (r->taps % kw || kh > MAX_KH)
        return done;
    uint64_t inside[MAX_KH * 7];
    for (int64_t i = 0; i < r->taps; i++)
        inside[i] = i % kw < kw - s ? ~(uint64_t)0 : 0;
    for (; done < r->nq; done += PIXELS) {
        int64_t q = block_at(r, done);
        if (!slides(s, r, inside, in + q * r->taps))
            break;
        window_block(kw, s, r, kh, in + q * r->taps, out + q * r->ldo);
    }
    return done;
}

typedef int64_t WindowFn(const Row *r, const float *const *in, float *out, int64_t done);
#define WINDOW(kw, s)                                                                   \
    static int64_t windows_##kw##_##s(const Row *r, const float *const *in, float *out, \
        int64_t done)                                                                   \
    {                                                                                   \
        return windows(kw, s, r, in, out, done);                                        \
    }
WINDOW(3, 1)
WINDOW(3, 2)
WINDOW(5, 1)
WINDOW(5, 2)
WINDOW(7, 1)
WINDOW(7, 2)
static WindowFn *const all_windows[] = {windows_3_1, windows_3_2, windows_5_1, windows_5_2,
    windows_7_1, windows_7_2, NULL};

/* ---- any rows -------------------------------------------------------------------------------- */

INLINE void free_block(const int pixels, const int vecs, const Row *r, const float *const *in,
    int64_t c, float *out, int64_t lanes)
{
    vf acc[2][PIXELS];
    EACH(v, vecs, 2)
        begin(acc[v], pixels, r, c + v * LANES, lanes);
    const float *w = r->w + c;
    for (int64_t t = 0; t < r->taps; t++, w += r->ldw) {
        const float *x[PIXELS];
        EACH(q, pixels, PIXELS)
            x[q] = resolve(r, in[q * r->taps + t]) + c;
        EACH(v, vecs, 2) {
            vf weight = vload_tail(w + v * LANES, lanes);
            EACH(q, pixels, PIXELS) {
                vf value = vload_tail(x[q] + v * LANES, lanes);
                VFMA(acc[v][q], weight, value);
            }
        }
    }
    EACH(v, vecs, 2)
        end(acc[v], pixels, r, out + c + v * LANES, lanes);
}

INLINE void free_pixels(const int pixels, const Row *r, const float *const *in, float *out)
{
    int64_t c = 0;
    for (; c + 2 * LANES <= r->nc; c += 2 * LANES)
        free_block(pixels, 2, r, in, c, out, LANES);
    for (; c < r->nc; c += LANES)
        free_block(pixels, 1, r, in, c, out, r->nc - c < LANES ? r->nc - c : LANES);
}

void NAME(depthwise)(int64_t nq, int64_t nc, int64_t taps, const float *const *in, int64_t aoff,
    const float *zero, const float *w, int64_t ldw, float *out, int64_t ldo, const float *bias,
    float lo, float hi)
{
    Row r = {nq, nc, taps, aoff, ldw, ldo, zero, w, bias, vdup(lo), vdup(hi)};
    for (int64_t q = 0; q < nq && nq < PIXELS; q++)
        free_pixels(1, &r, in + q * taps, out + q * ldo);
    for (int64_t done = 0; done < nq && nq >= PIXELS;) {
        int64_t before = done, q = block_at(&r, done);
        for (WindowFn *const *run = all_windows; *run && done == before; run++)
            done = (*run)(&r, in, out, done);
        if (done == before) {
            free_pixels(PIXELS, &r, in + q * taps, out + q * ldo);
            done += PIXELS;
        }
    }
}
