/* target_c.c: C's spellings. */
#include "codegen/emit.h"
#include "codegen/kctx.h"

static const char *const prelude[] = {body_c_prelude, kctx_text, index_text, NULL};

static void fail(Emit *e, int site, const char *index)
{
    if (index)
        emit_line(e, "    c->error[0] = %s;", index);
    emit_line(e, "    return %d;", site);
}

/* In place of instruction bytes: they would come with a pool of constants. */
static void body_def(Emit *e, const Stmt *s, const char *name)
{
    body_print_c(e->out, s->vec, name);
    buf_printf(e->out, "static const char %s_pool[8];\n", name);
}

const Target target_c = {
    .name = "c",
    .kernel_open =
        "int %s(const sinter_kctx *c, void *const *buf, const sn_i64 *dim, sn_i64 lo, sn_i64 "
        "hi)\n{\n",
    .kernel_close = "    return 0;\n}\n",
    .prelude = prelude,
    .scratch = "c->scratch",
    .plane = "for (sn_i64 r = 0; r < %s; r++)\n        for (sn_i64 l = 0; l < %s; l++)",
    .stmts = emit_stmts,
    .fail = fail,
    .body_def = body_def,
    .parallel_open = "    for (sn_i64 t = lo; t < hi; t++) {\n",
};
