/* emit.c: the single emitter: prints Loop IR as C. */
#include "codegen/emit.h"
#include "codegen/contract.h"
#include "codegen/kctx.h"
#include <ctype.h>
#include <stdio.h>

const char kctx_text[] =
    "typedef struct sinter_kctx {\n"
    "    char *scratch;\n"
    "    sn_i64 thread, threads;\n"
    "    sn_i64 *error;\n"
    "    sn_u64 seed;\n"
    "    const void *kernels;\n"
    "    const void *igemm, *pack_b, *strip, *unstrip, *transpose, *depthwise, *rows;\n"
    "} sinter_kctx;\n"
    "typedef struct sn_epilogue { const float *bias, *res; sn_i64 ldres; float lo, hi; } "
    "sn_epilogue;\n"
    "typedef void sn_igemm(sn_i64 mr, sn_i64 nc, sn_i64 taps, sn_i64 kc, const float *const *a, "
    "sn_i64 aoff,\n"
    "    const float *zero, const float *w, float *c, sn_i64 ldc, sn_i64 flags, const sn_epilogue "
    "*e, const char *pf);\n"
    "typedef struct sn_row_table { sn_i64 n_m, n_tap, n_cond, extent[8], stride[8], cond0[8], "
    "cond[8][8]; } "
    "sn_row_table;\n"
    "typedef void sn_rows(const sn_row_table *t, const char *a, const float *zero, sn_i64 first, "
    "sn_i64 rows,\n"
    "    sn_i64 mr, const float **p);\n"
    "typedef void sn_depthwise(sn_i64 nq, sn_i64 nc, sn_i64 taps, const float *const *in, sn_i64 "
    "aoff,\n"
    "    const float *zero, const float *w, sn_i64 ldw, float *out, sn_i64 ldo, const float "
    "*bias, float lo, float hi);\n"
    "typedef void sn_transpose(void *to, sn_i64 ldt, const void *from, sn_i64 ldf, sn_i64 rows, "
    "sn_i64 cols, sn_i64 elem);\n"
    "typedef void sn_pack_b(const float *b, sn_i64 sk, sn_i64 sn, sn_i64 K, sn_i64 N, float "
    "*out);\n";

const char index_text[] =
    "SN_FN sn_i64 sn_fdiv(sn_i64 a, sn_i64 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }\n"
    "SN_FN sn_i64 sn_fmod(sn_i64 a, sn_i64 b) { return a - sn_fdiv(a, b) * b; }\n"
    "SN_FN sn_i64 sn_imin(sn_i64 a, sn_i64 b) { return a < b ? a : b; }\n"
    "SN_FN sn_i64 sn_imax(sn_i64 a, sn_i64 b) { return a > b ? a : b; }\n";

void emit_line(Emit *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    Buf *b = e->out;
    for (int i = 0; i < e->depth; i++)
        buf_puts(b, "    ");
    char small[512];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if ((size_t)n < sizeof small)
        buf_write(b, small, (size_t)n);
    else {
        char *big = ctx_alloc(e->cx, (size_t)n + 1);
        vsnprintf(big, (size_t)n + 1, fmt, again);
        buf_write(b, big, (size_t)n);
    }
    va_end(again);
    va_end(ap);
    buf_putc(b, '\n');
}

int emit_push(Emit *e)
{
    e->depth++;
    return e->scope_keys.n;
}

void emit_pop(Emit *e, int mark)
{
    while (e->scope_keys.n > mark)
        map_del(&e->memo, e->scope_keys.at[--e->scope_keys.n], sizeof(int));
    e->depth--;
}

/* ---- index forms -------------------------------------------------------------------------------
 */

static void ix_text(Emit *e, Buf *b, const Ix *a);

/* Nests of min and max get deep: each is a local. */
static const char *minmax_local(Emit *e, const Atom *a, const char *fn)
{
    const char *x = emit_ix(e, a->a), *y = emit_ix(e, a->b);
    const char *name = ctx_printf(e->cx, "x%d", e->locals++);
    emit_line(e, "sn_i64 %s = %s(%s, %s);", name, fn, x, y);
    return name;
}

