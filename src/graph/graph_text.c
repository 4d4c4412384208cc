/* graph_text.c: a Graph as text, the form that graph_parse.c reads.
 *
 *     graph "main" ir 8 opset ai.onnx 13 dims batch, seq {
 *         input %x ~ float32[batch, 3]
 *         const %b: int64[2] = {0, -1}
 *         %y: float32[batch, 4], _ = Conv(%x, %w, _) {strides=[2, 2], alpha=float(0.5)} "the node's
 * name" output %y
 *     }
 *
 * `dims` lists the symbols (when there are two or more) in the order in which sums and products
 * name them.
 * `: T` is what the compiler knows of a value's type, `~ T` what the model declares (`~` alone: the
 * same). Values that share a name, or have none, get a number: %y#7. Names of other than plain
 * characters are quoted. Constants are written out up to 256 bytes, as hex up to 4 KB, and as a
 * hash beyond: such a text can be read back and printed again, but not run.
 */
#include "graph/graph.h"
#include <math.h>
#include <stdio.h>

enum { INLINE_BYTES = 256, HEX_BYTES = 4096 };

/* The numbers of a graph's values; 0 while a value has not been printed, -1 where the name is
 * enough. */
typedef struct Numbers {
    const Graph *g;
    int *at;
    const struct Numbers *outer;
} Numbers;

typedef struct Printer {
    Buf *b;
    Map names; /* name -> how many values have it, as a pointer */
    int next, indent;
} Printer;

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_plain(const char *s, const char *also)
{
    for (const char *c = s; *c; c++) {
        bool alnum = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
            (*c >= '0' && *c <= '9') || *c == '_';
        if (!alnum && !strchr(also, *c))
            return false;
    }
    return s[0] != 0;
}

static void put_word(Buf *b, const char *s)
{
    if (is_plain(s, "."))
        buf_puts(b, s);
    else
        buf_quoted(b, s);
}

/* The shortest decimal that reads back as this float. */
static void put_float(Buf *b, float f)
{
    char s[32];
    if (isnan(f) || isinf(f)) {
        buf_double(b, f);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(s, sizeof s, "%.*g", digits, (double)f);
        for (char *c = s; *c; c++)
            if (!strchr("0123456789+-eE", *c))
                *c = '.'; /* the locale's decimal point */
        if ((float)parse_double(s, NULL) == f)
            break;
    }
    buf_puts(b, s);
}

static void put_value(Printer *p, const Numbers *n, const Value *v)
{
    if (!v) {
        buf_putc(p->b, '_');
        return;
    }
    buf_putc(p->b, '%');
    if (is_plain(v->name, "./-"))
        buf_puts(p->b, v->name);
    else if (v->name[0])
        buf_quoted(p->b, v->name);
    for (; n; n = n->outer)
        if (v->id < n->g->values.n && n->g->values.at[v->id] == v && n->at[v->id] > 0)
            buf_printf(p->b, "#%d", n->at[v->id]);
}

/* ---- types ----------------------------------------------------------------------------------- */

static void put_type(Buf *b, ValueKind kind, DType t, int rank, const Ix *const *dim)
{
    static const char *const open[] =
        {[V_TENSOR] = "", [V_SEQUENCE] = "seq(", [V_OPTIONAL] = "optional(", [V_MAP] = "map("};
    buf_puts(b, open[kind]);
    buf_puts(b, dtype_text(t));
    if (rank >= 0)
        buf_putc(b, '[');
    for (int i = 0; i < rank; i++) {
        buf_puts(b, i ? ", " : "");
        if (dim[i])
            ix_print(b, dim[i]);
        else
            buf_putc(b, '?');
    }
    buf_puts(b, rank >= 0 ? "]" : "");
    buf_puts(b, kind == V_TENSOR ? "" : ")");
}

static bool same_as_declared(const Value *v)
{
    if (v->type != v->declared_type || v->rank != v->declared_rank)
        return false;
    for (int i = 0; i < v->rank; i++)
        if (v->dim[i] != v->declared_dim[i])
            return false;
    return true;
}

