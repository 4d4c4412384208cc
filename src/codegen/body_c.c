/* body_c.c: a body as scalar C or CUDA, one operation per local. See body.h, spell.h.
 *
 * The two differ in who walks rows and lanes: one thread, or the threads of a block, in one of
 * three ways (Style): each has elements of its own, or rows of its own, or is one of a group that
 * shares a row, puts the parts of reductions together, and lets one of its threads store what
 * belongs to the row. */
#include "codegen/body_internal.h"
#include "codegen/spell.h"

#include <stdio.h>

typedef struct Style {
    const char *head;         /* printf form with the function's name */
    const char *rows, *lanes; /* the heads of the loops */
    bool advances;            /* pointers move from row to row; else each row finds its own */
    bool groups;
} Style;

typedef struct Print {
    const Body *b;
    Buf *out;
    const Style *style;
    bool syncs; /* a row's own element is both stored and loaded: by different threads of a group */
    bool in_loop;
} Print;

static const Style plain_c = {
    .head = "static void %s(void *const *ptr, const sn_i64 *step, sn_i64 n, sn_i64 rows, "
            "const void *pool)\n{\n"
            "    int *const sn_err = 0;\n    sn_i64 row, i;\n",
    .rows = "    (void)i;\n    for (row = 0; row < rows; row++) {\n",
    .lanes = "        for (i = 0; i < n; i++) {\n",
    .advances = true};

#define CUDA_HEAD                                                                            \
    "SN_FN void %s(void *const *ptr, const sn_i64 *step, sn_i64 n, sn_i64 rows, const void " \
    "*pool)\n{\n    int *const sn_err = 0;\n"

static const Style cuda_elements = {.head = CUDA_HEAD,
    .rows = "    for (sn_i64 at = threadIdx.x; at < rows * n; at += blockDim.x) {\n"
            "        const sn_i64 row = sn_quot(at, n), i = at - row * n;\n",
    .lanes = "        {\n"};
static const Style cuda_rows = {.head = CUDA_HEAD,
    .rows = "    (void)n;\n    for (sn_i64 row = threadIdx.x; row < rows; row += blockDim.x) {\n",
    .lanes = ""};
static const Style cuda_groups = {.head = CUDA_HEAD,
    .rows = "    const sn_group g = sn_group_of(rows, false);\n"
            "    for (sn_i64 row = g.first; row < rows; row += g.step) {\n",
    .lanes = "        for (sn_i64 i = g.lane; i < n; i += g.width) {\n",
    .groups = true};
static const Style cuda_in_order = {.head = CUDA_HEAD,
    .rows = "    const sn_group g = sn_group_of(rows, true);\n"
            "    for (sn_i64 row = g.first; row < rows; row += g.step) {\n",
    .lanes = "        for (sn_i64 i = g.lane; i < n; i += g.width) {\n",
    .groups = true};

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

static void print_sync(Print *p)
{
    if (p->syncs)
        buf_puts(p->out, "        sn_sync(g);\n");
}

/* Narrowing an integer is a cast in C as it is in the IR, so the assignment does it. */
static void print_store(Print *p, const BodyIns *ins)
{
    const BodyPort *port = &p->b->ports.at[ins->port];
    bool by_one = p->style->groups && port->kind == PORT_ROW;
    if (by_one) {
        print_sync(p);
        buf_puts(p->out, "        if (g.lane == 0)\n    ");
    }
    begin_line(p);
    spell_store(p->out, port->type, name_of('p', ins->port).s, port->kind == PORT_LANES ? "i" : "0",
        name_of('v', ins->a).s);
    buf_putc(p->out, '\n');
    if (by_one)
        print_sync(p);
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
    buf_puts(p->out, p->style->lanes);
    p->in_loop = true;
}

