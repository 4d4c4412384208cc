/* fuse.c: the pass fuse: which stages one kernel computes.
 *
 * Each definition begins as a group of its own. In order, each tries to join the groups of what it
 * reads, the largest value first: epilogues of contractions and reductions, softmax and norms as a
 * whole. A merge must keep the quotient graph acyclic, and have a tiling in which every stage's box
 * is inferred, values read elsewhere are written once, little is repeated, and scratch fits
 * (tiling.c). No operator is looked at. */
#include "passes/sched.h"

typedef struct Fuse {
    Module *m;
    Group **group_of; /* by value id */
    int *position;    /* of the definition, by value id */
    const Group *reader;
} Fuse;

typedef struct Operands {
    Fuse *f;
    VEC(const Value *) values;
} Operands;

static void note_operand(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Operands *o = user;
    for (int i = 0; i < o->values.n; i++)
        if (o->values.at[i] == load->value)
            return;
    if (o->f->group_of[load->value->id])
        VEC_PUSH(o->f->m->cx, &o->values, load->value);
}

typedef struct NoteUse {
    Module *m;
    Def *reader;
} NoteUse;

static void note_use(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    NoteUse *n = user;
    Uses *u = &n->m->uses[load->value->id];
    if (!u->n || u->at[u->n - 1] != n->reader)
        VEC_PUSH(n->m->cx, u, n->reader);
}

static void find_uses(Module *m)
{
    m->uses = NEW_N(m->cx, Uses, m->graph->values.n);
    for (int i = 0; i < m->defs.n; i++) {
        NoteUse n = {m, m->defs.at[i]};
        ex_visit_loads(m->cx, m->defs.at[i]->body, note_use, &n);
    }
}

/* ---- cycles ------------------------------------------------------------------------------------
 */

typedef struct Walk {
    Fuse *f;
    const Group *from, *to;
    int last, stamp; /* only definitions up to `last` can lie on a path */
    VEC(Group *) todo;
} Walk;

/* Visits the groups that read `g`; true when one of them is `to`, reached through another group. */
static bool step(Walk *w, const Group *g)
{
    for (int i = 0; i < g->stages.n; i++) {
        const Uses *u = &w->f->m->uses[g->stages.at[i]->out->id];
        for (int j = 0; j < u->n; j++) {
            const Value *v = u->at[j]->out;
            Group *r = w->f->group_of[v->id];
            if (!r || r == w->from || w->f->position[v->id] > w->last)
                continue; /* a definition that is not reached yet has no group */
            if (r == w->to && g != w->from)
                return true;
            if (r == w->to || r->stamp == w->stamp)
                continue;
            r->stamp = w->stamp;
            VEC_PUSH(w->f->m->cx, &w->todo, r);
        }
    }
    return false;
}

static int last_position(const Fuse *f, const Group *g)
{
    return f->position[g->stages.at[g->stages.n - 1]->out->id];
}

/* A merge of a and b makes a cycle when a path leads from one through some other group to the
 * other. */
static bool makes_cycle(Fuse *f, Group *a, Group *b)
{
    for (int way = 0; way < 2; way++) {
        Walk w = {.f = f, .from = way ? b : a, .to = way ? a : b, .stamp = ++f->m->stamp};
        w.last = MAX(last_position(f, a), last_position(f, b));
        if (step(&w, w.from))
            return true;
        while (w.todo.n)
            if (step(&w, w.todo.at[--w.todo.n]))
                return true;
    }
    return false;
}

/* ---- merging -----------------------------------------------------------------------------------
 */

static int contractions(Module *m, const Group *g)
{
    Roles r;
    int n = 0;
    for (int i = 0; i < g->stages.n; i++)
        n += contraction_roles(m->graph->pool, g->stages.at[i], &r);
    return n;
}

static int merged_stages(Fuse *f, const Group *a, const Group *b, Def **out)
{
    int i = 0, j = 0, n = 0;
    while (i < a->stages.n || j < b->stages.n) {
        bool left = j >= b->stages.n ||
            (i < a->stages.n &&
                f->position[a->stages.at[i]->out->id] < f->position[b->stages.at[j]->out->id]);
        out[n++] = left ? a->stages.at[i++] : b->stages.at[j++];
    }
    return n;
}

/* Is the stage an operand of a contraction of the group? Those stay apart: rows of A are read many
 * times. */
static bool feeds_contraction(Module *m, Def *const *stage, int n)
{
    for (int i = 0; i < n; i++) {
        Roles r;
        if (!contraction_roles(m->graph->pool, stage[i], &r))
            continue;
        for (int j = 0; j < i; j++)
            if (r.a->value == stage[j]->out || r.b->value == stage[j]->out)
                return true;
    }
    return false;
}

