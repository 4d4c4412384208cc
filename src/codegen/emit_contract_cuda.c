/* emit_contract_cuda.c: the contraction statement in CUDA: a thread computes blocks of ROWS x
 * COLUMNS sums in registers; neighbouring threads have neighbouring columns, so that they read B's
 * panels in one go and A's elements together. */
#include "codegen/contract.h"
#include "codegen/emit.h"

enum { ROWS = 4, COLUMNS = 4 };

static void unroll(Emit *e, const char *head)
{
    emit_line(e, "#pragma unroll");
    emit_line(e, "for (int %s) {", head);
    emit_push(e);
}

/* Dynamic B into panels, zeros beyond its columns. */
static void pack(Emit *e, const Contract *c)
{
    emit_line(e, "float *w = (float *)(scratch + %s);", emit_ix(e, c->pack_offset));
    emit_line(e, "const float *b = (const float *)(%s);", emit_address(e, c->b, c->b_idx));
    const char *sk = emit_ix(e, c->sk), *sn = emit_ix(e, c->sn);
    emit_line(e, "const sn_i64 padded = (columns + %d) / %d * %d;", c->nr - 1, c->nr, c->nr);
    emit_line(e, "for (sn_i64 at = threadIdx.x; at < padded * kc; at += blockDim.x) {");
    int mark = emit_push(e);
    emit_line(e, "const sn_i64 k = sn_quot(at, padded), n = at - k * padded;");
    emit_line(e,
        "w[n / %d * %d * kc + k * %d + n %% %d] = n < columns ? b[k * %s + n * %s] : 0.0f;", c->nr,
        c->nr, c->nr, c->nr, sk, sn);
    emit_pop(e, mark);
    emit_line(e, "}");
    emit_line(e, "__syncthreads();");
}

static void weights(Emit *e, const Contract *c)
{
    if (c->ldw)
        emit_line(e, "const float *w = (const float *)(%s);", emit_address(e, c->b, c->b_idx));
    else if (c->packed)
        emit_line(e, "const float *w = (const float *)%s + %s * taps * kc * %d;",
            emit_ptr(e, kernel_place(e->k, c->packed)), emit_ix(e, c->panel), c->nr);
    else
        pack(e, c);
}

/* The block's rows as values of the row variables; rows beyond the last repeat it. */
static void start_rows(Emit *e, const Contract *c, int mark)
{
    for (int i = 0; i < c->n_m; i++)
        emit_line(e, "sn_i64 %s%d_at[%d];", c->m[i]->name, c->m[i]->id, ROWS);
    emit_line(e, "float sum[%d][%d];", ROWS, COLUMNS);
    unroll(e, "r = 0; r < 4; r++");
    if (c->n_m)
        emit_line(e, "const sn_i64 row = sn_imin(r0 + r, rows - 1);");
    emit_row_vars(e, c, "", "_at[r]", "row");
    emit_line(e, "for (int j = 0; j < %d; j++)", COLUMNS);
    emit_line(e, "    sum[r][j] = 0.0f;");
    emit_pop(e, mark);
    emit_line(e, "}");
}

/* Where A's rows of this tap begin; NULL where the guard is false. */
static void tap_pointers(Emit *e, const Contract *c)
{
    emit_line(e, "const float *p[%d];", ROWS);
    int mark = e->scope_keys.n;
    unroll(e, "r = 0; r < 4; r++");
    for (int i = 0; i < c->n_m; i++)
        emit_line(e, "const sn_i64 %s%d = %s%d_at[r];", c->m[i]->name, c->m[i]->id, c->m[i]->name,
            c->m[i]->id);
    const char *inside = c->guard ? emit_ex(e, c->guard) : "true";
    const char *at = emit_address(e, c->a, c->a_idx); /* its locals come before the condition */
    emit_line(e, "p[r] = %s ? (const float *)(%s) : (const float *)0;", inside, at);
    emit_pop(e, mark);
    emit_line(e, "}");
}

