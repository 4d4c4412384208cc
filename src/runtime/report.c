/* report.c: models and programs described as JSON: the inspect, report and program.json objects. */
#include "graph/op.h"
#include "runtime/internal.h"
#include <stdio.h>

/* ---- inspect -----------------------------------------------------------------------------------
 */

static void json_io(Buf *b, const char *key, Value *const *list, int n)
{
    buf_printf(b, ",\"%s\":[", key);
    for (int i = 0; i < n; i++) {
        const Value *v = list[i];
        buf_puts(b, i ? ",{\"name\":" : "{\"name\":");
        buf_quoted(b, v->name);
        buf_printf(b, ",\"dtype\":\"%s\",\"shape\":", dtype_text(v->declared_type));
        if (v->declared_rank < 0)
            buf_puts(b, "null");
        else
            buf_putc(b, '[');
        for (int k = 0; k < v->declared_rank; k++) {
            const Ix *d = v->declared_dim[k];
            buf_puts(b, k ? "," : "");
            if (!d)
                buf_puts(b, "null");
            else if (ix_is_const(d))
                buf_printf(b, "%lld", (long long)d->c);
            else {
                Buf name;
                buf_init(&name, b->cx);
                ix_print(&name, d);
                buf_quoted(b, ix_only_sym(d) ? ix_only_sym(d)->name : name.s);
            }
        }
        buf_puts(b, v->declared_rank < 0 ? "}" : "]}");
    }
    buf_putc(b, ']');
}

static void json_ops(Buf *b, const Graph *g)
{
    bool first = true;
    buf_puts(b, ",\"op_counts\":{");
    for (int i = 0; i < g->nodes.n; i++) {
        int count = 0;
        bool seen = false;
        for (int j = 0; j < g->nodes.n && !seen; j++) {
            bool same = !strcmp(g->nodes.at[i]->op_type, g->nodes.at[j]->op_type);
            seen = same && j < i;
            count += same;
        }
        if (seen)
            continue;
        buf_puts(b, first ? "" : ",");
        first = false;
        buf_quoted(b, g->nodes.at[i]->op_type);
        buf_printf(b, ":%d", count);
    }
    buf_puts(b, "},\"unsupported\":[");
    first = true;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        if (op_find(n->op_type, n->domain, n->opset))
            continue;
        buf_puts(b, first ? "{\"op_type\":" : ",{\"op_type\":");
        first = false;
        buf_quoted(b, n->op_type);
        buf_puts(b, ",\"domain\":");
        buf_quoted(b, n->domain);
        buf_printf(b, ",\"opset\":%d,\"node\":", n->opset);
        buf_quoted(b, node_where(n).node);
        buf_puts(b, ",\"reason\":\"operator not supported\",\"hint\":\"see sinter --list-ops\"}");
    }
    buf_putc(b, ']');
}

static void model_json(void *arg)
{
    sinter_model *m = arg;
    const Graph *g = m->graph;
    Buf b;
    buf_init(&b, &m->cx);
    buf_puts(&b, "{\"schema\":1,\"model\":");
    buf_quoted(&b, m->path ? m->path : "");
    buf_printf(&b, ",\"ir_version\":%d,\"opsets\":{", g->ir_version);
    for (int i = 0; i < g->opsets.n; i++) {
        buf_puts(&b, i ? "," : "");
        buf_quoted(&b, g->opsets.at[i].domain[0] ? g->opsets.at[i].domain : "ai.onnx");
        buf_printf(&b, ":%d", g->opsets.at[i].version);
    }
    buf_putc(&b, '}');
    json_io(&b, "inputs", g->inputs.at, g->inputs.n);
    json_io(&b, "outputs", g->outputs.at, g->outputs.n);
    buf_printf(&b, ",\"parameters\":%lld,\"nodes\":%d", (long long)g->parameters,
        g->nodes_imported);
    json_ops(&b, g);
    buf_putc(&b, '}');
    m->json = b.s;
}

const char *sinter_model_json(sinter_model *m)
{
    if (m && !m->json)
        (void)api_call(&m->cx, model_json, m, NULL);
    return m ? m->json : NULL;
}

