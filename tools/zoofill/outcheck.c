/* outcheck: compares the outputs that a run left in a folder with the expected ones.
 *
 *     outcheck [OPTION VALUE]... EXPECTED GOT      for each EXPECTED/output_K.{pb,sample}:
 * GOT/output_K.pb outcheck --sample N OUTPUT.pb OUT.sample     makes a sample of a big output
 *
 * Type and shape must be equal, NaN and infinities in the same places. How close floats must be
 * is said by one of
 *     --rel R              the largest |got - expected| is at most R * the largest |expected| of
 * the output (R = 1e-4)
 *     --rtol R --atol A    each |got - expected| <= A + R * |expected|
 *     --bits 1             equal, the sign of zero included
 * Integers may differ by at most `--steps N` (0), strings not at all. --first N judges only the
 * first N elements: for outputs whose tail is ties in any order. Status: 0 equal, 1 different or
 * unreadable, 2 wrong use.
 *
 * A sample is text: type, dims, the largest |value| of the whole output, and N elements, one
 * from each of N equal parts, at a place picked by a hash. It lets the tree keep what a 25 MB
 * output should be in a few KB.
 */
#include "tensor.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    double rel, rtol, atol; /* rel < 0: rtol and atol count */
    bool bits;
    int64_t steps;
    uint64_t first;
} Rule;

/* What is expected: some elements of an output (all of them, or a sample) and the largest
 * |value| of the whole. */
typedef struct {
    Values v; /* shape; values when not sampled */
    uint64_t n;
    uint64_t *index; /* NULL: element i is i */
    double max;
} Expected;

static double max_abs(const Values *v)
{
    double m = 0;
    for (uint64_t i = 0; v->class == OF_FLOATS && i < v->count; i++)
        if (isfinite(v->floats[i]))
            m = fmax(m, fabs(v->floats[i]));
    return m;
}

/* ---- samples */

static uint64_t hash(uint64_t i)
{
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    return z ^ z >> 31;
}

static int write_sample(uint64_t n, const char *from, const char *to)
{
    Values v = values_read(from);
    FILE *f = fopen(to, "w");
    if (!f || v.class == OF_STRINGS)
        die("%s: cannot write a sample of %s", to, from);
    fprintf(f, "type %d dims %d", v.dtype, v.rank);
    for (int i = 0; i < v.rank; i++)
        fprintf(f, " %" PRId64, v.dim[i]);
    n = n < v.count ? n : v.count;
    fprintf(f, " max %a elements %" PRIu64 "\n", max_abs(&v), n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = v.count / n * i + hash(i) % (v.count / n);
        if (v.class == OF_FLOATS)
            fprintf(f, "%" PRIu64 " %a\n", at, v.floats[at]);
        else
            fprintf(f, "%" PRIu64 " %" PRId64 "\n", at, v.integers[at]);
    }
    values_free(&v);
    if (fclose(f))
        die("%s: cannot write", to);
    return 0;
}

static Expected read_sample(const char *path)
{
    Expected e = {0};
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "type %d dims %d", &e.v.dtype, &e.v.rank) != 2 || e.v.rank < 0 ||
        e.v.rank > TENSOR_RANK)
        die("%s: not a sample", path);
    for (int i = 0; i < e.v.rank; i++)
        if (fscanf(f, "%" SCNd64, &e.v.dim[i]) != 1)
            die("%s: not a sample: dims", path);
    if (fscanf(f, " max %lf elements %" SCNu64, &e.max, &e.n) != 2 || e.n > 1u << 24)
        die("%s: not a sample: max", path);
    values_shape(&e.v, path);
    e.index = xmalloc(e.n * sizeof *e.index);
    e.v.floats = xmalloc(e.n * sizeof(double));
    e.v.integers = xmalloc(e.n * sizeof(int64_t));
    for (uint64_t i = 0; i < e.n; i++) {
        int got = e.v.class == OF_FLOATS
            ? fscanf(f, "%" SCNu64 "%lf", &e.index[i], &e.v.floats[i])
            : fscanf(f, "%" SCNu64 "%" SCNd64, &e.index[i], &e.v.integers[i]);
        if (got != 2 || e.index[i] >= e.v.count)
            die("%s: element %" PRIu64 " is not right", path, i);
    }
    fclose(f);
    return e;
}

static Expected read_expected(const char *folder, int k, bool *found)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/output_%d.sample", folder, k);
    *found = true;
    if (!access(path, R_OK))
        return read_sample(path);
    snprintf(path, sizeof path, "%s/output_%d.pb", folder, k);
    if (access(path, R_OK)) {
        *found = false;
        return (Expected){0};
    }
    Values v = values_read(path);
    return (Expected){.v = v, .n = v.count, .max = max_abs(&v)};
}

/* ---- judging */

/* The shape as text. */
static const char *shape_text(const Values *v, char *buf, size_t size)
{
    int n = snprintf(buf, size, "type %d [", v->dtype);
    for (int i = 0; i < v->rank && n < (int)size; i++)
        n += snprintf(buf + n, size - (size_t)n, "%s%" PRId64, i ? "," : "", v->dim[i]);
    if (n < (int)size)
        snprintf(buf + n, size - (size_t)n, "]");
    return buf;
}

static bool same_shape(const char *what, const Values *e, const Values *g)
{
    if (e->dtype == g->dtype && e->rank == g->rank && !memcmp(e->dim, g->dim, sizeof e->dim))
        return true;
    char a[256], b[256];
    printf("%s: %s instead of %s\n", what, shape_text(g, a, sizeof a), shape_text(e, b, sizeof b));
    return false;
}

