/* bench_body.c: vector bodies against the same fused by hand in C, compiled by the system's
 * compiler with -O3 -march=native (fused.h). Both in one run, alternating; the least time of many.
 * One JSON object a line; the goal is a ratio of at most 1.15 for maps and 1.2 for rows.
 */
#include "codegen/body.h"
#include "fused.h"
#include "runtime/jit.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

/* ---- the bodies
 * ---------------------------------------------------------------------------------- */

#define MAP_PORTS "port 0 lanes float32 load\nport 1 lanes float32 store\n"
static const char chain_text[] =
    "port 0 lanes float32 load\nport 1 lanes float32 load\nport 2 lanes float32 store\n"
    "loop\n%1 = load float32 port 0\n%2 = load float32 port 1\n%3 = const float32 1.1\n"
    "%4 = prim mul float32 %1 %3\n%5 = prim add float32 %4 %2\n%6 = const float32 0.9\n"
    "%7 = prim mul float32 %5 %6\n%8 = const float32 0\n%9 = prim max float32 %7 %8\n"
    "%10 = prim sub float32 %9 %1\n%11 = const float32 1.3\n%12 = prim mul float32 %10 %11\n"
    "%13 = const float32 6\n%14 = prim min float32 %12 %13\n%15 = prim add float32 %14 %2\n"
    "%16 = prim mul float32 %15 %9\n%17 = const float32 0.25\n%18 = prim add float32 %16 %17\n"
    "store float32 %18 port 2\nend\n";
static const char gelu_text[] = MAP_PORTS
    "loop\n%1 = load float32 port 0\n%2 = const float32 0.5\n%3 = prim mul float32 %1 %2\n"
    "%4 = const float32 0.70710678\n%5 = prim mul float32 %1 %4\n%6 = prim erf float32 %5\n"
    "%7 = const float32 1\n%8 = prim add float32 %6 %7\n%9 = prim mul float32 %3 %8\n"
    "store float32 %9 port 1\nend\n";
static const char silu_text[] =
    MAP_PORTS "loop\n%1 = load float32 port 0\n%2 = prim neg float32 %1\n%3 = prim exp float32 %2\n"
              "%4 = const float32 1\n%5 = prim add float32 %3 %4\n%6 = prim div float32 %1 %5\n"
              "store float32 %6 port 1\nend\n";
static const char softmax_text[] =
    "port 0 lanes float32 load\nport 1 lanes float32 store\nport 2 lanes float32 load\n"
    "loop\n%1 = load float32 port 0\n%2 = rmax float32 %1\nend\n"
    "loop\n%5 = load float32 port 0\n%6 = prim sub float32 %5 %2\n%7 = prim exp float32 %6\n"
    "store float32 %7 port 1\n%9 = rsum float32 %7\nend\n"
    "%11 = const float32 1\n%12 = prim div float32 %11 %9\n"
    "loop\n%14 = load float32 port 2\n%15 = prim mul float32 %14 %12\n"
    "store float32 %15 port 1\nend\n";
static const char layernorm_text[] =
    "port 0 lanes float32 load\nport 1 lanes float32 load\nport 2 lanes float32 load\n"
    "port 3 lanes float32 store\nport 4 row float32 load\n"
    "%0 = load float32 port 4\nloop\n%2 = load float32 port 0\n%3 = rsum float32 %2\nend\n"
    "%5 = prim div float32 %3 %0\nloop\n%7 = load float32 port 0\n%8 = prim sub float32 %7 %5\n"
    "%9 = prim mul float32 %8 %8\n%10 = rsum float32 %9\nend\n%12 = prim div float32 %10 %0\n"
    "%13 = const float32 1e-05\n%14 = prim add float32 %12 %13\n%15 = prim sqrt float32 %14\n"
    "%16 = const float32 1\n%17 = prim div float32 %16 %15\nloop\n%19 = load float32 port 0\n"
    "%20 = prim sub float32 %19 %5\n%21 = prim mul float32 %20 %17\n%22 = load float32 port 1\n"
    "%23 = prim mul float32 %21 %22\n%24 = load float32 port 2\n%25 = prim add float32 %23 %24\n"
    "store float32 %25 port 3\nend\n";

typedef void BodyFn(void *const *ptr, const int64_t *step, int64_t n, int64_t rows,
    const void *pool);

typedef struct Compiled {
    BodyFn *run;
    const void *pool;
} Compiled;

static void fail(const char *what)
{
    fprintf(stderr, "bench_body: %s\n", what);
    exit(1);
}

static Compiled compile(Ctx *cx, const char *text, bool streaming)
{
    Body b;
    body_init(&b, cx);
    body_parse(&b, text);
    body_verify(cx, &b);
    ctx_check(cx);
    BodyCode code = body_encode(cx, &b, "avx2", streaming);
    size_t size = (code.n_bytes + 4095) / 4096 * 4096;
    uint8_t *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *pool = aligned_alloc(32, code.n_pool);
    if (pages == MAP_FAILED || !pool)
        fail("out of memory");
    memcpy(pages, code.bytes, code.n_bytes);
    memcpy(pool, code.pool, code.n_pool);
    if (mprotect(pages, size, PROT_READ | PROT_EXEC))
        fail("no executable memory");
    return (Compiled){(BodyFn *)(uintptr_t)pages, pool};
}

