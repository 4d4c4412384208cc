/* Every row of x86.def, with low and high registers and all forms of addresses, is what objdump
 * reads it as; so are the general instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "codegen/x86.h"

static const char *const gpr[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
    "r9", "r10", "r11", "r12", "r13", "r14", "r15"};

/* Code and what it should read as, one text a line. Registers are written v0..v15, of whatever
 * width. */
typedef struct Listing {
    Ctx cx;
    XCode x;
    Buf want;
    int n_256; /* lines that name a 256-bit register */
} Listing;

static void listing_init(Listing *l)
{
    ctx_init(&l->cx, alloc_default());
    x86_init(&l->x, &l->cx);
    buf_init(&l->want, &l->cx);
    l->n_256 = 0;
}

static void address(Buf *b, const XMem *m)
{
    if (m->disp || (m->base & 7) == RBP) /* these have no form without a displacement */
        buf_printf(b, "%s0x%x", m->disp < 0 ? "-" : "", (unsigned)abs(m->disp));
    buf_printf(b, "(%%%s", gpr[m->base]);
    if (m->index >= 0)
        buf_printf(b, ",%%%s,%d", gpr[m->index], 1 << m->scale);
    buf_putc(b, ')');
}

/* ---- objdump
 * --------------------------------------------------------------------------------------- */

/* "vaddps %ymm1,%ymm2,%ymm3   # comment" -> "vaddps v1,v2,v3" */
static void normalise(char *line)
{
    char *out = line;
    bool blank = false;
    for (char *c = line; *c && *c != '\n' && *c != '#'; c++) {
        if (strncmp(c, "%ymm", 4) == 0 || strncmp(c, "%xmm", 4) == 0) {
            *out++ = 'v';
            c += 3;
        } else if (*c != ' ' && *c != '\t')
            *out++ = *c;
        else if (!blank && out > line) {
            *out++ = ' ';
            blank = true;
        }
    }
    while (out > line && out[-1] == ' ')
        out--;
    *out = 0;
}

/* Disassembles the code; each line must be the expected one, in the same order. */
static void check(Listing *l)
{
    char path[] = "/tmp/sinter_x86_XXXXXX", command[200], line[512];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, l->x.bytes.at, (size_t)l->x.bytes.n), l->x.bytes.n);
    close(fd);
    snprintf(command, sizeof command, "objdump -D -b binary -m i386:x86-64 --no-show-raw-insn %s",
        path);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    const char *want = l->want.s;
    int n = 0, n_256 = 0;
    while (fgets(line, sizeof line, f)) {
        char *text = strstr(line, ":\t");
        if (!text)
            continue;
        n_256 += strstr(text, "%ymm") != NULL;
        normalise(text + 2);
        const char *end = strchr(want, '\n');
        assert_non_null(end);
        if (strlen(text + 2) != (size_t)(end - want) ||
            strncmp(text + 2, want, (size_t)(end - want)) != 0)
            fail_msg("instruction %d is `%s`, not `%.*s`", n, text + 2, (int)(end - want), want);
        want = end + 1;
        n++;
    }
    assert_int_equal(pclose(f), 0);
    assert_string_equal(want, "");
    assert_true(n > 0);
    assert_int_equal(n_256, l->n_256);
    unlink(path);
    ctx_free(&l->cx);
}

/* ---- vector instructions
 * --------------------------------------------------------------------------- */

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Forms of which one operand can only be memory, or only a register. */
static bool memory_only(const XOpInfo *o)
{
    return starts(o->name, "mask") || o->form == XFORM_MVR || starts(o->name, "storent") ||
        starts(o->name, "pextr") || starts(o->name, "stored") || starts(o->name, "storeq");
}

static bool from_general(const XOpInfo *o) { return starts(o->name, "mov") && o->flags & XF_X; }

/* objdump writes some mnemonics with the predicate, or with a suffix where memory has no register's
 * width. */
static bool narrows(const XOpInfo *o) { return strstr(o->name, "cvt") && strstr(o->name, "pd2"); }

static void mnemonic(Buf *b, const XOpInfo *o, bool mem)
{
    if (starts(o->name, "cmp"))
        buf_printf(b, "vcmpunord%s ", o->mnemonic + 4);
    else
        buf_printf(b, "%s%s ", o->mnemonic, mem && narrows(o) ? "y" : "");
}

static void operand(Buf *b, int reg, const XMem *mem)
{
    if (mem)
        address(b, mem);
    else
        buf_printf(b, "v%d", reg);
}

