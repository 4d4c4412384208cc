/* loop_parse.c: reads what loop_text.c prints. */
#include "codegen/contract.h"
#include "codegen/loop_text.h"

enum { MAX_ACCS = 4096, MAX_NESTING = 100 };

typedef struct Reader {
    IrReader *r;
    Kernel *k;
    DType *acc_type; /* by accumulator */
} Reader;

static const Ix *ix_after(IrReader *r, const char *word)
{
    if (!ir_accept_word(r, word))
        ir_bad(r, word);
    return ir_ix(r);
}

static int small_int(IrReader *r)
{
    int64_t v = ir_int(r);
    if (v < 0 || v > INT32_MAX)
        ir_bad(r, "a small number");
    return (int)v;
}

/* A list of n indices. */
static void list_of(IrReader *r, int n, const Ix **out)
{
    ir_expect(r, "[");
    for (int i = 0; i < n; i++) {
        if (i)
            ir_expect(r, ",");
        out[i] = ir_ix(r);
    }
    ir_expect(r, "]");
}

static const Value *value_at(IrReader *r, const Ix **idx)
{
    const Value *v = ir_value(r);
    list_of(r, v->rank, idx);
    return v;
}

/* ---- bodies ------------------------------------------------------------------------------------
 */

static void read_ports(IrReader *r, Stmt *s)
{
    VEC(PortRef) ports = {0};
    while (!ir_accept_word(r, "code")) {
        PortRef p = {0};
        if (!ir_accept_word(r, "port") || small_int(r) != ports.n)
            ir_bad(r, "the next port, or code");
        ir_expect(r, "=");
        ir_accept(r, " ");
        if (*r->at == '%')
            p.value = value_at(r, p.idx);
        else
            p.scalar = ir_ix(r);
        p.step = ix_after(r, "step");
        VEC_PUSH(r->cx, &ports, p);
    }
    s->port = ports.at;
    s->n_ports = ports.n;
}

static Stmt *read_body(Reader *q)
{
    IrReader *r = q->r;
    Stmt *s = stmt_new(r->cx, S_BODY);
    s->rows = ix_after(r, "rows");
    s->lanes = ix_after(r, "lanes");
    ir_expect(r, "{");
    read_ports(r, s);
    const char *end = strchr(r->at, '}'); /* nothing in a body's text is a brace */
    if (!end)
        ir_bad(r, "}");
    s->vec = NEW(r->cx, Body);
    body_init(s->vec, r->cx);
    body_parse(s->vec, ctx_strndup(r->cx, r->at, (size_t)(end - r->at)));
    r->at = end + 1;
    return s;
}

/* ---- contractions ------------------------------------------------------------------------------
 */

static int vars_after(IrReader *r, const char *word, const Var **v)
{
    int n = 0;
    if (!ir_accept_word(r, word))
        return 0;
    do {
        if (n == MAX_RANK)
            ir_bad(r, "fewer variables");
        v[n++] = ir_new_var(r);
    } while (ir_accept(r, ","));
    return n;
}

static void read_vars(IrReader *r, Contract *c)
{
    c->n_m = vars_after(r, "rows", c->m);
    if (!ir_accept_word(r, "column"))
        ir_bad(r, "column");
    c->n = ir_new_var(r);
    c->n_tap = vars_after(r, "taps", c->tap);
    if (!ir_accept_word(r, "k"))
        ir_bad(r, "k");
    c->k = ir_new_var(r);
    c->rows = c->taps = ix_int(r->pool, 1);
    for (int i = 0; i < c->n_m; i++)
        c->rows = ix_mul(r->pool, c->rows, c->m[i]->extent);
    for (int i = 0; i < c->n_tap; i++)
        c->taps = ix_mul(r->pool, c->taps, c->tap[i]->extent);
}

static void read_operand_b(IrReader *r, Contract *c)
{
    if (!ir_accept_word(r, "b"))
        ir_bad(r, "b");
    c->b = ir_value(r);
    if (ir_accept_word(r, "packed")) {
        c->packed = ir_value(r);
        c->panel = ix_after(r, "panel");
        return;
    }
    list_of(r, c->b->rank, c->b_idx);
    if (ir_accept_word(r, "taps")) {
        c->ldw = ir_ix(r);
        return;
    }
    if (!ir_accept_word(r, "strides"))
        ir_bad(r, "strides");
    c->sk = ix_after(r, "k");
    c->sn = ix_after(r, "n");
    if (!ir_accept_word(r, "packed"))
        ir_bad(r, "packed");
    c->pack_offset = ix_after(r, "at");
}

