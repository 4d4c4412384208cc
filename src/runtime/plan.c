/* plan.c: offsets in the arena for buffers with lifetimes.
 *
 * Packing is NP-hard; on networks, placing the largest first into the smallest gap that holds it
 * comes within a percent or two of the bound. Several orders are tried until one meets the bound.
 * Each placement asks an interval tree for the placed buffers that live at the same time, so that
 * the cost is that of the overlaps, not of all pairs; models so wide that even this is much fall
 * back on one sweep over time.
 */
#include "runtime/internal.h"
#include <stdlib.h>

typedef struct Item {
    int64_t bytes, offset;
    int id, first, last;
    int rank;         /* position among all items by first step */
    int64_t pressure; /* the most bytes that live in one of its steps, itself included */
    int64_t urgency;  /* grows each time that the item ends on top of a plan */
} Item;

enum { ALIGN = 64, REPAIRS = 64 };

/* Overlaps that one plan may visit: about 10 ms for a few hundred buffers, 0.1 s for 50,000. */
static int64_t overlap_budget(int n) { return 200000 + 40 * (int64_t)n; }

static int by_first(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_size(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return by_first(a, b);
}

/* Where memory is tightest first, so that what meets there is packed without gaps. */
static int by_pressure(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    if (x->pressure != y->pressure)
        return x->pressure < y->pressure ? 1 : -1;
    return by_size(a, b);
}

static int by_urgency(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    if (x->urgency != y->urgency)
        return x->urgency < y->urgency ? 1 : -1;
    return x->rank - y->rank;
}

/* The largest area of bytes times steps first: long-lived buffers leave the fewest odd gaps. */
static int by_area(const void *a, const void *b)
{
    const Item *x = a, *y = b;
    double p = (double)x->bytes * (x->last - x->first + 1),
           q = (double)y->bytes * (y->last - y->first + 1);
    if (p != q)
        return p < q ? 1 : -1;
    return by_size(a, b);
}

static void sort(Item *items, int n, int (*order)(const void *, const void *))
{
    if (n)
        qsort(items, (size_t)n, sizeof *items, order);
}

/* ---- the largest first -------------------------------------------------------------------------
 */

/* Placed items by rank; a node of the tree holds the latest `last` below it, -1 where nothing is
 * placed. */
typedef struct Tree {
    int leaves; /* a power of two */
    int *latest;
    const Item **at;  /* by rank */
    const int *begin; /* the first step, by rank */
    int n;
    const Item **found;
    int n_found;
    int64_t budget; /* overlaps that may still be visited */
} Tree;

static void insert(Tree *t, const Item *x)
{
    t->at[x->rank] = x;
    for (int i = t->leaves + x->rank; i; i /= 2)
        t->latest[i] = MAX(t->latest[i], x->last);
}

/* Collects what lives during [first, last] below the node, whose ranks begin at `from`. */
static void find(Tree *t, int node, int from, int width, int first, int last)
{
    if (from >= t->n || t->latest[node] < first || t->begin[from] > last)
        return; /* ranks grow with the first step: all below the node begin too late */
    if (width == 1) {
        t->found[t->n_found++] = t->at[from];
        return;
    }
    find(t, 2 * node, from, width / 2, first, last);
    find(t, 2 * node + 1, from + width / 2, width / 2, first, last);
}

static int by_offset(const void *a, const void *b)
{
    const Item *x = *(const Item *const *)a, *y = *(const Item *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* The smallest gap between the found items that holds x; above all of them if there is none. */
static int64_t best_gap(Tree *t, const Item *x)
{
    int64_t end = 0, best = -1, best_size = INT64_MAX;
    if (t->n_found)
        qsort(t->found, (size_t)t->n_found, sizeof *t->found, by_offset);
    for (int i = 0; i < t->n_found; i++) {
        const Item *y = t->found[i];
        int64_t size = y->offset - end;
        if (size >= x->bytes && size < best_size) {
            best = end;
            best_size = size;
        }
        end = MAX(end, y->offset + y->bytes);
    }
    return best < 0 ? end : best;
}

/* For items that are sorted by rank now. */
static Tree tree_new(Ctx *cx, const Item *items, int n)
{
    int *begin = NEW_N(cx, int, n);
    for (int i = 0; i < n; i++)
        begin[i] = items[i].first;
    Tree t = {.leaves = 1, .n = n, .begin = begin, .budget = overlap_budget(n)};
    while (t.leaves < n)
        t.leaves *= 2;
    t.latest = NEW_N(cx, int, 2 * (size_t)t.leaves);
    t.at = NEW_N(cx, const Item *, t.leaves);
    t.found = NEW_N(cx, const Item *, n);
    return t;
}

/* Places in the given order; returns the total, or INT64_MAX when the overlaps are too many. */
static int64_t place(Tree *t, Item *items, int n)
{
    int64_t top = 0;
    memset(t->latest, 0xff, 2 * (size_t)t->leaves * sizeof *t->latest);
    memset(t->at, 0, (size_t)t->leaves * sizeof *t->at);
    for (int i = 0; i < n; i++) {
        Item *x = &items[i];
        t->n_found = 0;
        find(t, 1, 0, t->leaves, x->first, x->last);
        t->budget -= 8 + t->n_found; /* sorting and searching cost too */
        if (t->budget < 0)
            return INT64_MAX;
        x->offset = best_gap(t, x);
        insert(t, x);
        top = MAX(top, x->offset + x->bytes);
    }
    return top;
}

/* ---- over time ---------------------------------------------------------------------------------
 */

/* What lives at the present step, by offset. */
typedef struct Live {
    const Item **at;
    int n, soonest; /* the first of their last steps */
    int64_t bytes;
} Live;

static void expire(Live *v, int now)
{
    int kept = 0;
    if (v->soonest >= now)
        return;
    v->soonest = INT32_MAX;
    for (int i = 0; i < v->n; i++) {
        const Item *y = v->at[i];
        if (y->last < now) {
            v->bytes -= y->bytes;
            continue;
        }
        v->soonest = MIN(v->soonest, y->last);
        v->at[kept++] = y;
    }
    v->n = kept;
}

/* Puts x into the smallest gap, or on top; without a look at the gaps if together they are too
 * small. */
static void settle(Live *v, Item *x)
{
    int64_t end = v->n ? v->at[v->n - 1]->offset + v->at[v->n - 1]->bytes : 0, at = end,
            best = INT64_MAX;
    int where = v->n;
    for (int i = 0, from = 0; i < v->n && end - v->bytes >= x->bytes; i++) {
        int64_t low = from ? v->at[i - 1]->offset + v->at[i - 1]->bytes : 0,
                size = v->at[i]->offset - low;
        from = 1;
        if (size >= x->bytes && size < best) {
            best = size;
            at = low;
            where = i;
        }
    }
    x->offset = at;
    memmove(&v->at[where + 1], &v->at[where], (size_t)(v->n - where) * sizeof *v->at);
    v->at[where] = x;
    v->n++;
    v->bytes += x->bytes;
    v->soonest = MIN(v->soonest, x->last);
}

static int64_t sweep(Ctx *cx, Item *items, int n)
{
    Live v = {.at = NEW_N(cx, const Item *, (size_t)n + 1), .soonest = INT32_MAX};
    int64_t top = 0;
    for (int i = 0; i < n; i++) {
        expire(&v, items[i].first);
        settle(&v, &items[i]);
        top = MAX(top, items[i].offset + items[i].bytes);
    }
    return top;
}

/* ---- the plan ----------------------------------------------------------------------------------
 */

/* Range maxima over steps: node i of `most` covers nodes 2i and 2i + 1, leaves begin at `n`. */
static int64_t most_in(const int64_t *most, int n, int first, int last)
{
    int64_t r = 0;
    int lo = n + first, hi = n + last + 1;
    for (; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1) {
            r = MAX(r, most[lo]);
            lo++;
        }
        if (hi & 1) {
            hi--;
            r = MAX(r, most[hi]);
        }
    }
    return r;
}

/* Fills the pressures. Returns the largest sum of bytes that are live in one step: no plan can be
 * smaller. */
static int64_t lower_bound(Ctx *cx, Item *items, int n)
{
    int steps = 1;
    int64_t bound = 0;
    for (int i = 0; i < n; i++)
        steps = MAX(steps, items[i].last + 2);
    int64_t *most = NEW_N(cx, int64_t, 2 * (size_t)steps), *live = most + steps;
    for (int i = 0; i < n; i++) {
        live[items[i].first] += items[i].bytes;
        live[items[i].last + 1] -= items[i].bytes;
    }
    for (int t = 1; t < steps; t++)
        live[t] += live[t - 1];
    for (int i = steps - 1; i > 0; i--)
        most[i] = MAX(most[2 * i], most[2 * i + 1]);
    for (int i = 0; i < n; i++) {
        items[i].pressure = most_in(most, steps, items[i].first, items[i].last);
        bound = MAX(bound, items[i].pressure);
    }
    return bound;
}

/* The best plan so far. */
typedef struct Best {
    Tree tree;
    Item *items;
    int n;
    int64_t least, bound, *offset;
} Best;

static void keep(Best *b, int64_t top)
{
    if (top >= b->least)
        return;
    b->least = top;
    for (int i = 0; i < b->n; i++)
        b->offset[b->items[i].id] = b->items[i].offset;
}

/* Starts from an order and lets what ended on top go first the next time, as long as that may help.
 */
static void place_and_repair(Best *b, int (*order)(const void *, const void *))
{
    sort(b->items, b->n, order);
    for (int i = 0; i < b->n; i++)
        b->items[i].urgency = b->n - i;
    for (int round = 0; round < REPAIRS && b->least > b->bound; round++) {
        int64_t top = place(&b->tree, b->items, b->n);
        if (top == INT64_MAX)
            return;
        keep(b, top);
        for (int i = 0; i < b->n; i++)
            if (b->items[i].offset + b->items[i].bytes == top)
                b->items[i].urgency += b->n;
        sort(b->items, b->n, by_urgency);
    }
}

int64_t arena_plan(Ctx *cx, int n, const int64_t *bytes, const int *first, const int *last,
    int64_t *offset, int64_t *bound)
{
    Best b = {.items = NEW_N(cx, Item, n), .n = n, .least = INT64_MAX, .offset = offset};
    for (int i = 0; i < n; i++)
        b.items[i] = (Item){.bytes = (bytes[i] + ALIGN - 1) & ~(int64_t)(ALIGN - 1),
            .id = i,
            .first = first[i],
            .last = last[i]};
    *bound = b.bound = lower_bound(cx, b.items, n);
    sort(b.items, n, by_first);
    for (int i = 0; i < n; i++)
        b.items[i].rank = i;
    keep(&b, sweep(cx, b.items, n));
    int (*const order[])(const void *, const void *) = {by_size, by_pressure, by_area};
    b.tree = tree_new(cx, b.items, n);
    for (int k = 0; k < NELEM(order); k++)
        place_and_repair(&b, order[k]);
    return b.least;
}
