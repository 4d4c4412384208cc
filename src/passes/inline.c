/* inline.c: fusion's first move. A load of a value is replaced by the value's own definition where
 * that is cheap to recompute or read once. What no reader loads any more is dropped.
 *
 * Rules, in this order (measured on 20 exported networks, see docs/design.md):
 *   views (a load at another index, selects between loads) and expressions without loads: always;
 *   a map with one load site, in a reader that repeats nothing: always;
 *   at most 2 cheap operations with one large operand, at most 4 sites: always;
 *   never arithmetic into an operand of a contraction (it would be repeated for each column), or
 * into an index.
 */
#include "passes/pass.h"

enum { NO_LOAD_COST = 24, CHEAP_COST = 2, CHEAP_SITES = 4, MAX_COST = 400, MAX_TREE = 2000 };

typedef struct Use {
    int sites;       /* distinct loads, over all definitions */
    bool in_index;   /* some load is inside an index */
    bool contracted; /* some load is an operand of a contraction */
    bool repeated;   /* some reader iterates more often than the value has elements */
    bool view, inlined;
    bool other_node; /* some reader belongs to another node */
    int cost, big_operands;
    int tree; /* operations if nothing were shared */
} Use;

typedef struct Inline {
    Module *m;
    Use *use; /* by value id */
    const Def *reader;
    Def *into; /* whose loads are being replaced */
    int64_t iterations;
    Roles roles;
    bool contraction;
} Inline;

static int64_t hint_volume(const Def *d)
{
    int64_t n = 1;
    for (int k = 0; k < d->n_axes; k++)
        n *= MAX(1, ix_hint(d->axis[k]->extent));
    for (int k = 0; k < d->n_red; k++)
        n *= MAX(1, ix_hint(d->red_axis[k]->extent));
    return n;
}

static int64_t value_volume(const Value *v)
{
    int64_t n = 1;
    for (int k = 0; k < v->rank; k++)
        n *= MAX(1, ix_hint(v->dim[k]));
    return n;
}

static void count_use(void *user, const Expr *load, bool in_index)
{
    Inline *in = user;
    Use *u = &in->use[load->value->id];
    u->sites++;
    u->other_node |= load->value->origin != in->reader->out->origin;
    u->in_index |= in_index;
    u->repeated |= in->iterations > value_volume(load->value);
    u->contracted |= in->contraction && (load == in->roles.a || load == in->roles.b);
}

static void count_operand(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Use *u = user;
    u->big_operands += value_volume(load->value) > 4096;
}

/* Loads, selects by index conditions, constants: nothing that costs arithmetic. */
static bool is_view(const Expr *e)
{
    if (e->kind != EX_PRIM)
        return e->kind == EX_LOAD || e->kind == EX_CONST;
    return e->prim == P_select && is_view(e->arg[1]) && is_view(e->arg[2]) &&
        ex_depends_on_ix_only(e->arg[0]);
}

/* Weights that are all the same number (ConstantOfShape) become a constant like others: a
 * contraction wants memory to read. */
static bool fill_weights(Module *m, Value *v, const Use *u)
{
    int64_t dim[MAX_RANK];
    if (!u->contracted || v->is_output || v->def->red != RED_NONE ||
        v->def->body->kind != EX_CONST || !value_static(v, dim))
        return false;
    Tensor *t = tensor_new_raw(m->cx, v->type, v->rank, dim);
    size_t done = t->bytes ? (size_t)dtype_bytes(v->type) : 0;
    if (done)
        scalar_store(v->type, t->data, 0, v->def->body->k);
    for (size_t n; done < t->bytes; done += n) { /* by doubling */
        n = MIN(done, t->bytes - done);
        memcpy((char *)t->data + done, t->data, n);
    }
    v->data = t;
    v->def = NULL;
    return true;
}

