/* fuzz_graph.c: random graphs must give on every level, with every set of passes, what the
 * interpreter gives.
 *
 *     fuzz_graph [OPTIONS] [COUNT [FIRST_SEED]]
 *     fuzz_graph [OPTIONS] CASE.txt...
 *
 * -v says which seed runs; -k does not reduce failures; -w FOLDER writes the models of failures
 * there; -d runs in this process, for a debugger.
 *
 * Without COUNT and with it, the cases in tests/fuzz/cases are run first. Everything runs in child
 * processes, so that a crash or a hang is a failure with a seed like any other. What fails is cut
 * down, node by node, while it still fails in the same configuration; what is left is printed in
 * the form of recipe.h, to be kept as a case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/recipe.h"

enum { TIME_LIMIT = 60, MAX_IO = RECIPE_VALUES };

/* ---- configurations -------------------------------------------------------------------------- */

typedef struct Config {
    const char *text;                         /* how it is written for the command */
    int level, fuse, threads, strict, one_in; /* the last: runs for one seed in so many */
    const char *isa, *disable;
} Config;
static const Config configs[] = {{"-O1", 1, 1, 1, 0, 1, NULL, NULL},
    {"-O2 --no-fuse --threads 1", 2, 0, 1, 0, 2, NULL, NULL},
    {"-O2 --threads 1", 2, 1, 1, 0, 1, NULL, NULL}, {"-O2 --threads 2", 2, 1, 2, 0, 1, NULL, NULL},
    {"-O2 --threads 1 --isa sse2", 2, 1, 1, 0, 2, "sse2", NULL},
    {"-O2 --threads 1 --isa avx2", 2, 1, 1, 0, 2, "avx2", NULL},
    {"-O2 --threads 1 --fuse=min", 2, 2, 1, 0, 3, NULL, NULL},
    {"-O2 --threads 1 --strict", 2, 1, 1, 1, 5, NULL, NULL},
    {"-O1 --no-fuse", 1, 0, 1, 0, 5, NULL, NULL},
    {"-O2 --disable-pass constfold", 2, 1, 2, 0, 6, NULL, "constfold"},
    {"-O2 --disable-pass cse", 2, 1, 2, 0, 6, NULL, "cse"},
    {"-O2 --disable-pass inline", 2, 1, 2, 0, 6, NULL, "inline"},
    {"-O2 --disable-pass constexpr", 2, 1, 2, 0, 6, NULL, "constexpr"},
    {"-O2 --disable-pass split", 2, 1, 2, 0, 6, NULL, "split"},
    {"-O2 --disable-pass layout", 2, 1, 2, 0, 6, NULL, "layout"},
    {"-O3 --threads 1", 3, 1, 1, 0, 200, NULL, NULL}};

static bool wanted(int config, uint64_t seed)
{
    uint64_t state = seed * 1000 + (uint64_t)config;
    return draw64(&state) % (uint64_t)configs[config].one_in == 0;
}

/* ---- one model ------------------------------------------------------------------------------- */

/* What happened, shared with the child that may die of it. */
typedef struct Verdict {
    int64_t ran, refused; /* configurations */
    uint64_t seed;
    int config; /* the one that runs; -1: the interpreter */
    bool wrong;
    char message[2200];
} Verdict;

typedef struct Outputs {
    int n;
    sinter_value *at[2][MAX_IO]; /* by run; copies, or those of the context */
} Outputs;

static double at(const sinter_tensor *t, int64_t i)
{
    return scalar_double((DType)t->dtype, scalar_load((DType)t->dtype, t->data, i));
}

/* 1e-4 of the largest: exponentials of products turn the rounding of large arguments into that. */
/* `scale`: of what was subtracted on the way, perhaps. */
static bool close_enough(const sinter_tensor *got, const sinter_tensor *want, double scale,
    char *message, size_t cap)
{
    bool floats = dtype_is_float((DType)want->dtype);
    bool narrow = want->dtype == SINTER_FLOAT16 || want->dtype == SINTER_BFLOAT16;
    double most = 0;
    if (!floats && !memcmp(got->data, want->data, want->bytes))
        return true;
    for (int64_t i = 0; i < want->count; i++)
        if (isfinite(at(want, i)))
            most = fmax(most, fabs(at(want, i)));
    for (int64_t i = 0; i < want->count; i++) {
        double a = at(got, i), e = at(want, i);
        double bound = floats
            ? (narrow ? 2e-2 : 1e-3) * fabs(e) + (narrow ? 2e-2 : 1e-4) * most + 1e-6 * scale
            : 0;
        if (a != e && !(fabs(a - e) <= bound) && !(isnan(a) && isnan(e))) {
            snprintf(message, cap, "element %lld of %lld is %.9g, not %.9g (the largest: %.9g)",
                (long long)i, (long long)want->count, a, e, most);
            return false;
        }
    }
    return true;
}

