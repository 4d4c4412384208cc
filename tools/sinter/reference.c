/* reference.c: see reference.h.
 *
 * The interpreter evaluates definitions directly and is the oracle. It is far slower than compiled
 * code, so for a model that would keep it busy for long the unfused scalar tier stands in, which
 * the tests hold equal to it.
 */
#include "reference.h"
#include "element.h"
#include "json.h"
#include <math.h>
#include <string.h>

/* An upper bound on multiplications: every weight or input element meets every element that is
 * computed. */
static double work_bound(Session *s)
{
    double elements = 0, inputs = 0;
    sinter_tensor t;
    const char *text = sinter_model_json(s->model);
    json_t *facts = text ? json_loads(text, 0, NULL) : NULL;
    sinter_error err;
    json_t *report = runner_report(&s->main, &err);
    json_t *unfused = json_object_get(report, "unfused");
    elements = json_get_number(json_object_get(unfused, "materialised"), "bytes", 0) / 4;
    for (int i = 0; i < s->inputs.n; i++)
        if (sinter_tensor_get(s->inputs.value[i], &t) == SINTER_OK)
            inputs += (double)t.count;
    for (int i = 0; i < s->main.n_outputs; i++)
        if (sinter_tensor_get(s->main.output[i], &t) == SINTER_OK)
            elements += (double)t.count;
    double weights = json_get_number(facts, "parameters", 0) + inputs;
    json_decref(facts);
    json_decref(report);
    return weights * elements;
}

/* The bound is some seconds of interpreting. */
static bool use_interpreter(Session *s)
{
    const char *asked = s->args->reference;
    return strcmp(asked, "auto") == 0 ? work_bound(s) <= 1e9 : strcmp(asked, "interp") == 0;
}

/* The texts are made now: the reference's outputs are gone when they are printed. */
static Verdict compare_output(Session *s, const Runner *reference, int i)
{
    sinter_tensor e = {0}, a = {0};
    Tolerance tolerance = {s->args->rtol, s->args->atol};
    char text[64];
    Verdict v = {.name = output_name(s, i), .expected = "", .actual = "", .worst_index = ""};
    if (sinter_tensor_get(reference->output[i], &e) || sinter_tensor_get(s->main.output[i], &a)) {
        v.comparison.problem = "not a tensor: it can't be compared yet";
        return v;
    }
    v.comparison = compare_tensors(&e, &a, tolerance);
    v.dtype = a.dtype;
    v.rank = a.rank;
    memcpy(v.dim, a.dim, sizeof v.dim);
    if (v.comparison.problem || v.comparison.worst < 0)
        return v;
    element_print(e.dtype, e.data, v.comparison.worst, 9, text);
    v.expected = cli_printf("%s", text);
    element_print(a.dtype, a.data, v.comparison.worst, 9, text);
    v.actual = cli_printf("%s", text);
    v.worst_index = show_index(&e, v.comparison.worst);
    return v;
}

static void compare_all(Session *s, const Runner *reference, Judgement *j)
{
    j->same = true;
    j->n = s->main.n_outputs;
    j->verdict = cli_alloc(sizeof *j->verdict * (size_t)j->n);
    for (int i = 0; i < j->n; i++) {
        j->verdict[i] = compare_output(s, reference, i);
        const Comparison *c = &j->verdict[i].comparison;
        j->same = j->same && c->same;
        j->max_ulp = fmax(j->max_ulp, c->max_ulp);
        j->max_abs = fmax(j->max_abs, c->max_abs);
    }
}

/* Nothing that was asked for the program under test may bend the reference: no disabled pass, no
 * dump. */
sinter_code judge(Session *s, Judgement *j, sinter_error *err)
{
    Runner reference;
    sinter_options o;
    memset(j, 0, sizeof *j);
    bool interpreter = use_interpreter(s);
    options_from_args(s->args, &o);
    o.opt_level = interpreter ? 0 : 1;
    o.fuse = 0;
    o.disable_pass = NULL;
    o.print_after = o.dump_dir = NULL;
    o.log = NULL;
    j->reference = interpreter ? "interpreter" : "scalar unfused";
    if (runner_open(s, &o, &reference, err))
        return err->code;
    if (runner_run(s, &reference, err) == SINTER_OK)
        compare_all(s, &reference, j);
    runner_close(&reference);
    return err->code;
}
