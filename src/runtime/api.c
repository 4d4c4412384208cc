/* api.c: the border between sinter.h and the library: options, errors, models. */
#include "graph/op.h"
#include "runtime/internal.h"
#include <stdio.h>

const char *sinter_version(void) { return SINTER_VERSION; }

void sinter_options_init(sinter_options *o)
{
    *o = (sinter_options){.size = sizeof *o, .opt_level = 2, .fuse = 1};
}

sinter_options api_options(const sinter_options *o)
{
    sinter_options full;
    sinter_options_init(&full);
    if (o)
        memcpy(&full, o, MIN(o->size, sizeof full));
    full.size = sizeof full;
    return full;
}

void api_alloc(Alloc *a, const sinter_options *o)
{
    *a = *alloc_default();
    a->count = a->fail_at = a->live_bytes = 0;
    if (o && o->alloc && o->release) {
        a->get = o->alloc;
        a->put = o->release;
        a->user = o->alloc_user;
    }
}

/* ---- errors ------------------------------------------------------------------------------------
 */

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

void api_problem(const Problem *p, sinter_error *err)
{
    memset(err, 0, sizeof *err);
    err->code = (sinter_code)p->code;
    copy_text(err->message, sizeof err->message, p->message);
    copy_text(err->node, sizeof err->node, p->where.node);
    copy_text(err->op_type, sizeof err->op_type, p->where.op_type);
    copy_text(err->tensor, sizeof err->tensor, p->where.tensor);
    copy_text(err->hint, sizeof err->hint, p->where.hint);
}

/* "node X (Op): message", a line for each problem, as many as fit. */
static void all_problems(const Ctx *cx, sinter_error *err)
{
    size_t n = 0;
    for (const Problem *p = cx->problems; p; p = p->next) {
        char line[2048];
        if (p->where.node)
            snprintf(line, sizeof line, "node %s (%s): %s",
                p->where.node[0] ? p->where.node : "without a name",
                p->where.op_type ? p->where.op_type : "?", p->message);
        else
            snprintf(line, sizeof line, "%s", p->message);
        int put = snprintf(err->message + n, sizeof err->message - n, "%s%s", n ? "\n" : "", line);
        n += (size_t)MAX(0, put);
        if (n >= sizeof err->message)
            return;
    }
}

/* Unsupported operators are the answer only if nothing worse is wrong. */
static const Problem *main_problem(const Ctx *cx)
{
    for (const Problem *p = cx->problems; p; p = p->next)
        if (p->code != ST_UNSUPPORTED)
            return p;
    return cx->problems;
}

sinter_code api_ok(sinter_error *err)
{
    if (err)
        memset(err, 0, sizeof *err);
    return SINTER_OK;
}

sinter_code api_call(Ctx *cx, void (*work)(void *), void *arg, sinter_error *err)
{
    volatile bool ok = false;
    TRY(cx) {
        work(arg);
        ctx_check(cx);
        ok = true;
    }
    CATCH {}
    if (ok)
        return api_ok(err);
    const Problem *p = main_problem(cx);
    if (err) {
        api_problem(p, err);
        all_problems(cx, err);
    }
    return (sinter_code)p->code;
}

sinter_code api_error(sinter_error *err, sinter_code code, const char *message)
{
    if (err)
        api_problem(&(Problem){.code = (Code)code, .message = (char *)message}, err);
    return code;
}

/* ---- models ------------------------------------------------------------------------------------
 */

static void load(void *arg)
{
    sinter_model *m = arg;
    if (m->path) {
        m->path = ctx_strdup(&m->cx, m->path);
        m->graph = graph_import_file(&m->cx, m->path);
    } else
        m->graph = graph_import(&m->cx, m->bytes, m->n_bytes, NULL);
}

static void copy_bytes(void *arg)
{
    sinter_model *m = arg;
    void *copy = ctx_alloc(&m->cx, MAX(m->n_bytes, (size_t)1));
    m->bytes = m->n_bytes ? memcpy(copy, m->bytes, m->n_bytes) : copy;
    load(m);
}

