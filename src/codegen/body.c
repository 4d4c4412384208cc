/* body.c: building and checking bodies. See body.h. */
#include "codegen/body_internal.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- construction ---------------------------------------------------------------------------- */

void body_init(Body *b, Ctx *cx)
{
    memset(b, 0, sizeof *b);
    b->cx = cx;
}

/* Ports are numbered in the order of these calls: the order of `ptr` and `step` when the body runs.
 */
int body_port(Body *b, PortKind kind, DType type, bool store)
{
    VEC_PUSH(b->cx, &b->ports, ((BodyPort){kind, type, store}));
    return b->ports.n - 1;
}

/* An instruction without operands: -1 is "none" everywhere, so that forgetting one shows in the
 * verifier. */
static BodyIns blank(BodyOp op, DType type)
{
    return (
        BodyIns){.op = op, .prim = N_PRIMS, .type = type, .a = -1, .b = -1, .c = -1, .port = -1};
}

static int push(Body *b, BodyIns ins)
{
    VEC_PUSH(b->cx, &b->ins, ins);
    return b->ins.n - 1;
}

/* Narrow elements are computed in the next wider type that has vector arithmetic; what they were is
 * only known to the port, which narrows again on the way out. */
DType body_value_type(DType port)
{
    switch (port) {
    case DT_F16:
    case DT_BF16: return DT_F32;
    case DT_I8:
    case DT_U8:
    case DT_I16:
    case DT_U16: return DT_I32;
    case DT_U32:
    case DT_U64: return DT_I64;
    default: return port;
    }
}

int body_load(Body *b, int port)
{
    BodyIns ins = blank(B_LOAD, body_value_type(b->ports.at[port].type));
    ins.port = port;
    return push(b, ins);
}

void body_store(Body *b, int port, int a)
{
    BodyIns ins = blank(B_STORE, b->ins.at[a].type);
    ins.port = port;
    ins.a = a;
    push(b, ins);
}

int body_const(Body *b, DType t, Scalar k)
{
    BodyIns ins = blank(B_CONST, t);
    ins.k = k;
    return push(b, ins);
}

int body_iota(Body *b, DType t) { return push(b, blank(B_IOTA, t)); }

int body_prim(Body *b, Prim p, DType type, int a, int b2, int c)
{
    BodyIns ins = blank(B_PRIM, type);
    ins.prim = p;
    ins.a = a;
    ins.b = b2;
    ins.c = c;
    return push(b, ins);
}

int body_reduce(Body *b, BodyOp red, int a)
{
    BodyIns ins = blank(red, b->ins.at[a].type);
    ins.a = a;
    return push(b, ins);
}

void body_loop(Body *b) { push(b, blank(B_LOOP, DT_NONE)); }
void body_end(Body *b) { push(b, blank(B_END, DT_NONE)); }

/* Reductions have no arithmetic of their own: each is a primitive applied over and over. */
Prim body_red_prim(BodyOp red)
{
    static const Prim prim[] = {P_add, P_mul, P_max, P_min, P_or, P_and};
    return prim[red - B_RSUM];
}

/* A row of no lanes gives this, and absent lanes of the last vector are replaced by it. */
Scalar body_red_identity(BodyOp red, DType t)
{
    bool is_float = dtype_is_float(t), wide = t == DT_I64;
    int64_t low = wide ? INT64_MIN : INT32_MIN, high = wide ? INT64_MAX : INT32_MAX;
    switch (red) {
    case B_RPROD: return is_float ? (Scalar){.f = 1} : (Scalar){.i = 1};
    case B_RMAX: return is_float ? (Scalar){.f = -__builtin_inf()} : (Scalar){.i = low};
    case B_RMIN: return is_float ? (Scalar){.f = __builtin_inf()} : (Scalar){.i = high};
    case B_RALL: return (Scalar){.u = 1};
    default: return (Scalar){.u = 0};
    }
}

/* ---- verification ---------------------------------------------------------------------------- */

typedef struct Check {
    Ctx *cx;
    const Body *b;
    int *scope; /* of each value: 0 row, else the number of its loop */
    int loop;   /* the loop that we are in, 0 none */
    int loops;  /* loops begun so far */
    int at;
} Check;

PRINTF_LIKE(2, 3) static void wrong(Check *c, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ctx_report(c->cx, ST_INTERNAL, NULL, "body instruction %d: %s", c->at, text);
}

bool body_is_reduction(BodyOp op) { return op >= B_RSUM && op <= B_RALL; }
bool body_has_value(BodyOp op) { return op != B_STORE && op != B_LOOP && op != B_END; }

/* Other types exist in memory only. */
static bool is_value_type(DType t)
{
    return t == DT_F32 || t == DT_F64 || t == DT_I32 || t == DT_I64 || t == DT_BOOL;
}

/* The type of operand `id`, DT_NONE (with a report) when it can't be used here. */
static DType operand(Check *c, int id)
{
    if (id < 0 || id >= c->at || !body_has_value(c->b->ins.at[id].op)) {
        wrong(c, "operand %%%d is not an earlier value", id);
        return DT_NONE;
    }
    const BodyIns *def = &c->b->ins.at[id];
    int scope = c->scope[id];
    bool visible = body_is_reduction(def->op) ? c->loop != scope : scope == 0 || scope == c->loop;
    if (!visible)
        wrong(c, "operand %%%d is not visible here", id);
    return def->type;
}

