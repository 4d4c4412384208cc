/* body_text.c: the text form of a body. One port or instruction a line; instruction N defines %N.
 *
 *     port 0 lanes float32 load
 *     port 1 row float16 store
 *     loop
 *       %1 = load float32 port 0
 *       %2 = const float32 0.5
 *       %3 = prim mul float32 %1 %2 round float16
 *       %4 = rsum float32 %3
 *     end
 *     store float32 %4 port 1
 */
#include "codegen/body_internal.h"

#include <stdlib.h>

static const char *const op_text[] = {[B_LOAD] = "load",
    [B_STORE] = "store",
    [B_CONST] = "const",
    [B_IOTA] = "iota",
    [B_PRIM] = "prim",
    [B_RSUM] = "rsum",
    [B_RPROD] = "rprod",
    [B_RMAX] = "rmax",
    [B_RMIN] = "rmin",
    [B_RANY] = "rany",
    [B_RALL] = "rall",
    [B_LOOP] = "loop",
    [B_END] = "end"};

/* ---- printing -------------------------------------------------------------------------------- */

/* buf_double prints what reads back as the same bits, whatever the locale. */
static void print_constant(Buf *out, DType t, Scalar k)
{
    buf_putc(out, ' ');
    if (dtype_is_float(t))
        buf_double(out, k.f);
    else
        buf_printf(out, "%lld", (long long)k.i);
}

static void print_ins(Buf *out, const BodyIns *ins, int i)
{
    if (body_has_value(ins->op))
        buf_printf(out, "%%%d = ", i);
    buf_puts(out, op_text[ins->op]);
    if (ins->op == B_PRIM)
        buf_printf(out, " %s", prim_info[ins->prim].name);
    if (ins->type != DT_NONE)
        buf_printf(out, " %s", dtype_text(ins->type));
    if (ins->op == B_CONST)
        print_constant(out, ins->type, ins->k);
    const int id[3] = {ins->a, ins->b, ins->c};
    for (int k = 0; k < 3 && id[k] >= 0; k++)
        buf_printf(out, " %%%d", id[k]);
    if (ins->port >= 0)
        buf_printf(out, " port %d", ins->port);
    if (ins->round != DT_NONE)
        buf_printf(out, " round %s", dtype_text(ins->round));
    buf_putc(out, '\n');
}

void body_print(Buf *out, const Body *b)
{
    for (int p = 0; p < b->ports.n; p++) {
        const BodyPort *port = &b->ports.at[p];
        buf_printf(out, "port %d %s %s %s\n", p, port->kind == PORT_LANES ? "lanes" : "row",
            dtype_text(port->type), port->store ? "store" : "load");
    }
    bool in_loop = false;
    for (int i = 0; i < b->ins.n; i++) {
        BodyOp op = b->ins.at[i].op;
        in_loop = in_loop && op != B_END;
        buf_puts(out, in_loop ? "  " : "");
        print_ins(out, &b->ins.at[i], i);
        in_loop = in_loop || op == B_LOOP;
    }
}

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct Parse {
    Body *b;
    const char *at;
    int line;
} Parse;

static NORETURN void wrong(Parse *p, const char *what)
{
    ctx_fail(p->b->cx, ST_MODEL, NULL, "body text, line %d: %s", p->line, what);
}

static void skip_blanks(Parse *p)
{
    while (*p->at == ' ')
        p->at++;
}

/* The next word of the line is `word`: skip it. */
static bool accept(Parse *p, const char *word)
{
    skip_blanks(p);
    size_t n = strlen(word);
    if (strncmp(p->at, word, n) != 0 || (p->at[n] && !strchr(" \n", p->at[n])))
        return false;
    p->at += n;
    return true;
}

static int64_t integer(Parse *p)
{
    skip_blanks(p);
    char *end;
    long long x = strtoll(p->at, &end, 10);
    if (end == p->at)
        wrong(p, "a number is missing");
    p->at = end;
    return x;
}

/* `%N`, if that comes next. */
static bool accept_value(Parse *p, int *id)
{
    skip_blanks(p);
    if (*p->at != '%')
        return false;
    p->at++;
    *id = (int)integer(p);
    return true;
}

static DType type(Parse *p)
{
    for (int t = DT_F32; t < DT_COUNT; t++)
        if (accept(p, dtype_text((DType)t)))
            return (DType)t;
    wrong(p, "a type is missing");
}

static Prim primitive(Parse *p)
{
    for (int k = 0; k < N_PRIMS; k++)
        if (accept(p, prim_info[k].name))
            return (Prim)k;
    wrong(p, "no such primitive");
}

static Scalar constant(Parse *p, DType t)
{
    skip_blanks(p);
    if (!dtype_is_float(t))
        return (Scalar){.i = integer(p)};
    const char *end;
    Scalar k = {.f = parse_double(p->at, &end)};
    if (end == p->at)
        wrong(p, "a number is missing");
    p->at = end;
    return k;
}

static void parse_port(Parse *p)
{
    if (integer(p) != p->b->ports.n)
        wrong(p, "ports are numbered from 0");
    bool row = accept(p, "row");
    if (!row && !accept(p, "lanes"))
        wrong(p, "a port is lanes or row");
    DType t = type(p);
    bool store = accept(p, "store");
    if (!store && !accept(p, "load"))
        wrong(p, "a port is for load or store");
    body_port(p->b, row ? PORT_ROW : PORT_LANES, t, store);
}

/* In the order in which print_ins writes them; what an instruction does not have is not there. */
static void parse_operands(Parse *p, BodyIns *ins)
{
    if (ins->op == B_CONST)
        ins->k = constant(p, ins->type);
    if (accept_value(p, &ins->a) && accept_value(p, &ins->b))
        accept_value(p, &ins->c);
    if (accept(p, "port"))
        ins->port = (int)integer(p);
    if (accept(p, "round"))
        ins->round = type(p);
}

/* Only the form is checked here; meaning is the verifier's. */
static void parse_ins(Parse *p)
{
    BodyIns ins = {.prim = N_PRIMS, .a = -1, .b = -1, .c = -1, .port = -1};
    int id = -1, op = 0;
    bool has_value = accept_value(p, &id);
    if (has_value && (id != p->b->ins.n || !accept(p, "=")))
        wrong(p, "a value has the number of its instruction, then =");
    while (op < NELEM(op_text) && !accept(p, op_text[op]))
        op++;
    if (op == NELEM(op_text))
        wrong(p, "no such instruction");
    ins.op = (BodyOp)op;
    if (body_has_value(ins.op) != has_value)
        wrong(p, has_value ? "this instruction gives no value" : "the value's number is missing");
    if (ins.op == B_PRIM)
        ins.prim = primitive(p);
    if (ins.op != B_LOOP && ins.op != B_END)
        ins.type = type(p);
    parse_operands(p, &ins);
    VEC_PUSH(p->b->cx, &p->b->ins, ins);
}

void body_parse(Body *b, const char *text)
{
    Parse p = {.b = b, .at = text, .line = 1};
    while (*p.at) {
        if (accept(&p, "port"))
            parse_port(&p);
        else if (skip_blanks(&p), *p.at && *p.at != '\n')
            parse_ins(&p);
        skip_blanks(&p);
        if (*p.at && *p.at != '\n')
            wrong(&p, "text after the end of the instruction");
        p.line++;
        p.at += *p.at == '\n';
    }
}
