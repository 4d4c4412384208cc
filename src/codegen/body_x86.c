/* body_x86.c: from vector code to machine code: loops, tails, registers. See body.h, vec.h.
 *
 * A function is: pointers into registers; constants into the registers that are left; then for each
 * row the segments in order: straight code, and loops. A loop exists three times: unrolled, one
 * vector at a time, and once more for the lanes that are left (n % 8), where loads and stores are
 * masked.
 *
 * Each segment copy gets its registers in one forward scan: an operand is freed at its last use,
 * and when none is free the value whose next use is farthest goes to the stack (Belady). Registers
 * from 15 down are pinned: accumulators, row values that loops read, constants. How many constants
 * fit is only known when the pressure is, so the code is generated twice.
 */
#include "codegen/body_gen.h"

/* ---- loops ----------------------------------------------------------------------------------- */

/* Loops do not nest. */
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
        for (int u = 0; u < gen_n_accumulators(g, i); u++) {
            bool pinned = g->limit > g->floor;
            int r = pinned ? --g->limit : 0;
            g->acc[i][u] = (int8_t)(pinned ? r : -1);
            gen_load_reg(g, r, const_mem(g, ins_at(g, i)->c));
            if (!pinned) {
                g->acc_slot[i][u] = g->n_fixed++;
                g->max_slots = MAX(g->max_slots, g->n_fixed);
                gen_store_reg(g, r, gen_slot_mem(g, g->acc_slot[i][u]));
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

/* Accumulator u of a reduction, in a register: its own, or else `spare`. */
static int accumulator(Gen *g, int i, int u, int spare)
{
    if (g->acc[i][u] >= 0)
        return g->acc[i][u];
    gen_load_reg(g, spare, gen_slot_mem(g, g->acc_slot[i][u]));
    return spare;
}

/* The accumulators of one reduction in a tree, whose shape does not depend on where they are. */
static int combine_accumulators(Gen *g, int i)
{
    XOp op = (XOp)ins_at(g, i)->x;
    int n = gen_n_accumulators(g, i), r = accumulator(g, i, 0, 0);
    for (int u = 1; u < n; u += 2) {
        int left = u == 1 ? r : accumulator(g, i, u - 1, 2), right = accumulator(g, i, u, 1);
        x86_op(&g->x, op, (XArgs){.dst = left, .a = left, .b = right});
        if (u > 1)
            x86_op(&g->x, op, (XArgs){.dst = r, .a = r, .b = left});
    }
    return r;
}

/* Each reduction's result in all lanes of its home, and where it is anyway for the code that
 * follows. */
static void end_accumulators(Gen *g, int first, int end)
{
    for (int i = first; i < end; i++) {
        if (ins_at(g, i)->kind != V_REDUCE || !g->live[i])
            continue;
        int r = combine_accumulators(g, i);
        across_lanes(g, ins_at(g, i), r, 1);
        if (g->home[i] >= 0)
            gen_copy_reg(g, g->home[i], r);
        else if (g->slot_home[i] >= 0)
            gen_store_reg(g, r, gen_slot_mem(g, g->slot_home[i]));
        if (g->acc[i][0] >= 0)
            g->carried[r] = i;
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
        if ((ins->kind == V_LOAD || ins->kind == V_STORE) && gen_is_maskable(ins))
            used |= 1u << ins_at(g, gen_mask_of(g, ins))->part;
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
    gen_load_reg(g, 0, window);
    gen_store_reg(g, 0, gen_slot_mem(g, 0));
    for (int part = 1; part < 3; part++) {
        if (!(used >> part & 1))
            continue;
        x86_op(x, X_extracti128, (XArgs){.dst = 1, .a = 0, .imm = part - 1});
        x86_op(x, X_pmovsxdq, (XArgs){.dst = 1, .a = 1});
        gen_store_reg(g, 1, gen_slot_mem(g, part));
    }
}

/* At most one masked vector: n % 8 lanes. */
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

/* Are all ports that the loop could store to by non-temporal stores aligned? Jumps when not; 0:
 * there is none. */
static int gen_alignment_test(Gen *g, int first, int end)
{
    XCode *x = &g->x;
    bool any = false;
    for (int i = first; i < end; i++) {
        const VIns *ins = ins_at(g, i);
        if (ins->kind != V_STORE || ins->x != X_storeups || ins->part)
            continue;
        int base = gen_port_base(g, ins->port);
        x86_gpr(x, any ? 0x0B : 0x8B, LIMIT, base, NULL);
        any = true;
    }
    if (!any)
        return 0;
    x86_gpr_imm(x, 4, LIMIT, 31);
    return x86_jump(x, C_NE);
}

/* Sums must not depend on what else a loop does: loops with reductions always have the same number
 * of accumulators. Others gain little from copies, and nothing when they are long. */
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

/* The loop in all its versions: non-temporal, unrolled, vector by vector, and what is left. */
static void gen_versions(Gen *g, int first, int end)
{
    int unaligned = g->streaming ? gen_alignment_test(g, first, end) : 0;
    if (unaligned) {
        g->nontemporal = true;
        gen_full_vectors(g, first, end, g->unroll);
        g->nontemporal = false;
        x86_land(&g->x, unaligned);
    }
    if (g->unroll > 1)
        gen_full_vectors(g, first, end, g->unroll);
    gen_full_vectors(g, first, end, 1);
    gen_tail(g, first, end);
}

static void gen_loop(Gen *g, int first, int end)
{
    int fixed = g->n_fixed;
    g->unroll = choose_unroll(g, first, end);
    g->high = 0;
    begin_accumulators(g, first, end);
    x86_byte(&g->x, 0x31); /* xor ecx, ecx */
    x86_byte(&g->x, 0xC9);
    if (g->measuring)
        gen_full_vectors(g, first, end, 1);
    else
        gen_versions(g, first, end);
    end_accumulators(g, first, end);
    g->most = MAX(g->most, g->high);
    g->limit = g->row_limit;
    g->n_fixed = fixed;
}

/* ---- homes ----------------------------------------------------------------------------------- */

/* Instructions that something needs, from the stores backwards. */
static void find_live(Gen *g)
{
    for (int i = g->v->ins.n - 1; i >= 0; i--) {
        const VIns *ins = ins_at(g, i);
        g->live[i] |= ins->kind == V_STORE || ins->kind == V_STORE1 || ins->kind == V_LOOP ||
            ins->kind == V_END;
        const int id[3] = {ins->a, ins->b, ins->c};
        for (int k = 0; k < 3; k++)
            if (g->live[i] && id[k] >= 0)
                g->live[id[k]] = true;
    }
}

/* Straight code between loops counts as a segment even when there is none: loops get odd numbers.
 */
static void find_segments(Gen *g)
{
    int segment = 0;
    for (int i = 0; i < g->v->ins.n; i++) {
        segment += ins_at(g, i)->kind == V_LOOP;
        g->segment[i] = segment;
        segment += ins_at(g, i)->kind == V_END;
    }
}

/* How often each value is read by loops other than its own (constants: by loops), and by straight
 * code. */
static void count_uses(const Gen *g, int *by_loops, int *by_rows)
{
    for (int i = 0; i < g->v->ins.n; i++) {
        const VIns *ins = ins_at(g, i);
        const int id[3] = {ins->a, ins->b, ins->c};
        for (int k = 0; k < 3; k++) {
            if (id[k] < 0 || !g->live[i] || ins->tail_only)
                continue;
            bool elsewhere = g->segment[i] != g->segment[id[k]] || is_const(g, id[k]);
            if (elsewhere &&
                !(ins->kind == V_REDUCE && k == 2)) /* the identity is read once, from the pool */
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
            here += gen_n_accumulators(g, i);
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
            if (is_const(g, i) && g->home[i] < 0 && by_loops[i] &&
                (best < 0 || by_loops[i] > by_loops[best]))
                best = i;
        if (best < 0)
            return;
        g->home[best] = (int8_t)--g->row_limit;
        gen_load_reg(g, g->home[best], const_mem(g, best));
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The first port registers are the caller's to lose (System V), the others are pushed. */
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

/* vzeroupper: what called this may be legacy SSE code, which would pay for dirty upper halves. */
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

/* The body of the loop over rows: segments in order. */
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
    for (int r = 0; r < 16; r++)
        g->carried[r] = -1;
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
    x86_patch32(&g->x, frame_at, gen_slot_mem(g, g->max_slots).disp + 32);
    return g->row_limit - MIN(g->accumulators, MAX_PINNED) - g->most;
}

/* The pool gets two entries behind the constants: the window for masks. */
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

/* Selecting is quick, so asking is doing the first half of the work and forgetting it. */
bool body_encodable(const Body *b, const char *isa)
{
    VCode v;
    return strcmp(isa, "avx2") == 0 && body_select(&v, b->cx, b);
}

/* The first time measures how many registers loops need; the second gives the others to constants.
 */
BodyCode body_encode(Ctx *cx, const Body *b, const char *isa, bool streaming_stores)
{
    VCode v;
    if (strcmp(isa, "avx2") != 0 || !body_select(&v, cx, b))
        ctx_fail(cx, ST_INTERNAL, NULL, "a body that is not encodable for %s", isa);
    Gen g;
    gen_init(&g, cx, &v, streaming_stores);
    g.measuring = true;
    int more = gen_function(&g, 0, 16 - MAX_PINNED);
    g.measuring = false;
    gen_function(&g, MAX(more, 0), g.most);
    VConst *pool = NEW_N(cx, VConst, v.pool.n + 2);
    if (v.pool.n) // memcpy refuses NULL even for no bytes
        memcpy(pool, v.pool.at, (size_t)v.pool.n * sizeof *pool);
    memset(pool + v.pool.n, 255, sizeof *pool);
    return (BodyCode){g.x.bytes.at, (size_t)g.x.bytes.n, (const uint8_t *)pool,
        (size_t)(v.pool.n + 2) * 32};
}
