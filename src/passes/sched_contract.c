/* sched_contract.c: contractions: which variables are rows, columns, taps and k for the
 * microkernel, and the packing of constant operands. */
#include "codegen/contract.h"
#include "passes/sched.h"

typedef struct Shape {
    Sched *s;
    const Def *d;
    const Region *r;
    Roles roles;
    Contract *c;
    int n_axis;             /* the column axis, or -1: a single column */
    const Ix *at[MAX_RANK]; /* index forms of the axes in the new variables */
    Subst subst;
} Shape;

/* The reduction variable along which A's memory is contiguous; the longest if several. */
static bool choose_k(Shape *h)
{
    Pool *p = h->s->p;
    const Place *a = kernel_place(h->s->k, h->roles.a->value);
    const Ix *off = place_offset(p, a, h->roles.a->n, h->roles.a->idx);
    int best = -1;
    for (int k = 0; k < h->d->n_red; k++) {
        const Var *v = h->d->red_axis[k];
        const Ix *rest, *coef = ix_coef(p, off, v, &rest);
        bool unit = (coef && ix_is(coef, 1)) || ix_is(v->extent, 1);
        if (!unit || (h->roles.guard && ex_uses_var(h->roles.guard, v)))
            continue;
        if (best < 0 || ix_hint(v->extent) > ix_hint(h->d->red_axis[best]->extent))
            best = k;
    }
    for (int k = 0; k < h->d->n_red && best >= 0; k++)
        if (k == best)
            h->c->k = h->d->red_axis[k];
        else
            h->c->tap[h->c->n_tap++] = h->d->red_axis[k];
    return best >= 0;
}

/* The N axis that is contiguous in memory. */
static void choose_column(Shape *h, const Place *out)
{
    h->n_axis = -1;
    for (int k = 0; k < h->d->n_axes; k++)
        if (h->roles.role[k] == ROLE_N && !ix_is(h->d->axis[k]->extent, 1) &&
            ix_is(out->stride[k], 1))
            h->n_axis = k;
}

/* M axes, innermost first, as long as rows stay equally far apart in memory. */
static int collapse_rows(Shape *h, const Place *out, bool *is_row)
{
    Pool *p = h->s->p;
    int inner = -1, n = 0;
    for (int i = h->d->n_axes - 1; i >= 0; i--) {
        int k = h->d->out->order[i];
        if (h->roles.role[k] != ROLE_M || ix_is(h->r->span[k].ext, 1))
            continue;
        if (inner >= 0 && out->stride[k] != ix_mul(p, out->stride[inner], h->r->span[inner].ext))
            break;
        if (inner < 0)
            h->c->ldc = out->stride[k];
        is_row[k] = true;
        inner = k;
        n++;
    }
    return n;
}

/* Loops over what is neither row nor column; variables for all. */
static Stmts *make_loops(Shape *h, Stmts *into, const bool *is_row)
{
    Sched *s = h->s;
    subst_init(&h->subst, s->p);
    for (int i = 0; i < h->d->n_axes; i++) {
        int k = h->d->out->order[i];
        const Span *sp = &h->r->span[k];
        const Var *local = ix_var_new(s->p, sp->ext, h->d->axis[k]->name);
        h->at[k] = ix_add(s->p, sp->lo, ix_of_var(s->p, local));
        subst_var(&h->subst, h->d->axis[k], h->at[k]);
        if (k == h->n_axis)
            h->c->n = local;
        else if (is_row[k])
            h->c->m[h->c->n_m++] = local;
        else if (!ix_is(sp->ext, 1)) {
            Stmt *loop = stmt_new(s->cx, S_FOR);
            loop->var = local;
            VEC_PUSH(s->cx, into, loop);
            into = &loop->body;
        }
    }
    if (!h->c->n)
        h->c->n = ix_var_new(s->p, ix_int(s->p, 1), "n");
    return into;
}

static const Ix *at_zero(Pool *p, const Ix *a, int n, const Var *const *v)
{
    Subst z;
    subst_init(&z, p);
    for (int i = 0; i < n; i++)
        subst_var(&z, v[i], ix_int(p, 0));
    return ix_subst(&z, a);
}

/* ---- constant B --------------------------------------------------------------------------------
 */

