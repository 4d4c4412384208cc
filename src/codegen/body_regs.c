/* body_regs.c: where the values of a segment are: registers by one forward scan. An operand is
 * freed at its last use; when no register is free, the value whose next use is farthest goes to the
 * stack (Belady 1966).
 */
#include "codegen/body_gen.h"

/* ---- what is where --------------------------------------------------------------------------- */

/* Slots lie above the pointers of the ports, each 32 bytes, aligned as the frame is. */
XMem gen_slot_mem(const Gen *g, int slot)
{
    int n_ports = g->v->body->ports.n;
    return (XMem){RSP, -1, 0, (F_PORTS + (n_ports * 8 + 31) / 32 * 32) + slot * 32};
}

/* What can be given up without saving it. */
static bool in_memory(const Gen *g, int value) { return is_const(g, value) || g->slot[value] >= 0; }

static XMem memory_of(const Gen *g, int value)
{
    return is_const(g, value) ? const_mem(g, value) : gen_slot_mem(g, g->slot[value]);
}

void gen_load_reg(Gen *g, int reg, XMem from)
{
    x86_op(&g->x, X_movups, (XArgs){.dst = reg, .mem = &from});
}
void gen_store_reg(Gen *g, int reg, XMem to)
{
    x86_op(&g->x, X_storeups, (XArgs){.a = reg, .mem = &to});
}
void gen_copy_reg(Gen *g, int to, int from)
{
    x86_op(&g->x, X_movaps, (XArgs){.dst = to, .a = from});
}

/* Slots of one segment copy are free again in the next; the frame has room for the greediest. */
static int new_slot(Gen *g)
{
    g->max_slots = MAX(g->max_slots, g->n_slots + 1);
    return g->n_slots++;
}

/* ---- registers ------------------------------------------------------------------------------- */

bool gen_exists(const Gen *g, const VIns *ins)
{
    return g->live[ins - g->v->ins.at] && (g->tail || !ins->tail_only);
}

/* What an instruction reads in this copy. */
static int reads(const Gen *g, const VIns *ins, int id[3])
{
    int n = 0;
    if (!gen_exists(g, ins))
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

/* Per copy, because the tail reads other values than the full vectors do. */
void gen_find_last_uses(Gen *g, int first, int end)
{
    for (int i = 0; i < g->v->ins.n; i++)
        g->last[i] = -1;
    for (int i = first; i < end; i++) {
        int id[3], n = reads(g, ins_at(g, i), id);
        for (int k = 0; k < n; k++)
            g->last[id[k]] = i;
    }
}

/* Linear, but only asked when registers run out. */
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
        gen_store_reg(g, best, gen_slot_mem(g, g->slot[value]));
    }
    g->reg[value] = -1;
    g->owner[best] = -1;
    return best;
}

/* The lowest free one: low registers have shorter encodings, and `high` then is the pressure. */
int gen_take_reg(Gen *g, int at)
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
int gen_in_reg(Gen *g, int value, int at)
{
    if (g->reg[value] < 0) {
        int r = gen_take_reg(g, at);
        gen_load_reg(g, r, memory_of(g, value));
        g->reg[value] = (int8_t)r;
        g->owner[r] = value;
    }
    g->locked |= 1u << g->reg[value];
    return g->reg[value];
}

/* Leaves a value in memory if it is there: an instruction reads it for free. */
void gen_operand(Gen *g, int value, int at, Operand *o)
{
    *o = (Operand){.reg = 0};
    if (g->reg[value] < 0) {
        o->mem = memory_of(g, value);
        o->in_mem = &o->mem;
    } else
        o->reg = gen_in_reg(g, value, at);
}

bool gen_is_temporary(const Gen *g, int value)
{
    return g->reg[value] >= 0 && g->reg[value] < g->limit;
}

/* Operands that are read for the last time give up their registers: the result may take one of
 * them. */
void gen_free_dead(Gen *g, int at)
{
    int id[3], n = reads(g, ins_at(g, at), id);
    for (int k = 0; k < n; k++)
        if (g->last[id[k]] <= at && gen_is_temporary(g, id[k])) {
            g->locked &= ~(1u << g->reg[id[k]]);
            g->owner[g->reg[id[k]]] = -1;
            g->reg[id[k]] = -1;
        }
}

/* Where the result of instruction i goes. */
int gen_result_reg(Gen *g, int i) { return g->home[i] >= 0 ? g->home[i] : gen_take_reg(g, i); }

/* A value with a slot that outlives the segment is stored at once: it is defined once and read many
 * times. */
void gen_define(Gen *g, int i, int reg)
{
    g->reg[i] = (int8_t)reg;
    if (reg < g->limit)
        g->owner[reg] = i;
    if (g->slot_home[i] >= 0) {
        g->slot[i] = g->slot_home[i];
        gen_store_reg(g, reg, gen_slot_mem(g, g->slot[i]));
    }
    if (g->last[i] < 0 && reg < g->limit) { /* read in later segments only, from its slot */
        g->owner[reg] = -1;
        g->reg[i] = -1;
    }
}