/* ---- report ------------------------------------------------------------------------------------
 */

typedef struct Report {
    const sinter_program *p;
    const sinter_run_context *rc;
    Ctx cx;
    Buf b, steps;
    const char *target;
    int tier;
    const Buffer **buffer; /* by value id */
    const Group **group;   /* by value id: the group that computes it */
} Report;

/* Fills the tables. */
static void index_values(Report *r)
{
    const Module *m = &r->p->m;
    r->buffer = NEW_N(&r->cx, const Buffer *, m->graph->values.n);
    r->group = NEW_N(&r->cx, const Group *, m->graph->values.n);
    for (int i = 0; i < m->buffers.n; i++)
        r->buffer[m->buffers.at[i]->value->id] = m->buffers.at[i];
    for (int i = 0; i < m->groups.n; i++)
        for (int j = 0; j < m->groups.at[i]->stages.n; j++)
            r->group[m->groups.at[i]->stages.at[j]->out->id] = m->groups.at[i];
}

static int64_t value_bytes(const Report *r, const Value *v)
{
    const Buffer *b = r->rc ? r->buffer[v->id] : NULL;
    if (b)
        return r->rc->bytes[b->id];
    int64_t n = dtype_bytes(v->type);
    for (int k = 0; k < v->rank; k++)
        n *= MAX(0, ix_hint(v->dim[k]));
    return n;
}

static void json_dims(Report *r)
{
    const Pool *pool = r->p->m.graph->pool;
    buf_puts(&r->b, ",\"dims\":{");
    for (int i = 0, n = 0; r->rc && i < pool_n_syms(pool); i++) {
        if (pool_sym(pool, i)->source)
            continue;
        buf_puts(&r->b, n++ ? "," : "");
        buf_quoted(&r->b, pool_sym(pool, i)->name);
        buf_printf(&r->b, ":%lld", (long long)r->rc->sym[i]);
    }
    buf_putc(&r->b, '}');
}

/* What became of an edge: the value's definition went into its readers; one kernel holds both; or
 * memory. */
static void json_edge(Report *r, const Edge *e)
{
    const Module *m = &r->p->m;
    const Group *from = r->group[e->value->id];
    const char *fate = "inlined", *reason = "", *unlock = "";
    if (from && !m->home[e->value->id])
        fate = "tile-local";
    else if (from) {
        fate = "materialised";
        reason = e->value->is_output ? "graph output"
            : e->value->keep         ? "kept by request"
                                     : "not attempted";
        unlock = e->value->is_output ? "" : "deeper fusion";
    }
    buf_puts(&r->b, "{\"from\":");
    buf_quoted(&r->b, node_where(e->value->origin).node);
    buf_puts(&r->b, ",\"to\":");
    buf_quoted(&r->b, e->to ? node_where(e->to).node : "");
    buf_printf(&r->b, ",\"fate\":\"%s\",\"reason\":\"%s\",\"bytes\":%lld,\"unlock\":\"%s\"}", fate,
        reason, (long long)value_bytes(r, e->value), unlock);
}

static void count_nests(const Stmts *list, int *nests, int *contractions)
{
    for (int i = 0; i < list->n; i++) {
        const Stmt *s = list->at[i];
        *nests += s->kind == S_FOR || s->kind == S_BODY || s->kind == S_CALL || s->kind == S_STORE;
        *contractions += s->kind == S_CALL;
    }
}

/* Kernels that do the same: equal text but for names and numbers of values. */
static int unique_kernels(const Report *r)
{
    int n = 0;
    Map seen;
    map_init(&seen, (Ctx *)&r->cx);
    for (int i = 0; i < r->p->m.steps.n; i++) {
        const Kernel *k = r->p->m.steps.at[i].kernel;
        if (!map_get(&seen, &k->signature, sizeof k->signature)) {
            map_put(&seen, &k->signature, sizeof k->signature, (void *)k);
            n++;
        }
    }
    return n;
}

