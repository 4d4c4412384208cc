/* net.h: small ONNX models in a few lines, and what tests of the public interface do with them.
 *
 *     Pb g = {0};
 *     net_io(&g, GRAPH_INPUT, "x", DT_F32, "batch,3,8");       a name is a symbolic dim
 *     net_weight(&g, "w", "8,5");
 *     net_node(&g, "MatMul", "x,w", "y", "");
 *     net_node(&g, "Softmax", "y", "z", "axis=-1");             also [1,2], 0.5f, "text"
 *     net_io(&g, GRAPH_OUTPUT, "z", DT_F32, "batch,3,5");
 *     Pb model = pb_model(&g);
 */
#ifndef TEST_NET_H
#define TEST_NET_H
#include "sinter.h"
#include "support/onnx_pb.h"

void net_io(Pb *g, int field, const char *name, DType type, const char *dims);
void net_weight(Pb *g, const char *name, const char *dims); /* random floats in [-1, 1) by name */
void net_ints(Pb *g, const char *name, const char *list);   /* an int64 constant of rank 1 */
/* The node is called like its (first) output. */
void net_node(Pb *g, const char *op, const char *inputs, const char *outputs, const char *attrs);

/* net_models.c: their inputs have the symbolic dims that stand behind. */
Pb net_small(void);      /* 9 nodes: products, softmax, mean, reshape, concatenation; batch, seq */
Pb net_normalized(void); /* product, softmax over two axes, layer normalization; batch, seq */
Pb net_attention(void);  /* of three inputs; batch, seq */
Pb net_pooled(void);     /* convolutions around a pooling; h, w */
Pb net_upscaled(void);   /* convolutions, depth to space; h, w */
Pb net_mobile(void);     /* depthwise convolution with a residual, pooling, Gemm; h, w */
Pb net_reshaped(void);   /* batch, seq */
Pb net_joined(void);     /* concatenation of two inputs; n, m */
Pb net_sliced(void);     /* backwards, strided; n, m */

/* models/mnist8_cnn and its recorded data. */
Pb net_file(const char *path); /* beneath the source folder, or absolute */
sinter_value *net_value(const char *path);

/* A compiled model. */
typedef struct Session {
    sinter_model *model;
    sinter_program *program;
    sinter_run_context *run;
    sinter_error err;
} Session;
/* Load, compile, context: the first error; what was made is released by session_close. */
sinter_code session_try(Session *s, const Pb *model, const sinter_options *o);
/* The same; an error fails the test. */
void session_open(Session *s, const Pb *model, const sinter_options *o);
void session_close(Session *s);
sinter_options net_options(int level, int threads, const char *isa);

/* A float tensor of its own memory with random elements in [-1, 1). */
sinter_value *net_random(int rank, const int64_t *dim, uint64_t seed);
/* Same type and shape, and elements within 1e-4 of the largest; integers equal. Else the test fails
 * saying `what`. */
void assert_close(const sinter_value *got, const sinter_value *want, const char *what);
void assert_same(const sinter_value *got, const sinter_value *want); /* to the bit */
#endif