static void read_table(IrReader *r, Contract *c)
{
    int n = c->n_m + c->n_tap;
    c->tabled = ir_accept_word(r, "table");
    if (!c->tabled)
        return;
    list_of(r, n, c->a_stride);
    while (ir_accept_word(r, "inside")) {
        if (c->n_cond == NELEM(c->cond0))
            ir_bad(r, "fewer conditions");
        c->cond0[c->n_cond] = ir_ix(r);
        list_of(r, n, c->cond[c->n_cond++]);
    }
}

static Stmt *read_contract(Reader *q)
{
    IrReader *r = q->r;
    Stmt *s = stmt_new(r->cx, S_CALL);
    Contract *c = s->call = NEW(r->cx, Contract);
    c->mr = small_int(r);
    if (!ir_accept_word(r, "x"))
        ir_bad(r, "x");
    c->nr = small_int(r);
    ir_expect(r, "{");
    read_vars(r, c);
    if (!ir_accept_word(r, "out"))
        ir_bad(r, "out");
    c->out = value_at(r, c->out_idx);
    c->ldc = ix_after(r, "stride");
    if (!ir_accept_word(r, "a"))
        ir_bad(r, "a");
    c->a = value_at(r, c->a_idx);
    if (ir_accept_word(r, "if"))
        c->guard = ir_expr(r);
    read_operand_b(r, c);
    read_table(r, c);
    c->rows_offset = ix_after(r, "scratch");
    if (ir_accept_word(r, "zeros"))
        c->zero_offset = ir_ix(r);
    ir_expect(r, "}");
    q->k->contractions++;
    return s;
}

/* ---- statements --------------------------------------------------------------------------------
 */

static void read_stmts(Reader *q, Stmts *into);

static void read_block(Reader *q, Stmts *into)
{
    ir_expect(q->r, "{");
    read_stmts(q, into);
    ir_expect(q->r, "}");
}

static int read_acc(Reader *q)
{
    int acc = small_int(q->r);
    if (acc >= q->k->n_accs)
        ir_bad(q->r, "an accumulator that the kernel has");
    return acc;
}

/* acc0: TYPE = EXPR or acc0 = red(acc0, EXPR); after "acc". */
static Stmt *read_acc_stmt(Reader *q)
{
    IrReader *r = q->r;
    int acc = read_acc(q);
    Stmt *s = stmt_new(r->cx, ir_accept(r, ":") ? S_ACC : S_UPDATE);
    s->acc = acc;
    if (s->kind == S_ACC) {
        s->type = q->acc_type[acc] = ir_dtype(r);
        ir_expect(r, "=");
        s->expr = ir_expr(r);
        return s;
    }
    s->type = q->acc_type[acc];
    ir_expect(r, "=");
    s->red = ir_red(r);
    ir_expect(r, "(acc");
    if (read_acc(q) != acc)
        ir_bad(r, "the same accumulator");
    ir_expect(r, ",");
    s->expr = ir_expr(r);
    ir_expect(r, ")");
    return s;
}

static Stmt *read_store(Reader *q)
{
    IrReader *r = q->r;
    Stmt *s = stmt_new(r->cx, S_STORE);
    s->value = value_at(r, s->idx);
    ir_expect(r, "=");
    if (ir_accept(r, "acc")) {
        s->acc = read_acc(q);
        s->type = q->acc_type[s->acc];
    } else if (!ir_accept_word(r, "transpose"))
        s->expr = ir_expr(r);
    else {
        s->kind = S_TRANSPOSE;
        s->n_ports = 1;
        s->port = NEW(r->cx, PortRef);
        s->port->value = value_at(r, s->port->idx);
        s->rows = ix_after(r, "rows");
        s->row_stride = ix_after(r, "by");
        s->lanes = ix_after(r, "lanes");
        s->lane_stride = ix_after(r, "by");
    }
    return s;
}

static Stmt *read_loop(Reader *q, LoopKind kind)
{
    Stmt *s = stmt_new(q->r->cx, S_FOR);
    s->loop = kind;
    s->var = ir_new_var(q->r);
    read_block(q, &s->body);
    return s;
}

static Stmt *read_if(Reader *q)
{
    Stmt *s = stmt_new(q->r->cx, S_IF);
    s->expr = ir_expr(q->r);
    read_block(q, &s->body);
    return s;
}

static Stmt *read_let(Reader *q)
{
    Stmt *s = stmt_new(q->r->cx, S_LET);
    s->var = ir_new_var(q->r);
    ir_expect(q->r, "=");
    s->ix = ir_ix(q->r);
    return s;
}

