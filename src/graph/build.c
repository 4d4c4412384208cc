/* build.c: what operator blocks build definitions with. See op.h. */
#include "graph/op.h"

static Build begin(Op *o, Value *v, DType type, int rank, const Ix *const *dim)
{
    if (rank > MAX_RANK)
        op_error(o, "rank %d is above the limit of %d", rank, MAX_RANK);
    Build b = {o, v, rank, NEW_N(o->cx, const Var *, rank), NEW_N(o->cx, const Ix *, rank)};
    static const char *const hint[] = {"i", "j", "k", "l", "m", "n", "o", "p"};
    v->kind = V_TENSOR;
    v->type = type;
    v->rank = rank;
    v->dim = NEW_N(o->cx, const Ix *, rank);
    v->origin = o->node;
    for (int k = 0; k < rank; k++) {
        if (dim[k]->hi < 0)
            op_error(o, "dimension %d of the result is negative (%lld)", k, (long long)dim[k]->hi);
        v->dim[k] = dim[k];
        b.var[k] = ix_var_new(o->pool, dim[k], hint[k % NELEM(hint)]);
        b.i[k] = ix_of_var(o->pool, b.var[k]);
    }
    return b;
}

Build op_out(Op *o, int out, DType type, int rank, const Ix *const *dim)
{
    /* An output nobody named is still defined: it costs nothing, and dead code elimination drops
     * it. */
    return op_has_out(o, out) ? begin(o, o->node->out[out], type, rank, dim)
                              : op_temp(o, type, rank, dim);
}

Build op_temp(Op *o, DType type, int rank, const Ix *const *dim)
{
    return begin(o, graph_value(o->graph, ""), type, rank, dim);
}

static Value *finish(Build *b, Red red, DType acc, int n_red, const Var *const *red_var,
    const Expr *body)
{
    Ctx *cx = b->o->cx;
    Def *d = NEW(cx, Def);
    const Var **rv = NEW_N(cx, const Var *, n_red);
    if (n_red)
        memcpy(rv, red_var, (size_t)n_red * sizeof *rv);
    *d = (Def){.out = b->out,
        .n_axes = b->rank,
        .n_red = n_red,
        .axis = b->var,
        .red_axis = rv,
        .red = red,
        .acc = acc,
        .body = body};
    VEC_PUSH(cx, &d->nodes, b->o->node);
    def_verify(cx, d);
    ctx_check(cx);
    b->out->def = d;
    VEC_PUSH(cx, &b->o->node->defs, d);
    return b->out;
}

Value *build_map(Build *b, const Expr *body)
{
    return finish(b, RED_NONE, b->out->type, 0, NULL, body);
}

Value *build_reduce(Build *b, Red red, DType acc, int n_red, const Var *const *red_var,
    const Expr *body)
{
    return finish(b, red, acc, n_red, red_var, body);
}

Value *op_constant(Op *o, Tensor *t)
{
    Value *v = graph_constant(o->graph, "", t);
    v->origin = o->node;
    return v;
}

void op_alias(Op *o, int out, const Value *v)
{
    Build b = op_out(o, out, v->type, v->rank, v->dim);
    build_map(&b, op_load(o, v, b.i));
}

const Var *op_var(Op *o, const Ix *extent, const char *name)
{
    return ix_var_new(o->pool, extent, name);
}

const Expr *op_load(Op *o, const Value *v, const Ix *const *idx)
{
    return ex_load(o->pool, v, v->rank, idx);
}

const Expr *op_load1(Op *o, const Value *v, const Ix *i) { return op_load(o, v, &i); }

const Expr *op_load0(Op *o, const Value *v)
{
    const Ix *zero[MAX_RANK];
    for (int k = 0; k < v->rank; k++)
        zero[k] = ix_int(o->pool, 0);
    return op_load(o, v, zero);
}

const Expr *op_bcast(Op *o, const Value *v, const Ix *const *idx, int rank)
{
    const Ix *at[MAX_RANK];
    for (int k = 0; k < v->rank; k++)
        at[k] = ix_is(v->dim[k], 1) ? ix_int(o->pool, 0) : idx[rank - v->rank + k];
    return op_load(o, v, at);
}

