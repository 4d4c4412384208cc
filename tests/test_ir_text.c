/* test_ir_text.c: index forms, expressions, definitions and Loop IR read back from their texts as
 * what they were; texts that mean nothing are refused with their line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "codegen/contract.h"
#include "codegen/loop_text.h"
#include "support/passes.h"

/* ---- written by hand --------------------------------------------------------------------------
 */

/* Parses into an empty graph and prints; NULL and the message in *problem when that failed. */
static const char *reprint(Ctx *cx, const char *text, const char **problem)
{
    const char *volatile out = NULL;
    ctx_init(cx, alloc_default());
    TRY(cx) {
        IrReader r;
        Defs defs = {0};
        Buf b;
        Graph *g = graph_new(cx, NULL);
        ir_open(&r, g, text);
        ir_defs(&r, &defs);
        buf_init(&b, cx);
        buf_puts(&b, "");
        for (int i = 0; i < g->values.n; i++)
            if (!g->values.at[i]->def)
                ir_print_decl(&b, g->values.at[i]);
        for (int i = 0; i < defs.n; i++)
            def_print(&b, defs.at[i]);
        out = b.s;
    }
    CATCH {
        out = NULL;
    }
    *problem = out ? NULL : cx->problems->message;
    return out;
}

/* This text is as it is printed. */
static void assert_same(const char *text)
{
    Ctx cx;
    const char *problem, *again = reprint(&cx, text, &problem);
    if (!again)
        fail_msg("%s", problem);
    assert_string_equal(again, text);
    ctx_free(&cx);
}

static void assert_becomes(const char *text, const char *want)
{
    Ctx cx;
    const char *problem, *again = reprint(&cx, text, &problem);
    if (!again)
        fail_msg("%s", problem);
    assert_string_equal(again, want);
    ctx_free(&cx);
}

static void assert_refused(const char *text, const char *message)
{
    Ctx cx;
    const char *problem;
    assert_null(reprint(&cx, text, &problem));
    if (!strstr(problem, message))
        fail_msg("wanted '%s', got '%s'", message, problem);
    ctx_free(&cx);
}

static void a_map_and_a_reduction(void **state)
{
    (void)state;
    assert_same("input %x: float32[n, 8]\n"
                "const %w: float32[8, 5] order 1,0\n"
                "%y: float32[i0<n, j1<5] = sum:float32(k2<8; mul(%x[i0, k2], %w[k2, j1]))\n"
                "%z: float32[i3<n, j4<5] order 1,0 = max(%y[i3, j4], 0:float32)\n");
}

static void index_forms_of_every_kind(void **state)
{
    (void)state;
    assert_same("input %x: float32[n, m]\n"
                "input %p: int64[n]\n"
                "%a: float32[i0<n] = %x[min(m, i0), max(m, i0)]\n"
                "%b: float32[i1<n] = %x[(i1 / 3), ((5*i1 + 2) % 7)]\n"
                "%c: float32[i2<n] = %x[m*i2, (n - i2 - 1)]\n"
                "%d: float32[i3<n] = %x[at(%p[i3]), at(%p[i3] in -4..3)]\n"
                "%e: float32[i4<n] = %x[at(%p[i4] in 0..), at(add(%p[i4], ix(i4)) in ..9)]\n"
                "%f: int64[i5<(2*n + 1)] = ix((-i5 + 4611686018427387904))\n");
}

static void constants_of_every_kind(void **state)
{
    (void)state;
    assert_same("%a: float32[] = 0.1:float32\n"
                "%b: float64[] = -inf:float64\n"
                "%c: float32[] = nan7ff8000000000000:float32\n"
                "%d: float64[] = nanfff8000000000001:float64\n"
                "%e: float32[] = -0:float32\n"
                "%f: int64[] = -9223372036854775808\n"
                "%g: uint64[] = 18446744073709551615:uint64\n"
                "%h: int8[] = -128:int8\n"
                "%i: bool[] = true\n"
                "%j: bfloat16[] = 1.5:bfloat16\n");
}

static void every_primitive(void **state)
{
    (void)state;
    for (int p = 0; p < N_PRIMS; p++) {
        char text[512], args[64] = "%x[i0]";
        char kind = prim_info[p].types;
        const char *in = kind == 'i' ? "int32"
            : kind == 's'            ? "bool"
                                     : "float32",
                   *out = kind == 'c' || kind == 'p' ? "bool" : in;
        for (int i = 1; i < prim_info[p].arity; i++)
            snprintf(args + strlen(args), sizeof args - strlen(args), ", %%%c[i0]", "xyz"[i]);
        snprintf(text, sizeof text,
            "input %%x: %s[4]\ninput %%y: %s[4]\ninput %%z: %s[4]\n%%r: %s[i0<4] = %s%s(%s)\n", in,
            in, in, kind == 't' ? "int8" : out, prim_info[p].name, kind == 't' ? ":int8" : "",
            args);
        assert_same(text);
    }
}

