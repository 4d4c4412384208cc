/* Every primitive on every type, every cast, load, store and constant: the C that is printed for
 * it, compiled by TinyCC, does what the interpreter's prim_eval and scalar_ functions say, to the
 * bit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <locale.h>
#include <math.h>

#include "codegen/spell.h"
#include "runtime/jit.h"
#include "support/random_body.h"

static const DType types[] = {DT_F32, DT_F64, DT_F16, DT_BF16, DT_BOOL, DT_I8, DT_U8, DT_I16,
    DT_U16, DT_I32, DT_U32, DT_I64, DT_U64};
enum { N = 400 };

#define BOTH(fn) \
    {#fn, (const void *)(uintptr_t)(fn)}, { #fn "f", (const void *)(uintptr_t)(fn##f) }
static const JitSym libm[] = {BOTH(sqrt), BOTH(exp), BOTH(log), BOTH(pow), BOTH(erf), BOTH(tanh),
    BOTH(sin), BOTH(cos), BOTH(tan), BOTH(asin), BOTH(acos), BOTH(atan), BOTH(sinh), BOTH(cosh),
    BOTH(asinh), BOTH(acosh), BOTH(atanh), BOTH(floor), BOTH(ceil), BOTH(trunc), BOTH(rint),
    BOTH(fabs), BOTH(fmod)};

/* One function: out[i] = p(a[i], b[i], c[i]). For select, s chooses between b and c. */
typedef struct Case {
    Prim p;
    DType in, out;
} Case;
typedef void Fn(const void *s, const void *a, const void *b, const void *c, void *out, int *sn_err);

static void print_case(Buf *t, int k, const Case *c)
{
    static const char *const plain[] = {"x", "y", "z"}, *const choice[] = {"w", "y", "z"};
    static const char *const from[] = {"a", "b", "c"};
    buf_printf(t,
        "void f%d(const void *s, const void *a, const void *b, const void *c, void *out, "
        "int *sn_err)\n",
        k);
    buf_printf(t,
        "{\n    sn_i64 i;\n    (void)sn_err;\n    for (i = 0; i < %d; i++) {\n        sn_u8 w = ",
        N);
    spell_load(t, DT_BOOL, "s", "i");
    buf_puts(t, ";\n");
    for (int j = 0; j < 3; j++) {
        buf_printf(t, "        %s %s = ", spell_ctype(c->in), plain[j]);
        spell_load(t, c->in, from[j], "i");
        buf_puts(t, ";\n");
    }
    buf_printf(t, "        %s r = ", spell_ctype(c->out));
    spell_prim(t, c->p, c->in, c->out, c->p == P_select ? choice : plain);
    buf_puts(t, ";\n        ");
    spell_store(t, c->out, "out", "i", "r");
    buf_puts(t, "\n    }\n}\n");
}

/* All primitives that a type has. */
static int list_cases(Case *at)
{
    int n = 0;
    for (int i = 0; i < NELEM(types); i++)
        for (int p = 0; p < N_PRIMS; p++) {
            char kind = prim_info[p].types;
            bool is_float = dtype_is_float(types[i]), logical = types[i] == DT_BOOL;
            bool fits = kind == 'f' || kind == 'p' ? is_float
                : kind == 'i'                      ? !is_float
                                                   : kind != 'a' || !logical;
            if (p == P_cast || !fits || (logical && (p == P_shl || p == P_shr)))
                continue;
            assert_true(spell_has((Prim)p, types[i]));
            at[n++] = (Case){(Prim)p, types[i], kind == 'c' || kind == 'p' ? DT_BOOL : types[i]};
        }
    for (int i = 0; i < NELEM(types); i++)
        for (int j = 0; j < NELEM(types); j++)
            at[n++] = (Case){P_cast, types[i], types[j]};
    return n;
}

static double random_double(Rng *r)
{
    static const double special[] = {0, -0.0, 1, -1, 0.5, 1.5, 2.5, 255.5, 256, 65504, 65519, 65520,
        3e38, -3e38, 4e38, 1e-45, 6e-8, 3e-8, 2147483647.5, -2147483649.0, 9223372036854775808.0,
        -9223372036854775808.0, 18446744073709551616.0, INFINITY, -INFINITY, NAN};
    if (rng_below(r, 4) == 0)
        return special[rng_below(r, NELEM(special))];
    return ldexp((double)(int32_t)rng_next(r), rng_below(r, 80) - 60);
}

