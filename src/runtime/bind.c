/* bind.c: a run context meets its inputs: symbols get values, guards are checked, memory is
 * planned. Nothing is allocated when the dims are those of the run before. */
#include "runtime/internal.h"

static NORETURN void input_error(sinter_run_context *rc, const Value *v, const char *what)
{
    ctx_fail(&rc->cx, ST_INPUT, &(Where){.tensor = v->name}, "input %s %s", v->name, what);
}

/* The symbol that a dim is, or NULL. */
static const Sym *dim_symbol(const Ix *d)
{
    bool one = d->c == 0 && d->n == 1 && d->term[0].coef == 1 && d->term[0].n == 1;
    return one ? d->term[0].atom[0]->sym : NULL;
}

static void bind_dim(sinter_run_context *rc, const Value *v, int k, int64_t actual, bool *set)
{
    const Ix *d = v->dim[k];
    const Sym *s = dim_symbol(d);
    int64_t want = ix_is_const(d) ? d->c : s && set[s->id] ? rc->sym[s->id] : -1;
    if (want >= 0 && want != actual)
        input_error(rc, v,
            ctx_printf(&rc->cx, "has size %lld on axis %d, but %s%s%s is %lld", (long long)actual,
                k, s ? "dimension '" : "the model's", s ? s->name : "", s ? "'" : "",
                (long long)want));
    if (s) {
        rc->sym[s->id] = actual;
        set[s->id] = true;
    }
}

static const Tensor *bound_tensor(void *user, const Value *v)
{
    sinter_run_context *rc = user;
    const Graph *g = rc->program->m.graph;
    for (int i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i] == v)
            return rc->input[i];
    return NULL;
}

static void take_input(sinter_run_context *rc, int i, const sinter_value *given, bool *set)
{
    const Value *v = rc->program->m.graph->inputs.at[i];
    if (!given && !v->data)
        input_error(rc, v, "is missing");
    rc->input[i] = v->data;
    if (given) {
        tensor_view(given, &rc->input_view[i]);
        rc->input[i] = &rc->input_view[i];
    }
    const Tensor *t = rc->input[i];
    if (t->type != v->type)
        input_error(rc, v,
            ctx_printf(&rc->cx, "has element type %s, but the model wants %s", dtype_text(t->type),
                dtype_text(v->type)));
    if (t->rank != v->rank)
        input_error(rc, v,
            ctx_printf(&rc->cx, "has rank %d, but the model wants %d", t->rank, v->rank));
    for (int k = 0; k < t->rank; k++)
        bind_dim(rc, v, k, t->dim[k], set);
}

/* ---- what the compiler assumed -----------------------------------------------------------------
 */

enum { TOLD_SYMS = 8 };
typedef struct Told {
    const Sym *sym[TOLD_SYMS];
    int n;
} Told;

static void tell_ex(Told *t, const Expr *e);

/* Collects the symbols of a condition, so that its failure can be told in numbers. */
static void tell_ix(Told *t, const Ix *a)
{
    for (int i = 0; a && i < a->n; i++)
        for (int j = 0; j < a->term[i].n; j++) {
            const Atom *m = a->term[i].atom[j];
            bool known = !m->sym;
            for (int k = 0; k < t->n; k++)
                known |= t->sym[k] == m->sym;
            if (!known && t->n < TOLD_SYMS)
                t->sym[t->n++] = m->sym;
            tell_ix(t, m->a);
            tell_ix(t, m->b);
            if (m->data)
                tell_ex(t, m->data);
        }
}

static void tell_ex(Told *t, const Expr *e)
{
    if (e->kind == EX_IX)
        tell_ix(t, e->ix);
    for (int i = 0; e->kind == EX_LOAD && i < e->n; i++)
        tell_ix(t, e->idx[i]);
    for (int i = 0; e->kind == EX_PRIM && i < e->n; i++)
        tell_ex(t, e->arg[i]);
}

static NORETURN void guard_error(sinter_run_context *rc, const Guard *gd)
{
    Told t = {.n = 0};
    Buf b;
    buf_init(&b, &rc->cx);
    buf_puts(&b, "with these inputs");
    tell_ex(&t, gd->cond);
    for (int i = 0; i < t.n; i++)
        buf_printf(&b, "%s%s = %lld", i ? ", " : " (", t.sym[i]->name,
            (long long)rc->sym[t.sym[i]->id]);
    buf_printf(&b, "%s: %s", t.n ? ")" : "", gd->what);
    Where w = node_where(gd->node);
    ctx_fail(&rc->cx, ST_INPUT, &w, "%s", b.s);
}