static void every_reduction(void **state)
{
    (void)state;
    for (int red = RED_SUM; red <= RED_ALL; red++) {
        const char *t = red >= RED_ANY ? "bool" : "int32";
        char text[256];
        snprintf(text, sizeof text,
            "input %%x: %s[4, 5]\n%%r: %s[i0<4] = %s:%s(k1<5; %%x[i0, k1])\n", t, t, red_name[red],
            t);
        assert_same(text);
    }
}

static void names_that_are_not_plain(void **state)
{
    (void)state;
    assert_same("input %\"a b\": float32[\"batch size\", \"i7\", u0]\n"
                "input %a/b-c.0: float32[\"\"]\n"
                "%#2: float32[i0<\"i7\"] = %\"a b\"[0, i0, (u0 - 1)]\n"
                "%\"q\\\"\\\\\\n\\u0001\": float32[i1<\"\"] = %a/b-c.0[i1]\n"
                "%\"q\\\"\\\\\\n\\u0001\"#4: float32[i2<\"\"] = %a/b-c.0[i2]\n");
}

static void what_is_read_is_simplified(void **state)
{
    (void)state;
    assert_becomes("input %x: float32[32]\n%y: float32[i0<32] = mul(%x[(8*(i0 / 8) + i0 % 8)], "
                   "add(0.5:float32, 0.5:float32))\n",
        "input %x: float32[32]\n%y: float32[i0<32] = %x[i0]\n");
}

static void errors_say_where_and_what(void **state)
{
    (void)state;
    assert_refused("%y: float32[i0<4] = %x[i0]\n", "line 1: a value that exists");
    assert_refused("input %x: float32[4]\n%y: float32[i0<4] = %x[j0]\n",
        "line 2: a variable that exists");
    assert_refused("input %x: float32[4]\n%y: float32[i0<4] = %x[i0, i0]\n", "one index for each");
    assert_refused("%y: float33[] = 1\n", "an element type");
    assert_refused("%y: float32[] = 1.5\n", "an integer");
    assert_refused("%y: float32[] = 1\n", "broken definition");
    assert_refused("%y: int64[] = add(1, 1:int32)\n", "operands of other types");
    assert_refused("%y: float32[] = erf(1)\n", "operands of other types");
    assert_refused("%y: int64[i0<4] = ix((i0 / 0))\n", "a divisor above 0");
    assert_refused("%y: int64[] = 99999999999999999999\n", "64 bits");
    assert_refused("input %x: float32[4]\ninput %x: int8[4]\n", "the type that %x has");
    assert_refused("input %x: float32[4, 2] order 0,0\n", "an order of the axes");
    assert_refused("%y: int64[i0<4, i0<5] = 1\n", "the extent that this variable has");
    assert_refused("%y: int64[] = sum:int64(k0<3; 1\n", ") expected");
    assert_refused("%\"y: int64[] = 1\n", "\" expected");
}

/* Every text that is cut short, and every one with a byte changed, is read or refused. */
static void no_text_crashes(void **state)
{
    (void)state;
    static const char text[] =
        "input %\"x\\n\": float32[n, 8] order 1,0\n"
        "%y: float32[i0<n] = sum:float32(k1<8; select(lt(ix(i0), at(3 in 0..4)), "
        "%\"x\\n\"[min(i0, 3), (k1 % 3)], nan7ff8000000000000:float32))\n";
    static const char with[] = "%\"(),:;<0#9-";
    for (size_t at = 0; at < sizeof text - 1; at++)
        for (size_t w = 0; w < sizeof with; w++) {
            Ctx cx;
            const char *problem;
            char t[sizeof text];
            memcpy(t, text, sizeof t);
            t[at] = with[w]; /* the NUL at the end of `with` cuts */
            const char *again = reprint(&cx, t, &problem);
            assert_true(again || problem);
            ctx_free(&cx);
        }
}

/* ---- kernels written by hand ------------------------------------------------------------------
 */

/* NULL and the message in *problem when the kernel is refused. */
static const char *reprint_kernel(Ctx *cx, const char *text, const char **problem)
{
    const char *volatile out = NULL;
    ctx_init(cx, alloc_default());
    TRY(cx) {
        IrReader r;
        Buf b;
        ir_open(&r, graph_new(cx, NULL), text);
        buf_init(&b, cx);
        kernel_print(&b, loop_kernel(&r));
        out = b.s;
    }
    CATCH {
        out = NULL;
    }
    *problem = out ? NULL : cx->problems->message;
    return out;
}

