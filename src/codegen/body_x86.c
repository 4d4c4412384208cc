/* body_x86.c: from vector code to machine code: loops, tails, registers. See body.h, vec.h.
 *
 * A function is: pointers into registers; constants into the registers that are left; then for each row the
 * segments in order: straight code, and loops. A loop exists three times: unrolled, one vector at a time, and
 * once more for the lanes that are left (n % 8), where loads and stores are masked.
 *
 * Each segment copy gets its registers in one forward scan: an operand is freed at its last use, and when none
 * is free the value whose next use is farthest goes to the stack (Belady). Registers from 15 down are pinned:
 * accumulators, row values that loops read, constants. How many constants fit is only known when the pressure
 * is, so the code is generated twice.
 */
#include "codegen/vec.h"

/* General registers. RAX is scratch, RDI too (loop limit, bounce copies); RSI: steps; R8: the pool. */
enum { SCRATCH = RAX, INDEX = RCX, COUNT = RDX, STEPS = RSI, LIMIT = RDI, POOL = R8 };
static const uint8_t port_regs[] = {R9, R10, R11, RBX, RBP, R12, R13, R14, R15};
enum { FIRST_SAVED = 3 }; /* port_regs from here on belong to the caller */

/* The stack frame, 32-byte aligned. */
enum { F_RSP = 0, F_ROWS = 8, F_RSI = 16, F_RCX = 24, F_BOUNCE = 32, F_PORTS = 64 };

/* An instruction reads three registers and writes a fourth; that many temporaries there are at least. */
enum { MAX_UNROLL = 4, MAX_PINNED = 10, MIN_FLOOR = 4 };

typedef struct Gen {
    Ctx *cx;
    const VCode *v;
    XCode x;
    int *segment;      /* of each value: even straight code, odd loops */
    int *last;         /* last use in the segment copy at hand, -1 none */
    int8_t *reg;       /* the register that has the value now, -1 none */
    int8_t *home;      /* the pinned register of a value, -1 none */
    int *slot;         /* its 32 bytes in the frame, -1 none */
    int *slot_home;    /* the slot that it keeps across segments, -1 none */
    int8_t (*acc)[MAX_UNROLL]; /* pinned registers of a reduction's accumulators; -1: in acc_slot */
    int (*acc_slot)[MAX_UNROLL];
    int owner[16];
    int limit;         /* registers below are for temporaries */
    int row_limit;     /* the same outside loops */
    int high;          /* temporaries used at most in this loop */
    int floor;         /* registers that pinning leaves to temporaries */
    int most;          /* temporaries used at most in any loop */
    int accumulators;  /* the most that any loop has */
    unsigned locked;   /* registers that the instruction at hand reads */
    int n_fixed, n_slots, max_slots;
    int window;        /* pool offset of eight all-ones lanes, then eight zeros */
    int copy;          /* which copy of the loop body */
    int unroll;
    bool tail, streaming, nontemporal;
    bool *live; /* is the instruction needed? */
} Gen;

/* ---- what is where ----------------------------------------------------------------------------- */

static const VIns *ins_at(const Gen *g, int i) { return &g->v->ins.at[i]; }

static XMem slot_mem(const Gen *g, int slot)
{
    int n_ports = g->v->body->ports.n;
    return (XMem){RSP, -1, 0, (F_PORTS + (n_ports * 8 + 31) / 32 * 32) + slot * 32};
}

static XMem const_mem(const Gen *g, int value) { return (XMem){POOL, -1, 0, ins_at(g, value)->port * 32}; }

static bool is_const(const Gen *g, int value) { return ins_at(g, value)->kind == V_CONST; }
static bool in_memory(const Gen *g, int value) { return is_const(g, value) || g->slot[value] >= 0; }

static XMem memory_of(const Gen *g, int value)
{
    return is_const(g, value) ? const_mem(g, value) : slot_mem(g, g->slot[value]);
}

static void load_reg(Gen *g, int reg, XMem from) { x86_op(&g->x, X_movups, (XArgs){.dst = reg, .mem = &from}); }
static void store_reg(Gen *g, int reg, XMem to) { x86_op(&g->x, X_storeups, (XArgs){.a = reg, .mem = &to}); }
static void copy_reg(Gen *g, int to, int from) { x86_op(&g->x, X_movaps, (XArgs){.dst = to, .a = from}); }

