/* Importing models: what a valid file becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "support/onnx_pb.h"

/* y = Relu(x), without inputs and outputs declared. */
static Pb relu_graph(void)
{
    Pb g = {0}, node = pb_node("Relu", "x", "y", "r");
    pb_str(&g, GRAPH_NAME, "g");
    pb_msg(&g, GRAPH_NODE, &node);
    pb_value(&g, GRAPH_INPUT, "x", DT_F32, DIMS(2, -1));
    pb_value(&g, GRAPH_OUTPUT, "y", DT_F32, DIMS(2, -1));
    return g;
}

static void add_node(Pb *g, const char *op, const char *in, const char *out)
{
    Pb node = pb_node(op, in, out, "");
    pb_msg(g, GRAPH_NODE, &node);
}

/* A graph with input x, output y, and nothing else yet. */
static Pb x_to_y(void)
{
    Pb g = {0};
    pb_value(&g, GRAPH_INPUT, "x", DT_F32, DIMS(2));
    pb_value(&g, GRAPH_OUTPUT, "y", DT_F32, DIMS(2));
    return g;
}

static void a_node_becomes_a_node(void **state)
{
    (void)state;
    Pb g = relu_graph(), m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_int_equal(l.g->nodes.n, 1);
    const Node *n = l.g->nodes.at[0];
    assert_string_equal(n->op_type, "Relu");
    assert_string_equal(n->name, "r");
    assert_int_equal(n->opset, 17);
    assert_ptr_equal(n->in[0], l.g->inputs.at[0]);
    assert_ptr_equal(n->out[0], l.g->outputs.at[0]);
    assert_ptr_equal(n->out[0]->producer, n);
    unload(&l, &m);
}

static void declared_dims_are_fixed_or_symbolic_or_unknown(void **state)
{
    (void)state;
    Pb g = {0}, dim = {0}, shape = {0}, tensor = {0}, kind = {0}, value = {0};
    pb_str(&dim, 2, "batch");
    pb_msg(&shape, 1, &dim);
    pb_int(&dim, 1, 7);
    pb_msg(&shape, 1, &dim);
    pb_msg(&shape, 1, &dim); /* pb_msg has emptied it */
    pb_int(&tensor, 1, DT_F32);
    pb_msg(&tensor, 2, &shape);
    pb_msg(&kind, 1, &tensor);
    pb_str(&value, 1, "x");
    pb_msg(&value, 2, &kind);
    pb_msg(&g, GRAPH_INPUT, &value);
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    const Value *x = l.g->inputs.at[0];
    assert_int_equal(x->declared_rank, 3);
    assert_ptr_equal(x->declared_dim[0], ix_of_sym(l.g->pool, ix_sym_named(l.g->pool, "batch")));
    assert_true(ix_is(x->declared_dim[1], 7));
    assert_null(x->declared_dim[2]);
    unload(&l, &m);
}

static void an_initializer_that_is_an_input_is_one_value_with_a_default(void **state)
{
    (void)state;
    Pb g = relu_graph(), w = pb_floats("x", 2, (const float[]){1, 2});
    pb_msg(&g, GRAPH_INITIALIZER, &w);
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_int_equal(l.g->inputs.n, 1);
    assert_non_null(l.g->inputs.at[0]->data);
    assert_int_equal(l.g->values.n, 2);
    assert_int_equal(l.g->parameters, 2);
    unload(&l, &m);
}

static void empty_names_are_missing_inputs_and_those_at_the_end_are_dropped(void **state)
{
    (void)state;
    Pb g = x_to_y();
    add_node(&g, "LSTM", "x,,x,,", ",y");
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    const Node *n = l.g->nodes.at[0];
    assert_int_equal(n->n_in, 3);
    assert_null(n->in[1]);
    assert_int_equal(n->n_out, 2);
    assert_null(n->out[0]);
    unload(&l, &m);
}

static void names_may_hold_any_bytes(void **state)
{
    (void)state;
    static const char *const odd[] = {"\xff\xfe", "\"", "\\", "a b", "\n", "*/", "\xc3\xa9", "#1",
        "//", "_", "%d"};
    for (int i = 0; i < NELEM(odd); i++) {
        Pb g = {0}, node = pb_node("Relu", odd[i], "y", odd[i]);
        pb_value(&g, GRAPH_INPUT, odd[i], DT_F32, DIMS(1));
        pb_msg(&g, GRAPH_NODE, &node);
        pb_value(&g, GRAPH_OUTPUT, "y", DT_F32, DIMS(1));
        Pb m = pb_model(&g);
        assert_accepted(&m);
    }
}

