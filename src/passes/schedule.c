/* schedule.c: the pass schedule: each group becomes one kernel of Loop IR. */
#include "passes/sched.h"

bool value_materialised(const Module *m, const Value *v) { return m->home[v->id] != NULL; }

const Region *sched_region(const Sched *s, const Value *v)
{
    for (int i = 0; i < s->g->stages.n; i++)
        if (s->g->stages.at[i]->out == v)
            return &s->region[i];
    return NULL;
}

const Ix *sched_scratch(Sched *s, const Ix *bytes)
{
    const Ix *at = s->scratch;
    const Ix *lines = ix_ceil_div(s->p, bytes, ix_int(s->p, 64));
    s->scratch = ix_add(s->p, at, ix_muli(s->p, lines, 64));
    return at;
}

/* Row-major strides over `extent` in the value's storage order; returns the number of elements. */
static const Ix *strides(Sched *s, const Value *v, const Ix *const *extent, const Ix **stride)
{
    const Ix *n = ix_int(s->p, 1);
    for (int i = v->rank - 1; i >= 0; i--) {
        int k = v->order[i];
        stride[k] = n;
        n = ix_mul(s->p, n, extent[k]);
    }
    return n;
}

typedef struct Readers {
    const Value *v;
    const Expr *load;
    int loads;
} Readers;

static void note_reader(void *user, const Expr *load, bool in_index)
{
    Readers *r = user;
    if (load->value != r->v)
        return;
    r->load = load;
    r->loads += 1 + in_index; /* a load inside an index is never in place */
}

/* The innermost axis with more than one element is contiguous: loops over v run along it. */
static bool inner_contiguous(const Value *v, const Place *pl)
{
    for (int i = v->rank - 1; i >= 0; i--)
        if (!ix_is(v->dim[v->order[i]], 1))
            return ix_is(pl->stride[v->order[i]], 1);
    return true;
}

typedef struct Tenant {
    const Sched *s;
    const Place *memory;
    bool found;
} Tenant;

static void note_tenant(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Tenant *t = user;
    const Place *pl = kernel_place(t->s->k, load->value);
    t->found |=
        pl && pl->arg == t->memory->arg && (pl->arg >= 0 || pl->offset == t->memory->offset);
}

/* Is another operand of the reader in its memory already? Both would live there at once. */
static bool taken(const Sched *s, const Def *reader, const Place *memory)
{
    Tenant t = {s, memory, false};
    ex_visit_loads(s->cx, reader->body, note_tenant, &t);
    return t.found;
}

/* Does the box, along this axis, hold whole blocks of b? */
static bool whole_blocks(Pool *p, const Span *sp, const Ix *b)
{
    return sp->full || (ix_is(ix_mod(p, sp->lo, b), 0) && ix_is(ix_mod(p, sp->cap, b), 0));
}

/* A value whose only reader is a map at the same element is computed in the reader's memory. Its
 * strides there are those of the reader's axes that its own axes follow; what they give is compared
 * as a whole. */