static int new_slot(Gen *g)
{
    g->max_slots = MAX(g->max_slots, g->n_slots + 1);
    return g->n_slots++;
}

/* ---- registers --------------------------------------------------------------------------------- */

static bool exists(const Gen *g, const VIns *ins)
{
    return g->live[ins - g->v->ins.at] && (g->tail || !ins->tail_only);
}

/* What an instruction reads in this copy. */
static int reads(const Gen *g, const VIns *ins, int id[3])
{
    int n = 0;
    if (!exists(g, ins))
        return 0;
    if (ins->kind == V_REDUCE) {
        id[n++] = g->tail ? ins->b : ins->a;
        return n;
    }
    const int all[3] = {ins->a, ins->b, ins->c};
    for (int k = 0; k < 3; k++)
        if (all[k] >= 0)
            id[n++] = all[k];
    return n;
}

static void find_last_uses(Gen *g, int first, int end)
{
    for (int i = 0; i < g->v->ins.n; i++)
        g->last[i] = -1;
    for (int i = first; i < end; i++) {
        int id[3], n = reads(g, ins_at(g, i), id);
        for (int k = 0; k < n; k++)
            g->last[id[k]] = i;
    }
}

static int next_use(const Gen *g, int value, int at)
{
    for (int i = at; i <= g->last[value]; i++) {
        int id[3], n = reads(g, ins_at(g, i), id);
        for (int k = 0; k < n; k++)
            if (id[k] == value)
                return i;
    }
    return INT32_MAX;
}

/* Frees a register by saving the value in it that is needed last. */
static int evict(Gen *g, int at)
{
    int best = -1, far = -1;
    for (int r = 0; r < g->limit; r++) {
        if (g->locked >> r & 1)
            continue;
        int use = next_use(g, g->owner[r], at);
        if (use > far) {
            far = use;
            best = r;
        }
    }
    int value = g->owner[best];
    if (far != INT32_MAX && !in_memory(g, value)) {
        g->slot[value] = new_slot(g);
        store_reg(g, best, slot_mem(g, g->slot[value]));
    }
    g->reg[value] = -1;
    g->owner[best] = -1;
    return best;
}

static int take_reg(Gen *g, int at)
{
    for (int r = 0; r < g->limit; r++)
        if (g->owner[r] < 0 && !(g->locked >> r & 1)) {
            g->high = MAX(g->high, r + 1);
            return r;
        }
    g->high = g->limit;
    return evict(g, at);
}

/* The register of a value, loaded if it is not in one; locked until the instruction is done. */
static int in_reg(Gen *g, int value, int at)
{
    if (g->reg[value] < 0) {
        int r = take_reg(g, at);
        load_reg(g, r, memory_of(g, value));
        g->reg[value] = (int8_t)r;
        g->owner[r] = value;
    }
    g->locked |= 1u << g->reg[value];
    return g->reg[value];
}

/* A register or memory operand. */
typedef struct Operand {
    int reg;
    XMem mem;
    const XMem *in_mem;
} Operand;

static void operand(Gen *g, int value, int at, Operand *o)
{
    *o = (Operand){.reg = 0};
    if (g->reg[value] < 0) {
        o->mem = memory_of(g, value);
        o->in_mem = &o->mem;
    } else
        o->reg = in_reg(g, value, at);
}

static bool is_temporary(const Gen *g, int value) { return g->reg[value] >= 0 && g->reg[value] < g->limit; }

/* Operands that are read for the last time give up their registers: the result may take one of them. */
static void free_dead(Gen *g, int at)
{
    int id[3], n = reads(g, ins_at(g, at), id);
    for (int k = 0; k < n; k++)
        if (g->last[id[k]] <= at && is_temporary(g, id[k])) {
            g->locked &= ~(1u << g->reg[id[k]]);
            g->owner[g->reg[id[k]]] = -1;
            g->reg[id[k]] = -1;
        }
}

/* Where the result of instruction i goes. */
static int result_reg(Gen *g, int i) { return g->home[i] >= 0 ? g->home[i] : take_reg(g, i); }

