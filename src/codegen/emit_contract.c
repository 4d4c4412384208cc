/* emit_contract.c: the contraction statement in the emitted text. */
#include "codegen/contract.h"
#include "codegen/emit.h"

void contract_print(Buf *b, const Contract *c)
{
    buf_printf(b, "contract %%%d += %%%d * %%%d rows ", c->out->id, c->a->id, c->b->id);
    ix_print(b, c->rows);
    buf_puts(b, " columns ");
    ix_print(b, c->n->extent);
    buf_puts(b, " k ");
    ix_print(b, c->k->extent);
    for (int i = 0; i < c->n_tap; i++) {
        buf_puts(b, " tap ");
        ix_print(b, c->tap[i]->extent);
    }
}

void emit_contract(Emit *e, const Contract *c)
{
    (void)e;
    (void)c;
}
