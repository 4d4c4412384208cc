/* zoofill: gives a stripped zoo model its weights back, and makes its inputs.
 *
 *     zoofill MODEL.onnx OUT.onnx        the full model
 *     zoofill --inputs MODEL.onnx DIR    DIR/input_K.pb, one for each graph input that is not an
 * initializer
 *
 * Weights are made in chunks as they are written: a 550 MB model needs no more memory than its
 * stripped file.
 */
#include "recipe.h"
#include "wire.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 16 };

/* The JSON under a key of the model's metadata; NULL when it has none. */
static json_t *metadata(Span model, const char *key)
{
    for (Field f; wire_next(&model, &f);)
        if (f.number == MODEL_METADATA && span_is(wire_find(f.bytes, 1), key)) {
            Span text = wire_find(f.bytes, 2);
            json_error_t e;
            json_t *j = json_loadb((const char *)text.p, span_size(text), 0, &e);
            if (!j)
                die("metadata %s: %s", key, e.text);
            return j;
        }
    return NULL;
}

/* Everything of a serialized TensorProto up to its data. */
static void put_tensor_head(Sink *s, const Recipe *r)
{
    for (int i = 0; i < r->rank; i++) {
        put_tag(s, TENSOR_DIMS, WIRE_VARINT);
        put_varint(s, (uint64_t)r->dim[i]);
    }
    put_tag(s, TENSOR_TYPE, WIRE_VARINT);
    put_varint(s, (uint64_t)r->dtype);
    put_header(s, TENSOR_NAME, strlen(r->name));
    put_bytes(s, r->name, strlen(r->name));
    put_header(s, TENSOR_RAW, r->bytes);
}

static void put_tensor(Sink *s, const Recipe *r)
{
    put_tensor_head(s, r);
    if (!s->f) {
        s->written += r->bytes;
        return;
    }
    static uint64_t chunk[CHUNK];
    for (uint64_t i = 0; i < r->count; i += CHUNK) {
        uint64_t n = r->count - i < CHUNK ? r->count - i : CHUNK;
        recipe_make(r, i, n, chunk);
        put_bytes(s, chunk, n * element_size(r->dtype));
    }
}

/* An initializer without data, with the recipe that metadata gives for it. */
static Recipe initializer_recipe(Span tensor, const char *name, const json_t *json)
{
    int64_t dim[RECIPE_RANK];
    int rank = 0, dtype = 0;
    for (Field f; wire_next(&tensor, &f);) {
        if (f.number == TENSOR_TYPE)
            dtype = (int)f.value;
        if (f.number == TENSOR_DIMS && f.type == WIRE_BYTES)
            die("%s: packed dims are not expected in a stripped model", name);
        if (f.number == TENSOR_DIMS && rank < RECIPE_RANK)
            dim[rank++] = (int64_t)f.value;
    }
    return recipe_read(name, json, dtype, rank, dim);
}

static void put_initializer(Sink *s, const Field *f, const json_t *fill)
{
    char *name = span_text(wire_find(f->bytes, TENSOR_NAME));
    const json_t *json = json_object_get(fill, name);
    if (!json) {
        put_bytes(s, f->whole.p, span_size(f->whole));
    } else {
        Recipe r = initializer_recipe(f->bytes, name, json);
        Sink size = {0};
        put_tensor_head(&size, &r);
        put_header(s, GRAPH_INITIALIZER, size.written + r.bytes);
        put_tensor(s, &r);
        recipe_free(&r);
    }
    free(name);
}

static void put_graph(Sink *s, Span graph, const json_t *fill)
{
    for (Field f; wire_next(&graph, &f);)
        if (f.number == GRAPH_INITIALIZER)
            put_initializer(s, &f, fill);
        else
            put_bytes(s, f.whole.p, span_size(f.whole));
}

/* Copies the model field by field; the recipes themselves are left out, so that a full model is
 * not filled twice. */
