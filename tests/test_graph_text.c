/* Graphs as text: what is printed reads back as the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/onnx_pb.h"

/* Parses and prints; NULL and the message in *problem when that failed. Both live in cx. */
static const char *reprint(Ctx *cx, const char *text, const char **problem)
{
    const char *volatile out = NULL;
    ctx_init(cx, alloc_default());
    TRY(cx) {
        Graph *g = graph_parse(cx, text);
        graph_verify(g);
        Buf b;
        buf_init(&b, cx);
        graph_print(&b, g);
        out = b.s;
    }
    CATCH {
        out = NULL;
    }
    *problem = out ? NULL : cx->problems->message;
    return out;
}

/* This text is already in the form that is printed. */
static void assert_same(const char *text)
{
    Ctx cx;
    const char *problem, *again = reprint(&cx, text, &problem);
    if (!again)
        print_error("%s\n", problem);
    assert_non_null(again);
    assert_string_equal(again, text);
    ctx_free(&cx);
}

static void assert_rejected(const char *text, const char *message)
{
    Ctx cx;
    const char *problem;
    assert_null(reprint(&cx, text, &problem));
    if (!strstr(problem, message))
        print_error("wanted '%s', got '%s'\n", message, problem);
    assert_non_null(strstr(problem, message));
    ctx_free(&cx);
}

/* A graph of one line. */
static void assert_line(const char *line)
{
    char text[1024];
    snprintf(text, sizeof text, "graph \"g\" ir 8 opset ai.onnx 17 {\n    input %%x\n    %s\n}\n",
        line);
    assert_same(text);
}

static void a_whole_graph(void **state)
{
    (void)state;
    assert_same("graph \"main\" ir 8 opset ai.onnx 13, ai.onnx.ml 2 {\n"
                "    input %x ~ float32[batch, 3]\n"
                "    input %w: float32[2, 2] ~ = {1, 2, 3, 4}\n"
                "    const %b: int64[2] = {0, -1}\n"
                "    %y: float32[batch, 4] ~ float32[?, 4], _ = Conv(%x, %w, _) {strides=[2, 2]} "
                "\"a name\"\n"
                "    %z = ai.onnx.ml::Scaler(%y)\n"
                "    %t = Relu!6(%z)\n"
                "    output %t\n"
                "}\n");
}

static void attributes_of_every_kind(void **state)
{
    (void)state;
    assert_line(
        "%y = Op(%x) {a=1, b=-9223372036854775808, c=float(0.1), d=\"s\\n\", e=[], f=[1, -2]}");
    assert_line(
        "%y = Op(%x) {a=floats(0.1, -inf, nan), b=strings(\"\", \"a\\\"b\"), c=float32[2] {1, 2}}");
    assert_line(
        "%y = Op(%x) {a=tensors(int8[] {1}, bool[0] {}), b=type optional(float32[n]), c=other}");
}

static void dims_are_expressions(void **state)
{
    (void)state;
    assert_line("%y: float32[(2*batch + 1), ?, 0] = Op(%x)");
    assert_line("%y: float32[\"a b\", (\"a b\" / 2), (\"a b\" % 3)] = Op(%x)");
    assert_same("graph \"g\" dims m, n {\n"
                "    input %x: float32[n, (m + 2*n - 1), m*n, min(m, n), max(n, 3)]\n"
                "    output %x\n"
                "}\n");
    assert_line("%y: float32[] = Op(%x)");
    assert_line("%y: float32 ~ undefined[3] = Op(%x)");
    assert_line("%y: seq(float32[n]) ~ = Op(%x)");
}

static void constants_of_every_type(void **state)
{
    (void)state;
    assert_line("const %c: float16[2] = {0.33325195, -inf}");
    assert_line("const %c: float64[1] = {0.1}");
    assert_line("const %c: uint64[1] = {18446744073709551615}");
    assert_line("const %c: bool[2] = {0, 1}");
    assert_line("const %c: int4[3] = {-8, 7, 0}");
    assert_line("const %c: string[2] = {\"a\", \"\\u0001\"}");
    assert_line("const %c: float32[1] = x\"0100c07f\""); /* a NaN with a payload */
    assert_line("const %c: complex64[1] = x\"0000803f00000040\"");
    assert_line("const %c: float32[2000] = #0123456789abcdef");
}

static void values_that_share_a_name_are_numbered(void **state)
{
    (void)state;
    assert_line("%#1, %#2 = Op(%x)\n    %a#3 = Op(%#1)\n    %a#4 = Op(%#2, %a#3)\n    output %a#4");
}

static void subgraphs_see_the_values_around_them(void **state)
{
    (void)state;
    assert_line("%y = If(%x) {then_branch=graph \"t\" {\n"
                "        %u = Relu!14(%x)\n"
                "        output %u\n"
                "    }, else_branch=graph \"e\" ir 8 opset ai.onnx 17 {\n"
                "        output %x\n"
                "    }} \"if\"\n    output %y");
}

static void comments_and_space_do_not_matter(void **state)
{
    (void)state;
    Ctx cx;
    const char *problem;
    const char *out =
        reprint(&cx, "graph\"g\"{// c\n input%x~float32[ 2,n ]  output %x}", &problem);
    assert_non_null(out);
    assert_string_equal(out, "graph \"g\" {\n    input %x ~ float32[2, n]\n    output %x\n}\n");
    ctx_free(&cx);
}