static void put_value_type(Buf *b, const Value *v)
{
    bool known = v->type || v->rank >= 0, declared = v->declared_type || v->declared_rank >= 0;
    if (known) {
        buf_puts(b, ": ");
        put_type(b, v->kind, v->type, v->rank, v->dim);
    }
    if (declared || (!known && v->kind != V_TENSOR)) {
        buf_puts(b, known && same_as_declared(v) ? " ~" : " ~ ");
        if (!known || !same_as_declared(v))
            put_type(b, v->kind, v->declared_type, v->declared_rank, v->declared_dim);
    }
}

/* ---- constants ------------------------------------------------------------------------------- */

static void put_scalar(Buf *b, DType t, Scalar s)
{
    if (t == DT_F64)
        buf_double(b, s.f);
    else if (dtype_is_float(t))
        put_float(b, (float)s.f);
    else if (t == DT_U64)
        buf_printf(b, "%llu", (unsigned long long)s.u);
    else
        buf_printf(b, "%lld", (long long)s.i); /* narrower unsigned values too */
}

static bool has_scalars(DType t)
{
    return dtype_computes(t) || t == DT_I4 || t == DT_U4 || t == DT_I2 || t == DT_U2;
}

/* A NaN has bits that "nan" does not tell. */
static bool has_nan(const Tensor *t)
{
    for (int64_t i = 0; dtype_is_float(t->type) && i < t->count; i++)
        if (isnan(scalar_load(t->type, t->data, i).f))
            return true;
    return false;
}

static size_t string_bytes(const Tensor *t)
{
    size_t n = 0;
    for (int64_t i = 0; i < t->count; i++)
        n += strlen(t->strings[i]) + 1;
    return n;
}

static uint64_t contents_hash(const Tensor *t)
{
    if (!t->data && !t->strings)
        return t->hash;
    if (!t->strings)
        return hash_bytes(t->data, t->bytes, (uint64_t)t->type);
    uint64_t h = 0;
    for (int64_t i = 0; i < t->count; i++)
        h = hash_bytes(t->strings[i], strlen(t->strings[i]), h);
    return h;
}

static void put_elements(Buf *b, const Tensor *t)
{
    buf_putc(b, '{');
    for (int64_t i = 0; i < t->count; i++) {
        buf_puts(b, i ? ", " : "");
        if (t->strings)
            buf_quoted(b, t->strings[i]);
        else
            put_scalar(b, t->type, scalar_load(t->type, t->data, i));
    }
    buf_putc(b, '}');
}

static void put_contents(Buf *b, const Tensor *t)
{
    bool here = t->data || t->strings;
    if (here && t->strings
            ? string_bytes(t) <= HEX_BYTES
            : here && t->bytes <= INLINE_BYTES && has_scalars(t->type) && !has_nan(t)) {
        put_elements(b, t);
    } else if (here && !t->strings && t->bytes <= HEX_BYTES) {
        buf_puts(b, "x\"");
        for (size_t i = 0; i < t->bytes; i++)
            buf_printf(b, "%02x", ((const uint8_t *)t->data)[i]);
        buf_putc(b, '"');
    } else {
        buf_printf(b, "#%016llx", (unsigned long long)contents_hash(t));
    }
}

