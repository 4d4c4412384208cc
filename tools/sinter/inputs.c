/* inputs.c: see inputs.h.
 *
 * First every input gets a source, the last --input for it winning; files are read at once, as
 * their shapes fix dims. Then the symbolic dims are solved from --dim, --shape, the files and the
 * lengths of number lists. What is still unknown is 1, and what has no file is made in the shape
 * that came out.
 */
#include "inputs.h"
#include "element.h"
#include "file.h"
#include "generate.h"
#include "json.h"
#include "npy.h"
#include "spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Input i while the values are made. */
typedef struct Source {
    enum { FROM_NOTHING, FROM_FILE, FROM_RAND, FROM_LIST } kind;
    Spec spec;
    int rank;                     /* -1: unknown */
    int64_t dim[SINTER_MAX_RANK]; /* -1: unknown, not even a symbol */
} Source;

typedef struct Making {
    const Args *args;
    Inputs *in;
    Source *source;
    sinter_error *err;
} Making;

/* ---- names -------------------------------------------------------------------------------- */

/* Models have few inputs: no table is worth its lines. */
static int find_input(const Inputs *in, const char *name)
{
    for (int i = 0; i < in->n; i++)
        if (strcmp(in->io[i].name, name) == 0)
            return i;
    return -1;
}

/* NULL also for a dim without a name. */
static DimBinding *find_dim(const Inputs *in, const char *name)
{
    for (int i = 0; name && i < in->n_dims; i++)
        if (strcmp(in->dims[i].name, name) == 0)
            return &in->dims[i];
    return NULL;
}

/* "no input x"; the hint proposes the nearest name, or lists what there is. */
static sinter_code unknown_name(sinter_error *err, const char *option, const char *what,
    const char *name, const StrList *known)
{
    const char *near = nearest(name, known), *all = "";
    set_error(err, SINTER_ERR_INPUT, "%s: the model has no %s %s", option, what, show_name(name));
    snprintf(err->tensor, sizeof err->tensor, "%s", name);
    for (int i = 0; i < known->n && i < 12; i++)
        all = cli_printf("%s%s%s", all, i ? ", " : "", show_name(known->at[i]));
    if (near)
        set_hint(err, "did you mean %s?", show_name(near));
    else
        set_hint(err, known->n ? "it has: %s" : "it has none%s", all);
    return err->code;
}

/* The names are collected only when one is wrong. */
static sinter_code input_by_name(Making *m, const char *option, const char *name, int *i)
{
    StrList known = {0};
    *i = find_input(m->in, name);
    if (*i >= 0)
        return SINTER_OK;
    for (int k = 0; k < m->in->n; k++)
        list_add(&known, m->in->io[k].name);
    return unknown_name(m->err, option, "input", name, &known);
}

/* Input number k of those that are not initializers too, or -1. */
static int input_by_position(const Inputs *in, int k)
{
    for (int i = 0; i < in->n; i++)
        if (!in->io[i].optional && k-- == 0)
            return i;
    return -1;
}

/* ---- sources ------------------------------------------------------------------------------ */

/* The library knows no file here: its message gets the path in front. */
sinter_code value_read(const char *path, sinter_value **value, const char **name, sinter_error *err)
{
    char *bytes, message[sizeof err->message];
    size_t n;
    if (file_read(path, &bytes, &n, err))
        return err->code;
    sinter_code code = sinter_value_parse(bytes, n, value, name, err);
    free(bytes);
    if (code) {
        snprintf(message, sizeof message, "%s", err->message);
        snprintf(err->message, sizeof err->message, "%s: %.1500s", show_name(path), message);
    }
    return code;
}

/* A later source replaces an earlier one: the last wins. */
static void set_value(Making *m, int i, sinter_value *value)
{
    sinter_value_free(m->in->value[i]);
    m->in->value[i] = value;
    m->source[i].kind = value ? FROM_FILE : FROM_NOTHING;
}

/* Exporters disagree on the names inside test data; the position always says which input is meant.
 */
