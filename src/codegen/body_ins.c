/* body_ins.c: one instruction of vector code as machine code, with its operands where they are. */
#include "codegen/body_gen.h"

/* ---- memory of ports ------------------------------------------------------------------------- */

/* Of an element in memory. */
int gen_port_size(const Gen *g, int port) { return dtype_bytes(g->v->body->ports.at[port].type); }

/* A register with the port's pointer: its own, or scratch. */
int gen_port_base(Gen *g, int port)
{
    if (port < NELEM(port_regs))
        return port_regs[port];
    XMem m = port_slot(port);
    x86_gpr(&g->x, 0x8B, SCRATCH, 0, &m);
    return SCRATCH;
}

static int log2_of(int size) { return __builtin_ctz((unsigned)size); }

/* Lanes of this copy. The upper half of a wide value is four lanes further on. */
static XMem lanes_mem(Gen *g, const VIns *ins)
{
    int size = gen_port_size(g, ins->port);
    int lane = g->copy * 8 + ins->part * 4;
    return (XMem){gen_port_base(g, ins->port), INDEX, log2_of(size), lane * size};
}

/* Masked moves exist for 32 and 64-bit lanes that are not widened on the way. */
bool gen_is_maskable(const VIns *ins) { return ins->x == X_movups || ins->x == X_storeups; }

/* The mask is as wide as the element, and for 64-bit elements there are two. */
int gen_mask_of(const Gen *g, const VIns *ins)
{
    return g->v->mask[gen_port_size(g, ins->port) == 8 ? 1 + ins->part : 0];
}

/* Copies the lanes that exist between a port and the bounce buffer, byte by byte: `rep movsb`, with
 * the registers that it uses saved around it. */
static void bounce(Gen *g, const VIns *ins, bool out)
{
    XCode *x = &g->x;
    XMem save_rsi = {RSP, -1, 0, F_RSI}, save_rcx = {RSP, -1, 0, F_RCX},
         buffer = {RSP, -1, 0, F_BOUNCE};
    int size = gen_port_size(g, ins->port);
    XMem lanes = {gen_port_base(g, ins->port), INDEX, log2_of(size), 0};
    x86_gpr(x, 0x89, RSI, 0, &save_rsi);
    x86_gpr(x, 0x89, RCX, 0, &save_rcx);
    x86_gpr(x, 0x8D, out ? RDI : RSI, 0, &lanes);
    x86_gpr(x, 0x8D, out ? RSI : RDI, 0, &buffer);
    x86_gpr(x, 0x8B, SCRATCH, COUNT, NULL);
    x86_gpr(x, 0x2B, SCRATCH, RCX, NULL);
    XMem bytes = {RAX, RAX, 0, 0}; /* twice the lanes */
    x86_gpr(x, size == 1 ? 0x8B : 0x8D, RCX, RAX, size == 1 ? NULL : &bytes);
    if (size == 4)
        x86_gpr(x, 0x03, RCX, RCX, NULL);
    x86_byte(x, 0xF3);
    x86_byte(x, 0xA4);
    x86_gpr(x, 0x8B, RSI, 0, &save_rsi);
    x86_gpr(x, 0x8B, RCX, 0, &save_rcx);
}

/* Lanes that exist are read, no byte more: whole vectors directly, the last one by a masked move or
 * through the bounce buffer, whose other bytes are whatever was there (no present lane sees them).
 */
static void gen_load(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    if (!g->tail) {
        XMem m = lanes_mem(g, ins);
        int dst = gen_result_reg(g, i);
        x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .mem = &m});
        gen_define(g, i, dst);
        return;
    }
    if (gen_is_maskable(ins)) {
        int mask = gen_in_reg(g, gen_mask_of(g, ins), i), dst = gen_result_reg(g, i);
        XMem m = lanes_mem(g, ins);
        XOp op = gen_port_size(g, ins->port) == 8 ? X_maskloadq : X_maskloadd;
        x86_op(&g->x, op, (XArgs){.dst = dst, .a = mask, .mem = &m});
        gen_define(g, i, dst);
        return;
    }
    bounce(g, ins, false);
    XMem m = {RSP, -1, 0, F_BOUNCE + ins->part * 4 * gen_port_size(g, ins->port)};
    int dst = gen_result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .mem = &m});
    gen_define(g, i, dst);
}

