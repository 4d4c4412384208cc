/* op_case.h: one operator on literal inputs, evaluated by the interpreter; a case is a line of a
 * table.
 *
 *     {"ReduceSum", 13, "keepdims=0", "f32[2,N=3] 1 2 3 4 5 6; #i64[1] -1", "f32[2] 6 15"}
 *
 * Tensors are separated by ';'. `#` makes an input a constant of the graph, NAME=3 a dimension a
 * symbol, `_` is an omitted input. Attributes: axis=1, alpha=0.5f (f: a float), axes=[0,2] (ints),
 * scales=[1f,2f] (floats), mode=LEFT (a string), value={f32[1] 5} (a tensor). Expected is the list
 * of outputs (`_`: present, not compared), or `error: part of the message`.
 */
#ifndef SINTER_TEST_OP_CASE_H
#define SINTER_TEST_OP_CASE_H

typedef struct OpCase {
    const char *op;
    int opset;
    const char *attrs, *in, *out;
} OpCase;

/* Runs n cases; fails the running cmocka test with the text of every case that goes wrong. */
void check_op_cases(const OpCase *c, int n);
#define CHECK_OPS(...)                                                      \
    check_op_cases((const OpCase[]){__VA_ARGS__},                           \
        (int)(sizeof((const OpCase[]){__VA_ARGS__}) / sizeof(OpCase)))

#endif
