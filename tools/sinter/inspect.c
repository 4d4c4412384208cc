/* inspect.c: `sinter inspect`: what a model is, without compiling it. */
#include "element.h"
#include "inputs.h"
#include "json.h"
#include "session.h"
#include "summary.h"
#include <stdio.h>
#include <string.h>

/* Blanks up to column `width`, counting characters of UTF-8, not bytes. */
static int columns_left(const char *s, int width)
{
    for (; *s; s++)
        width -= (*s & 0xC0) != 0x80;
    return width > 0 ? width : 0;
}

/* One graph input or output as a row; `what` is "input", "default" (an input that has one) or
 * "output". */
static void io_row(Format format, const char *what, const sinter_io *io)
{
    const char *type = io->dtype ? dtype_name(io->dtype) : "?";
    if (format == FORMAT_TEXT) {
        const char *name = show_name(io->name);
        printf("  %-8s %s%*s %-9s %s\n", what, name, columns_left(name, 28), "", type,
            show_io_shape(io));
        return;
    }
    const char *cell[] = {what, io->name, type, show_io_shape(io)};
    print_row(format, 4, cell);
}

/* Inputs, then outputs, in the model's order: the K of input_K.pb and output_K.pb. */
static void io_rows(Format format, const sinter_model *model)
{
    sinter_io io;
    for (int i = 0; sinter_input(model, i, &io) == SINTER_OK; i++)
        io_row(format, io.optional ? "default" : "input", &io);
    for (int i = 0; sinter_output(model, i, &io) == SINTER_OK; i++)
        io_row(format, "output", &io);
}

/* As many as fit on a line. */
static void op_counts_text(const json_t *facts)
{
    const char *op, *line = " ";
    json_t *count;
    printf("  operators\n");
    json_object_foreach(json_object_get(facts, "op_counts"), op, count)
    {
        const char *item = cli_printf(" %s %lld", op, (long long)json_integer_value(count));
        if (strlen(line) + strlen(item) > 96) {
            printf("   %s\n", line);
            line = " ";
        }
        line = cli_printf("%s%s%s", line, line[1] ? "," : "", item);
    }
    if (line[1])
        printf("   %s\n", line);
}

/* One line a node: where, which operator, why, and what may help. */
static void unsupported_text(const json_t *facts)
{
    size_t i;
    json_t *u, *list = json_object_get(facts, "unsupported");
    if (json_array_size(list) == 0)
        return;
    printf("  unsupported\n");
    json_array_foreach(list, i, u)
    {
        const char *domain = json_get_text(u, "domain", ""), *hint = json_get_text(u, "hint", "");
        printf("    %s%s%s, node %s: %s\n", domain, *domain ? "." : "",
            json_get_text(u, "op_type", ""), show_name(json_get_text(u, "node", "")),
            json_get_text(u, "reason", ""));
        if (*hint)
            printf("      hint: %s\n", hint);
    }
}

static void facts_text(const sinter_model *model, const char *path, const json_t *facts)
{
    const char *domain, *opsets = "";
    json_t *version;
    json_object_foreach(json_object_get(facts, "opsets"), domain, version) opsets =
        cli_printf("%s, %s opset %lld", opsets, *domain ? domain : "ai.onnx",
            (long long)json_integer_value(version));
    printf("%s\n  IR version %.0f%s; %.0f parameters\n", show_name(path),
        json_get_number(facts, "ir_version", 0), opsets, json_get_number(facts, "parameters", 0));
    io_rows(FORMAT_TEXT, model);
    op_counts_text(facts);
    unsupported_text(facts);
}

/* Takes over `facts`. */
static void print_facts(const Args *args, const sinter_model *model, const char *path,
    json_t *facts)
{
    static const char *const head[] = {"kind", "name", "dtype", "shape"};
    if (args->format == FORMAT_JSON) {
        json_t *o = json_object();
        json_put(o, "schema", json_whole(1));
        json_put(o, "model", json_text(path));
        json_object_update(o, facts);
        json_put(o, "model", json_text(path));
        json_print_line(o);
    } else if (args->format == FORMAT_TEXT) {
        facts_text(model, path, facts);
    } else {
        print_header((Format)args->format, 4, head);
        io_rows((Format)args->format, model);
    }
    json_decref(facts);
}

static int inspect_one(const Args *args, const char *path, sinter_error *err)
{
    Session s;
    if (session_load(&s, args, path, err) == SINTER_OK) {
        const char *text = sinter_model_json(s.model);
        json_t *facts = text ? json_loads(text, 0, NULL) : NULL;
        if (facts)
            print_facts(args, s.model, path, facts);
        else
            set_error(err, SINTER_ERR_MEMORY, "no memory to describe %s", show_name(path));
    }
    session_close(&s);
    return err->code ? -1 : EXIT_OK;
}

int verb_inspect(const Args *args, sinter_error *err)
{
    return for_each_model(args, err, inspect_one);
}
