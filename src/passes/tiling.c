/* tiling.c: the tile loops of a group, and whether the group is legal with them. */
#include "passes/sched.h"

/* Constants of the present schedule; issue "Fusion" replaces them by a cost model that is measured.
 * TILE_ELEMENTS: elements of one tile of a group without contraction: its rows stay in L1.
 * TILE_ROWS: rows of a contraction's tile: they share one pass over B (measured: 8 microkernel
 * tiles). SMALL_WORK: below this much work a kernel need not be spread over the threads. */
enum {
    TILE_ELEMENTS = 16384,
    TILE_ROWS = 64,
    SCRATCH_LIMIT = 256 * 1024,
    SMALL_WORK = 32768,
    MAX_STAGES = 48
};

typedef struct Candidate {
    Module *m;
    Def *const *stage;
    int n;
    int contraction; /* index of the stage, or -1 */
    int axis[MAX_RANK],
        n_axis; /* the root's axes with more than one element, outer to inner in memory */
    int64_t ext[MAX_RANK];
    int64_t work; /* of all stages, in cheap operations */
} Candidate;

static int64_t extent_hint(const Ix *e) { return MAX(ix_hint(e), 0); }

static int64_t def_volume(const Def *d)
{
    int64_t n = 1;
    for (int k = 0; k < d->n_axes; k++)
        n = sat_volume(n, extent_hint(d->axis[k]->extent));
    return n;
}

static int64_t red_volume(const Def *d)
{
    int64_t n = 1;
    for (int k = 0; k < d->n_red; k++)
        n = sat_volume(n, extent_hint(d->red_axis[k]->extent));
    return n;
}

static int64_t stage_cost(Module *m, const Def *d)
{
    return sat_volume(red_volume(d), 1 + ex_cost(m->cx, d->body));
}

static void describe(Candidate *c, Module *m, Def *const *stage, int n)
{
    *c = (Candidate){.m = m, .stage = stage, .n = n, .contraction = -1};
    const Def *root = stage[n - 1];
    for (int i = 0; i < root->n_axes; i++) {
        int k = root->out->order[i];
        if (ix_is(root->axis[k]->extent, 1))
            continue;
        c->ext[c->n_axis] = MAX(1, extent_hint(root->axis[k]->extent));
        c->axis[c->n_axis++] = k;
    }
    for (int i = 0; i < n; i++) {
        Roles r;
        c->work += sat_volume(def_volume(stage[i]), stage_cost(m, stage[i]));
        if (contraction_roles(m->graph->pool, stage[i], &r))
            c->contraction = i;
    }
}

static void add_axis(Tiling *t, const Candidate *c, int i, int64_t size)
{
    if (size < c->ext[i])
        t->at[t->n++] = (TileAxis){.axis = c->axis[i], .size = size};
}

/* Outer axes one by one until what is inside has at most `target` elements; the last of them in
 * even blocks. */
static void tile_outer(const Candidate *c, int64_t target, int64_t least_tiles, int limit,
    Tiling *t)
{
    int64_t inner = 1, tiles = 1;
    t->n = 0;
    for (int i = 0; i < c->n_axis; i++)
        inner = sat_volume(inner, c->ext[i]);
    for (int i = 0; i < limit && inner < INT64_MAX / 8;
         i++) { /* a saturated volume can't be divided */
        if (inner <= target && tiles >= least_tiles)
            return;
        inner /= c->ext[i];
        int64_t fits = MAX(1, MIN(c->ext[i], target / inner)); /* of this axis, in a tile */
        int64_t by_size = (c->ext[i] + fits - 1) / fits,
                by_count = (least_tiles + tiles - 1) / tiles;
        int64_t blocks = MIN(c->ext[i], MAX(by_size, by_count));
        int64_t size = (c->ext[i] + blocks - 1) / blocks;
        int64_t vectors = (size + 63) / 64 * 64;
        if (i == c->n_axis - 1 && vectors < c->ext[i]) /* perhaps lanes: whole vectors */
            size = vectors;
        add_axis(t, c, i, size);
        tiles = sat_volume(tiles, (c->ext[i] + size - 1) / size);
        inner = inner * size;
        if (size > 1)
            return;
    }
}

/* Few rows against many weights: the columns are spread over the threads, in whole panels. */
static bool tile_columns(const Candidate *c, Tiling *t)
{
    const Module *m = c->m;
    if (c->contraction < 0 || m->opt.threads < 2 || !c->n_axis)
        return false;
    int last = c->n_axis - 1;
    int64_t n = c->ext[last], rows = 1, k = red_volume(c->stage[c->contraction]);
    for (int i = 0; i < last; i++)
        rows *= c->ext[i];
    if (rows * (k + n) > k * n || n < 2 * m->opt.nr)
        return false;
    int64_t panels = (n + m->opt.nr - 1) / m->opt.nr;
    int64_t per = (panels + m->opt.threads - 1) / m->opt.threads;
    t->n = 0;
    add_axis(t, c, last, per * m->opt.nr);
    return t->n > 0;
}

/* ---- legality ----------------------------------------------------------------------------------
 */

static bool outside(const Module *m, const Candidate *c, const Value *v)
{
    if (v->is_output || v->keep)
        return true;
    for (int i = 0; i < m->uses[v->id].n; i++) {
        bool inside = false;
        for (int j = 0; j < c->n && !inside; j++)
            inside = c->stage[j] == m->uses[v->id].at[i];
        if (!inside)
            return true;
    }
    return false;
}

