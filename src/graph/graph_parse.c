/* graph_parse.c: reads the text form of a Graph (graph_text.c). The text is a developer's or a
 * test's, not a stranger's, so the first error unwinds; but no text may crash. */
#include "graph/graph.h"
#include <stdio.h>

typedef struct Parser {
    Ctx *cx;
    const char *text, *at;
    int depth;
} Parser;

/* What names mean in a graph; keys are the name, a NUL, and the number after it. */
typedef struct Names {
    Graph *g;
    Map values;
    const struct Names *outer;
} Names;

/* ---- tokens ---------------------------------------------------------------------------------- */

static void NORETURN bad(Parser *p, const char *wanted)
{
    int line = 1;
    for (const char *c = p->text; c < p->at; c++)
        line += *c == '\n';
    ctx_fail(p->cx, ST_USAGE, NULL, "graph text, line %d: %s expected at '%.20s'", line, wanted,
        p->at);
}

static void space(Parser *p)
{
    for (;;) {
        while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')
            p->at++;
        if (p->at[0] != '/' || p->at[1] != '/')
            return;
        while (*p->at && *p->at != '\n')
            p->at++;
    }
}

static bool accept(Parser *p, const char *token)
{
    space(p);
    size_t n = strlen(token);
    if (strncmp(p->at, token, n))
        return false;
    p->at += n;
    return true;
}

static void expect(Parser *p, const char *token)
{
    if (!accept(p, token))
        bad(p, token);
}

static bool is_word_char(char c, const char *also)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
        (c && strchr(also, c));
}

/* A keyword: accepted only as a whole word. */
static bool accept_word(Parser *p, const char *word)
{
    space(p);
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) || is_word_char(p->at[n], "."))
        return false;
    p->at += n;
    return true;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char escape(Parser *p)
{
    char c = *p->at++;
    if (c == 'n')
        return '\n';
    if (c != 'u')
        return c ? c : (p->at--, bad(p, "an escape"), 0);
    int v = 0; /* \u00XX stands for the byte XX: what is not ASCII stands for itself */
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(p->at[i]);
        if (d < 0)
            bad(p, "four hex digits");
        v = v * 16 + d;
    }
    p->at += 4;
    if (v > 255)
        bad(p, "a byte");
    return (char)v;
}

static char *quoted(Parser *p)
{
    Buf b;
    buf_init(&b, p->cx);
    buf_puts(&b, "");
    expect(p, "\"");
    while (*p->at != '"') {
        if (!*p->at)
            bad(p, "\"");
        char c = *p->at++;
        buf_putc(&b, c == '\\' ? escape(p) : c);
    }
    p->at++;
    return b.s;
}

/* Right here, without space before it: "//" may begin a name. */
static char *word_here(Parser *p, const char *also)
{
    if (*p->at == '"')
        return quoted(p);
    const char *from = p->at;
    while (is_word_char(*p->at, also))
        p->at++;
    if (p->at == from)
        bad(p, "a word");
    return ctx_strndup(p->cx, from, (size_t)(p->at - from));
}

static char *word(Parser *p, const char *also)
{
    space(p);
    return word_here(p, also);
}

/* An integer of 64 bits, signed or not. */
static uint64_t integer(Parser *p)
{
    bool negative = accept(p, "-");
    space(p);
    const char *from = p->at;
    uint64_t v = 0;
    while (*p->at >= '0' && *p->at <= '9')
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (unsigned)(*p->at++ - '0'), &v))
            bad(p, "an integer of 64 bits");
    if (p->at == from)
        bad(p, "an integer");
    return negative ? 0 - v : v;
}

static int small_integer(Parser *p)
{
    uint64_t v = integer(p);
    if (v > INT32_MAX)
        bad(p, "a small integer");
    return (int)v;
}

static double number(Parser *p)
{
    space(p);
    const char *end;
    double x = parse_double(p->at, &end);
    if (end == p->at)
        bad(p, "a number");
    p->at = end;
    return x;
}

/* ---- dims: sums of products, as ix_print writes them ----------------------------------------- */

enum { DEPTH_MAX = 100 };

static const Ix *parse_ix(Parser *p, Pool *pool);

static const Ix *parse_extreme(Parser *p, Pool *pool, bool is_min)
{
    const Ix *a = parse_ix(p, pool);
    expect(p, ",");
    const Ix *b = parse_ix(p, pool);
    expect(p, ")");
    return is_min ? ix_min(pool, a, b) : ix_max(pool, a, b);
}