static sinter_code add_set_file(Making *m, const char *folder, int k)
{
    sinter_value *value;
    const char *name, *path = cli_printf("%s/input_%d.pb", folder, k);
    if (value_read(path, &value, &name, m->err))
        return m->err->code;
    int i = name && *name ? find_input(m->in, name) : -1;
    if (i < 0)
        i = input_by_position(m->in, k);
    if (i < 0) {
        set_error(m->err, SINTER_ERR_INPUT,
            "%s holds the tensor %s, but the model has no such input and no input number %d",
            show_name(path), show_name(name ? name : ""), k);
        sinter_value_free(value);
        return m->err->code;
    }
    set_value(m, i, value);
    return SINTER_OK;
}

/* A data set without inputs is right for a model without inputs: then it must at least have
 * outputs. */
static sinter_code add_folder(Making *m, const char *path)
{
    int *numbers = NULL, n = data_set_files(path, "input", &numbers);
    if (n <= 0) {
        path = data_set_folder(path, "input");
        n = data_set_files(path, "input", &numbers);
    }
    if (n < 0)
        return set_error(m->err, SINTER_ERR_IO, "can't read the folder %s", show_name(path));
    if (n == 0 && data_set_files(path, "output", &numbers) == 0)
        return set_error(m->err, SINTER_ERR_IO, "%s holds no input_K.pb and no test_data_set_0",
            show_name(path));
    for (int j = 0; j < n; j++)
        if (add_set_file(m, path, numbers[j]))
            return m->err->code;
    return SINTER_OK;
}

/* Takes one --input. Files are read now, as their shapes take part in solving the dims. */
static sinter_code add_spec(Making *m, const char *text)
{
    Spec spec;
    sinter_value *value = NULL;
    int i;
    if (spec_parse(text, &spec, m->err))
        return m->err->code;
    if (spec.kind == SPEC_FOLDER)
        return add_folder(m, spec.path);
    if (input_by_name(m, cli_printf("--input %s", text), spec.name, &i))
        return m->err->code;
    if (spec.kind == SPEC_NPY)
        npy_read(spec.path, &value, m->err);
    else if (spec.kind == SPEC_PB)
        value_read(spec.path, &value, NULL, m->err);
    else if (spec.kind == SPEC_NPZ)
        npz_read(spec.path, spec.key, spec.name, &value, m->err);
    set_value(m, i, value);
    if (spec.kind == SPEC_RAND || spec.kind == SPEC_LIST) {
        m->source[i].kind = spec.kind == SPEC_RAND ? FROM_RAND : FROM_LIST;
        m->source[i].spec = spec;
        return SINTER_OK;
    }
    return value ? SINTER_OK : m->err->code;
}

/* ---- dims --------------------------------------------------------------------------------- */

/* A --dim or --shape must not contradict anything. Two files may: whether the model really needs
 * their dims to be equal is for sinter_run to say. */
static sinter_code bind_dim(Making *m, DimBinding *d, int64_t size, int how, const char *by)
{
    if (d->how >= DIM_FROM_INPUT && d->size != size && (how == DIM_GIVEN || d->how == DIM_GIVEN))
        return set_error(m->err, SINTER_ERR_INPUT,
            "%s makes the dim %s %lld, but it is already %lld", by, show_name(d->name),
            (long long)size, (long long)d->size);
    if ((int)d->how < how) {
        d->size = size;
        d->how = how;
    }
    return SINTER_OK;
}

/* A name that no input has would have no effect: more likely it is mistyped. */
static sinter_code apply_dim_option(Making *m, const char *text)
{
    const char *name;
    int64_t size;
    StrList known = {0};
    if (dim_parse(text, &name, &size, m->err))
        return m->err->code;
    DimBinding *d = find_dim(m->in, name);
    if (d) { /* of several the last wins */
        d->size = size;
        d->how = DIM_GIVEN;
        return SINTER_OK;
    }
    for (int i = 0; i < m->in->n_dims; i++)
        list_add(&known, m->in->dims[i].name);
    return unknown_name(m->err, cli_printf("--dim %s", text), "symbolic dim", name, &known);
}

