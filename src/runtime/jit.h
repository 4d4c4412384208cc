/* jit.h: C text to executable code in this process. */
#ifndef SINTER_JIT_H
#define SINTER_JIT_H
#include "base/base.h"

typedef struct JitSym {
    const char *name;
    const void *addr;
} JitSym;
typedef struct JitCode JitCode;
/* Compiles one translation unit with TinyCC; only `syms` resolve, and what the compiler itself
 * calls (memcpy, memmove, memset, 64-bit conversions). Code and its variables are mapped
 * read+execute (never writable and executable at once, so the unit's variables must be const) until
 * cx is freed. Raises ST_INTERNAL with TinyCC's message and the offending line, ST_MEMORY.
 * Thread-safe (one compile at a time under a lock). */
JitCode *jit_tcc(Ctx *cx, const char *text, const JitSym *syms, int n_syms);
/* The same through the system compiler (cc -O3 -march=native -ffp-contract=off), as a shared object
 * loaded by dlopen; here `syms` must be functions. Raises ST_RUNTIME naming the compiler if there
 * is none. */
JitCode *jit_cc(Ctx *cx, const char *text, const JitSym *syms, int n_syms);
void *jit_symbol(const JitCode *code, const char *name); /* NULL when absent */

#endif
