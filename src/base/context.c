/* context.c: Ctx: errors, ownership, allocation that unwinds. */
#include "base/base.h"
#include <stdio.h>

struct Deferred {
    Deferred *next;
    void (*release)(void *);
    void *arg;
};

const char *code_text(Code code)
{
    switch (code) {
#define X(name, value, text) \
    case name: return text;
        STATUS_CODES(X)
#undef X
    }
    return "unknown error";
}

void ctx_init(Ctx *cx, Alloc *alloc)
{
    *cx = (Ctx){.arena = {.alloc = alloc}, .oom = {.code = ST_MEMORY}};
    cx->last_problem = &cx->problems;
}

void ctx_free(Ctx *cx)
{
    while (cx->deferred) {
        Deferred *d = cx->deferred;
        cx->deferred = d->next;
        d->release(d->arg);
    }
    arena_free(&cx->arena);
    cx->problems = NULL;
    cx->last_problem = &cx->problems;
    cx->n_problems = 0;
}

void ctx_reset(Ctx *cx, ArenaMark mark)
{
    arena_reset(&cx->arena, mark);
    memset(cx->spare_slots, 0, sizeof cx->spare_slots);
    cx->problems = NULL;
    cx->last_problem = &cx->problems;
    cx->n_problems = 0;
}

void ctx_defer(Ctx *cx, void (*release)(void *), void *arg)
{
    Deferred *d = arena_try(&cx->arena, sizeof *d, _Alignof(Deferred));
    if (!d) {
        release(arg);
        ctx_fail(cx, ST_MEMORY, NULL, "out of memory");
    }
    *d = (Deferred){cx->deferred, release, arg};
    cx->deferred = d;
}

void ctx_log(Ctx *cx, int level, const char *fmt, ...)
{
    if (!cx->log || level > cx->log_level)
        return;
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    cx->log(cx->log_user, level, line);
}

void ctx_unwind(Ctx *cx)
{
    struct TryFrame *f = cx->trap;
    if (!f)
        __builtin_trap(); /* work outside any TRY: a bug that no input can cause */
    cx->trap = f->outer;
    longjmp(f->buf, 1);
}

/* When even the copy of a message can't be had, what remains is "out of memory". */
static char *copy_or_null(Ctx *cx, const char *s)
{
    size_t n = s ? strlen(s) + 1 : 0;
    char *p = n ? arena_try(&cx->arena, n, 1) : NULL;
    return p ? memcpy(p, s, n) : NULL;
}

static void record(Ctx *cx, Code code, const Where *w, const char *fmt, va_list ap)
{
    char text[4096];
    vsnprintf(text, sizeof text, fmt, ap);
    Problem *p = arena_try(&cx->arena, sizeof *p, _Alignof(Problem));
    char *message = copy_or_null(cx, text);
    if (!p || !message) {
        p = &cx->oom;
        *p = (Problem){.code = ST_MEMORY, .message = (char *)"out of memory"};
        if (cx->n_problems && *cx->last_problem == p)
            return;
    } else {
        *p = (Problem){.code = code, .message = message};
        if (w)
            p->where = (Where){copy_or_null(cx, w->node), copy_or_null(cx, w->op_type),
                copy_or_null(cx, w->tensor), copy_or_null(cx, w->hint)};
    }
    for (Problem *q = cx->problems; q; q = q->next)
        if (q == p)
            return; /* the one shared out-of-memory record */
    *cx->last_problem = p;
    cx->last_problem = &p->next;
    cx->n_problems++;
}

void ctx_report(Ctx *cx, Code code, const Where *where, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    record(cx, code, where, fmt, ap);
    va_end(ap);
}

void ctx_fail(Ctx *cx, Code code, const Where *where, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    record(cx, code, where, fmt, ap);
    va_end(ap);
    ctx_unwind(cx);
}

void ctx_check(Ctx *cx)
{
    if (cx->problems)
        ctx_unwind(cx);
}

void *ctx_alloc(Ctx *cx, size_t size)
{
    void *p = arena_try(&cx->arena, size, 16);
    if (!p)
        ctx_fail(cx, ST_MEMORY, NULL, "out of memory");
    return p;
}

void *ctx_array(Ctx *cx, size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        ctx_fail(cx, ST_MEMORY, NULL, "out of memory");
    return ctx_alloc(cx, bytes);
}

char *ctx_strndup(Ctx *cx, const char *s, size_t n)
{
    char *p = ctx_alloc(cx, n + 1);
    return memcpy(p, s, n);
}

char *ctx_strdup(Ctx *cx, const char *s) { return ctx_strndup(cx, s, strlen(s)); }

char *ctx_printf(Ctx *cx, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = ctx_alloc(cx, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

void *vec_grow(Ctx *cx, void *at, int *cap, int n, size_t size)
{
    int grown = *cap ? *cap * 2 : 8;
    void *p = ctx_array(cx, (size_t)grown, size);
    if (n)
        memcpy(p, at, (size_t)n * size);
    *cap = grown;
    return p;
}