static int64_t region_size(const Candidate *c, const Region *region, int i)
{
    int64_t n = 1;
    for (int k = 0; k < c->stage[i]->n_axes; k++)
        n = sat_volume(n, extent_hint(region[i].span[k].cap));
    return n;
}

/* Is the value's only reader a map of the same size? Then it is computed in the reader's memory
 * (in_place). */
static bool replaced(const Candidate *c, const Region *region, const Tiling *t, int i,
    int64_t volume)
{
    const Uses *u = &c->m->uses[c->stage[i]->out->id];
    if (u->n != 1 || u->at[0]->red != RED_NONE)
        return false;
    for (int j = 0; j < i; j++) { /* one operand only */
        const Uses *other = &c->m->uses[c->stage[j]->out->id];
        if (other->n == 1 && other->at[0] == u->at[0])
            return false;
    }
    if (!region_partitions(c->m->graph->pool, c->stage[i], &region[i], t))
        return false;
    for (int j = i + 1; j < c->n; j++)
        if (c->stage[j] == u->at[0])
            return region_size(c, region, j) == volume &&
                dtype_bytes(u->at[0]->out->type) == dtype_bytes(c->stage[i]->out->type);
    return false;
}

/* A tile's columns must begin at a panel of B. */
static bool whole_panels(const Candidate *c, const Region *r)
{
    const Def *d = c->stage[c->contraction];
    Pool *p = c->m->graph->pool;
    Roles roles;
    contraction_roles(p, d, &roles);
    for (int k = 0; k < d->n_axes; k++)
        if (roles.role[k] == ROLE_N && !r->span[k].full &&
            !ix_is(ix_mod(p, r->span[k].lo, ix_int(p, c->m->opt.nr)), 0))
            return false;
    return true;
}

static bool legal(const Candidate *c, Tiling *t)
{
    Module *m = c->m;
    Pool *p = m->graph->pool;
    Region region[MAX_STAGES];
    int64_t scratch = 0, tiled = 0, tiles = 1;
    tiling_vars(p, c->stage[c->n - 1], t);
    if (!regions_of(p, c->stage, c->n, t, region))
        return false;
    for (int i = 0; i < t->n; i++)
        tiles = sat_volume(tiles, extent_hint(t->at[i].var->extent));
    for (int i = 0; i < c->n; i++) {
        const Def *d = c->stage[i];
        if (i == c->contraction && !whole_panels(c, &region[i]))
            return false;
        int64_t volume = region_size(c, region, i);
        tiled += sat_volume(sat_volume(volume, tiles), stage_cost(m, d));
        if (outside(m, c, d->out)) {
            if (!region_partitions(p, d, &region[i], t))
                return false;
        } else if (!replaced(c, region, t, i, volume))
            scratch += volume * dtype_bytes(d->out->type);
    }
    if (scratch > SCRATCH_LIMIT && c->n > 1)
        return false;
    /* The last tile is clipped where the root's extent is no multiple: that repeats nothing. */
    double once = (double)c->work * (double)sat_volume(region_size(c, region, c->n - 1), tiles) /
        (double)MAX(1, def_volume(c->stage[c->n - 1]));
    return (double)tiled <= once * 8 / 7 || tiled - c->work < SMALL_WORK / 4;
}

/* Rows of the contraction, batches included: what there is besides its columns. */
static int64_t contraction_rows(const Candidate *c)
{
    const Def *d = c->stage[c->contraction];
    Roles r;
    int64_t rows = 1;
    contraction_roles(c->m->graph->pool, d, &r);
    for (int k = 0; k < d->n_axes; k++)
        if (r.role[k] != ROLE_N)
            rows = sat_volume(rows, MAX(1, extent_hint(d->axis[k]->extent)));
    return rows;
}

static int64_t tile_count(const Tiling *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->n; i++)
        n = sat_volume(n, extent_hint(t->at[i].var->extent));
    return n;
}

bool group_tiling(Module *m, Def *const *stage, int n, Tiling *t)
{
    Candidate c;
    if (n > MAX_STAGES)
        return false;
    describe(&c, m, stage, n);
    int64_t threads = m->opt.threads, least = c.work > SMALL_WORK ? 2 * threads : 1;
    if (tile_columns(&c, t) && legal(&c, t))
        return true;
    int64_t target =
        TILE_ELEMENTS / MIN(TILE_ELEMENTS, MAX(1, c.work / MAX(1, def_volume(stage[n - 1])) / 16));
    if (c.contraction >= 0 && c.n_axis)
        target = MAX(1, TILE_ROWS * def_volume(stage[n - 1]) / contraction_rows(&c));
    int deepest = c.n_axis;
    if (c.contraction >= 0 && def_volume(stage[n - 1]) > contraction_rows(&c))
        deepest--; /* the columns stay whole */
    for (int depth = deepest; depth >= 0; depth--) {
        tile_outer(&c, MAX(target, 64), threads > 1 ? least : 1, depth, t);
        if (legal(&c, t) &&
            (n == 1 || threads == 1 || tile_count(t) >= threads || c.work <= SMALL_WORK))
            return true;
    }
    t->n = 0;
    return n == 1;
}
