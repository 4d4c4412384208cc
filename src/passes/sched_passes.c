/* sched_passes.c: reductions over outer axes: out[row][lane] starts as the identity, then for each
 * point of the reduction one pass  out = red(out, body)  over the rows for which the body counts.
 * Conditions that make the body the identity elsewhere (padding) become bounds of the rows, or
 * tests around the pass. */
#include "passes/nest.h"
#include "graph/pool.h"

typedef struct Passes {
    Sched *s;
    const Def *d;
    const Expr *body;     /* in the new variables, without its guard */
    const Expr *cond[16]; /* the guard's parts */
    int n_cond;
    const Ix *at[MAX_RANK];
    const Var *axis[MAX_RANK], *row, *lane;
    int n_axis;
} Passes;

static bool split_guard(Passes *q, const Expr *c)
{
    if (c->kind == EX_PRIM && c->prim == P_and && c->type == DT_BOOL)
        return split_guard(q, c->arg[0]) && split_guard(q, c->arg[1]);
    if (q->n_cond == NELEM(q->cond) || !ex_depends_on_ix_only(c) ||
        (q->lane && ex_uses_var(c, q->lane)))
        return false;
    q->cond[q->n_cond++] = c;
    return true;
}

/* Takes the guard off a body that is the reduction's identity where it is false. A product with a
 * guarded factor counts: 0 times a weight adds nothing. */
static bool take_guard(Passes *q)
{
    Pool *p = q->s->p;
    const Expr *e = q->body;
    if (e->kind == EX_PRIM && e->prim == P_select &&
        e->arg[2] == ex_identity(p, q->d->red, q->d->acc)) {
        q->body = e->arg[1];
        return split_guard(q, e->arg[0]);
    }
    if (q->d->red != RED_SUM || e->kind != EX_PRIM || e->prim != P_mul)
        return true;
    for (int i = 0; i < 2; i++) {
        const Expr *f = e->arg[i];
        if (f->kind == EX_PRIM && f->prim == P_select && f->arg[2] == ex_f(p, f->type, 0)) {
            q->body = ex2(p, mul, f->arg[1], e->arg[1 - i]);
            return split_guard(q, f->arg[0]);
        }
    }
    return true;
}

/* Restricts [lo, hi) of the row variable by a condition x < y that is linear in it. */
static bool clip_rows(Passes *q, const Expr *c, const Ix **lo, const Ix **hi)
{
    Pool *p = q->s->p;
    if (c->kind != EX_PRIM || c->prim != P_lt)
        return false;
    const Ix *x = ix_of_expr(p, c->arg[0], -IX_INF, IX_INF),
             *y = ix_of_expr(p, c->arg[1], -IX_INF, IX_INF);
    const Ix *rest,
        *coef =
            ix_coef(p, ix_addi(p, ix_sub(p, y, x), -1), q->row, &rest); /* coef*row + rest >= 0 */
    if (!coef || !ix_is_const(coef) || coef->c == 0)
        return false;
    if (coef->c > 0)
        *lo = ix_max(p, *lo, ix_ceil_div(p, ix_muli(p, rest, -1), coef));
    else
        *hi = ix_min(p, *hi, ix_addi(p, ix_div(p, rest, ix_int(p, -coef->c)), 1));
    return true;
}

static Stmts *loop_over(Sched *s, Stmts *into, const Var *v)
{
    if (!v || ix_is(v->extent, 1))
        return into;
    Stmt *loop = stmt_new(s->cx, S_FOR);
    loop->var = v;
    VEC_PUSH(s->cx, into, loop);
    return &loop->body;
}

/* Row and lane variables over the stage's box; the rest are loops. */
static void variables(Passes *q, const Region *r, Subst *subst)
{
    Sched *s = q->s;
    subst_init(subst, s->p);
    for (int i = 0; i < q->d->n_axes; i++) {
        int k = q->d->out->order[i];
        const Span *sp = &r->span[k];
        const Var *v = ix_var_new(s->p, sp->ext, q->d->axis[k]->name);
        q->at[k] = ix_add(s->p, sp->lo, ix_of_var(s->p, v));
        subst_var(subst, q->d->axis[k], q->at[k]);
        if (!ix_is(sp->ext, 1))
            q->axis[q->n_axis++] = v;
    }
    q->lane = q->n_axis ? q->axis[--q->n_axis] : NULL;
    q->row = q->n_axis ? q->axis[q->n_axis - 1] : NULL;
}

/* Without a lane axis the pass is row code. */
static void open_lanes(const Passes *q, Translate *t)
{
    if (q->lane)
        body_loop(t->body);
    t->in_loop = q->lane != NULL;
}