static void atom_text(Emit *e, Buf *b, const Atom *a)
{
    const char *fn = NULL;
    switch (a->kind) {
    case AT_VAR: buf_printf(b, "%s%d", a->var->name, a->var->id); return;
    case AT_SYM: buf_printf(b, "dim[%d]", a->sym->id); return;
    case AT_DATA: buf_puts(b, emit_ex(e, a->data)); return;
    case AT_MIN: buf_puts(b, minmax_local(e, a, "sn_imin")); return;
    case AT_MAX: buf_puts(b, minmax_local(e, a, "sn_imax")); return;
    default:
        if (!ix_nonneg(e->p, a->a))
            fn = a->kind == AT_DIV ? "sn_fdiv" : "sn_fmod";
        break;
    }
    buf_puts(b, fn ? fn : "");
    buf_putc(b, '(');
    ix_text(e, b, a->a);
    buf_puts(b, fn ? ", " : a->kind == AT_DIV ? " / " : " % ");
    ix_text(e, b, a->b);
    buf_putc(b, ')');
}

static void ix_text(Emit *e, Buf *b, const Ix *a)
{
    bool atom = a->n == 1 && a->c == 0 && a->term[0].coef == 1 && a->term[0].n == 1;
    bool paren = !atom && !(a->n == 0 && a->c >= 0); /* whatever stands around it */
    buf_puts(b, paren ? "(" : "");
    for (int i = 0; i < a->n; i++) {
        const IxTerm *t = &a->term[i];
        if (i || t->coef < 0)
            buf_puts(b, t->coef < 0 ? (i ? " - " : "0 - ") : " + ");
        int64_t c = t->coef < 0 ? -t->coef : t->coef;
        if (c != 1)
            buf_printf(b, "%lld * ", (long long)c);
        for (int j = 0; j < t->n; j++) {
            buf_puts(b, j ? " * " : "");
            atom_text(e, b, t->atom[j]);
        }
    }
    if (a->c || !a->n) {
        buf_puts(b, a->n ? (a->c < 0 ? " - " : " + ") : "");
        buf_printf(b, "%lld%s", a->n && a->c < 0 ? -(long long)a->c : (long long)a->c,
            a->c > INT32_MAX || a->c < INT32_MIN ? "l" : "");
    }
    buf_puts(b, paren ? ")" : "");
}

const char *emit_ix(Emit *e, const Ix *a)
{
    Buf b;
    buf_init(&b, e->cx);
    ix_text(e, &b, a);
    return b.s;
}

/* ---- expressions -------------------------------------------------------------------------------
 */

static const char *new_local(Emit *e, const Expr *x)
{
    const char *name = ctx_printf(e->cx, "v%d", e->locals++);
    map_put(&e->memo, &x->id, sizeof x->id, (void *)name);
    VEC_PUSH(e->cx, &e->scope_keys, &x->id);
    return name;
}

int emit_site(Emit *e, const Value *v, const char *what)
{
    VEC_PUSH(e->cx, &e->k->sites, ((Site){v, what}));
    e->k->checks = true;
    return e->k->sites.n;
}

const char *emit_ptr(Emit *e, const Place *pl)
{
    if (pl->arg >= 0)
        return ctx_printf(e->cx, "((char *)buf[%d])", pl->arg);
    return ctx_printf(e->cx, "(%s + %s)", e->t->scratch, emit_ix(e, pl->offset));
}

/* Indices that data chose are checked against the tensor before they are used. Where the kernel
 * can't return, what follows must hold back: it is guarded by the local whose name is returned. */
const char *emit_check(Emit *e, const Value *v, const Ix *const *idx)
{
    const char *guard = NULL;
    for (int i = 0; i < v->rank; i++) {
        if (!ix_reads_data(idx[i]))
            continue;
        const char *at = ctx_printf(e->cx, "x%d", e->locals++);
        emit_line(e, "sn_i64 %s = %s;", at, emit_ix(e, idx[i]));
        const char *dim = emit_ix(e, v->dim[i]);
        if (e->t->goes_on && !guard) {
            guard = ctx_printf(e->cx, "in%d", e->locals++);
            emit_line(e, "bool %s = true;", guard);
        }
        emit_line(e, "if ((sn_u64)%s >= (sn_u64)%s) {", at, dim);
        e->t->fail(e, emit_site(e, v, "an index is out of range"), at);
        if (guard)
            emit_line(e, "    %s = false;", guard);
        emit_line(e, "}");
    }
    return guard;
}

