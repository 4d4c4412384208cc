/* constexpr.c: the pass constexpr: a part of a definition that reads constants only and has fewer
 * elements than the definition is evaluated now: the scale of a batch normalisation, say, gamma /
 * sqrt(variance + epsilon). */
#include "graph/interp.h"
#include "passes/pass.h"

enum { MAX_ELEMENTS = 1 << 20, LEAST_SHARE = 4 };

typedef struct Hoist {
    Module *m;
    const Def *d;
    int64_t volume; /* of the definition, reduction included; -1: not known */
    Map done;       /* expression id -> replacement */
} Hoist;

typedef struct Reads {
    bool constant, any;
} Reads;

static void note_load(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Reads *r = user;
    r->any = true;
    r->constant &= value_is_const(load->value) && dtype_computes(load->value->type);
}

/* The variables that the expression depends on; returns their product, -1 if one is not known. */
static int64_t variables(const Hoist *h, const Expr *e, const Var **v, int *n)
{
    int64_t volume = 1;
    *n = 0;
    for (int k = 0; k < h->d->n_axes + h->d->n_red; k++) {
        const Var *x = k < h->d->n_axes ? h->d->axis[k] : h->d->red_axis[k - h->d->n_axes];
        if (!ex_uses_var(e, x))
            continue;
        if (!ix_is_const(x->extent) || *n == MAX_RANK || volume > MAX_ELEMENTS)
            return -1;
        volume *= x->extent->c;
        v[(*n)++] = x;
    }
    return volume;
}

/* Around the part may stand a condition that keeps its indices inside; evaluated on its own, it
 * must not fail where that is false. Nothing reads those elements. */
static const Expr *guarded_load(void *user, const Expr *load)
{
    Pool *p = user;
    const Expr *inside = ex_bool(p, true);
    for (int k = 0; k < load->n; k++)
        inside = ex_and(p, inside, ex_ix_inside(p, load->idx[k], load->value->dim[k]));
    return ex_select(p, inside, load, ex_const(p, load->type, (Scalar){0}));
}

static const Expr *evaluate(Hoist *h, const Expr *e, int n, const Var *const *v)
{
    Module *m = h->m;
    Pool *p = m->graph->pool;
    Value *out = graph_value(m->graph, "");
    Def *d = NEW(m->cx, Def);
    const Var **axis = NEW_N(m->cx, const Var *, n);
    const Ix *idx[MAX_RANK];
    Subst s;
    subst_init(&s, p);
    s.load = guarded_load;
    s.user = p;
    out->kind = V_TENSOR;
    out->type = e->type;
    out->rank = n;
    out->dim = NEW_N(m->cx, const Ix *, n);
    for (int k = 0; k < n; k++) {
        out->dim[k] = v[k]->extent;
        axis[k] = ix_var_new(p, v[k]->extent, v[k]->name);
        idx[k] = ix_of_var(p, v[k]);
        out->order[k] = (int8_t)k;
        subst_var(&s, v[k], ix_of_var(p, axis[k]));
    }
    *d = (Def){.out = out, .n_axes = n, .axis = axis, .body = ex_subst(&s, e)};
    out->origin = h->d->out->origin;
    Interp *it = interp_new(m->cx, p, NULL, NULL, NULL);
    out->data = interp_def(it, d);
    if (n == 0)
        return ex_const(p, e->type, scalar_load(e->type, out->data->data, 0));
    return ex_load(p, out, n, idx);
}

/* An integer division could fail, and would fail when compiling: it stays where it is. */
static bool may_fail(const Expr *e)
{
    bool fails =
        e->kind == EX_PRIM && (e->prim == P_div || e->prim == P_mod) && dtype_is_int(e->type);
    for (int i = 0; i < e->n && e->kind == EX_PRIM && !fails; i++)
        fails = may_fail(e->arg[i]);
    return fails || (e->kind == EX_LOAD && ex_reads_data(e));
}

static bool worth(Hoist *h, const Expr *e, const Var **v, int *n)
{
    Reads r = {true, false};
    if (e->kind != EX_PRIM)
        return false;
    ex_visit_loads(h->m->cx, e, note_load, &r);
    if (!r.any || !r.constant || may_fail(e) || ex_uses_syms(e))
        return false;
    int64_t volume = variables(h, e, v, n);
    return volume >= 0 && volume <= MAX_ELEMENTS &&
        (h->volume < 0 || volume <= h->volume / LEAST_SHARE || *n == 0);
}

static const Expr *rebuild(Hoist *h, const Expr *e);

static const Expr *rebuild_args(Hoist *h, const Expr *e)
{
    const Expr *a[3] = {NULL, NULL, NULL};
    bool changed = false;
    for (int i = 0; i < e->n; i++) {
        a[i] = rebuild(h, e->arg[i]);
        changed |= a[i] != e->arg[i];
    }
    if (!changed)
        return e;
    Pool *p = h->m->graph->pool;
    return e->prim == P_cast ? ex_cast(p, e->type, a[0]) : ex_prim(p, e->prim, a[0], a[1], a[2]);
}

static const Expr *rebuild(Hoist *h, const Expr *e)
{
    const Var *v[MAX_RANK];
    int n;
    if (e->kind != EX_PRIM)
        return e;
    const Expr *known = map_get(&h->done, &e->id, sizeof e->id);
    if (known)
        return known;
    const Expr *r = worth(h, e, v, &n) ? evaluate(h, e, n, v) : rebuild_args(h, e);
    map_put(&h->done, &e->id, sizeof e->id, (void *)r);
    return r;
}

void pass_constexpr(Module *m)
{
    for (int i = 0; i < m->defs.n; i++) {
        Hoist h = {m, m->defs.at[i], 1, {0}};
        map_init(&h.done, m->cx);
        for (int k = 0; k < h.d->n_axes + h.d->n_red && h.volume >= 0; k++) {
            const Ix *e =
                k < h.d->n_axes ? h.d->axis[k]->extent : h.d->red_axis[k - h.d->n_axes]->extent;
            if (!ix_is_const(e) || !mul_ok(h.volume, MAX(e->c, 1), &h.volume))
                h.volume = -1;
        }
        m->defs.at[i]->body = rebuild(&h, m->defs.at[i]->body);
    }
}
