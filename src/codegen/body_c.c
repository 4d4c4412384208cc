/* body_c.c: a body as scalar C, one operation per local. See body.h, spell.h. */
#include "codegen/body_internal.h"
#include "codegen/spell.h"

#include <stdio.h>

typedef struct Print {
    const Body *b;
    Buf *out;
    bool in_loop;
} Print;

typedef struct Name {
    char s[16];
} Name;

/* v<id> for values, p<port> for pointers: short names keep the text that TinyCC reads small. */
static Name name_of(char letter, int id)
{
    Name name;
    snprintf(name.s, sizeof name.s, "%c%d", letter, id);
    return name;
}

static void begin_line(Print *p) { buf_puts(p->out, p->in_loop ? "            " : "        "); }

/* `const float v3 = `; the caller prints the expression and ends the line. */
static void begin_value(Print *p, int i)
{
    begin_line(p);
    buf_printf(p->out, "const %s v%d = ", spell_ctype(p->b->ins.at[i].type), i);
}

/* Loads say `i` for lanes; a row port is read at element 0, as its pointer moves with the rows. */
static void print_load(Print *p, int i)
{
    const BodyIns *ins = &p->b->ins.at[i];
    const BodyPort *port = &p->b->ports.at[ins->port];
    begin_value(p, i);
    spell_load(p->out, port->type, name_of('p', ins->port).s, port->kind == PORT_LANES ? "i" : "0");
    buf_puts(p->out, ";\n");
}

/* Narrowing an integer is a cast in C as it is in the IR, so the assignment does it. */
static void print_store(Print *p, const BodyIns *ins)
{
    const BodyPort *port = &p->b->ports.at[ins->port];
    begin_line(p);
    spell_store(p->out, port->type, name_of('p', ins->port).s, port->kind == PORT_LANES ? "i" : "0",
        name_of('v', ins->a).s);
    buf_putc(p->out, '\n');
}

/* A rounding that the instruction asks for is part of the primitive, as in the reference. */
static void print_prim(Print *p, int i)
{
    const BodyIns *ins = &p->b->ins.at[i];
    Name a = name_of('v', ins->a), b = name_of('v', ins->b), c = name_of('v', ins->c);
    const char *arg[3] = {a.s, b.s, c.s};
    DType in = p->b->ins.at[ins->prim == P_select ? ins->b : ins->a].type;
    begin_value(p, i);
    spell_prim(p->out, ins->prim, in, ins->round != DT_NONE ? ins->round : ins->type, arg);
    buf_puts(p->out, ";\n");
}

/* The accumulator is the value itself, a variable declared in front of the loop. */
static void print_reduction(Print *p, int i)
{
    const BodyIns *ins = &p->b->ins.at[i];
    Name acc = name_of('v', i), a = name_of('v', ins->a);
    const char *arg[2] = {acc.s, a.s};
    begin_line(p);
    buf_printf(p->out, "%s = ", acc.s);
    spell_prim(p->out, body_red_prim(ins->op), ins->type, ins->type, arg);
    buf_puts(p->out, ";\n");
}

/* The accumulators of the loop that begins at instruction i, then its head. */
static void print_loop(Print *p, int i)
{
    for (int k = i; p->b->ins.at[k].op != B_END; k++) {
        const BodyIns *ins = &p->b->ins.at[k];
        if (!body_is_reduction(ins->op))
            continue;
        begin_line(p);
        buf_printf(p->out, "%s v%d = ", spell_ctype(ins->type), k);
        spell_const(p->out, ins->type, body_red_identity(ins->op, ins->type));
        buf_puts(p->out, ";\n");
    }
    buf_puts(p->out, "        for (i = 0; i < n; i++) {\n");
    p->in_loop = true;
}

static void print_ins(Print *p, int i)
{
    const BodyIns *ins = &p->b->ins.at[i];
    switch (ins->op) {
    case B_LOAD: print_load(p, i); break;
    case B_STORE: print_store(p, ins); break;
    case B_CONST: break;
    case B_IOTA:
        begin_value(p, i);
        buf_printf(p->out, "(%s)i;\n", spell_ctype(ins->type));
        break;
    case B_PRIM: print_prim(p, i); break;
    case B_RSUM:
    case B_RPROD:
    case B_RMAX:
    case B_RMIN:
    case B_RANY:
    case B_RALL: print_reduction(p, i); break;
    case B_LOOP: print_loop(p, i); break;
    case B_END:
        p->in_loop = false;
        buf_puts(p->out, "        }\n");
        break;
    }
}

/* Constants go in front of all loops: TinyCC would make them anew for each element. */
static void print_constants(Print *p)
{
    for (int i = 0; i < p->b->ins.n; i++) {
        const BodyIns *ins = &p->b->ins.at[i];
        if (ins->op != B_CONST)
            continue;
        buf_printf(p->out, "    const %s v%d = ", spell_ctype(ins->type), i);
        spell_const(p->out, ins->type, ins->k);
        buf_puts(p->out, ";\n");
    }
}

/* `pool` belongs to the vector form. A zero divisor gives 0 here and is not reported: bodies get no
 * error slot. */
void body_print_c(Buf *out, const Body *b, const char *name)
{
    Print p = {.b = b, .out = out};
    buf_printf(out,
        "static void %s(void *const *ptr, const sn_i64 *step, sn_i64 n, sn_i64 rows, "
        "const void *pool)\n{\n"
        "    int *const sn_err = 0;\n    sn_i64 row, i;\n",
        name);
    for (int k = 0; k < b->ports.n; k++)
        buf_printf(out, "    char *p%d = (char *)ptr[%d];\n", k, k);
    print_constants(&p);
    buf_puts(out,
        "    (void)sn_err;\n    (void)i;\n    (void)pool;\n"
        "    for (row = 0; row < rows; row++) {\n");
    for (int i = 0; i < b->ins.n; i++)
        print_ins(&p, i);
    for (int k = 0; k < b->ports.n; k++)
        buf_printf(out, "        p%d += step[%d];\n", k, k);
    buf_puts(out, "    }\n}\n");
}
