/* Files that are no models, and models that are wrong: a clear error each, and no crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/onnx_pb.h"

static Pb bytes(const void *p, size_t n)
{
    Pb b = {0};
    pb_raw(&b, p, n);
    return b;
}

static Pb x_to_y(const char *op)
{
    Pb g = {0}, node = pb_node(op, "x", "y", "n");
    pb_value(&g, GRAPH_INPUT, "x", DT_F32, DIMS(2));
    pb_msg(&g, GRAPH_NODE, &node);
    pb_value(&g, GRAPH_OUTPUT, "y", DT_F32, DIMS(2));
    return g;
}

static void add_node(Pb *g, const char *in, const char *out, const char *name)
{
    Pb node = pb_node("Add", in, out, name);
    pb_msg(g, GRAPH_NODE, &node);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void an_empty_file_is_refused(void **state)
{
    (void)state;
    Pb m = bytes("", 0);
    assert_refused(&m, ST_MODEL, "empty");
}

static void files_of_other_kinds_are_refused(void **state)
{
    (void)state;
    static const char *const text[] = {"%PDF-1.7 some text", "\x89PNG\r\n\x1a\n", "PK\x03\x04",
        "hello, world\n", "{\"a\": 1}", "\177ELF", "\n\n\n\n", "\x08\x08"};
    for (int i = 0; i < NELEM(text); i++) {
        Pb m = bytes(text[i], strlen(text[i]));
        Loaded l;
        load(&l, &m);
        assert_null(l.g);
        assert_int_equal(l.cx.problems->code, ST_MODEL);
        unload(&l, &m);
    }
}

static void a_file_that_does_not_exist_is_an_io_error(void **state)
{
    (void)state;
    static const char *const path[] = {"/nonexistent/model.onnx", "/", "/dev/null", ""};
    for (int i = 0; i < NELEM(path); i++) {
        Loaded l;
        load_path(&l, path[i]);
        assert_null(l.g);
        assert_int_equal(l.cx.problems->code, ST_IO);
        unload(&l, NULL);
    }
}

/* A model with an initializer, a function, a subgraph and attributes: some of everything. */
static Pb rich_model(void)
{
    Pb g = x_to_y("Relu"), w = pb_floats("w", 3, (const float[]){1, 2, 3}),
       node = pb_node("If", "x", "z", "if");
    Pb inner = {0}, f = pb_function("f", "a", "b"), body = pb_node("Neg", "a", "b", ""),
       call = pb_node("f", "y", "u", "");
    add_node(&inner, "x,w", "t", "add");
    pb_value(&inner, GRAPH_OUTPUT, "t", DT_F32, DIMS(-1));
    pb_msg(&g, GRAPH_INITIALIZER, &w);
    pb_attr_graph(&node, "then_branch", &inner);
    pb_attr_int(&node, "axis", 3);
    pb_msg(&g, GRAPH_NODE, &node);
    pb_str(&call, NODE_DOMAIN, "local");
    pb_msg(&g, GRAPH_NODE, &call);
    pb_msg(&f, FUNCTION_NODE, &body);
    Pb m = pb_model(&g);
    pb_msg(&m, MODEL_FUNCTION, &f);
    return m;
}

static void a_file_cut_anywhere_is_refused_or_still_whole(void **state)
{
    (void)state;
    Pb whole = rich_model();
    int accepted = 0;
    for (size_t n = 1; n < whole.n; n++) {
        Pb m = bytes(whole.at, n);
        Loaded l;
        load(&l, &m);
        accepted += l.g != NULL;
        unload(&l, &m);
    }
    assert_in_range(accepted, 0, 3); /* cuts between fields of the model */
    assert_accepted(&whole);
}

static void a_file_with_any_bit_flipped_does_no_harm(void **state)
{
    (void)state;
    Pb whole = rich_model();
    int refused = 0;
    for (size_t bit = 0; bit < 8 * whole.n; bit++) {
        Pb m = bytes(whole.at, whole.n);
        m.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
        Loaded l;
        load(&l, &m);
        refused += l.g == NULL;
        unload(&l, &m);
    }
    assert_true(refused > (int)whole.n);
    pb_free(&whole);
}

static void nesting_ten_thousand_deep_is_a_named_limit(void **state)
{
    (void)state;
    /* From the inside out: TypeProto.sequence_type = 4, Sequence.elem_type = 1, ValueInfoProto.type
     * = 2. */
    Pb type = {0}, value = {0}, g = {0};
    for (int i = 0; i < 10000; i++) {
        Pb outer = {0};
        pb_msg(&outer, i % 2 ? 4 : 1, &type);
        type = outer;
    }
    pb_msg(&value, 2, &type);
    pb_msg(&g, GRAPH_INPUT, &value);
    Pb m = pb_model(&g);
    assert_refused(&m, ST_LIMIT, "nested messages");
}

