/* graph.c: building graphs by hand, and the verifier. */
#include "graph/graph.h"

Graph *graph_new(Ctx *cx, Graph *outer)
{
    Graph *g = NEW(cx, Graph);
    g->cx = cx;
    g->pool = outer ? outer->pool : pool_new(cx);
    g->outer = outer;
    g->name = "";
    return g;
}

Value *graph_value(Graph *g, const char *name)
{
    Value *v = NEW(g->cx, Value);
    v->name = name ? name : "";
    v->id = g->values.n;
    v->rank = v->declared_rank = -1;
    VEC_PUSH(g->cx, &g->values, v);
    return v;
}

Value *graph_constant(Graph *g, const char *name, Tensor *t)
{
    Value *v = graph_value(g, name);
    v->data = t;
    v->type = t->type;
    v->rank = t->rank;
    v->dim = NEW_N(g->cx, const Ix *, t->rank);
    for (int i = 0; i < t->rank; i++)
        v->dim[i] = ix_int(g->pool, t->dim[i]);
    return v;
}

Node *graph_node(Graph *g, const char *op_type, const char *domain, int opset)
{
    Node *n = NEW(g->cx, Node);
    n->name = "";
    n->op_type = op_type;
    n->domain = domain;
    n->opset = opset;
    n->id = g->nodes.n;
    VEC_PUSH(g->cx, &g->nodes, n);
    return n;
}

/* A node without a name is found by its first output. */
Where node_where(const Node *n)
{
    const char *name = n->name;
    for (int i = 0; !name[0] && i < n->n_out; i++)
        if (n->out[i])
            name = n->out[i]->name;
    return (Where){.node = name, .op_type = n->op_type};
}

Attr *node_attr(const Node *n, const char *name)
{
    for (int i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i].name, name) == 0) {
            n->attr[i].used = true;
            return &n->attr[i];
        }
    return NULL;
}

/* ---- the verifier ---------------------------------------------------------------------------- */

/* Which values of a graph, and of the graphs around it, exist at a point of its node list. */
typedef struct Seen {
    const Graph *g;
    bool *at; /* by value id */
    const struct Seen *outer;
} Seen;

static bool belongs(const Graph *g, const Value *v)
{
    return v->id >= 0 && v->id < g->values.n && g->values.at[v->id] == v;
}

static bool is_seen(const Seen *s, const Value *v)
{
    for (; s; s = s->outer)
        if (belongs(s->g, v))
            return s->at[v->id];
    return false;
}

static void broken(const Graph *g, const Node *n, const Value *v, const char *what)
{
    Where w = n ? node_where(n) : (Where){.node = NULL};
    w.tensor = v ? v->name : NULL;
    ctx_report(g->cx, ST_INTERNAL, &w, "broken graph: %s", what);
}

static void verify_in(const Graph *g, const Seen *outer);

static void verify_node(const Graph *g, const Node *n, Seen *seen)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !is_seen(seen, n->in[i]))
            broken(g, n, n->in[i], "a node reads a value before it exists");
    for (int i = 0; i < n->n_attr; i++)
        for (int k = 0; k < n->attr[i].n_graphs; k++)
            verify_in(n->attr[i].graphs[k], seen);
    for (int i = 0; i < n->n_out; i++) {
        const Value *v = n->out[i];
        if (!v)
            continue;
        if (!belongs(g, v))
            broken(g, n, v, "an output is a value of another graph");
        else if (seen->at[v->id] || v->producer != n)
            broken(g, n, v, "a value has two producers, or does not know its own");
        else
            seen->at[v->id] = true;
    }
}

static void verify_value(const Graph *g, const Value *v, Seen *seen)
{
    if (!belongs(g, v)) {
        broken(g, NULL, v, "a value's id does not match its place");
        return;
    }
    if (v->producer && (v->data || v->is_input))
        broken(g, v->producer, v, "an input or constant has a producer");
    if (v->rank > MAX_RANK || (v->rank >= 0 && !v->dim && v->rank > 0))
        broken(g, v->producer, v, "a rank without dims");
    seen->at[v->id] = v->data || v->is_input;
}

static void verify_in(const Graph *g, const Seen *outer)
{
    Seen seen = {g, NEW_N(g->cx, bool, g->values.n), outer};
    for (int i = 0; i < g->values.n; i++)
        verify_value(g, g->values.at[i], &seen);
    for (int i = 0; i < g->inputs.n; i++)
        if (!belongs(g, g->inputs.at[i]) || !g->inputs.at[i]->is_input)
            broken(g, NULL, g->inputs.at[i], "an input is not marked as one");
    for (int i = 0; i < g->nodes.n; i++) {
        if (g->nodes.at[i]->id != i)
            broken(g, g->nodes.at[i], NULL, "a node's id does not match its place");
        verify_node(g, g->nodes.at[i], &seen);
    }
    for (int i = 0; i < g->outputs.n; i++)
        if (!is_seen(&seen, g->outputs.at[i]))
            broken(g, NULL, g->outputs.at[i], "an output does not exist");
}

void graph_verify(Graph *g)
{
    verify_in(g, NULL);
    ctx_check(g->cx);
}
