/* report.c: `sinter report`: the account of fusion, with measured times and the verdict on the same
 * line. */
#include "baseline.h"
#include "json.h"
#include "reference.h"
#include "summary.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Blocks long enough that a sleeping worker's wake-up is not in the minimum. */
static const double BLOCK_MS = 20, BOUND_MS = 1000;

typedef struct Measured {
    bool ran;
    double min_ms, min_ms_unfused;
    Judgement judgement;
} Measured;

/* Runs for a block of time and keeps the least. */
static sinter_code time_block(Session *s, Runner *r, double *least, sinter_error *err)
{
    double start = now_ms(), last = start;
    do {
        if (runner_run(s, r, err))
            return err->code;
        double t = now_ms();
        *least = fmin(*least, t - last);
        last = t;
    } while (last - start < BLOCK_MS);
    return SINTER_OK;
}

/* Alternating blocks: a machine that slows down meanwhile slows both. */
static sinter_code time_both(Session *s, Runner *unfused, Measured *m, sinter_error *err)
{
    double start = now_ms();
    m->min_ms = m->min_ms_unfused = INFINITY;
    do {
        if (time_block(s, &s->main, &m->min_ms, err))
            return err->code;
        if (unfused && time_block(s, unfused, &m->min_ms_unfused, err))
            return err->code;
    } while (now_ms() - start < BOUND_MS);
    if (!unfused)
        m->min_ms_unfused = m->min_ms;
    return SINTER_OK;
}

/* The verdict comes last: it compares the outputs of the last fused run. */
static sinter_code measure(Session *s, Measured *m, sinter_error *err)
{
    sinter_options o;
    Runner unfused = {0};
    bool can_fuse = s->args->fuse && s->args->opt_level >= 2;
    options_from_args(s->args, &o);
    o.fuse = 0;
    o.print_after = o.dump_dir = NULL;
    if (can_fuse && runner_open(s, &o, &unfused, err))
        return err->code;
    time_both(s, can_fuse ? &unfused : NULL, m, err);
    runner_close(&unfused);
    if (!err->code)
        judge(s, &m->judgement, err);
    m->ran = !err->code;
    return err->code;
}

/* A count without a verdict is not reported, so there is always a word. */
static const char *verdict_word(const Measured *m)
{
    return !m->ran ? "not run" : m->judgement.same ? "ok" : "differs";
}

/* The contract's object: the library's facts, with what was measured before the long list of edges.
 */
static json_t *report_json(Session *s, const Measured *m, const json_t *facts)
{
    const char *key;
    json_t *value, *o = session_line(s);
    json_put(o, "isa", json_text(session_isa(s, facts)));
    json_put(o, "dims", inputs_dims_json(&s->inputs));
    json_put(o, "threads", json_whole(session_threads(s, facts)));
    json_object_foreach((json_t *)facts, key, value) if (strcmp(key, "edges") != 0 &&
        !json_object_get(o, key)) json_put(o, key, json_incref(value));
    if (!json_object_get(o, "compile_ms"))
        json_put(o, "compile_ms", json_number(s->main.compile_ms));
    if (m->ran) {
        json_put(o, "min_ms", json_number(m->min_ms));
        json_put(o, "min_ms_unfused", json_number(m->min_ms_unfused));
        json_put(o, "max_ulp", json_number(m->judgement.max_ulp));
        json_put(o, "max_abs", json_number(m->judgement.max_abs));
        json_put(o, "reference", json_text(m->judgement.reference));
    } else {
        for (int i = 0; i < 4; i++)
            json_put(o, (const char *const[]){"min_ms", "min_ms_unfused", "max_ulp", "max_abs"}[i],
                json_null());
    }
    json_put(o, "verdict", json_text(verdict_word(m)));
    value = json_object_get(facts, "edges");
    json_put(o, "edges", value ? json_incref(value) : json_array());
    return o;
}

/* Bytes of a value list, for people. */
static const char *show_bytes(double bytes)
{
    static const char *const unit[] = {"B", "KB", "MB", "GB"};
    int u = 0;
    for (; bytes >= 1024 && u < 3; u++)
        bytes /= 1024;
    return cli_printf(u ? "%.1f %s" : "%.0f %s", bytes, unit[u]);
}

/* The edges that were fused away are many and good: only the others are told. */
static void print_edges(const json_t *report)
{
    size_t i;
    json_t *e;
    json_array_foreach(json_object_get(report, "edges"), i, e)
    {
        if (strcmp(json_get_text(e, "fate", ""), "materialised") != 0)
            continue;
        const char *unlock = json_get_text(e, "unlock", "");
        printf("  %s -> %s: %s, %s%s%s\n", show_name(json_get_text(e, "from", "")),
            show_name(json_get_text(e, "to", "")), json_get_text(e, "reason", ""),
            show_bytes(json_get_number(e, "bytes", 0)), *unlock ? "; " : "", unlock);
    }
}

