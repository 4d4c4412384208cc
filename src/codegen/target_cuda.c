/* target_cuda.c: CUDA's spellings, and how the threads of a block share a tile.
 *
 * A tile is a block's. All its threads walk the tile's statements together, with the same values of
 * the variables; a statement that touches elements is spread over them: bodies, copies and
 * contractions by their own text, nests of scalar loops as one loop over all their points. Between
 * two such statements stands a barrier, since either may touch what the other one does. Statements
 * that can't be spread are the first thread's. */
#include "codegen/emit.h"

enum { SHARED_BYTES = 48 * 1024 - 256 }; /* what a kernel may have of its own; 256 are sn_parts */

static const char *const prelude[] = {cuda_head, body_c_prelude, cuda_prelude, index_text, NULL};

static void fail(Emit *e, int site, const char *index)
{
    emit_line(e, "    sn_fail(c, %d, %s);", site, index ? index : "0");
}

/* Scratch memory of fixed and moderate size is shared memory. */
static void begin(Emit *e)
{
    const Ix *bytes = e->k->scratch;
    e->dirty = false;
    if (ix_is(bytes, 0))
        return;
    e->dirty = true; /* the tile before */
    if (ix_is_const(bytes) && bytes->c <= SHARED_BYTES)
        emit_line(e, "__shared__ __align__(64) char scratch[%lld];", (long long)bytes->c);
    else
        emit_line(e, "char *const scratch = c->scratch + blockIdx.x * %s;", emit_ix(e, bytes));
}

static void barrier(Emit *e)
{
    if (e->dirty)
        emit_line(e, "__syncthreads();");
    e->dirty = false;
}

/* ---- scalar loops ------------------------------------------------------------------------------
 */

/* Perfectly nested loops, outer to inner, and what they hold. */
typedef struct Chain {
    const Var *var[2 * MAX_RANK];
    int n;
    const Stmts *inner;
} Chain;

static bool uses_chain(const Chain *c, const Ix *a, const Var *but)
{
    for (int i = 0; i < c->n; i++)
        if (c->var[i] != but && ix_uses_var(a, c->var[i]))
            return true;
    return false;
}

/* Do different values of v give different elements, whatever the other variables are? */
static bool tells_apart(Emit *e, const Chain *c, const Stmt *store, const Var *v)
{
    for (int k = 0; k < store->value->rank; k++) {
        const Ix *rest, *coef = ix_coef(e->p, store->idx[k], v, &rest);
        if (coef && ix_is_const(coef) && coef->c && !uses_chain(c, rest, NULL))
            return true;
    }
    return false;
}

typedef struct Reads {
    const Value *value;
    bool found;
} Reads;

static void note_load(void *user, const Expr *load, bool in_index)
{
    Reads *r = user;
    (void)in_index;
    r->found |= load->value == r->value;
}

static bool reads(Emit *e, const Stmts *list, const Value *v)
{
    Reads r = {v, false};
    for (int i = 0; i < list->n && !r.found; i++) {
        if (list->at[i]->expr)
            ex_visit_loads(e->cx, list->at[i]->expr, note_load, &r);
        r.found |= reads(e, &list->at[i]->body, v);
    }
    return r.found;
}

/* Every store below must go elsewhere at each point, and nothing may be read that another point
 * stores. */
static bool stores_apart(Emit *e, const Chain *c, const Stmts *list)
{
    for (int i = 0; i < list->n; i++) {
        const Stmt *s = list->at[i];
        if (!stores_apart(e, c, &s->body))
            return false;
        if (s->kind != S_STORE)
            continue;
        for (int k = 0; k < c->n; k++)
            if (!tells_apart(e, c, s, c->var[k]))
                return false;
        if (reads(e, c->inner, s->value))
            return false;
    }
    return true;
}

/* The loops from s on whose points are independent; n = 0 if they are not. */
static Chain chain_of(Emit *e, const Stmt *s)
{
    Chain c = {.n = 0, .inner = NULL};
    for (; s && s->kind == S_FOR && c.n < NELEM(c.var);) {
        if (uses_chain(&c, s->var->extent, NULL))
            break;
        c.var[c.n++] = s->var;
        c.inner = &s->body;
        s = s->body.n == 1 ? s->body.at[0] : NULL;
    }
    if (c.n && !stores_apart(e, &c, c.inner))
        c.n = 0;
    return c;
}