/* The classes of prim.def, for the types that values have. */
static bool class_fits(char types, DType t)
{
    bool is_float = t == DT_F32 || t == DT_F64;
    switch (types) {
    case 'f':
    case 'p': return is_float;
    case 'a': return t != DT_BOOL;
    case 'i': return !is_float;
    default: return true;
    }
}

/* Types only: whether an instruction set can do it is the business of body_encodable. */
static void check_prim(Check *c, const BodyIns *ins)
{
    if (ins->prim >= N_PRIMS) {
        wrong(c, "no such primitive");
        return;
    }
    const PrimInfo *info = &prim_info[ins->prim];
    const int id[3] = {ins->a, ins->b, ins->c};
    DType t[3] = {DT_NONE, DT_NONE, DT_NONE};
    for (int k = 0; k < info->arity; k++)
        if ((t[k] = operand(c, id[k])) == DT_NONE)
            return;
    int first = info->types == 's';
    if (first && t[0] != DT_BOOL)
        wrong(c, "select needs a bool condition");
    for (int k = first; k < info->arity; k++) {
        if (!class_fits(info->types, t[k]))
            wrong(c, "%s does not exist for %s", info->name, dtype_text(t[k]));
        if (t[k] != t[first])
            wrong(c, "operands of %s differ in type", info->name);
    }
    bool is_test = info->types == 'c' || info->types == 'p';
    DType want = is_test ? DT_BOOL : info->types == 't' ? ins->type : t[first];
    if (ins->type != want)
        wrong(c, "%s of %s can't give %s", info->name, dtype_text(t[first]), dtype_text(ins->type));
}

/* A row port is stored to once a row: in a loop every lane would overwrite the last. */
static void check_port(Check *c, const BodyIns *ins)
{
    if (ins->port < 0 || ins->port >= c->b->ports.n) {
        wrong(c, "no port %d", ins->port);
        return;
    }
    const BodyPort *port = &c->b->ports.at[ins->port];
    if (!dtype_computes(port->type) || body_value_type(port->type) != ins->type)
        wrong(c, "port %d holds %s", ins->port, dtype_text(port->type));
    if (port->kind == PORT_LANES && !c->loop)
        wrong(c, "lanes of port %d outside a loop", ins->port);
    if (ins->op == B_STORE && (!port->store || (port->kind == PORT_ROW && c->loop)))
        wrong(c, "port %d can't be stored to here", ins->port);
    if (ins->op == B_LOAD && port->store)
        wrong(c, "port %d is for stores", ins->port);
}

/* The accumulator has the type of what it accumulates; a wider one is a cast in front. */
static void check_reduction(Check *c, const BodyIns *ins)
{
    DType t = operand(c, ins->a);
    bool logical = ins->op == B_RANY || ins->op == B_RALL;
    if (!c->loop)
        wrong(c, "reduction outside a loop");
    if (t != DT_NONE && (t != ins->type || (t == DT_BOOL) != logical))
        wrong(c, "reduction of %s", dtype_text(t));
    if (ins->round != DT_NONE)
        wrong(c, "a reduction does not round");
}

static void check_ins(Check *c, const BodyIns *ins)
{
    if (body_has_value(ins->op) && !is_value_type(ins->type))
        wrong(c, "values of type %s do not exist", dtype_text(ins->type));
    if (ins->round != DT_NONE &&
        (ins->op != B_PRIM || ins->type != DT_F32 ||
            (ins->round != DT_F16 && ins->round != DT_BF16)))
        wrong(c, "can't round to %s here", dtype_text(ins->round));
    switch (ins->op) {
    case B_LOAD: check_port(c, ins); break;
    case B_STORE:
        check_port(c, ins);
        if (operand(c, ins->a) != ins->type)
            wrong(c, "store of another type");
        break;
    case B_IOTA:
        if (!c->loop || (ins->type != DT_I32 && ins->type != DT_I64))
            wrong(c, "iota is an integer inside a loop");
        break;
    case B_PRIM: check_prim(c, ins); break;
    case B_RSUM:
    case B_RPROD:
    case B_RMAX:
    case B_RMIN:
    case B_RANY:
    case B_RALL: check_reduction(c, ins); break;
    case B_LOOP:
        if (c->loop)
            wrong(c, "loop inside a loop");
        c->loop = ++c->loops;
        break;
    case B_END:
        if (!c->loop)
            wrong(c, "end without a loop");
        c->loop = 0;
        break;
    case B_CONST: break;
    }
}

/* Reports all that is wrong, in order, so that one run shows a pass all its mistakes. */
void body_verify(Ctx *cx, const Body *b)
{
    Check c = {.cx = cx, .b = b, .scope = NEW_N(cx, int, b->ins.n + 1)};
    for (c.at = 0; c.at < b->ins.n; c.at++) {
        const BodyIns *ins = &b->ins.at[c.at];
        /* A constant is the same everywhere, so it is visible everywhere. */
        c.scope[c.at] = ins->op == B_CONST ? 0 : c.loop;
        check_ins(&c, ins);
    }
    if (c.loop)
        wrong(&c, "loop without an end");
}
