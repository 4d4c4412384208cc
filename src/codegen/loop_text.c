/* loop_text.c: Loop IR as text, which loop_parse.c reads. See loop_text.h for the form. */
#include "codegen/loop_text.h"
#include "codegen/contract.h"

static void print_list(Buf *b, int n, const Ix *const *a)
{
    buf_putc(b, '[');
    for (int i = 0; i < n; i++) {
        buf_puts(b, i ? ", " : "");
        ix_print(b, a[i]);
    }
    buf_putc(b, ']');
}

static void print_index(Buf *b, const Value *v, const Ix *const *idx)
{
    ir_print_value(b, v);
    print_list(b, v->rank, idx);
}

static void word_ix(Buf *b, const char *word, const Ix *a)
{
    buf_puts(b, word);
    ix_print(b, a);
}

static void indent(Buf *b, int depth) { buf_printf(b, "%*s", depth * 2, ""); }

/* ---- bodies and contractions -------------------------------------------------------------------
 */

static void print_ports(Buf *b, const Stmt *s, int depth)
{
    for (int i = 0; i < s->n_ports; i++) {
        const PortRef *r = &s->port[i];
        indent(b, depth);
        buf_printf(b, "port %d = ", i);
        if (r->scalar)
            ix_print(b, r->scalar);
        else
            print_index(b, r->value, r->idx);
        word_ix(b, " step ", r->step);
        buf_putc(b, '\n');
    }
}

static void print_body(Buf *b, const Stmt *s, int depth)
{
    Buf code;
    buf_init(&code, b->cx);
    body_print(&code, s->vec);
    word_ix(b, "body rows ", s->rows);
    word_ix(b, " lanes ", s->lanes);
    buf_puts(b, " {\n");
    print_ports(b, s, depth + 1);
    indent(b, depth + 1);
    buf_puts(b, "code\n");
    for (const char *line = code.n ? code.s : ""; *line;) {
        size_t n = strcspn(line, "\n") + 1;
        indent(b, depth + 1);
        buf_write(b, line, n);
        line += n;
    }
    indent(b, depth);
    buf_putc(b, '}');
}

static void print_vars(Buf *b, const char *what, int n, const Var *const *v, int depth)
{
    if (!n)
        return;
    indent(b, depth);
    buf_puts(b, what);
    ir_print_vars(b, n, v);
    buf_putc(b, '\n');
}

static void print_operand_b(Buf *b, const Contract *c)
{
    buf_puts(b, "b ");
    if (c->packed) {
        ir_print_value(b, c->b);
        buf_puts(b, " packed ");
        ir_print_value(b, c->packed);
        word_ix(b, " panel ", c->panel);
        return;
    }
    print_index(b, c->b, c->b_idx);
    if (c->ldw) {
        word_ix(b, " taps ", c->ldw);
        return;
    }
    word_ix(b, " strides k ", c->sk);
    word_ix(b, " n ", c->sn);
    word_ix(b, " packed at ", c->pack_offset);
}

/* From which the kernel set makes the row pointers. */
static void print_table(Buf *b, const Contract *c, int depth)
{
    int n = c->n_m + c->n_tap;
    if (!c->tabled)
        return;
    indent(b, depth);
    buf_puts(b, "table ");
    print_list(b, n, c->a_stride);
    for (int i = 0; i < c->n_cond; i++) {
        word_ix(b, " inside ", c->cond0[i]);
        buf_putc(b, ' ');
        print_list(b, n, c->cond[i]);
    }
    buf_putc(b, '\n');
}

static void print_contract(Buf *b, const Contract *c, int depth)
{
    buf_printf(b, "contract %d x %d {\n", c->mr, c->nr);
    print_vars(b, "rows ", c->n_m, c->m, depth + 1);
    print_vars(b, "column ", 1, &c->n, depth + 1);
    print_vars(b, "taps ", c->n_tap, c->tap, depth + 1);
    print_vars(b, "k ", 1, &c->k, depth + 1);
    indent(b, depth + 1);
    buf_puts(b, "out ");
    print_index(b, c->out, c->out_idx);
    word_ix(b, " stride ", c->ldc);
    buf_putc(b, '\n');
    indent(b, depth + 1);
    buf_puts(b, "a ");
    print_index(b, c->a, c->a_idx);
    if (c->guard) {
        buf_puts(b, " if ");
        ex_print(b, c->guard);
    }
    buf_putc(b, '\n');
    indent(b, depth + 1);
    print_operand_b(b, c);
    buf_putc(b, '\n');
    print_table(b, c, depth + 1);
    indent(b, depth + 1);
    word_ix(b, "scratch ", c->rows_offset);
    if (c->zero_offset)
        word_ix(b, " zeros ", c->zero_offset);
    buf_putc(b, '\n');
    indent(b, depth);
    buf_putc(b, '}');
}