static const char *emit_load(Emit *e, const Expr *x)
{
    const Place *pl = kernel_place(e->k, x->value);
    const char *guard = emit_check(e, x->value, x->idx);
    const char *at = emit_ix(e, place_offset(e->p, pl, x->n, x->idx));
    Buf b;
    buf_init(&b, e->cx);
    spell_load(&b, x->type, emit_ptr(e, pl), at);
    const char *name = new_local(e, x);
    if (guard)
        emit_line(e, "%s %s = %s ? %s : 0;", spell_ctype(x->type), name, guard, b.s);
    else
        emit_line(e, "%s %s = %s;", spell_ctype(x->type), name, b.s);
    return name;
}

static bool has_load(const Expr *x)
{
    if (x->kind == EX_LOAD || (x->kind == EX_IX && ix_reads_data(x->ix)))
        return true;
    for (int i = 0; i < x->n; i++)
        if (has_load(x->arg[i]))
            return true;
    return false;
}

/* A branch that is not taken must not load: it may index out of range. */
static const char *emit_select(Emit *e, const Expr *x)
{
    const char *cond = emit_ex(e, x->arg[0]);
    const char *name = ctx_printf(e->cx, "v%d", e->locals++);
    emit_line(e, "%s %s;", spell_ctype(x->type), name);
    for (int i = 0; i < 2; i++) {
        if (i)
            emit_line(e, "} else {");
        else
            emit_line(e, "if (%s) {", cond);
        int mark = emit_push(e);
        const char *v = emit_ex(e, x->arg[1 + i]);
        emit_line(e, "%s = %s;", name, v);
        emit_pop(e, mark);
    }
    emit_line(e, "}");
    map_put(&e->memo, &x->id, sizeof x->id, (void *)name);
    VEC_PUSH(e->cx, &e->scope_keys, &x->id);
    return name;
}

static const char *emit_prim(Emit *e, const Expr *x)
{
    if (x->prim == P_select && (has_load(x->arg[1]) || has_load(x->arg[2])))
        return emit_select(e, x);
    const char *arg[3];
    for (int i = 0; i < x->n; i++)
        arg[i] = emit_ex(e, x->arg[i]);
    DType in = x->arg[x->prim == P_select]->type;
    if ((x->prim == P_div || x->prim == P_mod) && dtype_is_int(in))
        e->k->divides = true;
    Buf b;
    buf_init(&b, e->cx);
    spell_prim(&b, x->prim, in, x->type, arg);
    const char *name = new_local(e, x);
    emit_line(e, "%s %s = %s;", spell_ctype(x->type), name, b.s);
    return name;
}

const char *emit_ex(Emit *e, const Expr *x)
{
    const char *known = map_get(&e->memo, &x->id, sizeof x->id);
    if (known)
        return known;
    Buf b;
    switch (x->kind) {
    case EX_CONST:
        buf_init(&b, e->cx);
        spell_const(&b, x->type, x->k);
        return b.s;
    case EX_IX: {
        const char *text = emit_ix(e, x->ix);
        const char *name = new_local(e, x);
        emit_line(e, "sn_i64 %s = %s;", name, text);
        return name;
    }
    case EX_LOAD: return emit_load(e, x);
    default: return emit_prim(e, x);
    }
}

/* ---- statements --------------------------------------------------------------------------------
 */

static void emit_store(Emit *e, const Stmt *s)
{
    const Place *pl = kernel_place(e->k, s->value);
    const char *v;
    Buf b;
    if (s->expr)
        v = emit_ex(e, s->expr);
    else {
        buf_init(&b, e->cx);
        const char *acc = ctx_printf(e->cx, "acc%d", s->acc);
        if (s->type == s->value->type)
            v = acc;
        else {
            spell_prim(&b, P_cast, s->type, s->value->type, &acc);
            v = ctx_printf(e->cx, "v%d", e->locals++);
            emit_line(e, "%s %s = %s;", spell_ctype(s->value->type), v, b.s);
        }
    }
    const char *at = emit_ix(e, place_offset(e->p, pl, s->value->rank, s->idx));
    buf_init(&b, e->cx);
    spell_store(&b, s->value->type, emit_ptr(e, pl), at, v);
    emit_line(e, "%s", b.s);
}

