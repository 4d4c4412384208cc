/* infer.c: the pass infer: each operator defines its outputs, in the order of the nodes; what
 * depends on constants alone is evaluated at once, so that later operators see its value. */
#include "graph/interp.h"
#include "graph/op.h"
#include "passes/pass.h"

/* A node whose input has no type (its producer failed) is left out: one cause, one message. */
static bool inputs_known(const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && (n->in[i]->type == DT_NONE || n->in[i]->rank < 0))
            return false;
    return true;
}

static void define(Module *m, Node *n)
{
    Op o = {m->graph, n, m->cx, m->graph->pool, n->opset};
    volatile bool ok = false;
    TRY(m->cx) {
        n->op->define(&o);
        ok = true;
    }
    CATCH {
        n->defs.n = 0; /* the problem is recorded; the outputs stay unknown */
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i])
                n->out[i]->type = DT_NONE;
    }
    for (int i = 0; ok && i < n->n_attr; i++)
        if (!n->attr[i].used)
            ctx_log(m->cx, 1, "node %s (%s): attribute '%s' is unknown and was ignored", n->name,
                n->op_type, n->attr[i].name);
}

static void check_declared(Module *m, Node *n)
{
    for (int i = 0; i < n->n_out; i++) {
        const Value *v = n->out[i];
        if (!v || v->type == DT_NONE || v->declared_type == DT_NONE || v->declared_type == v->type)
            continue;
        Where w = node_where(n);
        w.tensor = v->name;
        ctx_report(m->cx, ST_MODEL, &w, "%s is declared %s, but the operator gives %s", v->name,
            dtype_text(v->declared_type), dtype_text(v->type));
    }
}

static void unknown_operator(Module *m, Node *n)
{
    Where w = node_where(n);
    w.hint = "see sinter --list-ops for what this version knows";
    const char *domain = n->domain[0] ? n->domain : "ai.onnx";
    if (n->opset <= 0)
        ctx_report(m->cx, ST_MODEL, &w,
            "the model imports no opset of domain %s, which node %s uses", domain, n->name);
    else
        ctx_report(m->cx, ST_UNSUPPORTED, &w, "operator %s of %s (opset %d) is not supported",
            n->op_type, domain, n->opset);
}

/* An input has the type that the model declares; a dim without name or size gets a name of its own.
 */
static void adopt_declared(Module *m, Value *v)
{
    v->type = v->declared_type;
    v->rank = v->declared_rank;
    v->dim = NEW_N(m->cx, const Ix *, MAX(0, v->rank));
    for (int k = 0; k < v->rank; k++) {
        v->dim[k] = v->declared_dim[k];
        if (!v->dim[k]) {
            char *name = ctx_printf(m->cx, "%s.%d", v->name, k);
            v->dim[k] = ix_of_sym(m->graph->pool, ix_sym_named(m->graph->pool, name));
        }
    }
}

static void input_types(Module *m)
{
    Graph *g = m->graph;
    for (int i = 0; i < g->inputs.n; i++) {
        Value *v = g->inputs.at[i];
        if (v->data && !m->opt.overridable) { /* the runtime has a variant for when it is given */
            v->is_input = false;
            continue;
        }
        if (v->kind == V_TENSOR && v->declared_rank >= 0)
            adopt_declared(m, v);
        Where w = {.tensor = v->name, .hint = "fix the rank and type of the input when exporting"};
        if (v->kind != V_TENSOR)
            ctx_report(m->cx, ST_UNSUPPORTED, &w, "input %s is not a tensor", v->name);
        else if (v->rank < 0)
            ctx_report(m->cx, ST_UNSUPPORTED, &w, "input %s has no declared rank", v->name);
    }
}

void pass_infer(Module *m)
{
    Graph *g = m->graph;
    int kept = 0;
    bool fold = !pass_disabled(m, "constfold");
    input_types(m);
    for (int i = 0; i < g->nodes.n; i++) {
        Node *n = g->nodes.at[i];
        n->op = op_find(n->op_type, n->domain, n->opset);
        if (!n->op)
            unknown_operator(m, n);
        else if (inputs_known(n))
            define(m, n);
        check_declared(m, n);
        if (!fold || !fold_node(m, n)) {
            n->id = kept;
            g->nodes.at[kept++] = n;
        }
    }
    g->nodes.n = kept;
    ctx_check(m->cx);
    for (int i = 0; i < g->outputs.n; i++)
        if (g->outputs.at[i]->type == DT_NONE || g->outputs.at[i]->rank < 0)
            ctx_report(m->cx, ST_MODEL, &(Where){.tensor = g->outputs.at[i]->name},
                "output %s is not computed by any node", g->outputs.at[i]->name);
    ctx_check(m->cx);
}