static void ai_onnx_is_another_spelling_of_the_default_domain(void **state)
{
    (void)state;
    Pb g = x_to_y(), node = pb_node("Relu", "x", "y", ""), m = {0};
    pb_str(&node, NODE_DOMAIN, "ai.onnx");
    pb_msg(&g, GRAPH_NODE, &node);
    pb_int(&m, MODEL_IR, 8);
    pb_msg(&m, MODEL_GRAPH, &g);
    pb_opset(&m, MODEL_OPSET, "ai.onnx", 13);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_string_equal(l.g->nodes.at[0]->domain, "");
    assert_int_equal(l.g->nodes.at[0]->opset, 13);
    unload(&l, &m);
}

static void a_model_of_ir_2_without_opsets_has_opset_1(void **state)
{
    (void)state;
    Pb g = relu_graph(), m = {0};
    pb_int(&m, MODEL_IR, 2);
    pb_msg(&m, MODEL_GRAPH, &g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_int_equal(l.g->nodes.at[0]->opset, 1);
    unload(&l, &m);
}

static void attributes_without_a_type_field_are_known_by_what_is_set(void **state)
{
    (void)state;
    Pb g = x_to_y(), node = pb_node("Op", "x", "y", ""), a = {0}, b = {0};
    pb_str(&a, ATTR_NAME_FIELD, "axis");
    pb_int(&a, ATTR_I_FIELD, -1);
    pb_msg(&node, NODE_ATTR, &a);
    pb_str(&b, ATTR_NAME_FIELD, "mode");
    pb_str(&b, ATTR_S_FIELD, "linear");
    pb_msg(&node, NODE_ATTR, &b);
    pb_msg(&g, GRAPH_NODE, &node);
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    const Attr *axis = node_attr(l.g->nodes.at[0], "axis"),
               *mode = node_attr(l.g->nodes.at[0], "mode");
    assert_int_equal(axis->kind, ATTR_INT);
    assert_int_equal(axis->i, -1);
    assert_int_equal(mode->kind, ATTR_STRING);
    assert_string_equal(mode->s, "linear");
    assert_int_equal(mode->s_len, 6);
    assert_null(node_attr(l.g->nodes.at[0], "absent"));
    unload(&l, &m);
}

static void int_lists_are_read_packed_and_unpacked(void **state)
{
    (void)state;
    Pb g = x_to_y(), node = pb_node("Op", "x", "y", ""), a = {0}, packed = {0};
    pb_str(&a, ATTR_NAME_FIELD, "pads");
    pb_int(&a, ATTR_INTS_FIELD, 1);
    pb_varint(&packed, 2);
    pb_varint(&packed, (uint64_t)-3);
    pb_msg(&a, ATTR_INTS_FIELD, &packed);
    pb_int(&a, ATTR_TYPE_FIELD, ATTR_INTS);
    pb_msg(&node, NODE_ATTR, &a);
    pb_msg(&g, GRAPH_NODE, &node);
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    const Attr *pads = node_attr(l.g->nodes.at[0], "pads");
    assert_int_equal(pads->n, 3);
    assert_int_equal(pads->ints[0], 1);
    assert_int_equal(pads->ints[2], -3);
    unload(&l, &m);
}

/* ---- subgraphs ------------------------------------------------------------------------------- */

/* A branch without inputs whose output `out` is Op(in). */
static Pb branch(const char *op, const char *in, const char *out)
{
    Pb g = {0};
    add_node(&g, op, in, out);
    pb_value(&g, GRAPH_OUTPUT, out, DT_F32, DIMS(2));
    return g;
}

static void a_subgraph_sees_the_values_around_it(void **state)
{
    (void)state;
    Pb g = x_to_y(), node = pb_node("If", "c", "y", ""), yes = branch("Relu", "x", "t");
    pb_value(&g, GRAPH_INPUT, "c", DT_BOOL, SCALAR);
    pb_attr_graph(&node, "then_branch", &yes);
    pb_msg(&g, GRAPH_NODE, &node);
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    const Graph *inner = node_attr(l.g->nodes.at[0], "then_branch")->graph;
    assert_ptr_equal(inner->outer, l.g);
    assert_ptr_equal(inner->nodes.at[0]->in[0], value_named(l.g, "x"));
    assert_int_equal(l.g->nodes_imported, 2);
    unload(&l, &m);
}

static void a_name_of_a_subgraph_hides_the_one_around_it(void **state)
{
    (void)state;
    Pb g = x_to_y(), node = pb_node("If", "c", "y", ""), yes = branch("Relu", "x", "t");
    Pb inner_x = pb_floats("x", 1, (const float[]){5});
    pb_msg(&yes, GRAPH_INITIALIZER, &inner_x);
    pb_value(&g, GRAPH_INPUT, "c", DT_BOOL, SCALAR);
    pb_attr_graph(&node, "then_branch", &yes);
    pb_msg(&g, GRAPH_NODE, &node);
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    const Graph *inner = node_attr(l.g->nodes.at[0], "then_branch")->graph;
    assert_non_null(inner->nodes.at[0]->in[0]->data);
    unload(&l, &m);
}

static void a_subgraph_does_not_see_its_own_nodes_outputs(void **state)
{
    (void)state;
    Pb g = x_to_y(), node = pb_node("If", "c", "y", "n"), yes = branch("Relu", "y", "t");
    pb_value(&g, GRAPH_INPUT, "c", DT_BOOL, SCALAR);
    pb_attr_graph(&node, "then_branch", &yes);
    pb_msg(&g, GRAPH_NODE, &node);
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "reads 'y'");
}