/* Two places and these statements: as printed, or refused with this message. */
static void check_kernel(const char *stmts, const char *message)
{
    Ctx cx;
    char text[2048];
    const char *problem;
    snprintf(text, sizeof text,
        "kernel k00 id 0 accs 2 scratch 64 {\n"
        "  tile t0<4\n"
        "  place input %%x: float32[4, 8] = arg 0 strides [8, 1]\n"
        "  place value %%y: float32[4, 8] = arg 1 written strides [8, 1]\n"
        "  place value %%#2: float32[8] = scratch 0 bytes 32 strides [1]\n"
        "%s}\n",
        stmts);
    const char *again = reprint_kernel(&cx, text, &problem);
    if (message) {
        assert_null(again);
        if (!strstr(problem, message))
            fail_msg("wanted '%s', got '%s'", message, problem);
    } else if (!again)
        fail_msg("%s", problem);
    else
        assert_string_equal(again, text);
    ctx_free(&cx);
}

static void statements_of_every_kind(void **state)
{
    (void)state;
    check_kernel("  for i1<8 {\n"
                 "    let m2<9 = (i1 + 1)\n"
                 "    acc0: float32 = 0:float32\n"
                 "    for k3<m2 {\n"
                 "      acc0 = sum(acc0, %x[t0, k3])\n"
                 "    }\n"
                 "    if lt(ix(i1), 5) {\n"
                 "      %y[t0, i1] = acc0\n"
                 "      %#2[i1] = add(%x[t0, i1], 1:float32)\n"
                 "    }\n"
                 "  }\n"
                 "  %y[0, 0] = transpose %x[0, 0] rows 4 by 8 lanes 8 by 8\n",
        NULL);
    check_kernel("  body rows 1 lanes 8 {\n"
                 "    port 0 = %x[t0, 0] step 0\n"
                 "    port 1 = %#2[0] step 0\n"
                 "    port 2 = (t0 + 1) step 0\n"
                 "    code\n"
                 "    port 0 lanes float32 load\n"
                 "    port 1 lanes float32 store\n"
                 "    port 2 row int64 load\n"
                 "    loop\n"
                 "      %1 = load float32 port 0\n"
                 "      store float32 %1 port 1\n"
                 "    end\n"
                 "  }\n"
                 "  contract 6 x 16 {\n"
                 "    rows m1<2, o2<2\n"
                 "    column n3<8\n"
                 "    taps r4<3\n"
                 "    k k5<2\n"
                 "    out %y[0, 0] stride 8\n"
                 "    a %x[(2*m1 + o2), r4] if lt(ix(r4), ix(m1))\n"
                 "    b %#2[0] strides k 8 n 1 packed at 0\n"
                 "    table [16, 8, 1] inside -1 [1, 0, -1]\n"
                 "    scratch 0 zeros 0\n"
                 "  }\n",
        NULL);
}

static void the_verifier_refuses_broken_kernels(void **state)
{
    (void)state;
    check_kernel("  %x[t0, 0] = 1:float32\n", "not marked so");
    check_kernel("  %y[t0, 0] = acc1\n", "used before it begins");
    check_kernel("  %y[t0, 0] = acc2\n", "an accumulator that the kernel has");
    check_kernel("  for i1<8 {\n  }\n  %y[t0, i1] = 1:float32\n", "i1 has no value here");
    check_kernel("  if lt(%x[t0, 0], %x[0, i9]) {\n  }\n", "a variable that exists");
    check_kernel("  %z[0] = 1:float32\n", "a value that exists");
    check_kernel("  body rows 1 lanes 8 {\n    code\n    port 0 lanes float32 load\n  }\n",
        "other ports");
    check_kernel("  body rows 1 lanes 8 {\n    port 0 = %x[0, 0] step 0\n    code\n"
                 "    port 0 lanes float64 load\n  }\n",
        "port's type");
    check_kernel("  body rows 1 lanes 8 {\n    port 0 = t0 step 0\n    code\n"
                 "    port 0 row float32 load\n  }\n",
        "an index is not loaded as one");
}

/* ---- what the compiler makes ------------------------------------------------------------------
 */

static int definitions, kernels;