/* As gen_load: nothing behind the last lane is written. Only full 32-byte stores can be
 * non-temporal. */
static void gen_store(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int a = gen_in_reg(g, ins->a, i);
    if (g->tail && gen_is_maskable(ins)) {
        int mask = gen_in_reg(g, gen_mask_of(g, ins), i);
        XMem m = lanes_mem(g, ins);
        XOp op = gen_port_size(g, ins->port) == 8 ? X_maskstoreq : X_maskstored;
        x86_op(&g->x, op, (XArgs){.a = mask, .b = a, .mem = &m});
    } else if (g->tail) {
        XMem m = {RSP, -1, 0, F_BOUNCE};
        x86_op(&g->x, (XOp)ins->x, (XArgs){.a = a, .mem = &m});
        bounce(g, ins, true);
    } else {
        XMem m = lanes_mem(g, ins);
        XOp op = g->nontemporal && ins->x == X_storeups ? X_storent : (XOp)ins->x;
        x86_op(&g->x, op, (XArgs){.a = a, .mem = &m});
    }
    gen_free_dead(g, i);
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* dst = a op b, with b in memory if it is there, and a if they may be exchanged. */
static void gen_binary(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int va = ins->a, vb = ins->b;
    if (g->reg[va] < 0 && g->reg[vb] >= 0 && (xop_info[ins->x].flags & XF_C)) {
        va = ins->b;
        vb = ins->a;
    }
    int a = gen_in_reg(g, va, i);
    Operand b;
    gen_operand(g, vb, i, &b);
    int c = ins->c >= 0 ? gen_in_reg(g, ins->c, i) : 0;
    gen_free_dead(g, i);
    int dst = gen_result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){dst, a, b.reg, c, ins->imm, b.in_mem});
    gen_define(g, i, dst);
}

/* Only the RM form can read its operand from memory. */
static void gen_unary(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    Operand a = {.reg = 0};
    if (xop_info[ins->x].form == XFORM_RM)
        gen_operand(g, ins->a, i, &a);
    else
        a.reg = gen_in_reg(g, ins->a, i);
    gen_free_dead(g, i);
    int dst = gen_result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .a = a.reg, .imm = ins->imm, .mem = a.in_mem});
    gen_define(g, i, dst);
}

/* May the result overwrite this operand's register? */
static bool dies(const Gen *g, int value, int at, int other1, int other2)
{
    return gen_is_temporary(g, value) && g->last[value] <= at && value != other1 && value != other2;
}

/* a * b + c overwrites one of its operands: the one that dies, else a copy of c or a. The factor
 * that is not in a register, or else the addend, stays in memory. */
static void gen_fma(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int a = ins->a, b = ins->b, c = ins->c;
    if (g->reg[a] < 0 && g->reg[b] >= 0) {
        a = ins->b;
        b = ins->a;
    }
    int ra = gen_in_reg(g, a, i), form;
    Operand ob, oc;
    gen_operand(g, b, i, &ob);
    gen_operand(g, c, i, &oc);
    if (ob.in_mem && oc.in_mem) {
        oc.reg = gen_in_reg(g, c, i);
        oc.in_mem = NULL;
    }
    int dst = g->home[i], v = ra, rm = ob.reg;
    const XMem *mem = ob.in_mem;
    bool free_c = !oc.in_mem && dies(g, c, i, a, b), free_a = dies(g, a, i, b, c);
    bool free_b = !ob.in_mem && dies(g, b, i, a, c);
    if (dst < 0 && free_c) { /* 231: c = a * b + c */
        form = 2;
        dst = oc.reg;
    } else if (mem) { /* 132: a = a * [b] + c */
        form = 0;
        v = oc.reg;
        if (dst < 0 && free_a)
            dst = ra;
    } else { /* 213: a = b * a + c */
        form = 1;
        if (dst < 0 && !free_a && free_b) {
            dst = ob.reg;
            ob.reg = ra;
        } else if (dst < 0 && free_a)
            dst = ra;
        v = ob.reg;
        rm = oc.reg;
        mem = oc.in_mem;
    }
    if (dst < 0 || g->home[i] >= 0) {
        dst = gen_result_reg(g, i);
        gen_copy_reg(g, dst, ra);
    }
    gen_free_dead(g, i);
    x86_fma(&g->x, (XOp)ins->x, form, dst, v, rm, mem);
    gen_define(g, i, dst);
}