/* off = base + sum over v of stride[v] * v, all numbers; false if it is not of that form. */
static bool linear(Pool *p, const Ix *off, int n, const Var *const *v, int64_t *stride,
    int64_t *base)
{
    for (int i = 0; i < n; i++) {
        const Ix *rest, *coef = ix_coef(p, off, v[i], &rest);
        if (ix_is(v[i]->extent, 1) || !ix_uses_var(off, v[i]))
            stride[i] = 0;
        else if (coef && ix_is_const(coef))
            stride[i] = coef->c;
        else
            return false;
        off = coef ? rest : off;
    }
    *base = off->c;
    return ix_is_const(off);
}

typedef struct Pack {
    int64_t outer[MAX_RANK], outer_stride[MAX_RANK], tap[MAX_RANK], tap_stride[MAX_RANK];
    int n_outer, n_tap;
    int64_t n, sn, k, sk, nr;
} Pack;

static float element(const float *b)
{
    float x; /* weights may lie unaligned in the model's file */
    memcpy(&x, b, sizeof x);
    return x;
}

/* k rows of nr columns: copied whole where columns are neighbours, else by blocks that stay in the
 * cache. */
static void pack_tap(const Pack *q, const float *b, int64_t cols, float *to)
{
    enum { BLOCK = 16 };
    for (int64_t k = 0; k < q->k && cols < q->nr; k++)
        memset(to + k * q->nr + cols, 0, (size_t)(q->nr - cols) * sizeof *to);
    if (q->sn == 1) {
        for (int64_t k = 0; k < q->k; k++)
            memcpy(to + k * q->nr, b + k * q->sk, (size_t)cols * sizeof *to);
        return;
    }
    for (int64_t k0 = 0; k0 < q->k; k0 += BLOCK)
        for (int64_t j = 0; j < cols; j++)
            for (int64_t k = k0; k < MIN(k0 + BLOCK, q->k); k++)
                to[k * q->nr + j] = element(b + k * q->sk + j * q->sn);
}

/* One panel: taps x k rows of nr columns from column n0. */
static float *pack_panel(const Pack *q, const float *b, int64_t n0, float *to)
{
    int64_t taps = 1;
    for (int i = 0; i < q->n_tap; i++)
        taps *= q->tap[i];
    int64_t cols = MIN(q->nr, q->n - n0);
    for (int64_t t = 0; t < taps; t++) {
        int64_t off = n0 * q->sn;
        for (int64_t rest = t, i = q->n_tap - 1; i >= 0; rest /= q->tap[i], i--)
            off += rest % q->tap[i] * q->tap_stride[i];
        pack_tap(q, b + off, cols, to);
        to += q->k * q->nr;
    }
    return to;
}

static const Value *pack_constant(Shape *h, const Pack *q, int64_t base)
{
    Sched *s = h->s;
    int64_t outer = 1, rows = q->k, panels = (q->n + q->nr - 1) / q->nr;
    for (int i = 0; i < q->n_outer; i++)
        outer *= q->outer[i];
    for (int i = 0; i < q->n_tap; i++)
        rows *= q->tap[i];
    int64_t dim[1] = {outer * panels * rows * q->nr};
    Value *v = graph_constant(s->m->graph, "", tensor_new_raw(s->cx, DT_F32, 1, dim));
    v->origin = h->d->out->origin;
    float *to = v->data->data;
    for (int64_t o = 0; o < outer; o++) {
        int64_t off = base;
        for (int64_t rest = o, i = q->n_outer - 1; i >= 0; rest /= q->outer[i], i--)
            off += rest % q->outer[i] * q->outer_stride[i];
        for (int64_t p = 0; p < panels; p++)
            to = pack_panel(q, (const float *)h->roles.b->value->data->data + off, p * q->nr, to);
    }
    return v;
}

/* Constant B over its whole axes: [outer][panel][tap][k][nr]; outer are the axes that are loops
 * here. */
