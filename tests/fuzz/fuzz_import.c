/* fuzz_import.c: mutants of real models must be imported or refused, nothing else.
 *
 *     fuzz_import [COUNT [FIRST_SEED [MODEL...]]]
 *
 * Each mutant is imported; what is accepted is verified, printed and parsed. Mutants run in child
 * processes, a batch each: when a child dies, its seeds are run again one by one, and the one to
 * blame is named. Run it in an ASan build. Without models: those in models/ and a made one with
 * functions and subgraphs.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/mutate.h"

enum { BATCH = 50 };
typedef struct Model {
    const char *path;
    const uint8_t *at;
    size_t n;
} Model;
typedef struct Totals {
    MutantStats mutants;
    int64_t accepted, refused, wrong;
} Totals;

/* ---- one mutant ------------------------------------------------------------------------------ */

/* A problem that is no verdict on the model: the importer made a graph that is not sound. */
static bool is_our_fault(const Ctx *cx)
{
    for (const Problem *p = cx->problems; p; p = p->next)
        if (p->code == ST_INTERNAL || p->code == ST_USAGE)
            return true;
    return false;
}

static bool reads_back(Ctx *cx, Graph *g)
{
    Buf a, b;
    buf_init(&a, cx);
    buf_init(&b, cx);
    graph_print(&a, g);
    Graph *again = graph_parse(cx, a.s);
    graph_verify(again);
    graph_print(&b, again);
    return strcmp(a.s, b.s) == 0;
}

static void try_mutant(const Model *m, uint64_t seed, Totals *t)
{
    Pb bytes = mutant_make(m->at, m->n, seed, &t->mutants);
    uint8_t *exact = malloc(bytes.n + !bytes.n); /* so that a read past the end is seen */
    if (!exact)
        abort();
    memcpy(exact, bytes.at, bytes.n);
    Ctx cx;
    volatile bool same = true;
    ctx_init(&cx, alloc_default());
    TRY(&cx) {
        Graph *g = graph_import(&cx, exact, bytes.n, NULL);
        graph_verify(g);
        same = reads_back(&cx, g);
    }
    bool wrong = !same || is_our_fault(&cx);
    if (wrong)
        printf("seed %llu of %s: %s\n", (unsigned long long)seed, m->path,
            same ? cx.problems->message : "the text does not read back");
    t->wrong += wrong;
    t->accepted += !cx.problems;
    t->refused += cx.problems != NULL;
    ctx_free(&cx);
    free(exact);
    pb_free(&bytes);
}

/* ---- batches in children --------------------------------------------------------------------- */

static void add(Totals *to, const Totals *from)
{
    to->mutants.edits += from->mutants.edits;
    to->mutants.edits_in_weights += from->mutants.edits_in_weights;
    to->mutants.repaired += from->mutants.repaired;
    to->mutants.mutants += from->mutants.mutants;
    to->accepted += from->accepted;
    to->refused += from->refused;
    to->wrong += from->wrong;
}

/* Runs seeds from..to-1 in a child; false when it died. */
static bool run_batch(const Model *model, int n_models, uint64_t from, uint64_t to, Totals *totals)
{
    int fd[2], status = 0;
    Totals t = {0};
    fflush(stdout);
    if (pipe(fd))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        for (uint64_t seed = from; seed < to; seed++)
            try_mutant(&model[seed / 2 % (uint64_t)n_models], seed, &t);
        fflush(stdout);
        _exit(write(fd[1], &t, sizeof t) != sizeof t);
    }
    close(fd[1]);
    bool ok = read(fd[0], &t, sizeof t) == sizeof t;
    close(fd[0]);
    waitpid(pid, &status, 0);
    ok = ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ok)
        add(totals, &t);
    return ok;
}

static void run_all(const Model *model, int n_models, uint64_t first, uint64_t count,
    Totals *totals)
{
    for (uint64_t from = first; from < first + count; from += BATCH) {
        uint64_t to = MIN(from + BATCH, first + count);
        if (run_batch(model, n_models, from, to, totals))
            continue;
        for (uint64_t seed = from; seed < to; seed++)
            if (!run_batch(model, n_models, seed, seed + 1, totals)) {
                printf("seed %llu: the process died; see it with: fuzz_import 1 %llu\n",
                    (unsigned long long)seed, (unsigned long long)seed);
                totals->wrong++;
            }
    }
}

