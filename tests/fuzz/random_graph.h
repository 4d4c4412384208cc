/* random_graph.h: what the families of operators (random_ops.c, random_shapes.c) share while a
 * recipe is drawn. A family adds one node, or a few, that are valid for the values there are; it
 * returns false when it finds none. */
#ifndef TEST_RANDOM_GRAPH_H
#define TEST_RANDOM_GRAPH_H
#include "fuzz/recipe.h"

typedef struct Draw {
    Recipe *r;
    uint64_t rng;
    int n_names;
    double work, most_work; /* multiply-adds so far */
    int64_t most_elements;
    bool failed; /* a list is full */
} Draw;

int64_t below(Draw *d, int64_t n); /* 0 .. n-1 */
bool chance(Draw *d, int percent);
#define ANY(d, ...) \
    ((const int64_t[]){__VA_ARGS__})[below(d, \
        (int64_t)(sizeof((const int64_t[]){__VA_ARGS__}) / 8))]

/* Values. */
RValue *value_at(Draw *d, int v);
Dim fixed(int64_t n);
bool dim_same(const Dim *a, const Dim *b);
/* derived: the tag follows from `how` */
Dim dim_of(const Dim *from, int64_t a, int64_t b, uint32_t how);
double elements(const RValue *v); /* in the larger run */
int add_value(Draw *d, Origin from, DType type, int rank, const Dim *dim);
int add_data(Draw *d, DType type, int rank, const Dim *dim); /* an input, or if fixed a constant */
int add_range(Draw *d, DType type, int rank, const Dim *dim, double lo, double hi);
int add_list(Draw *d, int n, const int64_t *at);
int pick(Draw *d); /* any value that is no list; the newer, the likelier */
int pick_float(Draw *d); /* -1: none was found */
int pick_type(Draw *d, DType type);
bool is_fixed(const RValue *v);

/* A node with one output of that type and shape; attributes as for net_node. Its scale is that of
 * its first input, and it is exact if all its inputs are. */
int add_node(Draw *d, const char *op, int n_in, const int *in, DType type, int rank, const Dim *dim,
    const char *attrs, ...) __attribute__((format(printf, 8, 9)));
#define IN(...) (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__}
int add_like(Draw *d, const char *op, int x, const char *attrs); /* elementwise, of one input */
/* notes them; tames what has become large. true */
bool settle(Draw *d, int v, double scale, bool exact);

typedef bool (*Family)(Draw *d);
typedef struct FamilyRow {
    Family draw;
    int weight;
} FamilyRow;
extern const FamilyRow op_families[], shape_families[];
extern const int n_op_families, n_shape_families;
#endif