static bool bind_constant(Shape *h)
{
    Pool *p = h->s->p;
    const Expr *b = h->roles.b;
    const Var *v[3 * MAX_RANK];
    int64_t stride[3 * MAX_RANK], base;
    int n = 0;
    Pack q = {.nr = h->c->nr, .n = 1};
    const Ix *flat = ix_int(p, 0), *off = ix_int(p, 0), *step = ix_int(p, 1);
    for (int k = 0; k < h->d->n_axes; k++) {
        bool outer =
            k != h->n_axis && h->roles.role[k] != ROLE_M && !ix_is(h->d->axis[k]->extent, 1);
        if (!outer)
            continue;
        if (!ix_is_const(h->d->axis[k]->extent))
            return false;
        q.outer[q.n_outer++] = h->d->axis[k]->extent->c;
        flat = ix_add(p, ix_mul(p, flat, h->d->axis[k]->extent), h->at[k]);
        v[n++] = h->d->axis[k];
    }
    for (int i = 0; i < h->c->n_tap; i++) {
        if (!ix_is_const(h->c->tap[i]->extent))
            return false;
        q.tap[q.n_tap++] = h->c->tap[i]->extent->c;
        v[n++] = h->c->tap[i];
    }
    v[n++] = h->c->k;
    if (h->n_axis >= 0)
        v[n++] = h->d->axis[h->n_axis];
    for (int i = b->n - 1; i >= 0; i--) {
        off = ix_add(p, off, ix_mul(p, b->idx[i], step));
        step = ix_mul(p, step, b->value->dim[i]);
    }
    if (!linear(p, off, n, v, stride, &base) || !ix_is_const(h->c->k->extent))
        return false;
    memcpy(q.outer_stride, stride, sizeof q.outer_stride);
    memcpy(q.tap_stride, stride + q.n_outer, sizeof q.tap_stride);
    q.k = h->c->k->extent->c;
    q.sk = stride[q.n_outer + q.n_tap];
    if (h->n_axis >= 0) {
        if (!ix_is_const(h->d->axis[h->n_axis]->extent))
            return false;
        q.n = h->d->axis[h->n_axis]->extent->c;
        q.sn = stride[n - 1];
    }
    const Ix *nr = ix_int(p, q.nr),
             *first = h->n_axis >= 0 ? h->r->span[h->n_axis].lo : ix_int(p, 0);
    if (!ix_is(ix_mod(p, first, nr), 0))
        return false;
    const Ix *panels = ix_int(p, (q.n + q.nr - 1) / q.nr);
    h->c->panel = ix_add(p, ix_mul(p, flat, panels), ix_div(p, first, nr));
    h->c->packed = pack_constant(h, &q, base);
    sched_place(h->s, h->c->packed, false);
    return true;
}

/* ---- dynamic B ---------------------------------------------------------------------------------
 */

/* B is packed by the kernel for each tile: it must be a matrix in k and n. */
static bool bind_dynamic(Shape *h)
{
    Sched *s = h->s;
    Pool *p = s->p;
    Contract *c = h->c;
    const Expr *b = h->roles.b;
    const Ix *idx[MAX_RANK], *rest;
    if (c->n_tap)
        return false;
    const Place *pl = sched_place(s, b->value, false);
    for (int i = 0; i < b->n; i++)
        idx[i] = ix_subst(&h->subst, b->idx[i]);
    const Ix *off = place_offset(p, pl, b->n, idx);
    c->sk = ix_uses_var(off, c->k) ? ix_coef(p, off, c->k, &rest) : ix_int(p, 0);
    c->sn = ix_uses_var(off, c->n) ? ix_coef(p, off, c->n, &rest) : ix_int(p, 0);
    if (!c->sk || !c->sn)
        return false;
    const Var *zero[2] = {c->k, c->n};
    for (int i = 0; i < b->n; i++)
        c->b_idx[i] = at_zero(p, idx[i], 2, zero);
    const Ix *cap = h->n_axis >= 0 ? h->r->span[h->n_axis].cap : ix_int(p, 1);
    const Ix *cols = ix_muli(p, ix_ceil_div(p, cap, ix_int(p, c->nr)), c->nr);
    c->pack_offset = sched_scratch(s, ix_muli(p, ix_mul(p, cols, c->k->extent), 4));
    return true;
}

/* `row`: elements that a row of A has at most; as many zeros stand in for rows outside. */
static void bind_rows(Shape *h, const Ix *row)
{
    Sched *s = h->s;
    Contract *c = h->c;
    c->taps = c->rows = ix_int(s->p, 1);
    for (int i = 0; i < c->n_tap; i++)
        c->taps = ix_mul(s->p, c->taps, c->tap[i]->extent);
    for (int i = 0; i < c->n_m; i++)
        c->rows = ix_mul(s->p, c->rows, c->m[i]->extent);
    for (int i = 0; i < h->d->n_axes; i++)
        c->out_idx[i] = at_zero(s->p, at_zero(s->p, h->at[i], c->n_m, c->m), 1, &c->n);
    for (int i = 0; i < h->roles.a->n; i++)
        c->a_idx[i] = at_zero(s->p, ix_subst(&h->subst, h->roles.a->idx[i]), 1, &c->k);
    c->guard = h->roles.guard ? ex_subst(&h->subst, h->roles.guard) : NULL;
    c->rows_offset = sched_scratch(s, ix_muli(s->p, c->taps, 8 * CONTRACT_ROWS));
    c->zero_offset = c->guard ? sched_scratch(s, ix_muli(s->p, row, 4)) : NULL;
}

