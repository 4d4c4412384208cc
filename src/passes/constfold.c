/* constfold.c: evaluates nodes that read constants only. Called by infer, node by node. */
#include "graph/interp.h"
#include "passes/pass.h"

/* More element evaluations than this are left to the compiled program; and results that are larger
 * than what they come from (Expand, ConstantOfShape) stay definitions, which cost no memory. */
enum { FOLD_WORK = 4000000, FOLD_GROWTH_FREE = 65536 };

bool value_is_const(const Value *v) { return v->data && !v->is_input; }

typedef struct Scan {
    const Node *node;
    bool constant;
    int64_t bytes;
} Scan;

static void scan_load(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Scan *s = user;
    const Value *v = load->value;
    if (value_is_const(v))
        s->bytes += (int64_t)v->data->bytes;
    else if (!v->def || v->origin != s->node || v->def->out != v)
        s->constant = false;
}

/* Numeric extents of all variables of d, or false. */
static bool static_def(const Def *d, int64_t *work, int64_t *bytes)
{
    *work = 1;
    *bytes = dtype_bytes(d->out->type);
    for (int k = 0; k < d->n_axes + d->n_red; k++) {
        const Ix *e = k < d->n_axes ? d->axis[k]->extent : d->red_axis[k - d->n_axes]->extent;
        int64_t r;
        if (!ix_is_const(e) || !mul_ok(*work, MAX(e->c, 0), &r) || r > ((int64_t)1 << 50))
            return false;
        *work = r;
        if (k < d->n_axes)
            *bytes *= MAX(e->c, 0);
    }
    return true;
}

static bool foldable(Module *m, const Node *n)
{
    Scan s = {n, true, 0};
    int64_t work = 0, out = 0;
    for (int i = 0; i < n->defs.n; i++) {
        int64_t w, b;
        const Def *d = n->defs.at[i];
        if (!static_def(d, &w, &b) || ex_uses_syms(d->body))
            return false;
        work += w;
        out += b;
        ex_visit_loads(m->cx, d->body, scan_load, &s);
    }
    return n->defs.n && s.constant && work <= FOLD_WORK &&
        (out <= FOLD_GROWTH_FREE || out <= 2 * s.bytes);
}

bool fold_node(Module *m, Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->is_output)
            return false; /* an output needs a step that writes it */
    if (!foldable(m, n))
        return false;
    Interp *it = interp_new(m->cx, m->graph->pool, NULL, NULL, NULL);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && n->out[i]->def) {
            n->out[i]->data = interp_def(it, n->out[i]->def);
            n->out[i]->producer = NULL;
        }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            n->out[i]->def = NULL;
    return true;
}
