/* op.c: what operator blocks are written with: checked access to inputs and attributes. See op.h.
 */
#include "graph/op.h"
#include <stdio.h>

const OpDef *op_find(const char *type, const char *domain, int opset)
{
    const OpDef *best = NULL; /* sorted by type, domain, since */
    int lo = 0, hi = op_table_n;
    while (lo < hi) {
        int mid = (lo + hi) / 2, c = strcmp(op_table[mid]->type, type);
        c = c ? c : strcmp(op_table[mid]->domain, domain);
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (int i = lo; i < op_table_n; i++) {
        const OpDef *d = op_table[i];
        if (strcmp(d->type, type) || strcmp(d->domain, domain) || d->since > opset)
            break;
        best = d;
    }
    return best;
}

static NORETURN void fail(Op *o, Code code, const char *tensor, const char *fmt, va_list ap)
{
    char text[1024];
    vsnprintf(text, sizeof text, fmt, ap);
    Where w = node_where(o->node);
    w.tensor = tensor;
    ctx_fail(o->cx, code, &w, "%s", text);
}

void op_error(Op *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail(o, ST_MODEL, NULL, fmt, ap);
}

void op_unsupported(Op *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail(o, ST_UNSUPPORTED, NULL, fmt, ap);
}

/* ---- inputs ------------------------------------------------------------------------------------
 */

int op_n_in(const Op *o) { return o->node->n_in; }

bool op_has_in(const Op *o, int i) { return i < o->node->n_in && o->node->in[i]; }

bool op_has_out(const Op *o, int i) { return i < o->node->n_out && o->node->out[i]; }

const Value *op_opt(Op *o, int i, unsigned types)
{
    if (!op_has_in(o, i))
        return NULL;
    const Value *v = o->node->in[i];
    if (v->kind != V_TENSOR)
        op_error(o, "input %d (%s) must be a tensor", i, v->name);
    if (!dtype_computes(v->type))
        op_unsupported(o, "element type %s of input %d (%s)", dtype_text(v->type), i, v->name);
    if (!(T_BIT(v->type) & types))
        op_error(o, "input %d (%s) has element type %s, which the operator does not take", i,
            v->name, dtype_text(v->type));
    return v;
}

const Value *op_in(Op *o, int i, unsigned types)
{
    if (!op_has_in(o, i))
        op_error(o, "input %d is required", i);
    return op_opt(o, i, types);
}

void op_same_type(Op *o, const Value *a, const Value *b)
{
    if (a->type != b->type)
        op_error(o, "inputs %s (%s) and %s (%s) must have the same element type", a->name,
            dtype_text(a->type), b->name, dtype_text(b->type));
}

void op_need_rank(Op *o, const Value *v, int lo, int hi)
{
    if (v->rank < lo || v->rank > hi)
        op_error(o, "input %s has rank %d; the operator takes %d to %d", v->name, v->rank, lo, hi);
}

int op_count(Op *o, const Value *v)
{
    int64_t dim[MAX_RANK];
    op_need_rank(o, v, 0, 1);
    if (!value_static(v, dim))
        op_unsupported(o, "the length of input %s is not known when compiling", v->name);
    int64_t n = v->rank ? dim[0] : 1;
    if (n > MAX_RANK * 2)
        op_error(o, "input %s has %lld elements: too many", v->name, (long long)n);
    return (int)n;
}

const Ix *op_elem_ix(Op *o, const Value *v, int i)
{
    const Expr *e = ex_cast(o->pool, DT_I64, value_elem(o->graph, (Value *)v, i));
    if (e->kind == EX_CONST)
        return ix_int(o->pool, MAX(-IX_INF, MIN(IX_INF, e->k.i)));
    if (e->kind == EX_IX)
        return e->ix;
    return ix_of_sym(o->pool, ix_sym_fresh(o->pool, e, -IX_INF));
}

const Tensor *op_const(Op *o, const Value *v)
{
    int64_t dim[MAX_RANK], n = 1;
    if (v->data && !v->is_input)
        return v->data;
    if (!value_static(v, dim) || !dtype_computes(v->type))
        return NULL;
    for (int k = 0; k < v->rank; k++)
        n *= dim[k];
    if (n > 1024 || !v->def)
        return NULL;
    Tensor *t = tensor_new(o->cx, v->type, v->rank, dim);
    for (int64_t i = 0; i < n; i++) {
        const Expr *e = value_elem(o->graph, (Value *)v, i);
        if (e->kind != EX_CONST)
            return NULL;
        scalar_store(v->type, t->data, i, e->k);
    }
    return t;
}

int op_const_ints(Op *o, const Value *v, int64_t *out, int max)
{
    const Tensor *t = op_const(o, v);
    if (!t)
        op_unsupported(o, "input %s must be known when compiling", v->name);
    if (t->count > max || t->rank > 1)
        op_error(o, "input %s must be a list of at most %d integers", v->name, max);
    for (int64_t i = 0; i < t->count; i++)
        out[i] = scalar_cast(t->type, DT_I64, scalar_load(t->type, t->data, i)).i;
    return (int)t->count;
}

/* ---- attributes --------------------------------------------------------------------------------
 */

static Attr *attr_of(Op *o, const char *name, AttrKind kind)
{
    Attr *a = node_attr(o->node, name);
    if (a && a->kind != kind)
        op_error(o, "attribute '%s' has the wrong type", name);
    return a;
}

bool op_has_attr(Op *o, const char *name) { return node_attr(o->node, name) != NULL; }

int64_t op_attr_i(Op *o, const char *name, int64_t dflt)
{
    Attr *a = attr_of(o, name, ATTR_INT);
    return a ? a->i : dflt;
}

double op_attr_f(Op *o, const char *name, double dflt)
{
    Attr *a = attr_of(o, name, ATTR_FLOAT);
    return a ? (double)a->f : (double)(float)dflt;
}

const char *op_attr_s(Op *o, const char *name, const char *dflt)
{
    Attr *a = attr_of(o, name, ATTR_STRING);
    return a ? a->s : dflt;
}

const int64_t *op_attr_ints(Op *o, const char *name, int *n)
{
    Attr *a = attr_of(o, name, ATTR_INTS);
    *n = a ? a->n : 0;
    return a ? a->ints : NULL;
}

const float *op_attr_floats(Op *o, const char *name, int *n)
{
    Attr *a = attr_of(o, name, ATTR_FLOATS);
    *n = a ? a->n : 0;
    return a ? a->floats : NULL;
}

int op_axis(Op *o, int64_t axis, int rank)
{
    if (axis < -rank || axis >= rank)
        op_error(o, "axis %lld is outside [%d, %d)", (long long)axis, -rank, rank);
    return (int)(axis < 0 ? axis + rank : axis);
}

const int *op_axes(Op *o, const char *name, int input, int rank, int *n)
{
    int64_t from_input[MAX_RANK];
    const int64_t *list = op_attr_ints(o, name, n);
    bool given = list || op_has_attr(o, name);
    if (input >= 0 && op_has_in(o, input)) {
        *n = op_const_ints(o, op_in(o, input, T_INDEX), from_input, MAX_RANK);
        list = from_input;
        given = true;
    }
    if (!given) {
        *n = -1;
        return NULL;
    }
    int *axes = NEW_N(o->cx, int, *n);
    bool seen[MAX_RANK] = {false};
    for (int i = 0; i < *n; i++) {
        axes[i] = op_axis(o, list[i], rank);
        if (seen[axes[i]])
            op_error(o, "axis %d is given twice", axes[i]);
        seen[axes[i]] = true;
    }
    for (int i = 0, k = 0; k < rank; k++)
        if (seen[k])
            axes[i++] = k;
    return axes;
}

/* ---- requirements ------------------------------------------------------------------------------
 */

void op_require(Op *o, const Expr *cond, const char *what)
{
    if (cond->kind == EX_CONST && cond->k.u)
        return;
    if (cond->kind == EX_CONST)
        op_error(o, "%s", what);
    VEC_PUSH(o->cx, &o->graph->guards, ((Guard){cond, o->node, what}));
}

void op_require_equal(Op *o, const Ix *a, const Ix *b, const char *what)
{
    if (a == b)
        return;
    if (ix_is_const(a) && ix_is_const(b))
        op_error(o, "%s: %lld and %lld differ", what, (long long)a->c, (long long)b->c);
    op_require(o, ex2(o->pool, eq, ex_ix(o->pool, a), ex_ix(o->pool, b)), what);
}
