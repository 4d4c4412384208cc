/* ir_parse.c: reads what ir_text.c prints. See ir_text.h. */
#include "graph/ir_text.h"
#include "graph/pool.h"

enum { DEPTH_MAX = 2000 }; /* expressions nest about as deep as a model's longest chain */

/* ---- tokens ---------------------------------------------------------------------------------- */

void ir_bad(IrReader *r, const char *wanted)
{
    int line = 1;
    for (const char *c = r->text; c < r->at; c++)
        line += *c == '\n';
    ctx_fail(r->cx, ST_USAGE, NULL, "IR text, line %d: %s expected at '%.20s'", line, wanted,
        r->at);
}

static void space(IrReader *r) { r->at += strspn(r->at, " \t\r\n"); }

bool ir_at_end(IrReader *r)
{
    space(r);
    return !*r->at;
}

bool ir_accept(IrReader *r, const char *token)
{
    space(r);
    size_t n = strlen(token);
    if (strncmp(r->at, token, n) != 0)
        return false;
    r->at += n;
    return true;
}

void ir_expect(IrReader *r, const char *token)
{
    if (!ir_accept(r, token))
        ir_bad(r, token);
}

static bool is_word(char c, const char *also)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
        (c && strchr(also, c));
}

bool ir_accept_word(IrReader *r, const char *word)
{
    space(r);
    size_t n = strlen(word);
    if (strncmp(r->at, word, n) != 0 || is_word(r->at[n], "."))
        return false;
    r->at += n;
    return true;
}

/* The characters of a word right here; NULL if there are none. */
static char *word_here(IrReader *r, const char *also)
{
    const char *from = r->at;
    while (is_word(*r->at, also))
        r->at++;
    return r->at > from ? ctx_strndup(r->cx, from, (size_t)(r->at - from)) : NULL;
}

char *ir_word(IrReader *r)
{
    space(r);
    char *w = word_here(r, ".");
    if (!w)
        ir_bad(r, "a word");
    return w;
}

/* \u00XX is the byte XX. */
static char escaped(IrReader *r)
{
    char c = *r->at++;
    if (c != 'u')
        return c == 'n' ? '\n' : c ? c : (r->at--, ir_bad(r, "an escape"), c);
    int v = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        char d = *r->at;
        bool digit = d >= '0' && d <= '9', letter = d >= 'a' && d <= 'f';
        if (!digit && !letter)
            ir_bad(r, "four hex digits");
        v = v * 16 + (digit ? d - '0' : d - 'a' + 10);
    }
    return (char)v;
}

/* After the opening quote. */
static char *quoted(IrReader *r)
{
    Buf b;
    buf_init(&b, r->cx);
    buf_puts(&b, "");
    while (*r->at != '"') {
        if (!*r->at)
            ir_bad(r, "\"");
        char c = *r->at++;
        buf_putc(&b, c == '\\' ? escaped(r) : c);
    }
    r->at++;
    return b.s;
}

static uint64_t digits(IrReader *r)
{
    uint64_t v = 0;
    if (*r->at < '0' || *r->at > '9')
        ir_bad(r, "an integer");
    while (*r->at >= '0' && *r->at <= '9')
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (unsigned)(*r->at++ - '0'), &v))
            ir_bad(r, "an integer of 64 bits");
    return v;
}

int64_t ir_int(IrReader *r)
{
    bool negative = ir_accept(r, "-");
    space(r);
    uint64_t v = digits(r);
    if (v > (uint64_t)INT64_MAX + negative)
        ir_bad(r, "an integer of 64 bits");
    return (int64_t)(negative ? 0 - v : v);
}

DType ir_dtype(IrReader *r)
{
    const char *from = r->at, *name = ir_word(r);
    for (int t = DT_F32; t < DT_COUNT; t++)
        if (!strcmp(dtype_text((DType)t), name))
            return (DType)t;
    r->at = from;
    ir_bad(r, "an element type");
}