static void define(Gen *g, int i, int reg)
{
    g->reg[i] = (int8_t)reg;
    if (reg < g->limit)
        g->owner[reg] = i;
    if (g->slot_home[i] >= 0) {
        g->slot[i] = g->slot_home[i];
        store_reg(g, reg, slot_mem(g, g->slot[i]));
    }
    if (g->last[i] < 0 && reg < g->limit) { /* read in later segments only, from its slot */
        g->owner[reg] = -1;
        g->reg[i] = -1;
    }
}

/* ---- memory of ports --------------------------------------------------------------------------- */

static int port_size(const Gen *g, int port) { return dtype_bytes(g->v->body->ports.at[port].type); }
static XMem port_slot(int port) { return (XMem){RSP, -1, 0, F_PORTS + port * 8}; }

/* A register with the port's pointer: its own, or scratch. */
static int port_base(Gen *g, int port)
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
    int size = port_size(g, ins->port);
    int lane = g->copy * 8 + ins->part * 4;
    return (XMem){port_base(g, ins->port), INDEX, log2_of(size), lane * size};
}

/* Masked moves exist for 32 and 64-bit lanes that are not widened on the way. */
static bool is_maskable(const VIns *ins) { return ins->x == X_movups || ins->x == X_storeups; }

static int mask_of(const Gen *g, const VIns *ins)
{
    return g->v->mask[port_size(g, ins->port) == 8 ? 1 + ins->part : 0];
}

/* Copies the lanes that exist between a port and the bounce buffer, byte by byte: `rep movsb`, with the
 * registers that it uses saved around it. */
static void bounce(Gen *g, const VIns *ins, bool out)
{
    XCode *x = &g->x;
    XMem save_rsi = {RSP, -1, 0, F_RSI}, save_rcx = {RSP, -1, 0, F_RCX}, buffer = {RSP, -1, 0, F_BOUNCE};
    int size = port_size(g, ins->port);
    XMem lanes = {port_base(g, ins->port), INDEX, log2_of(size), 0};
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

static void gen_load(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    if (!g->tail) {
        XMem m = lanes_mem(g, ins);
        int dst = result_reg(g, i);
        x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .mem = &m});
        define(g, i, dst);
        return;
    }
    if (is_maskable(ins)) {
        int mask = in_reg(g, mask_of(g, ins), i), dst = result_reg(g, i);
        XMem m = lanes_mem(g, ins);
        XOp op = port_size(g, ins->port) == 8 ? X_maskloadq : X_maskloadd;
        x86_op(&g->x, op, (XArgs){.dst = dst, .a = mask, .mem = &m});
        define(g, i, dst);
        return;
    }
    bounce(g, ins, false);
    XMem m = {RSP, -1, 0, F_BOUNCE + ins->part * 4 * port_size(g, ins->port)};
    int dst = result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .mem = &m});
    define(g, i, dst);
}

static void gen_store(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int a = in_reg(g, ins->a, i);
    if (g->tail && is_maskable(ins)) {
        int mask = in_reg(g, mask_of(g, ins), i);
        XMem m = lanes_mem(g, ins);
        XOp op = port_size(g, ins->port) == 8 ? X_maskstoreq : X_maskstored;
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
    free_dead(g, i);
}

/* ---- instructions ------------------------------------------------------------------------------ */

/* dst = a op b, with b in memory if it is there, and a if they may be exchanged. */
static void gen_binary(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int va = ins->a, vb = ins->b;
    if (g->reg[va] < 0 && g->reg[vb] >= 0 && (xop_info[ins->x].flags & XF_C)) {
        va = ins->b;
        vb = ins->a;
    }
    int a = in_reg(g, va, i);
    Operand b;
    operand(g, vb, i, &b);
    int c = ins->c >= 0 ? in_reg(g, ins->c, i) : 0;
    free_dead(g, i);
    int dst = result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){dst, a, b.reg, c, ins->imm, b.in_mem});
    define(g, i, dst);
}

static void gen_unary(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    Operand a = {.reg = 0};
    if (xop_info[ins->x].form == XFORM_RM)
        operand(g, ins->a, i, &a);
    else
        a.reg = in_reg(g, ins->a, i);
    free_dead(g, i);
    int dst = result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .a = a.reg, .imm = ins->imm, .mem = a.in_mem});
    define(g, i, dst);
}

/* May the result overwrite this operand's register? */
static bool dies(const Gen *g, int value, int at, int other1, int other2)
{
    return is_temporary(g, value) && g->last[value] <= at && value != other1 && value != other2;
}

