/* nest.c: which stages share loops; segments of the body; what must be in memory. */
#include "passes/nest.h"

/* ---- frames ------------------------------------------------------------------------------------
 */

/* The reduction axis whose lanes could be reduced: the only one with more than one element. */
static int lane_reduction(const Def *d)
{
    int best = -1;
    for (int k = 0; k < d->n_red; k++) {
        if (ix_is(d->red_axis[k]->extent, 1))
            continue;
        if (best >= 0)
            return -1;
        best = k;
    }
    return best;
}

/* Is memory contiguous along v in the largest load? */
static bool contiguous(Sched *s, const Def *d, const Var *v);

/* Do the stores of the stage go along its last loop in memory? Not where the box has one element on
 * an inner axis that has more: a column. */
static bool stores_along(Sched *s, int stage)
{
    const Def *d = s->g->stages.at[stage];
    const Region *r = &s->region[stage];
    int i = d->n_axes - 1;
    bool column = false;
    for (; i >= 0 && ix_is(r->span[d->out->order[i]].ext, 1); i--)
        column |= !ix_is(d->out->dim[d->out->order[i]], 1);
    return !column || i < 0 || ix_is(sched_place(s, d->out, true)->stride[d->out->order[i]], 1);
}

bool stage_frame(Sched *s, int stage, Frame *f)
{
    const Def *d = s->g->stages.at[stage];
    *f = (Frame){0};
    for (int i = 0; i < d->n_axes; i++) {
        const Ix *ext = s->region[stage].span[d->out->order[i]].ext;
        if (!ix_is(ext, 1))
            f->ext[f->n++] = ext;
    }
    if (d->red == RED_NONE) {
        if (f->n && stores_along(s, stage))
            f->lane = f->ext[--f->n];
        return true;
    }
    int k = lane_reduction(d);
    if (k < 0 || !contiguous(s, d, d->red_axis[k]))
        return false;
    f->lane = d->red_axis[k]->extent;
    return true;
}

typedef struct Contiguous {
    Sched *s;
    const Var *v;
    bool any, all;
} Contiguous;

static void check_contiguous(void *user, const Expr *load, bool in_index)
{
    Contiguous *c = user;
    bool uses = false;
    for (int i = 0; i < load->n; i++)
        uses |= ix_uses_var(load->idx[i], c->v);
    if (!uses || in_index)
        return;
    const Value *val = load->value; /* the innermost axis in memory that is not of extent 1 */
    for (int i = val->rank - 1; i >= 0; i--) {
        int k = val->order[i];
        if (ix_is(val->dim[k], 1))
            continue;
        const Ix *rest, *coef = ix_coef(c->s->p, load->idx[k], c->v, &rest);
        c->any = true;
        c->all &= coef && ix_is(coef, 1);
        return;
    }
}

static bool contiguous(Sched *s, const Def *d, const Var *v)
{
    Contiguous c = {s, v, false, true};
    ex_visit_loads(s->cx, d->body, check_contiguous, &c);
    return c.any && c.all;
}

void nest_init(Nest *nest, Sched *s, const Frame *f)
{
    nest->s = s;
    nest->frame = *f;
    nest->rows_outside = false;
    nest->n = nest->n_segments = 0;
    for (int i = 0; i < f->n; i++)
        nest->row[i] = ix_var_new(s->p, f->ext[i], "r");
    nest->lane = f->lane ? ix_var_new(s->p, f->lane, "l") : NULL;
}

/* ---- what a body can compute -------------------------------------------------------------------
 */

static bool plain_type(DType t)
{
    return t == DT_F32 || t == DT_F64 || t == DT_I32 || t == DT_I64 || t == DT_BOOL ||
        t == DT_F16 || t == DT_BF16;
}

/* Narrow and unsigned integers can be moved, compared (but u64) and cast, not computed with. */
static bool type_ok(const Expr *e)
{
    if (e->kind != EX_PRIM || e->prim == P_select)
        return dtype_computes(e->type);
    if ((e->prim == P_div || e->prim == P_mod) && dtype_is_int(e->type) &&
        (e->arg[1]->kind != EX_CONST || !e->arg[1]->k.u))
        return false; /* a zero divisor is reported by scalar code only */
    for (int i = 0; i < e->n; i++) {
        DType t = e->arg[i]->type;
        bool ordered = (e->prim == P_eq || e->prim == P_lt || e->prim == P_le) && t != DT_U64;
        if (!plain_type(t) && !(ordered || (e->prim == P_cast && t != DT_U64)))
            return false;
    }
    bool saturates =
        e->prim == P_cast && !plain_type(e->type); /* to a narrow type: clipping or wrapping */
    return plain_type(e->type) ||
        (saturates && !dtype_is_float(e->arg[0]->type) && e->type != DT_U64);
}

