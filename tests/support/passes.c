/* passes.c: see passes.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/passes.h"

Options passes_options(int level, int fuse)
{
    return (Options){.level = level,
        .threads = 1,
        .fuse = fuse,
        .isa = "avx2",
        .lanes = 8,
        .nr = 16,
        .mr = 6};
}

void passes_each(Module *m, const char *last, AfterPass after, void *user)
{
    for (int i = 0; i < pass_table_n; i++) {
        const Pass *p = &pass_table[i];
        if (p->run && m->opt.level >= p->level && !pass_disabled(m, p->name)) {
            p->run(m);
            for (int j = 0; j < m->defs.n; j++)
                def_verify(m->cx, m->defs.at[j]);
            ctx_check(m->cx);
            if (after)
                after(user, m, p->name);
        }
        if (last && !strcmp(last, p->name))
            return;
    }
}

Module *passes_module(Ctx *cx, const char *path, Options o)
{
    Module *m = NEW(cx, Module);
    m->cx = cx;
    m->opt = o;
    m->graph = graph_import_file(cx, path);
    return m;
}

static void fill(Tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        double x = (double)(i * 37 % 101 - 50) / 64;
        scalar_store(t->type, t->data, i,
            dtype_is_float(t->type) ? scalar_f(t->type, x) : (Scalar){.i = i % 3 == 1});
    }
}

void passes_make_up(Ctx *cx, Graph *graph)
{
    for (int i = 0; i < graph->values.n; i++) {
        Tensor *t = graph->values.at[i]->data;
        if (!t || t->data)
            continue;
        t->data = ctx_alloc(cx, t->bytes);
        fill(t);
    }
}

Tensor *passes_tensor(Ctx *cx, DType type, int rank, const int64_t *dim)
{
    Tensor *t = tensor_new(cx, type, rank, dim);
    fill(t);
    return t;
}

bool model_unsupported(const char *name)
{
    static const char *const list[] = {"models/ppocr_cls_qdq/model.onnx",
        "models/ppocr_cls_qop/model.onnx", "tests/zoo/small/llama_hf.onnx",
        "tests/zoo/small/lstm.onnx"};
    for (int i = 0; i < NELEM(list); i++)
        if (!strcmp(list[i], name))
            return true;
    return false;
}

static void filled(const char *stripped, const char *name, void (*fn)(const char *, const char *))
{
    char path[] = "/tmp/sinter-zoo-XXXXXX", command[1024];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(command, sizeof command, "%s/tests/zoo-tools/zoofill %s %s", SINTER_BINARY_DIR,
        stripped, path);
    assert_int_equal(system(command), 0);
    fn(name, path);
    unlink(path);
}

void each_model(void (*fn)(const char *name, const char *path))
{
    glob_t g;
    assert_int_equal(glob(SINTER_SOURCE_DIR "/models/*/model.onnx", 0, NULL, &g), 0);
    size_t committed = g.gl_pathc;
    assert_int_equal(glob(SINTER_SOURCE_DIR "/tests/zoo/small/*.onnx", GLOB_APPEND, NULL, &g), 0);
    for (size_t i = 0; i < g.gl_pathc; i++) {
        const char *name = g.gl_pathv[i] + strlen(SINTER_SOURCE_DIR) + 1;
        if (i < committed)
            fn(name, g.gl_pathv[i]);
        else
            filled(g.gl_pathv[i], name, fn);
    }
    globfree(&g);
}