static bool compare(const Recipe *r, const Outputs *got, const Outputs *want, int run,
    char *message, size_t cap)
{
    int output = 0;
    for (int v = 0; v < r->n_values; v++) {
        if (!r->value[v].output)
            continue;
        sinter_tensor a, b;
        int n = snprintf(message, cap, "run %d, output %s: ", run, r->value[v].name);
        sinter_tensor_get(got->at[run][output], &a);
        sinter_tensor_get(want->at[run][output], &b);
        output++;
        if (a.dtype != b.dtype || a.rank != b.rank ||
            memcmp(a.dim, b.dim, (size_t)b.rank * sizeof *b.dim)) {
            snprintf(message + n, cap - (size_t)n, "another type or shape");
            return false;
        }
        /* a shape that the generator thinks it has: else later nodes would not test what they
         * should */
        for (int k = 0; k < r->value[v].rank; k++)
            if (r->value[v].rank != b.rank || r->value[v].dim[k].at[run] != b.dim[k]) {
                snprintf(message + n, cap - (size_t)n,
                    "axis %d of %d is %lld: not what the generator meant", k, b.rank,
                    (long long)b.dim[k]);
                return false;
            }
        if (!close_enough(&a, &b, r->value[v].exact ? 0 : r->value[v].scale, message + n,
                cap - (size_t)n))
            return false;
    }
    message[0] = 0;
    return true;
}

static bool is_symbolic(const Recipe *r)
{
    for (int v = 0; v < r->n_values; v++)
        for (int k = 0; k < r->value[v].rank; k++)
            if (r->value[v].from == IN_INPUT && r->value[v].dim[k].tag)
                return true;
    return false;
}

static sinter_options options_of(const Config *c, const char **disable)
{
    sinter_options o = net_options(c ? c->level : 0, c ? c->threads : 1, c ? c->isa : NULL);
    if (c) {
        o.fuse = c->fuse;
        o.strict = c->strict;
        disable[0] = c->disable;
        o.disable_pass = c->disable ? disable : NULL;
    }
    return o;
}

static sinter_code run_once(Session *s, const Recipe *r, int run, sinter_value **out, int n_out)
{
    sinter_value *in[MAX_IO] = {0};
    int n = 0;
    for (int v = 0; v < r->n_values; v++)
        if (r->value[v].from == IN_INPUT)
            in[n++] = recipe_input(r, &r->value[v], run);
    sinter_code code = sinter_run(s->run, (const sinter_value *const *)in, n, out, n_out, &s->err);
    while (n)
        sinter_value_free(in[--n]);
    return code;
}

/* Runs in a configuration (NULL: the interpreter) and compares with `want` if given. The session
 * stays open: its context owns the outputs of the last run. False: the message says what is wrong.
 */
static bool run_config(const Recipe *r, const Pb *model, const Config *c, Session *s, Outputs *out,
    const Outputs *want, Verdict *v)
{
    const char *disable[2] = {NULL, NULL};
    sinter_options o = options_of(c, disable);
    memset(out, 0, sizeof *out);
    if (session_try(s, model, &o)) {
        if (c && c->isa && strstr(s->err.message, "does not have the instruction set"))
            return true; /* this CPU can't; nothing was compared and nothing is counted */
        snprintf(v->message, sizeof v->message, "%s", s->err.message);
        return false;
    }
    v->ran++;
    out->n = sinter_output_count(s->model);
    for (int run = 0; run < (is_symbolic(r) ? 2 : 1); run++) {
        if (run_once(s, r, run, out->at[run], out->n)) {
            snprintf(v->message, sizeof v->message, "run %d: %s", run, s->err.message);
            return false;
        }
        if (want && !compare(r, out, want, run, v->message, sizeof v->message))
            return false;
    }
    return true;
}