static void report(void *arg)
{
    Report *r = arg;
    const Module *m = &r->p->m;
    Buf *b = &r->b;
    index_values(r);
    int nests = 0, contractions = 0, values = 0;
    int64_t bytes = 0;
    buf_init(b, &r->cx);
    for (int i = 0; i < m->steps.n; i++)
        count_nests(&m->steps.at[i].kernel->body, &nests, &contractions);
    for (int i = 0; i < m->buffers.n; i++)
        if (m->buffers.at[i]->kind == BUF_ARENA) {
            values++;
            bytes += value_bytes(r, m->buffers.at[i]->value);
        }
    buf_puts(b, "{\"schema\":1,\"model\":");
    buf_quoted(b, r->p->model->path ? r->p->model->path : "");
    json_dims(r);
    buf_printf(b,
        ",\"threads\":%d,\"isa\":\"%s\",\"nodes_imported\":%d,\"nodes_final\":%d,\"groups\":%d",
        m->opt.threads, m->opt.isa, m->graph->nodes_imported, m->nodes_final, m->groups.n);
    buf_printf(b,
        ",\"launches\":%d,\"library_calls\":0,\"unique_kernels\":%d,\"loop_nests\":%d"
        ",\"contractions\":%d",
        m->steps.n, unique_kernels(r), nests, contractions);
    buf_printf(b, ",\"materialised\":{\"count\":%d,\"bytes\":%lld}", values, (long long)bytes);
    buf_printf(b, ",\"unfused\":{\"launches\":%d,\"materialised\":{\"count\":%lld,\"bytes\":%lld}}",
        m->unfused_launches, (long long)m->unfused_values, (long long)m->unfused_bytes);
    buf_printf(b, ",\"arena_bytes\":%lld,\"arena_bound_bytes\":%lld,\"compile_ms\":",
        (long long)(r->rc ? r->rc->arena_used : 0), (long long)(r->rc ? r->rc->arena_bound : 0));
    buf_double(b, r->p->compile_ms);
    buf_puts(b, ",\"edges\":[");
    for (int i = 0; i < m->edges.n; i++) {
        buf_puts(b, i ? "," : "");
        json_edge(r, &m->edges.at[i]);
    }
    buf_puts(b, "]}");
}

sinter_code sinter_report(const sinter_program *program, const sinter_run_context *context,
    char **json, sinter_error *err)
{
    if (!program || !json)
        return api_error(err, SINTER_ERR_USAGE, "sinter_report: program and json must not be NULL");
    Report r = {.p = program, .rc = context && context->planned ? context : NULL};
    ctx_init(&r.cx, (Alloc *)&program->alloc);
    sinter_code code = api_call(&r.cx, report, &r, err);
    if (code == SINTER_OK && !(*json = text_copy(r.b.s, r.b.n)))
        code = api_error(err, SINTER_ERR_MEMORY, "out of memory");
    ctx_free(&r.cx);
    return code;
}

/* ---- emit --------------------------------------------------------------------------------------
 */

static void json_list(Buf *b, const Step *s, bool written)
{
    bool first = true;
    buf_puts(b, written ? ",\"writes\":[" : ",\"reads\":[");
    for (int j = 0; j < s->kernel->args.n; j++)
        if (s->kernel->arg_written.at[j] == written) {
            buf_printf(b, first ? "%d" : ",%d", s->arg[j]);
            first = false;
        }
    buf_putc(b, ']');
}

static void steps_json(Report *r)
{
    static const char *const kinds[] = {"input", "output", "constant", "arena"};
    const Module *m = &r->p->m;
    Buf *b = &r->steps;
    buf_puts(b, "{\"buffers\":[");
    for (int i = 0; i < m->buffers.n; i++) {
        const Buffer *f = m->buffers.at[i];
        buf_printf(b, "%s{\"id\":%d,\"bytes\":%lld,\"kind\":\"%s\",\"name\":", i ? "," : "", i,
            (long long)value_bytes(r, f->value), kinds[f->kind]);
        buf_quoted(b, f->value->name);
        buf_putc(b, '}');
    }
    buf_puts(b, "],\"steps\":[");
    for (int i = 0; i < m->steps.n; i++) {
        const Step *s = &m->steps.at[i];
        int nests = 0, contractions = 0;
        count_nests(&s->kernel->body, &nests, &contractions);
        buf_printf(b, "%s{\"kind\":\"kernel\",\"symbol\":\"%s\",\"nodes\":[", i ? "," : "",
            s->kernel->name);
        for (int j = 0; j < s->kernel->n_nodes; j++) {
            buf_puts(b, j ? "," : "");
            buf_quoted(b, node_where(s->kernel->nodes[j]).node);
        }
        buf_putc(b, ']');
        json_list(b, s, false);
        json_list(b, s, true);
        buf_printf(b, ",\"loop_nests\":%d}", nests);
    }
    buf_puts(b, "]}\n");
}

