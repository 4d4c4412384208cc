/* region.c: boxes of the stages of a group for one tile. See region.h. */
#include "passes/region.h"

typedef struct Scope {
    Pool *p;
    const Def *reader;
    const Region *region; /* the reader's own box */
    Region *need; /* by value id: what is needed of each value; NULL entries: not a stage of the
                     group */
    Def *const *stage;
    Region *regions;
    int n;
    bool ok;
} Scope;

/* An interval of index values. */
typedef struct Range {
    const Ix *lo, *hi; /* NULL: unknown: the whole axis */
} Range;

static Span full_span(Pool *p, const Ix *extent)
{
    return (Span){ix_int(p, 0), extent, extent, true};
}

/* The interval of variable v inside the reader's box; reductions run over all of theirs. Variables
 * of neither (the tile's own) are points. */
static Range var_range(const Scope *s, const Var *v)
{
    Pool *p = s->p;
    for (int k = 0; k < s->reader->n_axes; k++)
        if (s->reader->axis[k] == v) {
            const Span *sp = &s->region->span[k];
            return (Range){sp->lo, ix_addi(p, ix_add(p, sp->lo, sp->ext), -1)};
        }
    for (int k = 0; k < s->reader->n_red; k++)
        if (s->reader->red_axis[k] == v)
            return (Range){ix_int(p, 0), ix_addi(p, v->extent, -1)};
    return (Range){ix_of_var(p, v), ix_of_var(p, v)};
}

static Range range_of(const Scope *s, const Ix *a);

static Range atom_range(const Scope *s, const Atom *a)
{
    Pool *p = s->p;
    Range unknown = {NULL, NULL}, x, y;
    switch (a->kind) {
    case AT_VAR: return var_range(s, a->var);
    case AT_SYM: return (Range){ix_of_sym(p, a->sym), ix_of_sym(p, a->sym)};
    case AT_DATA: return unknown;
    default: break;
    }
    x = range_of(s, a->a);
    y = range_of(s, a->b);
    if (!x.lo || !y.lo)
        return unknown;
    switch (a->kind) {
    case AT_DIV:
        return y.lo == y.hi ? (Range){ix_div(p, x.lo, y.lo), ix_div(p, x.hi, y.lo)} : unknown;
    case AT_MOD: {
        if (y.lo != y.hi)
            return unknown;
        /* Exact inside one block of the modulus, else the whole block. */
        bool one_block = x.lo == x.hi || ix_div(p, x.lo, y.lo) == ix_div(p, x.hi, y.lo);
        if (one_block)
            return (Range){ix_mod(p, x.lo, y.lo), ix_mod(p, x.hi, y.lo)};
        return (Range){ix_int(p, 0), ix_addi(p, y.lo, -1)};
    }
    case AT_MIN: return (Range){ix_min(p, x.lo, y.lo), ix_min(p, x.hi, y.hi)};
    default: return (Range){ix_max(p, x.lo, y.lo), ix_max(p, x.hi, y.hi)};
    }
}

/* Products of several unknowns: exact when all but one are points and those have a known sign. */
static Range term_range(const Scope *s, const IxTerm *t)
{
    Pool *p = s->p;
    Range r = {ix_int(p, t->coef), ix_int(p, t->coef)};
    for (int j = 0; j < t->n; j++) {
        Range a = atom_range(s, t->atom[j]);
        if (!a.lo)
            return a;
        if (r.lo != r.hi && a.lo != a.hi)
            return (Range){NULL, NULL};
        if (r.lo != r.hi) {
            Range swap = r;
            r = a;
            a = swap;
        } /* now r is a point */
        bool pos = ix_nonneg(p, r.lo), neg = !pos && ix_nonneg(p, ix_muli(p, r.lo, -1));
        if (!pos && !neg && a.lo != a.hi)
            return (Range){NULL, NULL};
        const Ix *lo = ix_mul(p, r.lo, a.lo), *hi = ix_mul(p, r.lo, a.hi);
        r = neg ? (Range){hi, lo} : (Range){lo, hi};
    }
    return r;
}

static Range range_of(const Scope *s, const Ix *a)
{
    Range sum = {ix_int(s->p, a->c), ix_int(s->p, a->c)};
    for (int i = 0; i < a->n; i++) {
        Range t = term_range(s, &a->term[i]);
        if (!t.lo)
            return t;
        sum.lo = ix_add(s->p, sum.lo, t.lo);
        sum.hi = ix_add(s->p, sum.hi, t.hi);
    }
    return sum;
}

/* An upper bound of a form over all tiles, without variables; NULL when there is none. */
static const Ix *bound(Pool *p, const Ix *a)
{
    if (!ix_has_vars(a))
        return a;
    return a->hi < IX_INF ? ix_int(p, a->hi) : NULL;
}

