/* rows.c: the table of row pointers that igemm and depthwise read through. */
#include "runtime/kernels/vec.h"

enum { MAX_TAPS = 512 };

/* What the taps add to the address and to each condition, once for all rows. */
typedef struct Taps {
    int64_t n, offset[MAX_TAPS];
    int64_t cond[ROW_TABLE_CONDS][MAX_TAPS];
} Taps;

static void list_taps(const RowTable *t, Taps *q)
{
    int64_t at[ROW_TABLE_VARS] = {0};
    q->n = 1;
    for (int64_t i = t->n_m; i < t->n_m + t->n_tap; i++)
        q->n *= t->extent[i];
    for (int64_t k = 0; k < q->n; k++) {
        q->offset[k] = 0;
        for (int64_t c = 0; c < t->n_cond; c++)
            q->cond[c][k] = 0;
        for (int64_t i = t->n_m; i < t->n_m + t->n_tap; i++) {
            q->offset[k] += at[i] * t->stride[i];
            for (int64_t c = 0; c < t->n_cond; c++)
                q->cond[c][k] += at[i] * t->cond[c][i];
        }
        for (int64_t i = t->n_m + t->n_tap - 1; i >= t->n_m && ++at[i] == t->extent[i]; i--)
            at[i] = 0;
    }
}

/* The pointers of one row, `step` apart: all taps are inside, or each is tested. */
static void one_row(const RowTable *t, const Taps *q, const char *base, const int64_t *cond, const float *zero,
    const float **p, int64_t step)
{
    for (int64_t k = 0; k < q->n; k++, p += step) {
        int64_t outside = 0; /* the sign bit of any condition */
        for (int64_t c = 0; c < t->n_cond; c++)
            outside |= cond[c] + q->cond[c][k];
        *p = outside < 0 ? zero : (const float *)(base + q->offset[k]);
    }
}

void NAME(rows)(const RowTable *t, const char *a, const float *zero, int64_t first, int64_t rows, int64_t mr,
    const float **p)
{
    Taps q;
    list_taps(t, &q);
    int64_t tiles = (rows + mr - 1) / mr, row = first;
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t height = rows / tiles + (tile < rows % tiles);
        for (int64_t r = 0; r < height; r++, row++) {
            const char *base = a;
            int64_t cond[ROW_TABLE_CONDS], rest = row;
            for (int64_t c = 0; c < t->n_cond; c++)
                cond[c] = t->cond0[c];
            for (int64_t i = t->n_m - 1; i >= 0; i--) {
                int64_t v = i ? rest % t->extent[i] : rest;
                rest = i ? rest / t->extent[i] : 0;
                base += v * t->stride[i];
                for (int64_t c = 0; c < t->n_cond; c++)
                    cond[c] += v * t->cond[c][i];
            }
            one_row(t, &q, base, cond, zero, p + r, height);
        }
        p += height * q.n;
    }
}
