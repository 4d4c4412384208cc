/* rows.c: the table of row pointers that igemm and depthwise read through. */
#include "runtime/kernels/vec.h"

enum { MAX_TAPS = 512 };

/* What the taps add to the address and to each condition, once for all rows. */
typedef struct Taps {
    int64_t n, offset[MAX_TAPS];
    int64_t cond[ROW_TABLE_CONDS][MAX_TAPS];
    int64_t least[ROW_TABLE_CONDS]; /* over the taps */
} Taps;

static void list_taps(const RowTable *t, Taps *q)
{
    int64_t at[ROW_TABLE_VARS] = {0};
    q->n = 1;
    for (int64_t i = t->n_m; i < t->n_m + t->n_tap; i++)
        q->n *= t->extent[i];
    for (int64_t c = 0; c < t->n_cond; c++)
        q->least[c] = INT64_MAX;
    for (int64_t k = 0; k < q->n; k++) {
        q->offset[k] = 0;
        for (int64_t i = t->n_m; i < t->n_m + t->n_tap; i++)
            q->offset[k] += at[i] * t->stride[i];
        for (int64_t c = 0; c < t->n_cond; c++) {
            int64_t v = 0;
            for (int64_t i = t->n_m; i < t->n_m + t->n_tap; i++)
                v += at[i] * t->cond[c][i];
            q->cond[c][k] = v;
            q->least[c] = v < q->least[c] ? v : q->least[c];
        }
        for (int64_t i = t->n_m + t->n_tap - 1; i >= t->n_m && ++at[i] == t->extent[i]; i--)
            at[i] = 0;
    }
}

/* The pointers of one row, `step` apart. Most rows have all taps inside: those need no tests. */
static void one_row(const RowTable *t, const Taps *q, const char *base, const int64_t *cond,
    const float *zero, const float **p, int64_t step)
{
    int64_t any = 0;
    for (int64_t c = 0; c < t->n_cond; c++)
        any |= cond[c] + q->least[c];
    if (any >= 0 && step == 1) {
        for (int64_t k = 0; k < q->n; k++)
            p[k] = (const float *)(base + q->offset[k]);
        return;
    }
    for (int64_t k = 0; k < q->n; k++, p += step) {
        int64_t outside = 0; /* the sign bit of any condition */
        for (int64_t c = 0; c < t->n_cond && any < 0; c++)
            outside |= cond[c] + q->cond[c][k];
        *p = outside < 0 ? zero : (const float *)(base + q->offset[k]);
    }
}

/* Where the walk over the rows is: the row variables, and what they add up to. */
typedef struct Walk {
    int64_t at[ROW_TABLE_VARS], cond[ROW_TABLE_CONDS];
    const char *base;
} Walk;

static void move(const RowTable *t, Walk *w, int64_t i, int64_t by)
{
    w->base += by * t->stride[i];
    for (int64_t c = 0; c < t->n_cond; c++)
        w->cond[c] += by * t->cond[c][i];
}

static void start(const RowTable *t, Walk *w, const char *a, int64_t row)
{
    w->base = a;
    for (int64_t c = 0; c < t->n_cond; c++)
        w->cond[c] = t->cond0[c];
    for (int64_t i = t->n_m - 1; i >= 0; i--) {
        w->at[i] = i ? row % t->extent[i] : row;
        row = i ? row / t->extent[i] : 0;
        move(t, w, i, w->at[i]);
    }
}

static void next(const RowTable *t, Walk *w)
{
    for (int64_t i = t->n_m - 1; i >= 0; i--) {
        move(t, w, i, 1);
        if (++w->at[i] < t->extent[i] || i == 0)
            return;
        move(t, w, i, -w->at[i]);
        w->at[i] = 0;
    }
}

void NAME(rows)(const RowTable *t, const char *a, const float *zero, int64_t first, int64_t rows,
    int64_t mr, const float **p)
{
    Taps q;
    Walk w;
    list_taps(t, &q);
    start(t, &w, a, first);
    int64_t tiles = (rows + mr - 1) / mr;
    for (int64_t tile = 0; tile < tiles; tile++) {
        int64_t height = rows / tiles + (tile < rows % tiles);
        for (int64_t r = 0; r < height; r++, next(t, &w))
            one_row(t, &q, w.base, w.cond, zero, p + r, height);
        p += height * q.n;
    }
}
