/* einsum.c: Einsum. */
#include "graph/ops/dims.h"

/* Labels are small numbers: the letters in order of appearance are not needed, a code each will do;
 * the axes of "..." are numbered from the right, since they broadcast. */
enum { LETTERS = 128, LABELS = LETTERS + MAX_RANK };

/* An operand or result: which label each axis has. */
typedef struct Term {
    const Value *v;
    int n;
    int label[2 * MAX_RANK];
    bool dots;
} Term;

typedef struct Einsum {
    Op *o;
    const char *equation;
    DType type; /* of operands and result */
    const Ix *extent[LABELS];
    int wide; /* axes of "..." in the result */
} Einsum;

static const char *past_spaces(const char *s) { return s + strspn(s, " "); }

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* Reads labels up to ',', "->" or the end; "..." stands for `dots` axes (-1: what the rank leaves).
 */
static const char *read_term(Einsum *e, const char *s, int rank, int dots, Term *t)
{
    int letters = 0;
    const char *end = s + strcspn(s, ",-");
    for (const char *c = s; c < end; c++)
        letters += is_letter(*c);
    for (s = past_spaces(s); s < end; s = past_spaces(s)) {
        bool three = !strncmp(s, "...", 3);
        if ((!three && !is_letter(*s)) || (three && t->dots))
            op_error(e->o, "equation '%s' is wrong at '%s'", e->equation, s);
        int axes = !three ? 1 : dots >= 0 ? dots : rank - letters;
        if (axes < 0 || t->n + axes > MAX_RANK)
            op_error(e->o, "equation '%s' does not fit an operand of rank %d", e->equation, rank);
        t->dots = t->dots || three;
        for (int i = axes - 1; i >= 0; i--)
            t->label[t->n++] = three ? LETTERS + i : *s;
        s += three ? 3 : 1;
    }
    return end;
}

static bool has_label(const Term *t, int label)
{
    for (int k = 0; k < t->n; k++)
        if (t->label[k] == label)
            return true;
    return false;
}

/* The extent of each label: that of the axes that have it, where extents of 1 give way. */
static void find_extents(Einsum *e, const Term *t)
{
    for (int k = 0; k < t->n; k++) {
        const Ix **x = &e->extent[t->label[k]], *d = t->v->dim[k];
        if (*x && !ix_is(*x, 1) && !ix_is(d, 1))
            op_require_equal(e->o, d, *x, "extents of axes with one label");
        if (!*x || ix_is(*x, 1) || (ix_is_const(d) && !ix_is(d, 1)))
            *x = d;
    }
}

/* Without "->": the axes of "...", then the labels that occur once, in alphabetical order. */
static void implicit_result(Einsum *e, const Term *in, int n, Term *out)
{
    for (int i = e->wide - 1; i >= 0; i--)
        out->label[out->n++] = LETTERS + i;
    for (int c = 0; c < LETTERS; c++) {
        int times = 0;
        for (int j = 0; j < n; j++)
            for (int k = 0; k < in[j].n; k++)
                times += in[j].label[k] == c;
        if (times == 1 && out->n < MAX_RANK)
            out->label[out->n++] = c;
    }
}

/* The result's labels, each once and known from the operands. */
static void read_result(Einsum *e, const char *s, const Term *in, int n, Term *out)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < MAX_RANK; i++)
            e->wide = has_label(&in[j], LETTERS + i) ? MAX(e->wide, i + 1) : e->wide;
    if (!*s) {
        implicit_result(e, in, n, out);
        return;
    }
    if (strncmp(s, "->", 2) || strchr(s + 2, ',') || strchr(s + 2, '-'))
        op_error(e->o, "equation '%s' is wrong at '%s'", e->equation, s);
    read_term(e, s + 2, 0, e->wide, out);
    for (int k = 0; k < out->n; k++) {
        if (!e->extent[out->label[k]])
            op_error(e->o, "equation '%s': label '%c' of the result is in no operand", e->equation,
                out->label[k]);
        for (int i = 0; i < k; i++)
            if (out->label[i] == out->label[k])
                op_error(e->o, "equation '%s': a label occurs twice in the result", e->equation);
    }
}