static void unknown_fields_are_skipped_however_deep(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu"), unknown = {0};
    for (int i = 0; i < 1000; i++) {
        Pb outer = {0};
        pb_msg(&outer, 999, &unknown);
        unknown = outer;
    }
    pb_msg(&g, 999, &unknown);
    pb_int(&g, 1000000, 5); /* the number that the pre-scan itself uses inside tensors */
    Pb w = pb_floats("w", 1, (const float[]){1});
    pb_int(&w, 1000000, 77);
    pb_msg(&g, GRAPH_INITIALIZER, &w);
    Pb m = pb_model(&g);
    assert_accepted(&m);
}

static void names_with_nul_bytes_are_refused(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu");
    pb_bytes(&g, GRAPH_NAME, "a\0b", 3);
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "NUL byte");
}

static void overlong_names_are_a_named_limit(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu");
    char *name = calloc(1, 70000);
    memset(name, 'a', 69999);
    pb_str(&g, GRAPH_NAME, name);
    free(name);
    Pb m = pb_model(&g);
    assert_refused(&m, ST_LIMIT, "bytes in a name");
}

/* ---- models ---------------------------------------------------------------------------------- */

static void a_model_without_graph_is_refused(void **state)
{
    (void)state;
    Pb m = {0};
    pb_int(&m, MODEL_IR, 8);
    assert_refused(&m, ST_MODEL, "no graph");
}

static void versions_must_be_known(void **state)
{
    (void)state;
    static const struct {
        int64_t ir, opset;
        Code code;
        const char *text;
    } row[] = {{9999, 17, ST_UNSUPPORTED, "IR version 9999"}, {0, 17, ST_MODEL, "IR version 0"},
        {8, 0, ST_MODEL, "version 0"}, {8, 9999, ST_UNSUPPORTED, "version 9999"},
        {8, -1, ST_MODEL, "version -1"}};
    for (int i = 0; i < NELEM(row); i++) {
        Pb g = x_to_y("Relu"), m = {0};
        pb_int(&m, MODEL_IR, row[i].ir);
        pb_msg(&m, MODEL_GRAPH, &g);
        pb_opset(&m, MODEL_OPSET, "", row[i].opset);
        assert_refused(&m, row[i].code, row[i].text);
    }
}

static void opsets_must_be_imported(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu"), m = {0};
    pb_int(&m, MODEL_IR, 8);
    pb_msg(&m, MODEL_GRAPH, &g);
    pb_opset(&m, MODEL_OPSET, "ai.onnx.ml", 2);
    assert_refused(&m, ST_MODEL, "'ai.onnx', which the model does not import");
    g = x_to_y("Relu");
    m = (Pb){0};
    pb_int(&m, MODEL_IR, 8);
    pb_msg(&m, MODEL_GRAPH, &g);
    assert_refused(&m, ST_MODEL, "opset_import");
}

static void a_value_that_nothing_produces_is_refused(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu");
    add_node(&g, "x,nowhere", "z", "n2");
    pb_value(&g, GRAPH_OUTPUT, "gone", DT_F32, DIMS(2));
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_null(l.g);
    assert_int_equal(l.cx.n_problems, 2); /* all at once */
    assert_string_equal(l.cx.problems->where.node, "n2");
    assert_string_equal(l.cx.problems->where.tensor, "nowhere");
    assert_non_null(strstr(l.cx.problems->next->message, "'gone'"));
    unload(&l, &m);
}

static void a_cycle_is_refused_and_names_both_nodes(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu");
    add_node(&g, "x,b", "a", "first");
    add_node(&g, "x,a", "b", "second");
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_null(l.g);
    assert_string_equal(l.cx.problems->where.node, "first");
    assert_non_null(strstr(l.cx.problems->message, "'second'"));
    unload(&l, &m);
}

static void a_node_that_reads_itself_is_refused(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu");
    add_node(&g, "x,a", "a", "self");
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "cycle");
}

static void names_must_be_unique(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu");
    add_node(&g, "x,x", "y", "again");
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "defined twice");

    g = x_to_y("Relu");
    pb_value(&g, GRAPH_INPUT, "x", DT_F32, DIMS(2));
    m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "two inputs");

    g = x_to_y("Relu");
    Pb w = pb_floats("w", 1, (const float[]){1}), w2 = pb_floats("w", 1, (const float[]){1});
    pb_msg(&g, GRAPH_INITIALIZER, &w);
    pb_msg(&g, GRAPH_INITIALIZER, &w2);
    m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "two initializers");

    g = x_to_y("Relu");
    Pb y = pb_floats("y", 1, (const float[]){1});
    pb_msg(&g, GRAPH_INITIALIZER, &y);
    m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "defined twice");
}

