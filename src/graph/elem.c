/* elem.c: the symbolic evaluator: elements of small integer tensors as expressions. Shape inference
 * over Shape, Gather, Concat, Mul... falls out of the operators' definitions. */
#include "graph/graph.h"

enum { ELEM_MAX = 1024, EXPAND_MAX = 256 };

bool value_static(const Value *v, int64_t *dim)
{
    for (int k = 0; k < v->rank; k++) {
        if (!ix_is_const(v->dim[k]))
            return false;
        dim[k] = v->dim[k]->c;
    }
    return v->rank >= 0;
}

/* A load with constant indices becomes the element that it names. */
static const Expr *trace_load(void *user, const Expr *load)
{
    Graph *g = user;
    Value *v = (Value *)load->value;
    int64_t dim[MAX_RANK], flat = 0;
    if (!value_static(v, dim) || !(dtype_is_int(v->type) || v->type == DT_BOOL))
        return load;
    for (int k = 0; k < load->n; k++) {
        if (!ix_is_const(load->idx[k]) || load->idx[k]->c < 0 || load->idx[k]->c >= dim[k])
            return load;
        flat = flat * dim[k] + load->idx[k]->c;
    }
    return value_elem(g, v, flat);
}

static const Expr *combine(Pool *p, Red red, const Expr *a, const Expr *b)
{
    return ex_prim(p, red_prim(red), a, b, NULL);
}

/* The definition's body with its axes at constant `at`; reductions of constant extent are written
 * out. */
static const Expr *trace_def(Graph *g, const Def *d, const int64_t *at)
{
    Pool *p = g->pool;
    int64_t total = 1, r[MAX_RANK];
    for (int k = 0; k < d->n_red; k++) {
        if (!ix_is_const(d->red_axis[k]->extent))
            return NULL;
        total *= r[k] = d->red_axis[k]->extent->c;
        if (total > EXPAND_MAX)
            return NULL;
    }
    const Expr *sum = d->red ? ex_identity(p, d->red, d->acc) : NULL;
    for (int64_t i = 0; i < total; i++) {
        Subst s;
        subst_init(&s, p);
        s.load = trace_load;
        s.user = g;
        for (int k = 0; k < d->n_axes; k++)
            subst_var(&s, d->axis[k], ix_int(p, at[k]));
        int64_t rest = i;
        for (int k = d->n_red - 1; k >= 0; k--, rest /= r[k + 1])
            subst_var(&s, d->red_axis[k], ix_int(p, rest % r[k]));
        const Expr *e = ex_subst(&s, d->body);
        sum = d->red ? combine(p, d->red, sum, e) : e;
    }
    return ex_cast(p, d->out->type, sum);
}

const Expr *value_elem(Graph *g, Value *v, int64_t flat)
{
    Pool *p = g->pool;
    int64_t dim[MAX_RANK], at[MAX_RANK], count = 1;
    if (v->data && !v->is_input)
        return ex_const(p, v->type, scalar_load(v->type, v->data->data, flat));
    const Ix *idx[MAX_RANK];
    value_static(v, dim);
    for (int k = v->rank - 1; k >= 0; k--) {
        at[k] = flat / count % dim[k];
        count *= dim[k];
        idx[k] = ix_int(p, at[k]);
    }
    const Expr *load = ex_load(p, v, v->rank, idx);
    if (!v->def || count > ELEM_MAX || v->def->n_red > MAX_RANK)
        return load;
    if (!v->elems)
        v->elems = NEW_N(g->cx, const Expr *, count);
    if (!v->elems[flat]) {
        const Expr *e = trace_def(g, v->def, at);
        v->elems[flat] = e ? e : load;
    }
    return v->elems[flat];
}