static void fill(Rng *r, DType t, void *at)
{
    for (int i = 0; i < N; i++) {
        uint64_t u = (uint64_t)rng_next(r) << 32 | rng_next(r);
        Scalar k = {.u = rng_below(r, 2) ? u : u >> (58 + rng_below(r, 4))};
        if (rng_below(r, 8) == 0)
            k.u = (uint64_t)1 << rng_below(r, 64);
        if (rng_below(r, 4) == 0)
            k.u = 0 - k.u;
        k = dtype_is_float(t) ? scalar_f(t, random_double(r)) : scalar_cast(DT_I64, t, k);
        scalar_store(t, at, i, k);
    }
}

static bool same(DType t, const void *a, const void *b, int i)
{
    size_t bytes = (size_t)dtype_bytes(t);
    if (dtype_is_float(t) && isnan(scalar_load(t, a, i).f) && isnan(scalar_load(t, b, i).f))
        return true;
    return memcmp((const char *)a + (size_t)i * bytes, (const char *)b + (size_t)i * bytes,
               bytes) == 0;
}

static void check_case(const Case *c, Fn *f, Rng *r)
{
    static uint64_t s[N], a[3][N], got[N], want[N];
    fill(r, DT_BOOL, s);
    for (int j = 0; j < 3; j++)
        fill(r, c->in, a[j]);
    int err = 0;
    bool zero = false;
    f(s, a[0], a[1], a[2], got, &err);
    for (int i = 0; i < N; i++) {
        Scalar arg[3];
        for (int j = 0; j < 3; j++)
            arg[j] = scalar_load(c->in, a[j], i);
        zero = zero || (!dtype_is_float(c->in) && arg[1].u == 0);
        if (c->p == P_select)
            arg[0] = scalar_load(DT_BOOL, s, i);
        scalar_store(c->out, want, i, prim_eval(c->p, c->in, c->out, arg));
        if (!same(c->out, got, want, i))
            fail_msg("%s %s -> %s of %.17g, %.17g is %.17g, not %.17g", prim_info[c->p].name,
                dtype_text(c->in), dtype_text(c->out),
                scalar_double(c->in, scalar_load(c->in, a[0], i)),
                scalar_double(c->in, scalar_load(c->in, a[1], i)),
                scalar_double(c->out, scalar_load(c->out, got, i)),
                scalar_double(c->out, scalar_load(c->out, want, i)));
    }
    bool divides = (c->p == P_div || c->p == P_mod) && zero;
    assert_int_equal(err, divides ? 1 : 0);
}

/* Compiled under a locale whose decimal point is a comma, where there is one: no number may depend
 * on it. */
static void primitives_and_casts_of_all_types(void **state)
{
    (void)state;
    static Case cases[N_PRIMS * NELEM(types) + NELEM(types) * NELEM(types)];
    int n = list_cases(cases);
    Ctx cx;
    Buf text;
    ctx_init(&cx, alloc_default());
    buf_init(&text, &cx);
    buf_puts(&text, body_c_prelude);
    for (int k = 0; k < n; k++)
        print_case(&text, k, &cases[k]);
    setlocale(LC_ALL, "de_DE.UTF-8");
    JitCode *code = jit_tcc(&cx, text.s, libm, NELEM(libm));
    setlocale(LC_ALL, "C");
    Rng r = {7};
    for (int k = 0; k < n; k++)
        check_case(&cases[k], (Fn *)(uintptr_t)jit_symbol(code, ctx_printf(&cx, "f%d", k)), &r);
    ctx_free(&cx);
}

static void constants_read_back_to_the_bit(void **state)
{
    (void)state;
    Ctx cx;
    Buf text;
    ctx_init(&cx, alloc_default());
    buf_init(&text, &cx);
    buf_puts(&text, body_c_prelude);
    static uint64_t value[NELEM(types)][N], got[N];
    Rng r = {8};
    for (int t = 0; t < NELEM(types); t++) {
        fill(&r, types[t], value[t]);
        buf_printf(&text, "void k%d(void *out)\n{\n    %s v;\n", t, spell_ctype(types[t]));
        for (int i = 0; i < N; i++) {
            buf_puts(&text, "    v = ");
            spell_const(&text, types[t], scalar_load(types[t], value[t], i));
            buf_puts(&text, ";\n    ");
            spell_store(&text, types[t], "out", ctx_printf(&cx, "%d", i), "v");
            buf_putc(&text, '\n');
        }
        buf_puts(&text, "}\n");
    }
    JitCode *code = jit_tcc(&cx, text.s, libm, NELEM(libm));
    for (int t = 0; t < NELEM(types); t++) {
        ((void (*)(void *))(uintptr_t)jit_symbol(code, ctx_printf(&cx, "k%d", t)))(got);
        for (int i = 0; i < N; i++)
            assert_true(same(types[t], got, value[t], i));
    }
    ctx_free(&cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_and_casts_of_all_types),
        cmocka_unit_test(constants_read_back_to_the_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
