/* onnx_pb.c: see onnx_pb.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "support/onnx_pb.h"

void pb_raw(Pb *p, const void *bytes, size_t n)
{
    if (p->n + n > p->cap) {
        p->cap = MAX(p->cap * 2, p->n + n + 64);
        p->at = realloc(p->at, p->cap);
        assert_non_null(p->at);
    }
    if (n)
        memcpy(p->at + p->n, bytes, n);
    p->n += n;
}

void pb_varint(Pb *p, uint64_t v)
{
    do {
        uint8_t byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        pb_raw(p, &byte, 1);
        v >>= 7;
    } while (v);
}

void pb_int(Pb *p, int field, int64_t v)
{
    pb_varint(p, (uint64_t)field << 3);
    pb_varint(p, (uint64_t)v);
}

void pb_bytes(Pb *p, int field, const void *bytes, size_t n)
{
    pb_varint(p, (uint64_t)field << 3 | 2);
    pb_varint(p, n);
    pb_raw(p, bytes, n);
}

void pb_str(Pb *p, int field, const char *s) { pb_bytes(p, field, s, strlen(s)); }

void pb_msg(Pb *p, int field, Pb *child)
{
    pb_bytes(p, field, child->at, child->n);
    pb_free(child);
}

void pb_free(Pb *p)
{
    free(p->at);
    *p = (Pb){0};
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

static void names(Pb *p, int field, const char *list)
{
    while (list[0]) {
        size_t n = strcspn(list, ",");
        pb_bytes(p, field, list, n);
        list += n + (list[n] != 0);
    }
}

Pb pb_node(const char *op, const char *inputs, const char *outputs, const char *name)
{
    Pb node = {0};
    names(&node, NODE_INPUT, inputs);
    names(&node, NODE_OUTPUT, outputs);
    pb_str(&node, NODE_NAME, name);
    pb_str(&node, NODE_OP, op);
    return node;
}

void pb_attr_int(Pb *node, const char *name, int64_t v)
{
    Pb a = {0};
    pb_str(&a, ATTR_NAME_FIELD, name);
    pb_int(&a, ATTR_I_FIELD, v);
    pb_int(&a, ATTR_TYPE_FIELD, ATTR_INT);
    pb_msg(node, NODE_ATTR, &a);
}

void pb_attr_ref(Pb *node, const char *name, const char *of_function, AttrKind kind)
{
    Pb a = {0};
    pb_str(&a, ATTR_NAME_FIELD, name);
    pb_str(&a, ATTR_REF_FIELD, of_function);
    pb_int(&a, ATTR_TYPE_FIELD, kind);
    pb_msg(node, NODE_ATTR, &a);
}

void pb_attr_graph(Pb *node, const char *name, Pb *graph)
{
    Pb a = {0};
    pb_str(&a, ATTR_NAME_FIELD, name);
    pb_int(&a, ATTR_TYPE_FIELD, ATTR_GRAPH);
    pb_msg(&a, ATTR_G_FIELD, graph);
    pb_msg(node, NODE_ATTR, &a);
}

Pb pb_tensor(const char *name, DType type, int rank, const int64_t *dim)
{
    Pb t = {0};
    for (int i = 0; i < rank; i++)
        pb_int(&t, TENSOR_DIMS, dim[i]);
    pb_int(&t, TENSOR_TYPE, type);
    pb_str(&t, TENSOR_NAME, name);
    return t;
}

Pb pb_floats(const char *name, int n, const float *data)
{
    Pb t = pb_tensor(name, DT_F32, DIMS(n));
    pb_bytes(&t, TENSOR_RAW, data, (size_t)n * 4);
    return t;
}

/* A dim of -1 is one that the model does not tell. */
void pb_value(Pb *graph, int field, const char *name, DType type, int rank, const int64_t *dim)
{
    Pb shape = {0}, tensor = {0}, kind = {0}, value = {0};
    for (int i = 0; i < rank; i++) {
        Pb d = {0};
        if (dim[i] != -1)
            pb_int(&d, 1, dim[i]);
        pb_msg(&shape, 1, &d);
    }
    pb_int(&tensor, 1, type);
    pb_msg(&tensor, 2, &shape);
    pb_msg(&kind, 1, &tensor);
    pb_str(&value, 1, name);
    pb_msg(&value, 2, &kind);
    pb_msg(graph, field, &value);
}