static void emit_update(Emit *e, const Stmt *s)
{
    const char *arg[2] = {ctx_printf(e->cx, "acc%d", s->acc), emit_ex(e, s->expr)};
    Buf b;
    buf_init(&b, e->cx);
    spell_prim(&b, red_prim(s->red), s->type, s->type, arg);
    emit_line(e, "%s = %s;", arg[0], b.s);
}

static void emit_transpose(Emit *e, const Stmt *s)
{
    int bytes = dtype_bytes(s->value->type);
    const PortRef *from = &s->port[0];
    const Place *to = kernel_place(e->k, s->value), *src = kernel_place(e->k, from->value);
    const char *guard = emit_check(e, from->value, from->idx);
    const char *at =
        emit_ix(e, ix_muli(e->p, place_offset(e->p, to, s->value->rank, s->idx), bytes));
    const char *in =
        emit_ix(e, ix_muli(e->p, place_offset(e->p, src, from->value->rank, from->idx), bytes));
    const char *ldt = emit_ix(e, s->row_stride), *ldf = emit_ix(e, s->lane_stride);
    const char *rows = emit_ix(e, s->rows), *lanes = emit_ix(e, s->lanes);
    const char *base = emit_ptr(e, to),
               *origin = emit_ptr(e, src); /* before any statement that needs them */
    if (e->o->tier == 1) {
        emit_line(e, "((sn_transpose *)c->transpose)(%s + %s, %s, %s + %s, %s, %s, %s, %d);", base,
            at, ldt, origin, in, ldf, rows, lanes, bytes);
        return;
    }
    const char *type = spell_memtype(s->value->type);
    if (guard)
        emit_line(e, "if (%s)", guard);
    emit_line(e, e->t->plane, rows, lanes);
    emit_line(e, "        ((%s *)(%s + %s))[r * %s + l] = ((const %s *)(%s + %s))[l * %s + r];",
        type, base, at, ldt, type, origin, in, ldf);
}

static void emit_for(Emit *e, const Stmt *s)
{
    const char *v = ctx_printf(e->cx, "%s%d", s->var->name, s->var->id);
    const char *end = emit_ix(e, s->var->extent);
    emit_line(e, "for (sn_i64 %s = 0; %s < %s; %s++) {", v, v, end, v);
    int mark = emit_push(e);
    emit_stmts(e, &s->body);
    emit_pop(e, mark);
    emit_line(e, "}");
}