/* Takes the variables m and taps out of a form one by one; false if it is not linear in one. */
static bool coefficients(Pool *p, const Contract *c, const Ix *a, const Ix **coef, const Ix **rest)
{
    for (int i = 0; i < c->n_m + c->n_tap; i++) {
        const Var *v = i < c->n_m ? c->m[i] : c->tap[i - c->n_m];
        coef[i] = ix_int(p, 0);
        if (!ix_uses_var(a, v))
            continue;
        coef[i] = ix_coef(p, a, v, rest);
        if (!coef[i])
            return false;
        a = *rest;
    }
    *rest = a;
    return true;
}

/* The guard as conditions `form >= 0`, each linear in the variables. */
static bool tabulate_guard(Pool *p, Contract *c, const Expr *g)
{
    if (g->kind == EX_PRIM && g->prim == P_and)
        return tabulate_guard(p, c, g->arg[0]) && tabulate_guard(p, c, g->arg[1]);
    if (g->kind != EX_PRIM || g->prim != P_lt || c->n_cond == NELEM(c->cond0))
        return false;
    for (int i = 0; i < 2; i++)
        if (g->arg[i]->kind != EX_IX && (g->arg[i]->kind != EX_CONST || g->arg[i]->type != DT_I64))
            return false;
    const Ix *x = ix_of_expr(p, g->arg[0], -IX_INF, IX_INF),
             *y = ix_of_expr(p, g->arg[1], -IX_INF, IX_INF);
    int n = c->n_cond++;
    return coefficients(p, c, ix_addi(p, ix_sub(p, y, x), -1), c->cond[n], &c->cond0[n]);
}

static void tabulate_rows(Shape *h)
{
    Pool *p = h->s->p;
    Contract *c = h->c;
    const Ix *base;
    int64_t taps = ix_is_const(c->taps) ? c->taps->c : INT64_MAX;
    const Ix *off = place_offset(p, kernel_place(h->s->k, c->a), h->roles.a->n, c->a_idx);
    c->tabled = taps <= 512 && c->n_m + c->n_tap <= 8 &&
        coefficients(p, c, off, c->a_stride, &base) &&
        (!c->guard || tabulate_guard(p, c, c->guard));
}

static bool try_contraction(Sched *s, Stmts *into, int stage)
{
    Shape h = {.s = s, .d = s->g->stages.at[stage], .r = &s->region[stage]};
    if (!contraction_roles(s->p, h.d, &h.roles) || ex_reads_data(h.roles.a) ||
        ex_reads_data(h.roles.b))
        return false;
    Contract *c = h.c = NEW(s->cx, Contract);
    *c = (Contract){.out = h.d->out,
        .a = h.roles.a->value,
        .b = h.roles.b->value,
        .mr = s->m->opt.mr,
        .nr = s->m->opt.nr};
    bool is_row[MAX_RANK] = {false};
    sched_place(s, h.roles.a->value, false);
    Place out = *sched_place(s, h.d->out, true);
    choose_column(&h, &out);
    if (!choose_k(&h))
        return false;
    if (!collapse_rows(&h, &out, is_row))
        c->ldc = ix_int(s->p, 0);
    into = make_loops(&h, into, is_row);
    bool constant = value_is_const(h.roles.b->value);
    if (!(constant && bind_constant(&h)) && !bind_dynamic(&h))
        return false;
    bind_rows(&h, c->k->extent);
    tabulate_rows(&h);
    Stmt *call = stmt_new(s->cx, S_CALL);
    call->call = c;
    VEC_PUSH(s->cx, into, call);
    s->k->contractions++;
    return true;
}

/* ---- depthwise ---------------------------------------------------------------------------------
 */