static void close_lanes(const Passes *q, Translate *t)
{
    if (q->lane)
        body_end(t->body);
}

static void fill_identity(Passes *q, Stmts *into)
{
    Sched *s = q->s;
    Translate t;
    translate_init(&t, s, q->row, q->lane, NULL);
    const Expr *id = ex_identity(s->p, q->d->red, q->d->acc);
    int v = translate(&t, id);
    open_lanes(q, &t);
    body_store(t.body, translate_port(&t, q->d->out, q->at, true, q->lane != NULL), v);
    close_lanes(q, &t);
    translate_finish(&t, q->row ? q->row->extent : ix_int(s->p, 1),
        q->lane ? q->lane->extent : ix_int(s->p, 1));
    VEC_PUSH(s->cx, into, t.stmt);
}

static void one_pass(Passes *q, Stmts *into, const Var *row, const Expr *body, const Ix *const *at)
{
    Sched *s = q->s;
    Translate t;
    translate_init(&t, s, row, q->lane, NULL);
    bool lanes = q->lane != NULL;
    int in = translate_port(&t, q->d->out, at, false, lanes),
        out = translate_port(&t, q->d->out, at, true, lanes);
    open_lanes(q, &t);
    int v = translate(&t, body), acc = body_load(t.body, in);
    body_store(t.body, out,
        body_prim(t.body, red_prim(q->d->red), lane_type(q->d->acc), acc, v, -1));
    close_lanes(q, &t);
    translate_finish(&t, row ? row->extent : ix_int(s->p, 1),
        q->lane ? q->lane->extent : ix_int(s->p, 1));
    VEC_PUSH(s->cx, into, t.stmt);
}

/* The pass inside the reduction's loops, with its guard as row bounds and tests. */
static void guarded_pass(Passes *q, Stmts *into)
{
    Sched *s = q->s;
    Pool *p = s->p;
    const Ix *lo = ix_int(p, 0), *hi = q->row ? q->row->extent : NULL;
    for (int i = 0; i < q->n_cond; i++) {
        if (q->row && ex_uses_var(q->cond[i], q->row) && clip_rows(q, q->cond[i], &lo, &hi))
            continue;
        Stmt *test = stmt_new(s->cx, S_IF);
        test->expr = q->cond[i];
        VEC_PUSH(s->cx, into, test);
        into = &test->body;
    }
    if (!q->row) {
        one_pass(q, into, NULL, q->body, q->at);
        return;
    }
    const Var *row = ix_var_new(p, ix_max(p, ix_sub(p, hi, lo), ix_int(p, 0)), "r");
    Subst move;
    subst_init(&move, p);
    subst_var(&move, q->row, ix_add(p, lo, ix_of_atom(p, row->atom)));
    const Ix *at[MAX_RANK];
    for (int k = 0; k < q->d->n_axes; k++)
        at[k] = ix_subst(&move, q->at[k]);
    one_pass(q, into, row, ex_subst(&move, q->body), at);
}

int sched_passes(Sched *s, Stmts *into, int stage)
{
    Passes q = {.s = s, .d = s->g->stages.at[stage]};
    Subst subst;
    if (q.d->red == RED_NONE || q.d->acc != q.d->out->type || lane_type(q.d->acc) != q.d->acc)
        return 0;
    variables(&q, &s->region[stage], &subst);
    const Var *red[MAX_RANK];
    for (int i = 0; i < q.d->n_red; i++) {
        red[i] = ix_var_new(s->p, q.d->red_axis[i]->extent, "r");
        subst_var(&subst, q.d->red_axis[i], ix_of_var(s->p, red[i]));
    }
    q.body = ex_subst(&subst, q.d->body);
    if (!take_guard(&q))
        return 0;
    Vectorizable v = {.s = s, .row = q.row, .lane = q.lane};
    if (!vector_ok(&v, q.body))
        return 0;
    for (int i = 0; i < q.n_cond && !v.rows_outside && q.row; i++) {
        const Ix *lo = ix_int(s->p, 0), *hi = q.row->extent;
        if (ex_uses_var(q.cond[i], q.row) && !clip_rows(&q, q.cond[i], &lo, &hi))
            v.rows_outside = true; /* then it is a test */
    }
    for (int i = 0; i < q.n_axis - !v.rows_outside; i++)
        into = loop_over(s, into, q.axis[i]);
    if (v.rows_outside)
        q.row = NULL;
    fill_identity(&q, into);
    for (int i = 0; i < q.d->n_red; i++)
        into = loop_over(s, into, red[i]);
    guarded_pass(&q, into);
    return 1;
}