/* Takes a whole shape for input i. Static dims are the model's word. */
static sinter_code bind_shape(Making *m, int i, int rank, const int64_t *dim, int how,
    const char *by)
{
    const sinter_io *io = &m->in->io[i];
    Source *s = &m->source[i];
    bool fits = io->rank < 0 || io->rank == rank;
    for (int k = 0; fits && k < rank && io->rank >= 0; k++)
        fits = io->dim[k] < 0 || io->dim[k] == dim[k];
    if (!fits) {
        set_error(m->err, SINTER_ERR_INPUT,
            "%s: input %s can't have the shape %s: the model declares %s", by, show_name(io->name),
            show_shape(rank, dim), show_io_shape(io));
        snprintf(m->err->tensor, sizeof m->err->tensor, "%s", io->name);
        return m->err->code;
    }
    s->rank = rank;
    for (int k = 0; k < rank; k++) {
        DimBinding *d = io->rank >= 0 ? find_dim(m->in, io->dim_name[k]) : NULL;
        s->dim[k] = dim[k];
        if (d && io->dim[k] < 0 && bind_dim(m, d, dim[k], how, by))
            return m->err->code;
    }
    return SINTER_OK;
}

/* Symbols get their sizes from --shape with the authority of --dim. */
static sinter_code apply_shape_option(Making *m, const char *text)
{
    ShapeSpec shape;
    int i;
    const char *by = cli_printf("--shape %s", text);
    if (shape_parse(text, &shape, m->err) || input_by_name(m, by, shape.name, &i))
        return m->err->code;
    return bind_shape(m, i, shape.rank, shape.dim, DIM_GIVEN, by);
}

/* A file's shape. One that does not fit the model is left to sinter_run, which names what it
 * wanted; one that does not fit --shape is said here. */
static sinter_code apply_file_shape(Making *m, int i)
{
    sinter_tensor t;
    const sinter_io *io = &m->in->io[i];
    const Source *s = &m->source[i];
    if (sinter_tensor_get(m->in->value[i], &t))
        return SINTER_OK;
    bool shaped = s->rank >= 0 && m->args->shapes.n, same = s->rank == t.rank;
    for (int k = 0; same && k < t.rank; k++)
        same = s->dim[k] < 0 || s->dim[k] == t.dim[k];
    if (shaped && !same)
        return set_error(m->err, SINTER_ERR_INPUT,
            "the value given for input %s has the shape %s, not %s", show_name(io->name),
            show_shape(t.rank, t.dim), show_shape(s->rank, s->dim));
    if (io->rank != t.rank)
        return SINTER_OK;
    for (int k = 0; k < t.rank; k++) {
        DimBinding *d = io->dim[k] < 0 ? find_dim(m->in, io->dim_name[k]) : NULL;
        if (d &&
            bind_dim(m, d, t.dim[k], DIM_FROM_INPUT,
                cli_printf("the value of input %s", show_name(io->name))))
            return m->err->code;
    }
    return SINTER_OK;
}

/* Fills in what the symbols say by now; returns how many dims stay unknown, *last being one of
 * them. */
static int resolve(Making *m, int i, int *last)
{
    const sinter_io *io = &m->in->io[i];
    Source *s = &m->source[i];
    int unknown = 0;
    for (int k = 0; k < s->rank; k++) {
        DimBinding *d = io->rank == s->rank ? find_dim(m->in, io->dim_name[k]) : NULL;
        if (s->dim[k] < 0 && d && d->how != DIM_UNKNOWN)
            s->dim[k] = d->size;
        if (s->dim[k] < 0) {
            unknown++;
            *last = k;
        }
    }
    return unknown;
}

/* A list of numbers fixes one unknown dim by its length. A single number fits every shape: it fills
 * it. */
