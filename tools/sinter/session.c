/* session.c: see session.h. */
#include "session.h"
#include "file.h"
#include "json.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The library's texts may be whole dumps, with line ends of their own. */
static void log_line(void *user, int level, const char *text)
{
    (void)user;
    (void)level;
    size_t n = strlen(text);
    fprintf(stderr, "%s%s", text, n && text[n - 1] == '\n' ? "" : "\n");
}

/* --print-after is a wish for output: -q does not take it back. */
void options_from_args(const Args *args, sinter_options *o)
{
    sinter_options_init(o);
    o->opt_level = args->opt_level;
    o->threads = args->threads;
    o->fuse = args->fuse;
    o->strict = args->strict;
    o->isa = args->isa;
    o->seed = args->seed;
    o->max_memory = args->max_memory;
    o->disable_pass = args->disable_pass.n ? args->disable_pass.at : NULL;
    o->keep = args->keep.n ? args->keep.at : NULL;
    o->dump_dir = args->dump;
    o->print_after = args->print_after;
    o->log_level = args->verbose;
    if (!args->quiet || args->print_after)
        o->log = log_line;
}

/* All problems go out at once, then only the code is left. */
static sinter_code tell_problems(Session *s, sinter_error *err)
{
    if (err->code == SINTER_ERR_UNSUPPORTED && s->model) {
        report_problems(s->model, err, (Format)s->args->format);
        err->message[0] = 0;
    }
    return err->code;
}

/* load_ms is measured here and compile_ms in runner_open, so that making inputs is in neither. */
sinter_code session_load(Session *s, const Args *args, const char *path, sinter_error *err)
{
    sinter_options o;
    memset(s, 0, sizeof *s);
    s->args = args;
    s->path = path;
    if (args->dump && folder_make(args->dump, err))
        return err->code;
    options_from_args(args, &o);
    double start = now_ms();
    sinter_load_file(path, &o, &s->model, err);
    s->load_ms = now_ms() - start;
    return s->model ? SINTER_OK : err->code;
}

sinter_code session_inputs(Session *s, sinter_error *err)
{
    sinter_error problem;
    if (sinter_model_problem(s->model, 0, &problem) ==
        SINTER_OK) { /* before inputs are asked for in vain */
        set_error(err, problem.code, "%s: sinter can't compile this model", show_name(s->path));
        return tell_problems(s, err);
    }
    return inputs_make(s->args, s->model, &s->inputs, err);
}

void session_close(Session *s)
{
    runner_close(&s->main);
    inputs_free(&s->inputs);
    sinter_model_free(s->model);
    s->model = NULL;
}

/* "name=8" for each symbolic dim: the program is made for the sizes it is about to run at. */
static const char *const *dim_hints(const Inputs *in)
{
    const char **list = cli_alloc(sizeof *list * (size_t)(in->n_dims + 1));
    for (int i = 0; i < in->n_dims; i++)
        list[i] = cli_printf("%s=%lld", in->dims[i].name, (long long)in->dims[i].size);
    return list;
}

/* A model that is found unsupported only now lists its problems as one found at load. */
sinter_code runner_open(Session *s, const sinter_options *options, Runner *r, sinter_error *err)
{
    memset(r, 0, sizeof *r);
    sinter_options sized = *options;
    sized.dims = dim_hints(&s->inputs);
    double start = now_ms();
    if (sinter_compile(s->model, &sized, &r->program, err))
        return tell_problems(s, err);
    if (sinter_context_new(r->program, &r->context, err)) {
        runner_close(r);
        return err->code;
    }
    r->compile_ms = now_ms() - start;
    r->n_outputs = sinter_output_count(s->model);
    r->output = cli_alloc(sizeof *r->output * (size_t)r->n_outputs);
    return SINTER_OK;
}

/* NULL outputs: the context keeps the memory, so repeated runs allocate nothing. */
sinter_code runner_run(Session *s, Runner *r, sinter_error *err)
{
    memset(r->output, 0, sizeof *r->output * (size_t)r->n_outputs);
    return sinter_run(r->context, (const sinter_value *const *)s->inputs.value, s->inputs.n,
        r->output, r->n_outputs, err);
}

void runner_close(Runner *r)
{
    sinter_context_free(r->context);
    sinter_program_free(r->program);
    memset(r, 0, sizeof *r);
}

/* The library's text must parse: anything else is a bug of ours and said so. */
json_t *runner_report(const Runner *r, sinter_error *err)
{
    char *text;
    json_error_t where;
    if (sinter_report(r->program, r->context, &text, err))
        return NULL;
    json_t *o = json_loads(text, 0, &where);
    sinter_text_free(text);
    if (!json_is_object(o)) {
        json_decref(o);
        set_error(err, SINTER_ERR_INTERNAL, "the report is not JSON: %s", where.text);
        return NULL;
    }
    return o;
}

json_t *session_line(const Session *s)
{
    json_t *o = json_object();
    json_put(o, "schema", json_whole(1));
    json_put(o, "model", json_text(s->path));
    json_put(o, "version", json_text(sinter_version()));
    return o;
}

const char *session_isa(const Session *s, const json_t *report)
{
    return json_get_text(report, "isa", s->args->isa ? s->args->isa : "auto");
}

/* Without the library's word, what affinity allows is the nearest guess. */
int session_threads(const Session *s, const json_t *report)
{
    cpu_set_t set;
    int asked = s->args->threads;
    if (asked == 0 && sched_getaffinity(0, sizeof set, &set) == 0)
        asked = CPU_COUNT(&set);
    return (int)json_get_number(report, "threads", asked);
}

const char *output_name(const Session *s, int i)
{
    sinter_io io;
    return sinter_output(s->model, i, &io) ? "" : io.name;
}

/* Errors weigh more than differences: those of a later model must not hide one of an earlier. */
static int gravity(int status)
{
    static const int order[] = {EXIT_OK, EXIT_DIFFERS, EXIT_UNSUPPORTED, EXIT_ERROR, EXIT_USAGE};
    for (int i = 0; i < 5; i++)
        if (order[i] == status)
            return i;
    return 5;
}

/* One bad model does not keep the others from being looked at. */
int for_each_model(const Args *args, sinter_error *err,
    int (*work)(const Args *, const char *path, sinter_error *))
{
    int worst = EXIT_OK;
    for (int i = 0; i < args->models.n; i++) {
        memset(err, 0, sizeof *err);
        int status = work(args, args->models.at[i], err);
        if (status < 0) /* an empty message: the problems have been listed already */
            status = err->message[0] ? report_error(err, (Format)args->format) : exit_of(err->code);
        if (gravity(status) > gravity(worst))
            worst = status;
    }
    return worst;
}