/* The interpreter's outputs: a session for each run, since a context keeps only its last. */
static bool oracle(const Recipe *r, const Pb *model, Session *s, Outputs *out, Verdict *v)
{
    sinter_options o = options_of(NULL, NULL);
    v->config = -1;
    for (int run = 0; run < (is_symbolic(r) ? 2 : 1); run++) {
        if (session_try(&s[run], model, &o) ||
            run_once(&s[run], r, run, out->at[run], sinter_output_count(s[run].model))) {
            snprintf(v->message, sizeof v->message, "run %d: %s", run, s[run].err.message);
            return false;
        }
        if (!compare(r, out, out, run, v->message, sizeof v->message))
            return false;
    }
    return true;
}

/* All configurations that the seed wants, or `only` one (-1: the interpreter alone; -2: all). */
static void try_recipe(const Recipe *r, uint64_t seed, int only, Verdict *v)
{
    Pb model = recipe_model(r);
    Session exact[2] = {0}, s = {0};
    static Outputs want, got;
    memset(&want, 0, sizeof want);
    v->wrong = !oracle(r, &model, exact, &want, v);
    for (int c = 0; c < NELEM(configs) && !v->wrong && only != -1; c++) {
        if (only == -2 ? !wanted(c, seed) : c != only)
            continue;
        v->config = c;
        v->wrong = !run_config(r, &model, &configs[c], &s, &got, &want, v);
        session_close(&s);
    }
    session_close(&exact[0]);
    session_close(&exact[1]);
    pb_free(&model);
}

/* ---- children -------------------------------------------------------------------------------- */

static bool verbose;
static Verdict *shared; /* memory that children write and the parent reads */

static bool died(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return false;
    shared->wrong = true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(shared->message, sizeof shared->message, "no end after %d s", TIME_LIMIT);
    else
        snprintf(shared->message, sizeof shared->message, "died of signal %d, exit %d",
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, WEXITSTATUS(status));
    return true;
}

/* The verdict on a recipe in `shared`. */
static void judge(const Recipe *r, uint64_t seed, int only)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!verbose && !freopen("/dev/null", "w", stderr))
            _exit(1);
        alarm(TIME_LIMIT);
        try_recipe(r, seed, only, shared);
        _exit(0);
    }
    died(pid);
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool still_wrong(const Recipe *r, uint64_t seed, int config, const char *message)
{
    bool generator = strstr(message, "generator meant") != NULL;
    judge(r, seed, config);
    if (!shared->wrong)
        return false;
    return shared->config == config &&
        generator == (strstr(shared->message, "generator meant") != NULL);
}

static void keep_one_output(Recipe *r, uint64_t seed, int config, const char *message)
{
    static Recipe less;
    for (int v = 0; v < r->n_values; v++) {
        less = *r;
        if (!r->value[v].output)
            continue;
        less.value[v].output = false;
        if (recipe_prune(&less) && still_wrong(&less, seed, config, message))
            *r = less;
    }
}

/* An intermediate value as the only output. */
static bool cut_behind(Recipe *r, uint64_t seed, int config, const char *message)
{
    static Recipe less;
    for (int i = 0; i < r->n_nodes - 1; i++) {
        less = *r;
        if (r->node[i].dropped)
            continue;
        for (int v = 0; v < r->n_values; v++)
            less.value[v].output = false;
        less.value[r->node[i].out[0]].output = true;
        recipe_prune(&less);
        bool fewer = false;
        for (int j = 0; j < r->n_nodes; j++)
            fewer |= less.node[j].dropped && !r->node[j].dropped;
        if (fewer && still_wrong(&less, seed, config, message)) {
            *r = less;
            return true;
        }
    }
    return false;
}

static void reduce(Recipe *r, uint64_t seed, int config, const char *message)
{
    static Recipe less;
    keep_one_output(r, seed, config, message);
    cut_behind(r, seed, config, message);
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < r->n_nodes; i++) {
            less = *r;
            if (!r->node[i].dropped && recipe_drop(&less, i) &&
                still_wrong(&less, seed, config, message)) {
                *r = less;
                again = true;
            }
        }
    }
}

static void write_model(const Recipe *r, const char *folder, uint64_t seed)
{
    char path[512];
    snprintf(path, sizeof path, "%s/seed%llu.onnx", folder, (unsigned long long)seed);
    FILE *f = fopen(path, "wb");
    Pb model = recipe_model(r);
    if (!f || fwrite(model.at, 1, model.n, f) != model.n || fclose(f))
        fprintf(stderr, "can't write %s\n", path);
    pb_free(&model);
}