const NestStage *nest_stage_of(const Nest *nest, const Expr *load)
{
    for (int i = 0; nest && i < nest->n; i++)
        if (nest->s->g->stages.at[nest->at[i].stage]->out == load->value)
            return &nest->at[i];
    return NULL;
}

static bool same_element(const NestStage *st, const Expr *load)
{
    for (int k = 0; k < load->n; k++)
        if (st->at[k] != load->idx[k])
            return false;
    return true;
}

/* Linear in the lane with coefficient 0 or 1, and in the row with any. */
static bool moves_linearly(Vectorizable *v, const Ix *off, bool unit_lane)
{
    const Ix *rest, *coef;
    if (v->lane && ix_uses_var(off, v->lane)) {
        coef = ix_coef(v->s->p, off, v->lane, &rest);
        if (!coef || (unit_lane && !ix_is(coef, 1)) || !ix_is_const(coef))
            return false;
    }
    if (v->row && ix_uses_var(off, v->row)) {
        coef = ix_coef(v->s->p, off, v->row, &rest);
        if (!coef || ix_has_vars(coef))
            v->rows_outside = true;
    }
    return true;
}

/* What an index reads must be in memory before the body runs: it is computed by the code around it.
 */
static void place_index_load(void *user, const Expr *load, bool in_index)
{
    Vectorizable *v = user;
    if (!in_index)
        return;
    if (nest_stage_of(v->nest, load))
        v->failed = true;
    else
        sched_place(v->s, load->value, false);
}

static bool load_ok(Vectorizable *v, const Expr *e)
{
    Pool *p = v->s->p;
    const NestStage *st = nest_stage_of(v->nest, e);
    if (st)
        return same_element(st, e);
    const Value *val = e->value;
    if (sched_region(v->s, val) && !kernel_place(v->s->k, val))
        return false; /* a stage of this group that is not computed yet: can't be */
    for (int k = 0; k < e->n && v->guarded; k++) /* both branches of a select are loaded */
        if (!ix_nonneg(p, e->idx[k]) || !ix_less(p, e->idx[k], val->dim[k]))
            return false;
    if (ex_reads_data(e)) {
        if (v->guarded)
            return false;
        for (int k = 0; k < e->n; k++)
            if (v->lane && ix_uses_var(e->idx[k], v->lane) && ix_reads_data(e->idx[k]))
                return false;
        v->rows_outside |= v->row != NULL;
        ex_visit_loads(v->s->cx, e, place_index_load, v);
        if (v->failed)
            return false;
    }
    const Place *pl = sched_place(v->s, val, false);
    return moves_linearly(v, place_offset(p, pl, e->n, e->idx), true);
}

bool vector_ok(Vectorizable *v, const Expr *e)
{
    if (!type_ok(e))
        return false;
    switch (e->kind) {
    case EX_CONST: return true;
    case EX_LOAD: return load_ok(v, e);
    case EX_IX:
        if (v->row && ix_uses_var(e->ix, v->row))
            v->rows_outside = true;
        return !ix_reads_data(e->ix) && moves_linearly(v, e->ix, false);
    case EX_PRIM: {
        bool guarded = v->guarded, ok = true;
        for (int i = 0; i < e->n && ok; i++) {
            v->guarded = guarded || (e->prim == P_select && i > 0);
            ok = vector_ok(v, e->arg[i]);
        }
        v->guarded = guarded;
        return ok;
    }
    }
    return false;
}

/* ---- joining -----------------------------------------------------------------------------------
 */

/* The stage's axes with more than one element must be the row axes in order, then (or not) the
 * lanes. */
