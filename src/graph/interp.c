/* interp.c: evaluates definitions directly. Written for obviousness; nothing here is fast. */
#include "graph/interp.h"
#include "graph/pool.h"

static Scalar eval(Interp *it, const Expr *e);

Interp *interp_new(Ctx *cx, Pool *pool, TensorOf tensor_of, void *user, const int64_t *sym)
{
    Interp *it = NEW(cx, Interp);
    *it = (Interp){.cx = cx,
        .pool = pool,
        .tensor_of = tensor_of,
        .user = user,
        .sym = sym,
        .stamp = 1};
    it->computed = NEW(cx, Map);
    map_init(it->computed, cx);
    return it;
}

/* The pool grows while the compiler works: room for every variable and expression there is. */
void interp_room(Interp *it)
{
    if (it->n_var < it->pool->n_vars) {
        int n = it->pool->n_vars * 2;
        int64_t *var = NEW_N(it->cx, int64_t, n);
        if (it->n_var)
            memcpy(var, it->var, (size_t)it->n_var * sizeof *var);
        it->var = var;
        it->n_var = n;
    }
    if (it->n_memo < it->pool->n_exprs) {
        int n = it->pool->n_exprs * 2;
        Memo *memo = NEW_N(it->cx, Memo, n);
        if (it->n_memo)
            memcpy(memo, it->memo, (size_t)it->n_memo * sizeof *memo);
        it->memo = memo;
        it->n_memo = n;
    }
}

static NORETURN void run_error(Interp *it, const char *what)
{
    Where w = it->node ? node_where(it->node) : (Where){0};
    ctx_fail(it->cx, ST_RUNTIME, &w, "%s", what);
}

static int64_t eval_atom(Interp *it, const Atom *a)
{
    int64_t x, y;
    switch (a->kind) {
    case AT_VAR: return it->var[a->var->id];
    case AT_SYM: return it->sym[a->sym->id];
    case AT_DATA: return eval(it, a->data).i;
    default: break;
    }
    x = interp_ix(it, a->a);
    y = interp_ix(it, a->b);
    switch (a->kind) {
    case AT_DIV: return y > 0 ? floor_div(x, y) : 0;
    case AT_MOD: return y > 0 ? floor_mod(x, y) : 0;
    case AT_MIN: return MIN(x, y);
    default: return MAX(x, y);
    }
}

int64_t interp_ix(Interp *it, const Ix *a)
{
    int64_t sum = a->c;
    for (int i = 0; i < a->n; i++) {
        int64_t t = a->term[i].coef;
        for (int j = 0; j < a->term[i].n; j++)
            t = (int64_t)((uint64_t)t * (uint64_t)eval_atom(it, a->term[i].atom[j]));
        sum = (int64_t)((uint64_t)sum + (uint64_t)t);
    }
    return sum;
}

static const Tensor *tensor_of(Interp *it, const Value *v)
{
    const Tensor *t = it->tensor_of ? it->tensor_of(it->user, v) : NULL;
    if (!t && v->data)
        t = v->data;
    if (!t)
        t = map_get(it->computed, &v->id, sizeof v->id);
    if (!t && v->def) { /* compute it in a state of its own: the current element's must survive */
        Interp *inner = interp_new(it->cx, it->pool, it->tensor_of, it->user, it->sym);
        inner->computed = it->computed;
        t = interp_def(inner, v->def);
        map_put(it->computed, &v->id, sizeof v->id, (void *)t);
    }
    if (!t)
        run_error(it, ctx_printf(it->cx, "the value of %s is not known", v->name));
    return t;
}

static Scalar eval_load(Interp *it, const Expr *e)
{
    const Tensor *t = tensor_of(it, e->value);
    int64_t flat = 0;
    for (int k = 0; k < e->n; k++) {
        int64_t i = interp_ix(it, e->idx[k]);
        if (i < 0 || i >= t->dim[k])
            run_error(it,
                ctx_printf(it->cx, "index %lld is out of range for axis %d of size %lld of %s",
                    (long long)i, k, (long long)t->dim[k], e->value->name));
        flat = flat * t->dim[k] + i;
    }
    if (it->on_load)
        it->on_load(it->user, e->value, flat);
    return scalar_load(t->type, t->data, flat);
}

static Scalar eval_prim(Interp *it, const Expr *e)
{
    Scalar arg[3];
    if (e->prim == P_select) /* only the branch that is taken: the other may index out of range */
        return eval(it, e->arg[eval(it, e->arg[0]).u ? 1 : 2]);
    for (int i = 0; i < e->n; i++)
        arg[i] = eval(it, e->arg[i]);
    DType t = e->arg[0]->type;
    if ((e->prim == P_div || e->prim == P_mod) && !dtype_is_float(t) && arg[1].u == 0)
        run_error(it, "integer division by zero");
    return prim_eval(e->prim, t, e->type, arg);
}

static Scalar eval(Interp *it, const Expr *e)
{
    if (e->kind == EX_CONST)
        return e->k;
    Memo *m = &it->memo[e->id];
    if (m->stamp == it->stamp)
        return m->s;
    Scalar s = e->kind == EX_IX ? (Scalar){.i = interp_ix(it, e->ix)}
        : e->kind == EX_LOAD    ? eval_load(it, e)
                                : eval_prim(it, e);
    m = &it->memo[e->id]; /* evaluation may have moved the table */
    *m = (Memo){it->stamp, s};
    return s;
}

Scalar interp_expr(Interp *it, const Expr *e)
{
    interp_room(it);
    it->stamp++;
    return eval(it, e);
}

/* Steps the variables v[0..n) through their extents, the last fastest; false when all are done. */
static bool next(Interp *it, int n, const Var *const *v, const int64_t *extent)
{
    for (int k = n - 1; k >= 0; k--) {
        if (++it->var[v[k]->id] < extent[k])
            return true;
        it->var[v[k]->id] = 0;
    }
    return false;
}

static int64_t extents(Interp *it, int n, const Var *const *v, int64_t *extent)
{
    int64_t count = 1;
    for (int k = 0; k < n; k++) {
        extent[k] = interp_ix(it, v[k]->extent);
        it->var[v[k]->id] = 0;
        if (extent[k] < 0)
            run_error(it, "a dimension is negative");
        count *= extent[k];
    }
    return count;
}

static Scalar reduce(Interp *it, const Def *d)
{
    int64_t extent[SUBST_VARS];
    Scalar acc = red_identity(d->red, d->acc);
    if (extents(it, d->n_red, d->red_axis, extent))
        do {
            it->stamp++;
            Scalar arg[2] = {acc, eval(it, d->body)};
            acc = prim_eval(red_prim(d->red), d->acc, d->acc, arg);
        } while (next(it, d->n_red, d->red_axis, extent));
    return acc;
}

Scalar interp_element(Interp *it, const Def *d)
{
    it->stamp++;
    it->node = d->out->origin;
    return d->red ? scalar_cast(d->acc, d->out->type, reduce(it, d)) : eval(it, d->body);
}

Tensor *interp_def(Interp *it, const Def *d)
{
    interp_room(it);
    int64_t extent[MAX_RANK], flat = 0;
    it->node = d->out->origin; /* for messages about the extents */
    int64_t count = extents(it, d->n_axes, d->axis, extent);
    Tensor *t = tensor_new(it->cx, d->out->type, d->n_axes, extent);
    if (!count)
        return t;
    do
        scalar_store(t->type, t->data, flat++, interp_element(it, d));
    while (next(it, d->n_axes, d->axis, extent));
    return t;
}