/* a * b + c overwrites one of its operands: the one that dies, else a copy of c or a. The factor that is not
 * in a register, or else the addend, stays in memory. */
static void gen_fma(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int a = ins->a, b = ins->b, c = ins->c;
    if (g->reg[a] < 0 && g->reg[b] >= 0) {
        a = ins->b;
        b = ins->a;
    }
    int ra = in_reg(g, a, i), form;
    Operand ob, oc;
    operand(g, b, i, &ob);
    operand(g, c, i, &oc);
    if (ob.in_mem && oc.in_mem) {
        oc.reg = in_reg(g, c, i);
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
        dst = result_reg(g, i);
        copy_reg(g, dst, ra);
    }
    free_dead(g, i);
    x86_fma(&g->x, (XOp)ins->x, form, dst, v, rm, mem);
    define(g, i, dst);
}

/* A row port's element into all lanes. The narrow broadcasts read no byte beyond it. */
static void gen_load1(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    XMem m = {port_base(g, ins->port), -1, 0, 0};
    int dst = result_reg(g, i);
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .mem = &m});
    define(g, i, dst);
}

static void gen_store1(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int a = in_reg(g, ins->a, i);
    XMem m = {port_base(g, ins->port), -1, 0, 0};
    x86_op(&g->x, (XOp)ins->x, (XArgs){.a = a, .mem = &m});
    free_dead(g, i);
}

static void gen_lane(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    XMem first = {INDEX, -1, 0, g->copy * 8};
    x86_gpr(&g->x, 0x8D, SCRATCH, 0, &first);
    int dst = result_reg(g, i);
    x86_op(&g->x, ins->x == X_pbroadcastq ? X_movq128 : X_movd128, (XArgs){.dst = dst, .a = SCRATCH});
    x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = dst, .a = dst});
    define(g, i, dst);
}

/* Copies of the loop body have accumulators of their own where the order of combining could be seen in the
 * result or the combination takes time; and, or have neither. */
static int n_accumulators(const Gen *g, int i)
{
    return ins_at(g, i)->x == X_or || ins_at(g, i)->x == X_and ? 1 : g->unroll;
}

/* One accumulator combined with one value. With max and min a NaN operand gives the second: the accumulator,
 * which so never becomes NaN. */
static void gen_reduce(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    int value = in_reg(g, g->tail ? ins->b : ins->a, i);
    int copy = g->copy % n_accumulators(g, i), acc = g->acc[i][copy];
    if (acc >= 0)
        x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = acc, .a = value, .b = acc});
    else {
        XMem m = slot_mem(g, g->acc_slot[i][copy]);
        int r = take_reg(g, i);
        x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = r, .a = value, .mem = &m});
        store_reg(g, r, m);
    }
    free_dead(g, i);
}

static void gen_ins(Gen *g, int i)
{
    const VIns *ins = ins_at(g, i);
    g->locked = 0;
    if (!exists(g, ins))
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
    case V_CONST: case V_MASK: case V_LOOP: case V_END: break;
    }
}

/* One copy of the instructions first..end-1. Nothing is in temporary registers before and after. */
static void gen_segment(Gen *g, int first, int end)
{
    find_last_uses(g, first, end);
    g->n_slots = g->n_fixed;
    for (int r = 0; r < 16; r++)
        g->owner[r] = -1;
    for (int i = 0; i < g->v->ins.n; i++) {
        g->slot[i] = g->slot_home[i];
        g->reg[i] = g->home[i];
    }
    for (int i = first; i < end; i++)
        gen_ins(g, i);
}

/* ---- loops ------------------------------------------------------------------------------------- */

static int loop_end(const Gen *g, int i)
{
    while (ins_at(g, i)->kind != V_END)
        i++;
    return i;
}

/* Gives the loop's accumulators registers while there are any, and sets them to the identity. */
static void begin_accumulators(Gen *g, int first, int end)
{
    for (int i = first; i < end; i++) {
        if (ins_at(g, i)->kind != V_REDUCE || !g->live[i])
            continue;
        for (int u = 0; u < n_accumulators(g, i); u++) {
            bool pinned = g->limit > g->floor;
            int r = pinned ? --g->limit : 0;
            g->acc[i][u] = (int8_t)(pinned ? r : -1);
            load_reg(g, r, const_mem(g, ins_at(g, i)->c));
            if (!pinned) {
                g->acc_slot[i][u] = g->n_fixed++;
                g->max_slots = MAX(g->max_slots, g->n_fixed);
                store_reg(g, r, slot_mem(g, g->acc_slot[i][u]));
            }
        }
    }
}

