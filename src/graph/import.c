/* import.c: ModelProto to Graph: operator sets, types, names, initializers, graphs.
 *
 * Strings and number lists of the Graph point into the messages that protobuf-c made, which live in
 * the same arena; nothing is copied twice. What is wrong with a model is recorded and reading goes
 * on, so that a user sees all of it at once; ctx_check at the end raises it.
 */
#include "graph/import.h"

/* Stands for an input that a function call leaves out. */
Value missing_value;

void count_items(Importer *im, size_t n)
{
    im->inlined += (int64_t)n;
    /* What stands in the file itself is bounded by its size; only what inlining adds needs a bound.
     */
    if (im->inlined > LIM_INLINED + im->scan.n_fields)
        ctx_fail(im->cx, ST_LIMIT, NULL,
            "inlining the model's functions exceeds the limit of %lld items",
            (long long)LIM_INLINED);
}

/* These lists are searched linearly. */
void check_list(Importer *im, size_t n, const Where *where)
{
    if ((int64_t)n > LIM_ATTRIBUTES)
        ctx_fail(im->cx, ST_LIMIT, where,
            "the model exceeds the limit of %lld attributes or operator sets",
            (long long)LIM_ATTRIBUTES);
}

/* ---- operator sets --------------------------------------------------------------------------- */

enum { IR_NEWEST = 13, IR_WITH_OPSETS = 3 };
static const Opset newest[] = {{"", 27}, {"ai.onnx.ml", 5}, {"ai.onnx.preview.training", 1}};

const char *plain_domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

int opset_of(const Imports *imports, const char *domain)
{
    for (int i = 0; i < imports->n; i++)
        if (strcmp(imports->at[i].domain, domain) == 0)
            return imports->at[i].version;
    return 0;
}

static const char *spelled(const char *domain) { return domain[0] ? domain : "ai.onnx"; }

static void check_opset(Importer *im, const char *domain, int64_t version, const char *whose)
{
    if (version < 1 || version > INT32_MAX)
        BAD(im, ST_MODEL, NULL,
            "%s imports version %lld of operator set '%.100s', which can't exist", whose,
            (long long)version, spelled(domain));
    for (int i = 0; i < NELEM(newest); i++)
        if (strcmp(newest[i].domain, domain) == 0 && version > newest[i].version)
            BAD(im, ST_UNSUPPORTED, &(Where){.hint = "export the model for an older opset"},
                "%s imports version %lld of operator set '%s'; the newest that is known is %d",
                whose, (long long)version, spelled(domain), newest[i].version);
}

Imports import_opsets(Importer *im, size_t n, Onnx__OperatorSetIdProto *const *p, const char *whose)
{
    check_list(im, n, NULL);
    Opset *at = NEW_N(im->cx, Opset, n + 1);
    Imports imports = {0, at};
    for (size_t i = 0; i < n; i++) {
        const char *domain = plain_domain(text(p[i]->domain));
        int64_t version = p[i]->version;
        int known = opset_of(&imports, domain);
        check_opset(im, domain, version, whose);
        if (known && known != version)
            BAD(im, ST_MODEL, NULL, "%s imports operator set '%.100s' in versions %d and %lld",
                whose, spelled(domain), known, (long long)version);
        if (!known)
            at[imports.n++] = (Opset){domain, (int)version};
    }
    return imports;
}

/* ---- types ----------------------------------------------------------------------------------- */

static void declare_shape(Importer *im, Value *v, const Onnx__TensorShapeProto *shape,
    const Where *where)
{
    if (!shape)
        return;
    if (shape->n_dim > (size_t)LIM_RANK) {
        BAD(im, ST_LIMIT, where, "rank %lld exceeds the limit of %lld", (long long)shape->n_dim,
            (long long)LIM_RANK);
        return;
    }
    v->declared_rank = (int)shape->n_dim;
    v->declared_dim = NEW_N(im->cx, const Ix *, shape->n_dim);
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *d = shape->dim[i];
        Pool *pool = im->root->pool;
        if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
            if (d->dim_value < 0 || d->dim_value >= IX_INF)
                BAD(im, ST_MODEL, where, "dim %d is declared as %lld", (int)i,
                    (long long)d->dim_value);
            else
                v->declared_dim[i] = ix_int(pool, d->dim_value);
        } else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
            text(d->dim_param)[0]) {
            v->declared_dim[i] = ix_of_sym(pool, ix_sym_named(pool, d->dim_param));
        }
    }
}

static void declare_tensor(Importer *im, Value *v, int elem_type,
    const Onnx__TensorShapeProto *shape, const Where *where)
{
    if (elem_type < 0 || elem_type >= DT_COUNT)
        BAD(im, ST_MODEL, where, "element type %d is not defined by ONNX", elem_type);
    else
        v->declared_type = (DType)elem_type;
    declare_shape(im, v, shape, where);
}

