/* random_graph.c: draws a recipe: inputs, nodes from the families, outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "fuzz/random_graph.h"

int64_t below(Draw *d, int64_t n) { return n > 0 ? (int64_t)(draw64(&d->rng) % (uint64_t)n) : 0; }
bool chance(Draw *d, int percent) { return below(d, 100) < percent; }

/* ---- values ---------------------------------------------------------------------------------- */

RValue *value_at(Draw *d, int v) { return &d->r->value[v]; }
Dim fixed(int64_t n) { return (Dim){.at = {n, n}}; }

bool dim_same(const Dim *a, const Dim *b)
{
    return a->tag == b->tag && a->at[0] == b->at[0] && a->at[1] == b->at[1];
}

Dim dim_of(const Dim *from, int64_t a, int64_t b, uint32_t how)
{
    uint32_t tag = from->tag ? (from->tag * 31 + how * 7 + 1000) % 1000003 + 100 : 0;
    return (Dim){.at = {a, b}, .tag = tag};
}

double elements(const RValue *v)
{
    double n[2] = {1, 1};
    for (int k = 0; k < v->rank; k++)
        for (int run = 0; run < 2; run++)
            n[run] *= (double)v->dim[k].at[run];
    return MAX(n[0], n[1]);
}

bool is_fixed(const RValue *v)
{
    for (int k = 0; k < v->rank; k++)
        if (v->dim[k].tag)
            return false;
    return true;
}

int add_value(Draw *d, Origin from, DType type, int rank, const Dim *dim)
{
    Recipe *r = d->r;
    if (r->n_values == RECIPE_VALUES || rank > RECIPE_RANK) {
        d->failed = true;
        return 0;
    }
    RValue *v = &r->value[r->n_values];
    *v = (RValue){.from = from, .type = type, .rank = rank, .scale = 2, .exact = true};
    for (int k = 0; k < rank; k++)
        v->dim[k] = dim[k];
    snprintf(v->name, sizeof v->name, "%c%d", "xwcv"[from], d -> n_names++);
    return r->n_values++;
}

int add_data(Draw *d, DType type, int rank, const Dim *dim)
{
    int v = add_value(d, IN_INPUT, type, rank, dim);
    if (is_fixed(value_at(d, v)) && chance(d, 70))
        value_at(d, v)->from = IN_CONST;
    return v;
}

int add_range(Draw *d, DType type, int rank, const Dim *dim, double lo, double hi)
{
    int v = add_data(d, type, rank, dim);
    value_at(d, v)->lo = lo;
    value_at(d, v)->hi = hi;
    value_at(d, v)->scale = MAX(hi, -lo);
    return v;
}

int add_list(Draw *d, int n, const int64_t *at)
{
    int v = add_value(d, IN_LIST, DT_I64, 1, (Dim[]){fixed(n)});
    value_at(d, v)->n_list = n;
    memcpy(value_at(d, v)->list, at, (size_t)n * sizeof *at);
    return v;
}

int pick(Draw *d)
{
    for (;;) {
        int64_t n = d->r->n_values, a = below(d, n), b = below(d, n);
        int v = (int)(chance(d, 60) ? MAX(a, b) : a);
        if (value_at(d, v)->from == IN_NODE || value_at(d, v)->from == IN_INPUT)
            return v;
    }
}

int pick_type(Draw *d, DType type)
{
    for (int i = 0; i < 20; i++) {
        int v = pick(d);
        if (value_at(d, v)->type == type)
            return v;
    }
    return -1;
}

int pick_float(Draw *d)
{
    for (int i = 0; i < 20; i++) {
        int v = pick(d);
        if (dtype_is_float(value_at(d, v)->type))
            return v;
    }
    return -1;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

int add_node(Draw *d, const char *op, int n_in, const int *in, DType type, int rank, const Dim *dim,
    const char *attrs, ...)
{
    int out = add_value(d, IN_NODE, type, rank, dim);
    Recipe *r = d->r;
    if (r->n_nodes == RECIPE_NODES || d->failed) {
        d->failed = true;
        return out;
    }
    RNode *n = &r->node[r->n_nodes++];
    RValue *v = value_at(d, out);
    *n = (RNode){.n_in = n_in, .n_out = 1, .out = {out}};
    snprintf(n->op, sizeof n->op, "%s", op);
    va_list ap;
    va_start(ap, attrs);
    vsnprintf(n->attrs, sizeof n->attrs, attrs, ap);
    va_end(ap);
    v->scale = value_at(d, in[0])->scale;
    for (int i = 0; i < n_in; i++) {
        n->in[i] = in[i];
        v->exact &= in[i] < 0 || value_at(d, in[i])->exact;
    }
    d->work += elements(v);
    return out;
}

int add_like(Draw *d, const char *op, int x, const char *attrs)
{
    RValue v = *value_at(d, x);
    return add_node(d, op, IN(x), v.type, v.rank, v.dim, "%s", attrs);
}

bool settle(Draw *d, int v, double scale, bool exact)
{
    RValue *x = value_at(d, v);
    x->scale = scale;
    x->exact &= exact;
    if (dtype_is_float(x->type) && scale > 60) {
        int c = add_value(d, IN_CONST, x->type, 0, NULL);
        value_at(d, c)->lo = 1 / (scale * 32);
        value_at(d, c)->hi = value_at(d, c)->lo * 1.001; /* one step: this number */
        RValue y = *x;
        int small = add_node(d, "Mul", IN(v, c), y.type, y.rank, y.dim, "%s", "");
        int t = chance(d, 50) ? small : add_like(d, "Tanh", small, "");
        value_at(d, t)->scale = 1;
        value_at(d, t)->exact = false;
    }
    return true;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static Dim any_dim(Draw *d)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 31, 32, 33, 40,
        64};
    if (chance(d, 2))
        return fixed(chance(d, 40) ? 0 : 1);
    return fixed(sizes[below(d, NELEM(sizes))]);
}

