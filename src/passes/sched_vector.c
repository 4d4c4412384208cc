/* sched_vector.c: runs of stages as vector bodies; reductions over outer axes as passes over an accumulator row. */
#include "passes/nest.h"

/* The frame of the widest stage of the run that begins here: narrower ones (one value per row) join it. */
static bool widest_frame(Sched *s, int first, Frame *best)
{
    bool found = false;
    for (int i = first; i < s->g->stages.n; i++) {
        Frame f;
        Roles r;
        if (contraction_roles(s->p, s->g->stages.at[i], &r) || !stage_frame(s, i, &f))
            break;
        if (!found || f.n > best->n)
            *best = f;
        found = true;
    }
    return found;
}

/* As many stages from `first` on as the frame takes. */
static int fill_nest(Nest *nest, Sched *s, int first, const Frame *f)
{
    nest_init(nest, s, f);
    int i = first;
    while (i < s->g->stages.n && nest_add(nest, i))
        i++;
    return i - first;
}

int sched_vector(Sched *s, Stmts *into, int stage)
{
    Nest *nest = NEW(s->cx, Nest);
    Frame f;
    int n = 0;
    if (widest_frame(s, stage, &f))
        n = fill_nest(nest, s, stage, &f);
    if (!n && stage_frame(s, stage, &f))
        n = fill_nest(nest, s, stage, &f);
    if (n)
        nest_emit(nest, into);
    else
        n = sched_passes(s, into, stage);
    return n;
}
