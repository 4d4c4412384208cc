/* sched_vector.c: runs of stages as vector bodies; reductions over outer axes as passes over an
 * accumulator row. */
#include "passes/nest.h"

/* The frame of the widest stage of the run that begins here: narrower ones (one value per row) join
 * it. */
static bool widest_frame(Sched *s, int first, Frame *best)
{
    bool found = false;
    for (int i = first; i < s->end; i++) {
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
    while (i < s->end && nest_add(nest, i))
        i++;
    return i - first;
}

/* A stage that only moves elements, between memory that is contiguous along different axes. */
static int sched_transpose(Sched *s, Stmts *into, int stage)
{
    Pool *p = s->p;
    const Def *d = s->g->stages.at[stage];
    const Region *r = &s->region[stage];
    if (d->red != RED_NONE || d->body->kind != EX_LOAD || d->body->type != d->out->type ||
        ex_reads_data(d->body))
        return 0;
    const Place from = *sched_place(s, d->body->value, false), to = *sched_place(s, d->out, true);
    const Ix *off = place_offset(p, &from, d->body->n, d->body->idx), *rest;
    int lane = -1, row = -1;
    for (int i = 0; i < d->n_axes; i++) {
        int k = d->out->order[i];
        if (ix_is(r->span[k].ext, 1))
            continue;
        const Ix *coef = ix_coef(p, off, d->axis[k], &rest);
        if (coef && ix_is(coef, 1))
            row = k;
        if (coef && ix_is(to.stride[k], 1))
            lane = k;
    }
    if (lane < 0 || row < 0 || lane == row)
        return 0;
    Stmt *t = stmt_new(s->cx, S_TRANSPOSE);
    Subst subst;
    subst_init(&subst, p);
    for (int i = 0; i < d->n_axes; i++) {
        int k = d->out->order[i];
        const Span *sp = &r->span[k];
        t->idx[k] = sp->lo;
        if (k != lane && k != row && !ix_is(sp->ext, 1)) {
            Stmt *loop = stmt_new(s->cx, S_FOR);
            loop->var = ix_var_new(p, sp->ext, d->axis[k]->name);
            t->idx[k] = ix_add(p, sp->lo, ix_of_var(p, loop->var));
            VEC_PUSH(s->cx, into, loop);
            into = &loop->body;
        }
        subst_var(&subst, d->axis[k], t->idx[k]);
    }
    t->value = d->out;
    t->rows = r->span[row].ext;
    t->lanes = r->span[lane].ext;
    t->row_stride = to.stride[row];
    t->lane_stride = ix_coef(p, off, d->axis[lane], &rest);
    t->n_ports = 1;
    t->port = NEW(s->cx, PortRef);
    t->port->value = d->body->value;
    for (int i = 0; i < d->body->n; i++)
        t->port->idx[i] = ix_subst(&subst, d->body->idx[i]);
    VEC_PUSH(s->cx, into, t);
    return 1;
}

int sched_vector(Sched *s, Stmts *into, int stage)
{
    if (!s->m->nest)
        s->m->nest = NEW(s->cx, Nest);
    Nest *nest = s->m->nest;
    Frame f;
    int n = 0;
    if (widest_frame(s, stage, &f))
        n = fill_nest(nest, s, stage, &f);
    if (!n && stage_frame(s, stage, &f))
        n = fill_nest(nest, s, stage, &f);
    if (n)
        nest_emit(nest, into);
    else
        n = sched_depthwise(s, into, stage) ? 1 : sched_passes(s, into, stage);
    if (!n)
        n = sched_transpose(s, into, stage);
    if (!n)
        n = sched_split(s, into, stage);
    return n;
}
