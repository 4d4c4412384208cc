/* nest_body.c: expressions into the instructions of a vector body. */
#include "passes/nest.h"

void translate_init(Translate *t, Sched *s, const Var *row, const Var *lane, Nest *nest)
{
    memset(t, 0, sizeof *t);
    t->s = s;
    t->row = row;
    t->lane = lane;
    t->nest = nest;
    t->stmt = stmt_new(s->cx, S_BODY);
    t->body = NEW(s->cx, Body);
    body_init(t->body, s->cx);
    map_init(&t->row_memo, s->cx);
    map_init(&t->lane_memo, s->cx);
    for (int i = 0; i < NELEM(t->value_id); i++)
        t->value_id[i] = -1;
}

DType lane_type(DType t)
{
    switch (t) {
    case DT_F16:
    case DT_BF16: return DT_F32;
    case DT_I8:
    case DT_U8:
    case DT_I16:
    case DT_U16: return DT_I32;
    case DT_U32:
    case DT_U64: return DT_I64;
    default: return t;
    }
}

static const Ix *without(Pool *p, const Ix *a, const Var *row, const Var *lane)
{
    Subst z;
    subst_init(&z, p);
    if (row)
        subst_var(&z, row, ix_int(p, 0));
    if (lane)
        subst_var(&z, lane, ix_int(p, 0));
    return ix_subst(&z, a);
}

/* The port for an element: made once for each (value, element, kind). */
int translate_port(Translate *t, const Value *v, const Ix *const *idx, bool store, bool lanes)
{
    Sched *s = t->s;
    PortRef r = {.value = v};
    const Place *pl = sched_place(s, v, store);
    const Ix *off = place_offset(s->p, pl, v->rank, idx), *rest;
    r.step =
        t->row && ix_uses_var(off, t->row) ? ix_coef(s->p, off, t->row, &rest) : ix_int(s->p, 0);
    for (int k = 0; k < v->rank; k++)
        r.idx[k] = without(s->p, idx[k], t->row, t->lane);
    PortKind kind = lanes ? PORT_LANES : PORT_ROW;
    for (int i = 0; i < t->ports.n; i++) {
        const PortRef *q = &t->ports.at[i];
        bool same = q->value == v && q->step == r.step && t->body->ports.at[i].kind == kind &&
            t->body->ports.at[i].store == store;
        for (int k = 0; k < v->rank && same; k++)
            same = q->idx[k] == r.idx[k];
        if (same)
            return i;
    }
    VEC_PUSH(s->cx, &t->ports, r);
    return body_port(t->body, kind, v->type, store);
}

/* An index form that the emitted code computes before the call: a port on a local of it. */
static int scalar_port(Translate *t, const Ix *a)
{
    for (int i = 0; i < t->ports.n; i++)
        if (t->ports.at[i].scalar == a)
            return i;
    PortRef r = {.scalar = a, .step = ix_int(t->s->p, 0)};
    VEC_PUSH(t->s->cx, &t->ports, r);
    return body_port(t->body, PORT_ROW, DT_I64, false);
}

static int translate_ix(Translate *t, const Ix *a)
{
    const Ix *rest = a, *coef = NULL;
    if (t->lane && ix_uses_var(a, t->lane))
        coef = ix_coef(t->s->p, a, t->lane, &rest);
    int base = -1, lanes = -1;
    if (!ix_is(rest, 0) || !coef)
        base = ix_is_const(rest) ? body_const(t->body, DT_I64, (Scalar){.i = rest->c})
                                 : body_load(t->body, scalar_port(t, rest));
    if (!coef)
        return base;
    lanes = body_iota(t->body, DT_I64);
    if (!ix_is(coef, 1)) {
        int k = body_const(t->body, DT_I64, (Scalar){.i = coef->c});
        lanes = body_prim(t->body, P_mul, DT_I64, lanes, k, -1);
    }
    return base < 0 ? lanes : body_prim(t->body, P_add, DT_I64, lanes, base, -1);
}