static void spread_chain(Emit *e, const Chain *c)
{
    const Ix *points = ix_int(e->p, 1);
    for (int i = 0; i < c->n; i++)
        points = ix_mul(e->p, points, c->var[i]->extent);
    emit_line(e, "for (sn_i64 at = threadIdx.x; at < %s; at += blockDim.x) {", emit_ix(e, points));
    int mark = emit_push(e);
    if (c->n > 1)
        emit_line(e, "sn_i64 left = at, next;");
    for (int i = c->n - 1; i >= 0; i--) {
        const Var *v = c->var[i];
        if (i == 0) {
            emit_line(e, "const sn_i64 %s%d = %s;", v->name, v->id, c->n > 1 ? "left" : "at");
            break;
        }
        const char *extent = emit_ix(e, v->extent);
        emit_line(e, "next = sn_quot(left, %s);", extent);
        emit_line(e, "const sn_i64 %s%d = left - next * %s;", v->name, v->id, extent);
        emit_line(e, "left = next;");
    }
    emit_stmts(e, c->inner);
    emit_pop(e, mark);
    emit_line(e, "}");
}

static void by_first_thread(Emit *e, const Stmts *list)
{
    emit_line(e, "if (threadIdx.x == 0) {");
    int mark = emit_push(e);
    emit_stmts(e, list);
    emit_pop(e, mark);
    emit_line(e, "}");
}

/* ---- statements --------------------------------------------------------------------------------
 */

/* Does the statement, or one inside, spread itself over the threads? */
static bool is_wide(const Stmt *s)
{
    if (s->kind == S_BODY || s->kind == S_TRANSPOSE || s->kind == S_CALL)
        return true;
    for (int i = 0; i < s->body.n; i++)
        if (is_wide(s->body.at[i]))
            return true;
    return false;
}

static void block_stmts(Emit *e, const Stmts *list);

/* A loop or test that all threads go through together. What stands at its end is followed by what
 * stands at its begin. */
static void block_control(Emit *e, const Stmt *s)
{
    barrier(e); /* extents and conditions may read */
    if (s->kind == S_IF)
        emit_line(e, "if (%s) {", emit_ex(e, s->expr));
    else {
        const char *v = ctx_printf(e->cx, "%s%d", s->var->name, s->var->id);
        emit_line(e, "for (sn_i64 %s = 0; %s < %s; %s++) {", v, v, emit_ix(e, s->var->extent), v);
        e->dirty = true;
    }
    int mark = emit_push(e);
    block_stmts(e, &s->body);
    emit_pop(e, mark);
    emit_line(e, "}");
    e->dirty = true;
}

/* How many statements from here on belong together: an accumulator's, up to its store. */
static int unit_length(const Stmts *list, int from)
{
    int n = 1;
    if (list->at[from]->kind == S_ACC)
        while (from + n < list->n && list->at[from + n - 1]->kind != S_STORE)
            n++;
    return n;
}

static int narrow(Emit *e, const Stmts *list, int from)
{
    int n = unit_length(list, from);
    const Stmts unit = {.at = list->at + from, .n = n};
    Chain c = {.n = 0};
    if (n == 1)
        c = chain_of(e, unit.at[0]);
    if (c.n)
        spread_chain(e, &c);
    else
        by_first_thread(e, &unit);
    return n;
}

static void block_stmts(Emit *e, const Stmts *list)
{
    for (int i = 0; i < list->n;) {
        const Stmt *s = list->at[i];
        const Stmts one = {.at = list->at + i, .n = 1};
        if (is_wide(s) && (s->kind == S_FOR || s->kind == S_IF)) {
            block_control(e, s);
            i++;
            continue;
        }
        barrier(e);
        if (s->kind == S_LET || is_wide(s)) {
            emit_stmts(e, &one);
            i++;
        } else
            i += narrow(e, list, i);
        e->dirty |= s->kind != S_LET;
    }
}

/* ---- bodies ------------------------------------------------------------------------------------
 */

/* Do rows store to the same memory? */
static bool rows_in_order(const Stmt *s)
{
    if (ix_is(s->rows, 1))
        return false;
    for (int i = 0; i < s->n_ports; i++)
        if (s->vec->ports.at[i].store && ix_is(s->port[i].step, 0))
            return true;
    return false;
}

static void body_def(Emit *e, const Stmt *s, const char *name)
{
    body_print_cuda(e->out, s->vec, name, rows_in_order(s));
    buf_printf(e->out, "#define %s_pool 0\n", name);
}

const Target target_cuda = {
    .name = "cuda",
    .prelude = prelude,
    .kernel_open =
        "extern \"C\" __global__ void %s(const sinter_kctx *c, void *const *buf, const sn_i64 "
        "*dim, "
        "sn_i64 lo, sn_i64 hi)\n{\n",
    .kernel_close = "}\n",
    .parallel_open = "    for (sn_i64 t = lo + blockIdx.x; t < hi; t += gridDim.x) {\n",
    .scratch = "scratch",
    .plane = "for (sn_i64 at = threadIdx.x, rs = %s, ls = %s, r, l;\n"
             "            at < rs * ls && (r = sn_quot(at, ls), l = at - r * ls, true); at += "
             "blockDim.x)",
    .goes_on = true,
    .begin = begin,
    .stmts = block_stmts,
    .fail = fail,
    .body_def = body_def,
    .contract = emit_contract_cuda,
};