static bool one_node(Def *const *stage, int n)
{
    for (int i = 1; i < n; i++)
        if (stage[i]->out->origin != stage[0]->out->origin)
            return false;
    return true;
}

static void try_merge(Fuse *f, Group *a, Group *b)
{
    Module *m = f->m;
    if (a == b || contractions(m, a) + contractions(m, b) > 1)
        return;
    Def **stage = NEW_N(m->cx, Def *, a->stages.n + b->stages.n);
    int n = merged_stages(f, a, b, stage);
    Tiling t;
    if ((m->opt.fuse == 0 && !one_node(stage, n)) || feeds_contraction(m, stage, n) ||
        makes_cycle(f, a, b) || !group_tiling(m, stage, n, &t))
        return;
    a->stages.n = 0;
    for (int i = 0; i < n; i++) {
        VEC_PUSH(m->cx, &a->stages, stage[i]);
        f->group_of[stage[i]->out->id] = a;
    }
    b->stages.n = 0;
}

static int64_t value_bytes(const Value *v)
{
    int64_t n = dtype_bytes(v->type);
    for (int k = 0; k < v->rank; k++)
        n *= MAX(1, ix_hint(v->dim[k]));
    return n;
}

static void join_operands(Fuse *f, Def *d)
{
    Operands o = {.f = f};
    ex_visit_loads(f->m->cx, d->body, note_operand, &o);
    while (o.values.n) { /* the largest first; of equals the latest: it is the longer path */
        int best = 0;
        for (int i = 1; i < o.values.n; i++) {
            int64_t x = value_bytes(o.values.at[i]), y = value_bytes(o.values.at[best]);
            bool later = f->position[o.values.at[i]->id] > f->position[o.values.at[best]->id];
            if (x > y || (x == y && later))
                best = i;
        }
        try_merge(f, f->group_of[o.values.at[best]->id], f->group_of[d->out->id]);
        o.values.at[best] = o.values.at[--o.values.n];
    }
}

/* ---- order -------------------------------------------------------------------------------------
 */

static void visit(Fuse *f, Group *g, int stamp);

static void visit_operand(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Fuse *f = user;
    Group *g = f->group_of[load->value->id];
    if (g && g->stamp != f->m->stamp)
        visit(f, g, f->m->stamp);
}

/* Depth first: a group comes after all that it reads. */
static void visit(Fuse *f, Group *g, int stamp)
{
    g->stamp = stamp;
    for (int i = 0; i < g->stages.n; i++)
        ex_visit_loads(f->m->cx, g->stages.at[i]->body, visit_operand, f);
    g->id = f->m->groups.n;
    VEC_PUSH(f->m->cx, &f->m->groups, g);
}

static void note_read(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Operands *o = user;
    Fuse *f = o->f;
    Group *from = f->group_of[load->value->id];
    if (from && from != f->reader)
        f->m->home[load->value->id] = from;
}

/* home[v] = the group that writes v to a buffer, for values read elsewhere and outputs. */
static void find_materialised(Fuse *f)
{
    Module *m = f->m;
    m->home = NEW_N(m->cx, Group *, m->graph->values.n);
    for (int i = 0; i < m->groups.n; i++) {
        Group *g = m->groups.at[i];
        f->reader = g;
        for (int j = 0; j < g->stages.n; j++) {
            const Def *d = g->stages.at[j];
            Operands o = {.f = f};
            ex_visit_loads(m->cx, d->body, note_read, &o);
            if (d->out->is_output || d->out->keep)
                m->home[d->out->id] = g;
        }
    }
}

void pass_fuse(Module *m)
{
    Fuse f = {m, NEW_N(m->cx, Group *, m->graph->values.n), NEW_N(m->cx, int, m->graph->values.n),
        NULL};
    find_uses(m);
    Group **group = NEW_N(m->cx, Group *, m->defs.n);
    for (int i = 0; i < m->defs.n; i++) {
        Value *v = m->defs.at[i]->out;
        Group *g = group[i] = f.group_of[v->id] = NEW(m->cx, Group);
        f.position[v->id] = i;
        VEC_PUSH(m->cx, &g->stages, m->defs.at[i]);
        if (m->opt.level > 1 || m->opt.fuse == 0)
            join_operands(&f, m->defs.at[i]);
    }
    m->stamp++;
    for (int i = 0; i < m->defs.n; i++)
        if (group[i]->stages.n && group[i]->stamp != m->stamp)
            visit(&f, group[i], m->stamp);
    find_materialised(&f);
}
