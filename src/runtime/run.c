/* run.c: run contexts and the run itself. */
#include "runtime/internal.h"

typedef struct Run {
    sinter_run_context *rc;
    const sinter_value *const *inputs;
    int n_inputs;
    sinter_value **outputs;
    int n_outputs;
} Run;

/* ---- contexts ----------------------------------------------------------------------------------
 */

static void free_outputs(void *arg)
{
    sinter_run_context *rc = arg;
    for (int i = 0; i < rc->program->m.graph->outputs.n && rc->out; i++)
        sinter_value_free(rc->out[i]);
    Alloc *a = rc->cx.arena.alloc;
    alloc_put(a, rc->arena, rc->arena_bytes);
    alloc_put(a, rc->scratch, rc->scratch_bytes);
}

static void init_context(void *arg)
{
    sinter_run_context *rc = arg;
    const Module *m = &rc->program->m;
    Ctx *cx = &rc->cx;
    int n_syms = pool_n_syms(m->graph->pool);
    rc->sym = NEW_N(cx, int64_t, n_syms);
    rc->bound = NEW_N(cx, int64_t, n_syms);
    rc->ptr = NEW_N(cx, void *, m->buffers.n);
    rc->offset = NEW_N(cx, int64_t, m->buffers.n);
    rc->bytes = NEW_N(cx, int64_t, m->buffers.n);
    rc->out_bytes = NEW_N(cx, int64_t, m->graph->outputs.n);
    rc->tiles = NEW_N(cx, int64_t, m->steps.n);
    rc->out = NEW_N(cx, sinter_value *, m->graph->outputs.n);
    rc->input = NEW_N(cx, const Tensor *, m->graph->inputs.n);
    rc->input_view = NEW_N(cx, Tensor, m->graph->inputs.n);
    ctx_defer(cx, free_outputs, rc);
    rc->step_args = NEW_N(cx, void **, m->steps.n);
    for (int i = 0; i < m->steps.n; i++)
        rc->step_args[i] = NEW_N(cx, void *, m->steps.at[i].kernel->args.n);
    if (m->opt.threads > 1 && m->opt.level > 0)
        rc->team = team_new(cx, m->opt.threads);
    rc->start = arena_mark(&cx->arena);
}

sinter_code sinter_context_new(const sinter_program *program, sinter_run_context **context,
    sinter_error *err)
{
    if (!program || !context)
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_context_new: program and context must not be NULL");
    *context = NULL;
    Alloc *a = (Alloc *)&program->alloc;
    sinter_run_context *rc = alloc_get(a, sizeof *rc, 16);
    if (!rc)
        return api_error(err, SINTER_ERR_MEMORY, "out of memory");
    memset(rc, 0, sizeof *rc);
    rc->program = program;
    ctx_init(&rc->cx, a);
    rc->cx.log = program->cx.log;
    rc->cx.log_user = program->cx.log_user;
    rc->cx.log_level = program->cx.log_level;
    sinter_code code = api_call(&rc->cx, init_context, rc, err);
    if (code)
        sinter_context_free(rc);
    else
        *context = rc;
    return code;
}