static void attributes_must_be_unique_and_have_values(void **state)
{
    (void)state;
    Pb g = {0}, node = pb_node("Op", "", "y", "n"), a = {0};
    pb_attr_int(&node, "axis", 1);
    pb_attr_int(&node, "axis", 2);
    pb_str(&a, ATTR_NAME_FIELD, "body");
    pb_int(&a, ATTR_TYPE_FIELD, ATTR_GRAPH);
    pb_msg(&node, NODE_ATTR, &a);
    pb_attr_ref(&node, "k", "of_no_function", ATTR_INT);
    pb_msg(&g, GRAPH_NODE, &node);
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_null(l.g);
    assert_int_equal(l.cx.n_problems, 3);
    unload(&l, &m);
}

static void lists_that_are_searched_linearly_are_bounded(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu"), node = pb_node("Op", "x", "z", "n");
    for (int i = 0; i < 1001; i++)
        pb_attr_int(&node, "axis", i);
    pb_msg(&g, GRAPH_NODE, &node);
    Pb m = pb_model(&g);
    assert_refused(&m, ST_LIMIT, "attributes");
    g = x_to_y("Relu");
    m = pb_model(&g);
    for (int i = 0; i < 1001; i++)
        pb_opset(&m, MODEL_OPSET, "", 17);
    assert_refused(&m, ST_LIMIT, "operator sets");
}

static void a_node_without_an_operator_is_refused(void **state)
{
    (void)state;
    Pb g = x_to_y("");
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "no operator type");
}

static void declared_dims_must_not_be_negative(void **state)
{
    (void)state;
    Pb g = {0};
    pb_value(&g, GRAPH_INPUT, "x", DT_F32, DIMS(2, -3));
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "dim 1 is declared as -3");
}

static void a_default_must_have_the_declared_type(void **state)
{
    (void)state;
    Pb g = {0}, w = pb_floats("x", 1, (const float[]){1});
    pb_value(&g, GRAPH_INPUT, "x", DT_I64, DIMS(1));
    pb_msg(&g, GRAPH_INITIALIZER, &w);
    Pb m = pb_model(&g);
    assert_refused(&m, ST_MODEL, "declared as int64, but its default is float32");
}

static void subgraphs_nested_too_deep_are_a_named_limit(void **state)
{
    (void)state;
    for (int depth = 30; depth <= 34; depth += 2) {
        Pb g = {0};
        for (int i = 0; i < depth; i++) {
            Pb outer = {0}, node = pb_node("If", "", "", "n");
            pb_attr_graph(&node, "then_branch", &g);
            pb_msg(&outer, GRAPH_NODE, &node);
            g = outer;
        }
        Pb m = pb_model(&g);
        if (depth <= LIM_SUBGRAPH_DEPTH)
            assert_accepted(&m);
        else
            assert_refused(&m, ST_LIMIT, "limit");
    }
}

static void only_so_many_problems_are_listed(void **state)
{
    (void)state;
    Pb g = x_to_y("Relu");
    for (int i = 0; i < 1000; i++)
        add_node(&g, "nowhere", "", "n");
    Pb m = pb_model(&g);
    Loaded l;
    load(&l, &m);
    assert_null(l.g);
    assert_int_equal(l.cx.n_problems, LIM_PROBLEMS);
    unload(&l, &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_is_refused),
        cmocka_unit_test(files_of_other_kinds_are_refused),
        cmocka_unit_test(a_file_that_does_not_exist_is_an_io_error),
        cmocka_unit_test(a_file_cut_anywhere_is_refused_or_still_whole),
        cmocka_unit_test(a_file_with_any_bit_flipped_does_no_harm),
        cmocka_unit_test(nesting_ten_thousand_deep_is_a_named_limit),
        cmocka_unit_test(unknown_fields_are_skipped_however_deep),
        cmocka_unit_test(names_with_nul_bytes_are_refused),
        cmocka_unit_test(overlong_names_are_a_named_limit),
        cmocka_unit_test(a_model_without_graph_is_refused),
        cmocka_unit_test(versions_must_be_known),
        cmocka_unit_test(opsets_must_be_imported),
        cmocka_unit_test(a_value_that_nothing_produces_is_refused),
        cmocka_unit_test(a_cycle_is_refused_and_names_both_nodes),
        cmocka_unit_test(a_node_that_reads_itself_is_refused),
        cmocka_unit_test(names_must_be_unique),
        cmocka_unit_test(attributes_must_be_unique_and_have_values),
        cmocka_unit_test(lists_that_are_searched_linearly_are_bounded),
        cmocka_unit_test(a_node_without_an_operator_is_refused),
        cmocka_unit_test(declared_dims_must_not_be_negative),
        cmocka_unit_test(a_default_must_have_the_declared_type),
        cmocka_unit_test(subgraphs_nested_too_deep_are_a_named_limit),
        cmocka_unit_test(only_so_many_problems_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
