/* loop.c: Loop IR: construction, addressing, verifier, text. */
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

/* ---- text --------------------------------------------------------------------------------------
 */

static void print_index(Buf *b, const Value *v, const Ix *const *idx)
{
    if (v->name && v->name[0])
        buf_printf(b, "%%%s[", v->name);
    else
        buf_printf(b, "%%%d[", v->id);
    for (int i = 0; i < v->rank; i++) {
        buf_puts(b, i ? ", " : "");
        ix_print(b, idx[i]);
    }
    buf_putc(b, ']');
}

static void print_stmts(Buf *b, const Stmts *list, int depth);

static void print_body(Buf *b, const Stmt *s, int depth)
{
    buf_puts(b, "body rows ");
    ix_print(b, s->rows);
    buf_puts(b, " lanes ");
    ix_print(b, s->lanes);
    buf_puts(b, " {\n");
    for (int i = 0; i < s->n_ports; i++) {
        buf_printf(b, "%*sport %d = ", depth * 2 + 2, "", i);
        if (s->port[i].scalar)
            ix_print(b, s->port[i].scalar);
        else
            print_index(b, s->port[i].value, s->port[i].idx);
        buf_puts(b, " step ");
        ix_print(b, s->port[i].step);
        buf_putc(b, '\n');
    }
    body_print(b, s->vec);
    buf_printf(b, "%*s}\n", depth * 2, "");
}

static void print_stmt(Buf *b, const Stmt *s, int depth)
{
    buf_printf(b, "%*s", depth * 2, "");
    switch (s->kind) {
    case S_FOR:
        buf_printf(b, "%s %s%d < ", s->loop == LOOP_PARALLEL ? "parallel" : "for", s->var->name,
            s->var->id);
        ix_print(b, s->var->extent);
        buf_puts(b, " {\n");
        print_stmts(b, &s->body, depth + 1);
        buf_printf(b, "%*s}\n", depth * 2, "");
        return;
    case S_IF:
        buf_puts(b, "if ");
        ex_print(b, s->expr);
        buf_puts(b, " {\n");
        print_stmts(b, &s->body, depth + 1);
        buf_printf(b, "%*s}\n", depth * 2, "");
        return;
    case S_LET:
        buf_printf(b, "let %s%d = ", s->var->name, s->var->id);
        ix_print(b, s->ix);
        break;
    case S_ACC:
        buf_printf(b, "acc%d: %s = ", s->acc, dtype_text(s->type));
        ex_print(b, s->expr);
        break;
    case S_UPDATE:
        buf_printf(b, "acc%d = %s(acc%d, ", s->acc, red_name[s->red], s->acc);
        ex_print(b, s->expr);
        buf_putc(b, ')');
        break;
    case S_STORE:
        print_index(b, s->value, s->idx);
        buf_puts(b, " = ");
        if (s->expr)
            ex_print(b, s->expr);
        else
            buf_printf(b, "acc%d", s->acc);
        break;
    case S_BODY: print_body(b, s, depth); return;
    case S_TRANSPOSE:
        print_index(b, s->value, s->idx);
        buf_puts(b, " = transpose ");
        print_index(b, s->port[0].value, s->port[0].idx);
        buf_puts(b, " rows ");
        ix_print(b, s->rows);
        buf_puts(b, " lanes ");
        ix_print(b, s->lanes);
        break;
    case S_CALL: contract_print(b, s->call); break;
    }
    buf_putc(b, '\n');
}

static void print_stmts(Buf *b, const Stmts *list, int depth)
{
    for (int i = 0; i < list->n; i++)
        print_stmt(b, list->at[i], depth);
}

static void print_place(Buf *b, const Place *pl)
{
    buf_puts(b, "  place ");
    buf_printf(b, pl->value->name[0] ? "%%%s" : "%%%s%d", pl->value->name, pl->value->id);
    if (pl->arg >= 0)
        buf_printf(b, " = arg %d", pl->arg);
    else {
        buf_puts(b, " = scratch ");
        ix_print(b, pl->offset);
    }
    buf_puts(b, " strides [");
    for (int i = 0; i < pl->value->rank; i++) {
        buf_puts(b, i ? ", " : "");
        ix_print(b, pl->stride[i]);
        if (pl->origin[i]) {
            buf_puts(b, " from ");
            ix_print(b, pl->origin[i]);
        }
    }
    buf_puts(b, "]\n");
}

void kernel_print(Buf *b, const Kernel *k)
{
    buf_printf(b, "kernel %s scratch ", k->name);
    ix_print(b, k->scratch);
    buf_puts(b, " {\n");
    for (int i = 0; i < k->places.n; i++)
        print_place(b, &k->places.at[i]);
    for (int i = 0; i < k->tile.n; i++) {
        buf_printf(b, "  tile %s%d < ", k->tile.at[i]->name, k->tile.at[i]->id);
        ix_print(b, k->tile.at[i]->extent);
        buf_putc(b, '\n');
    }
    print_stmts(b, &k->body, 1);
    buf_puts(b, "}\n");
}

/* ---- verifier ----------------------------------------------------------------------------------
 */

typedef struct Check {
    Ctx *cx;
    const Kernel *k;
} Check;

static void check_load(void *user, const Expr *load, bool in_index)
{
    Check *c = user;
    (void)in_index;
    if (!kernel_place(c->k, load->value))
        ctx_report(c->cx, ST_INTERNAL, NULL, "kernel %s reads %%%d, which has no place", c->k->name,
            load->value->id);
}

static void check_stmts(Check *c, const Stmts *list)
{
    for (int i = 0; i < list->n; i++) {
        const Stmt *s = list->at[i];
        if (s->expr)
            ex_visit_loads(c->cx, s->expr, check_load, c);
        if (s->value && !kernel_place(c->k, s->value))
            ctx_report(c->cx, ST_INTERNAL, NULL, "kernel %s stores %%%d, which has no place",
                c->k->name, s->value->id);
        if (s->acc >= c->k->n_accs && (s->kind == S_ACC || s->kind == S_UPDATE))
            ctx_report(c->cx, ST_INTERNAL, NULL, "kernel %s: accumulator out of range", c->k->name);
        for (int j = 0; j < s->n_ports; j++)
            if (s->port[j].value && !kernel_place(c->k, s->port[j].value))
                ctx_report(c->cx, ST_INTERNAL, NULL, "kernel %s: a port has no place", c->k->name);
        check_stmts(c, &s->body);
    }
}

void kernel_verify(Ctx *cx, const Kernel *k)
{
    Check c = {cx, k};
    check_stmts(&c, &k->body);
    for (int i = 0; i < k->places.n; i++)
        if (k->places.at[i].arg < 0 &&
            (!k->places.at[i].offset || ix_has_vars(k->places.at[i].bytes)))
            ctx_report(cx, ST_INTERNAL, NULL, "kernel %s: scratch of unknown size", k->name);
}
