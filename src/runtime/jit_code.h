/* jit_code.h: what the two ways to compile (jit_tcc.c, jit_cc.c) have in common. */
#ifndef SINTER_JIT_CODE_H
#define SINTER_JIT_CODE_H
#include "runtime/jit.h"

struct JitCode {
    void *image; /* jit_tcc: mapped pages, or NULL */
    size_t image_size;
    Map names;  /* jit_tcc: name -> address */
    void *dl;   /* jit_cc: handle of dlopen, or NULL */
};

/* A JitCode without code, owned by cx: what is put in it is released with cx. */
JitCode *jit_code_new(Ctx *cx);

#endif