/* The text in AT&T order: sources last to first, then the destination. */
static void expect(Buf *b, const XOpInfo *o, XArgs a)
{
    mnemonic(b, o, a.mem);
    if (o->flags & XF_I && o->form != XFORM_BLEND && !starts(o->name, "cmp"))
        buf_printf(b, "$0x%x,", (unsigned)a.imm);
    switch ((XForm)o->form) {
    case XFORM_BLEND:
    case XFORM_RVM: {
        bool swap = o->flags & XF_C && !a.mem && a.b > 7 && a.a < 8;
        if (o->form == XFORM_BLEND)
            buf_printf(b, "v%d,", a.c);
        operand(b, swap ? a.a : a.b, a.mem);
        buf_printf(b, ",v%d,v%d\n", swap ? a.b : a.a, a.dst);
        break;
    }
    case XFORM_RM:
    case XFORM_SHIFT:
        operand(b, a.a, a.mem);
        buf_printf(b, ",v%d\n", a.dst);
        break;
    case XFORM_MR:
        buf_printf(b, "v%d,", a.a);
        operand(b, a.dst, a.mem);
        buf_putc(b, '\n');
        break;
    case XFORM_MVR:
        buf_printf(b, "v%d,v%d,", a.b, a.a);
        operand(b, a.dst, a.mem);
        buf_putc(b, '\n');
        break;
    case XFORM_FMA: break;
    }
}

static void add(Listing *l, XOp op, XArgs a)
{
    x86_op(&l->x, op, a);
    expect(&l->want, &xop_info[op], a);
    l->n_256 += !(xop_info[op].flags & XF_X) && !(a.mem && narrows(&xop_info[op]));
}

static void vector_instructions_between_registers(void **state)
{
    (void)state;
    Listing l;
    listing_init(&l);
    for (int op = 0; op < N_XOPS; op++) {
        const XOpInfo *o = &xop_info[op];
        if (o->form == XFORM_FMA || memory_only(o) || from_general(o))
            continue;
        for (int high = 0; high < 16; high++)
            add(&l, (XOp)op,
                (XArgs){.dst = high & 1 ? 9 : 1,
                    .a = high & 2 ? 10 : 2,
                    .b = high & 4 ? 12 : 4,
                    .c = high & 8 ? 15 : 7,
                    .imm = 3});
    }
    check(&l);
}

/* Bases that need a SIB (rsp, r12) or a displacement (rbp, r13); indices; short and long
 * displacements. */
static const XMem addresses[] = {{RAX, -1, 0, 0}, {RSP, -1, 0, 0}, {RBP, -1, 0, 0},
    {R8, -1, 0, 127}, {R12, -1, 0, 0}, {R13, -1, 0, 0}, {RDI, -1, 0, -128}, {R9, -1, 0, 128},
    {RSP, -1, 0, 4096}, {R12, -1, 0, -129}, {RAX, RCX, 2, 0}, {RBP, RCX, 3, 0}, {R13, RCX, 1, 0},
    {R15, R14, 0, 32}, {RSP, R9, 2, 100000}, {R12, RDI, 3, -4}};

static void vector_instructions_with_memory(void **state)
{
    (void)state;
    Listing l;
    listing_init(&l);
    for (int op = 0; op < N_XOPS; op++) {
        const XOpInfo *o = &xop_info[op];
        if (o->form == XFORM_FMA || o->form == XFORM_SHIFT || from_general(o) || op == X_movaps)
            continue;
        for (int k = 0; k < NELEM(addresses); k++)
            add(&l, (XOp)op,
                (XArgs){.dst = k & 1 ? 3 : 11,
                    .a = k & 2 ? 5 : 13,
                    .b = k & 4 ? 6 : 14,
                    .c = 8 + k % 8,
                    .imm = 3,
                    .mem = &addresses[k]});
    }
    check(&l);
}

static void fused_multiply_add_in_three_forms(void **state)
{
    (void)state;
    static const char *const form_text[] = {"132", "213", "231"};
    Listing l;
    listing_init(&l);
    for (int op = 0; op < N_XOPS; op++)
        for (int k = 0; k < 3 * NELEM(addresses) && xop_info[op].form == XFORM_FMA; k++) {
            const XMem *mem = k & 1 ? &addresses[k / 3] : NULL;
            int dst = k & 2 ? 4 : 14, v = k & 4 ? 9 : 2, rm = k & 8 ? 15 : 6;
            l.n_256++;
            x86_fma(&l.x, (XOp)op, k % 3, dst, v, rm, mem);
            buf_printf(&l.want, "%s%sp%c ", xop_info[op].mnemonic, form_text[k % 3],
                xop_info[op].w ? 'd' : 's');
            operand(&l.want, rm, mem);
            buf_printf(&l.want, ",v%d,v%d\n", v, dst);
        }
    check(&l);
}