Red ir_red(IrReader *r)
{
    for (int i = RED_SUM; i <= RED_ALL; i++)
        if (ir_accept_word(r, red_name[i]))
            return (Red)i;
    ir_bad(r, "a reduction");
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *value_text(Ctx *cx, const Value *v)
{
    Buf b;
    buf_init(&b, cx);
    ir_print_value(&b, v);
    return b.s;
}

/* Of values with one name the oldest is meant: the others say their number. */
static void know_value(IrReader *r, Value *v)
{
    const char *text = value_text(r->cx, v);
    if (!map_get_str(&r->values, text))
        map_put_str(&r->values, text, v);
}

void ir_next(IrReader *r, const char *text)
{
    r->text = r->at = text;
    r->depth = 0;
}

void ir_open(IrReader *r, Graph *g, const char *text)
{
    *r = (IrReader){.cx = g->cx, .pool = g->pool, .graph = g};
    ir_next(r, text);
    map_init(&r->vars, r->cx);
    map_init(&r->values, r->cx);
    for (int i = 0; i < g->values.n; i++)
        know_value(r, g->values.at[i]);
}

void ir_know_var(IrReader *r, const Var *v)
{
    map_put_str(&r->vars, ctx_printf(r->cx, "%s%d", v->name, v->id), (void *)v);
}

/* %name#number, as it is written. */
typedef struct Name {
    const char *name, *text;
} Name;

static Name value_name(IrReader *r)
{
    ir_expect(r, "%");
    const char *from = r->at - 1;
    Name n;
    if (*r->at == '"') {
        r->at++;
        n.name = quoted(r);
    } else
        n.name = word_here(r, "./-");
    if (!n.name && *r->at != '#')
        ir_bad(r, "a value");
    if (*r->at == '#') {
        r->at++;
        (void)digits(r);
    }
    n.text = ctx_strndup(r->cx, from, (size_t)(r->at - from));
    n.name = n.name ? n.name : "";
    return n;
}

Value *ir_value(IrReader *r)
{
    space(r);
    const char *from = r->at;
    Name n = value_name(r);
    Value *v = map_get_str(&r->values, n.text);
    if (!v) {
        r->at = from;
        ir_bad(r, "a value that exists");
    }
    return v;
}

static char *var_word(IrReader *r)
{
    space(r);
    const char *from = r->at;
    char *name = word_here(r, "");
    if (!name || !ir_is_var_name(name)) {
        r->at = from;
        ir_bad(r, "a variable");
    }
    return name;
}

const Var *ir_var(IrReader *r)
{
    const char *from = r->at;
    const char *name = var_word(r);
    const Var *v = map_get_str(&r->vars, name);
    if (!v) {
        r->at = from;
        ir_bad(r, "a variable that exists");
    }
    return v;
}

const Var *ir_new_var(IrReader *r)
{
    const char *from = r->at;
    char *name = var_word(r);
    ir_expect(r, "<");
    const Ix *extent = ir_ix(r);
    const Var *v = map_get_str(&r->vars, name);
    if (!v) {
        v = ix_var_new(r->pool, extent, ctx_strndup(r->cx, name, 1));
        map_put_str(&r->vars, name, (void *)v);
    } else if (v->extent != extent) {
        r->at = from;
        ir_bad(r, "the extent that this variable has");
    }
    return v;
}

int ir_vars(IrReader *r, const Var **v, int max)
{
    int n = 0;
    space(r);
    while (*r->at && !strchr("]);}", *r->at)) {
        if (n)
            ir_expect(r, ",");
        if (n == max)
            ir_bad(r, "fewer variables");
        v[n++] = ir_new_var(r);
        space(r);
    }
    return n;
}

/* ---- index forms ----------------------------------------------------------------------------- */

static void nest(IrReader *r)
{
    if (++r->depth > DEPTH_MAX)
        ir_bad(r, "less nesting");
}

static const Ix *read_extreme(IrReader *r, bool is_min)
{
    const Ix *a = ir_ix(r);
    ir_expect(r, ",");
    const Ix *b = ir_ix(r);
    ir_expect(r, ")");
    return is_min ? ix_min(r->pool, a, b) : ix_max(r->pool, a, b);
}

static const Ix *read_data(IrReader *r)
{
    const Expr *e = ir_expr(r);
    int64_t lo = -IX_INF, hi = IX_INF;
    if (e->type != DT_I64)
        ir_bad(r, "an index of type int64");
    if (ir_accept_word(r, "in")) {
        if (!ir_accept(r, ".."))
            lo = ir_int(r), ir_expect(r, "..");
        if (!ir_accept(r, ")"))
            hi = ir_int(r), ir_expect(r, ")");
    } else
        ir_expect(r, ")");
    return ix_data(r->pool, e, lo, hi);
}

/* Quoted, or a word that is not a variable. */
static const Ix *read_name(IrReader *r)
{
    const char *from = r->at;
    if (ir_accept(r, "\""))
        return ix_of_sym(r->pool, ix_sym_named(r->pool, quoted(r)));
    char *name = ir_word(r);
    if (!ir_is_var_name(name))
        return ix_of_sym(r->pool, ix_sym_named(r->pool, name));
    r->at = from;
    return ix_of_atom(r->pool, ir_var(r)->atom); /* also where its extent is 1 */
}

static const Ix *read_factor(IrReader *r)
{
    space(r);
    if (*r->at >= '0' && *r->at <= '9')
        return ix_int(r->pool, ir_int(r));
    if (ir_accept(r, "min("))
        return read_extreme(r, true);
    if (ir_accept(r, "max("))
        return read_extreme(r, false);
    if (ir_accept(r, "at("))
        return read_data(r);
    if (!ir_accept(r, "("))
        return read_name(r);
    const Ix *a = ir_ix(r);
    ir_expect(r, ")");
    return a;
}

static const Ix *divisor(IrReader *r)
{
    const Ix *b = read_factor(r);
    if (b->n == 0 && b->c <= 0)
        ir_bad(r, "a divisor above 0");
    return b;
}

static const Ix *read_product(IrReader *r)
{
    const Ix *a = read_factor(r);
    for (;;) {
        if (ir_accept(r, "*"))
            a = ix_mul(r->pool, a, read_factor(r));
        else if (ir_accept(r, "/"))
            a = ix_div(r->pool, a, divisor(r));
        else if (ir_accept(r, "%"))
            a = ix_mod(r->pool, a, divisor(r));
        else
            return a;
    }
}

const Ix *ir_ix(IrReader *r)
{
    nest(r);
    bool negative = ir_accept(r, "-");
    const Ix *a = read_product(r);
    if (negative)
        a = ix_muli(r->pool, a, -1);
    for (;;) {
        if (ir_accept(r, "+"))
            a = ix_add(r->pool, a, read_product(r));
        else if (ir_accept(r, "-"))
            a = ix_sub(r->pool, a, read_product(r));
        else
            break;
    }
    r->depth--;
    return a;
}

int ir_index(IrReader *r, const Ix **idx)
{
    int n = 0;
    ir_expect(r, "[");
    while (!ir_accept(r, "]")) {
        if (n)
            ir_expect(r, ",");
        if (n == MAX_RANK)
            ir_bad(r, "a lower rank");
        idx[n++] = ir_ix(r);
    }
    return n;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static DType type_behind(IrReader *r) { return ir_accept(r, ":") ? ir_dtype(r) : DT_I64; }

/* A NaN's 16 hex digits. */
static const Expr *read_nan(IrReader *r)
{
    Scalar s = {.u = 0};
    for (int i = 0; i < 16; i++, r->at++) {
        bool digit = *r->at >= '0' && *r->at <= '9', letter = *r->at >= 'a' && *r->at <= 'f';
        if (!digit && !letter)
            ir_bad(r, "16 hex digits");
        s.u = s.u << 4 | (uint64_t)(digit ? *r->at - '0' : *r->at - 'a' + 10);
    }
    DType t = type_behind(r);
    if (s.f == s.f || !dtype_is_float(t))
        ir_bad(r, "the bits of a NaN, and a float type");
    return ex_const(r->pool, t, s);
}

/* The type stands behind the digits, which it says how to read. */
static const Expr *read_number(IrReader *r)
{
    const char *from = r->at, *end;
    double x = parse_double(from, &end);
    r->at = end;
    if (end == from)
        ir_bad(r, "a number");
    DType t = type_behind(r);
    if (dtype_is_float(t))
        return ex_const(r->pool, t, (Scalar){.f = x});
    const char *after = r->at;
    r->at = from;
    Scalar s = {.u = 0};
    if (dtype_is_signed(t))
        s.i = ir_int(r);
    else
        s.u = digits(r);
    if (r->at != end)
        ir_bad(r, "an integer");
    r->at = after;
    return ex_const(r->pool, t, s);
}

static const Expr *read_load(IrReader *r)
{
    const Ix *idx[MAX_RANK];
    const char *from = r->at;
    const Value *v = ir_value(r);
    int n = ir_index(r, idx);
    if (n != v->rank) {
        r->at = from;
        ir_bad(r, "one index for each dim");
    }
    return ex_load(r->pool, v, n, idx);
}

/* What ex_prim would refuse as an internal error is the text's here. */
static void check_types(IrReader *r, Prim op, const Expr *const *a)
{
    char kind = prim_info[op].types;
    bool fl = dtype_is_float(a[0]->type), ok = dtype_computes(a[0]->type);
    if (kind == 's')
        ok = a[0]->type == DT_BOOL && a[1]->type == a[2]->type;
    else if (a[1])
        ok = ok && a[0]->type == a[1]->type;
    if ((kind == 'i' && fl) || ((kind == 'f' || kind == 'p') && !fl))
        ok = false;
    if (!ok)
        ir_bad(r, "operands of other types");
}

/* After the primitive's name. */
static const Expr *read_prim(IrReader *r, Prim op)
{
    const Expr *a[3] = {NULL, NULL, NULL};
    DType to = DT_NONE;
    if (op == P_cast) {
        ir_expect(r, ":");
        to = ir_dtype(r);
    }
    ir_expect(r, "(");
    for (int i = 0; i < prim_info[op].arity; i++) {
        if (i)
            ir_expect(r, ",");
        a[i] = ir_expr(r);
    }
    ir_expect(r, ")");
    if (op == P_cast)
        return ex_cast(r->pool, to, a[0]);
    check_types(r, op, a);
    return ex_prim(r->pool, op, a[0], a[1], a[2]);
}

static const Expr *read_word(IrReader *r)
{
    if (ir_accept_word(r, "true"))
        return ex_bool(r->pool, true);
    if (ir_accept_word(r, "false"))
        return ex_bool(r->pool, false);
    if (ir_accept(r, "ix(")) {
        const Ix *a = ir_ix(r);
        ir_expect(r, ")");
        return ex_ix(r->pool, a);
    }
    for (int i = 0; i < N_PRIMS; i++)
        if (ir_accept_word(r, prim_info[i].name))
            return read_prim(r, (Prim)i);
    if (ir_accept(r, "nan"))
        return read_nan(r);
    return read_number(r);
}

const Expr *ir_expr(IrReader *r)
{
    nest(r);
    space(r);
    const Expr *e = *r->at == '%' ? read_load(r) : read_word(r);
    r->depth--;
    return e;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void read_order(IrReader *r, Value *v)
{
    bool seen[MAX_RANK] = {false};
    for (int k = 0; k < v->rank; k++)
        v->order[k] = (int8_t)k;
    if (!ir_accept_word(r, "order"))
        return;
    for (int k = 0; k < v->rank; k++) {
        if (k)
            ir_expect(r, ",");
        int64_t axis = ir_int(r);
        if (axis < 0 || axis >= v->rank || seen[axis])
            ir_bad(r, "an order of the axes");
        seen[axis] = true;
        v->order[k] = (int8_t)axis;
    }
}

/* The value called so, which must have this type; a new one if there is none. */
static Value *declare(IrReader *r, Name name, DType type, int rank, const Ix *const *dim)
{
    Value *v = map_get_str(&r->values, name.text);
    bool same = v && v->type == type && v->rank == rank;
    for (int k = 0; same && k < rank; k++)
        same = v->dim[k] == dim[k];
    if (v && !same)
        ir_bad(r, ctx_printf(r->cx, "the type that %s has", name.text));
    if (v)
        return v;
    v = graph_value(r->graph, name.name);
    v->twin = name.name[0] && strchr(name.text, '#');
    v->type = type;
    v->rank = rank;
    v->dim = NEW_N(r->cx, const Ix *, rank);
    for (int k = 0; k < rank; k++)
        v->dim[k] = dim[k];
    map_put_str(&r->values, name.text, v);
    return v;
}

Value *ir_decl(IrReader *r)
{
    const Ix *dim[MAX_RANK];
    bool input = ir_accept_word(r, "input");
    bool constant = !input && ir_accept_word(r, "const");
    if (!input && !constant && !ir_accept_word(r, "value"))
        return NULL;
    Name name = value_name(r);
    ir_expect(r, ":");
    DType type = ir_dtype(r);
    int n = ir_index(r, dim);
    bool is_new = !map_get_str(&r->values, name.text);
    Value *v = declare(r, name, type, n, dim);
    if (is_new && input) {
        v->is_input = true;
        VEC_PUSH(r->cx, &r->graph->inputs, v);
    }
    if (is_new && constant) { /* its elements are elsewhere */
        v->data = NEW(r->cx, Tensor);
        *v->data = (Tensor){.type = type, .rank = n};
        for (int k = 0; k < n; k++)
            v->data->dim[k] = ix_is_const(dim[k]) ? dim[k]->c : (ir_bad(r, "fixed dims"), 0);
        tensor_layout(r->cx, v->data, NULL);
    }
    read_order(r, v);
    return v;
}

static const Var **copy_vars(IrReader *r, int n, const Var *const *v)
{
    const Var **copy = NEW_N(r->cx, const Var *, n);
    for (int i = 0; i < n; i++)
        copy[i] = v[i];
    return copy;
}

Def *ir_def(IrReader *r)
{
    const Var *axis[MAX_RANK], *red[SUBST_VARS];
    const Ix *dim[MAX_RANK];
    Def *d = NEW(r->cx, Def);
    Name name = value_name(r);
    ir_expect(r, ":");
    DType type = ir_dtype(r);
    ir_expect(r, "[");
    d->n_axes = ir_vars(r, axis, MAX_RANK);
    ir_expect(r, "]");
    for (int k = 0; k < d->n_axes; k++)
        dim[k] = axis[k]->extent;
    d->out = declare(r, name, type, d->n_axes, dim);
    read_order(r, d->out);
    ir_expect(r, "=");
    const char *from = r->at;
    for (int i = RED_SUM; i <= RED_ALL && !d->red; i++) /* min(a, b) is no reduction */
        if (ir_accept_word(r, red_name[i])) {
            if (ir_accept(r, ":"))
                d->red = (Red)i;
            else
                r->at = from;
        }
    if (d->red) {
        d->acc = ir_dtype(r);
        ir_expect(r, "(");
        d->n_red = ir_vars(r, red, SUBST_VARS);
        ir_expect(r, ";");
    }
    d->body = ir_expr(r);
    if (d->red)
        ir_expect(r, ")");
    d->axis = copy_vars(r, d->n_axes, axis);
    d->red_axis = copy_vars(r, d->n_red, red);
    if (!d->out->def)
        d->out->def = d;
    def_verify(r->cx, d);
    ctx_check(r->cx);
    return d;
}

void ir_defs(IrReader *r, Defs *out)
{
    while (!ir_at_end(r))
        if (!ir_decl(r))
            VEC_PUSH(r->cx, out, ir_def(r));
}