void sinter_context_free(sinter_run_context *rc)
{
    if (!rc)
        return;
    Alloc *a = rc->cx.arena.alloc;
    sinter_context_free(rc->variant);
    ctx_free(&rc->cx);
    alloc_put(a, rc, sizeof *rc);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void check_given(Run *r, const Value *v, const sinter_value *given,
    const sinter_tensor *want)
{
    if (given->t.dtype != want->dtype || given->room < want->bytes)
        ctx_fail(&r->rc->cx, ST_INPUT, &(Where){.tensor = v->name},
            "the caller's memory for output %s must be %s with %lld bytes at least", v->name,
            dtype_text(v->type), (long long)want->bytes);
}

/* Output i's memory: the caller's, or the context's own, grown when dims did. */
static void *output_memory(Run *r, int i, const int64_t *dim)
{
    sinter_run_context *rc = r->rc;
    const Value *v = rc->program->m.graph->outputs.at[i];
    sinter_tensor t = {.dtype = (sinter_dtype)v->type, .rank = v->rank, .count = 1};
    for (int k = 0; k < v->rank; k++) {
        t.dim[k] = dim[k];
        t.count *= dim[k];
    }
    t.bytes = (size_t)t.count * (size_t)dtype_bytes(v->type);
    sinter_value *given = r->outputs[i];
    if (given) {
        check_given(r, v, given, &t);
        t.data = given->t.data;
        given->t = t;
        return t.data;
    }
    sinter_value *own = rc->out[i];
    if (!own || own->room < t.bytes) {
        sinter_value_free(own);
        rc->out[i] = NULL;
        own = rc->out[i] = value_new(rc->cx.arena.alloc, &t, NULL);
        if (!own)
            ctx_fail(&rc->cx, ST_MEMORY, NULL, "out of memory for output %s", v->name);
    }
    t.data = own->own;
    own->t = t;
    r->outputs[i] = own;
    return t.data;
}

/* ---- compiled ----------------------------------------------------------------------------------
 */

typedef struct Launch {
    sinter_run_context *rc;
    int step;
} Launch;

static int run_slice(void *arg, int64_t lo, int64_t hi, int thread)
{
    Launch *l = arg;
    sinter_run_context *rc = l->rc;
    const sinter_program *p = rc->program;
    const Kernels *k = p->kernels;
    sinter_kctx c = {.scratch = rc->scratch + (size_t)thread * rc->scratch_stride,
        .thread = thread,
        .threads = p->m.opt.threads,
        .error = rc->error,
        .seed = p->m.opt.seed,
        .kernels = k,
        .igemm = (const void *)k->igemm,
        .pack_b = (const void *)k->pack_b,
        .strip = (const void *)k->strip,
        .unstrip = (const void *)k->unstrip,
        .transpose = (const void *)k->transpose,
        .depthwise = (const void *)k->depthwise,
        .rows = (const void *)k->rows};
    return p->fn[l->step](&c, rc->step_args[l->step], rc->sym, lo, hi);
}

static NORETURN void site_error(sinter_run_context *rc, int step, int site)
{
    const Kernel *k = rc->program->m.steps.at[step].kernel;
    const Site *s = &k->sites.at[site - 1];
    const Node *n = k->n_nodes ? k->nodes[k->n_nodes - 1] : NULL;
    Where w = n ? node_where(n) : (Where){0};
    w.tensor = s->value->name;
    if (!strcmp(s->what, "integer division by zero"))
        ctx_fail(&rc->cx, ST_RUNTIME, &w, "%s", s->what);
    ctx_fail(&rc->cx, ST_RUNTIME, &w, "%s: %lld, into tensor %s", s->what, (long long)rc->error[0],
        s->value->name);
}

static void run_steps(sinter_run_context *rc)
{
    const Module *m = &rc->program->m;
    for (int i = 0; i < m->steps.n; i++) {
        const Step *s = &m->steps.at[i];
        for (int j = 0; j < s->kernel->args.n; j++)
            rc->step_args[i][j] = rc->ptr[s->arg[j]];
        Launch l = {rc, i};
        int site = rc->team ? team_run(rc->team, rc->tiles[i], 1, run_slice, &l)
            : rc->tiles[i]  ? run_slice(&l, 0, rc->tiles[i], 0)
                            : 0;
        if (site)
            site_error(rc, i, site);
    }
}

static void run_compiled(Run *r)
{
    sinter_run_context *rc = r->rc;
    const Module *m = &rc->program->m;
    Interp it = {.cx = &rc->cx, .pool = m->graph->pool, .sym = rc->sym};
    for (int i = 0; i < m->buffers.n; i++) {
        const Buffer *b = m->buffers.at[i];
        int64_t dim[MAX_RANK];
        for (int k = 0; b->kind == BUF_OUTPUT && k < b->value->rank; k++)
            dim[k] = interp_ix(&it, b->value->dim[k]);
        if (b->kind == BUF_OUTPUT)
            rc->ptr[i] = output_memory(r, b->io, dim);
        else if (b->kind == BUF_INPUT)
            rc->ptr[i] = rc->input[b->io]->data;
    }
    run_steps(rc);
}

/* ---- interpreted -------------------------------------------------------------------------------
 */

typedef struct Interpreted {
    sinter_run_context *rc;
    const Tensor **tensor; /* by value id */
} Interpreted;

static const Tensor *value_tensor(void *user, const Value *v)
{
    Interpreted *in = user;
    const Graph *g = in->rc->program->m.graph;
    for (int i = 0; v->is_input && i < g->inputs.n; i++)
        if (g->inputs.at[i] == v)
            return in->rc->input[i];
    return in->tensor[v->id];
}

static void run_interpreted(Run *r)
{
    sinter_run_context *rc = r->rc;
    const Module *m = &rc->program->m;
    Interpreted in = {rc, NEW_N(&rc->cx, const Tensor *, m->graph->values.n)};
    Interp *it = interp_new(&rc->cx, m->graph->pool, value_tensor, &in, rc->sym);
    for (int i = 0; i < m->defs.n; i++)
        in.tensor[m->defs.at[i]->out->id] = interp_def(it, m->defs.at[i]);
    for (int i = 0; i < m->graph->outputs.n; i++) {
        const Tensor *t = in.tensor[m->graph->outputs.at[i]->id];
        void *to = output_memory(r, i, t->dim);
        if (t->bytes)
            memcpy(to, t->data, t->bytes);
    }
}

static void run(void *arg)
{
    Run *r = arg;
    const Module *m = &r->rc->program->m;
    if (r->n_outputs != m->graph->outputs.n)
        ctx_fail(&r->rc->cx, ST_USAGE, NULL, "the model has %d outputs, but %d were asked for",
            m->graph->outputs.n, r->n_outputs);
    context_bind(r->rc, r->inputs, r->n_inputs);
    context_memory(r->rc, r->outputs);
    if (m->opt.level == 0)
        run_interpreted(r);
    else
        run_compiled(r);
}

/* Is an input given whose default the program took for a constant? */
static bool overrides(const sinter_run_context *rc, const sinter_value *const *inputs, int n)
{
    const Module *m = &rc->program->m;
    for (int i = 0; i < n && i < m->graph->inputs.n && !m->opt.overridable; i++)
        if (inputs[i] && m->graph->inputs.at[i]->data)
            return true;
    return false;
}

/* The same run on the variant of the program, in a context of its own. */
static sinter_code run_variant(sinter_run_context *rc, const sinter_value *const *inputs,
    int n_inputs, sinter_value **outputs, int n_outputs, sinter_error *err)
{
    sinter_program *variant;
    sinter_code code = SINTER_OK;
    if (!rc->variant && !(code = program_variant(rc->program, &variant, err)))
        code = sinter_context_new(variant, &rc->variant, err);
    return code ? code : sinter_run(rc->variant, inputs, n_inputs, outputs, n_outputs, err);
}

sinter_code sinter_run(sinter_run_context *rc, const sinter_value *const *inputs, int n_inputs,
    sinter_value **outputs, int n_outputs, sinter_error *err)
{
    if (!rc || (n_inputs && !inputs) || (n_outputs && !outputs))
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_run: context, inputs and outputs must not be NULL");
    if (overrides(rc, inputs, n_inputs))
        return run_variant(rc, inputs, n_inputs, outputs, n_outputs, err);
    Run r = {rc, inputs, n_inputs, outputs, n_outputs};
    sinter_code code = api_call(&rc->cx, run, &r, err);
    ctx_reset(&rc->cx, rc->start); /* now, so that the next run finds its memory in one piece */
    return code;
}