static bool in_place(Sched *s, const Value *v, const Region *r, Place *pl)
{
    Pool *p = s->p;
    Readers reads = {v, NULL, 0};
    const Def *reader = NULL;
    int reader_stage = 0;
    for (int i = 0; i < s->g->stages.n; i++) {
        int before = reads.loads;
        ex_visit_loads(s->cx, s->g->stages.at[i]->body, note_reader, &reads);
        if (reads.loads > before) {
            reader = s->g->stages.at[i];
            reader_stage = i;
        }
    }
    if (reads.loads != 1 || reader->red != RED_NONE ||
        dtype_bytes(reader->out->type) != dtype_bytes(v->type))
        return false;
    Place to = *sched_place(s, reader->out, true);
    Place mine = to;
    mine.value = v;
    const Ix *there = ix_int(p, 0), *here = ix_int(p, 0);
    for (int j = 0; j < reader->n_axes; j++) {
        const Span *sp = &s->region[reader_stage].span[j];
        if (ix_is(reader->axis[j]->extent, 1) && !sp->full && !ix_is(sp->ext, 1))
            return false; /* no memory where nothing of the reader is needed */
        there = ix_add(p, there, ix_mul(p, ix_of_var(p, reader->axis[j]), to.stride[j]));
    }
    for (int k = 0; k < v->rank; k++) {
        const Ix *at = reads.load->idx[k];
        mine.stride[k] = ix_int(p, 0);
        for (int j = 0; j < reader->n_axes; j++) {
            if (at == ix_of_var(p, reader->axis[j]) && !ix_is(reader->axis[j]->extent, 1)) {
                mine.stride[k] = to.stride[j];
                mine.origin[k] = to.origin[j];
            }
            const Atom *a =
                at->n == 1 && at->c == 0 && at->term[0].n == 1 ? at->term[0].atom[0] : NULL;
            if (a && (a->kind == AT_DIV || a->kind == AT_MOD) &&
                a->a == ix_of_var(p, reader->axis[j])) {
                mine.stride[k] = a->kind == AT_MOD ? to.stride[j] : ix_mul(p, to.stride[j], a->b);
                /* v is larger than its reader where the last block is not whole */
                if (to.origin[j] || !ix_is(ix_mod(p, reader->axis[j]->extent, a->b), 0) ||
                    !whole_blocks(p, &s->region[reader_stage].span[j], a->b))
                    return false;
                mine.origin[k] = NULL;
            }
        }
        if (ix_is(v->dim[k], 1))
            mine.origin[k] = NULL;
        here = ix_add(p, here, ix_mul(p, at, mine.stride[k]));
        if (!ix_is(v->dim[k], 1) && ix_is(mine.stride[k], 0))
            return false;
    }
    (void)r;
    if (here != there || !inner_contiguous(v, &mine) || taken(s, reader, &to))
        return false;
    *pl = mine;
    return true;
}

const Place *sched_place(Sched *s, const Value *v, bool written)
{
    Kernel *k = s->k;
    const Place *known = kernel_place(k, v);
    if (known && written && known->arg >= 0)
        k->arg_written.at[known->arg] = true;
    if (known)
        return known;
    Place pl = {.value = v, .arg = -1};
    const Region *r = sched_region(s, v);
    if (written && r && !value_materialised(s->m, v) && in_place(s, v, r, &pl)) {
        /* the memory of the value that takes its place */
    } else if (r && !value_materialised(s->m, v)) {
        const Ix *extent[MAX_RANK];
        for (int i = 0; i < v->rank; i++) {
            extent[i] = r->span[i].cap;
            pl.origin[i] = r->span[i].full ? NULL : r->span[i].lo;
        }
        pl.bytes = ix_muli(s->p, strides(s, v, extent, pl.stride), dtype_bytes(v->type));
        pl.offset = sched_scratch(s, pl.bytes);
    } else {
        strides(s, v, v->dim, pl.stride);
        pl.arg = k->args.n;
        VEC_PUSH(s->cx, &k->args, v);
        VEC_PUSH(s->cx, &k->arg_written, written);
    }
    VEC_PUSH(s->cx, &k->places, pl);
    return &k->places.at[k->places.n - 1];
}

static void place_load(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    sched_place(user, load->value, false);
}

void sched_operands(Sched *s, const Def *d)
{
    ex_visit_loads(s->cx, d->body, place_load, s);
    sched_place(s, d->out, true);
}

/* ---- scalar stages -----------------------------------------------------------------------------
 */

Stmts *sched_loops(Sched *s, Stmts *into, const Def *d, const Region *r, const Ix **at,
    Subst *subst)
{
    subst_init(subst, s->p);
    for (int i = 0; i < d->n_axes; i++) {
        int k = d->out->order[i];
        const Span *sp = &r->span[k];
        const Var *local = ix_var_new(s->p, sp->ext, d->axis[k]->name);
        at[k] = ix_add(s->p, sp->lo, ix_of_var(s->p, local));
        subst_var(subst, d->axis[k], at[k]);
        if (ix_is(sp->ext, 1))
            continue;
        Stmt *loop = stmt_new(s->cx, S_FOR);
        loop->var = local;
        VEC_PUSH(s->cx, into, loop);
        into = &loop->body;
    }
    return into;
}

