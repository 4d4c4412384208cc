/* filetype.c MODEL [FILE...]: says what kind of content each file has, like file(1), with a trained
 * network (models/magika): the model's labels.txt is read from its folder. Without FILE: standard
 * input.
 *
 * All files go through the network in one run: its batch dimension is symbolic, so one compiled
 * program serves any number of rows. A row is what the network was trained on: the first and the
 * last 1024 bytes of the content, white space at the ends stripped, as integers; 256 where there
 * are fewer bytes.
 */
#include <sinter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4096, EDGE = 1024, ROW = 2 * EDGE, PADDING = 256, FEW = 8, LABELS = 512 };

typedef struct {
    const char *name, *answer; /* the answer is known without the network, or NULL */
    int32_t row[ROW];
} Content;

static int is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The row of a file: its beginning from the left, its end up to the right, padding between. */
static void fill_row(int32_t *row, const unsigned char *head, size_t n, const unsigned char *tail,
    size_t m)
{
    while (n && is_space(*head)) {
        head++;
        n--;
    }
    while (m && is_space(tail[m - 1]))
        m--;
    for (size_t i = 0; i < EDGE; i++) {
        row[i] = i < n ? head[i] : PADDING;
        row[ROW - 1 - i] = i < m ? tail[m - 1 - i] : PADDING;
    }
}

/* Reads a whole stream into memory, whatever it is; NULL when that fails. */
static unsigned char *read_all(FILE *f, size_t *n)
{
    size_t room = 1 << 16, got;
    unsigned char *p = malloc(room);
    *n = 0;
    while (p && (got = fread(p + *n, 1, room - *n, f)) > 0) {
        *n += got;
        unsigned char *more = *n == room ? realloc(p, room *= 2) : p;
        if (!more)
            free(p);
        p = more;
    }
    if (p && ferror(f)) {
        free(p);
        p = NULL;
    }
    return p;
}

/* Contents too short for the network are named as its own package names them. */
static int content_read(const char *path, Content *c)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
    size_t n = 0;
    unsigned char *bytes = f ? read_all(f, &n) : NULL;
    if (f && f != stdin)
        fclose(f);
    if (!bytes) {
        perror(path);
        return 0;
    }
    size_t edge = n < BLOCK ? n : BLOCK;
    c->name = path;
    fill_row(c->row, bytes, edge, bytes + n - edge, edge);
    c->answer = n == 0 ? "empty" : c->row[FEW - 1] == PADDING ? "txt" : NULL;
    free(bytes);
    return 1;
}

/* labels.txt beside the model, a label a line; returns how many. */
static int labels_read(const char *model, char label[LABELS][64])
{
    char path[4096];
    const char *slash = strrchr(model, '/');
    snprintf(path, sizeof path, "%.*slabels.txt", slash ? (int)(slash - model) + 1 : 0, model);
    FILE *f = fopen(path, "r");
    int n = 0;
    while (f && n < LABELS && fscanf(f, "%63s", label[n]) == 1)
        n++;
    if (f)
        fclose(f);
    return n;
}

static void print_answers(const Content *c, int n, const sinter_tensor *t, char label[LABELS][64])
{
    for (int i = 0; i < n; i++) {
        const float *p = (const float *)t->data + i * t->dim[1];
        int best = 0;
        for (int k = 1; k < t->dim[1]; k++)
            best = p[k] > p[best] ? k : best;
        if (c[i].answer)
            printf("%s: %s\n", c[i].name, c[i].answer);
        else
            printf("%s: %s (%.1f %%)\n", c[i].name, label[best], 100 * p[best]);
    }
}

/* Runs the network on n rows; 0 when something went wrong, which err then says. */
static int classify(const sinter_program *program, const Content *c, int n, char label[LABELS][64],
    int n_labels, sinter_error *err)
{
    const int64_t dim[] = {n, ROW};
    sinter_run_context *run = NULL;
    sinter_value *in = NULL, *out = NULL;
    sinter_tensor t;
    int ok = 0;
    if (!sinter_context_new(program, &run, err) &&
        !sinter_tensor_new(SINTER_INT32, 2, dim, NULL, 0, &in, err) && !sinter_tensor_get(in, &t)) {
        for (int i = 0; i < n; i++)
            memcpy((int32_t *)t.data + i * ROW, c[i].row, sizeof c[i].row);
        ok = !sinter_run(run, (const sinter_value *const *)&in, 1, &out, 1, err) &&
            !sinter_tensor_get(out, &t);
    }
    if (ok && (t.dtype != SINTER_FLOAT32 || t.rank != 2 || t.dim[0] != n || t.dim[1] != n_labels)) {
        snprintf(err->message, sizeof err->message,
            "the model does not give a number for each of the %d labels", n_labels);
        ok = 0;
    }
    if (ok)
        print_answers(c, n, &t, label);
    sinter_value_free(in);
    sinter_context_free(run);
    return ok;
}

int main(int argc, char **argv)
{
    static char label[LABELS][64];
    static char *standard_input[] = {(char *)"-"};
    sinter_error err = {0};
    sinter_model *model = NULL;
    sinter_program *program = NULL;
    char **path = argc > 2 ? argv + 2 : standard_input;
    int n = argc > 2 ? argc - 2 : 1, ok = 0, n_labels = 0;
    Content *c = calloc((size_t)n, sizeof *c);

    if (argc < 2 || !c)
        snprintf(err.message, sizeof err.message, "usage: filetype MODEL [FILE...]");
    else if (!(n_labels = labels_read(argv[1], label)))
        snprintf(err.message, sizeof err.message, "there is no labels.txt beside %.256s", argv[1]);
    else if (!sinter_load_file(argv[1], NULL, &model, &err) &&
        !sinter_compile(model, NULL, &program, &err)) {
        int have = 0;
        for (int i = 0; i < n; i++)
            have += content_read(path[i], &c[have]);
        ok = have && classify(program, c, have, label, n_labels, &err) && have == n;
    }
    if (!ok && err.message[0])
        fprintf(stderr, "error: %s\n", err.message);
    sinter_program_free(program);
    sinter_model_free(model);
    free(c);
    return ok ? 0 : 1;
}