static bool wanted(const Inline *in, const Value *v, const Use *u)
{
    if (v->keep || !v->def || v->def->red != RED_NONE)
        return false;
    if (in->m->opt.fuse == 0 && !u->view && u->other_node)
        return false;
    if (u->tree > MAX_TREE) /* shared parts would be walked again and again */
        return false;
    if (u->view)
        return true;
    if (u->cost <= NO_LOAD_COST && u->big_operands < 0)
        return true;
    if (u->in_index || u->contracted || u->cost > MAX_COST)
        return false;
    if (u->sites == 1 && !u->repeated)
        return true;
    return u->cost <= CHEAP_COST && u->big_operands <= 1 && u->sites <= CHEAP_SITES;
}

/* An element of a constant at constant indices is a constant. */
static const Expr *constant_element(Pool *p, const Expr *load)
{
    int64_t flat = 0;
    const Tensor *t = load->value->data;
    for (int k = 0; k < load->n; k++) {
        if (!ix_is_const(load->idx[k]) || load->idx[k]->c < 0 || load->idx[k]->c >= t->dim[k])
            return load;
        flat = flat * t->dim[k] + load->idx[k]->c;
    }
    return dtype_computes(t->type) ? ex_const(p, t->type, scalar_load(t->type, t->data, flat))
                                   : load;
}

static const Expr *inline_load(void *user, const Expr *load)
{
    Inline *in = user;
    const Value *v = load->value;
    if (value_is_const(v))
        return constant_element(in->m->graph->pool, load);
    if (!in->use[v->id].inlined)
        return load;
    const Def *d = v->def;
    def_add_nodes(in->m->cx, in->into, d);
    Subst s;
    subst_init(&s, in->m->graph->pool);
    for (int k = 0; k < d->n_axes; k++)
        subst_var(&s, d->axis[k], load->idx[k]);
    const Expr *body = ex_subst(&s, d->body);
    subst_done(&s);
    return body;
}

static void any_load(void *user, const Expr *load, bool in_index)
{
    (void)load;
    (void)in_index;
    *(bool *)user = true;
}

static void count_uses(Inline *in)
{
    for (int i = 0; i < in->m->defs.n; i++) {
        Def *d = in->m->defs.at[i];
        in->reader = d;
        in->iterations = hint_volume(d);
        in->contraction = contraction_roles(in->m->graph->pool, d, &in->roles) ||
            (product_factors(d, &in->roles) && (in->roles.guard || d->n_red > 1)); /* a window */
        ex_visit_loads(in->m->cx, d->body, count_use, in);
    }
}

static int count_tree(Map *known, const Expr *e)
{
    if (e->kind != EX_PRIM)
        return 1;
    intptr_t n = (intptr_t)map_get(known, &e->id, sizeof e->id);
    for (int i = 0; i < e->n && !map_get(known, &e->id, sizeof e->id); i++)
        n = MIN(n + count_tree(known, e->arg[i]), 1 << 24);
    map_put(known, &e->id, sizeof e->id, (void *)MAX(n, (intptr_t)1));
    return (int)MAX(n, (intptr_t)1);
}

static int tree_size(Ctx *cx, const Expr *e)
{
    Map known;
    map_init(&known, cx);
    int n = count_tree(&known, e);
    map_done(&known);
    return n;
}

static void round_of_inlining(Module *m)
{
    Inline in = {.m = m, .use = NEW_N(m->cx, Use, m->graph->values.n)};
    count_uses(&in);
    for (int i = 0; i < m->defs.n; i++) {
        Def *d = m->defs.at[i];
        Subst s;
        subst_init(&s, m->graph->pool);
        s.load = inline_load;
        s.user = &in;
        in.into = d;
        d->body = ex_subst(&s, d->body);
        subst_done(&s);
        Use *u = &in.use[d->out->id];
        u->cost = ex_cost(m->cx, d->body);
        u->tree = tree_size(m->cx, d->body);
        u->view = is_view(d->body);
        bool loads = false;
        ex_visit_loads(m->cx, d->body, any_load, &loads);
        if (loads)
            ex_visit_loads(m->cx, d->body, count_operand, u);
        else
            u->big_operands = -1;
        u->inlined = !fill_weights(m, d->out, u) && wanted(&in, d->out, u);
    }
    pass_dce(m);
}

void pass_inline(Module *m)
{
    account_edges(m);
    round_of_inlining(m);
    round_of_inlining(m); /* with the use counts that the first round left */
}
