/* loop.c: Loop IR: construction, addressing, verifier. Its text is in loop_text.c and loop_parse.c.
 */
#include "codegen/loop.h"
#include "codegen/contract.h"

Stmt *stmt_new(Ctx *cx, StmtKind kind)
{
    Stmt *s = NEW(cx, Stmt);
    s->kind = kind;
    return s;
}

const Place *kernel_place(const Kernel *k, const Value *v)
{
    for (int i = 0; i < k->places.n; i++)
        if (k->places.at[i].value == v)
            return &k->places.at[i];
    return NULL;
}

const Ix *place_offset(Pool *p, const Place *pl, int n, const Ix *const *idx)
{
    const Ix *at = ix_int(p, 0);
    for (int i = 0; i < n; i++) {
        const Ix *rel = pl->origin[i] ? ix_sub(p, idx[i], pl->origin[i]) : idx[i];
        at = ix_add(p, at, ix_mul(p, rel, pl->stride[i]));
    }
    return at;
}

/* ---- verifier ----------------------------------------------------------------------------------
 */

typedef struct Check {
    Ctx *cx;
    const Kernel *k;
    Map bound; /* variables, by address */
    bool *acc; /* has begun */
    const char *where;
} Check;

static void broken(Check *c, const char *what)
{
    ctx_report(c->cx, ST_INTERNAL, NULL, "kernel %s, %s: %s", c->k->name, c->where, what);
}

static void bind(Check *c, const Var *v)
{
    const Var **key = NEW(c->cx, const Var *);
    *key = v;
    map_put(&c->bound, key, sizeof *key, (void *)v);
}

static void unbind(Check *c, const Var *v) { map_del(&c->bound, &v, sizeof v); }

static void check_expr(Check *c, const Expr *e);

/* Is there, and all its variables have values here. */
static void check_ix(Check *c, const Ix *a)
{
    if (!a)
        broken(c, "an index or extent is missing");
    for (int i = 0; a && i < a->n; i++)
        for (int j = 0; j < a->term[i].n; j++) {
            const Atom *t = a->term[i].atom[j];
            if (t->kind == AT_VAR && !map_get(&c->bound, &t->var, sizeof t->var))
                broken(c, ctx_printf(c->cx, "%s%d has no value here", t->var->name, t->var->id));
            if (t->kind == AT_DATA)
                check_expr(c, t->data);
            if (t->a) {
                check_ix(c, t->a);
                check_ix(c, t->b);
            }
        }
}

static const Place *check_index(Check *c, const Value *v, const Ix *const *idx)
{
    const Place *pl = kernel_place(c->k, v);
    if (!pl)
        broken(c, ctx_printf(c->cx, "%%%s#%d has no place", v->name, v->id));
    for (int i = 0; i < v->rank; i++)
        check_ix(c, idx[i]);
    return pl;
}

static void check_expr(Check *c, const Expr *e)
{
    if (e->kind == EX_IX)
        check_ix(c, e->ix);
    else if (e->kind == EX_LOAD)
        (void)check_index(c, e->value, e->idx);
    for (int i = 0; i < e->n && e->kind == EX_PRIM; i++)
        check_expr(c, e->arg[i]);
}

static void check_written(Check *c, const Value *v, const Ix *const *idx)
{
    const Place *pl = check_index(c, v, idx);
    if (pl && pl->arg >= 0 && !c->k->arg_written.at[pl->arg])
        broken(c, "an argument is written that is not marked so");
}

static void check_port(Check *c, const PortRef *r, const BodyPort *p)
{
    check_ix(c, r->step);
    if (r->scalar) {
        check_ix(c, r->scalar);
        if (p->type != DT_I64 || p->kind != PORT_ROW || p->store)
            broken(c, "an index is not loaded as one");
        return;
    }
    if (!r->value) {
        broken(c, "a port leads nowhere");
        return;
    }
    if (r->value->type != p->type)
        broken(c, "a port's type is not its value's");
    if (p->store)
        check_written(c, r->value, r->idx);
    else
        (void)check_index(c, r->value, r->idx);
}

static void check_body(Check *c, const Stmt *s)
{
    check_ix(c, s->rows);
    check_ix(c, s->lanes);
    body_verify(c->cx, s->vec);
    if (s->vec->ports.n != s->n_ports)
        broken(c, "a body has other ports");
    for (int i = 0; i < s->n_ports && i < s->vec->ports.n; i++)
        check_port(c, &s->port[i], &s->vec->ports.at[i]);
}

static void check_transpose(Check *c, const Stmt *s)
{
    check_written(c, s->value, s->idx);
    (void)check_index(c, s->port[0].value, s->port[0].idx);
    check_ix(c, s->rows);
    check_ix(c, s->lanes);
    check_ix(c, s->row_stride);
    check_ix(c, s->lane_stride);
    if (s->value->type != s->port[0].value->type)
        broken(c, "a copy changes the type");
}

