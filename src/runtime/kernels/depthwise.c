/* depthwise.c: one row of a depthwise convolution, channels last: each channel has its own filter.
 *
 * Nothing is shared between channels, so the work is bound by loads: of the pixels, of the weights and of the
 * row pointers. A block of several pixels by several channel vectors in registers reads each weight once per
 * block of pixels and each pointer once per block of channels; 12 accumulators hide the latency of FMA.
 */
#include "runtime/kernels/vec.h"

typedef struct Row {
    int64_t taps, aoff, ldw, ldo;
    const float *zero, *w, *bias;
    vf lo, hi;
} Row;

/* `pixels` x `vecs` vectors from channel c on, the last vector with `tail` lanes. */
INLINE void block(const int pixels, const int vecs, const Row *r, const float *const *in, int64_t c, float *out,
    int64_t tail)
{
    vf acc[8][4];
    EACH(v, vecs, 4) {
        int64_t n = v == vecs - 1 ? tail : LANES;
        vf first = r->bias ? vload_tail(r->bias + c + v * LANES, n) : vdup(0);
        EACH(q, pixels, 8)
            acc[q][v] = first;
    }
    const float *w = r->w + c;
    for (int64_t t = 0; t < r->taps; t++, w += r->ldw) {
        const float *x[8];
        EACH(q, pixels, 8) {
            const float *p = in[q * r->taps + t];
            x[q] = (p == r->zero ? p : p + r->aoff) + c;
        }
        EACH(v, vecs, 4) {
            int64_t n = v == vecs - 1 ? tail : LANES;
            vf weight = vload_tail(w + v * LANES, n);
            EACH(q, pixels, 8) {
                vf value = vload_tail(x[q] + v * LANES, n);
                VFMA(acc[q][v], weight, value);
            }
        }
    }
    EACH(q, pixels, 8) {
        EACH(v, vecs, 4) {
            vf y = clamp_hi(r->hi, clamp_lo(r->lo, acc[q][v]));
            vstore_tail(out + q * r->ldo + c + v * LANES, y, v == vecs - 1 ? tail : LANES);
        }
    }
}

/* All pixels by the given block. The last block is moved back to end with the row: a few pixels are computed
 * twice, with the same result; a row shorter than a block goes pixel by pixel. */
INLINE void pixels_by(const int pixels, const int vecs, const Row *r, int64_t nq, const float *const *in, int64_t c,
    float *out, int64_t tail)
{
    if (nq < pixels) {
        for (int64_t q = 0; q < nq; q++)
            block(1, vecs, r, in + q * r->taps, c, out + q * r->ldo, tail);
        return;
    }
    for (int64_t done = 0; done < nq; done += pixels) {
        int64_t q = done + pixels <= nq ? done : nq - pixels;
        block(pixels, vecs, r, in + q * r->taps, c, out + q * r->ldo, tail);
    }
}

void NAME(depthwise)(int64_t nq, int64_t nc, int64_t taps, const float *const *in, int64_t aoff, const float *zero,
    const float *w, int64_t ldw, float *out, int64_t ldo, const float *bias, float lo, float hi)
{
    Row r = {taps, aoff, ldw, ldo, zero, w, bias, vdup(lo), vdup(hi)};
    int64_t c = 0;
    for (; c + 4 * LANES <= nc; c += 4 * LANES)
        pixels_by(3, 4, &r, nq, in, c, out, LANES);
    for (; c + 2 * LANES <= nc; c += 2 * LANES)
        pixels_by(6, 2, &r, nq, in, c, out, LANES);
    for (; c + LANES <= nc; c += LANES)
        pixels_by(8, 1, &r, nq, in, c, out, LANES);
    if (c < nc)
        pixels_by(8, 1, &r, nq, in, c, out, nc - c);
}