/* Fused and unfused beside each other: a count means nothing alone. */
static void print_text(Session *s, const Measured *m, const json_t *r)
{
    const json_t *unfused = json_object_get(r, "unfused"),
                 *stored = json_object_get(r, "materialised");
    const json_t *stored_unfused = json_object_get(unfused, "materialised");
    printf("%s\n  nodes        %.0f imported, %.0f after passes\n", show_name(s->path),
        json_get_number(r, "nodes_imported", 0), json_get_number(r, "nodes_final", 0));
    printf("  launches     %.0f (unfused %.0f): %.0f groups, %.0f library calls, "
           "%.0f unique kernels, %.0f loop nests\n",
        json_get_number(r, "launches", 0), json_get_number(unfused, "launches", 0),
        json_get_number(r, "groups", 0), json_get_number(r, "library_calls", 0),
        json_get_number(r, "unique_kernels", 0), json_get_number(r, "loop_nests", 0));
    printf("  materialised %.0f values, %s (unfused %.0f, %s)\n",
        json_get_number(stored, "count", 0), show_bytes(json_get_number(stored, "bytes", 0)),
        json_get_number(stored_unfused, "count", 0),
        show_bytes(json_get_number(stored_unfused, "bytes", 0)));
    printf("  arena        %s (bound %s)\n", show_bytes(json_get_number(r, "arena_bytes", 0)),
        show_bytes(json_get_number(r, "arena_bound_bytes", 0)));
    printf("  compiled in  %.2f ms\n", json_get_number(r, "compile_ms", 0));
    if (m->ran)
        printf("  run          %.4f ms (unfused %.4f ms), %.0f threads\n"
               "  verdict      %s: max ULP %.0f, max abs %.3g "
               "against the %s\n",
            m->min_ms, m->min_ms_unfused, json_get_number(r, "threads", 0), verdict_word(m),
            m->judgement.max_ulp, m->judgement.max_abs, m->judgement.reference);
    else
        printf("  verdict      not run\n");
    print_edges(r);
}

static const char *const columns[] = {"model", "nodes_imported", "nodes_final", "groups",
    "launches", "launches_unfused", "materialised", "bytes", "materialised_unfused",
    "bytes_unfused", "arena_bytes", "compile_ms", "min_ms", "min_ms_unfused", "max_ulp", "max_abs",
    "verdict"};
enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *cell_of(const json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);
    return json_is_number(v) ? cli_printf("%.6g", json_number_value(v))
        : json_is_string(v)  ? json_string_value(v)
                             : "";
}

static const char *count_cell(const json_t *o, const char *key)
{
    return cli_printf("%.0f", json_get_number(o, key, 0));
}

/* Tables hold the numbers only; edges and reasons are for JSON and text. */
static void print_table_row(Session *s, Format format, const json_t *r)
{
    const json_t *unfused = json_object_get(r, "unfused"),
                 *stored = json_object_get(r, "materialised");
    const json_t *stored_unfused = json_object_get(unfused, "materialised");
    const char *cell[COLUMNS] = {show_name(s->path), count_cell(r, "nodes_imported"),
        count_cell(r, "nodes_final"), count_cell(r, "groups"), count_cell(r, "launches"),
        count_cell(unfused, "launches"), count_cell(stored, "count"), count_cell(stored, "bytes"),
        count_cell(stored_unfused, "count"), count_cell(stored_unfused, "bytes"),
        count_cell(r, "arena_bytes"), cell_of(r, "compile_ms"), cell_of(r, "min_ms"),
        cell_of(r, "min_ms_unfused"), cell_of(r, "max_ulp"), cell_of(r, "max_abs"),
        cell_of(r, "verdict")};
    print_row(format, COLUMNS, cell);
}

static void print_report(Session *s, const Measured *m, json_t *r)
{
    Format format = (Format)s->args->format;
    if (format == FORMAT_JSON)
        json_print_line(json_incref(r));
    else if (format == FORMAT_TEXT)
        print_text(s, m, r);
    else
        print_table_row(s, format, r);
}

/* The report of a compiled and perhaps measured session; *same becomes false for exit 3. */
static sinter_code tell(Session *s, const Measured *m, bool *same, sinter_error *err)
{
    const Args *args = s->args;
    json_t *facts = runner_report(&s->main, err);
    if (!facts)
        return err->code;
    json_t *r = report_json(s, m, facts);
    print_report(s, m, r);
    if (args->check && baseline_check(args->check, s->path, r, same, err) == SINTER_OK && m->ran &&
        !m->judgement.same)
        *same = false;
    if (args->record && !err->code)
        baseline_record(args->record, s->path, r, err);
    json_decref(r);
    json_decref(facts);
    return err->code;
}

static int report_one(const Args *args, const char *path, sinter_error *err)
{
    Session s;
    Measured m = {0};
    sinter_options o;
    bool same = true;
    options_from_args(args, &o);
    if (session_load(&s, args, path, err) == SINTER_OK && session_inputs(&s, err) == SINTER_OK &&
        runner_open(&s, &o, &s.main, err) == SINTER_OK) {
        if (!args->no_run)
            measure(&s, &m, err);
        if (!err->code)
            tell(&s, &m, &same, err);
    }
    session_close(&s);
    return err->code ? -1 : same ? EXIT_OK : EXIT_DIFFERS;
}

int verb_report(const Args *args, sinter_error *err)
{
    if (args->format == FORMAT_CSV || args->format == FORMAT_MD)
        print_header((Format)args->format, COLUMNS, columns);
    return for_each_model(args, err, report_one);
}