/* Symbols that data decides, in the order in which they were made; then the guards. */
static void solve(sinter_run_context *rc, const bool *set)
{
    const Graph *g = rc->program->m.graph;
    Interp *it = interp_new(&rc->cx, g->pool, bound_tensor, rc, rc->sym);
    for (int i = 0; i < pool_n_syms(g->pool); i++) {
        const Sym *s = pool_sym(g->pool, i);
        if (s->source)
            rc->sym[i] = interp_expr(it, s->source).i;
        else if (!set[i])
            rc->sym[i] = 1;
        if (rc->sym[i] < s->atom->lo)
            ctx_fail(&rc->cx, ST_INPUT, NULL,
                "a dimension that the inputs decide is negative (%lld)", (long long)rc->sym[i]);
    }
    for (int i = 0; i < g->guards.n; i++) {
        const Guard *gd = &g->guards.at[i];
        if (!interp_expr(it, gd->cond).u)
            guard_error(rc, gd);
    }
}

static void grow(sinter_run_context *rc, char **p, size_t *have, size_t want)
{
    if (*have >= want && *p)
        return;
    Alloc *a = rc->cx.arena.alloc;
    alloc_put(a, *p, *have);
    *have = 0; /* *p goes stale here and is overwritten at once */
    *p = alloc_get(a, want, 64);
    if (!*p)
        ctx_fail(&rc->cx, ST_MEMORY, NULL, "out of memory: a run needs %lld bytes",
            (long long)want);
    *have = want;
}

static int64_t checked_bytes(sinter_run_context *rc, Interp *it, const Value *v)
{
    int64_t n = dtype_bytes(v->type);
    Where w = v->origin ? node_where(v->origin) : (Where){0};
    w.tensor = v->name;
    for (int k = 0; k < v->rank; k++) {
        int64_t d = interp_ix(it, v->dim[k]);
        if (d < 0)
            ctx_fail(&rc->cx, ST_INPUT, &w, "with these inputs, dimension %d of %s is %lld", k,
                v->name, (long long)d);
        if (!mul_ok(n, d, &n) || n > LIM_ARENA_BYTES)
            ctx_fail(&rc->cx, ST_LIMIT, &w, "tensor %s would be larger than %lld bytes", v->name,
                (long long)LIM_ARENA_BYTES);
    }
    return n;
}

/* Sizes and offsets of the intermediate values of compiled code. */
static void plan_arena(sinter_run_context *rc, Interp *it)
{
    const Module *m = &rc->program->m;
    int n = 0;
    Ctx *cx = &rc->cx;
    int64_t *bytes = NEW_N(cx, int64_t, m->buffers.n), *offset = NEW_N(cx, int64_t, m->buffers.n);
    int *first = NEW_N(cx, int, m->buffers.n), *last = NEW_N(cx, int, m->buffers.n);
    for (int i = 0; i < m->buffers.n; i++) {
        const Buffer *b = m->buffers.at[i];
        rc->bytes[i] = checked_bytes(rc, it, b->value);
        if (b->kind != BUF_ARENA)
            continue;
        bytes[n] = rc->bytes[i];
        first[n] = b->first;
        last[n++] = b->last;
    }
    rc->arena_used = arena_plan(cx, n, bytes, first, last, offset, &rc->arena_bound);
    if (rc->arena_used > LIM_ARENA_BYTES)
        ctx_fail(cx, ST_LIMIT, NULL, "a run would need %lld bytes for intermediate values",
            (long long)rc->arena_used);
    n = 0;
    for (int i = 0; i < m->buffers.n; i++)
        if (m->buffers.at[i]->kind == BUF_ARENA)
            rc->offset[i] = offset[n++];
}

/* The interpreter holds every value until the end. */
static void plan_interpreted(sinter_run_context *rc, Interp *it)
{
    const Module *m = &rc->program->m;
    for (int i = 0; i < m->defs.n; i++)
        rc->arena_used += checked_bytes(rc, it, m->defs.at[i]->out);
    rc->arena_bound = rc->arena_used;
}

