/* graph.h: "the book": the tensor-level IR, its structs and their invariants.
 *
 * A Graph is nodes over values. A Value is a tensor with a type, dims (Ix forms over the model's
 * dimension symbols) and at most one producer. Importing fills nodes, attributes, constants and
 * declared types; the pass `infer` lets each operator define its outputs (op.h): that gives their
 * types and dims and attaches definitions. Nodes are kept in an order in which every value is
 * produced before it is read.
 */
#ifndef SINTER_GRAPH_H
#define SINTER_GRAPH_H
#include "graph/expr.h"

typedef struct Node Node;
typedef struct Graph Graph;

/* A dense constant. Elements are in row-major order, little-endian; sub-byte types are packed low
 * bits first as in TensorProto.raw_data. The bytes belong to the Graph's arena, to a mapped file,
 * or to the caller; in a file they stand at any address: elements of more than 1 KB may be
 * unaligned (scalar_load copes). */
typedef struct Tensor {
    DType type;
    int rank;
    int64_t dim[MAX_RANK];
    int64_t count; /* elements */
    size_t bytes;
    void *data;
    char **strings; /* DT_STRING: count handles instead of data */
    /* of elements that are not here (data NULL): a big constant read by graph_parse */
    uint64_t hash;
} Tensor;
/* zeroed, on 64 bytes; fails cleanly on overflow */
Tensor *tensor_new(Ctx *cx, DType t, int rank, const int64_t *dim);
/* not zeroed: the caller fills all of it */
Tensor *tensor_new_raw(Ctx *cx, DType t, int rank, const int64_t *dim);
/* fills count and bytes from type, rank, dim */
void tensor_layout(Ctx *cx, Tensor *t, const Where *where);

typedef enum { V_TENSOR, V_SEQUENCE, V_OPTIONAL, V_MAP } ValueKind;

struct Value {
    const char *name; /* as in the model, any bytes; "" for temporaries */
    int id;           /* dense, index into graph->values */
    ValueKind kind;
    DType type;       /* DT_NONE until known; the element type for sequences and optionals */
    int rank;         /* -1 until known */
    const Ix **dim;
    Node *producer;   /* NULL for inputs and constants */
    Def *def;         /* what an element is; NULL for inputs, constants and library results */
    Tensor *data;     /* the constant, if it is one */
    bool is_input, is_output;
    int declared_rank;         /* what the model file says, for checking; -1: nothing */
    DType declared_type;
    const Ix **declared_dim;   /* NULL entries: unknown */
    /* memo of value_elem for small integer tensors, row-major; NULL entries: not asked */
    const Expr **elems;
    /* the node that the value came from (producer, also for temporaries), for reports */
    Node *origin;
    /* storage: axis order[0] is outermost; filled by the pass layout, else identity */
    int8_t order[MAX_RANK];
    bool keep;                 /* must be materialised (--keep) */
    bool twin;                 /* has the name of an older value: texts add its number */
};

/* AttributeProto.Type */
typedef enum {
    ATTR_INT = 2, ATTR_FLOAT = 1, ATTR_STRING = 3, ATTR_TENSOR = 4, ATTR_GRAPH = 5, ATTR_FLOATS = 6,
    ATTR_INTS = 7, ATTR_STRINGS = 8, ATTR_TENSORS = 9, ATTR_GRAPHS = 10, ATTR_TYPE = 13,
    ATTR_OTHER = 0
} AttrKind;
typedef struct Attr {
    const char *name;
    AttrKind kind;
    int64_t i;
    float f;
    const char *s; /* with s_len bytes, NUL after them */
    int s_len;
    int n; /* of the list that follows */
    const int64_t *ints;
    const float *floats;
    const char *const *strings;
    Tensor *tensor;
    Graph *graph;
    int n_graphs; /* graphs[0] is `graph`, whichever of ATTR_GRAPH and ATTR_GRAPHS it is */
    Graph **graphs;
    Tensor **tensors; /* ATTR_TENSORS: n of them */
    Value *type;      /* ATTR_TYPE: the declared_... of a value that stands for the type */
    bool used; /* an operator asked for it: unknown attributes are reported */
} Attr;

