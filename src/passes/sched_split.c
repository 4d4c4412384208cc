/* sched_split.c: index-set splitting. A map that selects by a condition on one of its axes
 * (concatenation, padding, rotation of halves) becomes two maps over the parts of the axis where
 * the condition is false and true: neither tests anything, and the index forms of each are plain.
 */
#include "graph/pool.h"
#include "passes/sched.h"

enum { MAX_DEPTH = 6 };

typedef struct Cut {
    const Expr *cond;
    int axis;
    const Ix *at; /* the condition changes here */
    bool true_below;
} Cut;

/* The condition x < y as  coef*v + rest >= 0  for one axis variable v, nothing else of the stage in
 * rest. */
static bool cut_of(Sched *s, const Def *d, const Expr *e, Cut *cut)
{
    Pool *p = s->p;
    if (e->kind != EX_PRIM || e->prim != P_lt || !ex_depends_on_ix_only(e))
        return false;
    for (int i = 0; i < 2; i++)
        if (e->arg[i]->kind != EX_IX && (e->arg[i]->kind != EX_CONST || e->arg[i]->type != DT_I64))
            return false;
    const Ix *x = ix_of_expr(p, e->arg[0], -IX_INF, IX_INF),
             *y = ix_of_expr(p, e->arg[1], -IX_INF, IX_INF);
    const Ix *form = ix_addi(p, ix_sub(p, y, x), -1), *rest;
    for (int k = 0; k < d->n_axes; k++) {
        const Ix *coef = ix_uses_var(form, d->axis[k]) ? ix_coef(p, form, d->axis[k], &rest) : NULL;
        if (!coef || !ix_is_const(coef) || coef->c == 0)
            continue;
        bool alone = true;
        for (int j = 0; j < d->n_axes; j++)
            alone &= !ix_uses_var(rest, d->axis[j]);
        if (!alone)
            continue;
        cut->cond = e;
        cut->axis = k;
        cut->true_below = coef->c < 0;
        cut->at = coef->c > 0 ? ix_ceil_div(p, ix_muli(p, rest, -1), coef)
                              : ix_addi(p, ix_div(p, rest, ix_int(p, -coef->c)), 1);
        return true;
    }
    return false;
}

static bool find_cut(Sched *s, const Def *d, const Expr *e, Cut *cut)
{
    if (cut_of(s, d, e, cut))
        return true;
    for (int i = 0; i < e->n && e->kind == EX_PRIM; i++)
        if (find_cut(s, d, e->arg[i], cut))
            return true;
    return false;
}

/* The expression with `cond` replaced by a constant; what is then never chosen disappears. */
static const Expr *decide(Sched *s, const Expr *e, const Expr *cond, bool value)
{
    Pool *p = s->p;
    const Expr *a[3] = {NULL, NULL, NULL};
    if (e == cond)
        return ex_bool(p, value);
    if (e->kind != EX_PRIM)
        return e;
    for (int i = 0; i < e->n; i++)
        a[i] = decide(s, e->arg[i], cond, value);
    return e->prim == P_cast ? ex_cast(p, e->type, a[0]) : ex_prim(p, e->prim, a[0], a[1], a[2]);
}

/* The part of the stage below or from the cut on, as a stage of its own with a smaller box. */
static void schedule_part(Sched *s, Stmts *into, int stage, const Cut *cut, bool below)
{
    Pool *p = s->p;
    Def *whole = s->g->stages.at[stage], part = *whole;
    Region box = s->region[stage];
    Span *sp = &s->region[stage].span[cut->axis];
    const Ix *end = ix_add(p, sp->lo, sp->ext);
    const Ix *mid = ix_min(p, ix_max(p, cut->at, sp->lo), end);
    const Ix *lo = below ? sp->lo : mid,
             *ext = below ? ix_sub(p, mid, sp->lo) : ix_sub(p, end, mid);
    if (ix_is(ext, 0))
        return;
    if (!ix_nonneg(p, ext))
        ext = ix_max(p, ext, ix_int(p, 0));
    int was_end = s->end;
    part.body = decide(s, whole->body, cut->cond, below == cut->true_below);
    sched_place(s, whole->out, true);
    *sp = (Span){lo, ext, sp->cap, false};
    s->g->stages.at[stage] = &part;
    s->end = stage + 1;
    s->depth++;
    if (!sched_vector(s, into, stage))
        sched_scalar(s, into, stage);
    s->depth--;
    s->end = was_end;
    s->g->stages.at[stage] = whole;
    s->region[stage] = box;
}

/* Distinct operations; a select tree over hundreds of parts is left to scalar code. */
enum { MOST_OPERATIONS = 400 };

int sched_split(Sched *s, Stmts *into, int stage)
{
    const Def *d = s->g->stages.at[stage];
    Cut cut;
    if (d->red != RED_NONE || ex_cost(s->cx, d->body) > MOST_OPERATIONS || s->depth == MAX_DEPTH ||
        !find_cut(s, d, d->body, &cut))
        return 0;
    sched_place(s, d->out, true); /* while its box is whole: scratch is laid out by it */
    schedule_part(s, into, stage, &cut, true);
    schedule_part(s, into, stage, &cut, false);
    return 1;
}
