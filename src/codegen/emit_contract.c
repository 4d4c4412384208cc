/* emit_contract.c: the contraction statement in the emitted text: tiles, pointers, edges and order;
 * tier 1 calls the microkernel for each tile, tier 0 writes the same sums as plain loops. */
#include "codegen/contract.h"
#include "codegen/emit.h"

static const char *var_name(Emit *e, const Var *v)
{
    return ctx_printf(e->cx, "%s%d", v->name, v->id);
}

const char *emit_address(Emit *e, const Value *v, const Ix *const *idx)
{
    const Place *pl = kernel_place(e->k, v);
    const Ix *off = ix_muli(e->p, place_offset(e->p, pl, v->rank, idx), dtype_bytes(v->type));
    return ctx_printf(e->cx, "%s + %s", emit_ptr(e, pl), emit_ix(e, off));
}

void emit_loop_open(Emit *e, const Var *v)
{
    const char *name = var_name(e, v);
    emit_line(e, "for (sn_i64 %s = 0; %s < %s; %s++) {", name, name, emit_ix(e, v->extent), name);
    emit_push(e);
}

void emit_loop_close(Emit *e, int mark)
{
    emit_pop(e, mark);
    emit_line(e, "}");
}

/* Names `row` as the row variables, the last fastest; or assigns to what is called like them with a
 * suffix. */
void emit_row_vars(Emit *e, const Contract *c, const char *type, const char *suffix,
    const char *row)
{
    for (int i = c->n_m - 1; i >= 0; i--) {
        const char *ext = emit_ix(e, c->m[i]->extent);
        const Ix *inner = ix_int(e->p, 1);
        for (int j = i + 1; j < c->n_m; j++)
            inner = ix_mul(e->p, inner, c->m[j]->extent);
        if (i == 0)
            emit_line(e, "%s%s%s = (%s) / %s;", type, var_name(e, c->m[i]), suffix, row,
                emit_ix(e, inner));
        else
            emit_line(e, "%s%s%s = (%s) / %s %% %s;", type, var_name(e, c->m[i]), suffix, row,
                emit_ix(e, inner), ext);
    }
}

/* rp[tap * mr + r] = A's row, or the zeros where the guard is false. */
static void row_pointers(Emit *e, const Contract *c)
{
    emit_line(e, "for (sn_i64 r = 0; r < mr; r++) {");
    int mark = emit_push(e);
    emit_row_vars(e, c, "sn_i64 ", "", "r0 + row + r");
    emit_line(e, "const float **p = rp + row * taps + r;");
    int inner[MAX_RANK];
    for (int i = 0; i < c->n_tap; i++) {
        inner[i] = e->scope_keys.n;
        emit_loop_open(e, c->tap[i]);
    }
    const char *inside = c->guard ? emit_ex(e, c->guard) : NULL;
    const char *at = emit_address(e, c->a, c->a_idx); /* its locals come before the condition */
    if (inside)
        emit_line(e, "*p = %s ? (const float *)(%s) : zero;", inside, at);
    else
        emit_line(e, "*p = (const float *)(%s);", at);
    emit_line(e, "p += mr;");
    for (int i = c->n_tap - 1; i >= 0; i--)
        emit_loop_close(e, inner[i]);
    emit_pop(e, mark);
    emit_line(e, "}");
}

static const Ix *at_first(Emit *e, const Contract *c, const Ix *a)
{
    Subst s;
    subst_init(&s, e->p);
    for (int i = 0; i < c->n_m; i++)
        subst_var(&s, c->m[i], ix_int(e->p, 0));
    for (int i = 0; i < c->n_tap; i++)
        subst_var(&s, c->tap[i], ix_int(e->p, 0));
    return ix_subst(&s, a);
}

/* The description from which the kernel set makes the pointers. */
static void row_table(Emit *e, const Contract *c)
{
    const Ix *first[MAX_RANK];
    emit_line(e, "sn_row_table rt;");
    emit_line(e, "rt.n_m = %d;", c->n_m);
    emit_line(e, "rt.n_tap = %d;", c->n_tap);
    emit_line(e, "rt.n_cond = %d;", c->n_cond);
    for (int i = 0; i < c->n_m + c->n_tap; i++) {
        const Var *v = i < c->n_m ? c->m[i] : c->tap[i - c->n_m];
        emit_line(e, "rt.extent[%d] = %s;", i, emit_ix(e, v->extent));
        emit_line(e, "rt.stride[%d] = %s;", i, emit_ix(e, ix_muli(e->p, c->a_stride[i], 4)));
        for (int j = 0; j < c->n_cond; j++)
            emit_line(e, "rt.cond[%d][%d] = %s;", j, i, emit_ix(e, c->cond[j][i]));
    }
    for (int j = 0; j < c->n_cond; j++)
        emit_line(e, "rt.cond0[%d] = %s;", j, emit_ix(e, c->cond0[j]));
    for (int i = 0; i < c->a->rank; i++)
        first[i] = at_first(e, c, c->a_idx[i]);
    emit_line(e, "const char *row0 = %s;", emit_address(e, c->a, first));
}

