/* bench.c: `sinter bench`: how long loading, the first run and later runs take.
 *
 * Each mode is measured in a process of its own, so that its peak memory is its own and nothing of
 * the other mode is warm. Measuring is bounded: it ends after about two seconds, or before when 200
 * runs have had half a second.
 */
#include "json.h"
#include "session.h"
#include "summary.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENOUGH_RUNS = 200, FEWEST_RUNS = 3, MOST_RUNS = 50000 };
static const double WARM_UP_MS = 200, ENOUGH_MS = 500, BOUND_MS = 2000, HARD_BOUND_MS = 10000;

typedef struct Times {
    double load_ms, first_ms, min_ms, med_ms, p99_ms, rss_peak_mb;
    int runs;
} Times;

/* VmHWM, the most memory that was resident; 0 where the system does not tell. */
static double peak_memory_mb(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[256];
    double kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return kb / 1024;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Few long runs say as much as many short ones; --runs overrides all bounds. */
static bool enough(const Args *args, int runs, double elapsed)
{
    if (args->runs)
        return runs >= args->runs;
    return runs >= MOST_RUNS || elapsed >= HARD_BOUND_MS ||
        (elapsed >= BOUND_MS && runs >= FEWEST_RUNS) ||
        (elapsed >= ENOUGH_MS && runs >= ENOUGH_RUNS);
}

/* Only the run itself: inputs were bound to values long before. */
static sinter_code timed_run(Session *s, double *ms, sinter_error *err)
{
    double start = now_ms();
    sinter_code code = runner_run(s, &s->main, err);
    *ms = now_ms() - start;
    return code;
}

/* The first run pays for page faults and packing and is told apart; the warm-up lets clocks and
 * caches settle. */
static sinter_code measure_runs(Session *s, Times *t, sinter_error *err)
{
    int room = s->args->runs ? s->args->runs : MOST_RUNS;
    double *ms = cli_alloc(sizeof *ms * (size_t)room), last, start = now_ms();
    if (timed_run(s, &t->first_ms, err))
        return err->code;
    for (int i = 0; i < 20 && now_ms() - start < WARM_UP_MS; i++)
        if (timed_run(s, &last, err))
            return err->code;
    start = now_ms();
    do {
        if (timed_run(s, &ms[t->runs], err))
            return err->code;
        t->runs++;
    } while (!enough(s->args, t->runs, now_ms() - start));
    qsort(ms, (size_t)t->runs, sizeof *ms, ascending);
    t->min_ms = ms[0];
    t->med_ms = ms[t->runs / 2];
    t->p99_ms =
        ms[(int64_t)t->runs * 99 / 100 < t->runs ? (int64_t)t->runs * 99 / 100 : t->runs - 1];
    return SINTER_OK;
}

static const char *const columns[] = {"model", "mode", "load_ms", "first_ms", "min_ms", "med_ms",
    "p99_ms", "runs", "rss_peak_mb"};
enum { COLUMNS = sizeof columns / sizeof *columns };
static const char *const text_row = "%-28s %-8s %9s %9s %9s %9s %9s %7s %11s\n";

static void print_heading(Format format)
{
    if (format == FORMAT_TEXT)
        printf(text_row, columns[0], columns[1], columns[2], columns[3], columns[4], columns[5],
            columns[6], columns[7], columns[8]);
    else if (format != FORMAT_JSON)
        print_header(format, COLUMNS, columns);
}

static const char *ms_cell(double ms) { return cli_printf(ms < 10 ? "%.4f" : "%.2f", ms); }

/* CSV and Markdown have the same columns as the text. */
static void print_row_of(Session *s, bool fused, const Times *t)
{
    const char *cell[] = {show_name(s->path), fused ? "fused" : "unfused", ms_cell(t->load_ms),
        ms_cell(t->first_ms), ms_cell(t->min_ms), ms_cell(t->med_ms), ms_cell(t->p99_ms),
        cli_printf("%d", t->runs), cli_printf("%.1f", t->rss_peak_mb)};
    if (s->args->format == FORMAT_TEXT)
        printf(text_row, cell[0], cell[1], cell[2], cell[3], cell[4], cell[5], cell[6], cell[7],
            cell[8]);
    else
        print_row((Format)s->args->format, COLUMNS, cell);
}

/* What was really used comes from the library's report, not from what was asked for. */
static void print_json(Session *s, bool fused, const Times *t)
{
    sinter_error ignored;
    json_t *o = session_line(s), *report = runner_report(&s->main, &ignored);
    json_put(o, "isa", json_text(session_isa(s, report)));
    json_put(o, "threads", json_whole(session_threads(s, report)));
    json_put(o, "fused", json_boolean(fused));
    json_put(o, "load_ms", json_number(t->load_ms));
    json_put(o, "first_ms", json_number(t->first_ms));
    json_put(o, "min_ms", json_number(t->min_ms));
    json_put(o, "med_ms", json_number(t->med_ms));
    json_put(o, "p99_ms", json_number(t->p99_ms));
    json_put(o, "runs", json_whole(t->runs));
    json_put(o, "rss_peak_mb", json_number(t->rss_peak_mb));
    json_put(o, "dims", inputs_dims_json(&s->inputs));
    json_decref(report);
    json_print_line(o);
}

/* One mode from file to numbers. */
static sinter_code bench_mode(Session *s, bool fused, sinter_error *err)
{
    sinter_options o;
    Times t = {0};
    options_from_args(s->args, &o);
    if (!fused)
        o.fuse = 0;
    if (session_inputs(s, err) || runner_open(s, &o, &s->main, err) || measure_runs(s, &t, err))
        return err->code;
    t.load_ms = s->load_ms + s->main.compile_ms;
    t.rss_peak_mb = peak_memory_mb();
    if (s->args->format == FORMAT_JSON)
        print_json(s, fused, &t);
    else
        print_row_of(s, fused, &t);
    return SINTER_OK;
}

/* Body of the child: says its line or its error, then its exit status. */
static int bench_child(const Args *args, const char *path, bool fused, sinter_error *err)
{
    Session s;
    int status = EXIT_OK;
    if (session_load(&s, args, path, err) || bench_mode(&s, fused, err))
        status = err->message[0] ? report_error(err, (Format)args->format) : exit_of(err->code);
    session_close(&s);
    return status;
}

/* Runs one mode; returns its exit status, or -1 with *err when the process itself failed. `quiet`:
 * the notes on inputs have been said for the other mode. */
static int bench_process(const Args *args, const char *path, bool fused, bool quiet,
    sinter_error *err)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        set_error(err, SINTER_ERR_MEMORY, "can't start a process to measure in");
        return -1;
    }
    if (child == 0) {
        note_quiet(args->quiet || quiet);
        exit(bench_child(args, path, fused, err));
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        set_error(err, SINTER_ERR_INTERNAL, "measuring %s ended by signal %d", show_name(path),
            WTERMSIG(status));
        return -1;
    }
    return WEXITSTATUS(status);
}

/* Below -O2 nothing is fused: one line then. A mode that failed would fail again: told once. */
static int bench_model(const Args *args, const char *path, sinter_error *err)
{
    bool can_fuse = args->fuse && args->opt_level >= 2;
    int status = EXIT_OK;
    if (can_fuse)
        status = bench_process(args, path, true, false, err);
    return status ? status : bench_process(args, path, false, can_fuse, err);
}

int verb_bench(const Args *args, sinter_error *err)
{
    print_heading((Format)args->format);
    return for_each_model(args, err, bench_model);
}