/* The range clipped to the axis. */
static Span span_of(const Scope *s, Range r, const Ix *extent)
{
    Pool *p = s->p;
    if (!r.lo)
        return full_span(p, extent);
    const Ix *zero = ix_int(p, 0), *last = ix_addi(p, extent, -1);
    const Ix *width = bound(p, ix_addi(p, ix_sub(p, r.hi, r.lo), 1));
    const Ix *lo = ix_max(p, r.lo, zero), *hi = ix_min(p, r.hi, last);
    const Ix *ext = ix_addi(p, ix_sub(p, hi, lo), 1);
    if (lo == zero && hi == last)
        return full_span(p, extent);
    if (!ix_nonneg(p, ext)) /* wholly outside for some tile: nothing is needed there */
        ext = ix_max(p, ext, zero);
    const Ix *cap = bound(p, ext);
    cap = cap && width ? ix_min(p, cap, width) : cap ? cap : width;
    if (!cap)
        return full_span(p, extent);
    if (!ix_nonneg(p, cap)) /* of a reader without elements */
        cap = ix_max(p, cap, zero);
    return (Span){lo, ext, ix_is_const(cap) && !ix_is_const(extent) ? cap : ix_min(p, cap, extent),
        false};
}

static bool same_span(const Span *a, const Span *b) { return a->lo == b->lo && a->ext == b->ext; }

static Span span_union(Pool *p, const Span *a, const Span *b, const Ix *extent)
{
    if (a->full || b->full)
        return full_span(p, extent);
    if (same_span(a, b))
        return *a;
    const Ix *ha = ix_add(p, a->lo, a->ext), *hb = ix_add(p, b->lo, b->ext);
    const Ix *lo = ix_min(p, a->lo, b->lo), *hi = ix_max(p, ha, hb);
    const Ix *ext = ix_sub(p, hi, lo), *cap = bound(p, ext);
    if (!cap)
        return full_span(p, extent);
    return (Span){lo, ext, ix_min(p, cap, extent), false};
}

static void need_load(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Scope *s = user;
    for (int i = 0; i < s->n; i++) {
        const Def *d = s->stage[i];
        if (d->out != load->value)
            continue;
        Region *r = &s->regions[i];
        for (int k = 0; k < d->n_axes; k++) {
            Span sp = span_of(s, range_of(s, load->idx[k]), d->axis[k]->extent);
            r->span[k] = r->needed ? span_union(s->p, &r->span[k], &sp, d->axis[k]->extent) : sp;
        }
        r->needed = true;
    }
}

void tiling_vars(Pool *p, const Def *root, Tiling *t)
{
    for (int i = 0; i < t->n; i++) {
        const Ix *extent = root->axis[t->at[i].axis]->extent;
        t->at[i].var = ix_var_new(p, ix_ceil_div(p, extent, ix_int(p, t->at[i].size)), "t");
    }
}

static void root_region(Pool *p, const Def *root, const Tiling *t, Region *r)
{
    r->needed = true;
    for (int k = 0; k < root->n_axes; k++)
        r->span[k] = full_span(p, root->axis[k]->extent);
    for (int i = 0; i < t->n; i++) {
        const Ix *extent = root->axis[t->at[i].axis]->extent, *size = ix_int(p, t->at[i].size);
        const Ix *lo = ix_mul(p, ix_of_var(p, t->at[i].var), size);
        const Ix *ext = size;
        if (!ix_is(ix_mod(p, extent, size), 0))
            ext = ix_min(p, size, ix_sub(p, extent, lo));
        r->span[t->at[i].axis] = (Span){lo, ext, size, false};
    }
}

bool regions_of(Pool *p, Def *const *stage, int n, const Tiling *t, Region *region)
{
    memset(region, 0, (size_t)n * sizeof *region);
    root_region(p, stage[n - 1], t, &region[n - 1]);
    for (int i = n - 1; i >= 0; i--) {
        if (!region[i].needed)
            return false; /* a stage that the root does not need: a second sink */
        Scope s = {p, stage[i], &region[i], NULL, stage, region, i, true};
        ex_visit_loads(pool_ctx(p), stage[i]->body, need_load, &s);
    }
    return true;
}

bool region_partitions(Pool *p, const Def *d, const Region *r, const Tiling *t)
{
    bool used[MAX_RANK] = {false};
    for (int k = 0; k < d->n_axes; k++) {
        if (r->span[k].full)
            continue;
        bool found = false;
        for (int i = 0; i < t->n && !found; i++) {
            const Ix *start = ix_mul(p, ix_of_var(p, t->at[i].var), ix_int(p, t->at[i].size));
            const Ix *tiles = ix_ceil_div(p, d->axis[k]->extent, ix_int(p, t->at[i].size));
            found = !used[i] && r->span[k].lo == start && t->at[i].var->extent == tiles;
            if (found) { /* the block's own extent, the last one clipped by the axis */
                const Ix *size = ix_int(p, t->at[i].size);
                const Ix *clipped = ix_min(p, size, ix_sub(p, d->axis[k]->extent, start));
                found = r->span[k].ext == size || r->span[k].ext == clipped;
            }
            used[i] |= found;
        }
        if (!found)
            return false;
    }
    for (int i = 0; i < t->n; i++)
        if (!used[i] && !ix_is(t->at[i].var->extent, 1))
            return false; /* every tile of that axis would write the same elements */
    return true;
}

int64_t region_volume(const Def *d, const Region *r)
{
    int64_t n = 1;
    for (int k = 0; k < d->n_axes; k++)
        n *= MAX(1, ix_hint(r->span[k].cap));
    return n;
}