static bool match_axes(Nest *nest, NestStage *st, const Def *d)
{
    Sched *s = nest->s;
    Pool *p = s->p;
    const Frame *f = &nest->frame;
    int n = 0, lanes = 0;
    subst_init(&st->subst, p);
    for (int i = 0; i < d->n_axes; i++) {
        int k = d->out->order[i];
        const Span *sp = &s->region[st->stage].span[k];
        st->at[k] = sp->lo;
        if (!ix_is(sp->ext, 1)) {
            if (n < f->n && sp->ext == f->ext[n])
                st->at[k] = ix_add(p, sp->lo, ix_of_var(p, nest->row[n++]));
            else if (n == f->n && !lanes && f->lane && sp->ext == f->lane && d->red == RED_NONE) {
                st->at[k] = ix_add(p, sp->lo, ix_of_var(p, nest->lane));
                lanes = 1;
            } else
                return false;
        }
        subst_var(&st->subst, d->axis[k], st->at[k]);
    }
    st->kind = lanes ? NS_LANES : NS_ROW;
    return n == f->n;
}

static bool match_reduction(Nest *nest, NestStage *st, const Def *d)
{
    int k = lane_reduction(d);
    if (k < 0 || !nest->lane || d->red_axis[k]->extent != nest->frame.lane ||
        lane_type(d->acc) != d->acc)
        return false;
    for (int i = 0; i < d->n_red; i++) {
        const Ix *by = i == k ? ix_of_var(nest->s->p, nest->lane) : ix_int(nest->s->p, 0);
        subst_var(&st->subst, d->red_axis[i], by);
    }
    st->kind = NS_REDUCE;
    return true;
}

typedef struct SegmentUses {
    Nest *nest;
    int latest;   /* the last segment that makes something this stage loads */
    bool pending; /* a reduction made in the open loop is loaded */
    int open;
} SegmentUses;

static void note_use(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    SegmentUses *u = user;
    const NestStage *st = nest_stage_of(u->nest, load);
    if (st && st->kind == NS_REDUCE && st->segment == u->open)
        u->pending = true;
}

/* The segment in which the stage is computed: the open one, unless it needs a result of its loop.
 */
static void place_in_segment(Nest *nest, NestStage *st, const Expr *body)
{
    bool lanes = st->kind != NS_ROW;
    SegmentUses u = {nest, 0, false, nest->n_segments - 1};
    ex_visit_loads(nest->s->cx, body, note_use, &u);
    bool fits = nest->n_segments && nest->loop[nest->n_segments - 1] == lanes && !u.pending;
    if (!fits)
        nest->loop[nest->n_segments++] = lanes;
    st->segment = nest->n_segments - 1;
}