/* Of a sequence or optional, what is declared is its kind and the type of the tensors inside. */
void import_type(Importer *im, Value *v, const Onnx__TypeProto *p, const Where *where)
{
    ValueKind outermost = V_TENSOR;
    while (p) {
        ValueKind kind = V_TENSOR;
        const Onnx__TypeProto *inner = NULL;
        switch (p->value_case) {
        case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
            declare_tensor(im, v, p->tensor_type->elem_type, p->tensor_type->shape, where);
            break;
        case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
            kind = V_SEQUENCE;
            inner = p->sequence_type->elem_type;
            break;
        case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
            kind = V_OPTIONAL;
            inner = p->optional_type->elem_type;
            break;
        case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
            kind = V_MAP;
            inner = p->map_type->value_type;
            break;
        case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        case ONNX__TYPE_PROTO__VALUE_OPAQUE_TYPE:
            BAD(im, ST_UNSUPPORTED, where, "a value that is sparse or opaque");
            break;
        default: break;
        }
        outermost = outermost == V_TENSOR ? kind : outermost;
        p = inner;
    }
    v->kind = outermost;
}

/* ---- names ----------------------------------------------------------------------------------- */

Value *scope_find(const Scope *s, const char *name)
{
    for (; s; s = s->outer) {
        Value *v = map_get_str(&s->names, name);
        if (v)
            return v;
    }
    return NULL;
}

/* Prefixes of deep calls are cut, or names would grow without bound. */
static const char *full_name(Importer *im, const Scope *s, const char *name)
{
    return s->prefix[0] ? ctx_printf(im->cx, "%s%s", s->prefix, name) : name;
}

static void declare(Importer *im, Scope *s, Value *v, const char *name)
{
    const Onnx__ValueInfoProto *info = map_get_str(&s->declared, name);
    if (info)
        import_type(im, v, info->type, &(Where){.tensor = name});
}