/* The emitter makes index forms in the program's pool, whose Ctx would otherwise have no TRY to
 * unwind to. */
static void emit_text(Report *r, Kernel **k, const EmitOptions *o, bool cuda)
{
    const Module *m = &r->p->m;
    volatile bool ok = false;
    TRY(m->cx) {
        (cuda ? emit_cuda : emit_c)(&r->b, &r->cx, m->graph->pool, k, m->steps.n, o);
        ok = true;
    }
    if (!ok)
        ctx_fail(&r->cx, ST_MEMORY, NULL, "out of memory");
}

/* "cuda" or "cuda:sm_90"; *arch is then what follows the colon. */
static bool is_cuda(const char *target, const char **arch)
{
    if (strncmp(target, "cuda", 4))
        return false;
    if (!target[4])
        return true;
    if (strncmp(target + 4, ":sm_", 4))
        return false;
    *arch = target + 5;
    size_t digits = strspn(target + 8, "0123456789");
    const char *end = target + 8 + digits; /* sm_90a */
    return digits >= 2 && digits <= 3 && (!*end || (strchr("af", *end) && !end[1]));
}

static void emit(void *arg)
{
    Report *r = arg;
    const Module *m = &r->p->m;
    index_values(r);
    buf_init(&r->b, &r->cx);
    buf_init(&r->steps, &r->cx);
    const char *arch = NULL;
    bool cuda = is_cuda(r->target, &arch);
    if (strcmp(r->target, "c") && !cuda)
        ctx_fail(&r->cx, ST_USAGE, &(Where){.hint = "c, cuda or cuda:sm_90"},
            "there is no target '%s'", r->target);
    Kernel **k = NEW_N(&r->cx, Kernel *, m->steps.n);
    for (int i = 0; i < m->steps.n; i++) {
        k[i] = NEW(&r->cx, Kernel);
        *k[i] = *m->steps.at[i]
                     .kernel; /* the emitter fills sites: the program's own must stay as they are */
        k[i]->sites.at = NULL;
        k[i]->sites.n = k[i]->sites.cap = 0;
    }
    EmitOptions o = {.tier = r->tier, .isa = m->opt.isa, .arch = arch};
    emit_text(r, k, &o, cuda);
    steps_json(r);
}

sinter_code sinter_emit(const sinter_program *program, const sinter_run_context *context,
    const char *target, int tier, char **source, char **json, sinter_error *err)
{
    if (!program || !target || !source || !json)
        return api_error(err, SINTER_ERR_USAGE, "sinter_emit: no argument may be NULL");
    *source = *json = NULL;
    Report r = {.p = program,
        .rc = context && context->planned ? context : NULL,
        .target = target,
        .tier = tier};
    ctx_init(&r.cx, (Alloc *)&program->alloc);
    pthread_mutex_lock((pthread_mutex_t *)&program->emitting);
    sinter_code code = api_call(&r.cx, emit, &r, err);
    program->m.cx->trap = NULL; /* where an error of r.cx left it */
    pthread_mutex_unlock((pthread_mutex_t *)&program->emitting);
    if (code == SINTER_OK) {
        *source = text_copy(r.b.s, r.b.n);
        *json = text_copy(r.steps.s, r.steps.n);
        if (!*source || !*json) {
            sinter_text_free(*source);
            sinter_text_free(*json);
            *source = *json = NULL;
            code = api_error(err, SINTER_ERR_MEMORY, "out of memory");
        }
    }
    ctx_free(&r.cx);
    return code;
}
