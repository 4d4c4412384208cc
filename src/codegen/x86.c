/* x86.c: see x86.h. Names of fields are those of the manuals (Intel SDM volume 2, chapter 2). */
#include "codegen/x86.h"

const XOpInfo xop_info[N_XOPS] = {
#define XOP(name, mnemonic, form, map, pp, w, opcode, ext, flags) \
    {#name, mnemonic, XFORM_##form, map, pp, w, opcode, ext, flags},
#include "codegen/x86.def"
#undef XOP
};

/* Bytes go to the arena of cx; nothing has to be freed. */
void x86_init(XCode *x, Ctx *cx)
{
    memset(x, 0, sizeof *x);
    x->cx = cx;
}

void x86_byte(XCode *x, int byte) { VEC_PUSH(x->cx, &x->bytes, (uint8_t)byte); }

void x86_int32(XCode *x, int64_t value)
{
    for (int k = 0; k < 4; k++)
        x86_byte(x, (int)(value >> (8 * k) & 255));
}

/* ---- operands -------------------------------------------------------------------------------- */

/* ModRM, SIB and displacement. RSP and R12 as base need a SIB; RBP and R13 need a displacement. */
static void modrm(XCode *x, int reg, int rm, const XMem *m)
{
    if (!m) {
        x86_byte(x, 0xC0 | (reg & 7) << 3 | (rm & 7));
        return;
    }
    bool sib = m->index >= 0 || (m->base & 7) == RSP;
    bool none = m->disp == 0 && (m->base & 7) != RBP, small = m->disp >= -128 && m->disp < 128;
    int mod = none ? 0 : small ? 1 : 2;
    x86_byte(x, mod << 6 | (reg & 7) << 3 | (sib ? 4 : m->base & 7));
    if (sib)
        x86_byte(x, m->scale << 6 | ((m->index >= 0 ? m->index : 4) & 7) << 3 | (m->base & 7));
    if (mod == 1)
        x86_byte(x, m->disp & 255);
    else if (mod == 2)
        x86_int32(x, m->disp);
}

/* The extension bits of base or rm, and of the index. */
static int high_b(int rm, const XMem *m) { return (m ? m->base : rm) >> 3; }
static int high_x(const XMem *m) { return m && m->index >= 0 ? m->index >> 3 : 0; }

/* ---- vector instructions --------------------------------------------------------------------- */

/* The two-byte prefix serves if the operand in rm needs no extension bits, the map is 0F and W is
 * 0. */
void x86_vex(XCode *x, int map, int pp, int w, int l, int opcode, int reg, int vvvv, int rm,
    const XMem *mem)
{
    int not_r = (reg >> 3 ^ 1) << 7, tail = (~vvvv & 15) << 3 | l << 2 | pp;
    int b = high_b(rm, mem), xb = high_x(mem);
    if (map == 1 && !w && !b && !xb) {
        x86_byte(x, 0xC5);
        x86_byte(x, not_r | tail);
    } else {
        x86_byte(x, 0xC4);
        x86_byte(x, not_r | (xb ^ 1) << 6 | (b ^ 1) << 5 | map);
        x86_byte(x, w << 7 | tail);
    }
    x86_byte(x, opcode);
    modrm(x, reg, rm, mem);
}

/* An immediate byte is the last of the instruction, so nothing in it shifts. */
void x86_op(XCode *x, XOp op, XArgs arg)
{
    const XOpInfo *o = &xop_info[op];
    int reg = arg.dst, v = 0, rm = arg.a, imm = arg.imm;
    switch (o->form) {
    case XFORM_RVM: {
        /* Exchanged where that leaves a low register in rm, which takes a shorter prefix. */
        bool swap = o->flags & XF_C && !arg.mem && arg.b > 7 && arg.a < 8;
        v = swap ? arg.b : arg.a;
        rm = swap ? arg.a : arg.b;
        break;
    }
    case XFORM_BLEND:
        v = arg.a;
        rm = arg.b;
        imm = arg.c << 4;
        break;
    case XFORM_SHIFT:
        reg = o->ext;
        v = arg.dst;
        break;
    case XFORM_MR:
        reg = arg.a;
        rm = arg.dst;
        break;
    case XFORM_MVR:
        reg = arg.b;
        v = arg.a;
        rm = arg.dst;
        break;
    default: break;
    }
    x86_vex(x, o->map, o->pp, o->w, !(o->flags & XF_X), o->opcode, reg, v, rm, arg.mem);
    if (o->flags & XF_I)
        x86_byte(x, imm);
}

/* The three forms have opcodes 10h apart. */
void x86_fma(XCode *x, XOp op, int form, int dst, int v, int rm, const XMem *mem)
{
    const XOpInfo *o = &xop_info[op];
    x86_vex(x, o->map, o->pp, o->w, 1, o->opcode + 0x10 * form, dst, v, rm, mem);
}

/* ---- general instructions -------------------------------------------------------------------- */

/* REX.W always: all our integers are addresses or counts. */
void x86_gpr(XCode *x, int opcode, int reg, int rm, const XMem *mem)
{
    x86_byte(x, 0x48 | reg >> 3 << 2 | high_x(mem) << 1 | high_b(rm, mem));
    x86_byte(x, opcode);
    modrm(x, reg, rm, mem);
}

/* The 32-bit immediate also where 8 bits would do: the frame's size is patched in later. */
void x86_gpr_imm(XCode *x, int ext, int rm, int32_t imm)
{
    x86_byte(x, 0x48 | rm >> 3);
    x86_byte(x, 0x81);
    modrm(x, ext, rm, NULL);
    x86_int32(x, imm);
}

void x86_push(XCode *x, int reg)
{
    if (reg > 7)
        x86_byte(x, 0x41);
    x86_byte(x, 0x50 | (reg & 7));
}

void x86_pop(XCode *x, int reg)
{
    if (reg > 7)
        x86_byte(x, 0x41);
    x86_byte(x, 0x58 | (reg & 7));
}

static void jump_opcode(XCode *x, int cond)
{
    if (cond == C_ALWAYS)
        x86_byte(x, 0xE9);
    else {
        x86_byte(x, 0x0F);
        x86_byte(x, 0x80 | cond);
    }
}

int x86_jump(XCode *x, int cond)
{
    jump_opcode(x, cond);
    x86_int32(x, 0);
    return x->bytes.n;
}

/* Displacements count from the end of the jump. */
void x86_land(XCode *x, int jump) { x86_patch32(x, jump - 4, x->bytes.n - jump); }

void x86_jump_back(XCode *x, int cond, int to)
{
    jump_opcode(x, cond);
    x86_int32(x, to - (x->bytes.n + 4));
}

void x86_patch32(XCode *x, int at, int32_t value)
{
    for (int k = 0; k < 4; k++)
        x->bytes.at[at + k] = (uint8_t)(value >> (8 * k));
}

/* The recommended multi-byte no-ops (SDM volume 2, NOP), of up to 8 bytes. */
void x86_align(XCode *x, int to)
{
    static const uint8_t nop[9][8] = {{0}, {0x90}, {0x66, 0x90}, {0x0F, 0x1F, 0x00},
        {0x0F, 0x1F, 0x40}, {0x0F, 0x1F, 0x44}, {0x66, 0x0F, 0x1F, 0x44}, {0x0F, 0x1F, 0x80},
        {0x0F, 0x1F, 0x84}};
    int left = -x->bytes.n & (to - 1);
    while (left > 0) {
        int n = MIN(left, 8);
        for (int k = 0; k < n; k++)
            x86_byte(x, nop[n][k]);
        left -= n;
    }
}
