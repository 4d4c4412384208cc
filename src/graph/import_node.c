/* import_node.c: nodes and their attributes; calls of the model's functions, which are inlined. */
#include "graph/import.h"

enum { PREFIX_MAX = 256 };

/* ---- attributes ------------------------------------------------------------------------------ */

/* Models of IR version 1 have no type field: then what is set tells. */
static int kind_of(const AttributeProto *p)
{
    if (p->has_type && p->type)
        return p->type;
    return p->has_f    ? ATTR_FLOAT
        : p->has_i     ? ATTR_INT
        : p->has_s     ? ATTR_STRING
        : p->t         ? ATTR_TENSOR
        : p->g         ? ATTR_GRAPH
        : p->n_floats  ? ATTR_FLOATS
        : p->n_ints    ? ATTR_INTS
        : p->n_strings ? ATTR_STRINGS
                       : ATTR_OTHER;
}

static const char *bytes_text(ProtobufCBinaryData b)
{
    return b.data ? (const char *)b.data : ""; /* prescan.c puts a NUL after bytes fields */
}

/* An attribute of a function's node may be the call's attribute (ref_attr_name). Finds the one that
 * is meant, and the scope it was written in; NULL when the call leaves it out and it has no
 * default. */
static const AttributeProto *resolve(Importer *im, Scope **scope, const AttributeProto *p,
    const Where *w)
{
    while (p && text(p->ref_attr_name)[0]) {
        const Call *call = (*scope)->call;
        const char *name = p->ref_attr_name;
        if (!call) {
            BAD(im, ST_MODEL, w, "attribute '%.200s' refers to one of a function, outside of any",
                text(p->name));
            return NULL;
        }
        p = NULL;
        for (size_t i = 0; i < call->node->n_attribute && !p; i++)
            if (strcmp(text(call->node->attribute[i]->name), name) == 0)
                p = call->node->attribute[i];
        if (p) {
            *scope = call->scope;
            continue;
        }
        for (size_t i = 0; i < call->function->n_attribute_proto && !p; i++)
            if (strcmp(text(call->function->attribute_proto[i]->name), name) == 0)
                p = call->function->attribute_proto[i];
        return p; /* a default is a constant */
    }
    return p;
}

static void read_strings(Importer *im, Attr *a, const AttributeProto *p)
{
    const char **list = NEW_N(im->cx, const char *, p->n_strings);
    for (size_t i = 0; i < p->n_strings; i++)
        list[i] = bytes_text(p->strings[i]);
    a->strings = list;
    a->n = (int)p->n_strings;
}

static void read_graphs(Importer *im, Attr *a, size_t n, GraphProto *const *graph, Scope *s)
{
    a->n_graphs = (int)n;
    a->graphs = NEW_N(im->cx, Graph *, n);
    for (size_t i = 0; i < n; i++)
        a->graphs[i] = import_graph(im, graph[i], s, &s->imports, s->call);
    a->graph = n ? a->graphs[0] : NULL;
}

/* Fills `a` from the attribute that was meant. `s` is the scope in which its subgraphs see names.
 */