static DType any_type(Draw *d)
{
    static const DType types[] = {DT_I64, DT_I32, DT_BOOL, DT_F16, DT_BF16, DT_F64, DT_I8, DT_U8};
    return chance(d, 80) ? DT_F32 : types[below(d, NELEM(types))];
}

/* Two symbols, of any size in either run. */
static Dim symbol(Draw *d, const Dim *of) { return of[below(d, 2)]; }

static void add_input(Draw *d, DType type, const Dim *symbols)
{
    Dim dim[RECIPE_RANK];
    int rank = (int)ANY(d, 1, 2, 2, 3, 3, 4, 4, 4, 4, 5, 0);
    bool image = rank == 4;
    double n = 1;
    for (int k = rank - 1; k >= 0; k--) {
        dim[k] = any_dim(d);
        if (image && k == 0)
            dim[k] = fixed(ANY(d, 1, 1, 2, 3));
        if (symbols && chance(d, 35))
            dim[k] = symbol(d, symbols);
        while (n * (double)MAX(dim[k].at[0], dim[k].at[1]) > (double)d->most_elements)
            dim[k] = fixed(MAX(1, dim[k].at[0] / 2));
        n *= (double)MAX(MAX(dim[k].at[0], dim[k].at[1]), 1);
    }
    add_value(d, IN_INPUT, type, rank, dim);
}

static bool any_family(Draw *d)
{
    const FamilyRow *row = chance(d, 60) ? op_families : shape_families;
    int n = row == op_families ? n_op_families : n_shape_families;
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += row[i].weight;
    int64_t at = below(d, total);
    while (at >= row->weight)
        at -= row++->weight;
    return row->draw(d);
}

static void draw_nodes(Draw *d)
{
    int64_t wanted = chance(d, 70) ? 1 + below(d, 8) : 1 + below(d, 30);
    for (int tries = 0; tries < 400 && d->r->n_nodes < wanted && !d->failed; tries++) {
        Recipe *r = d->r;
        int nodes = r->n_nodes, values = r->n_values;
        double work = d->work;
        bool large = false;
        bool done = any_family(d);
        for (int i = values; i < r->n_values; i++)
            large |= elements(&r->value[i]) > (double)d->most_elements;
        if (done && !d->failed && !large && d->work <= d->most_work)
            continue;
        r->n_nodes = nodes; /* as if it had not been tried */
        r->n_values = values;
        d->work = work;
        d->failed = false;
    }
}

/* What nothing reads, and some values that are read. */
static void choose_outputs(Draw *d)
{
    Recipe *r = d->r;
    bool read[RECIPE_VALUES] = {false};
    for (int i = 0; i < r->n_nodes; i++)
        for (int k = 0; k < r->node[i].n_in; k++)
            if (r->node[i].in[k] >= 0)
                read[r->node[i].in[k]] = true;
    for (int i = 0; i < r->n_values; i++)
        if (r->value[i].from == IN_NODE)
            r->value[i].output = !read[i] || chance(d, 8);
}

void recipe_draw(Recipe *r, uint64_t seed)
{
    memset(r, 0, sizeof *r);
    Draw d = {.r = r, .rng = seed * 0x9e3779b97f4a7c15u + 1};
    bool large = chance(&d, 6);
    d.most_work = large ? 3e6 : 2e5;
    d.most_elements = large ? 100000 : 6000;
    r->odd = chance(&d, 5);
    Dim symbols[2];
    bool symbolic = chance(&d, 25);
    for (int i = 0; i < 2; i++)
        symbols[i] = (Dim){.at = {any_dim(&d).at[0], any_dim(&d).at[0]}, .tag = (uint32_t)i + 1};
    DType type = any_type(&d);
    for (int64_t n = 1 + below(&d, 3); n > 0; n--)
        add_input(&d, chance(&d, 80) ? type : any_type(&d), symbolic ? symbols : NULL);
    draw_nodes(&d);
    if (!r->n_nodes)
        add_like(&d, "Identity", 0, "");
    choose_outputs(&d);
    recipe_prune(r);
}