typedef struct OpDef OpDef;
struct Node {
    const char *name; /* may be "" */
    const char *op_type, *domain; /* domain "" is ai.onnx */
    int opset;                    /* the version of its domain that the model imports */
    const OpDef *op;              /* NULL: unsupported */
    int id;
    int n_in, n_out, n_attr;
    Value **in;  /* NULL: omitted */
    Value **out; /* NULL: omitted */
    Attr *attr;
    VEC(Def *) defs; /* in order, the temporaries included; filled by infer */
};

/* A condition on dims that the compiler assumed; checked whenever dims are bound. */
typedef struct Guard {
    const Expr *cond;
    const Node *node;
    const char *what; /* completes "node X: ..." when it fails */
} Guard;

typedef struct Opset {
    const char *domain;
    int version;
} Opset;

/* Invariants (graph_verify): ids are dense and match; every non-NULL node input is an input, a
 * constant or an output of an earlier node; a value has one producer; outputs of the graph
 * exist. */
struct Graph {
    Ctx *cx;
    Pool *pool;
    const char *name;
    int ir_version;
    int nodes_imported; /* count in the file, functions inlined */
    VEC(Opset) opsets;
    VEC(Node *) nodes;
    VEC(Value *) values;
    VEC(Value *) inputs;  /* graph inputs; those that are also initializers have data: a default */
    VEC(Value *) outputs;
    VEC(Guard) guards;
    Graph *outer; /* for a subgraph */
    int64_t parameters; /* elements of float initializers */
};

Graph *graph_new(Ctx *cx, Graph *outer);
Value *graph_value(Graph *g, const char *name); /* a new value */
Value *graph_constant(Graph *g, const char *name, Tensor *t);
Node *graph_node(Graph *g, const char *op_type, const char *domain, int opset);
Where node_where(const Node *n);
void graph_print(Buf *b, const Graph *g);
Graph *graph_parse(Ctx *cx, const char *text); /* the inverse of graph_print */
void graph_verify(Graph *g);
Attr *node_attr(const Node *n, const char *name); /* NULL when absent; marks it used */

/* Calls fn for each distinct load in the expression; in_index tells those inside an index from the
 * others. */
void ex_visit_loads(Ctx *cx, const Expr *e, void (*fn)(void *user, const Expr *load, bool in_index),
    void *user);
/* The dims as numbers where all are constant; false otherwise. */
bool value_static(const Value *v, int64_t *dim);
/* Element `flat` (row-major) of a value with static dims as an expression without variables:
 * constants and symbolic dims are traced through definitions, so that shape arithmetic needs no
 * code of its own; what can't be traced ends in loads with constant indices. */
const Expr *value_elem(Graph *g, Value *v, int64_t flat);

/* ---- import (import.c) ----------------------------------------------------------------------- */

/* Builds a Graph from a serialized ModelProto. `bytes` must stay valid and unchanged as long as the
 * Graph is used: big weights point into it. `folder` is where external data lives (NULL: not
 * allowed). Structural errors are collected and raised together. Node.op is left NULL. */
Graph *graph_import(Ctx *cx, const void *bytes, size_t n, const char *folder);
/* Maps the file and imports it; the map is deferred to cx. */
Graph *graph_import_file(Ctx *cx, const char *path);
/* A TensorProto (.pb) alone, as in test data folders; *name gets the name in it ("" if none). */
Tensor *tensor_import(Ctx *cx, const void *bytes, size_t n, const char **name);
/* The serialized TensorProto. */
void tensor_export(Ctx *cx, const Tensor *t, const char *name, Buf *out);

#endif
