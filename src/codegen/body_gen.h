/* body_gen.h: the state of the x86 code generator of bodies, shared by its three files:
 *   body_regs.c   registers of the values in a segment
 *   body_ins.c    one instruction of vector code, one segment
 *   body_x86.c    loops, tails, whole functions
 */
#ifndef SINTER_BODY_GEN_H
#define SINTER_BODY_GEN_H
#include "codegen/vec.h"

/* General registers. RAX is scratch, RDI too (loop limit, bounce copies); RSI: steps; R8: the pool.
 */
enum { SCRATCH = RAX, INDEX = RCX, COUNT = RDX, STEPS = RSI, LIMIT = RDI, POOL = R8 };
static const uint8_t port_regs[] = {R9, R10, R11, RBX, RBP, R12, R13, R14, R15};
enum { FIRST_SAVED = 3 }; /* port_regs from here on belong to the caller */

/* The stack frame, 32-byte aligned. */
enum { F_RSP = 0, F_ROWS = 8, F_RSI = 16, F_RCX = 24, F_BOUNCE = 32, F_PORTS = 64 };

/* An instruction reads three registers and writes a fourth; that many temporaries there are at
 * least. */
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
    int carried[16];   /* reductions that a loop left in registers for what follows, -1 none */
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
    bool measuring; /* the first time, one copy of each loop shows the pressure */
    bool *live; /* is the instruction needed? */
} Gen;

/* ---- body_regs.c ----------------------------------------------------------------------------- */

static inline const VIns *ins_at(const Gen *g, int i) { return &g->v->ins.at[i]; }
static inline bool is_const(const Gen *g, int value) { return ins_at(g, value)->kind == V_CONST; }
static inline XMem const_mem(const Gen *g, int value)
{
    return (XMem){POOL, -1, 0, ins_at(g, value)->port * 32};
}
static inline XMem port_slot(int port) { return (XMem){RSP, -1, 0, F_PORTS + port * 8}; }
XMem gen_slot_mem(const Gen *g, int slot);
void gen_load_reg(Gen *g, int reg, XMem from);
void gen_store_reg(Gen *g, int reg, XMem to);
void gen_copy_reg(Gen *g, int to, int from);

bool gen_exists(const Gen *g, const VIns *ins);        /* in this copy of the segment */
void gen_find_last_uses(Gen *g, int first, int end);
int gen_take_reg(Gen *g, int at);          /* a free temporary, by eviction if need be */
int gen_in_reg(Gen *g, int value, int at); /* the value's register, loaded if need be; locked */
bool gen_is_temporary(const Gen *g, int value);
void gen_free_dead(Gen *g, int at);        /* what instruction `at` reads for the last time */
int gen_result_reg(Gen *g, int i);
void gen_define(Gen *g, int i, int reg);               /* the result of instruction i is in reg */

/* A register or memory operand. */
typedef struct Operand {
    int reg;
    XMem mem;
    const XMem *in_mem; /* &mem, or NULL */
} Operand;
void gen_operand(Gen *g, int value, int at, Operand *o);

/* ---- body_ins.c ------------------------------------------------------------------------------ */

int gen_port_size(const Gen *g, int port);
int gen_port_base(Gen *g, int port);                   /* a register with the port's pointer */
bool gen_is_maskable(const VIns *ins);
int gen_mask_of(const Gen *g, const VIns *ins);        /* the V_MASK value for a load or store */
int gen_n_accumulators(const Gen *g, int i);
void gen_segment(Gen *g, int first, int end);      /* instructions first..end-1, one copy */

#endif