/* v<i> = red(v<i>, what the expression `other` says) */
static void print_part(Print *p, int i, const char *indent, const char *other)
{
    const BodyIns *ins = &p->b->ins.at[i];
    Name acc = name_of('v', i);
    const char *arg[2] = {acc.s, "part"};
    buf_printf(p->out, "%sconst %s part = %s;\n%s%s = ", indent, spell_ctype(ins->type), other,
        indent, acc.s);
    spell_prim(p->out, body_red_prim(ins->op), ins->type, ins->type, arg);
    buf_puts(p->out, ";\n");
}

/* A group's parts of a reduction: within the warps, then across those of the block. Every thread
 * gets the result. */
static void print_combine(Print *p, int i)
{
    const char *type = spell_ctype(p->b->ins.at[i].type);
    char other[64];
    snprintf(other, sizeof other, "sn_swap(v%d, d)", i);
    buf_puts(p->out, "        for (int d = g.warp / 2; d; d /= 2) {\n");
    print_part(p, i, "            ", other);
    buf_printf(p->out,
        "        }\n"
        "        if (g.block) {\n"
        "            %s *const of_warp = (%s *)sn_parts();\n"
        "            __syncthreads();\n"
        "            if (threadIdx.x %% g.warp == 0)\n"
        "                of_warp[threadIdx.x / g.warp] = v%d;\n"
        "            __syncthreads();\n"
        "            v%d = of_warp[0];\n"
        "            for (int w = 1; w < blockDim.x / g.warp; w++) {\n",
        type, type, i, i);
    print_part(p, i, "                ", "of_warp[w]");
    buf_puts(p->out, "            }\n        }\n");
}

/* The end of the loop at instruction i. */
static void print_end(Print *p, int i)
{
    p->in_loop = false;
    buf_puts(p->out, "        }\n");
    for (int k = i; p->style->groups && p->b->ins.at[k].op != B_LOOP; k--)
        if (body_is_reduction(p->b->ins.at[k].op))
            print_combine(p, k);
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
    case B_END: print_end(p, i); break;
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

static void print_pointers(Print *p, const char *form)
{
    for (int k = 0; k < p->b->ports.n; k++)
        buf_printf(p->out, form, k, k, k);
}

/* `pool` belongs to the vector form. A zero divisor gives 0 here and is not reported: bodies get no
 * error slot. */
static void print_body(Print *p, const char *name)
{
    bool advances = p->style->advances;
    buf_printf(p->out, p->style->head, name);
    if (advances)
        print_pointers(p, "    char *p%d = (char *)ptr[%d];\n");
    print_constants(p);
    buf_puts(p->out, "    (void)sn_err;\n    (void)pool;\n");
    buf_puts(p->out, p->style->rows);
    if (!advances)
        print_pointers(p, "        char *const p%d = (char *)ptr[%d] + row * step[%d];\n");
    for (int i = 0; i < p->b->ins.n; i++)
        print_ins(p, i);
    if (advances)
        print_pointers(p, "        p%d += step[%d];\n");
    buf_puts(p->out, "    }\n}\n");
}

void body_print_c(Buf *out, const Body *b, const char *name)
{
    Print p = {.b = b, .out = out, .style = &plain_c};
    print_body(&p, name);
}

/* In order, rows are a group's one after the other; else threads are as independent as the body
 * lets them be. */
void body_print_cuda(Buf *out, const Body *b, const char *name, bool in_order)
{
    bool loops = false, reduces = false, row_loads = false, row_stores = false;
    for (int i = 0; i < b->ins.n; i++) {
        const BodyIns *ins = &b->ins.at[i];
        bool of_row =
            (ins->op == B_LOAD || ins->op == B_STORE) && b->ports.at[ins->port].kind == PORT_ROW;
        loops |= ins->op == B_LOOP;
        reduces |= body_is_reduction(ins->op);
        row_loads |= of_row && ins->op == B_LOAD;
        row_stores |= of_row && ins->op == B_STORE;
    }
    const Style *style = in_order ? &cuda_in_order
        : !loops                  ? &cuda_rows
        : reduces || row_stores   ? &cuda_groups
                                  : &cuda_elements;
    Print p = {.b = b, .out = out, .style = style, .syncs = row_loads && row_stores};
    print_body(&p, name);
}
