/* onnx_pb.h: ONNX files made byte by byte, so that tests can also make those that no exporter
 * would. */
#ifndef TEST_ONNX_PB_H
#define TEST_ONNX_PB_H
#include "graph/graph.h"

/* Growing bytes on the heap. */
typedef struct Pb {
    uint8_t *at;
    size_t n, cap;
} Pb;

void pb_raw(Pb *p, const void *bytes, size_t n);
void pb_varint(Pb *p, uint64_t v);
void pb_int(Pb *p, int field, int64_t v);
void pb_bytes(Pb *p, int field, const void *bytes, size_t n);
void pb_str(Pb *p, int field, const char *s);
void pb_msg(Pb *p, int field, Pb *child); /* frees the child */
void pb_free(Pb *p);

/* Field numbers that tests use. */
enum {
    MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8, MODEL_FUNCTION = 25,
    GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13, GRAPH_SPARSE = 15,
    NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTR = 5, NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8,
    ATTR_NAME_FIELD = 1, ATTR_F_FIELD = 2, ATTR_I_FIELD = 3, ATTR_S_FIELD = 4, ATTR_T_FIELD = 5,
    ATTR_G_FIELD = 6, ATTR_INTS_FIELD = 8, ATTR_TYPE_FIELD = 20, ATTR_REF_FIELD = 21,
    TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_FLOATS = 4, TENSOR_INT32S = 5, TENSOR_STRINGS = 6,
    TENSOR_INT64S = 7, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_DOUBLES = 10, TENSOR_UINT64S = 11,
    TENSOR_EXTERNAL = 13, TENSOR_LOCATION = 14,
    FUNCTION_NAME = 1, FUNCTION_INPUT = 4, FUNCTION_OUTPUT = 5, FUNCTION_ATTR = 6,
    FUNCTION_NODE = 7, FUNCTION_OPSET = 9, FUNCTION_DOMAIN = 10, FUNCTION_ATTR_DEFAULT = 11
};

/* A list of dims for the calls below: DIMS(2, 3). */
#define DIMS(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]){__VA_ARGS__}
#define SCALAR 0, NULL

/* Names in one string, separated by commas: "x,,w" has an empty one in the middle. */
Pb pb_node(const char *op, const char *inputs, const char *outputs, const char *name);
void pb_attr_int(Pb *node, const char *name, int64_t v);
void pb_attr_ref(Pb *node, const char *name, const char *of_function, AttrKind kind);
void pb_attr_graph(Pb *node, const char *name, Pb *graph);
Pb pb_tensor(const char *name, DType type, int rank, const int64_t *dim); /* without data */
Pb pb_floats(const char *name, int n, const float *data);                 /* rank 1, raw data */
void pb_value(Pb *graph, int field, const char *name, DType type, int rank, const int64_t *dim);
void pb_opset(Pb *p, int field, const char *domain, int64_t version);
/* Of domain "local", opset 17. */
Pb pb_function(const char *name, const char *inputs, const char *outputs);
Pb pb_model(Pb *graph); /* IR 8, opset 17 and version 1 of "local"; frees the graph */

/* Importing in a Ctx of its own. */
typedef struct Loaded {
    Ctx cx;
    Graph *g; /* NULL when that failed */
} Loaded;
void load(Loaded *l, Pb *model);       /* frees the bytes with unload */
void load_path(Loaded *l, const char *path);
void unload(Loaded *l, Pb *model);

/* The model is refused with this code, and a message that says `text`. Frees the model. */
void assert_refused(Pb *model, Code code, const char *text);
/* The model is accepted, its graph is sound, and its text reads back as the same. Frees the model.
 */
void assert_accepted(Pb *model);
Value *value_named(const Graph *g, const char *name);
#endif