/* ---- statements --------------------------------------------------------------------------------
 */

static void print_stmts(Buf *b, const Stmts *list, int depth);

static void print_block(Buf *b, const Stmts *list, int depth)
{
    buf_puts(b, " {\n");
    print_stmts(b, list, depth + 1);
    indent(b, depth);
    buf_putc(b, '}');
}

static void print_transpose(Buf *b, const Stmt *s)
{
    print_index(b, s->value, s->idx);
    buf_puts(b, " = transpose ");
    print_index(b, s->port[0].value, s->port[0].idx);
    word_ix(b, " rows ", s->rows);
    word_ix(b, " by ", s->row_stride);
    word_ix(b, " lanes ", s->lanes);
    word_ix(b, " by ", s->lane_stride);
}

static void print_store(Buf *b, const Stmt *s)
{
    print_index(b, s->value, s->idx);
    buf_puts(b, " = ");
    if (s->expr)
        ex_print(b, s->expr);
    else
        buf_printf(b, "acc%d", s->acc);
}

static void print_stmt(Buf *b, const Stmt *s, int depth)
{
    switch (s->kind) {
    case S_FOR:
        buf_puts(b, s->loop == LOOP_PARALLEL ? "parallel " : "for ");
        ir_print_vars(b, 1, &s->var);
        print_block(b, &s->body, depth);
        return;
    case S_IF:
        buf_puts(b, "if ");
        ex_print(b, s->expr);
        print_block(b, &s->body, depth);
        return;
    case S_LET:
        buf_puts(b, "let ");
        ir_print_vars(b, 1, &s->var);
        word_ix(b, " = ", s->ix);
        return;
    case S_ACC:
        buf_printf(b, "acc%d: %s = ", s->acc, dtype_text(s->type));
        ex_print(b, s->expr);
        return;
    case S_UPDATE:
        buf_printf(b, "acc%d = %s(acc%d, ", s->acc, red_name[s->red], s->acc);
        ex_print(b, s->expr);
        buf_putc(b, ')');
        return;
    case S_STORE: print_store(b, s); return;
    case S_BODY: print_body(b, s, depth); return;
    case S_TRANSPOSE: print_transpose(b, s); return;
    case S_CALL: print_contract(b, s->call, depth); return;
    }
}

static void print_stmts(Buf *b, const Stmts *list, int depth)
{
    for (int i = 0; i < list->n; i++) {
        indent(b, depth);
        print_stmt(b, list->at[i], depth);
        buf_putc(b, '\n');
    }
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

/* An argument belongs to the first place that names it; others are computed in its memory. */
static void print_place(Buf *b, const Kernel *k, const Place *pl)
{
    bool owner = pl->arg >= 0 && k->args.at[pl->arg] == pl->value;
    buf_puts(b, "  place ");
    ir_print_decl(b, pl->value);
    b->s[--b->n] = 0; /* the end of that line */
    if (pl->arg >= 0)
        buf_printf(b, " = arg %d%s", pl->arg,
            owner && k->arg_written.at[pl->arg] ? " written" : "");
    else {
        word_ix(b, " = scratch ", pl->offset);
        word_ix(b, " bytes ", pl->bytes);
    }
    buf_puts(b, " strides [");
    for (int i = 0; i < pl->value->rank; i++) {
        word_ix(b, i ? ", " : "", pl->stride[i]);
        if (pl->origin[i])
            word_ix(b, " from ", pl->origin[i]);
    }
    buf_puts(b, "]\n");
}

void kernel_print(Buf *b, const Kernel *k)
{
    buf_printf(b, "kernel %s id %d accs %d", k->name, k->id, k->n_accs);
    word_ix(b, " scratch ", k->scratch);
    buf_puts(b, " {\n");
    for (int i = 0; i < k->n_nodes; i++)
        buf_printf(b, "%s%d", i ? ", " : "  nodes ", k->nodes[i]->id);
    buf_puts(b, k->n_nodes ? "\n" : "");
    print_vars(b, "tile ", k->tile.n, k->tile.at, 1);
    for (int i = 0; i < k->places.n; i++)
        print_place(b, k, &k->places.at[i]);
    print_stmts(b, &k->body, 1);
    buf_puts(b, "}\n");
}
