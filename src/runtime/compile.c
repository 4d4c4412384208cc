/* compile.c: sinter_program: a model through the passes and the code generator. */
#include "runtime/internal.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>

/* What the emitted text may call. */
// clang-format off
static const JitSym libm_symbols[] = {
#define S(fn) {#fn, (const void *)(fn)}
    S(sqrtf), S(expf), S(logf), S(powf), S(erff), S(tanhf), S(sinf), S(cosf), S(tanf), S(asinf),
    S(acosf), S(atanf), S(sinhf), S(coshf), S(asinhf), S(acoshf), S(atanhf), S(floorf), S(ceilf),
    S(truncf), S(rintf), S(fabsf), S(fmodf), S(sqrt), S(exp), S(log), S(pow), S(erf), S(tanh),
    S(sin), S(cos), S(tan), S(asin), S(acos), S(atan), S(sinh), S(cosh), S(asinh), S(acosh),
    S(atanh), S(floor), S(ceil), S(trunc), S(rint), S(fabs), S(fmod), S(memset), S(memcpy),
    S(memmove),
#undef S
};
// clang-format on

typedef struct Compile {
    bool overridable;
    sinter_program *prog;
    const sinter_options *o;
} Compile;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void set_options(Module *m, const sinter_options *o, const Kernels *k)
{
    m->opt = (Options){.level = o->opt_level,
        .threads = o->threads > 0 ? o->threads : threads_allowed(),
        .fuse = o->fuse,
        .strict = o->strict != 0,
        .isa = k->isa,
        .lanes = k->lanes,
        .nr = k->nr,
        .mr = k->mr,
        .max_memory = o->max_memory,
        .seed = o->seed,
        .disable_pass = o->disable_pass,
        .keep = o->keep,
        .print_after = o->print_after,
        .dump_dir = o->dump_dir};
    if (m->opt.level == 1)
        m->opt.fuse = 0;
}

static void check_options(Ctx *cx, const sinter_options *o)
{
    if (o->opt_level < 0 || o->opt_level > 3)
        ctx_fail(cx, ST_USAGE, NULL, "the optimisation level must be 0 to 3, not %d", o->opt_level);
    if (o->threads < 0 || o->threads > 4096)
        ctx_fail(cx, ST_USAGE, NULL, "the number of threads must be 0 to 4096, not %d", o->threads);
    if (o->isa && !kernels_for(o->isa))
        ctx_fail(cx, ST_USAGE, &(Where){.hint = "leave it out to use the best that there is"},
            "this CPU does not have the instruction set %s, or the name is unknown", o->isa);
}

static void generate(sinter_program *p)
{
    Module *m = &p->m;
    Kernel **k = NEW_N(&p->cx, Kernel *, m->steps.n);
    for (int i = 0; i < m->steps.n; i++)
        k[i] = m->steps.at[i].kernel;
    Buf text;
    buf_init(&text, &p->cx);
    EmitOptions o = {.tier = m->opt.level == 2, .jit = true, .isa = m->opt.isa};
    double start = now_ms();
    emit_c(&text, &p->cx, m->graph->pool, k, m->steps.n, &o);
    ctx_log(&p->cx, 1, "emit           %7lld us, %lld bytes of C",
        (long long)((now_ms() - start) * 1e3), (long long)text.n);
    start = now_ms();
    p->code = m->opt.level >= 3 ? jit_cc(&p->cx, text.s, libm_symbols, NELEM(libm_symbols))
                                : jit_tcc(&p->cx, text.s, libm_symbols, NELEM(libm_symbols));
    ctx_log(&p->cx, 1, "compile C      %7lld us", (long long)((now_ms() - start) * 1e3));
    p->fn = NEW_N(&p->cx, KernelFn *, m->steps.n);
    for (int i = 0; i < m->steps.n; i++)
        p->fn[i] = (KernelFn *)(uintptr_t)jit_symbol(p->code, k[i]->name);
}

