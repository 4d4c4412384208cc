/* memplan.c: the pass memplan: buffers with lifetimes, and the steps that use them. Offsets in the
 * arena are solved when dims are bound (runtime/bind.c), since sizes may be symbolic. */
#include "passes/pass.h"

typedef struct Plan {
    Module *m;
    Buffer **of; /* by value id */
} Plan;

static int io_of(const Value *v, Value *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == v)
            return i;
    return -1;
}

static Buffer *buffer_of(Plan *p, const Value *v, int step)
{
    Module *m = p->m;
    Pool *pool = m->graph->pool;
    Buffer *b = p->of[v->id];
    if (!b) {
        b = p->of[v->id] = NEW(m->cx, Buffer);
        const Ix *n = ix_int(pool, dtype_bytes(v->type));
        for (int k = 0; k < v->rank; k++)
            n = ix_mul(pool, n, v->dim[k]);
        *b = (Buffer){.id = m->buffers.n,
            .kind = BUF_ARENA,
            .value = v,
            .io = -1,
            .bytes = n,
            .first = step};
        if (value_is_const(v))
            b->kind = BUF_CONST;
        else if ((b->io = io_of(v, m->graph->inputs.at, m->graph->inputs.n)) >= 0)
            b->kind = BUF_INPUT;
        else if ((b->io = io_of(v, m->graph->outputs.at, m->graph->outputs.n)) >= 0)
            b->kind = BUF_OUTPUT;
        VEC_PUSH(m->cx, &m->buffers, b);
    }
    b->last = step;
    return b;
}

void pass_memplan(Module *m)
{
    Plan p = {m, NEW_N(m->cx, Buffer *, m->graph->values.n)};
    for (int i = 0; i < m->groups.n; i++) {
        Kernel *k = m->groups.at[i]->kernel;
        Step s = {k, NEW_N(m->cx, int, k->args.n)};
        for (int j = 0; j < k->args.n; j++)
            s.arg[j] = buffer_of(&p, k->args.at[j], i)->id;
        VEC_PUSH(m->cx, &m->steps, s);
    }
}