static void moves_from_general_registers(void **state)
{
    (void)state;
    Listing l;
    listing_init(&l);
    x86_op(&l.x, X_movd128, (XArgs){.dst = 3, .a = RAX});
    x86_op(&l.x, X_movd128, (XArgs){.dst = 12, .a = R9});
    x86_op(&l.x, X_movq128, (XArgs){.dst = 3, .a = RAX});
    x86_op(&l.x, X_movq128, (XArgs){.dst = 12, .a = R9});
    buf_puts(&l.want, "vmovd %eax,v3\nvmovd %r9d,v12\nvmovq %rax,v3\nvmovq %r9,v12\n");
    check(&l);
}

/* ---- general instructions
 * -------------------------------------------------------------------------- */

static void general_instructions(void **state)
{
    (void)state;
    Listing l;
    listing_init(&l);
    for (int k = 0; k < NELEM(addresses); k++) {
        int reg = k & 1 ? RDI : R10;
        x86_gpr(&l.x, 0x8B, reg, 0, &addresses[k]);
        x86_gpr(&l.x, 0x89, reg, 0, &addresses[k]);
        x86_gpr(&l.x, 0x8D, reg, 0, &addresses[k]);
        static const char *const text[] = {"mov ", "mov ", "lea "};
        for (int m = 0; m < 3; m++) {
            buf_puts(&l.want, text[m]);
            if (m == 1)
                buf_printf(&l.want, "%%%s,", gpr[reg]);
            address(&l.want, &addresses[k]);
            if (m != 1)
                buf_printf(&l.want, ",%%%s", gpr[reg]);
            buf_putc(&l.want, '\n');
        }
    }
    x86_gpr(&l.x, 0x2B, RAX, R9, NULL);
    x86_gpr(&l.x, 0x3B, RCX, RDX, NULL);
    x86_gpr(&l.x, 0x85, RCX, RCX, NULL);
    x86_gpr_imm(&l.x, 5, RDI, 32);
    x86_gpr_imm(&l.x, 4, RSP, -32);
    x86_gpr_imm(&l.x, 0, R11, 8);
    x86_push(&l.x, RBX);
    x86_push(&l.x, R12);
    x86_pop(&l.x, R15);
    x86_pop(&l.x, RBP);
    buf_puts(&l.want,
        "sub %r9,%rax\ncmp %rdx,%rcx\ntest %rcx,%rcx\nsub $0x20,%rdi\n"
        "and $0xffffffffffffffe0,%rsp\nadd $0x8,%r11\npush %rbx\npush %r12\npop %r15\npop %rbp\n");
    check(&l);
}

static void jumps_go_where_they_should(void **state)
{
    (void)state;
    Listing l;
    listing_init(&l);
    int forward = x86_jump(&l.x, C_LE), always = x86_jump(&l.x, C_ALWAYS);
    x86_land(&l.x, forward);
    x86_jump_back(&l.x, C_G, 0);
    x86_land(&l.x, always);
    x86_jump_back(&l.x, C_ALWAYS, 6);
    buf_puts(&l.want, "jle 0xb\njmp 0x11\njg 0x0\njmp 0x6\n");
    check(&l);
}

static void padding_is_whole_instructions(void **state)
{
    (void)state;
    for (int n = 0; n < 32; n++) {
        Listing l;
        listing_init(&l);
        for (int k = 0; k < n; k++)
            x86_push(&l.x, RAX);
        x86_align(&l.x, 32);
        assert_int_equal(l.x.bytes.n % 32, 0);
        assert_true(l.x.bytes.n - n < 32);
        ctx_free(&l.cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_instructions_between_registers),
        cmocka_unit_test(vector_instructions_with_memory),
        cmocka_unit_test(fused_multiply_add_in_three_forms),
        cmocka_unit_test(moves_from_general_registers),
        cmocka_unit_test(general_instructions),
        cmocka_unit_test(jumps_go_where_they_should),
        cmocka_unit_test(padding_is_whole_instructions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