/* All lanes of register r combined, in all lanes; t is scratch. */
static void across_lanes(Gen *g, const VIns *ins, int r, int t)
{
    XOp op = (XOp)ins->x;
    x86_op(&g->x, X_perm2i128, (XArgs){.dst = t, .a = r, .b = r, .imm = 1});
    x86_op(&g->x, op, (XArgs){.dst = r, .a = r, .b = t});
    x86_op(&g->x, X_pshufd, (XArgs){.dst = t, .a = r, .imm = 0x4E});
    x86_op(&g->x, op, (XArgs){.dst = r, .a = r, .b = t});
    if (ins->wide)
        return;
    x86_op(&g->x, X_pshufd, (XArgs){.dst = t, .a = r, .imm = 0xB1});
    x86_op(&g->x, op, (XArgs){.dst = r, .a = r, .b = t});
}

/* The accumulators together, then across the lanes, into the reduction's home. */
static void end_accumulators(Gen *g, int first, int end)
{
    for (int i = first; i < end; i++) {
        const VIns *ins = ins_at(g, i);
        if (ins->kind != V_REDUCE || !g->live[i])
            continue;
        int r = 0;
        for (int u = 0; u < n_accumulators(g, i); u++) {
            int acc = g->acc[i][u];
            XMem m = slot_mem(g, g->acc_slot[i][u]);
            if (u)
                x86_op(&g->x, (XOp)ins->x, (XArgs){.dst = r, .a = r, .b = acc, .mem = acc < 0 ? &m : NULL});
            else if (acc >= 0)
                r = acc;
            else
                load_reg(g, r, m);
        }
        across_lanes(g, ins, r, 1);
        if (g->home[i] >= 0)
            copy_reg(g, g->home[i], r);
        else if (g->slot_home[i] >= 0)
            store_reg(g, r, slot_mem(g, g->slot_home[i]));
    }
}

/* for (; index + 8 * copies <= n; index += 8 * copies) */
static void gen_full_vectors(Gen *g, int first, int end, int copies)
{
    XCode *x = &g->x;
    x86_gpr(x, 0x8B, LIMIT, COUNT, NULL);
    x86_gpr_imm(x, 5, LIMIT, 8 * copies);
    x86_gpr(x, 0x3B, INDEX, LIMIT, NULL);
    int none = x86_jump(x, C_G);
    x86_align(x, 16);
    int top = x->bytes.n;
    for (g->copy = 0; g->copy < copies; g->copy++)
        gen_segment(g, first, end);
    g->copy = 0;
    x86_gpr_imm(x, 0, INDEX, 8 * copies);
    x86_gpr(x, 0x3B, INDEX, LIMIT, NULL);
    x86_jump_back(x, C_LE, top);
    x86_land(x, none);
}

/* Which of the three masks does the tail of this loop need? */
static unsigned masks_used(const Gen *g, int first, int end)
{
    unsigned used = 0;
    for (int i = first; i < end; i++) {
        const VIns *ins = ins_at(g, i);
        if ((ins->kind == V_LOAD || ins->kind == V_STORE) && is_maskable(ins))
            used |= 1u << ins_at(g, mask_of(g, ins))->part;
        if (ins->tail_only)
            used |= 1u << ins_at(g, ins->c)->part;
    }
    return used;
}

/* The masks of n - index lanes, from a window over ones and zeros in the pool. */
static void gen_masks(Gen *g, unsigned used)
{
    XCode *x = &g->x;
    if (!used)
        return;
    x86_gpr(x, 0x8B, LIMIT, INDEX, NULL);
    x86_gpr(x, 0x2B, LIMIT, COUNT, NULL);
    XMem window = {POOL, LIMIT, 2, g->window + 32};
    load_reg(g, 0, window);
    store_reg(g, 0, slot_mem(g, 0));
    for (int part = 1; part < 3; part++) {
        if (!(used >> part & 1))
            continue;
        x86_op(x, X_extracti128, (XArgs){.dst = 1, .a = 0, .imm = part - 1});
        x86_op(x, X_pmovsxdq, (XArgs){.dst = 1, .a = 1});
        store_reg(g, 1, slot_mem(g, part));
    }
}