void pb_opset(Pb *p, int field, const char *domain, int64_t version)
{
    Pb o = {0};
    pb_str(&o, 1, domain);
    pb_int(&o, 2, version);
    pb_msg(p, field, &o);
}

Pb pb_function(const char *name, const char *inputs, const char *outputs)
{
    Pb f = {0};
    pb_str(&f, FUNCTION_NAME, name);
    pb_str(&f, FUNCTION_DOMAIN, "local");
    names(&f, FUNCTION_INPUT, inputs);
    names(&f, FUNCTION_OUTPUT, outputs);
    pb_opset(&f, FUNCTION_OPSET, "", 17);
    pb_opset(&f, FUNCTION_OPSET, "local", 1);
    return f;
}

Pb pb_model(Pb *graph)
{
    Pb m = {0};
    pb_int(&m, MODEL_IR, 8);
    pb_msg(&m, MODEL_GRAPH, graph);
    pb_opset(&m, MODEL_OPSET, "", 17);
    pb_opset(&m, MODEL_OPSET, "local", 1);
    return m;
}

/* ---- importing ------------------------------------------------------------------------------- */

void load(Loaded *l, Pb *model)
{
    ctx_init(&l->cx, alloc_default());
    l->g = NULL;
    TRY(&l->cx) {
        l->g = graph_import(&l->cx, model->at, model->n, NULL);
        graph_verify(l->g);
    }
    CATCH {
        l->g = NULL;
    }
}

void load_path(Loaded *l, const char *path)
{
    ctx_init(&l->cx, alloc_default());
    l->g = NULL;
    TRY(&l->cx) {
        l->g = graph_import_file(&l->cx, path);
        graph_verify(l->g);
    }
    CATCH {
        l->g = NULL;
    }
}

void unload(Loaded *l, Pb *model)
{
    ctx_free(&l->cx);
    if (model)
        pb_free(model);
}

void assert_refused(Pb *model, Code code, const char *text)
{
    Loaded l;
    load(&l, model);
    assert_null(l.g);
    bool said = false;
    for (const Problem *p = l.cx.problems; p; p = p->next)
        said |= p->code == code && strstr(p->message, text);
    if (!said)
        print_error("wanted '%s', got '%s'\n", text,
            l.cx.problems ? l.cx.problems->message : "nothing");
    assert_true(said);
    unload(&l, model);
}

static void print_twice(Loaded *l, Buf *first, Buf *second)
{
    TRY(&l->cx) {
        buf_init(first, &l->cx);
        buf_init(second, &l->cx);
        graph_print(first, l->g);
        Graph *again = graph_parse(&l->cx, first->s);
        graph_verify(again);
        graph_print(second, again);
    }
    CATCH {
        print_error("%s\n", l->cx.problems->message);
    }
}

void assert_accepted(Pb *model)
{
    Loaded l;
    Buf first = {0}, second = {0};
    load(&l, model);
    if (!l.g)
        print_error("%s\n", l.cx.problems->message);
    assert_non_null(l.g);
    print_twice(&l, &first, &second);
    assert_non_null(second.s);
    assert_string_equal(first.s, second.s);
    unload(&l, model);
}

Value *value_named(const Graph *g, const char *name)
{
    for (int i = 0; i < g->values.n; i++)
        if (strcmp(g->values.at[i]->name, name) == 0)
            return g->values.at[i];
    fail_msg("no value '%s'", name);
    return NULL;
}
