/* fuse.c: the pass fuse: which stages one kernel computes. */
#include "passes/sched.h"

typedef struct Reads {
    Module *m;
    Group *reader;
    Group **group_of; /* by value id */
} Reads;

static void note_read(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Reads *r = user;
    Group *from = r->group_of[load->value->id];
    if (from && from != r->reader)
        r->m->home[load->value->id] = from;
}

/* home[v] = the group that writes v to a buffer, for values read elsewhere and outputs. */
static void find_materialised(Module *m, Group **group_of)
{
    m->home = NEW_N(m->cx, Group *, m->graph->values.n);
    for (int i = 0; i < m->groups.n; i++) {
        Group *g = m->groups.at[i];
        for (int j = 0; j < g->stages.n; j++) {
            const Def *d = g->stages.at[j];
            Reads r = {m, g, group_of};
            ex_visit_loads(m->cx, d->body, note_read, &r);
            if (d->out->is_output || d->out->keep)
                m->home[d->out->id] = g;
        }
    }
}

void choose_tiling(Module *m, Group *g, Tiling *t)
{
    (void)m;
    (void)g;
    t->n = 0;
}

void pass_fuse(Module *m)
{
    Group **group_of = NEW_N(m->cx, Group *, m->graph->values.n);
    for (int i = 0; i < m->defs.n; i++) {
        Group *g = NEW(m->cx, Group);
        g->id = m->groups.n;
        VEC_PUSH(m->cx, &g->stages, m->defs.at[i]);
        group_of[m->defs.at[i]->out->id] = g;
        VEC_PUSH(m->cx, &m->groups, g);
    }
    find_materialised(m, group_of);
}