/* ---- measuring
 * ----------------------------------------------------------------------------------- */

enum { ELEMENTS = 1 << 20, ROUNDS = 60 };
static float *x, *y, *g, *out, *want;
static JitCode *fused;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct Case {
    const char *name, *text;
    int64_t lanes;
    int n_ports;
    float **port[5];
    double goal;
} Case;

static float row_length;
static float *length = &row_length;

static void run_body(const Case *c, const Compiled *code, int64_t elements)
{
    void *ptr[5];
    int64_t step[5];
    for (int k = 0; k < c->n_ports; k++) {
        ptr[k] = *c->port[k] == want ? out : *c->port[k];
        bool per_row = c->port[k] == &x || *c->port[k] == out;
        step[k] = per_row ? c->lanes * 4 : 0;
    }
    row_length = (float)c->lanes;
    code->run(ptr, step, c->lanes, elements / c->lanes, code->pool);
}

typedef void Map1(const float *, float *, long);
typedef void Map2(const float *, const float *, float *, long);
typedef void Rows(const float *, float *, long, long);
typedef void Rows4(const float *, const float *, const float *, float *, long, long);

static void run_fused(const Case *c, void *fn, float *to, int64_t elements)
{
    if (c->n_ports == 5)
        ((Rows4 *)fn)(x, g, y, to, c->lanes, elements / c->lanes);
    else if (c->n_ports == 3 && c->lanes < ELEMENTS)
        ((Rows *)fn)(x, to, c->lanes, elements / c->lanes);
    else if (c->n_ports == 3)
        ((Map2 *)fn)(x, y, to, elements);
    else
        ((Map1 *)fn)(x, to, elements);
}

static double largest_difference(int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)out[i] - want[i]));
    return most;
}

static void measure(Ctx *cx, const Case *c)
{
    Compiled code = compile(cx, c->text, false);
    void *fn = jit_symbol(fused, c->name);
    if (!fn)
        fail("the fused C lacks a function");
    double body = 1e9, hand = 1e9;
    int64_t elements = ELEMENTS / c->lanes * c->lanes;
    for (int k = 0; k < ROUNDS; k++) {
        double t0 = now();
        run_body(c, &code, elements);
        double t1 = now();
        run_fused(c, fn, out == want ? out : want, elements);
        double t2 = now();
        body = fmin(body, t1 - t0);
        hand = fmin(hand, t2 - t1);
    }
    double ratio = body / hand;
    printf("{\"bench\":\"body\",\"name\":\"%s\",\"lanes\":%lld,\"body_ns\":%.4f,\"fused_ns\":%.4f,"
           "\"ratio\":%.3f,\"goal\":%.2f,\"max_diff\":%.2g}\n",
        c->name, (long long)c->lanes, body / (double)elements * 1e9, hand / (double)elements * 1e9,
        ratio, c->goal, largest_difference(elements));
}

static float *floats(void)
{
    float *p = aligned_alloc(64, ELEMENTS * sizeof *p);
    if (!p)
        fail("out of memory");
    for (int64_t i = 0; i < ELEMENTS; i++)
        p[i] = (float)((i * 2654435761u >> 7) % 2001) / 250.0f - 4.0f;
    return p;
}

int main(void)
{
    static Ctx cx;
    ctx_init(&cx, alloc_default());
    x = floats(), y = floats(), g = floats(), out = floats(), want = floats();
    static const Case cases[] = {
        {"chain", chain_text, ELEMENTS, 3, {&x, &y, &out}, 1.15},
        {"gelu", gelu_text, ELEMENTS, 2, {&x, &out}, 1.15},
        {"silu", silu_text, ELEMENTS, 2, {&x, &out}, 1.15},
        {"softmax", softmax_text, 128, 3, {&x, &out, &out}, 1.2},
        {"softmax", softmax_text, 768, 3, {&x, &out, &out}, 1.2},
        {"layernorm", layernorm_text, 128, 5, {&x, &g, &y, &out, &length}, 1.2},
        {"layernorm", layernorm_text, 768, 5, {&x, &g, &y, &out, &length}, 1.2},
    };
    TRY(&cx) {
        fused = jit_cc(&cx, FUSED_C, NULL, 0);
        for (int k = 0; k < NELEM(cases); k++)
            measure(&cx, &cases[k]);
    }
    CATCH {
        for (Problem *p = cx.problems; p; p = p->next)
            fprintf(stderr, "bench_body: %s\n", p->message);
        return 1;
    }
    ctx_free(&cx);
    return 0;
}