static void put_model(Sink *s, Span model, const json_t *fill)
{
    for (Field f; wire_next(&model, &f);)
        if (f.number == MODEL_GRAPH) {
            Sink size = {0};
            put_graph(&size, f.bytes, fill);
            put_header(s, MODEL_GRAPH, size.written);
            put_graph(s, f.bytes, fill);
        } else if (f.number != MODEL_METADATA || !span_is(wire_find(f.bytes, 1), "zoo.fill")) {
            put_bytes(s, f.whole.p, span_size(f.whole));
        }
}

static Sink sink_open(const char *path)
{
    Sink s = {.f = fopen(path, "wb")};
    if (!s.f)
        die("%s: cannot write: %s", path, strerror(errno));
    return s;
}

static void sink_close(Sink *s, const char *path)
{
    if (fclose(s->f))
        die("%s: cannot write: %s", path, strerror(errno));
}

static void fill_model(const char *from, const char *to)
{
    Span model = read_file(from);
    json_t *fill = metadata(model, "zoo.fill");
    Sink s = sink_open(to);
    put_model(&s, model, fill);
    sink_close(&s, to);
    json_decref(fill);
    free((void *)model.p);
}

static int dtype_number(const char *name)
{
    static const char *const names[] = {[1] = "float32",
        [2] = "uint8",
        [3] = "int8",
        [6] = "int32",
        [7] = "int64",
        [9] = "bool",
        [11] = "float64"};
    for (int i = 0; name && i < (int)(sizeof names / sizeof *names); i++)
        if (names[i] && !strcmp(name, names[i]))
            return i;
    die("no recipe makes type '%s'", name ? name : "?");
}

static Recipe input_recipe(const char *name, const json_t *spec)
{
    int64_t dim[RECIPE_RANK];
    const json_t *shape = json_object_get(spec, "shape");
    int rank = (int)json_array_size(shape);
    for (int i = 0; i < rank && i < RECIPE_RANK; i++)
        dim[i] = (int64_t)json_integer_value(json_array_get(shape, (size_t)i));
    return recipe_read(name, json_object_get(spec, "recipe"),
        dtype_number(json_string_value(json_object_get(spec, "dtype"))), rank, dim);
}

static bool is_initializer(Span graph, Span name)
{
    for (Field f; wire_next(&graph, &f);)
        if (f.number == GRAPH_INITIALIZER) {
            Span n = wire_find(f.bytes, TENSOR_NAME);
            if (span_size(n) == span_size(name) && !memcmp(n.p, name.p, span_size(n)))
                return true;
        }
    return false;
}

static void make_input(const char *folder, int k, const char *name, const json_t *spec)
{
    if (!spec)
        die("input %s has no recipe", name);
    Recipe r = input_recipe(name, spec);
    char path[4096];
    snprintf(path, sizeof path, "%s/input_%d.pb", folder, k);
    Sink s = sink_open(path);
    put_tensor(&s, &r);
    sink_close(&s, path);
    recipe_free(&r);
}

static void make_inputs(const char *from, const char *folder)
{
    Span model = read_file(from), graph = wire_find(model, MODEL_GRAPH);
    json_t *inputs = metadata(model, "zoo.inputs");
    if (mkdir(folder, 0777) && errno != EEXIST)
        die("%s: cannot make the folder: %s", folder, strerror(errno));
    int k = 0;
    Span fields = graph;
    for (Field f; wire_next(&fields, &f);) {
        if (f.number != GRAPH_INPUT || is_initializer(graph, wire_find(f.bytes, 1)))
            continue;
        char *name = span_text(wire_find(f.bytes, 1));
        make_input(folder, k++, name, json_object_get(inputs, name));
        free(name);
    }
    json_decref(inputs);
    free((void *)model.p);
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "--inputs"))
        make_inputs(argv[2], argv[3]);
    else if (argc == 3 && argv[1][0] != '-')
        fill_model(argv[1], argv[2]);
    else
        return fputs("usage: zoofill MODEL.onnx OUT.onnx | zoofill --inputs MODEL.onnx DIR\n",
                   stderr),
               2;
    return 0;
}
