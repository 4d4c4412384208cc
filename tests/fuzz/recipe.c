/* recipe.c: see recipe.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/recipe.h"

/* splitmix64 (Sebastiano Vigna, public domain) */
uint64_t draw64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Multiples of 1/32, so that ties and equal elements occur. */
static double element(const RValue *v, uint64_t *rng, bool odd)
{
    static const double odd_ones[] = {INFINITY, -INFINITY, NAN, -0.0, 1e-40};
    double lo = v->lo, hi = v->hi;
    if (lo == hi) {
        lo = v->type == DT_BOOL || v->type == DT_U8 ? 0 : dtype_is_float(v->type) ? -2 : -8;
        hi = v->type == DT_BOOL ? 1 : -lo + (v->type == DT_U8 ? 16 : 0);
    }
    uint64_t bits = draw64(rng);
    if (odd && dtype_is_float(v->type) && bits % 61 == 0)
        return odd_ones[bits / 61 % NELEM(odd_ones)];
    double steps = dtype_is_float(v->type) ? 32 : 1;
    return lo + (double)(bits / 64 % (uint64_t)((hi - lo) * steps + 1)) / steps;
}

static void put(DType type, void *at, int64_t i, double x)
{
    Scalar s;
    if (dtype_is_float(type))
        s.f = x;
    else
        s.i = (int64_t)x;
    scalar_store(type, at, i, s);
}

static void fill(const Recipe *r, const RValue *v, int run, void *at, int64_t n)
{
    uint64_t rng = hash_bytes(v->name, strlen(v->name), (uint64_t)run + 1);
    for (int64_t i = 0; i < n; i++)
        put(v->type, at, i, element(v, &rng, r->odd));
}

static int64_t shape_of(const RValue *v, int run, int64_t *dim)
{
    int64_t n = 1;
    for (int k = 0; k < v->rank; k++)
        n *= dim[k] = v->dim[k].at[run];
    return n;
}

