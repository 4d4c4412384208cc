/* mkops: the operator table from the OP rows of src/graph/ops/.
 *
 *     mkops OUT.c FILE.c...
 *
 * A row is `OP("Type", "domain", since, function)` at the start of a line; it may span lines. The
 * table is sorted by type, domain and version, so that op_find can search it and builds are
 * reproducible. Whatever does not parse is an error, never skipped: an operator must not vanish
 * because of a typing slip.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char type[128], domain[128], fn[128];
    int since;
    const char *file;
    int line;
} Row;

static Row *rows;
static int n_rows;

static void die(const char *file, int line, const char *what, const char *name)
{
    fprintf(stderr, "%s:%d: error: %s%s%s\n", file, line, what, name[0] ? ": " : "", name);
    exit(1);
}

static void *check(void *p)
{
    if (!p)
        die("mkops", 0, "out of memory", "");
    return p;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        die(path, 0, strerror(errno), "");
    size_t n = 0, got;
    char *text = check(malloc(65536));
    while ((got = fread(text + n, 1, 65535, f)) > 0) {
        n += got;
        text = check(realloc(text, n + 65536));
    }
    if (ferror(f))
        die(path, 0, "can't be read", "");
    fclose(f);
    text[n] = 0;
    return text;
}

static const char *skip_space(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

/* Takes `c`, with space around it; NULL stays NULL, so that a row parses as a chain. */
static const char *take(const char *s, char c)
{
    if (!s || *(s = skip_space(s)) != c)
        return NULL;
    return skip_space(s + 1);
}

static int word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* A run of name characters; `quoted` ones stand in quotes and may be empty. */
static const char *take_word(const char *s, int quoted, char *out, size_t size)
{
    size_t n = 0;
    if (!s || (quoted && *s++ != '"'))
        return NULL;
    while (word_char(*s) && n + 1 < size)
        out[n++] = *s++;
    out[n] = 0;
    if (quoted)
        return *s == '"' ? s + 1 : NULL;
    return n ? s : NULL;
}

static const char *parse_row(const char *s, Row *r)
{
    char since[16];
    s = take_word(take(s, '('), 1, r->type, sizeof r->type);
    s = take_word(take(s, ','), 1, r->domain, sizeof r->domain);
    s = take_word(take(s, ','), 0, since, sizeof since);
    s = take_word(take(s, ','), 0, r->fn, sizeof r->fn);
    if (!take(s, ')') || !r->type[0])
        return NULL;
    r->since = atoi(since);
    return r->since > 0 ? s : NULL;
}

static void scan(const char *path)
{
    char *text = read_file(path);
    int line = 1;
    for (const char *s = text; *s; s++) {
        if (*s == '\n')
            line++;
        if ((s != text && s[-1] != '\n') || strncmp(s, "OP(", 3))
            continue;
        rows = check(realloc(rows, (size_t)(n_rows + 1) * sizeof *rows));
        Row *r = &rows[n_rows++];
        r->file = path;
        r->line = line;
        if (!parse_row(s + 2, r))
            die(path, line, "write OP(\"Type\", \"domain\", since, function)", "");
    }
    free(text);
}

static int compare(const void *pa, const void *pb)
{
    const Row *a = pa, *b = pb;
    int c = strcmp(a->type, b->type);
    if (!c)
        c = strcmp(a->domain, b->domain);
    return c ? c : a->since - b->since;
}

/* OP defines op_def_<function>, so a function may stand in one row only. */
static void check_rows(void)
{
    for (int i = 0; i < n_rows; i++)
        for (int j = 0; j < i; j++) {
            if (!compare(&rows[i], &rows[j]))
                die(rows[i].file, rows[i].line, "a second row for this operator and version",
                    rows[i].type);
            if (!strcmp(rows[i].fn, rows[j].fn))
                die(rows[i].file, rows[i].line, "a second row with this function", rows[i].fn);
        }
}

static void print_table(FILE *f)
{
    fprintf(f,
        "/* Made by tools/mkops from src/graph/ops: do not edit. */\n#include \"graph/op.h\"\n\n");
    for (int i = 0; i < n_rows; i++)
        fprintf(f, "extern const OpDef op_def_%s;\n", rows[i].fn);
    fprintf(f, "const OpDef *const op_table[] = {\n");
    for (int i = 0; i < n_rows; i++)
        fprintf(f, "    &op_def_%s, /* %s %s %d */\n", rows[i].fn, rows[i].type, rows[i].domain,
            rows[i].since);
    fprintf(f, "    0};\nconst int op_table_n = %d;\n", n_rows);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: mkops OUT.c FILE.c...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        scan(argv[i]);
    if (n_rows)
        qsort(rows, (size_t)n_rows, sizeof *rows, compare);
    check_rows();
    FILE *f = fopen(argv[1], "w");
    if (!f)
        die(argv[1], 0, strerror(errno), "");
    print_table(f);
    if (fclose(f))
        die(argv[1], 0, strerror(errno), "");
    free(rows);
    return 0;
}
