/* jit.c: owning compiled code and finding names in it. */
#include <dlfcn.h>
#include <sys/mman.h>

#include "runtime/jit_code.h"

static void release(void *arg)
{
    JitCode *code = arg;
    if (code->image)
        munmap(code->image, code->image_size);
    if (code->dl)
        dlclose(code->dl);
}

JitCode *jit_code_new(Ctx *cx)
{
    JitCode *code = NEW(cx, JitCode);
    map_init(&code->names, cx);
    ctx_defer(cx, release, code);
    return code;
}

void *jit_symbol(const JitCode *code, const char *name)
{
    return code->dl ? dlsym(code->dl, name) : map_get_str(&code->names, name);
}