static const char *const *copy_list(Ctx *cx, const char *const *list)
{
    int n = 0;
    while (list && list[n])
        n++;
    const char **copy = NEW_N(cx, const char *, n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = ctx_strdup(cx, list[i]);
    return list ? copy : NULL;
}

static void copy_options(sinter_program *p, const sinter_options *o)
{
    p->options = *o;
    p->options.isa = o->isa ? ctx_strdup(&p->cx, o->isa) : NULL;
    p->options.disable_pass = copy_list(&p->cx, o->disable_pass);
    p->options.keep = copy_list(&p->cx, o->keep);
    p->options.dims = copy_list(&p->cx, o->dims);
    p->options.dump_dir = p->options.print_after = NULL;
}

/* "name=8": what the named symbol is taken for when choices are priced. */
static void take_hints(sinter_program *p, const char *const *dims)
{
    for (; dims && *dims; dims++) {
        const char *equals = strrchr(*dims, '=');
        char *end;
        long long n = equals ? strtoll(equals + 1, &end, 10) : -1;
        if (n < 0 || *end)
            ctx_fail(&p->cx, ST_USAGE, NULL, "a size of a dim must read NAME=N, not '%s'", *dims);
        char *name = ctx_strndup(&p->cx, *dims, (size_t)(equals - *dims));
        ix_sym_named(p->m.graph->pool, name)->hint = n;
    }
}

static void compile(void *arg)
{
    Compile *c = arg;
    sinter_program *p = c->prog;
    double start = now_ms();
    check_options(&p->cx, c->o);
    p->kernels = kernels_for(c->o->isa ? c->o->isa : kernels_available()[0]);
    const sinter_model *model = p->model;
    p->m.cx = &p->cx;
    p->m.graph = model->path ? graph_import_file(&p->cx, model->path)
                             : graph_import(&p->cx, model->bytes, model->n_bytes, NULL);
    set_options(&p->m, c->o, p->kernels);
    p->m.opt.overridable = c->overridable;
    take_hints(p, c->o->dims);
    copy_options(p, c->o);
    passes_run(&p->m);
    if (p->m.opt.level > 0 && p->m.steps.n)
        generate(p);
    p->compile_ms = now_ms() - start;
}

static sinter_code new_program(const sinter_model *model, sinter_options o, bool overridable,
    sinter_program **program, sinter_error *err)
{
    Alloc alloc;
    api_alloc(&alloc, &o);
    sinter_program *p = alloc_get(&alloc, sizeof *p, 16);
    if (!p)
        return api_error(err, SINTER_ERR_MEMORY, "out of memory");
    memset(p, 0, sizeof *p);
    p->alloc = alloc;
    p->model = model;
    pthread_mutex_init(&p->emitting, NULL);
    ctx_init(&p->cx, &p->alloc);
    p->cx.log = o.log;
    p->cx.log_user = o.log_user;
    p->cx.log_level = o.log_level;
    Compile c = {overridable, p, &o};
    sinter_code code = api_call(&p->cx, compile, &c, err);
    if (code) {
        sinter_program_free(p);
        return code;
    }
    *program = p;
    return SINTER_OK;
}

sinter_code sinter_compile(const sinter_model *model, const sinter_options *options,
    sinter_program **program, sinter_error *err)
{
    if (!model || !program)
        return api_error(err, SINTER_ERR_USAGE,
            "sinter_compile: model and program must not be NULL");
    *program = NULL;
    return new_program(model, api_options(options), false, program, err);
}

sinter_code program_variant(const sinter_program *program, sinter_program **variant,
    sinter_error *err)
{
    sinter_program *p = (sinter_program *)program; /* what is added is guarded by the lock */
    sinter_code code = SINTER_OK;
    pthread_mutex_lock(&p->emitting);
    if (!p->variant)
        code = new_program(p->model, p->options, true, &p->variant, err);
    *variant = p->variant;
    pthread_mutex_unlock(&p->emitting);
    return code;
}

void sinter_program_free(sinter_program *p)
{
    if (!p)
        return;
    Alloc alloc = p->alloc;
    sinter_program_free(p->variant);
    ctx_free(&p->cx);
    pthread_mutex_destroy(&p->emitting);
    alloc_put(&alloc, p, sizeof *p);
}
