/* ir_text.c: index forms, expressions and definitions as text; ir_parse.c reads it. See ir_text.h.
 */
#include "graph/ir_text.h"
#include <math.h>

#define DIGITS "0123456789"
#define WORD_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" DIGITS

bool ir_is_var_name(const char *s)
{
    bool letter = s[0] >= 'a' && s[0] <= 'z' && s[0] != 'u';
    return letter && s[1] && s[1 + strspn(s + 1, DIGITS)] == 0;
}

/* A symbol is any string of the model. Quotes tell it from a variable. */
static void print_sym(Buf *b, const char *name)
{
    bool plain = name[0] && name[strspn(name, WORD_CHARS ".")] == 0 && !strchr(DIGITS ".", name[0]);
    if (plain && !ir_is_var_name(name))
        buf_puts(b, name);
    else
        buf_quoted(b, name);
}

static void print_data(Buf *b, const Atom *a)
{
    buf_puts(b, "at(");
    ex_print(b, a->data);
    if (a->lo > -IX_INF || a->hi < IX_INF)
        buf_puts(b, " in ");
    if (a->lo > -IX_INF)
        buf_printf(b, "%lld", (long long)a->lo);
    if (a->lo > -IX_INF || a->hi < IX_INF)
        buf_puts(b, "..");
    if (a->hi < IX_INF)
        buf_printf(b, "%lld", (long long)a->hi);
    buf_putc(b, ')');
}

static void print_atom(Buf *b, const Atom *a)
{
    static const char *const sign[] =
        {[AT_DIV] = " / ", [AT_MOD] = " % ", [AT_MIN] = ", ", [AT_MAX] = ", "};
    switch (a->kind) {
    case AT_VAR: buf_printf(b, "%s%d", a->var->name, a->var->id); return;
    case AT_SYM: print_sym(b, a->sym->name); return;
    case AT_DATA: print_data(b, a); return;
    default:
        buf_puts(b, a->kind == AT_MIN ? "min(" : a->kind == AT_MAX ? "max(" : "(");
        ix_print(b, a->a);
        buf_puts(b, sign[a->kind]);
        ix_print(b, a->b);
        buf_puts(b, ")");
        return;
    }
}

void ix_print(Buf *b, const Ix *a)
{
    bool paren = a->n + (a->c != 0) > 1;
    if (paren)
        buf_putc(b, '(');
    for (int i = 0; i < a->n; i++) {
        const IxTerm *t = &a->term[i];
        if (i || t->coef < 0)
            buf_puts(b, t->coef < 0 ? (i ? " - " : "-") : " + ");
        int64_t c = t->coef < 0 ? -t->coef : t->coef;
        if (c != 1)
            buf_printf(b, "%lld*", (long long)c);
        for (int j = 0; j < t->n; j++) {
            if (j)
                buf_putc(b, '*');
            print_atom(b, t->atom[j]);
        }
    }
    if (a->c || !a->n) {
        if (a->n)
            buf_puts(b, a->c < 0 ? " - " : " + ");
        buf_printf(b, "%lld", a->n && a->c < 0 ? -(long long)a->c : (long long)a->c);
    }
    if (paren)
        buf_putc(b, ')');
}

void ir_print_value(Buf *b, const Value *v)
{
    buf_putc(b, '%');
    if (v->name[0] && v->name[strspn(v->name, WORD_CHARS "./-")] == 0)
        buf_puts(b, v->name);
    else if (v->name[0])
        buf_quoted(b, v->name);
    if (!v->name[0] || v->twin)
        buf_printf(b, "#%d", v->id);
}

static void print_const(Buf *b, const Expr *e)
{
    if (dtype_is_float(e->type) && isnan(e->k.f))
        buf_printf(b, "nan%llx", (unsigned long long)e->k.u); /* a NaN is its bits */
    else if (dtype_is_float(e->type))
        buf_double(b, e->k.f);
    else if (e->type == DT_BOOL)
        buf_puts(b, e->k.u ? "true" : "false");
    else if (dtype_is_signed(e->type))
        buf_printf(b, "%lld", (long long)e->k.i);
    else
        buf_printf(b, "%llu", (unsigned long long)e->k.u);
    if (e->type != DT_I64 && e->type != DT_BOOL)
        buf_printf(b, ":%s", dtype_text(e->type));
}

