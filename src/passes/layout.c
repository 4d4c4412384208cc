/* layout.c: the pass layout: in which order the axes of each value lie in memory. Contractions
 * write their columns innermost (channels last) and read rows that are contiguous along the
 * reduction; everything between follows what it reads. Inputs, outputs and constants stay
 * row-major; where a contraction can't read one of them along its rows, a transposed copy is made
 * first. */
#include "passes/pass.h"

typedef struct Largest {
    const Expr *load;
    int64_t bytes;
} Largest;

static int64_t hint_bytes(const Value *v)
{
    int64_t n = dtype_bytes(v->type);
    for (int k = 0; k < v->rank; k++)
        n *= MAX(1, ix_hint(v->dim[k]));
    return n;
}

static void find_largest(void *user, const Expr *load, bool in_index)
{
    Largest *l = user;
    int64_t n = hint_bytes(load->value);
    bool weights = value_is_const(load->value), had = l->load && !value_is_const(l->load->value);
    if (in_index || (weights && had))
        return;
    if (!l->load || n > l->bytes || (!had && !weights)) {
        l->load = load;
        l->bytes = n;
    }
}

static bool is_fixed(const Value *v) { return v->is_output || !v->def; }

/* rank[k]: where the axis of `load`'s value that variable v moves along lies in memory; -1 if it
 * moves none. */
static int memory_rank(const Expr *load, const Var *v)
{
    for (int i = 0; i < load->n; i++)
        if (ix_uses_var(load->idx[load->value->order[i]], v))
            return i;
    return -1;
}

/* Axes sorted by key, stable. */
static void set_order(Value *v, const int *key)
{
    for (int i = 0; i < v->rank; i++)
        v->order[i] = (int8_t)i;
    for (int i = 1; i < v->rank; i++) {
        int8_t x = v->order[i];
        int j = i;
        for (; j > 0 && key[v->order[j - 1]] > key[x]; j--)
            v->order[j] = v->order[j - 1];
        v->order[j] = x;
    }
}

/* Where an N axis comes before an M axis (NCHW), memory order is M, batch, N; else it is right as
 * it is. */
static void contraction_order(const Def *d, const Roles *r)
{
    int first_n = MAX_RANK, last_m = -1, key[MAX_RANK] = {0};
    for (int k = 0; k < d->n_axes; k++) {
        if (ix_is(d->axis[k]->extent, 1))
            continue;
        if (r->role[k] == ROLE_N)
            first_n = MIN(first_n, k);
        if (r->role[k] == ROLE_M)
            last_m = k;
    }
    static const int rank[] = {[ROLE_M] = 0, [ROLE_BATCH] = 1, [ROLE_N] = 2};
    /* Of several N axes the longest is the innermost: it is the one that panels run along. */
    for (int k = 0; k < d->n_axes && first_n < last_m; k++) {
        int64_t extent = MIN(ix_hint(d->axis[k]->extent), 1 << 24);
        key[k] = (rank[r->role[k]] << 25) + (r->role[k] == ROLE_N ? (int)extent : 0);
    }
    set_order(d->out, key);
}

/* The order of the largest operand, as far as its axes are ours. */
static void follow_operand(Module *m, const Def *d)
{
    Largest l = {NULL, 0};
    int key[MAX_RANK];
    ex_visit_loads(m->cx, d->body, find_largest, &l);
    if (!l.load)
        return;
    for (int k = 0, last = -1; k < d->n_axes; k++) {
        key[k] = memory_rank(l.load, d->axis[k]);
        if (key[k] < 0) /* stays beside the axis before it */
            key[k] = last;
        last = key[k];
    }
    set_order(d->out, key);
}

/* ---- copies ------------------------------------------------------------------------------------
 */

typedef struct Copy {
    const Value *from, *to;
    int innermost;
} Copy;
typedef struct Layout {
    Module *m;
    VEC(Copy) copies;
    VEC(Def *) defs;
    const Value *from, *to; /* of the replacement under way */
} Layout;

