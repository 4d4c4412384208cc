/* body_run.c: what a body means, one element at a time: the reference of the printers. */
#include "codegen/body_internal.h"

/* Which elements the instructions touch now. */
typedef struct Run {
    const Body *b;
    char **at; /* of each port: its pointer in this row */
    int64_t lane;
    Scalar *value;
} Run;

static DType type_of(const Run *r, int id) { return r->b->ins.at[id].type; }

/* Any byte but 0 is true, as for the compiled forms. */
static Scalar load(const Run *r, const BodyIns *ins)
{
    const BodyPort *port = &r->b->ports.at[ins->port];
    int64_t index = port->kind == PORT_LANES ? r->lane : 0;
    Scalar s = scalar_load(port->type, r->at[ins->port], index);
    return port->type == DT_BOOL ? (Scalar){.u = s.u != 0} : s;
}

/* Stored integers keep their low bits: a cast between integers says the same. */
static void store(const Run *r, const BodyIns *ins)
{
    const BodyPort *port = &r->b->ports.at[ins->port];
    int64_t index = port->kind == PORT_LANES ? r->lane : 0;
    scalar_store(port->type, r->at[ins->port], index,
        scalar_cast(ins->type, port->type, r->value[ins->a]));
}

/* A cast with a rounding goes to the rounded type in one step; anything else is computed, then
 * rounded. */
static Scalar prim(const Run *r, const BodyIns *ins)
{
    const int id[3] = {ins->a, ins->b, ins->c};
    Scalar arg[3];
    for (int k = 0; k < prim_info[ins->prim].arity; k++)
        arg[k] = r->value[id[k]];
    DType in = type_of(r, ins->prim == P_select ? ins->b : ins->a);
    if (ins->prim == P_cast)
        return scalar_cast(in, ins->round != DT_NONE ? ins->round : ins->type, arg[0]);
    Scalar s = prim_eval(ins->prim, in, ins->type, arg);
    return ins->round != DT_NONE ? scalar_f(ins->round, s.f) : s;
}

/* In the order of the lanes. Sums of floats may differ from this in the last bits elsewhere,
 * nothing else may. */
static Scalar reduce(const Run *r, const BodyIns *ins, Scalar so_far)
{
    Scalar arg[2] = {so_far, r->value[ins->a]};
    return prim_eval(body_red_prim(ins->op), ins->type, ins->type, arg);
}

static void step(Run *r, int i)
{
    const BodyIns *ins = &r->b->ins.at[i];
    switch (ins->op) {
    case B_LOAD: r->value[i] = load(r, ins); break;
    case B_STORE: store(r, ins); break;
    case B_CONST: r->value[i] = ins->type == DT_F32 ? scalar_f(DT_F32, ins->k.f) : ins->k; break;
    case B_IOTA: r->value[i] = scalar_cast(DT_I64, ins->type, (Scalar){.i = r->lane}); break;
    case B_PRIM: r->value[i] = prim(r, ins); break;
    case B_RSUM:
    case B_RPROD:
    case B_RMAX:
    case B_RMIN:
    case B_RANY:
    case B_RALL: r->value[i] = reduce(r, ins, r->value[i]); break;
    case B_LOOP:
    case B_END: break;
    }
}

/* Runs the loop that begins at instruction i; returns the index of its end. */
static int run_loop(Run *r, int i, int64_t n)
{
    int end = i;
    for (; r->b->ins.at[end].op != B_END; end++)
        if (body_is_reduction(r->b->ins.at[end].op))
            r->value[end] = body_red_identity(r->b->ins.at[end].op, r->b->ins.at[end].type);
    for (r->lane = 0; r->lane < n; r->lane++)
        for (int k = i + 1; k < end; k++)
            step(r, k);
    return end;
}

/* Values live in one array by instruction; a loop overwrites those of its lanes. */
void body_run(const Body *b, void *const *ptr, const int64_t *row_step, int64_t n, int64_t rows)
{
    Run r = {.b = b,
        .at = NEW_N(b->cx, char *, b->ports.n + 1),
        .value = NEW_N(b->cx, Scalar, b->ins.n + 1)};
    for (int p = 0; p < b->ports.n; p++)
        r.at[p] = ptr[p];
    for (int64_t row = 0; row < rows; row++) {
        for (int i = 0; i < b->ins.n; i++)
            if (b->ins.at[i].op == B_LOOP)
                i = run_loop(&r, i, n);
            else
                step(&r, i);
        for (int p = 0; p < b->ports.n; p++)
            r.at[p] += row_step[p];
    }
}