static void gen_tail(Gen *g, int first, int end)
{
    XCode *x = &g->x;
    x86_gpr(x, 0x3B, INDEX, COUNT, NULL);
    int none = x86_jump(x, C_GE);
    gen_masks(g, masks_used(g, first, end));
    g->tail = true;
    gen_segment(g, first, end);
    g->tail = false;
    x86_land(x, none);
}

/* Are all ports that the loop could store to by non-temporal stores aligned? Jumps when not; 0: there is none. */
static int gen_alignment_test(Gen *g, int first, int end)
{
    XCode *x = &g->x;
    bool any = false;
    for (int i = first; i < end; i++) {
        const VIns *ins = ins_at(g, i);
        if (ins->kind != V_STORE || ins->x != X_storeups || ins->part)
            continue;
        int base = port_base(g, ins->port);
        x86_gpr(x, any ? 0x0B : 0x8B, LIMIT, base, NULL);
        any = true;
    }
    if (!any)
        return 0;
    x86_gpr_imm(x, 4, LIMIT, 31);
    return x86_jump(x, C_NE);
}

/* Sums must not depend on what else a loop does: loops with reductions always have the same number of
 * accumulators. Others gain little from copies, and nothing when they are long. */
static int choose_unroll(const Gen *g, int first, int end)
{
    int n = 0;
    for (int i = first; i < end; i++) {
        if (ins_at(g, i)->kind == V_REDUCE)
            return MAX_UNROLL;
        n += ins_at(g, i)->kind == V_X;
    }
    return n <= 40 ? 4 : n <= 120 ? 2 : 1;
}

static void gen_loop(Gen *g, int first, int end)
{
    XCode *x = &g->x;
    int fixed = g->n_fixed;
    g->unroll = choose_unroll(g, first, end);
    g->high = 0;
    begin_accumulators(g, first, end);
    x86_byte(x, 0x31); /* xor ecx, ecx */
    x86_byte(x, 0xC9);
    int unaligned = g->streaming ? gen_alignment_test(g, first, end) : 0;
    if (unaligned) {
        g->nontemporal = true;
        gen_full_vectors(g, first, end, g->unroll);
        g->nontemporal = false;
        x86_land(x, unaligned);
    }
    if (g->unroll > 1)
        gen_full_vectors(g, first, end, g->unroll);
    gen_full_vectors(g, first, end, 1);
    gen_tail(g, first, end);
    end_accumulators(g, first, end);
    g->most = MAX(g->most, g->high);
    g->limit = g->row_limit;
    g->n_fixed = fixed;
}

/* ---- homes ------------------------------------------------------------------------------------- */

/* Instructions that something needs, from the stores backwards. */
static void find_live(Gen *g)
{
    for (int i = g->v->ins.n - 1; i >= 0; i--) {
        const VIns *ins = ins_at(g, i);
        g->live[i] |= ins->kind == V_STORE || ins->kind == V_STORE1 || ins->kind == V_LOOP || ins->kind == V_END;
        const int id[3] = {ins->a, ins->b, ins->c};
        for (int k = 0; k < 3; k++)
            if (g->live[i] && id[k] >= 0)
                g->live[id[k]] = true;
    }
}

static void find_segments(Gen *g)
{
    int segment = 0;
    for (int i = 0; i < g->v->ins.n; i++) {
        segment += ins_at(g, i)->kind == V_LOOP;
        g->segment[i] = segment;
        segment += ins_at(g, i)->kind == V_END;
    }
}

/* How often each value is read by loops other than its own (constants: by loops), and by straight code. */
static void count_uses(const Gen *g, int *by_loops, int *by_rows)
{
    for (int i = 0; i < g->v->ins.n; i++) {
        const VIns *ins = ins_at(g, i);
        const int id[3] = {ins->a, ins->b, ins->c};
        for (int k = 0; k < 3; k++) {
            if (id[k] < 0 || !g->live[i] || ins->tail_only)
                continue;
            bool elsewhere = g->segment[i] != g->segment[id[k]] || is_const(g, id[k]);
            if (elsewhere && !(ins->kind == V_REDUCE && k == 2)) /* the identity is read once, from the pool */
                (g->segment[i] & 1 ? by_loops : by_rows)[id[k]]++;
        }
    }
}