static int translate_load(Translate *t, const Expr *e)
{
    const NestStage *st = nest_stage_of(t->nest, e);
    bool lanes = t->lane && ex_uses_var(e, t->lane);
    if (st) {
        int i = (int)(st - t->nest->at);
        bool here = st->kind != NS_LANES || st->segment == t->segment;
        if (here && t->value_id[i] >= 0)
            return t->value_id[i];
        lanes = st->kind == NS_LANES;
    }
    return body_load(t->body, translate_port(t, e->value, e->idx, false, lanes));
}

static bool is_half(DType t) { return t == DT_F16 || t == DT_BF16; }

static int rounded(Translate *t, int v, DType type)
{
    if (is_half(type))
        t->body->ins.at[v].round = type;
    return v;
}

int translate_cast(Translate *t, int v, DType from, DType to)
{
    if (from == to)
        return v;
    DType a = lane_type(from), b = lane_type(to);
    bool narrow = is_half(to) && !(is_half(from) && from == to);
    if (a != b)
        return rounded(t, body_prim(t->body, P_cast, b, v, -1, -1), to);
    if (narrow) { /* float to a 16-bit float: one operation that only rounds */
        int zero = body_const(t->body, DT_F32, (Scalar){.f = -0.0});
        return rounded(t, body_prim(t->body, P_add, DT_F32, v, zero, -1), to);
    }
    return v;
}

/* To a narrower integer in the same lanes: keep the low bits, sign- or zero-extended. */
static int wrap_lanes(Translate *t, int v, DType to)
{
    int bits = dtype_bits(to);
    DType lt = lane_type(to);
    if (!dtype_is_int(to) || bits == dtype_bits(lt))
        return v;
    int n = body_const(t->body, lt, (Scalar){.i = dtype_bits(lt) - bits});
    int mask = -1;
    if (dtype_is_signed(to)) {
        v = body_prim(t->body, P_shl, lt, v, n, -1);
        return body_prim(t->body, P_shr, lt, v, n, -1);
    }
    mask = body_const(t->body, lt, (Scalar){.i = ((int64_t)1 << bits) - 1});
    return body_prim(t->body, P_and, lt, v, mask, -1);
}

static int translate_prim(Translate *t, const Expr *e)
{
    int arg[3] = {-1, -1, -1};
    for (int i = 0; i < e->n; i++)
        arg[i] = translate(t, e->arg[i]);
    if (e->prim == P_cast)
        return wrap_lanes(t, translate_cast(t, arg[0], e->arg[0]->type, e->type), e->type);
    int v = body_prim(t->body, e->prim, lane_type(e->type), arg[0], arg[1], arg[2]);
    bool computes = e->prim != P_select && dtype_is_float(e->type);
    return computes ? rounded(t, v, e->type) : v;
}

int translate(Translate *t, const Expr *e)
{
    intptr_t known = (intptr_t)map_get(&t->row_memo, &e->id, sizeof e->id);
    if (!known && t->in_loop)
        known = (intptr_t)map_get(&t->lane_memo, &e->id, sizeof e->id);
    if (known)
        return (int)known - 1;
    int v;
    switch (e->kind) {
    case EX_CONST: v = body_const(t->body, lane_type(e->type), e->k); break;
    case EX_IX: v = translate_ix(t, e->ix); break;
    case EX_LOAD: v = translate_load(t, e); break;
    default: v = translate_prim(t, e); break;
    }
    map_put(t->in_loop ? &t->lane_memo : &t->row_memo, &e->id, sizeof e->id,
        (void *)(intptr_t)(v + 1));
    return v;
}

void translate_finish(Translate *t, const Ix *rows, const Ix *lanes)
{
    t->stmt->vec = t->body;
    t->stmt->n_ports = t->ports.n;
    t->stmt->port = t->ports.at;
    t->stmt->rows = rows;
    t->stmt->lanes = lanes;
    body_verify(t->s->cx, t->body);
}
