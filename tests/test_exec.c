/* test_exec.c: what groups compute tile by tile, in poisoned memory (passes/exec.h), is to the bit
 * what the definitions say that operators made: for the small zoo, a trained network, and the
 * graphs of the golden texts at several sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/interp.h"
#include "passes/exec.h"
#include "support/passes.h"

/* One run: the sizes of the named symbols, and the inputs. */
typedef struct Run {
    Module *m;
    int64_t *sym;
    const Tensor **input;
} Run;

static const Tensor *input_of(void *user, const Value *v)
{
    const Run *r = user;
    for (int i = 0; i < r->m->graph->inputs.n; i++)
        if (r->m->graph->inputs.at[i] == v)
            return r->input[i];
    return NULL;
}

/* Symbols with a source follow from the inputs; the others are `size`. */
static void bind(Run *r, int64_t size)
{
    Graph *g = r->m->graph;
    Ctx *cx = r->m->cx;
    r->sym = NEW_N(cx, int64_t, pool_n_syms(g->pool) + 1);
    r->input = NEW_N(cx, const Tensor *, g->inputs.n);
    Interp *it = interp_new(cx, g->pool, input_of, r, r->sym);
    for (int i = 0; i < pool_n_syms(g->pool); i++)
        r->sym[i] = pool_sym(g->pool, i)->source ? 0 : size;
    for (int i = 0; i < g->inputs.n; i++) {
        const Value *v = g->inputs.at[i];
        int64_t dim[MAX_RANK];
        for (int k = 0; k < v->rank; k++)
            dim[k] = interp_ix(it, v->dim[k]);
        r->input[i] = v->data ? v->data : passes_tensor(cx, v->type, v->rank, dim);
    }
    for (int i = 0; i < pool_n_syms(g->pool); i++)
        if (pool_sym(g->pool, i)->source)
            r->sym[i] = interp_expr(it, pool_sym(g->pool, i)->source).i;
}

typedef Module *(*MakeModule)(Ctx *cx, const char *path, Options o);

static Module *from_text(Ctx *cx, const char *path, Options o)
{
    FILE *f = fopen(path, "rb");
    char *text = NEW_N(cx, char, 1 << 20);
    assert_non_null(f);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    char *end = strstr(text, "\n---\n");
    assert_non_null(end);
    *end = 0;
    Module *m = NEW(cx, Module);
    m->cx = cx;
    m->opt = o;
    m->graph = graph_parse(cx, text);
    passes_make_up(cx, m->graph);
    return m;
}

static void same(const char *path, const Value *v, const Tensor *got, const Tensor *want)
{
    assert_non_null(got);
    assert_int_equal(got->type, want->type);
    assert_int_equal(got->count, want->count);
    for (int64_t i = 0; i < want->count; i++) {
        Scalar x = scalar_load(got->type, got->data, i), y = scalar_load(want->type, want->data, i);
        if (x.u != y.u && !(dtype_is_float(got->type) && x.f != x.f && y.f != y.f))
            fail_msg("%s: element %lld of %s differs", path, (long long)i, v->name);
    }
}

static int groups_run;

static void compare(Ctx *cx, const char *path, MakeModule make, int threads, int64_t size)
{
    Options o = passes_options(2, 1), plain = passes_options(0, 0);
    o.threads = threads;
    Run fused = {.m = make(cx, path, o)}, oracle = {.m = make(cx, path, plain)};
    passes_each(fused.m, "fuse", NULL, NULL);
    passes_each(oracle.m, NULL, NULL, NULL);
    bind(&fused, size);
    bind(&oracle, size);
    const Tensor **got = exec_groups(fused.m, fused.input, fused.sym);
    Interp *it = interp_new(cx, oracle.m->graph->pool, input_of, &oracle, oracle.sym);
    for (int i = 0; i < fused.m->graph->outputs.n; i++) {
        const Value *v = fused.m->graph->outputs.at[i], *w = oracle.m->graph->outputs.at[i];
        if (w->def)
            same(path, v, got[v->id], interp_def(it, w->def));
    }
    groups_run += fused.m->groups.n;
}

static void check(const char *name, const char *path, MakeModule make, int threads, int64_t size)
{
    Ctx cx;
    ctx_init(&cx, alloc_default());
    TRY(&cx) {
        compare(&cx, path, make, threads, size);
        assert_false(model_unsupported(name));
    }
    CATCH
        if (!model_unsupported(name) || cx.problems->code != ST_UNSUPPORTED)
            fail_msg("%s, size %lld, %d threads: %s", name, (long long)size, threads,
                cx.problems->message);
    ctx_free(&cx);
}

static void graphs_of_the_golden_texts_at_all_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 3, 33};
    glob_t g;
    assert_int_equal(glob(SINTER_SOURCE_DIR "/tests/golden/*/*.txt", 0, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++)
        for (int k = 0; k < NELEM(sizes); k++) {
            check(g.gl_pathv[i], g.gl_pathv[i], from_text, 1, sizes[k]);
            check(g.gl_pathv[i], g.gl_pathv[i], from_text, 4, sizes[k]);
        }
    globfree(&g);
    assert_true(groups_run > 200);
}

static void check_model(const char *name, const char *path)
{
    /* of the committed models those of few operations: others take minutes element by element */
    if (!strncmp(name, "models/", 7) && !strstr(name, "mnist8"))
        return;
    check(name, path, passes_module, 4, 2);
}

static void the_small_zoo_and_a_trained_network(void **state)
{
    (void)state;
    each_model(check_model);
}

static void break_order(Module *m)
{
    Group *first = m->groups.at[0];
    m->groups.at[0] = m->groups.at[1];
    m->groups.at[1] = first;
}

static void forget_a_buffer(Module *m)
{
    const Group *g = m->groups.at[0];
    m->home[g->stages.at[g->stages.n - 1]->out->id] = NULL;
}

static void assert_found(void (*breaks)(Module *m))
{
    static const char path[] =
        SINTER_SOURCE_DIR "/tests/golden/fuse/two-contractions-are-two-groups.txt";
    Ctx cx;
    ctx_init(&cx, alloc_default());
    TRY(&cx) {
        Run r = {.m = from_text(&cx, path, passes_options(2, 1))};
        passes_each(r.m, "fuse", NULL, NULL);
        bind(&r, 1);
        breaks(r.m);
        exec_groups(r.m, r.input, r.sym);
        fail_msg("nothing was found");
    }
    CATCH
        assert_non_null(strstr(cx.problems->message, "where no group has written it"));
    ctx_free(&cx);
}

static void what_is_broken_is_found(void **state)
{
    (void)state;
    assert_found(break_order);
    assert_found(forget_a_buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_of_the_golden_texts_at_all_sizes),
        cmocka_unit_test(the_small_zoo_and_a_trained_network),
        cmocka_unit_test(what_is_broken_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