static sinter_code apply_list_length(Making *m, int i)
{
    Source *s = &m->source[i];
    int last = 0, n = s->spec.numbers.n;
    int64_t known = 1;
    if (s->rank < 0) {
        s->rank = n > 1;
        s->dim[0] = n;
        return SINTER_OK;
    }
    if (n == 1 || resolve(m, i, &last) != 1)
        return SINTER_OK;
    for (int k = 0; k < s->rank; k++)
        if (s->dim[k] >= 0 && __builtin_mul_overflow(known, s->dim[k], &known))
            return SINTER_OK;
    if (known == 0 || n % known)
        return SINTER_OK; /* the count is checked when the value is made */
    s->dim[last] = n / known;
    DimBinding *d = find_dim(m->in, m->in->io[i].dim_name[last]);
    return d ? bind_dim(m, d, s->dim[last], DIM_FROM_INPUT, "a list") : SINTER_OK;
}

/* Dims that nothing fixes are 1; said once for all of them. */
static void apply_defaults(Making *m)
{
    const char *said = "";
    for (int i = 0; i < m->in->n_dims; i++) {
        DimBinding *d = &m->in->dims[i];
        if (d->how != DIM_UNKNOWN)
            continue;
        d->how = DIM_DEFAULT;
        d->size = 1;
        said = cli_printf("%s%s%s=1", said, *said ? ", " : "", show_name(d->name));
    }
    if (*said)
        note("dims not given: %s (--dim NAME=N sets them)", said);
    for (int i = 0, last; i < m->in->n; i++) {
        if (m->in->io[i].optional && m->source[i].kind == FROM_NOTHING)
            continue;
        if (m->in->value[i] || resolve(m, i, &last) == 0)
            continue;
        for (int k = 0; k < m->source[i].rank; k++)
            if (m->source[i].dim[k] < 0)
                m->source[i].dim[k] = 1;
        note("dims of input %s that have no name are 1 (--shape %s:... sets them)",
            show_name(m->in->io[i].name), m->in->io[i].name);
    }
}

/* From what the user wrote to what follows from it: contradictions are then told in the user's
 * words. */
static sinter_code solve_dims(Making *m)
{
    for (int i = 0; i < m->args->dims.n; i++)
        if (apply_dim_option(m, m->args->dims.at[i]))
            return m->err->code;
    for (int i = 0; i < m->args->shapes.n; i++)
        if (apply_shape_option(m, m->args->shapes.at[i]))
            return m->err->code;
    for (int i = 0; i < m->in->n; i++)
        if (m->in->value[i] && apply_file_shape(m, i))
            return m->err->code;
    for (int i = 0; i < m->in->n; i++)
        if (m->source[i].kind == FROM_LIST && apply_list_length(m, i))
            return m->err->code;
    apply_defaults(m);
    return SINTER_OK;
}

/* ---- values ------------------------------------------------------------------------------- */

/* One number fills the whole input: masks and zeros of any size. */
static sinter_code fill_list(Making *m, int i, const sinter_tensor *t)
{
    const StrList *numbers = &m->source[i].spec.numbers;
    const char *name = show_name(m->in->io[i].name);
    if (numbers->n != 1 && numbers->n != t->count)
        return set_error(m->err, SINTER_ERR_INPUT,
            "%d numbers for input %s, whose shape %s holds %lld", numbers->n, name,
            show_shape(t->rank, t->dim), (long long)t->count);
    for (int64_t k = 0; k < t->count; k++) {
        const char *word = numbers->at[numbers->n == 1 ? 0 : k];
        if (!element_parse(t->dtype, t->data, k, word))
            return set_error(m->err, SINTER_ERR_INPUT, "%s for input %s is not a value of type %s",
                word, name, dtype_name(t->dtype));
    }
    return SINTER_OK;
}

/* Made-up numbers are said on stderr, those asked for (rand:, lists) are not. */
static sinter_code fill(Making *m, int i, const sinter_tensor *t)
{
    const sinter_io *io = &m->in->io[i];
    const Source *s = &m->source[i];
    double lo = s->spec.lo, hi = s->spec.hi;
    uint64_t seed = s->spec.seed;
    if (s->kind == FROM_LIST)
        return fill_list(m, i, t);
    if (s->kind == FROM_NOTHING) {
        default_range(t->dtype, &lo, &hi);
        seed = m->args->seed;
        note("input %s not given: %s %s of random numbers, seed %llu", show_name(io->name),
            dtype_name(t->dtype), show_shape(t->rank, t->dim), (unsigned long long)seed);
    }
    generate(t, io->name, seed, lo, hi);
    return SINTER_OK;
}