static void put_tensor(Buf *b, const Tensor *t)
{
    buf_printf(b, "%s[", dtype_text(t->type));
    for (int i = 0; i < t->rank; i++)
        buf_printf(b, "%s%lld", i ? ", " : "", (long long)t->dim[i]);
    buf_puts(b, "] ");
    put_contents(b, t);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void put_graph(Printer *p, const Graph *g, const Numbers *outer);

static void put_attr(Printer *p, const Attr *a, const Numbers *n)
{
    Buf *b = p->b;
    put_word(b, a->name);
    buf_putc(b, '=');
    static const char *const open[] = {[ATTR_FLOAT] = "float(",
        [ATTR_FLOATS] = "floats(",
        [ATTR_INTS] = "[",
        [ATTR_STRINGS] = "strings(",
        [ATTR_TENSORS] = "tensors(",
        [ATTR_GRAPHS] = "graphs("};
    if ((size_t)a->kind < sizeof open / sizeof *open && open[a->kind])
        buf_puts(b, open[a->kind]);
    int count = a->kind == ATTR_GRAPH || a->kind == ATTR_GRAPHS ? a->n_graphs
        : a->kind >= ATTR_FLOATS && a->kind <= ATTR_TENSORS     ? a->n
                                                                : 1;
    for (int i = 0; i < count; i++) {
        buf_puts(b, i ? ", " : "");
        switch (a->kind) {
        case ATTR_FLOAT: put_float(b, a->f); break;
        case ATTR_INT: buf_printf(b, "%lld", (long long)a->i); break;
        case ATTR_STRING: buf_quoted(b, a->s); break;
        case ATTR_TENSOR: put_tensor(b, a->tensor); break;
        case ATTR_GRAPH:
        case ATTR_GRAPHS: put_graph(p, a->graphs[i], n); break;
        case ATTR_FLOATS: put_float(b, a->floats[i]); break;
        case ATTR_INTS: buf_printf(b, "%lld", (long long)a->ints[i]); break;
        case ATTR_STRINGS: buf_quoted(b, a->strings[i]); break;
        case ATTR_TENSORS: put_tensor(b, a->tensors[i]); break;
        case ATTR_TYPE:
            buf_puts(b, "type ");
            put_type(b, a->type->kind, a->type->declared_type, a->type->declared_rank,
                a->type->declared_dim);
            break;
        case ATTR_OTHER: buf_puts(b, "other"); break;
        }
    }
    if ((size_t)a->kind < sizeof open / sizeof *open && open[a->kind])
        buf_putc(b, a->kind == ATTR_INTS ? ']' : ')');
}

static void put_attrs(Printer *p, const Node *node, const Numbers *n)
{
    for (int i = 0; i < node->n_attr; i++) {
        buf_puts(p->b, i ? ", " : " {");
        put_attr(p, &node->attr[i], n);
    }
    buf_puts(p->b, node->n_attr ? "}" : "");
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static const char *spelled(const char *domain) { return domain[0] ? domain : "ai.onnx"; }

static void count_name(Printer *p, const Value *v)
{
    if (v) {
        uintptr_t n = (uintptr_t)map_get_str(&p->names, v->name);
        map_put_str(&p->names, v->name, (void *)(n + 1));
    }
}

static bool is_const(const Value *v) { return v->data && !v->is_input && !v->producer; }

/* How often is each name used, in the graph and those inside it? Of what is printed only, so that a
 * text that was read back prints the same. */
static void count_names(Printer *p, const Graph *g)
{
    for (int i = 0; i < g->values.n; i++)
        if (g->values.at[i]->is_input || is_const(g->values.at[i]))
            count_name(p, g->values.at[i]);
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = g->nodes.at[i];
        for (int k = 0; k < n->n_out; k++)
            count_name(p, n->out[k]);
        for (int k = 0; k < n->n_attr; k++)
            for (int j = 0; j < n->attr[k].n_graphs; j++)
                count_names(p, n->attr[k].graphs[j]);
    }
}

static void line(Printer *p)
{
    for (int i = 0; i < p->indent; i++)
        buf_puts(p->b, "    ");
}

/* The place where a value comes into being: from here on it has its number. */
static void put_new_value(Printer *p, Numbers *n, const Value *v)
{
    if (v) {
        bool unique = v->name[0] && (uintptr_t)map_get_str(&p->names, v->name) == 1;
        n->at[v->id] = unique ? -1 : ++p->next;
    }
    put_value(p, n, v);
    if (v)
        put_value_type(p->b, v);
}

static void put_constant(Printer *p, Numbers *n, const char *word, const Value *v)
{
    line(p);
    buf_puts(p->b, word);
    put_new_value(p, n, v);
    if (v->data) {
        buf_puts(p->b, " = ");
        put_contents(p->b, v->data);
    }
    buf_putc(p->b, '\n');
}

static void put_operator(Buf *b, const Graph *g, const Node *node)
{
    if (node->domain[0]) {
        put_word(b, node->domain);
        buf_puts(b, "::");
    }
    put_word(b, node->op_type);
    int usual = 0;
    for (int i = 0; i < g->opsets.n; i++)
        if (strcmp(g->opsets.at[i].domain, node->domain) == 0)
            usual = g->opsets.at[i].version;
    if (node->opset != usual)
        buf_printf(b, "!%d", node->opset);
}

static void put_node(Printer *p, const Graph *g, const Node *node, Numbers *n)
{
    /* Attributes and inputs come after the outputs in the text, but must not see their numbers yet.
     */
    Buf *whole = p->b, right;
    buf_init(&right, g->cx);
    p->b = &right;
    put_operator(&right, g, node);
    buf_putc(&right, '(');
    for (int i = 0; i < node->n_in; i++) {
        buf_puts(&right, i ? ", " : "");
        put_value(p, n, node->in[i]);
    }
    buf_putc(&right, ')');
    put_attrs(p, node, n);
    p->b = whole;
    line(p);
    for (int i = 0; i < node->n_out; i++) {
        buf_puts(whole, i ? ", " : "");
        put_new_value(p, n, node->out[i]);
    }
    buf_puts(whole, node->n_out ? " = " : "= ");
    buf_write(whole, right.s, right.n);
    if (node->name[0]) {
        buf_putc(whole, ' ');
        buf_quoted(whole, node->name);
    }
    buf_putc(whole, '\n');
}

static void put_symbols(Buf *b, const Pool *pool)
{
    for (int i = 0; pool_n_syms(pool) > 1 && i < pool_n_syms(pool); i++) {
        buf_puts(b, i ? ", " : " dims ");
        put_word(b, pool_sym(pool, i)->name);
    }
}

static void put_header(Printer *p, const Graph *g)
{
    buf_puts(p->b, "graph ");
    buf_quoted(p->b, g->name);
    if (g->ir_version)
        buf_printf(p->b, " ir %d", g->ir_version);
    for (int i = 0; i < g->opsets.n; i++) {
        buf_puts(p->b, i ? ", " : " opset ");
        put_word(p->b, spelled(g->opsets.at[i].domain));
        buf_printf(p->b, " %d", g->opsets.at[i].version);
    }
    if (!g->outer)
        put_symbols(p->b, g->pool);
    buf_puts(p->b, " {\n");
}

static void put_graph(Printer *p, const Graph *g, const Numbers *outer)
{
    Numbers n = {g, NEW_N(g->cx, int, g->values.n), outer};
    put_header(p, g);
    p->indent++;
    for (int i = 0; i < g->inputs.n; i++)
        put_constant(p, &n, "input ", g->inputs.at[i]);
    for (int i = 0; i < g->values.n; i++)
        if (is_const(g->values.at[i]))
            put_constant(p, &n, "const ", g->values.at[i]);
    for (int i = 0; i < g->nodes.n; i++)
        put_node(p, g, g->nodes.at[i], &n);
    for (int i = 0; i < g->outputs.n; i++) {
        line(p);
        buf_puts(p->b, "output ");
        put_value(p, &n, g->outputs.at[i]);
        buf_putc(p->b, '\n');
    }
    p->indent--;
    line(p);
    buf_putc(p->b, '}');
}

void graph_print(Buf *b, const Graph *g)
{
    Printer p = {.b = b};
    map_init(&p.names, g->cx);
    count_names(&p, g);
    put_graph(&p, g, NULL);
    buf_putc(b, '\n');
}
