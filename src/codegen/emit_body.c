/* emit_body.c: vector bodies in the emitted text: scalar C, or instruction bytes that TinyCC
 * carries. */
#include "codegen/emit.h"

/* AVX-512 machines run the 256-bit bodies: there is no encoder of their own yet. */
static const char *body_isa(const Emit *e)
{
    return strcmp(e->o->isa, "avx512") ? e->o->isa : "avx2";
}

static bool as_bytes(const Emit *e, const Stmt *s)
{
    return e->o->tier == 1 && body_encodable(s->vec, body_isa(e));
}

static void quads(Buf *b, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = 0x9090909090909090u;
        memcpy(&w, p + i, MIN((size_t)8, n - i));
        buf_printf(b, "%s0x%llx", i % 64 ? "," : i ? "\\n.quad " : ".quad ", (unsigned long long)w);
    }
    buf_puts(b, "\\n");
}

void emit_body_def(Emit *e, const Stmt *s)
{
    ((Stmt *)s)->acc = e->n_bodies++;
    const char *name = ctx_printf(e->cx, "b%d", s->acc);
    if (!as_bytes(e, s)) {
        e->t->body_def(e, s, name);
        return;
    }
    BodyCode code = body_encode(e->cx, s->vec, body_isa(e), false);
    buf_printf(e->out, "__asm__(\".text\\n.balign 64\\n.globl %s_pool\\n%s_pool:\\n", name, name);
    if (code.n_pool)
        quads(e->out, code.pool, code.n_pool);
    buf_printf(e->out, ".globl %s\\n.balign 32\\n%s:\\n", name, name);
    quads(e->out, code.bytes, code.n_bytes);
    buf_puts(e->out, "\");\n");
    buf_printf(e->out, "extern const char %s_pool[];\n", name);
    buf_printf(e->out,
        "void %s(void *const *ptr, const sn_i64 *step, sn_i64 n, sn_i64 rows, const void *pool);\n",
        name);
}

void emit_body_call(Emit *e, const Stmt *s)
{
    emit_line(e, "{");
    int mark = emit_push(e);
    int n = MAX(1, s->n_ports);
    emit_line(e, "void *pp[%d];", n);
    emit_line(e, "sn_i64 ss[%d];", n);
    const char *guard = "";
    for (int i = 0; i < s->n_ports; i++) {
        const PortRef *r = &s->port[i];
        if (r->scalar) {
            emit_line(e, "sn_i64 s%d = %s;", i, emit_ix(e, r->scalar));
            emit_line(e, "pp[%d] = &s%d;", i, i);
            emit_line(e, "ss[%d] = 0;", i);
            continue;
        }
        const char *in = emit_check(e, r->value, r->idx);
        if (in)
            guard = ctx_printf(e->cx, "%s%s%s", guard, guard[0] ? " && " : "", in);
        const Place *pl = kernel_place(e->k, r->value);
        int bytes = dtype_bytes(r->value->type);
        const char *at =
            emit_ix(e, ix_muli(e->p, place_offset(e->p, pl, r->value->rank, r->idx), bytes));
        emit_line(e, "pp[%d] = %s + %s;", i, emit_ptr(e, pl), at);
        emit_line(e, "ss[%d] = %s;", i, emit_ix(e, ix_muli(e->p, r->step, bytes)));
    }
    const char *rows = emit_ix(e, s->rows), *lanes = emit_ix(e, s->lanes);
    if (guard[0])
        emit_line(e, "if (%s)", guard);
    emit_line(e, "%sb%d(pp, ss, %s, %s, b%d_pool);", guard[0] ? "    " : "", s->acc, lanes, rows,
        s->acc);
    emit_pop(e, mark);
    emit_line(e, "}");
}
