/* exec.c: the tile executor. See exec.h. */
#include "passes/exec.h"
#include "graph/interp.h"

enum { POISON = 0xff }; /* not a number in every float type, -1 in every signed one */

typedef struct Exec {
    Module *m;
    Interp *it;
    const Tensor **known; /* by value id: inputs, buffers, and what this group computes */
    uint32_t **
        tile_of; /* by value id: by element, the tile that computed it, from 1; NULL: not checked */
    bool *inside;  /* by value id: a stage of the group under way */
    uint32_t tile; /* the one under way, over all groups */
} Exec;

static NORETURN void broken(Exec *x, const Value *v, const char *what)
{
    ctx_fail(x->m->cx, ST_INTERNAL, &(Where){.tensor = v->name}, "tile executor: %%%s#%d: %s",
        v->name, v->id, what);
}

/* A constant whose elements lie in another order, row-major. */
static const Tensor *row_major(Exec *x, const Value *v)
{
    Tensor *t = tensor_new(x->m->cx, v->type, v->rank, v->data->dim);
    int64_t at[MAX_RANK] = {0};
    for (int64_t from = 0; from < t->count; from++) {
        int64_t to = 0;
        for (int k = 0; k < v->rank; k++)
            to = to * t->dim[k] + at[k];
        scalar_store(t->type, t->data, to, scalar_load(t->type, v->data->data, from));
        for (int i = v->rank - 1; i >= 0 && ++at[v->order[i]] == t->dim[v->order[i]]; i--)
            at[v->order[i]] = 0;
    }
    return t;
}

static const Tensor *tensor_of(void *user, const Value *v)
{
    Exec *x = user;
    bool moved = false;
    if (x->known[v->id])
        return x->known[v->id];
    if (!value_is_const(v)) /* the interpreter would make it anew */
        broken(x, v, "it is read where no group has written it");
    for (int k = 0; k < v->rank; k++)
        moved |= v->order[k] != k;
    return x->known[v->id] = moved ? row_major(x, v) : v->data;
}

static void check_load(void *user, const Value *v, int64_t flat)
{
    Exec *x = user;
    const uint32_t *tile = x->tile_of[v->id];
    if (!tile)
        return;
    if (x->inside[v->id] && tile[flat] != x->tile)
        broken(x, v, "an element is read that this tile did not compute");
    if (!tile[flat])
        broken(x, v, "an element is read before it is written");
}

/* Poisoned memory for what stage d computes. */
static void new_value(Exec *x, const Def *d)
{
    int64_t dim[MAX_RANK];
    const Value *v = d->out;
    for (int k = 0; k < v->rank; k++)
        dim[k] = interp_ix(x->it, v->dim[k]);
    Tensor *t = tensor_new(x->m->cx, v->type, v->rank, dim);
    memset(t->data, POISON, t->bytes);
    x->known[v->id] = t;
    x->tile_of[v->id] = NEW_N(x->m->cx, uint32_t, t->count);
    x->inside[v->id] = true;
}

static void write_element(Exec *x, const Def *d, const Tensor *t, const int64_t *at)
{
    int64_t flat = 0;
    const Value *v = d->out;
    for (int k = 0; k < d->n_axes; k++) {
        flat = flat * t->dim[k] + at[k];
        interp_var(x->it, d->axis[k], at[k]);
    }
    if (x->tile_of[v->id][flat] && value_materialised(x->m, v))
        broken(x, v, "an element of a buffer is written twice");
    scalar_store(t->type, t->data, flat, interp_element(x->it, d));
    x->tile_of[v->id][flat] = x->tile;
}

/* The box of one stage for this tile. */
static void run_stage(Exec *x, const Def *d, const Region *r)
{
    int64_t lo[MAX_RANK], end[MAX_RANK], at[MAX_RANK], count = 1;
    const Tensor *t = x->known[d->out->id];
    for (int k = 0; k < d->n_axes; k++) {
        int64_t ext = interp_ix(x->it, r->span[k].ext);
        at[k] = lo[k] = interp_ix(x->it, r->span[k].lo);
        end[k] = lo[k] + ext;
        count *= MAX(ext, 0);
        if (ext > interp_ix(x->it, r->span[k].cap))
            broken(x, d->out, "a box is larger than its scratch");
        if (ext > 0 && (lo[k] < 0 || end[k] > t->dim[k]))
            broken(x, d->out, "a box is not inside the value");
    }
    for (; count > 0; count--) {
        write_element(x, d, t, at);
        for (int k = d->n_axes - 1; k >= 0 && ++at[k] == end[k]; k--)
            at[k] = lo[k];
    }
}

/* Steps the tile variables, the last fastest; false when all are done. */
static bool next_tile(Exec *x, const Tiling *t)
{
    for (int i = t->n - 1; i >= 0; i--) {
        const Var *v = t->at[i].var;
        if (++x->it->var[v->id] < interp_ix(x->it, v->extent))
            return true;
        x->it->var[v->id] = 0;
    }
    return false;
}

static bool first_tile(Exec *x, const Tiling *t)
{
    bool any = true;
    for (int i = 0; i < t->n; i++) {
        interp_var(x->it, t->at[i].var, 0);
        any &= interp_ix(x->it, t->at[i].var->extent) > 0;
    }
    return any;
}

static void all_written(Exec *x, const Value *v)
{
    for (int64_t i = 0; i < x->known[v->id]->count; i++)
        if (!x->tile_of[v->id][i])
            broken(x, v, "an element of a buffer is never written");
}

static void run_group(Exec *x, const Group *g)
{
    Pool *p = x->m->graph->pool;
    int n = g->stages.n;
    Tiling t = {0};
    Region *region = NEW_N(x->m->cx, Region, n);
    if (x->m->opt.level > 1)
        (void)group_tiling(x->m, g->stages.at, n, &t);
    tiling_vars(p, g->stages.at[n - 1], &t);
    if (!regions_of(p, g->stages.at, n, &t, region))
        broken(x, g->stages.at[n - 1]->out, "its group has no regions");
    interp_room(x->it);
    for (int i = 0; i < n; i++)
        new_value(x, g->stages.at[i]);
    if (first_tile(x, &t))
        do {
            x->tile++;
            for (int i = 0; i < n; i++)
                run_stage(x, g->stages.at[i], &region[i]);
        } while (next_tile(x, &t));
    for (int i = 0; i < n; i++) {
        const Value *v = g->stages.at[i]->out;
        x->inside[v->id] = false;
        if (value_materialised(x->m, v))
            all_written(x, v);
        else
            x->known[v->id] = NULL; /* nobody may read it any more */
    }
}

const Tensor **exec_groups(Module *m, const Tensor *const *input, const int64_t *sym)
{
    Exec x = {.m = m};
    x.known = NEW_N(m->cx, const Tensor *, m->graph->values.n);
    x.tile_of = NEW_N(m->cx, uint32_t *, m->graph->values.n);
    x.inside = NEW_N(m->cx, bool, m->graph->values.n);
    x.it = interp_new(m->cx, m->graph->pool, tensor_of, &x, sym);
    x.it->on_load = check_load;
    for (int i = 0; i < m->graph->inputs.n; i++)
        x.known[m->graph->inputs.at[i]->id] = input[i];
    for (int i = 0; i < m->groups.n; i++)
        run_group(&x, m->groups.at[i]);
    return x.known;
}
