/* recipe.h: a small model as a list of values and nodes, that can be drawn at random
 * (random_graph.c), written as ONNX, cut down, and kept as text (recipe.c):
 *
 *     sizes N=3,7 M=1,64                  the symbolic dims, in the first run and in the second
 *     input x float32 N,4                 random elements, from LO to HI if "LO:HI" follows
 *     const w float32 4,5                 the same, but an initializer
 *     list axes 0,-1                      int64 initializer of rank 1
 *     MatMul x,w y                        a node: inputs, outputs ("x,,w": one is omitted),
 *                                         attributes as for net_node
 *     Softmax y z axis=-1
 *     output z float32
 *
 * A scalar has the dims "-". Elements follow from the value's name, so what is cut down keeps its
 * data.
 */
#ifndef TEST_RECIPE_H
#define TEST_RECIPE_H
#include "support/net.h"

enum { RECIPE_VALUES = 256, RECIPE_NODES = 64, RECIPE_RANK = 6, RECIPE_LIST = 16 };

/* The extent in both runs. `tag` is 0 when it is fixed, else it names the expression of symbols:
 * dims of one tag are equal. */
typedef struct Dim {
    int64_t at[2];
    uint32_t tag;
} Dim;

typedef enum { IN_INPUT, IN_CONST, IN_LIST, IN_NODE } Origin;
typedef struct RValue {
    char name[24];
    Origin from;
    DType type;
    int rank; /* -1: not known, of recipes read from text */
    Dim dim[RECIPE_RANK];
    double lo, hi; /* of elements of inputs; lo == hi: the default range */
    int n_list;
    int64_t list[RECIPE_LIST];
    double scale;     /* while drawing: about the largest magnitude of its elements */
    bool exact;       /* every level gives the same bits: may be rounded or compared */
    bool output;
} RValue;

typedef struct RNode {
    char op[32], attrs[160];
    int n_in, in[8], n_out, out[4]; /* values; -1: omitted */
    bool dropped;
} RNode;

typedef struct Recipe {
    int n_values, n_nodes;
    RValue value[RECIPE_VALUES];
    RNode node[RECIPE_NODES];
    bool odd; /* float inputs hold some infinities, NaNs, negative zeros */
} Recipe;

void recipe_draw(Recipe *r, uint64_t seed); /* random_graph.c */
bool recipe_read(Recipe *r, const char *text);
void recipe_print(const Recipe *r, FILE *to);
Pb recipe_model(const Recipe *r);
/* its elements in that run */
sinter_value *recipe_input(const Recipe *r, const RValue *v, int run);
/* What is no longer needed by outputs is dropped; false if nothing is left. */
bool recipe_prune(Recipe *r);
/* The node is dropped: its outputs become inputs. False if that can't be. */
bool recipe_drop(Recipe *r, int node);
uint64_t draw64(uint64_t *state); /* splitmix64 */
#endif