/* How many accumulators does the greediest loop want? */
static int most_accumulators(const Gen *g)
{
    int most = 0, here = 0;
    for (int i = 0; i < g->v->ins.n; i++) {
        if (ins_at(g, i)->kind == V_LOOP)
            here = 0;
        if (g->live[i] && ins_at(g, i)->kind == V_REDUCE)
            here += n_accumulators(g, i);
        most = MAX(most, here);
    }
    return most;
}

/* Values that cross segments keep a register if loops read them and there is one, else a slot. */
static void give_homes(Gen *g, const int *by_loops, const int *by_rows)
{
    int lowest = 16 - MAX_PINNED + MIN(g->accumulators, MAX_PINNED - 2);
    for (int i = 0; i < g->v->ins.n; i++) {
        const VIns *ins = ins_at(g, i);
        g->home[i] = -1;
        g->slot_home[i] = ins->kind == V_MASK ? ins->part : -1;
        if (is_const(g, i) || (!by_loops[i] && !by_rows[i]))
            continue;
        if (by_loops[i] && g->row_limit > lowest)
            g->home[i] = (int8_t)--g->row_limit;
        else
            g->slot_home[i] = g->n_fixed++;
    }
}

/* The `n` constants that loops read most often get registers, loaded once. */
static void hoist_constants(Gen *g, const int *by_loops, int n)
{
    for (; n > 0; n--) {
        int best = -1;
        for (int i = 0; i < g->v->ins.n; i++)
            if (is_const(g, i) && g->home[i] < 0 && by_loops[i] && (best < 0 || by_loops[i] > by_loops[best]))
                best = i;
        if (best < 0)
            return;
        g->home[best] = (int8_t)--g->row_limit;
        load_reg(g, g->home[best], const_mem(g, best));
    }
}

/* ---- functions --------------------------------------------------------------------------------- */

static int n_saved(const Gen *g)
{
    return MAX(0, MIN(g->v->body->ports.n, NELEM(port_regs)) - FIRST_SAVED);
}

/* Returns where the size of the frame is to be patched in. */
static int gen_prologue(Gen *g)
{
    XCode *x = &g->x;
    for (int k = 0; k < n_saved(g); k++)
        x86_push(x, port_regs[FIRST_SAVED + k]);
    x86_gpr(x, 0x8B, RAX, RSP, NULL);
    x86_gpr_imm(x, 5, RSP, 0);
    int frame_at = x->bytes.n - 4;
    x86_gpr_imm(x, 4, RSP, -32);
    XMem rsp = {RSP, -1, 0, F_RSP}, rows = {RSP, -1, 0, F_ROWS};
    x86_gpr(x, 0x89, RAX, 0, &rsp);
    x86_gpr(x, 0x89, RCX, 0, &rows);
    for (int p = 0; p < g->v->body->ports.n; p++) {
        XMem from = {RDI, -1, 0, p * 8}, to = port_slot(p);
        bool has_reg = p < NELEM(port_regs);
        x86_gpr(x, 0x8B, has_reg ? port_regs[p] : RAX, 0, &from);
        if (!has_reg)
            x86_gpr(x, 0x89, RAX, 0, &to);
    }
    return frame_at;
}

static void gen_epilogue(Gen *g)
{
    XCode *x = &g->x;
    XMem rsp = {RSP, -1, 0, F_RSP};
    if (g->streaming) { /* sfence: the stores are seen before whatever the caller signals */
        x86_byte(x, 0x0F);
        x86_byte(x, 0xAE);
        x86_byte(x, 0xF8);
    }
    x86_gpr(x, 0x8B, RSP, 0, &rsp);
    for (int k = n_saved(g) - 1; k >= 0; k--)
        x86_pop(x, port_regs[FIRST_SAVED + k]);
    x86_byte(x, 0xC5); /* vzeroupper */
    x86_byte(x, 0xF8);
    x86_byte(x, 0x77);
}

