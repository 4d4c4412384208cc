/* account.c: what the program would be without fusion, and the producer-consumer edges whose fate
 * is reported. */
#include "passes/pass.h"

typedef struct Account {
    Module *m;
    const Def *reader;
    bool *counted; /* by value id */
} Account;

static bool is_view(const Def *d) { return d->red == RED_NONE && d->body->kind == EX_LOAD; }

static void note(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Account *a = user;
    const Value *v = load->value, *to = a->reader->out;
    if (!v->def || !v->origin || v->origin == to->origin)
        return;
    for (int i = a->m->edges.n - 1; i >= 0 && a->m->edges.at[i].reader == to; i--)
        if (a->m->edges.at[i].value == v)
            return;
    VEC_PUSH(a->m->cx, &a->m->edges, ((Edge){v, to->origin, to}));
    if (a->counted[v->id] || v->is_output || is_view(v->def))
        return;
    a->counted[v->id] = true;
    int64_t bytes = dtype_bytes(v->type);
    for (int k = 0; k < v->rank; k++)
        bytes *= MAX(0, ix_hint(v->dim[k]));
    a->m->unfused_values++;
    a->m->unfused_bytes += bytes;
}

void account_edges(Module *m)
{
    Account a = {m, NULL, NEW_N(m->cx, bool, m->graph->values.n)};
    m->edges.n = 0;
    m->unfused_launches = 0;
    const Node *last = NULL;
    for (int i = 0; i < m->defs.n; i++) {
        a.reader = m->defs.at[i];
        ex_visit_loads(m->cx, a.reader->body, note, &a);
        if (is_view(a.reader) && !a.reader->out->is_output)
            continue;
        m->unfused_launches += !a.reader->out->origin || a.reader->out->origin != last;
        last = a.reader->out->origin;
    }
}
