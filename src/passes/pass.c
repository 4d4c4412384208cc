/* pass.c: the ordered table of passes, the order constraints with their reasons, and the driver. */
#include "passes/pass.h"
#include "graph/ir_text.h"
#include <stdio.h>
#include <time.h>

const Pass pass_table[] = {
    {"infer", "operators define their outputs: types, dims, definitions", pass_infer, 0, false},
    {"constfold", "nodes that read constants only are evaluated (inside infer)", NULL, 0, true},
    {"lower", "collect the definitions that the outputs need", pass_lower, 0, false},
    {"cse", "equal definitions become one", pass_cse, 1, true},
    {"inline", "loads of cheap definitions become those definitions", pass_inline, 1, true},
    {"constexpr", "parts that read constants only become constants", pass_constexpr, 2, true},
    {"split", "reduction variables split at the radix of div and mod", pass_split, 2, true},
    {"layout", "storage orders: what contractions read and write is contiguous", pass_layout, 2,
        true},
    {"fuse", "stages that one kernel computes", pass_fuse, 1, false},
    {"schedule", "groups to Loop IR", pass_schedule, 1, false},
    {"memplan", "buffers, lifetimes, steps", pass_memplan, 1, false},
};
const int pass_table_n = NELEM(pass_table);

/* Pass `before` must come before `after`. */
typedef struct Constraint {
    const char *before, *after, *reason;
} Constraint;
static const Constraint constraints[] = {
    {"infer", "lower", "lower reads the definitions that operators made"},
    {"lower", "cse", "cse compares definitions"},
    {"cse", "inline", "equal definitions are harder to see once producers are inside them"},
    {"inline", "constexpr", "what is constant is known once the producers are inside"},
    {"inline", "split", "the div and mod that matter are those of the loads that remain"},
    {"split", "layout", "layout looks for reduction variables that move along one axis"},
    {"inline", "layout", "layout looks at the index forms of what is really loaded"},
    {"layout", "fuse", "tiles and scratch follow the storage order"},
    {"fuse", "schedule", "schedule makes one kernel of each group"},
    {"schedule", "memplan", "a kernel's arguments are the buffers to plan"},
};

static int position(const char *name)
{
    for (int i = 0; i < pass_table_n; i++)
        if (!strcmp(pass_table[i].name, name))
            return i;
    return -1;
}

static void check_order(Module *m)
{
    for (int i = 0; i < NELEM(constraints); i++)
        if (position(constraints[i].before) >= position(constraints[i].after))
            ctx_fail(m->cx, ST_INTERNAL, NULL, "pass %s must come before %s: %s",
                constraints[i].before, constraints[i].after, constraints[i].reason);
}

bool pass_disabled(const Module *m, const char *name)
{
    for (const char *const *p = m->opt.disable_pass; p && *p; p++)
        if (!strcmp(*p, name))
            return true;
    return false;
}

static void check_disabled(Module *m)
{
    for (const char *const *p = m->opt.disable_pass; p && *p; p++) {
        int i = position(*p);
        Where w = {.hint = "sinter --list-passes names them"};
        if (i < 0)
            ctx_fail(m->cx, ST_USAGE, &w, "there is no pass named %s", *p);
        if (!pass_table[i].optional)
            ctx_fail(m->cx, ST_USAGE, &w, "pass %s can't be disabled: later passes need it", *p);
    }
}

/* The values that definitions load and none defines, each once. */
typedef struct Decls {
    Buf *b;
    bool *known; /* by id */
} Decls;

static void declare_load(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Decls *d = user;
    if (!d->known[load->value->id])
        ir_print_decl(d->b, load->value);
    d->known[load->value->id] = true;
}

static void print_decls(Module *m, Buf *b)
{
    Decls d = {b, NEW_N(m->cx, bool, m->graph->values.n)};
    for (int i = 0; i < m->defs.n; i++)
        d.known[m->defs.at[i]->out->id] = true;
    for (int i = 0; i < m->defs.n; i++)
        ex_visit_loads(m->cx, m->defs.at[i]->body, declare_load, &d);
}

