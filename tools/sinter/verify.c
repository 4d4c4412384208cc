/* verify.c: `sinter verify`: the compiled model against the reference, output by output. */
#include "element.h"
#include "json.h"
#include "reference.h"
#include "summary.h"
#include <stdio.h>
#include <string.h>

static const char *verdict_word(bool same) { return same ? "ok" : "differs"; }

/* The verdict first; then each output, with the place to look at if it differs. */
static void print_text(Session *s, const Judgement *j)
{
    printf("%s against the %s: %s\n", show_name(s->path), j->reference, verdict_word(j->same));
    for (int i = 0; i < j->n; i++) {
        const Verdict *v = &j->verdict[i];
        const Comparison *c = &v->comparison;
        if (c->problem) {
            printf("  %s: differs: %s\n", show_name(v->name), c->problem);
            continue;
        }
        printf("  %s: %s  max ULP %.0f, max abs %.3g", show_name(v->name), verdict_word(c->same),
            c->max_ulp, c->max_abs);
        if (!c->same)
            printf("; %lld elements differ, worst at %s: expected %s, got %s",
                (long long)c->differing, v->worst_index, v->expected, v->actual);
        putchar('\n');
    }
}

/* `worst` is there whenever anything differs at all, also inside the tolerance. */
static json_t *verdict_json(const Verdict *v)
{
    const Comparison *c = &v->comparison;
    json_t *o = json_object();
    json_put(o, "name", json_text(v->name));
    json_put(o, "dtype", json_text(dtype_name(v->dtype)));
    json_put(o, "shape", json_dims(v->rank, v->dim));
    json_put(o, "verdict", json_text(verdict_word(c->same)));
    json_put(o, "max_ulp", json_number(c->max_ulp));
    json_put(o, "max_abs", json_number(c->max_abs));
    json_put(o, "differing", json_whole(c->differing));
    if (c->problem)
        json_put(o, "problem", json_text(c->problem));
    if (*v->worst_index) {
        json_t *worst = json_object();
        json_put(worst, "index", json_text(v->worst_index));
        json_put(worst, "expected", json_text(v->expected));
        json_put(worst, "actual", json_text(v->actual));
        json_put(o, "worst", worst);
    }
    return o;
}

static void print_json(Session *s, const Judgement *j)
{
    json_t *o = session_line(s), *outputs = json_array();
    sinter_error ignored;
    json_t *report = runner_report(&s->main, &ignored);
    json_put(o, "isa", json_text(session_isa(s, report)));
    json_put(o, "threads", json_whole(session_threads(s, report)));
    json_put(o, "dims", inputs_dims_json(&s->inputs));
    json_put(o, "reference", json_text(j->reference));
    for (int i = 0; i < j->n; i++)
        json_add(outputs, verdict_json(&j->verdict[i]));
    json_put(o, "outputs", outputs);
    json_put(o, "max_ulp", json_number(j->max_ulp));
    json_put(o, "max_abs", json_number(j->max_abs));
    json_put(o, "verdict", json_text(verdict_word(j->same)));
    json_decref(report);
    json_print_line(o);
}

static void print_rows(Format format, const Judgement *j)
{
    static const char *const head[] = {"output", "verdict", "max_ulp", "max_abs", "differing",
        "worst"};
    print_header(format, 6, head);
    for (int i = 0; i < j->n; i++) {
        const Verdict *v = &j->verdict[i];
        const char *cell[] = {v->name,
            v->comparison.problem ? v->comparison.problem : verdict_word(v->comparison.same),
            cli_printf("%.0f", v->comparison.max_ulp), cli_printf("%.3g", v->comparison.max_abs),
            cli_printf("%lld", (long long)v->comparison.differing), v->worst_index};
        print_row(format, 6, cell);
    }
}

/* The verdict is the exit status; an error in between is none of either side. */
static int verify_one(const Args *args, const char *path, sinter_error *err)
{
    Session s;
    Judgement j = {0};
    sinter_options o;
    options_from_args(args, &o);
    if (session_load(&s, args, path, err) || session_inputs(&s, err) ||
        runner_open(&s, &o, &s.main, err) || runner_run(&s, &s.main, err) || judge(&s, &j, err)) {
        session_close(&s);
        return -1;
    }
    if (args->format == FORMAT_JSON)
        print_json(&s, &j);
    else if (args->format == FORMAT_TEXT)
        print_text(&s, &j);
    else
        print_rows((Format)args->format, &j);
    session_close(&s);
    return j.same ? EXIT_OK : EXIT_DIFFERS;
}

int verb_verify(const Args *args, sinter_error *err)
{
    return for_each_model(args, err, verify_one);
}