static const Ix *parse_factor(Parser *p, Pool *pool)
{
    space(p);
    if ((*p->at >= '0' && *p->at <= '9') || *p->at == '-')
        return ix_int(pool, (int64_t)integer(p));
    if (accept(p, "min("))
        return parse_extreme(p, pool, true);
    if (accept(p, "max("))
        return parse_extreme(p, pool, false);
    if (!accept(p, "("))
        return ix_of_sym(pool, ix_sym_named(pool, word(p, ".")));
    const Ix *a = parse_ix(p, pool);
    expect(p, ")");
    return a;
}

static const Ix *parse_product(Parser *p, Pool *pool)
{
    const Ix *a = parse_factor(p, pool);
    for (;;) {
        if (accept(p, "*"))
            a = ix_mul(pool, a, parse_factor(p, pool));
        else if (accept(p, "/"))
            a = ix_div(pool, a, parse_factor(p, pool));
        else if (accept(p, "%"))
            a = ix_mod(pool, a, parse_factor(p, pool));
        else
            return a;
    }
}

static const Ix *parse_ix(Parser *p, Pool *pool)
{
    if (++p->depth > DEPTH_MAX)
        bad(p, "less nesting");
    space(p);
    bool negative = *p->at == '-' && !(p->at[1] >= '0' && p->at[1] <= '9') && accept(p, "-");
    const Ix *a = parse_product(p, pool);
    if (negative)
        a = ix_muli(pool, a, -1);
    for (;;) {
        if (accept(p, "+"))
            a = ix_add(pool, a, parse_product(p, pool));
        else if (accept(p, "-"))
            a = ix_sub(pool, a, parse_product(p, pool));
        else
            break;
    }
    p->depth--;
    return a;
}

/* ---- types ----------------------------------------------------------------------------------- */

static DType parse_dtype(Parser *p)
{
    const char *name = word(p, "");
    for (int t = 0; t < DT_COUNT; t++)
        if (strcmp(dtype_text((DType)t), name) == 0)
            return (DType)t;
    bad(p, "an element type");
}

typedef struct Type {
    ValueKind kind;
    DType type;
    int rank;
    const Ix *dim[MAX_RANK];
} Type;

static void parse_dims(Parser *p, Pool *pool, Type *t)
{
    t->rank = 0;
    if (accept(p, "]"))
        return;
    do {
        if (t->rank == MAX_RANK)
            bad(p, "a lower rank");
        t->dim[t->rank++] = accept(p, "?") ? NULL : parse_ix(p, pool);
    } while (accept(p, ","));
    expect(p, "]");
}

static Type parse_type(Parser *p, Pool *pool)
{
    Type t = {.rank = -1};
    t.kind = accept(p, "seq(")   ? V_SEQUENCE
        : accept(p, "optional(") ? V_OPTIONAL
        : accept(p, "map(")      ? V_MAP
                                 : V_TENSOR;
    t.type = parse_dtype(p);
    if (accept(p, "["))
        parse_dims(p, pool, &t);
    if (t.kind != V_TENSOR)
        expect(p, ")");
    return t;
}

static const Ix **copy_dims(Parser *p, const Type *t)
{
    const Ix **dim = NEW_N(p->cx, const Ix *, MAX(t->rank, 0));
    for (int i = 0; i < t->rank; i++)
        dim[i] = t->dim[i];
    return dim;
}

static void set_declared(Parser *p, Value *v, const Type *t)
{
    v->kind = t->kind;
    v->declared_type = t->type;
    v->declared_rank = t->rank;
    v->declared_dim = copy_dims(p, t);
}

static void parse_value_type(Parser *p, Pool *pool, Value *v)
{
    Type known = {.rank = -1};
    bool is_known = accept(p, ":");
    if (is_known) {
        known = parse_type(p, pool);
        v->kind = known.kind;
        v->type = known.type;
        v->rank = known.rank;
        v->dim = copy_dims(p, &known);
    }
    if (!accept(p, "~"))
        return;
    space(p);
    if (!is_word_char(*p->at, "")) { /* "~" alone: the same */
        if (!is_known)
            bad(p, "a type");
        set_declared(p, v, &known);
    } else {
        Type t = parse_type(p, pool);
        set_declared(p, v, &t);
    }
}