static void print_plan(const Module *m, Buf *b)
{
    static const char *const kind[] = {[BUF_INPUT] = "input",
        [BUF_OUTPUT] = "output",
        [BUF_CONST] = "const",
        [BUF_ARENA] = "arena"};
    for (int i = 0; i < m->buffers.n; i++) {
        const Buffer *x = m->buffers.at[i];
        buf_printf(b, "buffer %d %s ", x->id, kind[x->kind]);
        ir_print_value(b, x->value);
        buf_puts(b, " bytes ");
        ix_print(b, x->bytes);
        buf_printf(b, " steps %d..%d\n", x->first, x->last);
    }
    for (int i = 0; i < m->steps.n; i++) {
        const Step *s = &m->steps.at[i];
        buf_printf(b, "step %d %s(", i, s->kernel->name);
        for (int j = 0; j < s->kernel->args.n; j++)
            buf_printf(b, "%s%d", j ? ", " : "", s->arg[j]);
        buf_puts(b, ")\n");
    }
}

void module_print(Module *m, Buf *b)
{
    bool kernels = m->groups.n && m->groups.at[0]->kernel;
    if (m->steps.n) {
        print_plan(m, b);
        return;
    }
    if (!kernels)
        print_decls(m, b);
    for (int i = 0; i < m->groups.n && kernels; i++)
        kernel_print(b, m->groups.at[i]->kernel);
    for (int i = 0; i < m->groups.n && !kernels; i++) {
        buf_printf(b, "group %d {\n", m->groups.at[i]->id);
        for (int j = 0; j < m->groups.at[i]->stages.n; j++)
            def_print(b, m->groups.at[i]->stages.at[j]);
        buf_puts(b, "}\n");
    }
    for (int i = 0; i < m->defs.n && !m->groups.n; i++)
        def_print(b, m->defs.at[i]);
    if (!m->defs.n)
        graph_print(b, m->graph);
}

static void dump(Module *m, int i, const Buf *b)
{
    char *path = ctx_printf(m->cx, "%s/%02d-%s.txt", m->opt.dump_dir, i, pass_table[i].name);
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(b->s, 1, b->n, f) == b->n;
    if (f)
        ok = fclose(f) == 0 && ok;
    if (!ok)
        ctx_fail(m->cx, ST_IO, &(Where){.hint = "the folder of --dump must exist"},
            "can't write %s", path);
}

static void show(Module *m, int i)
{
    const char *after = m->opt.print_after;
    bool print = after && (!strcmp(after, "all") || !strcmp(after, pass_table[i].name));
    if (!print && !m->opt.dump_dir)
        return;
    Buf b;
    buf_init(&b, m->cx);
    module_print(m, &b);
    if (b.n && m->opt.dump_dir)
        dump(m, i, &b);
    if (b.n && print && m->cx->log)
        m->cx->log(m->cx->log_user, 0, b.s);
}

static void verify(Module *m)
{
    for (int i = 0; i < m->defs.n; i++)
        def_verify(m->cx, m->defs.at[i]);
    ctx_check(m->cx);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void passes_run(Module *m)
{
    check_order(m);
    check_disabled(m);
    if (m->opt.print_after && strcmp(m->opt.print_after, "all") && position(m->opt.print_after) < 0)
        ctx_fail(m->cx, ST_USAGE, NULL, "there is no pass named %s", m->opt.print_after);
    for (int i = 0; i < pass_table_n; i++) {
        const Pass *p = &pass_table[i];
        if (!p->run || m->opt.level < p->level || pass_disabled(m, p->name))
            continue;
        double start = now_ms();
        p->run(m);
        verify(m);
        ctx_log(m->cx, 1, "pass %-9s %7lld us", p->name, (long long)((now_ms() - start) * 1e3));
        show(m, i);
    }
}