static void tile_loop_open(Emit *e, const Contract *c)
{
    emit_line(e, "sn_i64 tiles = (block + %d) / %d, row = 0;", c->mr - 1, c->mr);
    emit_line(e, "for (sn_i64 tile = 0; tile < tiles; tile++) {");
    emit_push(e);
    emit_line(e, "sn_i64 mr = block / tiles + (tile < block %% tiles);");
}

static void loop_of_pointers(Emit *e, const Contract *c, int mark)
{
    emit_line(e, "{");
    emit_push(e);
    tile_loop_open(e, c);
    row_pointers(e, c);
    emit_line(e, "row += mr;");
    emit_pop(e, mark);
    emit_line(e, "}");
    emit_pop(e, mark);
    emit_line(e, "}");
}

static void tiles_tier1(Emit *e, const Contract *c)
{
    emit_line(e, "sn_i64 blocks = (rows + %d) / %d, block;", CONTRACT_ROWS - 1, CONTRACT_ROWS);
    emit_line(e, "for (sn_i64 r0 = 0; r0 < rows; r0 += block, blocks--) {");
    int mark = emit_push(e);
    emit_line(e, "block = (rows - r0 + blocks - 1) / blocks;");
    if (c->tabled)
        emit_line(e, "((sn_rows *)c->rows)(&rt, row0, zero, r0, block, %d, rp);", c->mr);
    else
        loop_of_pointers(e, c, mark);
    emit_line(e, "for (sn_i64 n = 0; n < columns; n += %d) {", c->nr);
    emit_push(e);
    emit_line(e, "const float *wn = w + n * taps * kc;");
    emit_line(e, "const char *next = n + %d < columns ? (const char *)(wn + %d * taps * kc) : 0;",
        c->nr, c->nr);
    tile_loop_open(e, c);
    emit_line(e,
        "((sn_igemm *)c->igemm)(mr, sn_imin(columns - n, %d), taps, kc, rp + row * taps, 0, zero, "
        "wn,",
        c->nr);
    emit_line(e,
        "    out + (r0 + row) * ldc + n, ldc, 0, &epilogue, next ? next + tile * taps * kc * %d / "
        "tiles : 0);",
        c->nr * 4);
    emit_line(e, "row += mr;");
    emit_pop(e, mark);
    emit_line(e, "}");
    emit_pop(e, mark);
    emit_line(e, "}");
    emit_pop(e, mark);
    emit_line(e, "}");
}

static void rows_of_depthwise(Emit *e, const Contract *c)
{
    emit_line(e, "for (sn_i64 r0 = 0; r0 < rows; r0 += %d) {", CONTRACT_ROWS);
    int mark = emit_push(e);
    emit_line(e, "sn_i64 block = sn_imin(rows - r0, %d);", CONTRACT_ROWS);
    emit_line(e, "((sn_rows *)c->rows)(&rt, row0, zero, r0, block, 1, rp);");
    emit_line(e, "((sn_depthwise *)c->depthwise)(block, columns, taps, rp, 0, zero, w, %s,",
        emit_ix(e, c->ldw));
    emit_line(e, "    out + r0 * ldc, ldc, 0, sn_f32(0xff800000u), sn_f32(0x7f800000u));");
    emit_pop(e, mark);
    emit_line(e, "}");
}