/* What has neither a rank nor a length can't be made up. */
static sinter_code make_value(Making *m, int i)
{
    const sinter_io *io = &m->in->io[i];
    const Source *s = &m->source[i];
    sinter_tensor t;
    if (m->in->value[i] || (io->optional && s->kind == FROM_NOTHING))
        return SINTER_OK;
    if (s->rank < 0 || dtype_size(io->dtype) == 0) {
        set_error(m->err, SINTER_ERR_INPUT, "input %s must be given: the model fixes neither %s",
            show_name(io->name),
            s->rank < 0 ? "its rank nor its dims" : "its values nor their lengths");
        set_hint(m->err,
            s->rank < 0 ? "--shape NAME:1x3x8 gives the shape, --input NAME=@FILE the value"
                        : "--input NAME=@FILE.pb gives it");
        return m->err->code;
    }
    if (sinter_tensor_new(io->dtype, s->rank, s->dim, NULL, 0, &m->in->value[i], m->err))
        return m->err->code;
    sinter_tensor_get(m->in->value[i], &t);
    return fill(m, i, &t);
}

/* ---- the whole ---------------------------------------------------------------------------- */

/* The inputs as the model declares them, and the distinct symbols of their dims. */
static void collect(const sinter_model *model, Making *m)
{
    Inputs *in = m->in;
    in->n = sinter_input_count(model);
    in->io = cli_alloc(sizeof *in->io * (size_t)in->n);
    in->value = cli_alloc(sizeof *in->value * (size_t)in->n);
    in->dims = cli_alloc(sizeof *in->dims * (size_t)in->n * SINTER_MAX_RANK);
    m->source = cli_alloc(sizeof *m->source * (size_t)in->n);
    for (int i = 0; i < in->n; i++) {
        sinter_io *io = &in->io[i];
        sinter_input(model, i, io);
        m->source[i].rank = io->rank;
        for (int k = 0; k < io->rank; k++) {
            m->source[i].dim[k] = io->dim[k];
            if (io->dim[k] < 0 && io->dim_name[k] && !find_dim(in, io->dim_name[k]))
                in->dims[in->n_dims++].name = io->dim_name[k];
        }
    }
}

/* Three stages, each on all inputs, since a dim may be known from any of them. */
sinter_code inputs_make(const Args *args, const sinter_model *model, Inputs *in, sinter_error *err)
{
    Making m = {.args = args, .in = in, .err = err};
    memset(in, 0, sizeof *in);
    collect(model, &m);
    err->code = SINTER_OK;
    for (int i = 0; i < args->inputs.n && !err->code; i++)
        add_spec(&m, args->inputs.at[i]);
    if (!err->code)
        solve_dims(&m);
    for (int i = 0; i < in->n && !err->code; i++)
        make_value(&m, i);
    return err->code;
}

void inputs_free(Inputs *in)
{
    for (int i = 0; i < in->n; i++)
        sinter_value_free(in->value[i]);
    in->n = 0;
}

const char *show_io_shape(const sinter_io *io)
{
    const char *s = "[";
    if (io->rank < 0)
        return "of unknown rank";
    for (int k = 0; k < io->rank; k++) {
        const char *name = io->dim_name[k] ? show_name(io->dim_name[k]) : "?";
        const char *dim = io->dim[k] >= 0 ? cli_printf("%lld", (long long)io->dim[k]) : name;
        s = cli_printf("%s%s%s", s, k ? ", " : "", dim);
    }
    return cli_printf("%s]", s);
}

json_t *inputs_dims_json(const Inputs *in)
{
    json_t *o = json_object();
    for (int i = 0; i < in->n_dims; i++)
        json_put(o, in->dims[i].name, json_whole(in->dims[i].size));
    return o;
}