static const Expr *use_copy(void *user, const Expr *load)
{
    Layout *l = user;
    return load->value == l->from ? ex_load(l->m->graph->pool, l->to, load->n, load->idx) : load;
}

/* The axis along which a reduction variable moves with coefficient 1 and nothing else: A's rows can
 * run there. */
static int row_axis(Module *m, const Def *d, const Expr *a, const Expr *guard)
{
    int best = -1;
    int64_t longest = 0;
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < d->n_red; k++) {
            const Ix *rest, *coef = ix_coef(m->graph->pool, a->idx[i], d->red_axis[k], &rest);
            int64_t n = ix_hint(d->red_axis[k]->extent);
            n = ix_is_const(d->red_axis[k]->extent) ? d->red_axis[k]->extent->c : MAX(n, 64);
            bool elsewhere = guard && ex_uses_var(guard, d->red_axis[k]);
            for (int j = 0; j < a->n; j++)
                elsewhere |= j != i && ix_uses_var(a->idx[j], d->red_axis[k]);
            if (coef && ix_is(coef, 1) && !elsewhere && n > longest) {
                longest = n;
                best = i;
            }
        }
    return best;
}

static const Value *copy_with_order(Layout *l, const Value *v, int innermost)
{
    Module *m = l->m;
    for (int i = 0; i < l->copies.n; i++)
        if (l->copies.at[i].from == v && l->copies.at[i].innermost == innermost)
            return l->copies.at[i].to;
    Value *c = graph_value(m->graph, "");
    const Var **axis = NEW_N(m->cx, const Var *, v->rank);
    const Ix *idx[MAX_RANK];
    int key[MAX_RANK] = {0};
    c->kind = V_TENSOR;
    c->type = v->type;
    c->rank = v->rank;
    c->dim = v->dim;
    c->origin = v->origin;
    for (int k = 0; k < v->rank; k++) {
        axis[k] = ix_var_new(m->graph->pool, v->dim[k], "i");
        idx[k] = ix_of_var(m->graph->pool, axis[k]);
    }
    key[innermost] = 1;
    set_order(c, key);
    Def *d = NEW(m->cx, Def);
    *d = (Def){.out = c,
        .n_axes = v->rank,
        .axis = axis,
        .body = ex_load(m->graph->pool, v, v->rank, idx)};
    c->def = d;
    VEC_PUSH(m->cx, &l->defs, d);
    VEC_PUSH(m->cx, &l->copies, ((Copy){v, c, innermost}));
    return c;
}

/* Makes A's rows contiguous: by the producer's order if that is free, else by a copy. */
static void arrange_rows(Layout *l, Def *d, const Roles *r)
{
    const Value *v = r->a->value;
    int axis = row_axis(l->m, d, r->a, r->guard);
    if (axis < 0 || v->order[v->rank - 1] == axis)
        return;
    bool trailing_ones = true; /* axes of extent 1 behind it do no harm */
    for (int i = v->rank - 1; i >= 0 && v->order[i] != axis; i--)
        trailing_ones &= ix_is(v->dim[v->order[i]], 1);
    if (trailing_ones)
        return;
    l->from = v;
    l->to = copy_with_order(l, v, axis);
    Subst s;
    subst_init(&s, l->m->graph->pool);
    s.load = use_copy;
    s.user = l;
    d->body = ex_subst(&s, d->body);
}

/* ---- constants ---------------------------------------------------------------------------------
 */