static void def_reads_back(Module *m, IrReader *r, const Def *d, const char *pass)
{
    Buf b;
    buf_init(&b, m->cx);
    def_print(&b, d);
    ir_next(r, b.s);
    for (int k = 0; k < d->n_axes + d->n_red; k++)
        ir_know_var(r, k < d->n_axes ? d->axis[k] : d->red_axis[k - d->n_axes]);
    const Def *x = ir_def(r);
    if (!ir_at_end(r) || x->body != d->body || x->out != d->out || x->red != d->red ||
        (d->red && x->acc != d->acc) || x->n_axes != d->n_axes || x->n_red != d->n_red) {
        Buf again;
        buf_init(&again, m->cx);
        def_print(&again, x);
        fail_msg("after %s, a definition reads back as another:\n%s%s", pass, b.s, again.s);
    }
    for (int k = 0; k < d->n_axes; k++)
        assert_ptr_equal(x->axis[k], d->axis[k]);
    for (int k = 0; k < d->n_red; k++)
        assert_ptr_equal(x->red_axis[k], d->red_axis[k]);
    definitions++;
}

static void know_vars(IrReader *r, const Stmts *list)
{
    for (int i = 0; i < list->n; i++) {
        const Stmt *s = list->at[i];
        if (s->var)
            ir_know_var(r, s->var);
        const Contract *c = s->call;
        for (int k = 0; c && k < c->n_m + c->n_tap; k++)
            ir_know_var(r, k < c->n_m ? c->m[k] : c->tap[k - c->n_m]);
        if (c)
            ir_know_var(r, c->n), ir_know_var(r, c->k);
        know_vars(r, &s->body);
    }
}

/* All that the emitters make of the kernel. */
static const char *emitted(Module *m, Kernel *k)
{
    Buf b;
    buf_init(&b, m->cx);
    for (int tier = 0; tier < 2; tier++) {
        EmitOptions o = {.tier = tier, .isa = "avx2"};
        emit_c(&b, m->cx, m->graph->pool, &k, 1, &o);
    }
    emit_cuda(&b, m->cx, m->graph->pool, &k, 1, &(EmitOptions){.isa = "avx2"});
    return b.s;
}

/* The text is the same, and so is all that is made of it: the text is complete. */
static void kernel_reads_back(Module *m, IrReader *r, Kernel *k)
{
    Buf b, again;
    buf_init(&b, m->cx);
    buf_init(&again, m->cx);
    kernel_print(&b, k);
    ir_next(r, b.s);
    for (int i = 0; i < k->tile.n; i++)
        ir_know_var(r, k->tile.at[i]);
    know_vars(r, &k->body);
    Kernel *x = loop_kernel(r);
    assert_true(ir_at_end(r));
    kernel_print(&again, x);
    assert_string_equal(b.s, again.s);
    assert_string_equal(emitted(m, k), emitted(m, x));
    kernels++;
}

static void all_read_back(void *user, Module *m, const char *pass)
{
    (void)user;
    IrReader r;
    ir_open(&r, m->graph, "");
    for (int i = 0; i < m->defs.n; i++)
        def_reads_back(m, &r, m->defs.at[i], pass);
    for (int i = 0; i < m->groups.n && !strcmp(pass, "schedule"); i++)
        kernel_reads_back(m, &r, m->groups.at[i]->kernel);
}

static void compiles_and_reads_back(const char *name, const char *path, int fuse)
{
    Ctx cx;
    ctx_init(&cx, alloc_default());
    TRY(&cx) {
        passes_each(passes_module(&cx, path, passes_options(2, fuse)), NULL, all_read_back, NULL);
        assert_false(model_unsupported(name));
    }
    CATCH
        if (!model_unsupported(name) || cx.problems->code != ST_UNSUPPORTED)
            fail_msg("%s: %s", name, cx.problems->message);
    ctx_free(&cx);
}

static void model_reads_back(const char *name, const char *path)
{
    compiles_and_reads_back(name, path, 0);
    compiles_and_reads_back(name, path, 1);
}

static void every_definition_and_kernel_of_every_model_reads_back_after_every_pass(void **state)
{
    (void)state;
    each_model(model_reads_back);
    assert_true(definitions > 10000);
    assert_true(kernels > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_and_a_reduction),
        cmocka_unit_test(index_forms_of_every_kind),
        cmocka_unit_test(constants_of_every_kind),
        cmocka_unit_test(every_primitive),
        cmocka_unit_test(every_reduction),
        cmocka_unit_test(names_that_are_not_plain),
        cmocka_unit_test(what_is_read_is_simplified),
        cmocka_unit_test(errors_say_where_and_what),
        cmocka_unit_test(no_text_crashes),
        cmocka_unit_test(statements_of_every_kind),
        cmocka_unit_test(the_verifier_refuses_broken_kernels),
        cmocka_unit_test(every_definition_and_kernel_of_every_model_reads_back_after_every_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