/* A row port's element into all lanes. The narrow broadcasts read no byte beyond it. */
static void gen_load1(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    XMem m = {gen_port_base(g, ins->port), -1, 0, 0};
    int dst = gen_result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .mem = &m});
    gen_define(g, i, dst);
}

/* All lanes of a row value are the same, so the lowest is as good as any. */
static void gen_store1(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int a = gen_in_reg(g, ins->a, i);
    XMem m = {gen_port_base(g, ins->port), -1, 0, 0};
    x86_op(&g->x, (XOp)ins->x, (XArgs){.a = a, .mem = &m});
    gen_free_dead(g, i);
}

/* RCX counts lanes, so the index of a copy is RCX and a constant. */
static void gen_lane(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    XMem first = {INDEX, -1, 0, g->copy * 8};
    x86_gpr(&g->x, 0x8D, SCRATCH, 0, &first);
    int dst = gen_result_reg(g, i);
    x86_op(&g->x, ins->x == X_pbroadcastq ? X_movq128 : X_movd128,
        (XArgs){.dst = dst, .a = SCRATCH});
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .a = dst});
    gen_define(g, i, dst);
}

/* Copies of the loop body have accumulators of their own where the order of combining could be seen
 * in the result or the combination takes time; and, or have neither. */
int gen_n_accumulators(const Gen *g, int i)
{
    return ins_at(g, i)->x == X_or || ins_at(g, i)->x == X_and ? 1 : g->unroll;
}

/* One accumulator combined with one value. With max and min a NaN operand gives the second: the
 * accumulator, which so never becomes NaN. */
static void gen_reduce(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int value = gen_in_reg(g, g->tail ? ins->b : ins->a, i);
    int copy = g->copy % gen_n_accumulators(g, i), acc = g->acc[i][copy];
    if (acc >= 0)
        x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = acc, .a = value, .b = acc});
    else {
        XMem m = gen_slot_mem(g, g->acc_slot[i][copy]);
        int r = gen_take_reg(g, i);
        x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = r, .a = value, .mem = &m});
        gen_store_reg(g, r, m);
    }
    gen_free_dead(g, i);
}

/* Registers that are locked are those of this instruction: each begins with none. */
static void gen_ins(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    g->locked = 0;
    if (!gen_exists(g, ins))
        return;
    switch ((VKind)ins->kind) {
    case V_X: {
        int form = xop_info[ins->x].form;
        (form == XFORM_FMA ? gen_fma : ins->b >= 0 ? gen_binary : gen_unary)(g, i);
        break;
    }
    case V_LOAD: gen_load(g, i); break;
    case V_STORE: gen_store(g, i); break;
    case V_LOAD1: gen_load1(g, i); break;
    case V_STORE1: gen_store1(g, i); break;
    case V_LANE: gen_lane(g, i); break;
    case V_REDUCE: gen_reduce(g, i); break;
    case V_CONST:
    case V_MASK:
    case V_LOOP:
    case V_END: break;
    }
}

/* Reductions that the loop before left in registers are read from there. */
static void take_carried(Gen *g)
{
    for (int r = 0; r < 16; r++) {
        int value = g->carried[r];
        g->carried[r] = -1;
        if (value < 0 || r >= g->limit || g->last[value] < 0 || g->reg[value] >= 0)
            continue;
        g->owner[r] = value;
        g->reg[value] = (int8_t)r;
    }
}

/* One copy of the instructions first..end-1. */
void gen_segment(Gen *g, int first, int end)
{
    gen_find_last_uses(g, first, end);
    g->n_slots = g->n_fixed;
    for (int r = 0; r < 16; r++)
        g->owner[r] = -1;
    for (int i = 0; i < g->v->ins.n; i++) {
        g->slot[i] = g->slot_home[i];
        g->reg[i] = g->home[i];
    }
    take_carried(g);
    for (int i = first; i < end; i++)
        gen_ins(g, i);
}
