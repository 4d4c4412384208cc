/* Code made in memory: it runs, it is never writable and executable at once, and every failure is
 * clean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/jit.h"

typedef JitCode *Compiler(Ctx *cx, const char *text, const JitSym *syms, int n_syms);
typedef int IntFn(int);

/* Compiles in a Ctx of its own; NULL when that failed (the problem is then in cx). */
static JitCode *compile_with(Compiler *compiler, Ctx *cx, const char *text, const JitSym *syms,
    int n_syms)
{
    JitCode *volatile code = NULL;
    TRY(cx) {
        code = compiler(cx, text, syms, n_syms);
    }
    CATCH {
        code = NULL;
    }
    return code;
}

static JitCode *compile(Ctx *cx, const char *text)
{
    return compile_with(jit_tcc, cx, text, NULL, 0);
}

static int call(const JitCode *code, const char *name, int x)
{
    IntFn *f = (IntFn *)(uintptr_t)jit_symbol(code, name);
    assert_non_null(f);
    return f(x);
}

static void compiled_code_runs(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    JitCode *code = compile(&cx,
        "static const int t[3] = {1, 2, 3}; int f(int x) { return x * 2 + t[x % 3]; }");
    assert_non_null(code);
    assert_int_equal(call(code, "f", 20), 43);
    assert_null(jit_symbol(code, "absent"));
    ctx_free(&cx);
}

static int triple(int x) { return 3 * x; }

static void given_symbols_resolve(void **state)
{
    (void)state;
    const JitSym syms[] = {{"triple", (const void *)triple}};
    Compiler *const compilers[] = {jit_tcc, jit_cc};
    for (int i = 0; i < NELEM(compilers); i++) {
        Ctx cx;
        ctx_init(&cx, alloc_default());
        JitCode *code = compile_with(compilers[i], &cx,
            "int triple(int); int f(int x) { return triple(x) + 1; }", syms, 1);
        assert_non_null(code);
        assert_int_equal(call(code, "f", 5), 16);
        ctx_free(&cx);
    }
}

static void names_of_the_process_do_not_resolve(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    assert_null(compile(&cx, "int getpid(void); int f(int x) { return x + getpid(); }"));
    assert_int_equal(cx.problems->code, ST_INTERNAL);
    assert_non_null(strstr(cx.problems->message, "getpid"));
    ctx_free(&cx);
}

/* mov eax, edi; add eax, 7; ret */
static void bodies_given_as_bytes_run(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    JitCode *code = compile(&cx,
        "extern int body(int); __asm__(\".globl body\\n.balign 64\\nbody:\\n"
        ".quad 0x9090c307c083f889\\n\"); int f(int x) { return body(x) * 2; }");
    assert_non_null(code);
    assert_int_equal(call(code, "f", 1), 16);
    assert_int_equal((uintptr_t)jit_symbol(code, "body") % 64, 0);
    ctx_free(&cx);
}

static void structs_and_wide_conversions_need_no_symbols(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    JitCode *code = compile(&cx,
        "typedef struct { long a[40]; } S;\n"
        "static S g(S s) { S t = {{0}}; t = s; return t; }\n"
        "int f(int x) { S s = {{1}}; s.a[3] = x;\n"
        "unsigned long long u = (unsigned long long)((double)x * 3.0);\n"
        "return (int)(g(s).a[3] + (long)u + (long)(float)u); }");
    assert_non_null(code);
    assert_int_equal(call(code, "f", 5), 35);
    ctx_free(&cx);
}

static void a_syntax_error_is_reported_with_its_line(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    assert_null(compile(&cx, "int f(int x)\n{\n    return x + y;\n}\n"));
    assert_int_equal(cx.n_problems, 1);
    assert_int_equal(cx.problems->code, ST_INTERNAL);
    assert_non_null(strstr(cx.problems->message, "'y' undeclared"));
    assert_non_null(strstr(cx.problems->message, "     3 |     return x + y;"));
    ctx_free(&cx);
}

static void an_error_leaves_the_next_compile_untouched(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        Ctx cx;
        ctx_init(&cx, alloc_default());
        assert_null(compile(&cx, "#define f g\nstruct S { int a; }; int f(int x) { if (x) { {{ "));
        assert_non_null(compile(&cx,
            "struct S { float b; }; int f(int x) { struct S s = {x}; return (int)s.b; }"));
        ctx_free(&cx);
    }
}

static void files_are_out_of_reach(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    assert_null(compile(&cx, "#include \"/proc/self/status\"\n"));
    assert_non_null(strstr(cx.problems->message, "not found"));
    ctx_free(&cx);
}

static void a_pool_too_small_is_enlarged(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    /* 16 MB of data out of 60 bytes of text: no pool sized from the text holds it. */
    JitCode *code =
        compile(&cx, "static const char t[16 << 20] = {5}; int f(int x) { return t[x]; }");
    assert_non_null(code);
    assert_int_equal(call(code, "f", 0), 5);
    ctx_free(&cx);
}

static void running_out_of_memory_anywhere_is_clean(void **state)
{
    (void)state;
    Compiler *const compilers[] = {jit_tcc, jit_cc};
    for (int i = 0; i < NELEM(compilers); i++) {
        bool done = false;
        for (int64_t n = 1; !done; n++) {
            Alloc alloc = *alloc_default();
            alloc.count = alloc.live_bytes = 0;
            alloc.fail_at = n;
            Ctx cx;
            ctx_init(&cx, &alloc);
            done = compile_with(compilers[i], &cx, "int f(int x) { return x; }", NULL, 0) != NULL;
            assert_true(done || cx.problems->code == ST_MEMORY);
            ctx_free(&cx);
            assert_int_equal(alloc.live_bytes, 0);
            assert_true(n < 1000);
        }
    }
}

