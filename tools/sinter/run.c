/* run.c: `sinter run`: run a model once, then write, compare or summarise its outputs. */
#include "compare.h"
#include "element.h"
#include "file.h"
#include "json.h"
#include "npy.h"
#include "session.h"
#include "spec.h"
#include "summary.h"
#include <stdio.h>
#include <string.h>

/* ---- writing --------------------------------------------------------------------------- */

/* Any type has a TensorProto. */
static sinter_code write_folder(Session *s, const char *path, sinter_error *err)
{
    if (folder_make(path, err))
        return err->code;
    for (int i = 0; i < s->main.n_outputs; i++) {
        void *bytes;
        size_t n;
        if (sinter_value_serialize(s->main.output[i], output_name(s, i), &bytes, &n, err))
            return err->code;
        sinter_code code = file_write(cli_printf("%s/output_%d.pb", path, i), bytes, n, err);
        sinter_text_free(bytes);
        if (code)
            return code;
    }
    return SINTER_OK;
}

/* All types are checked before anything is written. */
static sinter_code write_archive(Session *s, const char *path, sinter_error *err)
{
    int n = s->main.n_outputs;
    const char **names = cli_alloc(sizeof *names * (size_t)(n + 1));
    sinter_tensor *tensors = cli_alloc(sizeof *tensors * (size_t)(n + 1));
    for (int i = 0; i < n; i++) {
        names[i] = output_name(s, i);
        if (sinter_tensor_get(s->main.output[i], &tensors[i]) || !npy_holds(tensors[i].dtype)) {
            set_error(err, SINTER_ERR_USAGE,
                "-o %s: output %s is of a type that .npz can't hold (%s)", path,
                show_name(names[i]), dtype_name(tensors[i].dtype));
            set_hint(err, "-o DIR/ writes it as output_%d.pb", i);
            return err->code;
        }
    }
    return npz_write(path, n, names, tensors, err);
}

/* What can be known wrong before a long run: the form of -o, and declared types that the archive
 * can't hold. */
static sinter_code check_output_option(const Args *args, const sinter_model *model,
    sinter_error *err)
{
    sinter_io io;
    const char *path = args->output;
    if (!path || ends_with(path, "/") || is_folder(path))
        return SINTER_OK;
    if (!ends_with(path, ".npz"))
        return set_error(err, SINTER_ERR_USAGE, "-o %s: want a folder (DIR/) or a file .npz", path);
    for (int i = 0; sinter_output(model, i, &io) == SINTER_OK; i++) {
        if (io.dtype && !npy_holds(io.dtype)) {
            set_error(err, SINTER_ERR_USAGE,
                "-o %s: output %s is of a type that .npz can't hold (%s)", path, show_name(io.name),
                dtype_name(io.dtype));
            set_hint(err, "-o DIR/ writes it as output_%d.pb", i);
            return err->code;
        }
    }
    return SINTER_OK;
}

static sinter_code write_outputs(Session *s, sinter_error *err)
{
    const char *path = s->args->output;
    if (!path)
        return SINTER_OK;
    bool folder = ends_with(path, "/") || is_folder(path);
    return folder ? write_folder(s, path, err) : write_archive(s, path, err);
}

/* ---- comparing ------------------------------------------------------------------------- */

/* Says where and by how much output i is off. */
static void tell_difference(const char *name, const Comparison *c, const sinter_tensor *e,
    const sinter_tensor *a)
{
    char want[64], got[64];
    if (c->problem) {
        fprintf(stderr, "sinter: output %s differs: %s\n", show_name(name), c->problem);
        return;
    }
    element_print(e->dtype, e->data, c->worst, 9, want);
    element_print(a->dtype, a->data, c->worst, 9, got);
    fprintf(stderr,
        "sinter: output %s differs in %lld of %lld elements; worst at %s: expected %s, got %s "
        "(max abs %.3g, max ULP %.0f)\n",
        show_name(name), (long long)c->differing, (long long)e->count, show_index(e, c->worst),
        want, got, c->max_abs, c->max_ulp);
}