static void plan_steps(sinter_run_context *rc, Interp *it)
{
    const Module *m = &rc->program->m;
    int64_t most = 0;
    for (int i = 0; i < m->steps.n; i++) {
        const Kernel *k = m->steps.at[i].kernel;
        rc->tiles[i] = interp_ix(it, k->tiles);
        int64_t scratch = interp_ix(it, k->scratch);
        most = MAX(most, scratch);
    }
    if (most > LIM_ARENA_BYTES / m->opt.threads)
        ctx_fail(&rc->cx, ST_LIMIT, NULL,
            "a kernel would need %lld bytes of scratch in each thread", (long long)most);
    rc->scratch_stride = ((size_t)most + 4095) & ~(size_t)4095;
}

/* Takes the memory that was planned. */
static void take_memory(sinter_run_context *rc)
{
    const Module *m = &rc->program->m;
    grow(rc, &rc->arena, &rc->arena_bytes, (size_t)rc->arena_used);
    grow(rc, &rc->scratch, &rc->scratch_bytes, rc->scratch_stride * (size_t)m->opt.threads);
    for (int i = 0; i < m->buffers.n; i++)
        if (m->buffers.at[i]->kind == BUF_ARENA)
            rc->ptr[i] = rc->arena + rc->offset[i];
        else if (m->buffers.at[i]->kind == BUF_CONST)
            rc->ptr[i] = m->buffers.at[i]->value->data->data;
}

static void plan(sinter_run_context *rc)
{
    const Module *m = &rc->program->m;
    Interp *it = interp_new(&rc->cx, m->graph->pool, bound_tensor, rc, rc->sym);
    rc->planned = rc->holds_memory = false;
    rc->arena_used = rc->arena_bound = 0;
    if (m->opt.level > 0) {
        plan_arena(rc, it);
        plan_steps(rc, it);
    } else
        plan_interpreted(rc, it);
    for (int i = 0; i < m->graph->outputs.n; i++)
        rc->out_bytes[i] = checked_bytes(rc, it, m->graph->outputs.at[i]);
    rc->planned = true;
}

void context_memory(sinter_run_context *rc, sinter_value *const *outputs)
{
    const Module *m = &rc->program->m;
    int64_t need = rc->arena_used + (int64_t)rc->scratch_stride * m->opt.threads;
    for (int i = 0; i < m->graph->outputs.n; i++)
        need += outputs[i] ? 0 : rc->out_bytes[i];
    if (m->opt.max_memory && need > m->opt.max_memory)
        ctx_fail(&rc->cx, ST_LIMIT,
            &(Where){.hint = "raise --max-memory, or use smaller dims or fewer threads"},
            "a run needs %lld bytes for intermediate values and outputs, but only %lld are allowed",
            (long long)need, (long long)m->opt.max_memory);
    if (m->opt.level > 0 && !rc->holds_memory)
        take_memory(rc);
    rc->holds_memory = true;
}

void context_bind(sinter_run_context *rc, const sinter_value *const *inputs, int n_inputs)
{
    const Graph *g = rc->program->m.graph;
    bool small[256] = {false};
    int n_syms = pool_n_syms(g->pool);
    bool *set = n_syms <= NELEM(small) ? small : NEW_N(&rc->cx, bool, n_syms);
    if (n_inputs < 0 || n_inputs > g->inputs.n)
        ctx_fail(&rc->cx, ST_USAGE, NULL, "the model has %d inputs, but %d were given", g->inputs.n,
            n_inputs);
    for (int i = 0; i < g->inputs.n; i++)
        take_input(rc, i, i < n_inputs ? inputs[i] : NULL, set);
    bool dynamic = g->guards.n > 0;
    for (int i = 0; i < n_syms; i++)
        dynamic |= pool_sym(g->pool, i)->source != NULL;
    size_t size = (size_t)n_syms * sizeof *rc->sym;
    if (dynamic || !rc->planned)
        solve(rc, set);
    if (rc->planned && (!size || !memcmp(rc->sym, rc->bound, size)))
        return;
    plan(rc);
    if (size)
        memcpy(rc->bound, rc->sym, size);
}