/* The lines of /proc/self/maps whose permissions have both; and those that are executable and not
 * of a file or the kernel's. */
static void count_pages(int *writable_executable, int *made)
{
    char line[512], perm[8];
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    *writable_executable = *made = 0;
    while (fgets(line, sizeof line, f)) {
        assert_int_equal(sscanf(line, "%*s %7s", perm), 1);
        *writable_executable += perm[1] == 'w' && perm[2] == 'x';
        *made += perm[2] == 'x' && strstr(line, "memfd:sinter") != NULL;
    }
    fclose(f);
}

static void pages_are_never_writable_and_executable(void **state)
{
    (void)state;
    int wx, before, made;
    count_pages(&wx, &before);
    Ctx cx;
    ctx_init(&cx, alloc_default());
    assert_non_null(compile(&cx, "int f(int x) { return x; }"));
    count_pages(&wx, &made);
    assert_int_equal(wx, 0);
    assert_int_equal(made, before + 1);
    ctx_free(&cx);
    count_pages(&wx, &made);
    assert_int_equal(made, before);
}

/* In a child process, because the setting can't be taken back: 0 for the right answer. */
static int child_under_mdwe(void)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 };
    Ctx cx;
    ctx_init(&cx, alloc_default());
    if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0L, 0L, 0L) && errno != EINVAL)
        return 1;
    JitCode *code = compile(&cx, "int f(int x) { return x + 1; }");
    return code && call(code, "f", 41) == 42 ? 0 : 2;
}

static void code_runs_where_the_kernel_denies_writing_executables(void **state)
{
    (void)state;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid)
        _exit(child_under_mdwe());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void *compile_many(void *arg)
{
    int id = *(int *)arg;
    for (int i = 0; i < 50; i++) {
        char text[200];
        snprintf(text, sizeof text,
            "static int g(int x) { return x + %d; } int f(int x) { return g(x) * %d; }", i, id);
        Ctx cx;
        ctx_init(&cx, alloc_default());
        JitCode *code = compile(&cx, text);
        IntFn *f = code ? (IntFn *)(uintptr_t)jit_symbol(code, "f") : NULL;
        bool right = f && f(3) == (3 + i) * id;
        ctx_free(&cx);
        if (!right)
            return arg;
    }
    return NULL;
}

static void threads_compile_at_once(void **state)
{
    (void)state;
    pthread_t thread[2];
    int id[2] = {7, 11};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, compile_many, &id[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}

static void ten_thousand_functions_compile(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    Buf b;
    buf_init(&b, &cx);
    for (int i = 0; i < 10000; i++)
        buf_printf(&b, "int f%d(int x) { int a = x * %d; int b = a + 1; return b; }\n", i, i);
    JitCode *code = compile(&cx, b.s);
    assert_non_null(code);
    assert_int_equal(call(code, "f9999", 2), 19999);
    ctx_free(&cx);
}

static void the_system_compiler_says_what_is_wrong(void **state)
{
    (void)state;
    Ctx cx;
    ctx_init(&cx, alloc_default());
    assert_null(compile_with(jit_cc, &cx, "int f(int x)\n{\n    return x + ;\n}\n", NULL, 0));
    assert_int_equal(cx.problems->code, ST_INTERNAL);
    assert_non_null(strstr(cx.problems->message, ":3:"));
    ctx_free(&cx);
}

static void a_missing_system_compiler_is_named(void **state)
{
    (void)state;
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    Ctx cx;
    ctx_init(&cx, alloc_default());
    assert_null(compile_with(jit_cc, &cx, "int f(int x) { return x; }", NULL, 0));
    assert_int_equal(cx.problems->code, ST_RUNTIME);
    assert_non_null(strstr(cx.problems->message, "`cc`"));
    ctx_free(&cx);
    setenv("PATH", path, 1);
    free(path);
}

static void the_system_compilers_files_are_removed(void **state)
{
    (void)state;
    char dir[] = "/tmp/sinter-test-XXXXXX";
    assert_non_null(mkdtemp(dir));
    setenv("TMPDIR", dir, 1);
    Ctx cx;
    ctx_init(&cx, alloc_default());
    assert_non_null(compile_with(jit_cc, &cx, "int f(int x) { return x; }", NULL, 0));
    assert_null(compile_with(jit_cc, &cx, "wrong", NULL, 0));
    ctx_free(&cx);
    unsetenv("TMPDIR");
    assert_int_equal(rmdir(dir), 0); /* fails unless empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_code_runs),
        cmocka_unit_test(given_symbols_resolve),
        cmocka_unit_test(names_of_the_process_do_not_resolve),
        cmocka_unit_test(bodies_given_as_bytes_run),
        cmocka_unit_test(structs_and_wide_conversions_need_no_symbols),
        cmocka_unit_test(a_syntax_error_is_reported_with_its_line),
        cmocka_unit_test(an_error_leaves_the_next_compile_untouched),
        cmocka_unit_test(files_are_out_of_reach),
        cmocka_unit_test(a_pool_too_small_is_enlarged),
        cmocka_unit_test(running_out_of_memory_anywhere_is_clean),
        cmocka_unit_test(pages_are_never_writable_and_executable),
        cmocka_unit_test(code_runs_where_the_kernel_denies_writing_executables),
        cmocka_unit_test(threads_compile_at_once),
        cmocka_unit_test(ten_thousand_functions_compile),
        cmocka_unit_test(the_system_compiler_says_what_is_wrong),
        cmocka_unit_test(a_missing_system_compiler_is_named),
        cmocka_unit_test(the_system_compilers_files_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