/* ---- constants ------------------------------------------------------------------------------- */

static void parse_scalar(Parser *p, Tensor *t, int64_t i)
{
    Scalar s;
    if (dtype_is_float(t->type))
        s.f = scalar_round(t->type, number(p));
    else
        s.u = integer(p);
    scalar_store(t->type, t->data, i, s);
}

static void parse_elements(Parser *p, Tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        if (i)
            expect(p, ",");
        if (t->type == DT_STRING)
            t->strings[i] = quoted(p);
        else
            parse_scalar(p, t, i);
    }
    expect(p, "}");
}

static void parse_hex(Parser *p, Tensor *t)
{
    for (size_t i = 0; i < t->bytes; i++) {
        int high = hex_digit(p->at[0]), low = high < 0 ? -1 : hex_digit(p->at[1]);
        if (low < 0)
            bad(p, "more hex digits");
        ((uint8_t *)t->data)[i] = (uint8_t)(high * 16 + low);
        p->at += 2;
    }
    expect(p, "\"");
}

static Tensor *parse_contents(Parser *p, DType type, int rank, const int64_t *dim)
{
    Tensor *t;
    if (accept(p, "#")) { /* the elements are elsewhere */
        t = NEW(p->cx, Tensor);
        t->type = type;
        t->rank = rank;
        memcpy(t->dim, dim, (size_t)rank * sizeof *dim);
        tensor_layout(p->cx, t, NULL);
        for (int i = 0; i < 16; i++) {
            int d = hex_digit(*p->at);
            if (d < 0)
                bad(p, "16 hex digits");
            t->hash = t->hash << 4 | (unsigned)d;
            p->at++;
        }
        return t;
    }
    t = tensor_new(p->cx, type, rank, dim);
    if (accept(p, "{"))
        parse_elements(p, t);
    else if (type != DT_STRING && accept(p, "x\""))
        parse_hex(p, t);
    else
        bad(p, "elements");
    return t;
}

static void static_dims(Parser *p, int rank, const Ix *const *from, int64_t *dim)
{
    for (int i = 0; i < rank; i++) {
        if (!from[i] || !ix_is_const(from[i]))
            bad(p, "a constant with fixed dims");
        dim[i] = from[i]->c;
    }
}