/* A copy of constant v with axis `innermost` last in memory. */
static const Value *constant_with_order(Layout *l, const Value *v, int innermost)
{
    Module *m = l->m;
    for (int i = 0; i < l->copies.n; i++)
        if (l->copies.at[i].from == v && l->copies.at[i].innermost == innermost)
            return l->copies.at[i].to;
    Tensor *t = tensor_new(m->cx, v->type, v->rank, v->data->dim);
    Value *c = graph_constant(m->graph, v->name, t);
    c->twin = true;
    int key[MAX_RANK] = {0};
    key[innermost] = 1;
    set_order(c, key);
    c->origin = v->origin;
    int64_t stride[MAX_RANK], step = 1, at[MAX_RANK] = {0};
    size_t size = (size_t)dtype_bytes(v->type);
    for (int i = v->rank - 1; i >= 0; step *= t->dim[c->order[i]], i--)
        stride[c->order[i]] = step;
    for (int64_t flat = 0; flat < t->count; flat++) {
        int64_t to = 0;
        for (int k = 0; k < v->rank; k++)
            to += at[k] * stride[k];
        memcpy((char *)t->data + (size_t)to * size,
            (const char *)v->data->data + (size_t)flat * size, size);
        for (int k = v->rank - 1; k >= 0 && ++at[k] == t->dim[k]; k--)
            at[k] = 0;
    }
    VEC_PUSH(m->cx, &l->copies, ((Copy){v, c, innermost}));
    return c;
}

typedef struct Lanes {
    Layout *l;
    const Var *lane;
} Lanes;

/* Constants are stored so that the lanes of their reader run along memory. */
static const Expr *arrange_constant(void *user, const Expr *load)
{
    Lanes *u = user;
    const Value *v = load->value;
    if (!value_is_const(v) || !dtype_computes(v->type))
        return load;
    bool behind = false; /* an axis with more than one element lies behind the lanes' */
    for (int i = v->rank - 1; i >= 0; i--) {
        int k = v->order[i];
        const Ix *rest, *coef = ix_coef(u->l->m->graph->pool, load->idx[k], u->lane, &rest);
        if (coef && ix_is(coef, 1) && behind)
            return ex_load(u->l->m->graph->pool, constant_with_order(u->l, v, k), load->n,
                load->idx);
        behind |= !ix_is(v->dim[k], 1);
    }
    return load;
}

/* The variable that the lanes will be: of a reduction, the one along which its largest operand is
 * contiguous, if it reduces that; else the innermost axis of the result. */
static const Var *lane_axis(Module *m, const Def *d)
{
    Largest l = {NULL, 0};
    if (d->red != RED_NONE)
        ex_visit_loads(m->cx, d->body, find_largest, &l);
    for (int i = l.load ? l.load->n - 1 : -1; i >= 0; i--) {
        int k = l.load->value->order[i];
        if (ix_is(l.load->value->dim[k], 1))
            continue;
        for (int r = 0; r < d->n_red; r++)
            if (ix_uses_var(l.load->idx[k], d->red_axis[r]))
                return d->red_axis[r];
        break;
    }
    for (int i = d->n_axes - 1; i >= 0; i--)
        if (!ix_is(d->axis[d->out->order[i]]->extent, 1))
            return d->axis[d->out->order[i]];
    return NULL;
}

static void arrange_constants(Layout *l, Def *d)
{
    Lanes u = {l, lane_axis(l->m, d)};
    if (!u.lane)
        return;
    Subst s;
    subst_init(&s, l->m->graph->pool);
    s.load = arrange_constant;
    s.user = &u;
    d->body = ex_subst(&s, d->body);
}

void pass_layout(Module *m)
{
    Layout l = {.m = m};
    for (int i = 0; i < m->defs.n; i++) {
        Def *d = m->defs.at[i];
        Roles r;
        bool contraction = contraction_roles(m->graph->pool, d, &r);
        if (contraction)
            arrange_rows(&l, d, &r);
        if (!is_fixed(d->out) && contraction)
            contraction_order(d, &r);
        else if (!is_fixed(d->out))
            follow_operand(m, d);
        if (!contraction)
            arrange_constants(&l, d);
        VEC_PUSH(m->cx, &l.defs, d);
    }
    m->defs.n = 0;
    for (int i = 0; i < l.defs.n; i++)
        VEC_PUSH(m->cx, &m->defs, l.defs.at[i]);
}