/* Operand t where label l has index at[l]; broadcast axes read element 0, a label twice reads the
 * diagonal. */
static const Expr *load_term(Einsum *e, const Term *t, const Ix *const *at)
{
    const Ix *idx[MAX_RANK];
    for (int k = 0; k < t->n; k++)
        idx[k] = ix_is(t->v->dim[k], 1) ? ix_int(e->o->pool, 0) : at[t->label[k]];
    return op_load(e->o, t->v, idx);
}

/* The product of one or two operands, summed over the labels that `to` has not. `last`: it is the
 * output. */
static void contract(Einsum *e, const Term *a, const Term *b, Term *to, bool last)
{
    Pool *p = e->o->pool;
    const Ix *dim[2 * MAX_RANK], *at[LABELS] = {NULL};
    const Var *red[2 * MAX_RANK];
    int n_red = 0;
    DType acc = dtype_is_float(e->type) && dtype_bits(e->type) < 32 ? DT_F32 : e->type;
    for (int k = 0; k < to->n; k++)
        dim[k] = e->extent[to->label[k]];
    Build y = last ? op_out(e->o, 0, e->type, to->n, dim) : op_temp(e->o, acc, to->n, dim);
    for (int k = 0; k < to->n; k++)
        at[to->label[k]] = y.i[k];
    for (int l = 0; l < LABELS; l++)
        if (!at[l] && (has_label(a, l) || (b && has_label(b, l)))) {
            red[n_red] = op_var(e->o, e->extent[l], "k");
            at[l] = ix_of_var(p, red[n_red++]);
        }
    const Expr *x = load_term(e, a, at);
    if (b) { /* what a step before gave is of type acc */
        DType wide = a->v->type == b->v->type ? e->type : acc;
        x = ex2(p, mul, ex_cast(p, wide, x), ex_cast(p, wide, load_term(e, b, at)));
    }
    if (n_red)
        to->v = build_reduce(&y, RED_SUM, acc, n_red, red, ex_cast(p, acc, x));
    else
        to->v = build_map(&y, ex_cast(p, y.out->type, x));
}

/* Einsum (ai.onnx 12): sum over the labels that the result has not of the product of the operands.
 * More than two are contracted one after the other, each time over the labels that nothing later
 * needs. */
static void einsum(Op *o)
{
    Einsum e = {.o = o, .equation = op_attr_s(o, "equation", "")};
    int n = op_n_in(o);
    Term *in = NEW_N(o->cx, Term, n), out = {.n = 0};
    const char *s = e.equation;
    for (int j = 0; j < n; j++) {
        in[j].v = op_in(o, j, T_NUM);
        op_same_type(o, in[0].v, in[j].v);
        e.type = in[j].v->type;
        s = read_term(&e, s, in[j].v->rank, -1, &in[j]);
        if (in[j].n != in[j].v->rank)
            op_error(o, "equation '%s' does not fit operand %d of rank %d", e.equation, j,
                in[j].v->rank);
        if (j < n - 1 && *s++ != ',')
            op_error(o, "equation '%s' has fewer terms than the %d operands", e.equation, n);
        find_extents(&e, &in[j]);
    }
    if (*s == ',')
        op_error(o, "equation '%s' has more terms than the %d operands", e.equation, n);
    read_result(&e, s, in, n, &out);
    Term left = in[0];
    for (int j = 1; j < n - 1; j++) {
        Term next = {.n = 0};
        for (int l = 0; l < LABELS; l++) {
            bool later = has_label(&out, l);
            for (int i = j + 1; i < n; i++)
                later = later || has_label(&in[i], l);
            if (later && (has_label(&left, l) || has_label(&in[j], l)))
                next.label[next.n++] = l;
        }
        contract(&e, &left, &in[j], &next, false);
        left = next;
    }
    contract(&e, &left, n > 1 ? &in[n - 1] : NULL, &out, true);
}
OP("Einsum", "", 1, einsum)
