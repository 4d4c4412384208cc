/* Bodies mean the same as the reference, as scalar C and as vector code, down to the bit; their
 * text form reads back; broken ones are refused; functions that are approximated stay within their
 * errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "codegen/spell.h"
#include "runtime/jit.h"
#include "support/random_body.h"

typedef void BodyFn(void *const *ptr, const int64_t *step, int64_t n, int64_t rows,
    const void *pool);

/* ---- the two compiled forms
 * ------------------------------------------------------------------------ */

#define BOTH(fn) \
    {#fn, (const void *)(uintptr_t)(fn)}, { #fn "f", (const void *)(uintptr_t)(fn##f) }
static const JitSym libm[] = {BOTH(sqrt), BOTH(exp), BOTH(log), BOTH(pow), BOTH(erf), BOTH(tanh),
    BOTH(sin), BOTH(cos), BOTH(tan), BOTH(asin), BOTH(acos), BOTH(atan), BOTH(sinh), BOTH(cosh),
    BOTH(asinh), BOTH(acosh), BOTH(atanh), BOTH(floor), BOTH(ceil), BOTH(trunc), BOTH(rint),
    BOTH(fabs), BOTH(fmod)};

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* Vector code in memory of its own; NULL when the body is not encodable (or this CPU could not run
 * it). */
typedef struct Vector {
    BodyFn *run;
    void *pages, *pool;
    size_t size;
} Vector;

static Vector assemble(Ctx *cx, const Body *b, bool streaming)
{
    Vector c = {.run = NULL};
    if (!has_avx2() || !body_encodable(b, "avx2"))
        return c;
    BodyCode code = body_encode(cx, b, "avx2", streaming);
    c.size = (code.n_bytes + PAGE - 1) / PAGE * PAGE;
    c.pages = mmap(NULL, c.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(c.pages, MAP_FAILED);
    memcpy(c.pages, code.bytes, code.n_bytes);
    assert_int_equal(mprotect(c.pages, c.size, PROT_READ | PROT_EXEC), 0);
    c.pool = aligned_alloc(32, code.n_pool);
    assert_non_null(c.pool);
    memcpy(c.pool, code.pool, code.n_pool);
    c.run = (BodyFn *)(uintptr_t)c.pages;
    return c;
}

static void code_free(Vector *c)
{
    if (c->run)
        munmap(c->pages, c->size);
    free(c->pool);
}

/* Scalar C of several bodies by TinyCC; function k is w<k>. */
static JitCode *compile_c(Ctx *cx, const RandomBody *b, int n)
{
    Buf text;
    buf_init(&text, cx);
    buf_puts(&text, body_c_prelude);
    for (int k = 0; k < n; k++) {
        body_print_c(&text, &b[k].body, ctx_printf(cx, "b%d", k));
        buf_printf(&text,
            "void w%d(void *const *p, const sn_i64 *s, sn_i64 n, sn_i64 r, const void *c)\n"
            "{ b%d(p, s, n, r, c); }\n",
            k, k);
    }
    return jit_tcc(cx, text.s, libm, NELEM(libm));
}

static BodyFn *c_function(Ctx *cx, const JitCode *code, int k)
{
    return (BodyFn *)(uintptr_t)jit_symbol(code, ctx_printf(cx, "w%d", k));
}

/* ---- comparing
 * ------------------------------------------------------------------------------------- */

static bool same_element(DType t, const void *a, const void *b, int64_t i)
{
    if (dtype_is_float(t)) {
        double x = scalar_load(t, a, i).f, y = scalar_load(t, b, i).f;
        if (isnan(x) && isnan(y))
            return true;
    }
    size_t bytes = (size_t)dtype_bytes(t);
    return memcmp((const char *)a + (size_t)i * bytes, (const char *)b + (size_t)i * bytes,
               bytes) == 0;
}

/* All memory of all ports is as the reference left it, to the bit. */
static void assert_same(const RandomBody *b, const Memory *m, const char *who, int64_t n,
    int64_t rows)
{
    for (int p = 0; p < b->body.ports.n; p++) {
        DType t = b->body.ports.at[p].type;
        for (int64_t i = 0; i < PAGE / dtype_bytes(t); i++) {
            if (same_element(t, m->after[p], m->page[p], i))
                continue;
            Buf text;
            buf_init(&text, b->body.cx);
            body_print(&text, &b->body);
            double want = scalar_double(t, scalar_load(t, m->after[p], i));
            double got = scalar_double(t, scalar_load(t, m->page[p], i));
            fail_msg("%s, n %lld, rows %lld: port %d element %lld is %.17g, not %.17g\n%s", who,
                (long long)n, (long long)rows, p, (long long)i, got, want, text.s);
        }
    }
}

/* One body on one random memory, three times. Returns whether vector code ran. */
static bool run_all(RandomBody *b, BodyFn *c, Memory *m, Rng *r, const Vector *code)
{
    int n_ports = b->body.ports.n;
    int64_t n = rng_below(r, 71), rows = rng_below(r, 4);
    memory_fill(m, b, r, n, rows);
    memory_reset(m, n_ports);
    body_run(&b->body, m->ptr, m->step, n, rows);
    memory_save(m, n_ports);
    memory_reset(m, n_ports);
    c(m->ptr, m->step, n, rows, NULL);
    assert_same(b, m, "scalar C", n, rows);
    if (!code->run)
        return false;
    memory_reset(m, n_ports);
    code->run(m->ptr, m->step, n, rows, code->pool);
    assert_same(b, m, "vector code", n, rows);
    return true;
}

enum { BATCH = 20 };

/* Returns how many of the bodies were encodable. */
static int compare_batch(Memory *m, Rng *r, int size)
{
    Ctx cx;
    ctx_init(&cx, alloc_default());
    RandomBody *b = NEW_N(&cx, RandomBody, BATCH);
    int encoded = 0;
    for (int k = 0; k < BATCH; k++) {
        random_body(&b[k], &cx, r, k % 4, size);
        body_verify(&cx, &b[k].body);
    }
    assert_int_equal(cx.n_problems, 0);
    JitCode *jit = compile_c(&cx, b, BATCH);
    for (int k = 0; k < BATCH; k++) {
        Vector code = assemble(&cx, &b[k].body, rng_below(r, 2));
        bool ran = false;
        for (int repeat = 0; repeat < 6; repeat++)
            ran = run_all(&b[k], c_function(&cx, jit, k), m, r, &code);
        encoded += ran;
        code_free(&code);
    }
    ctx_free(&cx);
    return encoded;
}

static void random_bodies_agree_to_the_bit(void **state)
{
    (void)state;
    Rng r = {0x9E3779B97F4A7C15u};
    Memory *m = memory_new();
    assert_non_null(m);
    int encoded = 0;
    for (int k = 0; k < 60; k++)
        encoded += compare_batch(m, &r, k % 6 == 5 ? 120 : 8 + k % 24);
    if (has_avx2())
        assert_true(encoded > 500);
    memory_free(m);
}

/* ---- text and verifier
 * ----------------------------------------------------------------------------- */

static void text_reads_back_as_the_same_body(void **state)
{
    (void)state;
    Rng r = {12345};
    Ctx cx;
    ctx_init(&cx, alloc_default());
    for (int k = 0; k < 300; k++) {
        RandomBody b;
        Body again;
        Buf one, two;
        random_body(&b, &cx, &r, false, 20);
        buf_init(&one, &cx);
        buf_init(&two, &cx);
        body_print(&one, &b.body);
        body_init(&again, &cx);
        body_parse(&again, one.s);
        body_print(&two, &again);
        assert_string_equal(one.s, two.s);
        assert_int_equal(b.body.ins.n, again.ins.n);
        for (int i = 0; i < again.ins.n; i++)
            if (again.ins.at[i].op == B_CONST && again.ins.at[i].k.f == again.ins.at[i].k.f)
                assert_memory_equal(&again.ins.at[i].k, &b.body.ins.at[i].k, sizeof(Scalar));
    }
    ctx_free(&cx);
}

/* Parses and verifies; the first problem's text, or NULL. The caller frees cx. */
static const char *problem_of(Ctx *cx, const char *text)
{
    ctx_init(cx, alloc_default());
    TRY(cx) {
        Body b;
        body_init(&b, cx);
        body_parse(&b, text);
        body_verify(cx, &b);
    }
    CATCH {}
    return cx->problems ? cx->problems->message : NULL;
}

#define PORTS "port 0 lanes float32 load\nport 1 lanes float32 store\nport 2 row int8 store\n"
static const char *const broken[][2] = {
    {"port 1 lanes float32 load\n", "numbered from 0"},
    {"port 0 lane float32 load\n", "lanes or row"},
    {"port 0 lanes float33 load\n", "type is missing"},
    {"port 0 lanes float32 read\n", "load or store"},
    {"port 0 lanes float32 load x\n", "text after the end"},
    {"%1 = const float32 1\n", "number of its instruction"},
    {"%0 = frob float32\n", "no such instruction"},
    {"%0 = prim frob float32 %0\n", "no such primitive"},
    {"%0 = const float32 x\n", "number is missing"},
    {"%0 = loop\n", "gives no value"},
    {"const float32 1\n", "number is missing"},
    {"%0 = prim add float32 %1 %2\n", "not an earlier value"},
    {PORTS "%0 = load float32 port 0\n", "outside a loop"},
    {PORTS "loop\n%1 = load float32 port 9\nend\n", "no port 9"},
    {PORTS "loop\n%1 = load float64 port 0\nend\n", "holds float32"},
    {PORTS "loop\n%1 = load float32 port 1\nend\n", "is for stores"},
    {PORTS "loop\n%1 = const int32 1\nstore int32 %1 port 2\nend\n", "can't be stored to"},
    {PORTS "loop\n%1 = const int32 1\nstore float32 %1 port 1\nend\n", "another type"},
    {"loop\nloop\nend\nend\n", "loop inside a loop"},
    {"loop\n", "without an end"},
    {"end\n", "without a loop"},
    {"%0 = iota int32\n", "inside a loop"},
    {"loop\n%1 = iota int32\nend\n%3 = prim neg int32 %1\n", "not visible"},
    {"loop\n%1 = iota int32\n%2 = rsum int32 %1\n%3 = prim neg int32 %2\nend\n", "not visible"},
    {"%0 = const float32 1\n%1 = rsum float32 %0\n", "outside a loop"},
    {"loop\n%1 = iota int32\n%2 = rany int32 %1\nend\n", "reduction of int32"},
    {"%0 = const float32 1\n%1 = const float64 1\n%2 = prim add float32 %0 %1\n", "differ in type"},
    {"%0 = const float32 1\n%1 = prim and float32 %0 %0\n", "does not exist"},
    {"%0 = const float32 1\n%1 = prim lt float32 %0 %0\n", "can't give"},
    {"%0 = const float32 1\n%1 = prim select float32 %0 %0 %0\n", "bool condition"},
    {"%0 = const float32 1\n%1 = prim neg float32 %0 round int8\n", "can't round"},
    {"%0 = const uint8 1\n", "do not exist"},
};

static void broken_bodies_are_refused_by_name(void **state)
{
    (void)state;
    for (int k = 0; k < NELEM(broken); k++) {
        Ctx cx;
        const char *problem = problem_of(&cx, broken[k][0]);
        if (!problem || !strstr(problem, broken[k][1]))
            fail_msg("case %d: `%s` does not say `%s`", k, problem ? problem : "no problem",
                broken[k][1]);
        ctx_free(&cx);
    }
}

/* ---- approximations
 * -------------------------------------------------------------------------------- */

/* The distance in units of the last place of the float32 nearest to `want`. */
static double ulps(float got, double want)
{
    float nearest = (float)want;
    if (isnan(want) || isinf(nearest) || isinf(got)) {
        bool same = isnan(want) ? isnan(got) : got == nearest;
        bool edge = fabsf(got) == 0x1.fffffep127f && fabs(want) < 0x1.000002p128;
        return same ? 0 : edge ? 1 : 1e9;
    }
    int e;
    frexp(want, &e);
    return fabs(got - want) / ldexp(1, MAX(e, -125) - 24);
}

typedef struct Approx {
    const char *prim;
    double (*f)(double);
    double limit;
} Approx;

enum { CHUNK = 1024 };

/* Steps through all bit patterns of a float32. */
static void check_unary(Ctx *cx, const Approx *a)
{
    Body b;
    body_init(&b, cx);
    body_parse(&b,
        ctx_printf(cx,
            "port 0 lanes float32 load\nport 1 lanes float32 store\nloop\n"
            "%%1 = load float32 port 0\n%%2 = prim %s float32 %%1\nstore float32 %%2 port 1\nend\n",
            a->prim));
    Vector code = assemble(cx, &b, false);
    assert_true(code.run != NULL || !has_avx2());
    static float x[CHUNK], y[CHUNK];
    void *ptr[] = {x, y};
    int64_t step[] = {0, 0};
    for (uint64_t bits = 0; code.run && bits < UINT64_C(1) << 32;) {
        for (int k = 0; k < CHUNK; k++, bits += 7919) {
            uint32_t u = (uint32_t)bits;
            memcpy(&x[k], &u, 4);
        }
        code.run(ptr, step, CHUNK, 1, code.pool);
        for (int k = 0; k < CHUNK; k++)
            if (!(ulps(y[k], a->f((double)x[k])) <= a->limit))
                fail_msg("%s(%a) = %a, not %a", a->prim, x[k], y[k], a->f((double)x[k]));
    }
    code_free(&code);
}

static const Approx approximations[] = {
    {"exp", exp, 1.6},
    {"log", log, 1.0},
    {"erf", erf, 5.5},
    {"tanh", tanh, 5.0},
    {"sin", sin, 2.0},
    {"cos", cos, 2.0},
};

static void functions_stay_within_their_errors(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    for (int k = 0; k < NELEM(approximations); k++)
        check_unary(&cx, &approximations[k]);
    ctx_free(&cx);
}

/* All pairs of special values, and many others, powers that models have among them. */
static void pow_is_right_for_special_and_other_values(void **state)
{
    (void)state;
    static const float special[] = {0, -0.0f, 1, -1, 0.5f, -0.5f, 2, -2, 3, -3, 16777215, -16777215,
        3e9f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3.4e38f, -3.4e38f, 0.99999994f,
        1.0000001f};
    enum { N = NELEM(special), MORE = 20000 };
    static float x[N * N + MORE], y[N * N + MORE], z[N * N + MORE];
    Rng r = {99};
    for (int k = 0; k < N * N + MORE; k++) {
        x[k] = k < N * N ? special[k / N]
                         : ldexpf((float)rng_next(&r) * 0x1p-32f, rng_below(&r, 60) - 30);
        y[k] = k < N * N ? special[k % N] : (float)((int32_t)rng_next(&r)) * 0x1p-26f;
    }
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Body b;
    body_init(&b, &cx);
    body_parse(&b,
        "port 0 lanes float32 load\nport 1 lanes float32 load\nport 2 lanes float32 store\nloop\n"
        "%1 = load float32 port 0\n%2 = load float32 port 1\n%3 = prim pow float32 %1 %2\n"
        "store float32 %3 port 2\nend\n");
    Vector code = assemble(&cx, &b, false);
    int64_t step[] = {0, 0, 0};
    if (code.run)
        code.run((void *[]){x, y, z}, step, N * N + MORE, 1, code.pool);
    for (int k = 0; code.run && k < N * N + MORE; k++) {
        double want = pow((double)x[k], (double)y[k]);
        if (!(ulps(z[k], want) <= 1.0) || (want == 0 && !signbit(want) != !signbit(z[k])))
            fail_msg("pow(%a, %a) = %a, not %a", x[k], y[k], z[k], want);
    }
    code_free(&code);
    ctx_free(&cx);
}

static void powers_of_constants_are_right(void **state)
{
    (void)state;
    static const float power[] = {1, 2, 3, -1, 0.5f, 1.5f};
    static float x[] = {0, -0.0f, 1, -1, 2, -2, 0.1f, 1e20f, 1e-30f, INFINITY, -INFINITY, NAN};
    for (int k = 0; k < NELEM(power); k++) {
        Ctx cx;
        ctx_init(&cx, alloc_default());
        Body b;
        body_init(&b, &cx);
        int in = body_port(&b, PORT_LANES, DT_F32, false),
            out = body_port(&b, PORT_LANES, DT_F32, true);
        body_loop(&b);
        int a = body_load(&b, in), p = body_const(&b, DT_F32, (Scalar){.f = power[k]});
        body_store(&b, out, body_prim(&b, P_pow, DT_F32, a, p, -1));
        body_end(&b);
        Vector code = assemble(&cx, &b, false);
        float y[NELEM(x)];
        if (code.run)
            code.run((void *[]){x, y}, (int64_t[]){0, 0}, NELEM(x), 1, code.pool);
        for (int i = 0; code.run && i < NELEM(x); i++)
            if (!(ulps(y[i], pow((double)x[i], (double)power[k])) <= 1.5))
                fail_msg("pow(%a, %a) = %a", x[i], power[k], y[i]);
        code_free(&code);
        ctx_free(&cx);
    }
}

static void exp_and_tanh_are_exact_at_zero(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Body b;
    body_init(&b, &cx);
    body_parse(&b,
        "port 0 lanes float32 load\nport 1 lanes float32 store\nport 2 lanes float32 store\nloop\n"
        "%1 = load float32 port 0\n%2 = prim exp float32 %1\n%3 = prim tanh float32 %1\n"
        "store float32 %2 port 1\nstore float32 %3 port 2\nend\n");
    Vector code = assemble(&cx, &b, false);
    float x[2] = {0, -0.0f}, e[2] = {1, 1}, t[2] = {0, -0.0f};
    void *ptr[] = {x, e, t};
    int64_t step[] = {0, 0, 0};
    if (code.run)
        code.run(ptr, step, 2, 1, code.pool);
    assert_true(e[0] == 1 && e[1] == 1 && t[0] == 0 && t[1] == 0 && signbit(t[1]));
    code_free(&code);
    ctx_free(&cx);
}

/* ---- sums
 * ------------------------------------------------------------------------------------------ */

static const char sums_text[] =
    "port 0 lanes float32 load\nport 1 row float32 store\nport 2 row float64 store\n"
    "loop\n%1 = load float32 port 0\n%2 = rsum float32 %1\n%3 = prim cast float64 %1\n"
    "%4 = rsum float64 %3\nend\nstore float32 %2 port 1\nstore float64 %4 port 2\n";

/* Rows of all lengths: the float32 sum within n roundings, the float64 sum of these exact. */
static void sums_are_close_for_every_length(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Body b;
    body_init(&b, &cx);
    body_parse(&b, sums_text);
    body_verify(&cx, &b);
    assert_int_equal(cx.n_problems, 0);
    Vector code = assemble(&cx, &b, false);
    for (int n = 1; code.run && n <= 200; n++) {
        float x[200], s[2] = {0};
        double d[2] = {0}, want = 0;
        for (int k = 0; k < n; k++)
            want += x[k] = (float)((k * 37) % 101) * 0.25f - 9;
        void *ptr[] = {x, s, d};
        int64_t step[] = {0, 4, 8};
        code.run(ptr, step, n, 2, code.pool);
        for (int row = 0; row < 2; row++) {
            assert_true(fabs(s[row] - want) <= n * 25.0 * n * 0x1p-24);
            assert_true(d[row] == want);
        }
    }
    code_free(&code);
    ctx_free(&cx);
}

/* What a loop computes beside a sum must not change how the sum is taken. */
static void sums_do_not_depend_on_what_is_beside_them(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Buf text;
    buf_init(&text, &cx);
    buf_puts(&text,
        "port 0 lanes float32 load\nport 1 row float32 store\nport 2 lanes float32 store\n"
        "loop\n%1 = load float32 port 0\n%2 = rsum float32 %1\n");
    for (int k = 3; k < 60; k++)
        buf_printf(&text, "%%%d = prim %s float32 %%1 %%%d\n", k, k % 2 ? "mul" : "add",
            k == 3 ? 1 : k - 1);
    buf_puts(&text,
        "%60 = rsum float32 %59\n%61 = rmax float32 %59\n%62 = rmin float32 %58\n"
        "store float32 %59 port 2\nend\nstore float32 %2 port 1\n");
    Body plain, busy;
    body_init(&plain, &cx);
    body_init(&busy, &cx);
    body_parse(&plain, sums_text);
    body_parse(&busy, text.s);
    Vector a = assemble(&cx, &plain, false), b = assemble(&cx, &busy, false);
    for (int n = 1; a.run && n < 150; n++) {
        float x[150], y[150], s = 0, t = 1;
        double d;
        for (int k = 0; k < n; k++)
            x[k] = 1.0f / (float)(k + 3);
        int64_t step[] = {0, 0, 0};
        a.run((void *[]){x, &s, &d}, step, n, 1, a.pool);
        b.run((void *[]){x, &t, y}, step, n, 1, b.pool);
        assert_memory_equal(&s, &t, 4);
    }
    code_free(&a);
    code_free(&b);
    ctx_free(&cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bodies_agree_to_the_bit),
        cmocka_unit_test(text_reads_back_as_the_same_body),
        cmocka_unit_test(broken_bodies_are_refused_by_name),
        cmocka_unit_test(functions_stay_within_their_errors),
        cmocka_unit_test(pow_is_right_for_special_and_other_values),
        cmocka_unit_test(powers_of_constants_are_right),
        cmocka_unit_test(exp_and_tanh_are_exact_at_zero),
        cmocka_unit_test(sums_are_close_for_every_length),
        cmocka_unit_test(sums_do_not_depend_on_what_is_beside_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