static void wrong_texts_are_rejected_with_the_line(void **state)
{
    (void)state;
    static const char *const row[][2] = {{"", "graph expected"}, {"graph", "\" expected"},
        {"graph \"g\" {", "expected"},
        {"graph \"g\" {\n  output %x\n}", "line 2: a value that exists"},
        {"graph \"g\" { input %x input %x }", "a new name"},
        {"graph \"g\" { const %x: int8[2] = {1} }", ", expected"},
        {"graph \"g\" { const %x: int8[n] = {1} }", "fixed dims"},
        {"graph \"g\" { const %x: int8[2] }", "= expected"},
        {"graph \"g\" { %y = Op(%y) }", "a value that exists"},
        {"graph \"g\" { input %x: int9 }", "element type"},
        {"graph \"g\" { input %x: float32[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8] }", "lower rank"},
        {"graph \"g\" { const %x: float32[1] = x\"00\" }", "hex digits"},
        {"graph \"g\" { } x", "the end"}, {"graph \"\\u01\"", "hex digits"},
        {"graph \"a\\", "escape"}, {"graph \"g\" ir 99999999999 {}", "small integer"},
        {"graph \"g\" { const %x: int8[99999999999999999999] = {}}", "64 bits"},
        {"graph \"g\" { const %x: int8[4611686018427387904, 4] = {}}", "limit"}};
    for (int i = 0; i < NELEM(row); i++)
        assert_rejected(row[i][0], row[i][1]);
}

static void deep_texts_are_rejected(void **state)
{
    (void)state;
    Pb text = {0};
    pb_raw(&text, "graph \"g\" { input %x: float32[", 30);
    for (int i = 0; i < 100000; i++)
        pb_raw(&text, "(", 1);
    pb_raw(&text, "", 1);
    assert_rejected((const char *)text.at, "less nesting");
    pb_free(&text);
    for (int i = 0; i < 10000; i++)
        pb_raw(&text, "graph \"g\" { %y = A() {g=", 24);
    pb_raw(&text, "", 1);
    assert_rejected((const char *)text.at, "less nesting");
    pb_free(&text);
}

/* The text of a model file; NULL when it can't be had. Lives in l->cx. */
static const char *text_of(Loaded *l, const char *path)
{
    const char *volatile text = NULL;
    load_path(l, path);
    TRY(&l->cx) {
        Buf b;
        buf_init(&b, &l->cx);
        if (l->g)
            graph_print(&b, l->g);
        text = b.s;
    }
    return text;
}

static void committed_models_survive_printing_and_parsing(void **state)
{
    (void)state;
    static const char *const path[] = {SINTER_SOURCE_DIR "/models/mnist8_cnn/model.onnx",
        SINTER_SOURCE_DIR "/models/magika/model.onnx"};
    for (int i = 0; i < NELEM(path); i++) {
        Loaded l;
        const char *text = text_of(&l, path[i]);
        assert_non_null(text);
        assert_same(text);
        unload(&l, NULL);
    }
}

/* ---- the verifier ---------------------------------------------------------------------------- */

/* Breaks a sound graph in one way; the verifier must say `text`. */
static void assert_broken(void (*harm)(Graph *g), const char *text)
{
    Ctx cx;
    volatile bool sound = false;
    ctx_init(&cx, alloc_default());
    TRY(&cx) {
        Graph *g = graph_parse(&cx, "graph \"g\" { input %x %y = A(%x) %z = B(%y) output %z }");
        graph_verify(g);
        harm(g);
        graph_verify(g);
        sound = true;
    }
    assert_false(sound);
    assert_non_null(strstr(cx.problems->message, text));
    assert_int_equal(cx.problems->code, ST_INTERNAL);
    ctx_free(&cx);
}

static void swap_nodes(Graph *g)
{
    Node *first = g->nodes.at[0];
    g->nodes.at[0] = g->nodes.at[1];
    g->nodes.at[1] = first;
    g->nodes.at[0]->id = 0;
    g->nodes.at[1]->id = 1;
}

static void share_an_output(Graph *g) { g->nodes.at[1]->out[0] = g->nodes.at[0]->out[0]; }
static void shift_an_id(Graph *g) { g->values.at[1]->id = 2; }
static void drop_the_last_node(Graph *g) { g->nodes.n--; }
static void unmark_the_input(Graph *g) { g->inputs.at[0]->is_input = false; }

static void the_verifier_finds_what_is_broken(void **state)
{
    (void)state;
    assert_broken(swap_nodes, "before it exists");
    assert_broken(share_an_output, "two producers");
    assert_broken(shift_an_id, "id does not match");
    assert_broken(drop_the_last_node, "output does not exist");
    assert_broken(unmark_the_input, "not marked");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_graph),
        cmocka_unit_test(attributes_of_every_kind),
        cmocka_unit_test(dims_are_expressions),
        cmocka_unit_test(constants_of_every_type),
        cmocka_unit_test(values_that_share_a_name_are_numbered),
        cmocka_unit_test(subgraphs_see_the_values_around_them),
        cmocka_unit_test(comments_and_space_do_not_matter),
        cmocka_unit_test(wrong_texts_are_rejected_with_the_line),
        cmocka_unit_test(deep_texts_are_rejected),
        cmocka_unit_test(committed_models_survive_printing_and_parsing),
        cmocka_unit_test(the_verifier_finds_what_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