void sched_scalar(Sched *s, Stmts *into, int stage)
{
    const Def *d = s->g->stages.at[stage];
    Stmt *store = stmt_new(s->cx, S_STORE);
    Subst subst;
    sched_operands(s, d);
    into = sched_loops(s, into, d, &s->region[stage], store->idx, &subst);
    store->value = d->out;
    if (d->red == RED_NONE) {
        store->expr = ex_subst(&subst, d->body);
        VEC_PUSH(s->cx, into, store);
        return;
    }
    Stmt *acc = stmt_new(s->cx, S_ACC), *update = stmt_new(s->cx, S_UPDATE);
    acc->acc = update->acc = store->acc = s->k->n_accs++;
    acc->type = update->type = store->type = d->acc;
    acc->expr = ex_identity(s->p, d->red, d->acc);
    update->red = d->red;
    VEC_PUSH(s->cx, into, acc);
    Stmts *inner = into;
    for (int i = 0; i < d->n_red; i++) {
        Stmt *loop = stmt_new(s->cx, S_FOR);
        loop->var = ix_var_new(s->p, d->red_axis[i]->extent, d->red_axis[i]->name);
        subst_var(&subst, d->red_axis[i], ix_of_var(s->p, loop->var));
        VEC_PUSH(s->cx, inner, loop);
        inner = &loop->body;
    }
    update->expr = ex_subst(&subst, d->body);
    VEC_PUSH(s->cx, inner, update);
    VEC_PUSH(s->cx, into, store);
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* A C identifier from the operators of the group's nodes: k07_conv_relu. */
static const char *kernel_name(Sched *s)
{
    Buf b;
    buf_init(&b, s->cx);
    buf_printf(&b, "k%02d", s->g->id);
    for (int i = 0; i < s->k->n_nodes && i < 4; i++) {
        buf_putc(&b, '_');
        for (const char *c = s->k->nodes[i]->op_type; *c && b.n < 60; c++) {
            char l = *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c;
            buf_putc(&b, (l >= 'a' && l <= 'z') || (l >= '0' && l <= '9') ? l : '_');
        }
    }
    return b.s;
}

static void kernel_nodes(Sched *s)
{
    Def all = {0};
    for (int i = 0; i < s->g->stages.n; i++)
        def_add_nodes(s->cx, &all, s->g->stages.at[i]);
    s->k->nodes = all.nodes.at;
    s->k->n_nodes = all.nodes.n;
    for (int i = 1; i < all.nodes.n; i++) { /* in the order of the model */
        const Node *x = all.nodes.at[i];
        int j = i;
        for (; j > 0 && all.nodes.at[j - 1]->id > x->id; j--)
            all.nodes.at[j] = all.nodes.at[j - 1];
        all.nodes.at[j] = x;
    }
}

/* The stage, and as many after it as share its loops; returns how many. */
static int schedule_stages(Sched *s, int stage)
{
    int n = 0;
    if (s->m->opt.level == 2)
        n = sched_contraction(s, &s->k->body, stage) ? 1 : sched_vector(s, &s->k->body, stage);
    if (!n)
        sched_scalar(s, &s->k->body, stage);
    return MAX(n, 1);
}

static void schedule_group(Module *m, Group *g)
{
    Sched s = {.m = m,
        .cx = m->cx,
        .p = m->graph->pool,
        .g = g,
        .scratch = ix_int(m->graph->pool, 0)};
    int n = g->stages.n;
    s.k = g->kernel = NEW(m->cx, Kernel);
    s.k->id = g->id;
    s.region = NEW_N(m->cx, Region, n);
    kernel_nodes(&s);
    s.k->name = kernel_name(&s);
    s.tiling.n = 0;
    if (m->opt.level > 1)
        (void)group_tiling(m, g->stages.at, n, &s.tiling);
    tiling_vars(s.p, g->stages.at[n - 1], &s.tiling);
    if (!regions_of(s.p, g->stages.at, n, &s.tiling, s.region))
        ctx_fail(m->cx, ST_INTERNAL, NULL, "kernel %s: a stage has no region", s.k->name);
    s.k->tiles = ix_int(s.p, 1);
    for (int i = 0; i < s.tiling.n; i++) {
        VEC_PUSH(m->cx, &s.k->tile, s.tiling.at[i].var);
        s.k->tiles = ix_mul(s.p, s.k->tiles, s.tiling.at[i].var->extent);
    }
    s.end = n;
    for (int i = 0; i < n;)
        i += schedule_stages(&s, i);
    s.k->scratch = s.scratch;
    if (ix_has_vars(s.k->scratch) || ix_has_vars(s.k->tiles))
        ctx_fail(m->cx, ST_INTERNAL, NULL, "kernel %s: scratch or tiles of unknown size",
            s.k->name);
    kernel_verify(m->cx, s.k);
}

void pass_schedule(Module *m)
{
    for (int i = 0; i < m->groups.n; i++)
        schedule_group(m, m->groups.at[i]);
    ctx_check(m->cx);
}