static void read_attr(Importer *im, Attr *a, const AttributeProto *p, Scope *s, const Where *w)
{
    int kind = kind_of(p);
    a->kind = (kind > 0 && kind <= ATTR_GRAPHS) || kind == ATTR_TYPE ? (AttrKind)kind : ATTR_OTHER;
    a->i = p->i;
    a->f = p->f;
    a->s = bytes_text(p->s);
    a->s_len = (int)p->s.len;
    a->ints = p->ints;
    a->floats = p->floats;
    a->n = kind == ATTR_INTS ? (int)p->n_ints : kind == ATTR_FLOATS ? (int)p->n_floats : 0;
    if (kind == ATTR_STRINGS) {
        read_strings(im, a, p);
    } else if (kind == ATTR_TENSOR && p->t) {
        a->tensor = import_tensor(im, p->t, w);
    } else if (kind == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__SPARSE_TENSOR && p->sparse_tensor) {
        a->kind = ATTR_TENSOR; /* made dense */
        a->tensor = import_sparse(im, p->sparse_tensor, w);
    } else if (kind == ATTR_TENSORS) {
        a->n = (int)p->n_tensors;
        a->tensors = NEW_N(im->cx, Tensor *, p->n_tensors);
        for (size_t i = 0; i < p->n_tensors; i++)
            a->tensors[i] = import_tensor(im, p->tensors[i], w);
    } else if (kind == ATTR_GRAPH && p->g) {
        read_graphs(im, a, 1, &p->g, s);
    } else if (kind == ATTR_GRAPHS) {
        read_graphs(im, a, p->n_graphs, p->graphs, s);
    } else if (kind == ATTR_TYPE && p->tp) {
        a->type = NEW(im->cx, Value);
        a->type->name = "";
        a->type->rank = a->type->declared_rank = -1;
        import_type(im, a->type, p->tp, w);
    } else if (kind == ATTR_TENSOR || kind == ATTR_GRAPH || kind == ATTR_TYPE) {
        BAD(im, ST_MODEL, w, "attribute '%.200s' has no value", a->name);
    }
}