bool nest_add(Nest *nest, int stage)
{
    Sched *s = nest->s;
    const Def *d = s->g->stages.at[stage];
    if (nest->n == NELEM(nest->at))
        return false;
    NestStage *st = &nest->at[nest->n];
    *st = (NestStage){.stage = stage};
    if (!match_axes(nest, st, d) || (d->red != RED_NONE && !match_reduction(nest, st, d)))
        return false;
    const Expr *body = ex_subst(&st->subst, d->body);
    const Var *lane = st->kind == NS_ROW ? NULL : nest->lane;
    Vectorizable v = {.s = s,
        .row = nest->frame.n ? nest->row[nest->frame.n - 1] : NULL,
        .lane = lane,
        .nest = nest};
    if (!dtype_computes(d->out->type) || (st->kind == NS_LANES && !stores_along(s, stage)) ||
        !vector_ok(&v, body))
        return false;
    nest->rows_outside |= v.rows_outside;
    place_in_segment(nest, st, body);
    nest->n++;
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------
 */

typedef struct Memory {
    Nest *nest;
    int segment;
} Memory;

static void note_memory(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    Memory *m = user;
    NestStage *st = (NestStage *)nest_stage_of(m->nest, load);
    if (st && st->kind == NS_LANES && st->segment != m->segment)
        st->in_memory = true;
}

static void note_later(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    NestStage *st = (NestStage *)nest_stage_of(user, load);
    if (st)
        st->in_memory = true;
}

/* Values that live beyond their segment (lanes) or the nest go to memory. */
static void find_memory(Nest *nest)
{
    Sched *s = nest->s;
    int last = nest->at[nest->n - 1].stage;
    for (int i = 0; i < nest->n; i++) {
        const Def *d = s->g->stages.at[nest->at[i].stage];
        nest->at[i].in_memory |= value_materialised(s->m, d->out);
        Memory m = {nest, nest->at[i].segment};
        ex_visit_loads(s->cx, d->body, note_memory, &m);
    }
    for (int j = last + 1; j < s->g->stages.n; j++)
        ex_visit_loads(s->cx, s->g->stages.at[j]->body, note_later, nest);
}

/* ---- statements --------------------------------------------------------------------------------
 */

static BodyOp reduce_op(Red r)
{
    static const BodyOp op[] = {[RED_SUM] = B_RSUM,
        [RED_PROD] = B_RPROD,
        [RED_MAX] = B_RMAX,
        [RED_MIN] = B_RMIN,
        [RED_ANY] = B_RANY,
        [RED_ALL] = B_RALL};
    return op[r];
}

static void emit_stage(Translate *t, NestStage *st, int index)
{
    Sched *s = t->s;
    const Def *d = s->g->stages.at[st->stage];
    int v = translate(t, ex_subst(&st->subst, d->body));
    if (st->kind == NS_REDUCE)
        v = body_reduce(t->body, reduce_op(d->red), v);
    t->value_id[index] = v;
    if (st->kind == NS_LANES && st->in_memory)
        body_store(t->body, translate_port(t, d->out, st->at, true, true), v);
    if (st->kind == NS_ROW && st->in_memory)
        body_store(t->body, translate_port(t, d->out, st->at, true, false), v);
}

/* After a loop its reductions are row values: cast them to their type, store those that memory
 * needs. */
static void finish_reductions(Translate *t, int segment)
{
    Nest *nest = t->nest;
    for (int i = 0; i < nest->n; i++) {
        NestStage *st = &nest->at[i];
        if (st->segment != segment || st->kind != NS_REDUCE)
            continue;
        const Def *d = t->s->g->stages.at[st->stage];
        t->value_id[i] = translate_cast(t, t->value_id[i], d->acc, d->out->type);
        if (st->in_memory)
            body_store(t->body, translate_port(t, d->out, st->at, true, false), t->value_id[i]);
    }
}

typedef struct ReadsLanes {
    const Nest *nest;
    bool any;
} ReadsLanes;

static void note_lanes(void *user, const Expr *load, bool in_index)
{
    (void)in_index;
    ReadsLanes *r = user;
    const NestStage *st = nest_stage_of(r->nest, load);
    r->any |= st && st->kind == NS_LANES;
}

static bool reads_lane_stage(Translate *t, const Expr *e)
{
    ReadsLanes r = {t->nest, false};
    ex_visit_loads(t->s->cx, e, note_lanes, &r);
    return r.any;
}

/* What a loop's stages need per row is computed before the loop. */
static void hoist(Translate *t, const Expr *e)
{
    bool lane = t->lane && ex_uses_var(e, t->lane);
    const NestStage *st = e->kind == EX_LOAD ? nest_stage_of(t->nest, e) : NULL;
    if (e->kind == EX_CONST || (st && st->kind == NS_LANES))
        return;
    if (!lane && !reads_lane_stage(t, e)) {
        translate(t, e);
        return;
    }
    for (int i = 0; i < e->n && e->kind == EX_PRIM; i++)
        hoist(t, e->arg[i]);
}

static void emit_segment(Translate *t, int segment)
{
    Nest *nest = t->nest;
    bool loop = nest->loop[segment];
    for (int i = 0; i < nest->n && loop; i++)
        if (nest->at[i].segment == segment)
            hoist(t, ex_subst(&nest->at[i].subst, t->s->g->stages.at[nest->at[i].stage]->body));
    if (loop) {
        map_init(&t->lane_memo, t->s->cx);
        body_loop(t->body);
    }
    t->in_loop = loop;
    t->segment = segment;
    for (int i = 0; i < nest->n; i++)
        if (nest->at[i].segment == segment)
            emit_stage(t, &nest->at[i], i);
    if (loop)
        body_end(t->body);
    t->in_loop = false;
    finish_reductions(t, segment);
}

void nest_emit(Nest *nest, Stmts *into)
{
    Sched *s = nest->s;
    Translate t;
    int outer = nest->frame.n - (nest->frame.n && !nest->rows_outside);
    find_memory(nest);
    const Var *row = outer < nest->frame.n ? nest->row[outer] : NULL;
    for (int i = 0; i < outer; i++) {
        Stmt *loop = stmt_new(s->cx, S_FOR);
        loop->var = nest->row[i];
        VEC_PUSH(s->cx, into, loop);
        into = &loop->body;
    }
    translate_init(&t, s, row, nest->lane, nest);
    for (int i = 0; i < nest->n_segments; i++)
        emit_segment(&t, i);
    translate_finish(&t, row ? row->extent : ix_int(s->p, 1),
        nest->lane ? nest->lane->extent : ix_int(s->p, 1));
    VEC_PUSH(s->cx, into, t.stmt);
}
