/* lower.c: the passes lower, dce and cse over definitions. */
#include "passes/pass.h"
#include "graph/pool.h"

/* A fresh value that holds what `v` holds: for outputs that nothing computes, or that are listed
 * twice. */
static Value *copy_of(Module *m, const Value *v)
{
    Graph *g = m->graph;
    Value *c = graph_value(g, v->name);
    c->twin = true;
    c->kind = V_TENSOR;
    c->type = v->type;
    c->rank = v->rank;
    c->dim = v->dim;
    c->origin = v->origin;
    const Var **axis = NEW_N(m->cx, const Var *, v->rank);
    const Ix *idx[MAX_RANK];
    for (int k = 0; k < v->rank; k++) {
        axis[k] = ix_var_new(g->pool, v->dim[k], "i");
        idx[k] = ix_of_var(g->pool, axis[k]);
    }
    Def *d = NEW(m->cx, Def);
    *d =
        (Def){.out = c, .n_axes = v->rank, .axis = axis, .body = ex_load(g->pool, v, v->rank, idx)};
    c->def = d;
    VEC_PUSH(m->cx, &m->defs, d);
    return c;
}

/* --keep: the outputs of the named nodes are materialised. */
static void mark_kept(Module *m)
{
    for (const char *const *name = m->opt.keep; name && *name; name++) {
        bool found = false;
        for (int i = 0; i < m->graph->nodes.n; i++) {
            const Node *n = m->graph->nodes.at[i];
            if (strcmp(n->name, *name) && strcmp(node_where(n).node, *name))
                continue;
            found = true;
            for (int j = 0; j < n->n_out; j++)
                if (n->out[j])
                    n->out[j]->keep = true;
        }
        if (!found)
            ctx_report(m->cx, ST_USAGE, &(Where){.node = *name},
                "there is no node named %s to keep (or it was folded into a constant)", *name);
    }
    ctx_check(m->cx);
}

void def_add_nodes(Ctx *cx, Def *d, const Def *from)
{
    for (int i = 0; i < from->nodes.n; i++) {
        bool known = false;
        for (int j = 0; j < d->nodes.n && !known; j++)
            known = d->nodes.at[j] == from->nodes.at[i];
        if (!known)
            VEC_PUSH(cx, &d->nodes, from->nodes.at[i]);
    }
}

void pass_lower(Module *m)
{
    Graph *g = m->graph;
    mark_kept(m);
    for (int i = 0; i < g->nodes.n; i++)
        for (int j = 0; j < g->nodes.at[i]->defs.n; j++)
            VEC_PUSH(m->cx, &m->defs, g->nodes.at[i]->defs.at[j]);
    for (int i = 0; i < g->outputs.n; i++) {
        Value *v = g->outputs.at[i];
        bool twice = false;
        for (int j = 0; j < i; j++)
            twice |= g->outputs.at[j] == v;
        if (!v->def || twice)
            g->outputs.at[i] = copy_of(m, v);
        g->outputs.at[i]->is_output = true;
    }
    pass_dce(m);
    for (int i = 0; i < g->values.n; i++)
        for (int k = 0; k < MAX_RANK; k++)
            g->values.at[i]->order[k] = (int8_t)k;
    m->nodes_final = 0;
    Map seen;
    map_init(&seen, m->cx);
    for (int i = 0; i < m->defs.n; i++) {
        const Node *n = m->defs.at[i]->out->origin;
        if (n && !map_get(&seen, &n, sizeof n)) {
            const Node **key = NEW(m->cx, const Node *);
            *key = n;
            map_put(&seen, key, sizeof n, (void *)n);
            m->nodes_final++;
        }
    }
}

static void mark(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    bool *live = user;
    live[load->value->id] = true;
}

void pass_dce(Module *m)
{
    bool *live = NEW_N(m->cx, bool, m->graph->values.n);
    for (int i = 0; i < m->graph->outputs.n; i++)
        live[m->graph->outputs.at[i]->id] = true;
    for (int i = m->defs.n - 1; i >= 0; i--)
        if (live[m->defs.at[i]->out->id])
            ex_visit_loads(m->cx, m->defs.at[i]->body, mark, live);
    int kept = 0;
    for (int i = 0; i < m->defs.n; i++)
        if (live[m->defs.at[i]->out->id] && m->defs.at[i]->out->def)
            m->defs.at[kept++] = m->defs.at[i];
    m->defs.n = kept;
}

/* ---- common subexpressions ---------------------------------------------------------------------
 */

typedef struct Cse {
    Module *m;
    const Value **same; /* by value id: the earlier value that is equal, or NULL */
    Map vars;           /* (position, extent) -> canonical variable */
    Map defs;
} Cse;

static const Expr *use_same(void *user, const Expr *load)
{
    Cse *c = user;
    const Value *s = c->same[load->value->id];
    return s ? ex_load(c->m->graph->pool, s, load->n, load->idx) : load;
}

/* The variable that stands at this position with this extent in every canonical definition. */
static const Ix *canonical(Cse *c, int position, const Ix *extent)
{
    int key[2] = {position, extent->id};
    const Var *v = map_get(&c->vars, key, sizeof key);
    if (!v) {
        v = ix_var_new(c->m->graph->pool, extent, "c");
        int *copy = NEW_N(c->m->cx, int, 2);
        map_put(&c->vars, memcpy(copy, key, sizeof key), sizeof key, (void *)v);
    }
    return ix_of_var(c->m->graph->pool, v);
}

static void replace_body(Cse *c, Def *d)
{
    Subst s;
    subst_init(&s, c->m->graph->pool);
    s.load = use_same;
    s.user = c;
    d->body = ex_subst(&s, d->body);
}

static const Value *find_same(Cse *c, Def *d)
{
    Subst s;
    subst_init(&s, c->m->graph->pool);
    int *key = NEW_N(c->m->cx, int, 6 + d->n_axes + d->n_red), n = 0;
    for (int k = 0; k < d->n_axes + d->n_red; k++) {
        const Var *v = k < d->n_axes ? d->axis[k] : d->red_axis[k - d->n_axes];
        subst_var(&s, v, canonical(c, k, v->extent));
        key[n++] = v->extent->id;
    }
    key[n++] = d->n_axes;
    key[n++] = d->red;
    key[n++] = d->acc;
    key[n++] = d->out->type;
    key[n++] = ex_subst(&s, d->body)->id;
    const Value *found = map_get(&c->defs, key, (size_t)n * sizeof *key);
    if (!found)
        map_put(&c->defs, key, (size_t)n * sizeof *key, d->out);
    return found;
}

void pass_cse(Module *m)
{
    Cse c = {.m = m, .same = NEW_N(m->cx, const Value *, m->graph->values.n)};
    map_init(&c.vars, m->cx);
    map_init(&c.defs, m->cx);
    for (int i = 0; i < m->defs.n; i++) {
        Def *d = m->defs.at[i];
        replace_body(&c, d);
        const Value *found = find_same(&c, d);
        if (!found || d->out->is_output || d->out->keep)
            continue;
        c.same[d->out->id] = found;
        def_add_nodes(m->cx, found->def, d);
    }
    pass_dce(m);
}