static void report(Recipe *r, const char *what, bool reduced, const char *folder)
{
    Verdict v = *shared;
    printf("FAILED %s, %s: %s\n", what, v.config < 0 ? "-O0" : configs[v.config].text, v.message);
    if (reduced) {
        reduce(r, v.seed, v.config, v.message);
        judge(r, v.seed, v.config); /* its own message */
        printf("cut down: %s\n", shared->message);
    }
    recipe_print(r, stdout);
    printf("\n");
    fflush(stdout);
    if (folder)
        write_model(r, folder, v.seed);
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct Totals {
    int64_t graphs, ran, wrong;
} Totals;
static bool reducing = true, here;
static const char *folder;

/* Seeds from..to-1 in a child until one fails; returns the first that is not done. */
static uint64_t run_batch(uint64_t from, uint64_t to, Totals *t)
{
    static Recipe r;
    memset(shared, 0, sizeof *shared);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!verbose && !freopen("/dev/null", "w", stderr))
            _exit(1);
        for (uint64_t seed = from; seed < to && !shared->wrong; seed++) {
            alarm(TIME_LIMIT);
            shared->seed = seed;
            if (verbose)
                printf("seed %llu\n", (unsigned long long)seed), fflush(stdout);
            recipe_draw(&r, seed);
            try_recipe(&r, seed, -2, shared);
        }
        fflush(stdout);
        _exit(0);
    }
    died(pid);
    t->ran += shared->ran;
    t->graphs += (int64_t)(shared->wrong ? shared->seed - from + 1 : to - from);
    if (!shared->wrong)
        return to;
    t->wrong++;
    uint64_t seed = shared->seed;
    char what[64];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    recipe_draw(&r, seed);
    report(&r, what, reducing, folder);
    return seed + 1;
}

static void run_case(const char *path, Totals *t)
{
    static Recipe r;
    static char text[65536];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    t->graphs++;
    if (!n || !recipe_read(&r, text)) {
        printf("FAILED: can't read %s\n", path);
        t->wrong++;
        return;
    }
    bool wrong = false;
    for (int c = 0; c < NELEM(configs) && !wrong; c++) {
        memset(shared, 0, sizeof *shared);
        judge(&r, 0, c);
        t->ran += shared->ran;
        wrong = shared->wrong;
    }
    t->wrong += wrong;
    if (wrong)
        report(&r, path, false, folder);
}

/* For a debugger: a case in this process. */
static int run_here(const char *path)
{
    static Recipe r;
    static char text[65536];
    FILE *f = fopen(path, "r");
    if (!f || !fread(text, 1, sizeof text - 1, f) || fclose(f) || !recipe_read(&r, text))
        return 2;
    for (int c = 0; c < NELEM(configs) && !shared->wrong; c++)
        try_recipe(&r, 0, c, shared);
    printf("%s: %s\n", configs[shared->config].text, shared->message);
    return shared->wrong;
}

static int usage(void)
{
    fprintf(stderr,
        "usage: fuzz_graph [-v] [-k] [-d] [-w FOLDER] [COUNT [FIRST_SEED]] | CASE.txt...\n");
    return 2;
}

int main(int argc, char **argv)
{
    Totals t = {0};
    glob_t found = {0};
    for (int o; (o = getopt(argc, argv, "vkdw:")) != -1;)
        if (o == 'v')
            verbose = true;
        else if (o == 'k')
            reducing = false;
        else if (o == 'd')
            here = true;
        else if (o == 'w')
            folder = optarg;
        else
            return usage();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return usage();
    if (here)
        return optind < argc ? run_here(argv[optind]) : usage();
    char *end = "";
    uint64_t count = optind < argc ? strtoull(argv[optind], &end, 10) : 1000;
    uint64_t seed = optind + 1 < argc && !*end ? strtoull(argv[optind + 1], NULL, 10) : 0,
             last = seed + count;
    if (!*end && !glob(SINTER_SOURCE_DIR "/tests/fuzz/cases/*.txt", 0, NULL, &found))
        for (size_t i = 0; i < found.gl_pathc; i++)
            run_case(found.gl_pathv[i], &t);
    for (int i = optind; i < argc && *end; i++)
        run_case(argv[i], &t);
    while (!*end && seed < last)
        seed = run_batch(seed, MIN(seed + 100, last), &t);
    printf("%lld graphs in %lld configurations, %lld wrong\n", (long long)t.graphs,
        (long long)t.ran, (long long)t.wrong);
    globfree(&found);
    return t.wrong != 0 || t.graphs == 0;
}