static void check_operand_b(Check *c, const Contract *t)
{
    if (t->ldw) {
        (void)check_index(c, t->b, t->b_idx);
        check_ix(c, t->ldw);
    } else if (t->packed) {
        if (!kernel_place(c->k, t->packed))
            broken(c, "packed weights have no place");
        check_ix(c, t->panel);
    } else {
        (void)check_index(c, t->b, t->b_idx);
        check_ix(c, t->sk);
        check_ix(c, t->sn);
        check_ix(c, t->pack_offset);
    }
}

static void check_contract(Check *c, const Contract *t)
{
    check_written(c, t->out, t->out_idx);
    check_ix(c, t->ldc);
    check_operand_b(c, t);
    for (int i = 0; i < t->n_m + t->n_tap; i++) {
        const Var *v = i < t->n_m ? t->m[i] : t->tap[i - t->n_m];
        check_ix(c, v->extent);
        bind(c, v);
    }
    (void)check_index(c, t->a, t->a_idx);
    if (t->guard)
        check_expr(c, t->guard);
    if (t->guard && !t->zero_offset)
        broken(c, "guarded rows need a row of zeros");
    check_ix(c, t->n->extent);
    check_ix(c, t->k->extent);
    for (int i = 0; i < t->n_m + t->n_tap; i++)
        unbind(c, i < t->n_m ? t->m[i] : t->tap[i - t->n_m]);
}

static void check_acc(Check *c, const Stmt *s)
{
    bool inside = s->acc >= 0 && s->acc < c->k->n_accs;
    if (!inside)
        broken(c, "accumulator out of range");
    else if (s->kind == S_ACC)
        c->acc[s->acc] = true;
    else if (!c->acc[s->acc])
        broken(c, "an accumulator is used before it begins");
}

static void check_stmts(Check *c, const Stmts *list);

static void check_stmt(Check *c, const Stmt *s)
{
    static const char *const name[] = {[S_FOR] = "a loop",
        [S_IF] = "an if",
        [S_LET] = "a let",
        [S_ACC] = "an accumulator",
        [S_UPDATE] = "an update",
        [S_STORE] = "a store",
        [S_BODY] = "a body",
        [S_TRANSPOSE] = "a transposing copy",
        [S_CALL] = "a contraction"};
    c->where = name[s->kind];
    if (s->expr)
        check_expr(c, s->expr);
    switch (s->kind) {
    case S_FOR:
        check_ix(c, s->var->extent);
        bind(c, s->var);
        check_stmts(c, &s->body);
        unbind(c, s->var);
        return;
    case S_IF: check_stmts(c, &s->body); return;
    case S_LET: check_ix(c, s->ix); return;
    case S_ACC:
    case S_UPDATE: check_acc(c, s); return;
    case S_STORE:
        check_written(c, s->value, s->idx);
        if (!s->expr)
            check_acc(c, s);
        return;
    case S_BODY: check_body(c, s); return;
    case S_TRANSPOSE: check_transpose(c, s); return;
    case S_CALL: check_contract(c, s->call); return;
    }
}

static void check_stmts(Check *c, const Stmts *list)
{
    for (int i = 0; i < list->n; i++) {
        check_stmt(c, list->at[i]);
        if (list->at[i]->kind == S_LET)
            bind(c, list->at[i]->var);
    }
    for (int i = 0; i < list->n; i++)
        if (list->at[i]->kind == S_LET)
            unbind(c, list->at[i]->var);
}

static void check_place(Check *c, const Place *pl)
{
    const Ix *end = c->k->scratch;
    if (pl->arg >= c->k->args.n)
        broken(c, "there is no such argument");
    for (int i = 0; i < pl->value->rank; i++) {
        check_ix(c, pl->stride[i]);
        if (pl->origin[i])
            check_ix(c, pl->origin[i]);
    }
    if (pl->arg >= 0)
        return;
    if (!pl->offset || !pl->bytes || ix_has_vars(pl->bytes) || ix_has_vars(pl->offset))
        broken(c, "scratch of unknown size");
    else if (ix_is_const(end) && ix_is_const(pl->offset) && ix_is_const(pl->bytes) &&
        pl->offset->c + pl->bytes->c > end->c)
        broken(c, "scratch beyond its end");
}

void kernel_verify(Ctx *cx, const Kernel *k)
{
    Check c = {.cx = cx, .k = k, .acc = NEW_N(cx, bool, k->n_accs), .where = "a place"};
    map_init(&c.bound, cx);
    if (k->scratch) /* reserved once for all tiles */
        check_ix(&c, k->scratch);
    for (int i = 0; i < k->tile.n; i++)
        bind(&c, k->tile.at[i]);
    for (int i = 0; i < k->places.n; i++)
        check_place(&c, &k->places.at[i]);
    check_stmts(&c, &k->body);
    map_done(&c.bound);
}
