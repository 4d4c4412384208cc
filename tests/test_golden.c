/* test_golden.c: golden texts: tests/golden/PASS/the-sentence-it-proves.txt holds a graph, a line
 * `---`, and what the state is after the pass.
 *
 *     test_golden [--bless]        --bless writes what is now into the files; review reads the diff
 *
 * Lines `// level 1`, `// fuse 0`, `// threads 2` before the graph set options. Constants given by
 * their hash alone get made-up elements. In the result variables and unnamed values are numbered as
 * they appear, so that a text does not change with what is made elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/ir_text.h"
#include "support/passes.h"

static bool bless;

/* ---- numbers that do not depend on the rest ---------------------------------------------------
 */

typedef struct Renumber {
    Ctx *cx;
    Buf out;
    Map known; /* "i17" or "#17" -> its number + 1 */
    int next[256];
} Renumber;

static int number_of(Renumber *r, const char *token, size_t n)
{
    char *key = ctx_strndup(r->cx, token, n);
    intptr_t known = (intptr_t)map_get_str(&r->known, key);
    if (!known) {
        known = ++r->next[(unsigned char)token[0]];
        map_put_str(&r->known, key, (void *)known);
    }
    return (int)known - 1;
}

static size_t quoted_length(const char *s)
{
    size_t n = 1;
    while (s[n] && s[n] != '"')
        n += s[n] == '\\' && s[n + 1] ? 2 : 1;
    return n + (s[n] != 0);
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS "0123456789"

/* %name#17, %#17: the name stays. */
static size_t put_value(Renumber *r, const char *s)
{
    size_t n = 1;
    n += s[1] == '"' ? quoted_length(s + 1) : strspn(s + 1, LETTERS DIGITS "./-");
    buf_write(&r->out, s, n);
    if (s[n] != '#')
        return n;
    size_t digits = strspn(s + n + 1, DIGITS);
    buf_printf(&r->out, "#%d", number_of(r, s + n, digits + 1));
    return n + 1 + digits;
}

static size_t put_word(Renumber *r, const char *s)
{
    size_t n = strspn(s, LETTERS DIGITS ".");
    char *word = ctx_strndup(r->cx, s, n);
    if (ir_is_var_name(word))
        buf_printf(&r->out, "%c%d", s[0], number_of(r, s, n));
    else
        buf_puts(&r->out, word);
    return n;
}

static const char *renumbered(Ctx *cx, const char *s)
{
    Renumber r = {.cx = cx};
    buf_init(&r.out, cx);
    map_init(&r.known, cx);
    while (*s) {
        size_t n = *s == '"' ? quoted_length(s) : strspn(s, DIGITS);
        if (*s == '%')
            s += put_value(&r, s);
        else if (n) /* a number's letters belong to it */
            n += *s == '"' ? 0 : strspn(s + n, LETTERS DIGITS), buf_write(&r.out, s, n), s += n;
        else if (!strncmp(s, "kernel ", 7)) /* k00 is no variable */
            buf_write(&r.out, s, 7 + strcspn(s + 7, " ")), s += 7 + strcspn(s + 7, " ");
        else if (strspn(s, LETTERS))
            s += put_word(&r, s);
        else
            buf_putc(&r.out, *s++);
    }
    return r.out.s;
}

/* ---- a file ---------------------------------------------------------------------------------- */

typedef struct Golden {
    const char *path;
    char pass[32];
    char *graph, *want; /* the two parts */
} Golden;

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(f);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    return text;
}

static void open_golden(Golden *g, const char *path)
{
    const char *folder = path + strlen(SINTER_SOURCE_DIR "/tests/golden/");
    g->path = path;
    snprintf(g->pass, sizeof g->pass, "%.*s", (int)strcspn(folder, "/"), folder);
    g->graph = read_file(path);
    g->want = strstr(g->graph, "\n---\n");
    if (!g->want)
        fail_msg("%s: there is no line ---", path);
    g->want[1] = 0;
    g->want += 5;
}

/* Folders that are no rows of the pass table: what the pass that does their work leaves. */
static const char *row_of(const char *pass)
{
    return !strcmp(pass, "constfold") ? "infer" : !strcmp(pass, "dce") ? "lower" : pass;
}

static int option(const Golden *g, const char *name, int otherwise)
{
    char line[64];
    snprintf(line, sizeof line, "// %s ", name);
    const char *at = strstr(g->graph, line);
    return at ? atoi(at + strlen(line)) : otherwise;
}

static const char *result(Ctx *cx, const Golden *g)
{
    Module *m = NEW(cx, Module);
    Buf b;
    m->cx = cx;
    m->opt = passes_options(option(g, "level", 2), option(g, "fuse", 1));
    m->opt.threads = option(g, "threads", 1);
    m->graph = graph_parse(cx, g->graph);
    graph_verify(m->graph);
    passes_make_up(cx, m->graph);
    passes_each(m, row_of(g->pass), NULL, NULL);
    buf_init(&b, cx);
    buf_puts(&b, "");
    module_print(m, &b);
    return renumbered(cx, b.s);
}

static void write_golden(const Golden *g, const char *got)
{
    FILE *f = fopen(g->path, "wb");
    assert_non_null(f);
    fprintf(f, "%s---\n%s", g->graph, got);
    assert_int_equal(fclose(f), 0);
}

static void check(const char *path)
{
    Ctx cx;
    Golden g;
    const char *volatile got = NULL;
    open_golden(&g, path);
    ctx_init(&cx, alloc_default());
    TRY(&cx)
        got = result(&cx, &g);
    CATCH
        fail_msg("%s: %s", path, cx.problems->message);
    if (bless && strcmp(got, g.want))
        write_golden(&g, got);
    else if (strcmp(got, g.want))
        fail_msg("%s\nwanted:\n%s\ngot:\n%s\n(test_golden --bless accepts it)", path, g.want, got);
    ctx_free(&cx);
    free(g.graph);
}

static void golden_test(void **state) { check(*state); }

/* One test for each file, called like it. */
int main(int argc, char **argv)
{
    glob_t files;
    bless = argc > 1 && !strcmp(argv[1], "--bless");
    if (glob(SINTER_SOURCE_DIR "/tests/golden/*/*.txt", 0, NULL, &files) || files.gl_pathc < 30) {
        fprintf(stderr, "golden texts are missing\n");
        return 1;
    }
    struct CMUnitTest *tests = calloc(files.gl_pathc, sizeof *tests);
    for (size_t i = 0; tests && i < files.gl_pathc; i++)
        tests[i] =
            (struct CMUnitTest){.name = files.gl_pathv[i] + strlen(SINTER_SOURCE_DIR "/tests/"),
                .test_func = golden_test,
                .initial_state = files.gl_pathv[i]};
    int failed = _cmocka_run_group_tests("golden", tests, files.gl_pathc, NULL, NULL);
    free(tests);
    globfree(&files);
    return failed;
}