static Stmt *read_stmt(Reader *q)
{
    IrReader *r = q->r;
    if (ir_accept_word(r, "for"))
        return read_loop(q, LOOP_SERIAL);
    if (ir_accept_word(r, "parallel"))
        return read_loop(q, LOOP_PARALLEL);
    if (ir_accept_word(r, "if"))
        return read_if(q);
    if (ir_accept_word(r, "let"))
        return read_let(q);
    if (ir_accept_word(r, "body"))
        return read_body(q);
    if (ir_accept_word(r, "contract"))
        return read_contract(q);
    if (ir_accept(r, "acc"))
        return read_acc_stmt(q);
    return read_store(q);
}

static void read_stmts(Reader *q, Stmts *into)
{
    if (++q->r->depth > MAX_NESTING)
        ir_bad(q->r, "less nesting");
    while (!ir_accept(q->r, "}"))
        VEC_PUSH(q->r->cx, into, read_stmt(q));
    q->r->at--; /* the brace is the block's */
    q->r->depth--;
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static void read_nodes(IrReader *r, Kernel *k)
{
    VEC(const Node *) nodes = {0};
    if (!ir_accept_word(r, "nodes"))
        return;
    do {
        int id = small_int(r), i = 0;
        while (i < r->graph->nodes.n && r->graph->nodes.at[i]->id != id)
            i++;
        if (i == r->graph->nodes.n)
            ir_bad(r, "a node that exists");
        VEC_PUSH(r->cx, &nodes, r->graph->nodes.at[i]);
    } while (ir_accept(r, ","));
    k->nodes = nodes.at;
    k->n_nodes = nodes.n;
}

static void read_tile(IrReader *r, Kernel *k)
{
    const Var *v[MAX_RANK];
    int n = vars_after(r, "tile", v);
    k->tiles = ix_int(r->pool, 1);
    for (int i = 0; i < n; i++) {
        VEC_PUSH(r->cx, &k->tile, v[i]);
        k->tiles = ix_mul(r->pool, k->tiles, v[i]->extent);
    }
}

/* Where the place is; an argument's first place says whether it is written. */
static void read_memory(IrReader *r, Kernel *k, Place *pl)
{
    if (ir_accept_word(r, "scratch")) {
        pl->arg = -1;
        pl->offset = ir_ix(r);
        pl->bytes = ix_after(r, "bytes");
        return;
    }
    if (!ir_accept_word(r, "arg"))
        ir_bad(r, "arg or scratch");
    pl->arg = small_int(r);
    bool written = ir_accept_word(r, "written");
    if (pl->arg > k->args.n)
        ir_bad(r, "the arguments in order");
    if (pl->arg < k->args.n)
        return;
    VEC_PUSH(r->cx, &k->args, pl->value);
    VEC_PUSH(r->cx, &k->arg_written, written);
}

static void read_place(IrReader *r, Kernel *k)
{
    Place pl = {.value = ir_decl(r)};
    if (!pl.value)
        ir_bad(r, "input, const or value");
    ir_expect(r, "=");
    read_memory(r, k, &pl);
    if (!ir_accept_word(r, "strides"))
        ir_bad(r, "strides");
    ir_expect(r, "[");
    for (int i = 0; i < pl.value->rank; i++) {
        if (i)
            ir_expect(r, ",");
        pl.stride[i] = ir_ix(r);
        if (ir_accept_word(r, "from"))
            pl.origin[i] = ir_ix(r);
    }
    ir_expect(r, "]");
    VEC_PUSH(r->cx, &k->places, pl);
}

Kernel *loop_kernel(IrReader *r)
{
    Kernel *k = NEW(r->cx, Kernel);
    Reader q = {r, k, NULL};
    if (!ir_accept_word(r, "kernel"))
        ir_bad(r, "kernel");
    k->name = ir_word(r);
    if (!ir_accept_word(r, "id"))
        ir_bad(r, "id");
    k->id = small_int(r);
    if (!ir_accept_word(r, "accs"))
        ir_bad(r, "accs");
    k->n_accs = small_int(r);
    if (k->n_accs > MAX_ACCS)
        ir_bad(r, "fewer accumulators");
    q.acc_type = NEW_N(r->cx, DType, k->n_accs);
    k->scratch = ix_after(r, "scratch");
    ir_expect(r, "{");
    read_nodes(r, k);
    read_tile(r, k);
    while (ir_accept_word(r, "place"))
        read_place(r, k);
    read_stmts(&q, &k->body);
    ir_expect(r, "}");
    kernel_verify(r->cx, k);
    ctx_check(r->cx);
    return k;
}