/* ---- functions ------------------------------------------------------------------------------- */

/* A model whose graph is x -> y by the nodes given, with one function. */
static Pb model_with(Pb *graph, Pb *function)
{
    Pb m = pb_model(graph);
    pb_msg(&m, MODEL_FUNCTION, function);
    return m;
}

static void add_call(Pb *g, const char *function, const char *in, const char *out)
{
    Pb node = pb_node(function, in, out, "call");
    pb_str(&node, NODE_DOMAIN, "local");
    pb_msg(g, GRAPH_NODE, &node);
}

static void add_body(Pb *f, const char *op, const char *in, const char *out)
{
    Pb node = pb_node(op, in, out, "n");
    pb_msg(f, FUNCTION_NODE, &node);
}

static void a_call_is_replaced_by_the_functions_nodes(void **state)
{
    (void)state;
    Pb g = x_to_y(), f = pb_function("f", "a", "b");
    add_body(&f, "Relu", "a", "t");
    add_body(&f, "Neg", "t", "b");
    add_call(&g, "f", "x", "y");
    Pb m = model_with(&g, &f);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_int_equal(l.g->nodes.n, 2);
    assert_string_equal(l.g->nodes.at[0]->name, "call/n");
    assert_ptr_equal(l.g->nodes.at[0]->in[0], value_named(l.g, "x"));
    assert_ptr_equal(l.g->nodes.at[1]->out[0], value_named(l.g, "y"));
    unload(&l, &m);
}

static void a_function_has_opsets_of_its_own(void **state)
{
    (void)state;
    Pb g = x_to_y(), f = {0};
    pb_str(&f, FUNCTION_NAME, "f");
    pb_str(&f, FUNCTION_DOMAIN, "local");
    pb_str(&f, FUNCTION_INPUT, "a");
    pb_str(&f, FUNCTION_OUTPUT, "b");
    pb_opset(&f, FUNCTION_OPSET, "", 11);
    add_body(&f, "Relu", "a", "b");
    add_call(&g, "f", "x", "t");
    add_node(&g, "Neg", "t", "y");
    Pb m = model_with(&g, &f);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_int_equal(l.g->nodes.at[0]->opset, 11);
    assert_int_equal(l.g->nodes.at[1]->opset, 17);
    unload(&l, &m);
}

static void an_output_that_is_an_input_is_handed_on_by_an_identity(void **state)
{
    (void)state;
    Pb g = x_to_y(), f = pb_function("f", "a", "a");
    add_call(&g, "f", "x", "y");
    Pb m = model_with(&g, &f);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_int_equal(l.g->nodes.n, 1);
    assert_string_equal(l.g->nodes.at[0]->op_type, "Identity");
    unload(&l, &m);
}

/* The int attribute `k` of the only node, when the call gives what `give` adds and the function has
 * a default. */
static int64_t attribute_in_function(bool give, bool has_default)
{
    Pb g = x_to_y(), f = pb_function("f", "a", "b"), node = pb_node("Op", "a", "b", ""), a = {0};
    Pb call = pb_node("f", "x", "y", "");
    pb_attr_ref(&node, "k", "alpha", ATTR_INT);
    pb_msg(&f, FUNCTION_NODE, &node);
    if (has_default) {
        pb_str(&a, ATTR_NAME_FIELD, "alpha");
        pb_int(&a, ATTR_I_FIELD, 5);
        pb_int(&a, ATTR_TYPE_FIELD, ATTR_INT);
        pb_msg(&f, FUNCTION_ATTR_DEFAULT, &a);
    }
    pb_str(&call, NODE_DOMAIN, "local");
    if (give)
        pb_attr_int(&call, "alpha", 9);
    pb_msg(&g, GRAPH_NODE, &call);
    Pb m = model_with(&g, &f);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    const Attr *k = node_attr(l.g->nodes.at[0], "k");
    int64_t v = k ? k->i : -1;
    unload(&l, &m);
    return v;
}

static void attribute_references_take_the_calls_then_the_default_then_nothing(void **state)
{
    (void)state;
    assert_int_equal(attribute_in_function(true, true), 9);
    assert_int_equal(attribute_in_function(false, true), 5);
    assert_int_equal(attribute_in_function(false, false), -1);
}