Value *scope_define(Importer *im, Scope *s, const char *name, const Where *where)
{
    if (map_get_str(&s->names, name)) {
        Where w = where ? *where : (Where){.node = NULL};
        w.tensor = name;
        BAD(im, ST_MODEL, &w, "'%.200s' is defined twice: every value must have a name of its own",
            name);
    }
    Value *v = map_get_str(&s->bound, name);
    if (!v) {
        v = graph_value(s->graph, full_name(im, s, name));
        declare(im, s, v, name);
    }
    map_put_str(&s->names, name, v);
    return v;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void add_initializer(Importer *im, Scope *s, const char *name, Tensor *t)
{
    Where w = {.tensor = name};
    if (!name[0])
        BAD(im, ST_MODEL, NULL, "an initializer without a name");
    if (map_get_str(&s->names, name))
        BAD(im, ST_MODEL, &w, "two initializers are called '%.200s'", name);
    count_items(im, 1);
    Value *v = t ? graph_constant(s->graph, name, t) : graph_value(s->graph, name);
    declare(im, s, v, name);
    map_put_str(&s->names, name, v);
    if (t && dtype_is_float(t->type))
        im->root->parameters += t->count;
}

static void import_initializers(Importer *im, Scope *s, const GraphProto *p)
{
    for (size_t i = 0; i < p->n_initializer; i++)
        add_initializer(im, s, text(p->initializer[i]->name),
            import_tensor(im, p->initializer[i], NULL));
    for (size_t i = 0; i < p->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *sparse = p->sparse_initializer[i];
        const char *name = sparse->values ? text(sparse->values->name) : "";
        add_initializer(im, s, name, import_sparse(im, sparse, NULL));
    }
}

/* An input that is also an initializer is one value: an input with a default. */
static void import_input(Importer *im, Scope *s, const Onnx__ValueInfoProto *p)
{
    const char *name = text(p->name);
    Where w = {.tensor = name};
    Value *v = map_get_str(&s->names, name);
    if (!name[0])
        BAD(im, ST_MODEL, NULL, "graph '%.200s' has an input without a name", s->graph->name);
    if (v && v->is_input)
        BAD(im, ST_MODEL, &w, "two inputs of a graph are called '%.200s'", name);
    if (!v) {
        v = graph_value(s->graph, name);
        map_put_str(&s->names, name, v);
    }
    import_type(im, v, p->type, &w);
    v->is_input = true;
    VEC_PUSH(im->cx, &s->graph->inputs, v);
    if (v->data && v->declared_type && v->declared_type != v->type)
        BAD(im, ST_MODEL, &w, "an input is declared as %s, but its default is %s",
            dtype_text(v->declared_type), dtype_text(v->type));
    if (!s->outer && v->kind == V_TENSOR && !v->declared_type && !v->data)
        BAD(im, ST_MODEL, &w, "a model input without an element type");
}

static void import_output(Importer *im, Scope *s, const Onnx__ValueInfoProto *p)
{
    const char *name = text(p->name);
    Where w = {.tensor = name};
    Value *v = name[0] ? scope_find(s, name) : NULL;
    if (!v || v == &missing_value) {
        BAD(im, ST_MODEL, &w, "graph '%.200s' has an output '%.200s' that nothing produces",
            s->graph->name, name);
        return;
    }
    if (!v->is_input)
        import_type(im, v, p->type, &w);
    v->is_output = true;
    VEC_PUSH(im->cx, &s->graph->outputs, v);
}

static Scope scope_of(Importer *im, const GraphProto *p, Scope *around, const Imports *imports,
    const Call *call)
{
    Scope s = {.outer = around,
        .imports = *imports,
        .call = call,
        .prefix = around ? around->prefix : "",
        .depth = around ? around->depth + 1 : 0};
    map_init(&s.names, im->cx);
    map_init(&s.bound, im->cx);
    map_init(&s.declared, im->cx);
    map_init(&s.producers, im->cx);
    for (size_t i = 0; i < p->n_value_info; i++)
        map_put_str(&s.declared, text(p->value_info[i]->name), p->value_info[i]);
    return s;
}

Graph *import_graph(Importer *im, const GraphProto *p, Scope *around, const Imports *imports,
    const Call *call)
{
    Scope s = scope_of(im, p, around, imports, call);
    if (s.depth > LIM_SUBGRAPH_DEPTH)
        ctx_fail(im->cx, ST_LIMIT, NULL, "graphs nest deeper than the limit of %lld",
            (long long)LIM_SUBGRAPH_DEPTH);
    Graph *g = around ? graph_new(im->cx, around->graph) : im->root;
    s.graph = g;
    g->name = text(p->name);
    g->ir_version = (int)im->ir_version;
    for (int i = 0; i < imports->n; i++)
        VEC_PUSH(im->cx, &g->opsets, imports->at[i]);
    count_items(im, 1 + p->n_value_info);
    import_initializers(im, &s, p);
    for (size_t i = 0; i < p->n_input; i++)
        import_input(im, &s, p->input[i]);
    import_nodes(im, &s, p->n_node, p->node);
    for (size_t i = 0; i < p->n_output; i++)
        import_output(im, &s, p->output[i]);
    g->nodes_imported += g->nodes.n;
    if (around)
        im->root->nodes_imported += g->nodes.n;
    return g;
}

/* ---- models ---------------------------------------------------------------------------------- */

static Imports model_opsets(Importer *im, const Onnx__ModelProto *p)
{
    static const Opset first = {"", 1};
    if (im->ir_version < 1)
        BAD(im, ST_MODEL, &(Where){.hint = "is this an ONNX model?"},
            "the model has IR version %lld", (long long)im->ir_version);
    if (im->ir_version > IR_NEWEST)
        BAD(im, ST_UNSUPPORTED, &(Where){.hint = "export the model for an older IR version"},
            "the model has IR version %lld; the newest that is known is %d",
            (long long)im->ir_version, IR_NEWEST);
    if (p->n_opset_import == 0 && im->ir_version >= IR_WITH_OPSETS)
        BAD(im, ST_MODEL, NULL, "the model imports no operator set (opset_import)");
    if (p->n_opset_import == 0)
        return (Imports){1, &first};
    return import_opsets(im, p->n_opset_import, p->opset_import, "the model");
}

Graph *graph_import(Ctx *cx, const void *bytes, size_t n, const char *folder)
{
    if (n == 0)
        ctx_fail(cx, ST_MODEL, NULL, "the model is empty (0 bytes)");
    Importer im = {.cx = cx, .folder = folder};
    ProtobufCMessage *m =
        prescan_unpack(&im.scan, cx, &onnx__model_proto__descriptor, (Bytes){bytes, n});
    const Onnx__ModelProto *p = (const Onnx__ModelProto *)m;
    if (!p->graph)
        ctx_fail(cx, ST_MODEL, &(Where){.hint = "is this an ONNX model?"},
            "the file has no graph in it");
    im.ir_version = p->has_ir_version ? p->ir_version : 0;
    im.tensor = NEW_N(cx, Tensor *, im.scan.n_bodies + 1);
    im.root = graph_new(cx, NULL);
    map_init(&im.files, cx);
    map_init(&im.functions, cx);
    Imports imports = model_opsets(&im, p);
    import_functions(&im, p->n_functions, p->functions);
    Graph *g = import_graph(&im, p->graph, NULL, &imports, NULL);
    ctx_check(cx);
    return g;
}