/* Every port one row on; the next row if there is one. */
static void gen_next_row(Gen *g, int top)
{
    XCode *x = &g->x;
    for (int p = 0; p < g->v->body->ports.n; p++) {
        XMem step = {STEPS, -1, 0, p * 8}, slot = port_slot(p);
        bool has_reg = p < NELEM(port_regs);
        x86_gpr(x, has_reg ? 0x03 : 0x8B, has_reg ? port_regs[p] : RAX, 0, &step);
        if (!has_reg)
            x86_gpr(x, 0x01, RAX, 0, &slot);
    }
    XMem rows = {RSP, -1, 0, F_ROWS};
    x86_gpr(x, 0xFF, 1, 0, &rows); /* dec */
    x86_jump_back(x, C_G, top);
}

static void gen_rows(Gen *g)
{
    int n = g->v->ins.n, first = 0;
    for (int i = 0; i <= n; i++) {
        bool loop = i < n && ins_at(g, i)->kind == V_LOOP;
        if (i < n && !loop)
            continue;
        gen_segment(g, first, i);
        if (loop) {
            int end = loop_end(g, i);
            gen_loop(g, i, end);
            i = end;
        }
        first = i + 1;
    }
}

/* The whole function with `hoist` constants in registers. Returns how many more could be. */
static int gen_function(Gen *g, int hoist, int floor)
{
    int n = g->v->ins.n;
    int *by_loops = NEW_N(g->cx, int, n + 1), *by_rows = NEW_N(g->cx, int, n + 1);
    x86_init(&g->x, g->cx);
    g->row_limit = 16;
    g->n_fixed = 3;
    g->floor = floor;
    g->most = MIN_FLOOR;
    g->unroll = MAX_UNROLL;
    find_live(g);
    find_segments(g);
    count_uses(g, by_loops, by_rows);
    g->accumulators = most_accumulators(g);
    give_homes(g, by_loops, by_rows);
    g->max_slots = g->n_fixed;
    x86_gpr(&g->x, 0x85, RCX, RCX, NULL);
    int no_rows = x86_jump(&g->x, C_LE);
    int frame_at = gen_prologue(g);
    hoist_constants(g, by_loops, hoist);
    g->limit = g->row_limit;
    int top = g->x.bytes.n;
    gen_rows(g);
    gen_next_row(g, top);
    gen_epilogue(g);
    x86_land(&g->x, no_rows);
    x86_byte(&g->x, 0xC3);
    x86_patch32(&g->x, frame_at, slot_mem(g, g->max_slots).disp + 32);
    return g->row_limit - MIN(g->accumulators, MAX_PINNED) - g->most;
}

static void gen_init(Gen *g, Ctx *cx, const VCode *v, bool streaming)
{
    int n = v->ins.n + 1;
    *g = (Gen){.cx = cx, .v = v, .streaming = streaming, .window = v->pool.n * 32};
    g->segment = NEW_N(cx, int, n);
    g->last = NEW_N(cx, int, n);
    g->slot = NEW_N(cx, int, n);
    g->slot_home = NEW_N(cx, int, n);
    g->reg = NEW_N(cx, int8_t, n);
    g->home = NEW_N(cx, int8_t, n);
    g->live = NEW_N(cx, bool, n);
    g->acc = ctx_array(cx, (size_t)n, sizeof *g->acc);
    g->acc_slot = ctx_array(cx, (size_t)n, sizeof *g->acc_slot);
}

bool body_encodable(const Body *b, const char *isa)
{
    VCode v;
    return strcmp(isa, "avx2") == 0 && body_select(&v, b->cx, b);
}

BodyCode body_encode(Ctx *cx, const Body *b, const char *isa, bool streaming_stores)
{
    VCode v;
    if (strcmp(isa, "avx2") != 0 || !body_select(&v, cx, b))
        ctx_fail(cx, ST_INTERNAL, NULL, "a body that is not encodable for %s", isa);
    Gen g;
    gen_init(&g, cx, &v, streaming_stores);
    int more = gen_function(&g, 0, 16 - MAX_PINNED);
    if (more > 0)
        gen_function(&g, more, g.most);
    VConst *pool = NEW_N(cx, VConst, v.pool.n + 2);
    memcpy(pool, v.pool.at, (size_t)v.pool.n * sizeof *pool);
    memset(pool + v.pool.n, 255, sizeof *pool);
    return (BodyCode){g.x.bytes.at, (size_t)g.x.bytes.n, (const uint8_t *)pool, (size_t)(v.pool.n + 2) * 32};
}