static Tensor *parse_tensor(Parser *p, Pool *pool)
{
    Type type = parse_type(p, pool);
    int64_t dim[MAX_RANK];
    static_dims(p, type.rank, type.dim, dim);
    return parse_contents(p, type.type, MAX(type.rank, 0), dim);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* A value as it is written: %name#number. The key is the name, a NUL and the number. */
typedef struct Token {
    const char *at, *name, *key;
    size_t n;
    Value *value; /* NULL for "_" */
} Token;

static Token parse_token(Parser *p)
{
    Token t = {.at = p->at};
    expect(p, "%");
    t.name = *p->at == '#' ? "" : word_here(p, "./-");
    Buf b;
    buf_init(&b, p->cx);
    buf_write(&b, t.name, strlen(t.name) + 1);
    if (*p->at == '#') {
        p->at++;
        buf_printf(&b, "%d", small_integer(p));
    }
    t.key = b.s;
    t.n = b.n;
    return t;
}

static Value *parse_use(Parser *p, const Names *names)
{
    if (accept(p, "_"))
        return NULL;
    Token t = parse_token(p);
    for (; names; names = names->outer) {
        Value *v = map_get(&names->values, t.key, t.n);
        if (v)
            return v;
    }
    p->at = t.at;
    bad(p, "a value that exists");
}

static Token parse_new(Parser *p, Graph *g)
{
    if (accept(p, "_"))
        return (Token){.value = NULL};
    Token t = parse_token(p);
    t.value = graph_value(g, t.name);
    parse_value_type(p, g->pool, t.value);
    return t;
}

/* From here on the value can be read by others. */
static void enter(Parser *p, Names *names, const Token *t)
{
    if (map_get(&names->values, t->key, t->n)) {
        p->at = t->at;
        bad(p, "a new name");
    }
    map_put(&names->values, t->key, t->n, t->value);
}

static void parse_constant(Parser *p, Names *names, bool input)
{
    Graph *g = names->g;
    Token token = parse_new(p, g);
    Value *v = token.value;
    if (!v)
        bad(p, "a name");
    enter(p, names, &token);
    if (input) {
        v->is_input = true;
        VEC_PUSH(p->cx, &g->inputs, v);
    }
    if (!accept(p, "=")) {
        if (!input)
            bad(p, "=");
        return;
    }
    int64_t dim[MAX_RANK];
    if (v->rank < 0)
        bad(p, "a constant with a type");
    static_dims(p, v->rank, v->dim, dim);
    v->data = parse_contents(p, v->type, v->rank, dim);
    while (g->outer)
        g = g->outer;
    if (dtype_is_float(v->type))
        g->parameters += v->data->count;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static Graph *parse_graph(Parser *p, const Names *outer);

static void parse_ints(Parser *p, Attr *a)
{
    VEC(int64_t) list = {0};
    a->kind = ATTR_INTS;
    while (!accept(p, "]")) {
        if (list.n)
            expect(p, ",");
        VEC_PUSH(p->cx, &list, (int64_t)integer(p));
    }
    a->ints = list.at;
    a->n = list.n;
}

static void parse_floats(Parser *p, Attr *a)
{
    VEC(float) list = {0};
    a->kind = ATTR_FLOATS;
    while (!accept(p, ")")) {
        if (list.n)
            expect(p, ",");
        VEC_PUSH(p->cx, &list, (float)number(p));
    }
    a->floats = list.at;
    a->n = list.n;
}

static void parse_strings(Parser *p, Attr *a)
{
    VEC(const char *) list = {0};
    a->kind = ATTR_STRINGS;
    while (!accept(p, ")")) {
        if (list.n)
            expect(p, ",");
        VEC_PUSH(p->cx, &list, quoted(p));
    }
    a->strings = list.at;
    a->n = list.n;
}

static void parse_tensors(Parser *p, Attr *a, Pool *pool)
{
    VEC(Tensor *) list = {0};
    a->kind = ATTR_TENSORS;
    while (!accept(p, ")")) {
        if (list.n)
            expect(p, ",");
        VEC_PUSH(p->cx, &list, parse_tensor(p, pool));
    }
    a->tensors = list.at;
    a->n = list.n;
}

static void parse_graphs(Parser *p, Attr *a, const Names *names, bool list)
{
    VEC(Graph *) graphs = {0};
    a->kind = list ? ATTR_GRAPHS : ATTR_GRAPH;
    while (!list || !accept(p, ")")) {
        if (graphs.n)
            expect(p, ",");
        expect(p, "graph");
        VEC_PUSH(p->cx, &graphs, parse_graph(p, names));
        if (!list)
            break;
    }
    a->graphs = graphs.at;
    a->n_graphs = graphs.n;
    a->graph = graphs.n ? graphs.at[0] : NULL;
}

static void parse_type_attr(Parser *p, Attr *a, Pool *pool)
{
    Type t = parse_type(p, pool);
    a->kind = ATTR_TYPE;
    a->type = NEW(p->cx, Value);
    a->type->name = "";
    a->type->rank = -1;
    set_declared(p, a->type, &t);
}

static void parse_string_attr(Parser *p, Attr *a)
{
    a->kind = ATTR_STRING;
    a->s = quoted(p);
    a->s_len = (int)strlen(a->s);
}

static void parse_attr(Parser *p, Attr *a, const Names *names)
{
    Pool *pool = names->g->pool;
    a->s = "";
    a->name = word(p, ".");
    expect(p, "=");
    space(p);
    if (*p->at == '"') {
        parse_string_attr(p, a);
    } else if (*p->at == '-' || (*p->at >= '0' && *p->at <= '9')) {
        a->kind = ATTR_INT;
        a->i = (int64_t)integer(p);
    } else if (accept(p, "float(")) {
        a->kind = ATTR_FLOAT;
        a->f = (float)number(p);
        expect(p, ")");
    } else if (accept(p, "floats(")) {
        parse_floats(p, a);
    } else if (accept(p, "[")) {
        parse_ints(p, a);
    } else if (accept(p, "strings(")) {
        parse_strings(p, a);
    } else if (accept(p, "tensors(")) {
        parse_tensors(p, a, pool);
    } else if (accept(p, "graphs(")) {
        parse_graphs(p, a, names, true);
    } else if (strncmp(p->at, "graph ", 6) == 0) {
        parse_graphs(p, a, names, false);
    } else if (accept_word(p, "type")) {
        parse_type_attr(p, a, pool);
    } else if (!accept_word(p, "other")) {
        a->kind = ATTR_TENSOR;
        a->tensor = parse_tensor(p, pool);
    }
}

static void parse_attrs(Parser *p, Node *n, const Names *names)
{
    VEC(Attr) list = {0};
    while (!accept(p, "}")) {
        if (list.n)
            expect(p, ",");
        Attr a = {0};
        parse_attr(p, &a, names);
        VEC_PUSH(p->cx, &list, a);
    }
    n->attr = list.at;
    n->n_attr = list.n;
}

/* ---- nodes and graphs ------------------------------------------------------------------------ */

static const char *plain_domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

static void parse_operator(Parser *p, const Graph *g, Node *n)
{
    n->domain = "";
    n->op_type = word(p, ".");
    if (accept(p, "::")) {
        n->domain = n->op_type;
        n->op_type = word(p, ".");
    }
    for (int i = 0; i < g->opsets.n; i++)
        if (strcmp(g->opsets.at[i].domain, n->domain) == 0)
            n->opset = g->opsets.at[i].version;
    if (accept(p, "!"))
        n->opset = small_integer(p);
}

/* The outputs come first in the text, but the inputs must not see them: they join the names at the
 * end. */
static void parse_node(Parser *p, Names *names)
{
    Graph *g = names->g;
    VEC(Token) out = {0};
    VEC(Value *) in = {0};
    while (!accept(p, "=")) {
        if (out.n)
            expect(p, ",");
        VEC_PUSH(p->cx, &out, parse_new(p, g));
    }
    Node *n = NEW(p->cx, Node);
    parse_operator(p, g, n);
    expect(p, "(");
    while (!accept(p, ")")) {
        if (in.n)
            expect(p, ",");
        VEC_PUSH(p->cx, &in, parse_use(p, names));
    }
    if (accept(p, "{"))
        parse_attrs(p, n, names);
    space(p);
    n->name = *p->at == '"' ? quoted(p) : "";
    n->in = in.at;
    n->n_in = in.n;
    n->n_out = out.n;
    n->out = NEW_N(p->cx, Value *, out.n);
    for (int i = 0; i < out.n; i++) {
        if (!out.at[i].value)
            continue;
        n->out[i] = out.at[i].value;
        n->out[i]->producer = n->out[i]->origin = n;
        enter(p, names, &out.at[i]);
    }
    n->id = g->nodes.n;
    VEC_PUSH(p->cx, &g->nodes, n);
}

static void parse_header(Parser *p, Graph *g)
{
    g->name = quoted(p);
    if (accept_word(p, "ir"))
        g->ir_version = small_integer(p);
    if (accept_word(p, "opset"))
        do {
            const char *domain = plain_domain(word(p, "."));
            Opset o = {domain, small_integer(p)};
            VEC_PUSH(p->cx, &g->opsets, o);
        } while (accept(p, ","));
    if (accept_word(p, "dims"))
        do {
            ix_of_sym(g->pool, ix_sym_named(g->pool, word(p, ".")));
        } while (accept(p, ","));
    expect(p, "{");
}

/* After the word "graph". */
static Graph *parse_graph(Parser *p, const Names *outer)
{
    if (++p->depth > DEPTH_MAX)
        bad(p, "less nesting");
    Names names = {graph_new(p->cx, outer ? outer->g : NULL), {0}, outer};
    Graph *g = names.g;
    map_init(&names.values, p->cx);
    parse_header(p, g);
    while (!accept(p, "}")) {
        if (accept_word(p, "input")) {
            parse_constant(p, &names, true);
        } else if (accept_word(p, "const")) {
            parse_constant(p, &names, false);
        } else if (accept_word(p, "output")) {
            Value *v = parse_use(p, &names);
            if (!v)
                bad(p, "a name");
            v->is_output = true;
            VEC_PUSH(p->cx, &g->outputs, v);
        } else {
            parse_node(p, &names);
        }
    }
    g->nodes_imported = g->nodes.n;
    p->depth--;
    return g;
}

Graph *graph_parse(Ctx *cx, const char *text)
{
    Parser p = {.cx = cx, .text = text, .at = text};
    if (!accept_word(&p, "graph"))
        bad(&p, "graph");
    Graph *g = parse_graph(&p, NULL);
    space(&p);
    if (*p.at)
        bad(&p, "the end");
    return g;
}