static void import_attrs(Importer *im, Scope *s, Node *n, const NodeProto *p)
{
    Where w = node_where(n);
    check_list(im, p->n_attribute, &w);
    n->attr = NEW_N(im->cx, Attr, p->n_attribute);
    for (size_t i = 0; i < p->n_attribute; i++) {
        const AttributeProto *ap = p->attribute[i];
        const char *name = text(ap->name);
        Scope *scope = s;
        for (int k = 0; k < n->n_attr; k++)
            if (strcmp(n->attr[k].name, name) == 0)
                BAD(im, ST_MODEL, &w, "attribute '%.200s' is given twice", name);
        int asked = ap->has_type ? (int)ap->type : 0;
        ap = resolve(im, &scope, ap, &w);
        if (!ap)
            continue;
        if (asked && asked != kind_of(ap)) {
            BAD(im, ST_MODEL, &w, "attribute '%.200s' of a function is given with another type",
                name);
            continue;
        }
        count_items(im, 1 + ap->n_strings + ap->n_tensors);
        Attr *a = &n->attr[n->n_attr++];
        a->name = name;
        read_attr(im, a, ap, scope, &w);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Where to point while the node has no outputs yet. */
static Where proto_where(const NodeProto *p)
{
    const char *name = text(p->name);
    for (size_t i = 0; !name[0] && i < p->n_output; i++)
        name = p->output[i];
    return (Where){.node = name, .op_type = text(p->op_type)};
}

static Value *read_input(Importer *im, Scope *s, const char *name, const Where *where)
{
    Value *v = name[0] ? scope_find(s, name) : &missing_value;
    if (v)
        return v == &missing_value ? NULL : v;
    Where w = *where;
    w.tensor = name;
    const NodeProto *later = map_get_str(&s->producers, name);
    if (later)
        BAD(im, ST_MODEL, &w,
            "reads '%.200s' before node '%.200s' (%.100s) produces it: nodes must be in order "
            "and must not form a cycle",
            name, proto_where(later).node, text(later->op_type));
    else
        BAD(im, ST_MODEL, &w, "reads '%.200s', which nothing produces", name);
    return NULL;
}

/* Omitted inputs at the end are as good as absent. */
static size_t used_inputs(const NodeProto *p)
{
    size_t n = p->n_input;
    while (n && !p->input[n - 1][0])
        n--;
    return n;
}

static const char *node_name(Importer *im, const Scope *s, const NodeProto *p)
{
    const char *name = text(p->name);
    return s->prefix[0] ? ctx_printf(im->cx, "%s%s", s->prefix, name) : name;
}

static void read_inputs(Importer *im, Scope *s, Node *n, const NodeProto *p, const Where *w)
{
    n->n_in = (int)used_inputs(p);
    n->in = NEW_N(im->cx, Value *, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        n->in[i] = read_input(im, s, p->input[i], w);
}

Node *import_node(Importer *im, Scope *s, const NodeProto *p)
{
    Where w = proto_where(p);
    const char *domain = plain_domain(text(p->domain));
    int opset = opset_of(&s->imports, domain);
    if (!opset)
        BAD(im, ST_MODEL, &w, "uses operator set '%.200s', which the model does not import",
            domain[0] ? domain : "ai.onnx");
    if (++im->n_nodes > LIM_NODES)
        ctx_fail(im->cx, ST_LIMIT, &w, "the model exceeds the limit of %lld nodes",
            (long long)LIM_NODES);
    Node *n = NEW(im->cx, Node); /* joins the graph after its subgraphs have been read */
    n->name = node_name(im, s, p);
    n->op_type = text(p->op_type);
    n->domain = domain;
    n->opset = opset;
    read_inputs(im, s, n, p, &w);
    import_attrs(im, s, n, p);
    n->n_out = (int)p->n_output;
    n->out = NEW_N(im->cx, Value *, n->n_out);
    for (int i = 0; i < n->n_out; i++) {
        if (!p->output[i][0])
            continue;
        n->out[i] = scope_define(im, s, p->output[i], &w);
        n->out[i]->producer = n;
        n->out[i]->origin = n;
    }
    n->id = s->graph->nodes.n;
    VEC_PUSH(im->cx, &s->graph->nodes, n);
    return n;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* "domain, NUL, name, NUL, overload": names hold no NUL. */
static const char *function_key(Importer *im, const char *domain, const char *name,
    const char *overload, size_t *n)
{
    Buf b;
    buf_init(&b, im->cx);
    const char *part[] = {plain_domain(domain), name, overload};
    for (int i = 0; i < NELEM(part); i++)
        buf_write(&b, part[i], strlen(part[i]) + 1);
    *n = b.n;
    return b.s;
}

void import_functions(Importer *im, size_t n, FunctionProto *const *p)
{
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const char *key =
            function_key(im, text(p[i]->domain), text(p[i]->name), text(p[i]->overload), &len);
        if (!text(p[i]->name)[0])
            BAD(im, ST_MODEL, NULL, "a function without a name");
        if (map_get(&im->functions, key, len))
            BAD(im, ST_MODEL, NULL, "function '%.200s' is defined twice", text(p[i]->name));
        map_put(&im->functions, key, len, p[i]);
    }
}

static const FunctionProto *called_function(Importer *im, const NodeProto *p)
{
    if (!im->functions.n)
        return NULL;
    size_t len;
    const char *key = function_key(im, text(p->domain), text(p->op_type), text(p->overload), &len);
    return map_get(&im->functions, key, len);
}

/* Binds the function's formal inputs to the call's values, and its outputs to the values that they
 * are called at the call. */
static void bind_call(Importer *im, Scope *s, Scope *body, const FunctionProto *f,
    const NodeProto *p, const Where *w)
{
    size_t n_in = used_inputs(p);
    if (n_in > f->n_input || p->n_output > f->n_output)
        BAD(im, ST_MODEL, w,
            "a call with %lld inputs and %lld outputs of a function with %lld and %lld",
            (long long)n_in, (long long)p->n_output, (long long)f->n_input, (long long)f->n_output);
    for (size_t i = 0; i < f->n_input; i++) {
        Value *v = i < n_in ? read_input(im, s, p->input[i], w) : NULL;
        if (map_get_str(&body->names, f->input[i]))
            BAD(im, ST_MODEL, w, "the function has two inputs called '%.200s'", f->input[i]);
        map_put_str(&body->names, f->input[i], v ? v : &missing_value);
    }
    for (size_t i = 0; i < p->n_output && i < f->n_output; i++)
        if (p->output[i][0])
            map_put_str(&body->bound, f->output[i], scope_define(im, s, p->output[i], w));
}

/* A function may hand an input on as an output: the call's value then needs a node of its own. */
static void pass_on(Importer *im, Scope *body, Value *from, Value *to)
{
    int opset = opset_of(&body->imports, "");
    Node *n = graph_node(body->graph, "Identity", "", opset ? opset : 1);
    n->name = ctx_printf(im->cx, "%spass", body->prefix);
    n->n_in = n->n_out = 1;
    n->in = NEW(im->cx, Value *);
    n->out = NEW(im->cx, Value *);
    n->in[0] = from;
    n->out[0] = to;
    to->producer = to->origin = n;
}

static void finish_call(Importer *im, Scope *body, const FunctionProto *f, const Where *w)
{
    for (size_t i = 0; i < f->n_output; i++) {
        Value *to = map_get_str(&body->bound, f->output[i]);
        Value *from = map_get_str(&body->names, f->output[i]);
        if (!to || from == to)
            continue;
        if (from && from != &missing_value)
            pass_on(im, body, from, to);
        else
            BAD(im, ST_MODEL, w, "the function's output '%.200s' is not produced", f->output[i]);
    }
}

static const char *call_prefix(Importer *im, const Scope *s, const NodeProto *p)
{
    const char *name = text(p->name)[0] ? p->name : text(p->op_type);
    if (strlen(s->prefix) + strlen(name) > PREFIX_MAX)
        return s->prefix[0] ? s->prefix : "function/";
    return ctx_printf(im->cx, "%s%s/", s->prefix, name);
}

static void check_recursion(Importer *im, const Scope *s, const FunctionProto *f, const Where *w)
{
    for (const Call *c = s->call; c; c = c->scope->call)
        if (c->function == f)
            ctx_fail(im->cx, ST_MODEL, w, "function '%.200s' calls itself", text(f->name));
    if (s->depth >= LIM_SUBGRAPH_DEPTH)
        ctx_fail(im->cx, ST_LIMIT, w, "functions nest deeper than the limit of %lld",
            (long long)LIM_SUBGRAPH_DEPTH);
}

static void inline_call(Importer *im, Scope *s, const FunctionProto *f, const NodeProto *p)
{
    Where w = proto_where(p);
    count_items(im, 16); /* the tables of its names */
    check_recursion(im, s, f, &w);
    check_list(im, MAX(p->n_attribute, f->n_attribute_proto), &w);
    Call call = {f, p, s};
    Scope body = {.graph = s->graph,
        .call = &call,
        .prefix = call_prefix(im, s, p),
        .depth = s->depth + 1};
    body.imports = import_opsets(im, f->n_opset_import, f->opset_import, "a function");
    map_init(&body.names, im->cx);
    map_init(&body.bound, im->cx);
    map_init(&body.declared, im->cx);
    map_init(&body.producers, im->cx);
    bind_call(im, s, &body, f, p, &w);
    import_nodes(im, &body, f->n_node, f->node);
    finish_call(im, &body, f, &w);
}

void import_nodes(Importer *im, Scope *s, size_t n, NodeProto *const *node)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < node[i]->n_output; k++)
            if (node[i]->output[k][0])
                map_put_str(&s->producers, node[i]->output[k], node[i]);
    for (size_t i = 0; i < n; i++) {
        const NodeProto *p = node[i];
        count_items(im, 1 + p->n_input + p->n_output);
        const FunctionProto *f = called_function(im, p);
        if (f)
            inline_call(im, s, f, p);
        else if (!text(p->op_type)[0])
            BAD(im, ST_MODEL, &(Where){.node = text(p->name)}, "node %lld has no operator type",
                (long long)i);
        else
            import_node(im, s, p);
    }
}