/* How far apart two floats are: 0 for the same special value, infinity where only one is
 * special. */
static double distance(double e, double g)
{
    if (isnan(e) || isnan(g))
        return isnan(e) && isnan(g) ? 0 : INFINITY;
    if (isinf(e) || isinf(g))
        return e == g ? 0 : INFINITY;
    return fabs(e - g);
}

static double allowed(const Rule *r, const Expected *e, uint64_t i)
{
    if (r->bits)
        return 0;
    return r->rel >= 0 ? r->rel * e->max : r->atol + r->rtol * fabs(e->v.floats[i]);
}

static double float_excess(const Rule *r, const Expected *e, uint64_t i, double got)
{
    double d = distance(e->v.floats[i], got);
    if (r->bits && !isnan(got) && !signbit(e->v.floats[i]) != !signbit(got))
        return INFINITY;
    return d == 0 ? 0 : allowed(r, e, i) > 0 ? d / allowed(r, e, i) : INFINITY;
}

/* The distance of element i by its kind, as a fraction of what the rule allows (over 1:
 * different). */
static double excess(const Rule *r, const Expected *e, uint64_t i, const Values *g, uint64_t at)
{
    if (e->v.class == OF_FLOATS)
        return float_excess(r, e, i, g->floats[at]);
    if (e->v.class == OF_INTEGERS) {
        uint64_t a = (uint64_t)e->v.integers[i], b = (uint64_t)g->integers[at];
        uint64_t d = (int64_t)a > (int64_t)b ? a - b : b - a;
        return d <= (uint64_t)r->steps ? 0 : INFINITY;
    }
    Span a = e->v.strings[i], b = g->strings[at];
    return span_size(a) == span_size(b) && !memcmp(a.p, b.p, span_size(a)) ? 0 : INFINITY;
}

static void print_difference(const char *what, const Rule *r, const Expected *e, uint64_t i,
    const Values *g, uint64_t at)
{
    printf("%s: element %" PRIu64 ": ", what, at);
    if (e->v.class == OF_FLOATS)
        printf("%.9g instead of %.9g; %.3g apart, %.3g allowed; the largest output is %.3g\n",
            g->floats[at], e->v.floats[i], distance(e->v.floats[i], g->floats[at]),
            allowed(r, e, i), e->max);
    else if (e->v.class == OF_INTEGERS)
        printf("%" PRId64 " instead of %" PRId64 "\n", g->integers[at], e->v.integers[i]);
    else
        printf("another string\n");
}

static bool judge(const char *what, const Rule *r, const Expected *e, const Values *g)
{
    if (!same_shape(what, &e->v, g))
        return false;
    double worst = 0;
    uint64_t worst_i = 0;
    for (uint64_t i = 0; i < e->n; i++) {
        uint64_t at = e->index ? e->index[i] : i;
        double x = at < r->first ? excess(r, e, i, g, at) : 0;
        if (x > worst) {
            worst = x;
            worst_i = i;
        }
    }
    if (worst > 1)
        print_difference(what, r, e, worst_i, g, e->index ? e->index[worst_i] : worst_i);
    return worst <= 1;
}

static int check_folders(const Rule *r, const char *expected, const char *folder)
{
    bool ok = true, found = true;
    int k = 0;
    for (;; k++) {
        char path[4096], what[64];
        Expected e = read_expected(expected, k, &found);
        snprintf(path, sizeof path, "%s/output_%d.pb", folder, k);
        if (!found)
            break;
        Values g = values_read(path);
        snprintf(what, sizeof what, "output %d", k);
        ok &= judge(what, r, &e, &g);
        values_free(&e.v);
        values_free(&g);
        free(e.index);
    }
    if (!k)
        die("%s: no expected outputs there", expected);
    return !ok;
}

/* One option and its value; false where there is no such option. */
static bool option(Rule *r, const char *name, const char *value)
{
    if (!strcmp(name, "--rel"))
        r->rel = strtod(value, NULL);
    else if (!strcmp(name, "--rtol"))
        r->rel = -1, r->rtol = strtod(value, NULL);
    else if (!strcmp(name, "--atol"))
        r->rel = -1, r->atol = strtod(value, NULL);
    else if (!strcmp(name, "--bits"))
        r->bits = !strcmp(value, "1");
    else if (!strcmp(name, "--steps"))
        r->steps = strtoll(value, NULL, 10);
    else if (!strcmp(name, "--first"))
        r->first = strtoull(value, NULL, 10);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    Rule r = {.rel = 1e-4, .first = UINT64_MAX};
    if (argc == 5 && !strcmp(argv[1], "--sample") && strtoull(argv[2], NULL, 10))
        return write_sample(strtoull(argv[2], NULL, 10), argv[3], argv[4]);
    int i = 1;
    while (i + 2 < argc && option(&r, argv[i], argv[i + 1]))
        i += 2;
    if (i + 2 == argc && argv[i][0] != '-')
        return check_folders(&r, argv[i], argv[i + 1]);
    fputs("usage: outcheck [--rel R | --rtol R --atol A | --bits 1] [--steps N] [--first N] "
          "EXPECTED GOT\n"
          "       outcheck --sample N OUTPUT.pb OUT.sample\n",
        stderr);
    return 2;
}