void ex_print(Buf *b, const Expr *e)
{
    switch (e->kind) {
    case EX_CONST: print_const(b, e); return;
    case EX_IX:
        buf_puts(b, "ix(");
        ix_print(b, e->ix);
        buf_puts(b, ")");
        return;
    case EX_LOAD:
        ir_print_value(b, e->value);
        buf_putc(b, '[');
        for (int i = 0; i < e->n; i++) {
            buf_puts(b, i ? ", " : "");
            ix_print(b, e->idx[i]);
        }
        buf_putc(b, ']');
        return;
    case EX_PRIM:
        buf_puts(b, prim_info[e->prim].name);
        if (e->prim == P_cast)
            buf_printf(b, ":%s", dtype_text(e->type));
        buf_putc(b, '(');
        for (int i = 0; i < e->n; i++) {
            buf_puts(b, i ? ", " : "");
            ex_print(b, e->arg[i]);
        }
        buf_putc(b, ')');
        return;
    }
}

void ir_print_vars(Buf *b, int n, const Var *const *v)
{
    for (int i = 0; i < n; i++) {
        buf_printf(b, "%s%s%d<", i ? ", " : "", v[i]->name, v[i]->id);
        ix_print(b, v[i]->extent);
    }
}

void ir_print_order(Buf *b, const Value *v)
{
    bool plain = true, unset = true;
    for (int k = 0; k < v->rank; k++) {
        plain &= v->order[k] == k;
        unset &= v->order[k] == 0;
    }
    if (plain || unset)
        return;
    for (int k = 0; k < v->rank; k++)
        buf_printf(b, "%s%d", k ? "," : " order ", v->order[k]);
}

void ir_print_decl(Buf *b, const Value *v)
{
    buf_puts(b, v->data && !v->is_input ? "const " : v->is_input ? "input " : "value ");
    ir_print_value(b, v);
    buf_printf(b, ": %s[", dtype_text(v->type));
    for (int k = 0; k < v->rank; k++) {
        buf_puts(b, k ? ", " : "");
        ix_print(b, v->dim[k]);
    }
    buf_putc(b, ']');
    ir_print_order(b, v);
    buf_putc(b, '\n');
}

void def_print(Buf *b, const Def *d)
{
    ir_print_value(b, d->out);
    buf_printf(b, ": %s[", dtype_text(d->out->type));
    ir_print_vars(b, d->n_axes, d->axis);
    buf_putc(b, ']');
    ir_print_order(b, d->out);
    buf_puts(b, " = ");
    if (d->red != RED_NONE) {
        buf_printf(b, "%s:%s(", red_name[d->red], dtype_text(d->acc));
        ir_print_vars(b, d->n_red, d->red_axis);
        buf_puts(b, "; ");
    }
    ex_print(b, d->body);
    if (d->red != RED_NONE)
        buf_putc(b, ')');
    buf_putc(b, '\n');
}

void def_verify(Ctx *cx, const Def *d)
{
    const char *wrong = NULL;
    if (d->n_axes != d->out->rank)
        wrong = "axes do not match the rank";
    for (int i = 0; !wrong && i < d->n_axes; i++)
        if (d->axis[i]->extent != d->out->dim[i])
            wrong = "an axis does not match its dim";
    if (!wrong && d->body->type != (d->red == RED_NONE ? d->out->type : d->acc))
        wrong = "the body's type is not the value's";
    if (!wrong && (d->red == RED_NONE) != (d->n_red == 0) && d->red == RED_NONE)
        wrong = "reduction axes without a reduction";
    if (wrong)
        ctx_report(cx, ST_INTERNAL, &(Where){.tensor = d->out->name}, "broken definition: %s",
            wrong);
}