const Ix **op_bcast_dims(Op *o, int n, const Value *const *v, int *rank)
{
    *rank = 0;
    for (int j = 0; j < n; j++)
        *rank = MAX(*rank, v[j]->rank);
    const Ix **dim = NEW_N(o->cx, const Ix *, *rank);
    for (int k = 0; k < *rank; k++) {
        const Ix *d = NULL; /* a constant other than 1 decides; else the first symbol */
        for (int j = 0; j < n; j++) {
            int at = k - (*rank - v[j]->rank);
            const Ix *e = at < 0 ? NULL : v[j]->dim[at];
            if (e && !ix_is(e, 1) && (!d || (ix_is_const(e) && !ix_is_const(d))))
                d = e;
        }
        for (int j = 0; d && j < n; j++) {
            int at = k - (*rank - v[j]->rank);
            if (at >= 0 && !ix_is(v[j]->dim[at], 1))
                op_require_equal(o, v[j]->dim[at], d,
                    "dimensions to be broadcast are neither equal nor 1");
        }
        dim[k] = d ? d : ix_int(o->pool, 1);
    }
    return dim;
}

const Ix *op_flatten(Op *o, int n, const Ix *const *idx, const Ix *const *dim)
{
    const Ix *flat = ix_int(o->pool, 0);
    for (int k = 0; k < n; k++)
        flat = ix_add(o->pool, ix_mul(o->pool, flat, dim[k]), idx[k]);
    return flat;
}

void op_unflatten(Op *o, const Ix *flat, int n, const Ix *const *dim, const Ix **idx)
{
    for (int k = n - 1; k > 0; k--) {
        bool zero = ix_is(dim[k], 0); /* nothing will be read */
        idx[k] = zero ? ix_int(o->pool, 0) : ix_mod(o->pool, flat, dim[k]);
        flat = zero ? flat : ix_div(o->pool, flat, dim[k]);
    }
    if (n)
        idx[0] = flat;
}

const Ix *op_numel(Op *o, int n, const Ix *const *dim)
{
    const Ix *m = ix_int(o->pool, 1);
    for (int k = 0; k < n; k++)
        m = ix_mul(o->pool, m, dim[k]);
    return m;
}

const Ix *op_data_index(Op *o, const Expr *e, const Ix *n, bool wrap)
{
    Pool *p = o->pool;
    e = ex_cast(p, DT_I64, e);
    if (wrap) {
        const Expr *below = ex2(p, lt, e, ex_i(p, 0));
        e = ex_select(p, below, ex2(p, add, e, ex_ix(p, n)), e);
    }
    return ix_of_expr(p, e, 0, MAX(0, n->hi - 1));
}

/* ---- families ----------------------------------------------------------------------------------
 */

void op_unary(Op *o, unsigned types, MapFn f)
{
    const Value *x = op_in(o, 0, types);
    Build b = op_out(o, 0, x->type, x->rank, x->dim);
    const Expr *e = f(o, op_load(o, x, b.i));
    b.out->type = e->type;
    build_map(&b, e);
}

/* Before opset 7, B is aligned with A's axes from `axis` on (default: the last ones) if broadcast
 * is set. */
static const Expr *load_old_bcast(Op *o, const Value *a, const Value *b, const Ix *const *idx)
{
    if (!op_attr_i(o, "broadcast", 0)) {
        if (b->rank != a->rank)
            op_error(o, "inputs of rank %d and %d need broadcast=1", a->rank, b->rank);
        return op_bcast(o, b, idx, a->rank);
    }
    int64_t axis = op_attr_i(o, "axis", a->rank - b->rank);
    axis = axis < 0 ? axis + a->rank : axis;
    if (axis < 0 || axis + b->rank > a->rank)
        op_error(o, "attribute axis = %lld does not fit ranks %d and %d", (long long)axis, a->rank,
            b->rank);
    const Ix *at[MAX_RANK];
    for (int k = 0; k < b->rank; k++) {
        bool one = ix_is(b->dim[k], 1);
        if (!one)
            op_require_equal(o, b->dim[k], a->dim[axis + k], "dimensions to be broadcast");
        at[k] = one ? ix_int(o->pool, 0) : idx[axis + k];
    }
    return op_load(o, b, at);
}

void op_binary(Op *o, unsigned types, DType out, Map2Fn f)
{
    const Value *v[2] = {op_in(o, 0, types), op_in(o, 1, types)};
    op_same_type(o, v[0], v[1]);
    bool old = o->opset < 7;
    int rank = v[0]->rank;
    const Ix **dim = old ? v[0]->dim : op_bcast_dims(o, 2, v, &rank);
    Build b = op_out(o, 0, out ? out : v[0]->type, rank, dim);
    const Expr *x = op_bcast(o, v[0], b.i, rank);
    const Expr *y = old ? load_old_bcast(o, v[0], v[1], b.i) : op_bcast(o, v[1], b.i, rank);
    build_map(&b, f(o, x, y));
}
