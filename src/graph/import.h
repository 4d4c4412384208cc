/* import.h: what the files of the importer share. See graph.h for the entry points. */
#ifndef SINTER_IMPORT_H
#define SINTER_IMPORT_H
#include "graph/graph.h"
#include "graph/prescan.h"

typedef Onnx__TensorProto TensorProto;
typedef Onnx__AttributeProto AttributeProto;
typedef Onnx__NodeProto NodeProto;
typedef Onnx__GraphProto GraphProto;
typedef Onnx__FunctionProto FunctionProto;

/* The versions of operator sets that a model, or one of its functions, imports. */
typedef struct Imports {
    int n;
    const Opset *at;
} Imports;

typedef struct Importer {
    Ctx *cx;
    Scan scan;
    const char *folder; /* of external data; NULL: not allowed */
    Graph *root;
    int64_t ir_version;
    Map functions;   /* function_key -> FunctionProto */
    Map files;       /* external file name -> Bytes */
    Tensor **tensor; /* by TensorProto.body: read once, however often a function is inlined */
    int64_t n_nodes;
    int64_t inlined; /* items made; a function called from everywhere must not blow up the model */
} Importer;

/* One call of a model-local function that is being inlined. */
typedef struct Call {
    const FunctionProto *function;
    const NodeProto *node;
    struct Scope *scope; /* where the call stands */
} Call;

/* The names that a list of nodes sees. Nodes of an inlined function go to the caller's graph, but
 * see only their own names (outer NULL); nodes of a subgraph see those around them too. */
typedef struct Scope {
    struct Scope *outer;
    Graph *graph;
    Map names;       /* -> Value; `missing` for an input that the call leaves out */
    Map bound;       /* a function's output name -> the caller's Value that it fills */
    Map declared;    /* name -> ValueInfoProto */
    Map producers;   /* name -> NodeProto, for messages */
    const Call *call; /* NULL outside functions */
    Imports imports;
    const char *prefix; /* of names, inside functions */
    int depth;
} Scope;
extern Value missing_value;

static inline const char *text(const char *s)
{
    return s ? s : "";
}

/* Record a problem and go on; unwinds when enough have been listed. */
#define BAD(im, code, where, ...)                      \
    do {                                               \
        ctx_report((im)->cx, code, where, __VA_ARGS__); \
        if ((im)->cx->n_problems >= LIM_PROBLEMS)      \
            ctx_unwind((im)->cx);                      \
    } while (0)

/* import.c */
Graph *import_graph(Importer *im, const GraphProto *p, Scope *around, const Imports *imports,
    const Call *call);
void import_nodes(Importer *im, Scope *s, size_t n, NodeProto *const *node);
Value *scope_define(Importer *im, Scope *s, const char *name, const Where *where);
Value *scope_find(const Scope *s, const char *name); /* NULL when unknown */
Imports import_opsets(Importer *im, size_t n, Onnx__OperatorSetIdProto *const *p,
    const char *whose);
int opset_of(const Imports *imports, const char *domain); /* 0: not imported */
const char *plain_domain(const char *domain); /* "" for ai.onnx */
void import_type(Importer *im, Value *v, const Onnx__TypeProto *p, const Where *where);
void count_items(Importer *im, size_t n);
void check_list(Importer *im, size_t n, const Where *where);

/* import_node.c: nodes, their attributes, calls of functions */
Node *import_node(Importer *im, Scope *s, const NodeProto *p);
void import_functions(Importer *im, size_t n, FunctionProto *const *p);

/* import_tensor.c: NULL when it can't be read, which has been reported */
Tensor *import_tensor(Importer *im, const TensorProto *p, const Where *where);
Tensor *import_sparse(Importer *im, const Onnx__SparseTensorProto *p, const Where *where);

/* import_file.c */
bool map_external(Importer *im, const char *location, Bytes *file, const Where *where);
#endif