static void functions_call_functions(void **state)
{
    (void)state;
    Pb g = x_to_y(), f = pb_function("f", "a", "b"), h = pb_function("h", "a", "b");
    add_body(&h, "Relu", "a", "b");
    Pb inner = pb_node("h", "a", "b", "inner");
    pb_str(&inner, NODE_DOMAIN, "local");
    pb_msg(&f, FUNCTION_NODE, &inner);
    add_call(&g, "f", "x", "y");
    Pb m = model_with(&g, &f);
    pb_msg(&m, MODEL_FUNCTION, &h);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_int_equal(l.g->nodes.n, 1);
    assert_string_equal(l.g->nodes.at[0]->name, "call/inner/n");
    unload(&l, &m);
}

static void overloads_are_told_apart(void **state)
{
    (void)state;
    Pb g = x_to_y(), f1 = pb_function("f", "a", "b"), f2 = pb_function("f", "a", "b");
    Pb call = pb_node("f", "x", "y", "");
    add_body(&f1, "Relu", "a", "b");
    add_body(&f2, "Neg", "a", "b");
    pb_str(&f2, 13, "second");
    pb_str(&call, NODE_DOMAIN, "local");
    pb_str(&call, NODE_OVERLOAD, "second");
    pb_msg(&g, GRAPH_NODE, &call);
    Pb m = model_with(&g, &f1);
    pb_msg(&m, MODEL_FUNCTION, &f2);
    Loaded l;
    load(&l, &m);
    assert_non_null(l.g);
    assert_string_equal(l.g->nodes.at[0]->op_type, "Neg");
    unload(&l, &m);
}

static void a_function_that_calls_itself_is_refused(void **state)
{
    (void)state;
    Pb g = x_to_y(), f = pb_function("f", "a", "b"), inner = pb_node("f", "a", "b", "");
    pb_str(&inner, NODE_DOMAIN, "local");
    pb_msg(&f, FUNCTION_NODE, &inner);
    add_call(&g, "f", "x", "y");
    Pb m = model_with(&g, &f);
    assert_refused(&m, ST_MODEL, "calls itself");
}

/* f0 calls f1 twice, f1 calls f2 twice... */
static void functions_that_would_blow_up_are_refused(void **state)
{
    (void)state;
    Pb g = x_to_y();
    add_call(&g, "f0", "x", "y");
    Pb m = pb_model(&g);
    for (int i = 0; i < 30; i++) {
        char name[16], next[16];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(next, sizeof next, "f%d", i + 1);
        Pb f = pb_function(name, "a", "b"), one = pb_node(i < 29 ? next : "Relu", "a", "t", "");
        Pb two = pb_node(i < 29 ? next : "Relu", "t", "b", "");
        pb_str(&one, NODE_DOMAIN, i < 29 ? "local" : "");
        pb_str(&two, NODE_DOMAIN, i < 29 ? "local" : "");
        pb_msg(&f, FUNCTION_NODE, &one);
        pb_msg(&f, FUNCTION_NODE, &two);
        pb_msg(&m, MODEL_FUNCTION, &f);
    }
    assert_refused(&m, ST_LIMIT, "inlining");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_becomes_a_node),
        cmocka_unit_test(declared_dims_are_fixed_or_symbolic_or_unknown),
        cmocka_unit_test(an_initializer_that_is_an_input_is_one_value_with_a_default),
        cmocka_unit_test(empty_names_are_missing_inputs_and_those_at_the_end_are_dropped),
        cmocka_unit_test(names_may_hold_any_bytes),
        cmocka_unit_test(ai_onnx_is_another_spelling_of_the_default_domain),
        cmocka_unit_test(a_model_of_ir_2_without_opsets_has_opset_1),
        cmocka_unit_test(attributes_without_a_type_field_are_known_by_what_is_set),
        cmocka_unit_test(int_lists_are_read_packed_and_unpacked),
        cmocka_unit_test(a_subgraph_sees_the_values_around_it),
        cmocka_unit_test(a_name_of_a_subgraph_hides_the_one_around_it),
        cmocka_unit_test(a_subgraph_does_not_see_its_own_nodes_outputs),
        cmocka_unit_test(a_call_is_replaced_by_the_functions_nodes),
        cmocka_unit_test(a_function_has_opsets_of_its_own),
        cmocka_unit_test(an_output_that_is_an_input_is_handed_on_by_an_identity),
        cmocka_unit_test(attribute_references_take_the_calls_then_the_default_then_nothing),
        cmocka_unit_test(functions_call_functions),
        cmocka_unit_test(overloads_are_told_apart),
        cmocka_unit_test(a_function_that_calls_itself_is_refused),
        cmocka_unit_test(functions_that_would_blow_up_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