void emit_stmts(Emit *e, const Stmts *list)
{
    for (int i = 0; i < list->n; i++) {
        const Stmt *s = list->at[i];
        switch (s->kind) {
        case S_FOR: emit_for(e, s); break;
        case S_IF: {
            emit_line(e, "if (%s) {", emit_ex(e, s->expr));
            int mark = emit_push(e);
            emit_stmts(e, &s->body);
            emit_pop(e, mark);
            emit_line(e, "}");
            break;
        }
        case S_LET:
            emit_line(e, "sn_i64 %s%d = %s;", s->var->name, s->var->id, emit_ix(e, s->ix));
            break;
        case S_ACC:
            emit_line(e, "%s acc%d = %s;", spell_ctype(s->type), s->acc, emit_ex(e, s->expr));
            break;
        case S_UPDATE: emit_update(e, s); break;
        case S_STORE: emit_store(e, s); break;
        case S_BODY: emit_body_call(e, s); break;
        case S_TRANSPOSE: emit_transpose(e, s); break;
        case S_CALL: emit_contract(e, s->call); break;
        }
    }
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* Names of nodes are the model's: nothing in them may end the comment or continue its line. */
static void emit_comment(Emit *e, const Kernel *k)
{
    buf_puts(e->out, "/*");
    for (int i = 0; i < k->n_nodes; i++) {
        const Node *n = k->nodes[i];
        buf_printf(e->out, "%s %s \"", i ? "," : "", n->op_type);
        for (const char *c = n->name; *c; c++) {
            bool plain =
                *c >= 0x20 && *c < 0x7f && *c != '*' && *c != '\\' && *c != '"' && *c != '?';
            if (plain)
                buf_putc(e->out, *c);
            else
                buf_printf(e->out, "%%%02x", (unsigned char)*c);
        }
        buf_putc(e->out, '"');
    }
    buf_puts(e->out, " */\n");
}

/* The slice's number t is unflattened over the tile variables, the last fastest. */
static void emit_tiles(Emit *e, const Kernel *k)
{
    if (k->tile.n)
        emit_line(e, "sn_i64 rest = t;");
    for (int i = k->tile.n - 1; i >= 0; i--) {
        const Var *v = k->tile.at[i];
        if (i == 0)
            emit_line(e, "sn_i64 %s%d = rest;", v->name, v->id);
        else {
            const char *extent = emit_ix(e, v->extent);
            emit_line(e, "sn_i64 %s%d = rest %% %s;", v->name, v->id, extent);
            emit_line(e, "rest = rest / %s;", extent);
        }
    }
}

static void body_defs(Emit *e, const Stmts *list)
{
    for (int i = 0; i < list->n; i++) {
        if (list->at[i]->kind == S_BODY)
            emit_body_def(e, list->at[i]);
        body_defs(e, &list->at[i]->body);
    }
}

/* Hash of a kernel's text with every numbered name (variables, locals, bodies) replaced by the
 * order of its first appearance: kernels that differ in names alone have equal signatures. */
static uint64_t signature(Ctx *cx, const char *s, const char *end)
{
    Map names;
    map_init(&names, cx);
    uint64_t h = 0;
    intptr_t n = 0;
    while (s < end) {
        const char *word = s;
        bool digit = false;
        for (; s < end && (*s == '_' || isalnum((unsigned char)*s)); s++)
            digit |= isdigit((unsigned char)*s) != 0;
        bool numbered = digit && !isdigit((unsigned char)*word);
        s += s == word;
        size_t len = (size_t)(s - word);
        intptr_t seen = numbered ? (intptr_t)map_get(&names, word, len) : 0;
        if (numbered && !seen)
            map_put(&names, word, len, (void *)(seen = ++n));
        h = numbered ? hash_bytes(&seen, sizeof seen, h) : hash_bytes(word, len, h);
    }
    return h;
}

static void emit_kernel(Emit *e, Kernel *k)
{
    size_t bodies = e->out->n;
    e->k = k;
    k->sites.n = 0;
    map_init(&e->memo, e->cx);
    e->scope_keys.n = 0;
    e->depth = 0;
    e->locals = 0;
    body_defs(e, &k->body);
    uint64_t bodies_hash = signature(e->cx, e->out->s + bodies, e->out->s + e->out->n);
    emit_comment(e, k);
    buf_printf(e->out, e->t->kernel_open, k->name);
    size_t start = e->out->n;
    e->depth = 1;
    emit_line(e, "int sn_err_v = 0, *sn_err = &sn_err_v;");
    emit_line(e, "(void)sn_err;");
    if (e->t->begin)
        e->t->begin(e);
    buf_puts(e->out, e->t->parallel_open);
    int mark = emit_push(e);
    emit_tiles(e, k);
    e->t->stmts(e, &k->body);
    emit_pop(e, mark);
    emit_line(e, "}");
    if (k->divides) {
        int site = emit_site(e, k->args.at[0], "integer division by zero");
        emit_line(e, "if (sn_err_v) {");
        e->t->fail(e, site, NULL);
        emit_line(e, "}");
    }
    k->signature = bodies_hash ^ signature(e->cx, e->out->s + start, e->out->s + e->out->n);
    buf_puts(e->out, e->t->kernel_close);
    buf_putc(e->out, '\n');
}

static void emit_all(Buf *out, Ctx *cx, Pool *pool, Kernel *const *k, int n, const EmitOptions *o,
    const Target *t)
{
    Emit e = {.cx = cx, .p = pool, .out = out, .o = o, .t = t};
    for (int i = 0; t->prelude[i]; i++)
        buf_puts(out, t->prelude[i]);
    buf_putc(out, '\n');
    for (int i = 0; i < n; i++)
        emit_kernel(&e, k[i]);
}

/* There are no tiers: all bodies and contractions are written out. */
void emit_cuda(Buf *out, Ctx *cx, Pool *pool, Kernel *const *k, int n, const EmitOptions *o)
{
    EmitOptions plain = *o;
    plain.tier = 0;
    if (o->arch)
        buf_printf(out, "/* nvcc -arch=%s -cubin */\n", o->arch);
    emit_all(out, cx, pool, k, n, &plain, &target_cuda);
}

void emit_c(Buf *out, Ctx *cx, Pool *pool, Kernel *const *k, int n, const EmitOptions *o)
{
    emit_all(out, cx, pool, k, n, o, &target_c);
}
