/* plan.c: offsets in the arena for buffers with lifetimes. */
#include "runtime/internal.h"
#include <stdlib.h>

typedef struct Item {
    int64_t bytes, offset;
    int id, first, last;
} Item;

static int by_size(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first != y->first ? x->first - y->first : x->id - y->id;
}

static int by_first(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    return x->first != y->first ? x->first - y->first : by_size(a, b);
}

static bool overlap(const Item *a, const Item *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Best fit: the smallest gap between the placed items that live at the same time. */
static int64_t place(Item *items, int n)
{
    int64_t top = 0;
    for (int i = 0; i < n; i++) {
        Item *x = &items[i];
        int64_t at = 0, best = -1, best_gap = INT64_MAX;
        for (;;) { /* walk the gaps upwards */
            int64_t next = INT64_MAX, past = at;
            for (int j = 0; j < i; j++) {
                const Item *y = &items[j];
                if (!overlap(x, y) || !y->bytes)
                    continue;
                if (y->offset <= at && y->offset + y->bytes > at)
                    past = MAX(past, y->offset + y->bytes);
                else if (y->offset > at)
                    next = MIN(next, y->offset);
            }
            if (past > at) {
                at = past;
                continue;
            }
            int64_t gap = next == INT64_MAX ? INT64_MAX : next - at;
            if (gap >= x->bytes && gap < best_gap) {
                best = at;
                best_gap = gap;
            }
            if (next == INT64_MAX)
                break;
            at = next;
        }
        x->offset = best < 0 ? at : best;
        top = MAX(top, x->offset + x->bytes);
    }
    return top;
}

/* The largest sum of bytes that are live in one step: no plan can be smaller. */
static int64_t lower_bound(const Item *items, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++) { /* the peak is at some item's first step */
        int64_t sum = 0;
        for (int j = 0; j < n; j++)
            if (items[j].first <= items[i].first && items[i].first <= items[j].last)
                sum += items[j].bytes;
        most = MAX(most, sum);
    }
    return most;
}

int64_t arena_plan(Ctx *cx, int n, const int64_t *bytes, const int *first, const int *last, int64_t *offset,
    int64_t *bound)
{
    Item *items = NEW_N(cx, Item, n), *best = NEW_N(cx, Item, n);
    int64_t least = INT64_MAX;
    for (int i = 0; i < n; i++)
        items[i] = (Item){(bytes[i] + 63) & ~(int64_t)63, 0, i, first[i], last[i]};
    *bound = lower_bound(items, n);
    int (*const order[])(const void *, const void *) = {by_size, by_first};
    for (int k = 0; k < NELEM(order) && least > *bound; k++) {
        if (n)
            qsort(items, (size_t)n, sizeof *items, order[k]);
        int64_t top = place(items, n);
        if (top >= least)
            continue;
        least = top;
        if (n)
            memcpy(best, items, (size_t)n * sizeof *items);
    }
    for (int i = 0; i < n; i++)
        offset[best[i].id] = best[i].offset;
    return n ? least : 0;
}