/* Outputs are matched by position: names inside test data are often those of another export. */
static sinter_code compare_one(Session *s, const char *folder, int i, bool *same, sinter_error *err)
{
    sinter_value *expected;
    sinter_tensor e, a;
    Tolerance tolerance = {s->args->rtol, s->args->atol};
    if (value_read(cli_printf("%s/output_%d.pb", folder, i), &expected, NULL, err))
        return err->code;
    if (sinter_tensor_get(expected, &e) || sinter_tensor_get(s->main.output[i], &a)) {
        sinter_value_free(expected);
        return set_error(err, SINTER_ERR_UNSUPPORTED,
            "output %s is not a tensor: it can't be compared yet", show_name(output_name(s, i)));
    }
    Comparison c = compare_tensors(&e, &a, tolerance);
    if (!c.same) {
        tell_difference(output_name(s, i), &c, &e, &a);
        *same = false;
    }
    sinter_value_free(expected);
    return SINTER_OK;
}

/* A folder with too few or too many outputs belongs to another model: to compare the rest would say
 * "as expected" of something that nobody expected. */
static sinter_code compare_outputs(Session *s, bool *same, sinter_error *err)
{
    int *numbers = NULL;
    if (!s->args->expect)
        return SINTER_OK;
    const char *folder = data_set_folder(s->args->expect, "output");
    int n = data_set_files(folder, "output", &numbers);
    if (n <= 0)
        return set_error(err, SINTER_ERR_IO, "--expect %s: no folder with output_K.pb",
            s->args->expect);
    if (n != s->main.n_outputs || numbers[n - 1] != n - 1)
        return set_error(err, SINTER_ERR_INPUT,
            "--expect %s: %d files output_K.pb up to K = %d, but the model has %d outputs", folder,
            n, numbers[n - 1], s->main.n_outputs);
    for (int i = 0; i < n; i++)
        if (compare_one(s, folder, i, same, err))
            return err->code;
    if (*same)
        note("%d output%s as expected", n, n == 1 ? "" : "s");
    return SINTER_OK;
}

/* ---- telling --------------------------------------------------------------------------- */

static void print_rows(Session *s, Format format)
{
    static const char *const head[] = {"output", "dtype", "shape", "count", "min", "max", "mean"};
    sinter_tensor t;
    print_header(format, 7, head);
    for (int i = 0; i < s->main.n_outputs; i++)
        if (sinter_tensor_get(s->main.output[i], &t) == SINTER_OK)
            summary_row(output_name(s, i), &t, format);
}

/* The tensors themselves are not printed: -o is for that. */
static void print_json(Session *s, bool same, int top, const StrList *labels)
{
    json_t *o = session_line(s), *outputs = json_array();
    sinter_tensor t;
    json_put(o, "dims", inputs_dims_json(&s->inputs));
    for (int i = 0; i < s->main.n_outputs; i++)
        if (sinter_tensor_get(s->main.output[i], &t) == SINTER_OK)
            json_add(outputs, summary_json(output_name(s, i), &t, top, labels));
    json_put(o, "outputs", outputs);
    if (s->args->expect)
        json_put(o, "verdict", json_text(same ? "ok" : "differs"));
    json_print_line(o);
}

/* With -o the outputs are in files: stdout stays empty unless something was asked for. */
static void print_summary(Session *s, bool same, const StrList *labels)
{
    const Args *args = s->args;
    sinter_tensor t;
    int top = args->top ? args->top : labels->n ? 5 : 0;
    if (args->output && !args->format_given && !top)
        return;
    if (args->format == FORMAT_JSON) {
        print_json(s, same, top, labels);
    } else if (args->format != FORMAT_TEXT) {
        print_rows(s, (Format)args->format);
    } else {
        for (int i = 0; i < s->main.n_outputs; i++)
            if (sinter_tensor_get(s->main.output[i], &t) == SINTER_OK)
                summary_text(output_name(s, i), &t, top, labels);
    }
}

/* What can be wrong with the command line is found before the model is compiled. */
static sinter_code run_model(Session *s, bool *same, sinter_error *err)
{
    sinter_options options;
    StrList labels = {0};
    options_from_args(s->args, &options);
    if (labels_read(s->args->labels, &labels, err) || check_output_option(s->args, s->model, err))
        return err->code;
    if (session_inputs(s, err) || runner_open(s, &options, &s->main, err) ||
        runner_run(s, &s->main, err))
        return err->code;
    if (write_outputs(s, err) || compare_outputs(s, same, err))
        return err->code;
    print_summary(s, *same, &labels);
    return SINTER_OK;
}

int verb_run(const Args *args, sinter_error *err)
{
    Session s;
    bool same = true;
    sinter_code code = session_load(&s, args, args->models.at[0], err);
    if (!code)
        code = run_model(&s, &same, err);
    session_close(&s);
    return code ? -1 : same ? EXIT_OK : EXIT_DIFFERS;
}