/* ---- models ---------------------------------------------------------------------------------- */

static bool map_model(Model *m, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return false;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    *m = (Model){path, at, (size_t)st.st_size};
    return at != MAP_FAILED;
}

/* What the committed models have none of: calls, references to attributes, subgraphs, sparse and
 * typed data. */
static Pb made_model(void)
{
    Pb g = {0}, f = pb_function("f", "a,c", "b"), body = pb_node("LeakyRelu", "a", "b", "body"),
       inner = {0};
    Pb call = pb_node("f", "x,w", "u", "call"), add_node = pb_node("Add", "u,k", "t", "add"),
       sparse = {0};
    Pb branch = pb_node("If", "cond", "y", "if"), w = pb_floats("w", 2, (const float[]){1, 2});
    Pb k = pb_tensor("k", DT_I32, DIMS(2)), indices = pb_tensor("", DT_I64, DIMS(1)),
       values = pb_floats("s", 1, (const float[]){3});
    pb_attr_ref(&body, "alpha", "slope", ATTR_FLOAT);
    pb_msg(&f, FUNCTION_NODE, &body);
    pb_attr_int(&call, "slope", 2);
    pb_str(&call, NODE_DOMAIN, "local");
    pb_msg(&inner, GRAPH_NODE, &add_node);
    pb_value(&inner, GRAPH_OUTPUT, "t", DT_F32, DIMS(2));
    pb_attr_graph(&branch, "then_branch", &inner);
    pb_int(&k, TENSOR_INT32S, 4);
    pb_int(&k, TENSOR_INT32S, -4);
    pb_int(&indices, TENSOR_INT64S, 1);
    pb_msg(&sparse, 1, &values);
    pb_msg(&sparse, 2, &indices);
    pb_int(&sparse, 3, 4);
    pb_value(&g, GRAPH_INPUT, "x", DT_F32, DIMS(2, -1));
    pb_value(&g, GRAPH_INPUT, "cond", DT_BOOL, SCALAR);
    pb_msg(&g, GRAPH_INITIALIZER, &w);
    pb_msg(&g, GRAPH_INITIALIZER, &k);
    pb_msg(&g, GRAPH_SPARSE, &sparse);
    pb_msg(&g, GRAPH_NODE, &call);
    pb_msg(&g, GRAPH_NODE, &branch);
    pb_value(&g, GRAPH_OUTPUT, "y", DT_F32, DIMS(2, -1));
    Pb m = pb_model(&g);
    pb_msg(&m, MODEL_FUNCTION, &f);
    return m;
}

/* Every other model is the made one: its few bytes are all structure. */
static Model *models_in(int n_paths, char *const *path, int *n, Pb *made)
{
    Model *m = calloc((size_t)n_paths * 2 + 1, sizeof *m);
    *made = made_model();
    for (int i = 0; m && i < n_paths; i++) {
        if (!map_model(&m[(*n)++], path[i]))
            fprintf(stderr, "can't read %s\n", path[i]), exit(2);
        m[(*n)++] = (Model){"the made model", made->at, made->n};
    }
    return m;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    glob_t found = {0};
    if (argc <= 3 && glob(SINTER_SOURCE_DIR "/models/*/model.onnx", 0, NULL, &found))
        return 2;
    int n = 0;
    Pb made;
    Model *model = argc > 3 ? models_in(argc - 3, argv + 3, &n, &made)
                            : models_in((int)found.gl_pathc, found.gl_pathv, &n, &made);
    Totals t = {0};
    run_all(model, n, first, count, &t);
    MutantStats *s = &t.mutants;
    printf("%lld mutants of %d models: %lld accepted, %lld refused; "
           "%lld of %lld edits in weights, %lld with lengths "
           "repaired; %lld wrong\n",
        (long long)s->mutants, n, (long long)t.accepted, (long long)t.refused,
        (long long)s->edits_in_weights, (long long)s->edits, (long long)s->repaired,
        (long long)t.wrong);
    /* The mutants must be what is claimed of them, or the run proves little. */
    bool fair = count < 100 ||
        (10 * s->edits_in_weights <= s->edits && 10 * s->repaired >= 4 * s->mutants &&
            t.accepted > 0 && t.refused > 0);
    globfree(&found);
    free(model);
    pb_free(&made);
    return t.wrong || !fair;
}