static void sums_tier0(Emit *e, const Contract *c)
{
    emit_line(e, "for (sn_i64 row = 0; row < rows; row++)");
    emit_line(e, "for (sn_i64 n = 0; n < columns; n++) {");
    int mark = emit_push(e);
    emit_row_vars(e, c, "sn_i64 ", "", "row");
    if (c->ldw)
        emit_line(e, "const float *wn = w + n;");
    else
        emit_line(e, "const float *wn = w + n / %d * %d * taps * kc + n %% %d;", c->nr, c->nr,
            c->nr);
    emit_line(e, "float sum = 0;");
    int inner[MAX_RANK];
    for (int i = 0; i < c->n_tap; i++) {
        inner[i] = e->scope_keys.n;
        emit_loop_open(e, c->tap[i]);
    }
    const char *inside = c->guard ? emit_ex(e, c->guard) : NULL;
    const char *row = emit_address(e, c->a, c->a_idx);
    if (inside)
        emit_line(e, "const float *p = %s ? (const float *)(%s) : zero;", inside, row);
    else
        emit_line(e, "const float *p = (const float *)(%s);", row);
    if (c->ldw) {
        emit_line(e, "float product = p[n] * *wn;");
        emit_line(e, "sum = sum + product;");
        emit_line(e, "wn += %s;", emit_ix(e, c->ldw));
    } else {
        emit_line(e, "for (sn_i64 k = 0; k < kc; k++, wn += %d) {", c->nr);
        emit_line(e, "    float product = p[k] * *wn;");
        emit_line(e, "    sum = sum + product;");
        emit_line(e, "}");
    }
    for (int i = c->n_tap - 1; i >= 0; i--)
        emit_loop_close(e, inner[i]);
    emit_line(e, "out[row * ldc + n] = sum;");
    emit_pop(e, mark);
    emit_line(e, "}");
}

/* Dynamic B into panels: by the kernel's packer, or in plain C. */
static void pack(Emit *e, const Contract *c)
{
    emit_line(e, "float *w = (float *)(c->scratch + %s);", emit_ix(e, c->pack_offset));
    emit_line(e, "const float *b = (const float *)(%s);", emit_address(e, c->b, c->b_idx));
    const char *sk = emit_ix(e, c->sk), *sn = emit_ix(e, c->sn);
    if (e->o->tier == 1) {
        emit_line(e, "((sn_pack_b *)c->pack_b)(b, %s, %s, kc, columns, w);", sk, sn);
        return;
    }
    emit_line(e, "for (sn_i64 n = 0; n < columns; n++)");
    emit_line(e, "    for (sn_i64 k = 0; k < kc; k++)");
    emit_line(e, "        w[n / %d * %d * kc + k * %d + n %% %d] = b[k * %s + n * %s];", c->nr,
        c->nr, c->nr, c->nr, sk, sn);
}

void emit_contract(Emit *e, const Contract *c)
{
    if (e->t->contract) {
        e->t->contract(e, c);
        return;
    }
    emit_line(e, "{");
    int mark = emit_push(e);
    emit_line(e, "const sn_i64 rows = %s, columns = %s, taps = %s;", emit_ix(e, c->rows),
        emit_ix(e, c->n->extent), emit_ix(e, c->taps));
    emit_line(e, "(void)taps;");
    emit_line(e, "const sn_i64 kc = %s, ldc = %s;", emit_ix(e, c->k->extent), emit_ix(e, c->ldc));
    if (c->ldw)
        emit_line(e, "const float *w = (const float *)(%s);", emit_address(e, c->b, c->b_idx));
    else if (c->packed) {
        const Place *pl = kernel_place(e->k, c->packed);
        emit_line(e, "const float *w = (const float *)%s + %s * taps * kc * %d;", emit_ptr(e, pl),
            emit_ix(e, c->panel), c->nr);
    } else
        pack(e, c);
    emit_line(e, "float *out = (float *)(%s);", emit_address(e, c->out, c->out_idx));
    if (c->zero_offset) {
        emit_line(e, "float *zero = (float *)(c->scratch + %s);", emit_ix(e, c->zero_offset));
        emit_line(e, "for (sn_i64 k = 0; k < kc; k++)");
        emit_line(e, "    zero[k] = 0;");
    } else
        emit_line(e, "const float *zero = 0;");
    if (e->o->tier == 1) {
        emit_line(e, "const float **rp = (const float **)(c->scratch + %s);",
            emit_ix(e, c->rows_offset));
        emit_line(e, "sn_epilogue epilogue;");
        emit_line(e, "epilogue.bias = epilogue.res = 0;");
        if (c->tabled)
            row_table(e, c);
        if (c->ldw)
            rows_of_depthwise(e, c);
        else
            tiles_tier1(e, c);
    } else
        sums_tier0(e, c);
    emit_pop(e, mark);
    emit_line(e, "}");
}