/* sum += A * B over the k of one tap. */
static void multiply(Emit *e, const Contract *c, int columns)
{
    emit_line(e, "for (sn_i64 k = 0; k < kc; k++, wn += %d) {", c->nr);
    int mark = e->scope_keys.n;
    emit_push(e);
    unroll(e, "r = 0; r < 4; r++");
    emit_line(e, "const float a = p[r] ? p[r][k] : 0.0f;");
    emit_line(e, "for (int j = 0; j < %d; j++)", columns);
    emit_line(e, "    sum[r][j] = fmaf(a, wn[j], sum[r][j]);");
    emit_pop(e, mark);
    emit_line(e, "}");
    emit_pop(e, mark);
    emit_line(e, "}");
}

/* Each column has its own element of A, and B's taps are rows of their own. */
static void multiply_depthwise(Emit *e, const Contract *c)
{
    int mark = e->scope_keys.n;
    unroll(e, "r = 0; r < 4; r++");
    emit_line(e, "for (int j = 0; j < %d; j++) {", COLUMNS);
    emit_push(e);
    emit_line(e, "const sn_i64 n = sn_imin(n0 + j, columns - 1);");
    emit_line(e, "sum[r][j] = fmaf(p[r] ? p[r][n] : 0.0f, wn[n], sum[r][j]);");
    emit_pop(e, mark);
    emit_line(e, "}");
    emit_pop(e, mark);
    emit_line(e, "}");
    emit_line(e, "wn += %s;", emit_ix(e, c->ldw));
}

static void store_sums(Emit *e)
{
    int mark = e->scope_keys.n;
    unroll(e, "r = 0; r < 4; r++");
    emit_line(e, "for (int j = 0; j < %d; j++)", COLUMNS);
    emit_line(e, "    if (r0 + r < rows && n0 + j < columns)");
    emit_line(e, "        out[(r0 + r) * ldc + n0 + j] = sum[r][j];");
    emit_pop(e, mark);
    emit_line(e, "}");
}

/* A block of columns lies in one panel, as panels are multiples of it wide. */
static void sums(Emit *e, const Contract *c)
{
    emit_line(e, "const sn_i64 across = (columns + %d) / %d, blocks = (rows + %d) / %d * across;",
        COLUMNS - 1, COLUMNS, ROWS - 1, ROWS);
    emit_line(e, "for (sn_i64 at = threadIdx.x; at < blocks; at += blockDim.x) {");
    int mark = emit_push(e), inner[MAX_RANK];
    emit_line(e, "const sn_i64 down = sn_quot(at, across), r0 = down * %d;", ROWS);
    emit_line(e, "const sn_i64 n0 = (at - down * across) * %d;", COLUMNS);
    if (c->ldw)
        emit_line(e, "const float *wn = w;");
    else
        emit_line(e, "const float *wn = w + n0 / %d * %d * taps * kc + n0 %% %d;", c->nr, c->nr,
            c->nr);
    start_rows(e, c, mark);
    for (int i = 0; i < c->n_tap; i++) {
        inner[i] = e->scope_keys.n;
        emit_loop_open(e, c->tap[i]);
    }
    tap_pointers(e, c);
    if (c->ldw)
        multiply_depthwise(e, c);
    else
        multiply(e, c, COLUMNS);
    for (int i = c->n_tap - 1; i >= 0; i--)
        emit_loop_close(e, inner[i]);
    store_sums(e);
    emit_pop(e, mark);
    emit_line(e, "}");
}

void emit_contract_cuda(Emit *e, const Contract *c)
{
    emit_line(e, "{");
    int mark = emit_push(e);
    emit_line(e, "const sn_i64 rows = %s, columns = %s, taps = %s;", emit_ix(e, c->rows),
        emit_ix(e, c->n->extent), emit_ix(e, c->taps));
    emit_line(e, "const sn_i64 kc = %s, ldc = %s;", emit_ix(e, c->k->extent), emit_ix(e, c->ldc));
    emit_line(e, "(void)taps, (void)kc;");
    weights(e, c);
    emit_line(e, "float *out = (float *)(%s);", emit_address(e, c->out, c->out_idx));
    sums(e, c);
    emit_pop(e, mark);
    emit_line(e, "}");
}