sinter_value *recipe_input(const Recipe *r, const RValue *v, int run)
{
    int64_t dim[RECIPE_RANK];
    sinter_value *made;
    sinter_tensor t;
    int64_t n = shape_of(v, run, dim);
    if (sinter_tensor_new((sinter_dtype)v->type, v->rank, dim, NULL, 0, &made, NULL) ||
        sinter_tensor_get(made, &t))
        return NULL;
    fill(r, v, run, t.data, n);
    return made;
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

static void dims_text(const RValue *v, char *s, size_t cap)
{
    s[0] = 0;
    for (int k = 0; k < v->rank; k++) {
        size_t n = strlen(s);
        const char *comma = k ? "," : "";
        if (v->dim[k].tag)
            snprintf(s + n, cap - n, "%sS%u", comma, v->dim[k].tag);
        else
            snprintf(s + n, cap - n, "%s%lld", comma, (long long)v->dim[k].at[0]);
    }
}

static void add_const(const Recipe *r, Pb *g, const RValue *v)
{
    int64_t dim[RECIPE_RANK] = {v->n_list};
    int64_t n = v->from == IN_LIST ? v->n_list : shape_of(v, 0, dim);
    size_t bytes = (size_t)n * (size_t)dtype_bytes(v->type);
    Pb t = pb_tensor(v->name, v->type, v->rank, dim);
    void *data = calloc(bytes + 1, 1);
    if (!data)
        abort();
    if (v->from == IN_CONST)
        fill(r, v, 0, data, n);
    pb_bytes(&t, TENSOR_RAW, v->from == IN_LIST ? (const void *)v->list : data, bytes);
    pb_msg(g, GRAPH_INITIALIZER, &t);
    free(data);
}

static void names_text(const Recipe *r, int n, const int *value, char *s)
{
    s[0] = 0;
    for (int i = 0; i < n; i++) {
        strcat(s, i ? "," : "");
        strcat(s, value[i] < 0 ? "" : r->value[value[i]].name);
    }
}

static void add_output(Pb *g, const RValue *v)
{
    Pb value = {0}, type = {0}, tensor = {0}; /* the type, and no shape */
    pb_int(&tensor, 1, v->type);
    pb_msg(&type, 1, &tensor);
    pb_str(&value, 1, v->name);
    pb_msg(&value, 2, &type);
    pb_msg(g, GRAPH_OUTPUT, &value);
}

Pb recipe_model(const Recipe *r)
{
    Pb g = {0};
    char in[256], out[128];
    for (int i = 0; i < r->n_values; i++) {
        const RValue *v = &r->value[i];
        dims_text(v, in, sizeof in);
        if (v->from == IN_INPUT)
            net_io(&g, GRAPH_INPUT, v->name, v->type, in);
        else if (v->from != IN_NODE)
            add_const(r, &g, v);
        if (v->output)
            add_output(&g, v);
    }
    for (int i = 0; i < r->n_nodes; i++) {
        const RNode *n = &r->node[i];
        names_text(r, n->n_in, n->in, in);
        names_text(r, n->n_out, n->out, out);
        if (!n->dropped)
            net_node(&g, n->op, in, out, n->attrs);
    }
    return pb_model(&g);
}

/* ---- cutting down ---------------------------------------------------------------------------- */

bool recipe_prune(Recipe *r)
{
    bool needed[RECIPE_VALUES] = {false}, any = false;
    for (int i = 0; i < r->n_values; i++)
        any |= needed[i] = r->value[i].output;
    for (int i = r->n_nodes - 1; i >= 0; i--) {
        RNode *n = &r->node[i];
        bool used = false;
        for (int k = 0; k < n->n_out; k++)
            used |= needed[n->out[k]];
        n->dropped |= !used;
        for (int k = 0; k < n->n_in && !n->dropped; k++)
            if (n->in[k] >= 0)
                needed[n->in[k]] = true;
    }
    for (int i = 0; i < r->n_values; i++)
        if (!needed[i] && r->value[i].from != IN_NODE)
            r->value[i].from = IN_NODE; /* by a node that is dropped: not written */
    return any;
}

bool recipe_drop(Recipe *r, int node)
{
    RNode *n = &r->node[node];
    for (int k = 0; k < n->n_out; k++)
        if (r->value[n->out[k]].rank < 0)
            return false;
    for (int k = 0; k < n->n_out; k++) {
        r->value[n->out[k]].from = IN_INPUT;
        r->value[n->out[k]].output = false;
    }
    n->dropped = true;
    return recipe_prune(r);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_sizes(const Recipe *r, FILE *to)
{
    uint32_t seen[64];
    int n = 0;
    for (int i = 0; i < r->n_values; i++)
        for (int k = 0; r->value[i].from == IN_INPUT && k < r->value[i].rank; k++) {
            const Dim *d = &r->value[i].dim[k];
            bool known = !d->tag || n == NELEM(seen);
            for (int j = 0; j < n; j++)
                known |= seen[j] == d->tag;
            if (known)
                continue;
            seen[n++] = d->tag;
            fprintf(to, "%sS%u=%lld,%lld", n == 1 ? "sizes " : " ", d->tag, (long long)d->at[0],
                (long long)d->at[1]);
        }
    fprintf(to, n ? "\n" : "");
}

static void print_value(const RValue *v, FILE *to)
{
    char dims[256];
    dims_text(v, dims, sizeof dims);
    if (v->from == IN_LIST) {
        fprintf(to, "list %s ", v->name);
        for (int i = 0; i < v->n_list; i++)
            fprintf(to, "%s%lld", i ? "," : "", (long long)v->list[i]);
        fprintf(to, v->n_list ? "\n" : "-\n");
        return;
    }
    fprintf(to, "%s %s %s %s", v->from == IN_INPUT ? "input" : "const", v->name,
        dtype_text(v->type), v->rank ? dims : "-");
    if (v->lo != v->hi)
        fprintf(to, " %.9g:%.9g", v->lo, v->hi);
    fputc('\n', to);
}

void recipe_print(const Recipe *r, FILE *to)
{
    char in[256], out[128];
    print_sizes(r, to);
    if (r->odd)
        fprintf(to, "odd\n");
    for (int i = 0; i < r->n_values; i++)
        if (r->value[i].from != IN_NODE)
            print_value(&r->value[i], to);
    for (int i = 0; i < r->n_nodes; i++) {
        const RNode *n = &r->node[i];
        names_text(r, n->n_in, n->in, in);
        names_text(r, n->n_out, n->out, out);
        if (!n->dropped)
            fprintf(to, "%s %s %s %s\n", n->op, in, out, n->attrs);
    }
    for (int i = 0; i < r->n_values; i++)
        if (r->value[i].output)
            fprintf(to, "output %s %s\n", r->value[i].name, dtype_text(r->value[i].type));
}

typedef struct Size {
    char name[24];
    Dim dim;
} Size;
typedef struct Reader {
    Recipe *r;
    int n_sizes;
    Size size[16];
} Reader;

static int value_of(Recipe *r, const char *name, size_t n)
{
    for (int i = 0; i < r->n_values; i++)
        if (strlen(r->value[i].name) == n && !strncmp(r->value[i].name, name, n))
            return i;
    RValue *v = &r->value[r->n_values];
    if (r->n_values == RECIPE_VALUES || n >= sizeof v->name)
        return -1;
    *v = (RValue){.from = IN_NODE, .rank = -1};
    memcpy(v->name, name, n);
    return r->n_values++;
}

static DType type_named(const char *name)
{
    for (int t = 1; t < DT_COUNT; t++)
        if (!strcmp(dtype_text((DType)t), name))
            return (DType)t;
    return DT_NONE;
}

/* One dim of a list: a number, or a symbol that `sizes` named. */
static Dim read_dim(const Reader *rd, const char *s, size_t n)
{
    for (int i = 0; i < rd->n_sizes; i++)
        if (strlen(rd->size[i].name) == n && !strncmp(rd->size[i].name, s, n))
            return rd->size[i].dim;
    long long fixed = strtoll(s, NULL, 10);
    return (Dim){.at = {fixed, fixed}};
}

static void read_sizes(Reader *rd, const char *s)
{
    int used;
    long long a, b;
    char name[24];
    while (rd->n_sizes < 16 && sscanf(s, " %23[^=]=%lld,%lld%n", name, &a, &b, &used) == 3) {
        Size *z = &rd->size[rd->n_sizes++];
        memcpy(z->name, name, sizeof name);
        z->dim = (Dim){.at = {a, b}, .tag = (uint32_t)rd->n_sizes};
        s += used;
    }
}

static bool read_value(Reader *rd, Origin from, const char *s)
{
    char name[24], type[24], dims[128];
    double lo = 0, hi = 0;
    if (sscanf(s, "%*s %23s %23s %127s %lf:%lf", name, type, dims, &lo, &hi) < 3)
        return false;
    int i = value_of(rd->r, name, strlen(name));
    if (i < 0)
        return false;
    RValue *v = &rd->r->value[i];
    v->from = from;
    v->type = type_named(type);
    v->rank = 0;
    v->lo = lo, v->hi = hi;
    for (const char *d = dims; *d && strcmp(dims, "-") && v->rank < RECIPE_RANK;) {
        size_t n = strcspn(d, ",");
        v->dim[v->rank++] = read_dim(rd, d, n);
        d += n + (d[n] != 0);
    }
    return v->type != DT_NONE;
}

static bool read_list(Recipe *r, const char *s)
{
    char name[24], list[256];
    if (sscanf(s, "%*s %23s %255s", name, list) != 2)
        return false;
    int i = value_of(r, name, strlen(name));
    if (i < 0)
        return false;
    RValue *v = &r->value[i];
    *v = (RValue){.from = IN_LIST, .type = DT_I64, .rank = 1};
    memcpy(v->name, name, sizeof name);
    char *end;
    for (char *c = list; *c && strcmp(list, "-") && v->n_list < RECIPE_LIST;
         c = *end ? end + 1 : end)
        v->list[v->n_list++] = strtoll(c, &end, 10);
    v->dim[0] = (Dim){.at = {v->n_list, v->n_list}};
    return true;
}

static int read_names(Recipe *r, const char *s, int *value, int most)
{
    int n = 0;
    while (*s && n < most) {
        size_t len = strcspn(s, ",");
        value[n++] = len ? value_of(r, s, len) : -1;
        s += len + (s[len] != 0);
    }
    return n;
}

static bool read_node(Recipe *r, const char *s)
{
    char in[256], out[128];
    int used = 0;
    if (r->n_nodes == RECIPE_NODES)
        return false;
    RNode *n = &r->node[r->n_nodes];
    if (sscanf(s, "%31s %255s %127s %n", n->op, in, out, &used) != 3)
        return false;
    snprintf(n->attrs, sizeof n->attrs, "%s", s + used);
    n->n_in = read_names(r, in, n->in, NELEM(n->in));
    n->n_out = read_names(r, out, n->out, NELEM(n->out));
    r->n_nodes++;
    return true;
}

static bool read_output(Recipe *r, const char *s)
{
    char name[24], type[24];
    if (sscanf(s, "%*s %23s %23s", name, type) != 2)
        return false;
    int i = value_of(r, name, strlen(name));
    if (i < 0)
        return false;
    r->value[i].output = true;
    r->value[i].type = type_named(type);
    return r->value[i].type != DT_NONE;
}

static bool read_line(Reader *rd, const char *s)
{
    char word[32] = "";
    if (sscanf(s, "%31s", word) != 1 || word[0] == '#')
        return true;
    if (!strcmp(word, "sizes"))
        return read_sizes(rd, s + 5), true;
    if (!strcmp(word, "odd"))
        return rd->r->odd = true;
    if (!strcmp(word, "list"))
        return read_list(rd->r, s);
    if (!strcmp(word, "output"))
        return read_output(rd->r, s);
    if (!strcmp(word, "input") || !strcmp(word, "const"))
        return read_value(rd, word[0] == 'i' ? IN_INPUT : IN_CONST, s);
    return read_node(rd->r, s);
}

bool recipe_read(Recipe *r, const char *text)
{
    memset(r, 0, sizeof *r);
    Reader rd = {.r = r};
    char line[1024];
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n >= sizeof line)
            return false;
        memcpy(line, text, n);
        line[n] = 0;
        text += n + (text[n] != 0);
        if (!read_line(&rd, line)) {
            fprintf(stderr, "can't read: %s\n", line);
            return false;
        }
    }
    return true;
}