/* Every output has its own weights: the columns are the lanes of all three. */
static bool depthwise_roles(Shape *h, const Place *out)
{
    h->n_axis = -1;
    for (int k = 0; k < h->d->n_axes; k++) {
        bool one = ix_is(h->d->axis[k]->extent, 1);
        if (!one && ix_is(out->stride[k], 1))
            h->n_axis = k;
        h->roles.role[k] = ROLE_M;
    }
    for (int k = 0; k < h->d->n_axes; k++)
        if (k != h->n_axis && load_uses_var(h->roles.b, h->d->axis[k]))
            return false;
    if (h->n_axis < 0)
        return false;
    h->roles.role[h->n_axis] = ROLE_N;
    return true;
}

static bool unit_coefficient(Pool *p, const Place *pl, const Expr *load, const Var *v)
{
    const Ix *rest, *coef = ix_coef(p, place_offset(p, pl, load->n, load->idx), v, &rest);
    return coef && ix_is(coef, 1);
}

/* B's taps must lie evenly: the last tap variable ldw apart, those before it by whole rows of it.
 */
static bool depthwise_weights(Shape *h)
{
    Sched *s = h->s;
    Contract *c = h->c;
    const Place *pl = kernel_place(s->k, c->b);
    const Ix *off = place_offset(s->p, pl, h->roles.b->n, h->roles.b->idx), *rest;
    const Ix *step = NULL;
    for (int i = c->n_tap - 1; i >= 0; i--) {
        const Ix *coef = ix_uses_var(off, c->tap[i]) ? ix_coef(s->p, off, c->tap[i], &rest) : NULL;
        if (!coef || (step && coef != step))
            return false;
        if (i == c->n_tap - 1)
            c->ldw = coef;
        step = ix_mul(s->p, coef, c->tap[i]->extent);
    }
    const Var *zero[MAX_RANK + 1];
    int n = 0;
    for (; n < c->n_tap; n++)
        zero[n] = c->tap[n];
    zero[n++] = c->n;
    for (int i = 0; i < h->roles.b->n; i++)
        c->b_idx[i] = at_zero(s->p, ix_subst(&h->subst, h->roles.b->idx[i]), n, zero);
    return c->n_tap > 0;
}

static bool try_depthwise(Sched *s, Stmts *into, int stage)
{
    Shape h = {.s = s, .d = s->g->stages.at[stage], .r = &s->region[stage]};
    if (!product_factors(h.d, &h.roles) || ex_reads_data(h.roles.a) || ex_reads_data(h.roles.b))
        return false;
    Contract *c = h.c = NEW(s->cx, Contract);
    *c =
        (Contract){.out = h.d->out, .a = h.roles.a->value, .b = h.roles.b->value, .mr = 1, .nr = 1};
    bool is_row[MAX_RANK] = {false};
    const Place a = *sched_place(s, c->a, false), b = *sched_place(s, c->b, false);
    const Place out = *sched_place(s, h.d->out, true);
    if (!depthwise_roles(&h, &out) || !unit_coefficient(s->p, &a, h.roles.a, h.d->axis[h.n_axis]) ||
        !unit_coefficient(s->p, &b, h.roles.b, h.d->axis[h.n_axis]) ||
        (h.roles.guard && ex_uses_var(h.roles.guard, h.d->axis[h.n_axis])))
        return false;
    for (int k = 0; k < h.d->n_red; k++)
        if (!ix_is(h.d->red_axis[k]->extent, 1))
            c->tap[c->n_tap++] = h.d->red_axis[k];
    if (!collapse_rows(&h, &out, is_row))
        c->ldc = ix_int(s->p, 0);
    into = make_loops(&h, into, is_row);
    c->k = c->n; /* the lanes are what a row holds */
    if (!depthwise_weights(&h))
        return false;
    bind_rows(&h, h.r->span[h.n_axis].cap);
    for (int i = 0; i < h.roles.a->n; i++)
        c->a_idx[i] = at_zero(s->p, c->a_idx[i], 1, &c->n);
    tabulate_rows(&h);
    if (!c->tabled)
        return false;
    Stmt *call = stmt_new(s->cx, S_CALL);
    call->call = c;
    VEC_PUSH(s->cx, into, call);
    return true;
}

bool sched_depthwise(Sched *s, Stmts *into, int stage)
{
    int before = into->n;
    if (try_depthwise(s, into, stage))
        return true;
    into->n = before;
    return false;
}

bool sched_contraction(Sched *s, Stmts *into, int stage)
{
    int before = into->n;
    if (try_contraction(s, into, stage))
        return true;
    into->n = before;
    return false;
}
