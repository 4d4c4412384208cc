/* roles.c: recognises contractions by which variables each factor uses, and prices expressions. */
#include "passes/pass.h"

enum { MIN_K = 5 }; /* fewer terms than this are a map written out */

/* A factor: a load, or a load guarded by a condition with 0 elsewhere. */
static const Expr *factor_load(const Expr *e, const Expr **guard)
{
    *guard = NULL;
    if (e->kind == EX_PRIM && e->prim == P_select && e->arg[2]->kind == EX_CONST &&
        e->arg[2]->k.f == 0) {
        *guard = e->arg[0];
        e = e->arg[1];
    }
    return e->kind == EX_LOAD && e->type == DT_F32 ? e : NULL;
}

bool load_uses_var(const Expr *load, const Var *v)
{
    for (int i = 0; i < load->n; i++)
        if (ix_uses_var(load->idx[i], v))
            return true;
    return false;
}

bool product_factors(const Def *d, Roles *r)
{
    const Expr *ga, *gb;
    if (d->red != RED_SUM || d->acc != DT_F32 || d->out->type != DT_F32 ||
        d->body->kind != EX_PRIM || d->body->prim != P_mul || !d->n_red)
        return false;
    r->a = factor_load(d->body->arg[0], &ga);
    r->b = factor_load(d->body->arg[1], &gb);
    if (!r->a || !r->b || r->a == r->b || (ga && gb))
        return false;
    if (gb || (value_is_const(r->a->value) && !value_is_const(r->b->value) && !ga)) {
        const Expr *t = r->a;
        r->a = r->b;
        r->b = t;
        ga = gb;
    }
    r->guard = ga;
    return true;
}

bool contraction_roles(Pool *p, const Def *d, Roles *r)
{
    if (!product_factors(d, r))
        return false;
    int n_m = 0, n_n = 0;
    for (int k = 0; k < d->n_axes; k++) {
        bool one = ix_is(d->axis[k]->extent, 1);
        bool a = load_uses_var(r->a, d->axis[k]), b = load_uses_var(r->b, d->axis[k]);
        r->role[k] = a && b ? ROLE_BATCH : b ? ROLE_N : ROLE_M;
        n_m += !one && r->role[k] == ROLE_M;
        n_n += !one && r->role[k] == ROLE_N;
    }
    int64_t terms = 1;
    for (int k = 0; k < d->n_red; k++) {
        bool one = ix_is(d->red_axis[k]->extent, 1);
        if (!one && (!load_uses_var(r->a, d->red_axis[k]) || !load_uses_var(r->b, d->red_axis[k])))
            return false;
        terms *= ix_is_const(d->red_axis[k]->extent) ? d->red_axis[k]->extent->c : 64;
    }
    (void)p;
    /* Without columns (depthwise, a vector) lanes would stay empty; one row against a matrix that
     * is not packed ahead costs more to pack than to multiply. Both are plain reductions. */
    return n_n > 0 && terms >= MIN_K && (n_m > 0 || value_is_const(r->b->value));
}

static void cost_of(Map *seen, const Expr *e, int *cost)
{
    static const uint8_t weight[N_PRIMS] = {[P_div] = 4,
        [P_mod] = 8,
        [P_sqrt] = 4,
        [P_exp] = 20,
        [P_log] = 20,
        [P_pow] = 40,
        [P_erf] = 24,
        [P_tanh] = 24,
        [P_sin] = 24,
        [P_cos] = 24,
        [P_tan] = 40,
        [P_asin] = 40,
        [P_acos] = 40,
        [P_atan] = 40,
        [P_sinh] = 40,
        [P_cosh] = 40,
        [P_asinh] = 40,
        [P_acosh] = 40,
        [P_atanh] = 40,
        [P_select] = 0};
    if (e->kind != EX_PRIM || map_get(seen, &e->id, sizeof e->id))
        return;
    map_put(seen, &e->id, sizeof e->id, (void *)e);
    *cost += weight[e->prim] ? weight[e->prim] : e->prim != P_select;
    for (int i = 0; i < e->n; i++)
        cost_of(seen, e->arg[i], cost);
}

int ex_cost(Ctx *cx, const Expr *e)
{
    Map seen;
    map_init(&seen, cx);
    int cost = 0;
    cost_of(&seen, e, &cost);
    map_done(&seen);
    return cost;
}