static sinter_code new_model(const sinter_model *proto, const sinter_options *options,
    sinter_model **out, sinter_error *err)
{
    Alloc alloc;
    sinter_options o = api_options(options);
    api_alloc(&alloc, &o);
    sinter_model *m = alloc_get(&alloc, sizeof *m, 16);
    if (!m)
        return api_error(err, SINTER_ERR_MEMORY, "out of memory");
    *m = *proto;
    m->alloc = alloc;
    ctx_init(&m->cx, &m->alloc);
    m->cx.log = o.log;
    m->cx.log_user = o.log_user;
    m->cx.log_level = o.log_level;
    sinter_code code = api_call(&m->cx, m->path ? load : copy_bytes, m, err);
    if (code) {
        sinter_model_free(m);
        return code;
    }
    *out = m;
    return SINTER_OK;
}

sinter_code sinter_load_file(const char *path, const sinter_options *options, sinter_model **model,
    sinter_error *err)
{
    if (!path || !model)
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_load_file: path and model must not be NULL");
    *model = NULL;
    return new_model(&(sinter_model){.path = path}, options, model, err);
}

sinter_code sinter_load_memory(const void *bytes, size_t n, const sinter_options *options,
    sinter_model **model, sinter_error *err)
{
    if ((!bytes && n) || !model)
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_load_memory: bytes and model must not be NULL");
    *model = NULL;
    return new_model(&(sinter_model){.bytes = bytes, .n_bytes = n}, options, model, err);
}

void sinter_model_free(sinter_model *m)
{
    if (!m)
        return;
    Alloc alloc = m->alloc;
    ctx_free(&m->cx);
    alloc_put(&alloc, m, sizeof *m);
}

int sinter_input_count(const sinter_model *m) { return m ? m->graph->inputs.n : 0; }

int sinter_output_count(const sinter_model *m) { return m ? m->graph->outputs.n : 0; }

static sinter_code describe(const Value *v, sinter_io *io)
{
    *io = (sinter_io){.name = v->name,
        .dtype = (sinter_dtype)v->declared_type,
        .rank = v->declared_rank,
        .optional = v->data != NULL};
    for (int k = 0; k < v->declared_rank && k < SINTER_MAX_RANK; k++) {
        const Ix *d = v->declared_dim[k];
        io->dim[k] = d && ix_is_const(d) ? d->c : -1;
        if (d && !ix_is_const(d) && d->n == 1 && d->term[0].n == 1 && d->term[0].atom[0]->sym)
            io->dim_name[k] = d->term[0].atom[0]->sym->name;
    }
    return SINTER_OK;
}

sinter_code sinter_input(const sinter_model *m, int i, sinter_io *io)
{
    return m && io && i >= 0 && i < m->graph->inputs.n ? describe(m->graph->inputs.at[i], io)
                                                       : SINTER_ERR_USAGE;
}

sinter_code sinter_output(const sinter_model *m, int i, sinter_io *io)
{
    return m && io && i >= 0 && i < m->graph->outputs.n ? describe(m->graph->outputs.at[i], io)
                                                        : SINTER_ERR_USAGE;
}

sinter_code sinter_model_problem(const sinter_model *m, int i, sinter_error *problem)
{
    for (int j = 0; m && j < m->graph->nodes.n; j++) {
        const Node *n = m->graph->nodes.at[j];
        if (op_find(n->op_type, n->domain, n->opset) || i-- > 0)
            continue;
        Where w = node_where(n);
        char text[512];
        snprintf(text, sizeof text, "operator %s of %s (opset %d) is not supported", n->op_type,
            n->domain[0] ? n->domain : "ai.onnx", n->opset);
        w.hint = "see sinter --list-ops for what this version knows";
        api_problem(&(Problem){.code = ST_UNSUPPORTED, .message = text, .where = w}, problem);
        return SINTER_OK;
    }
    return SINTER_ERR_USAGE;
}
