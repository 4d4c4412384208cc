/* jit_tcc.c: C text to code through libtcc.
 *
 * One compile: reserve a pool, take the lock, let libtcc compile and relocate into writable pages,
 * note the names, and map a sealed copy of those pages read+execute in their place. libtcc leaves
 * by return or by the trap of its host; both end in `Compile.outcome`, and only after the lock is
 * released does the Ctx hear of it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/jit_code.h"
#include "runtime/tcc_host.h"

typedef enum { DONE, BAD_TEXT, POOL_EMPTY, NO_MEMORY, NO_PAGES } Outcome;

typedef struct Name {
    struct Name *next;
    void *addr;
    char text[];
} Name;

typedef struct Compile {
    TccHost host;
    const char *text;
    const JitSym *syms;
    int n_syms;
    char *image; /* page-aligned, owned by this struct until it is handed to the JitCode */
    size_t image_size;
    Name *names; /* in the pool */
    Outcome outcome;
    char message[1024];
} Compile;

/* ---- what the compiler itself calls ---------------------------------------------------------- */

static uint64_t fixunssfdi(float x) { return (uint64_t)x; }

static uint64_t fixunsdfdi(double x) { return (uint64_t)x; }

static float floatundisf(uint64_t x) { return (float)x; }

static double floatundidf(uint64_t x) { return (double)x; }

/* TinyCC calls these for struct assignment, initialisers and 64-bit unsigned conversions. */
static const JitSym own_syms[] = {
    {"memcpy", (const void *)memcpy},
    {"memmove", (const void *)memmove},
    {"memset", (const void *)memset},
    {"__fixunssfdi", (const void *)fixunssfdi},
    {"__fixunsdfdi", (const void *)fixunsdfdi},
    {"__floatundisf", (const void *)floatundisf},
    {"__floatundidf", (const void *)floatundidf},
};

/* ---- libtcc's side, under the lock ----------------------------------------------------------- */

/* Keeps the errors, cut to fit; warnings say nothing that a user could act on. */
static void on_message(void *opaque, const char *text)
{
    Compile *c = opaque;
    size_t n = strlen(c->message);
    if (!strstr(text, "warning:"))
        snprintf(c->message + n, sizeof c->message - n, "%s%s", n ? "\n" : "", text);
}

static void on_name(void *opaque, const char *text, const void *addr)
{
    Compile *c = opaque;
    size_t n = strlen(text) + 1;
    Name *name = tcc_host_alloc(sizeof(Name) + n);
    memcpy(name->text, text, n);
    name->addr = (void *)(uintptr_t)addr;
    name->next = c->names;
    c->names = name;
}

static Outcome relocate(Compile *c, TCCState *tcc)
{
    int size = tcc_relocate(tcc, NULL);
    if (size < 0)
        return BAD_TEXT;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t n = ((size_t)size + page) / page * page;
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NO_MEMORY;
    c->image = p;
    c->image_size = n;
    if (tcc_relocate(tcc, p) < 0)
        return BAD_TEXT;
    tcc_list_symbols(tcc, c, on_name);
    return DONE;
}

static Outcome run_tcc(Compile *c)
{
    int trap = setjmp(c->host.trap);
    if (trap)
        return trap == HOST_POOL_EMPTY ? POOL_EMPTY : BAD_TEXT;
    TCCState *tcc = tcc_new();
    tcc_set_error_func(tcc, c, on_message);
    tcc_set_options(tcc, "-nostdlib -nostdinc");
    tcc_set_output_type(tcc, TCC_OUTPUT_MEMORY);
    if (tcc_compile_string(tcc, c->text) < 0)
        return BAD_TEXT;
    for (int i = 0; i < NELEM(own_syms); i++)
        tcc_add_symbol(tcc, own_syms[i].name, own_syms[i].addr);
    for (int i = 0; i < c->n_syms; i++)
        tcc_add_symbol(tcc, c->syms[i].name, c->syms[i].addr);
    return relocate(c, tcc); /* the state needs no tcc_delete: all that it has is in the pool */
}

/* Replaces the writable pages by a read+execute mapping of a copy. The kernel accepts this even
 * where making a writable page executable is forbidden (PR_SET_MDWE, SELinux execmem). */
static Outcome seal(Compile *c)
{
    int fd = memfd_create("sinter", MFD_CLOEXEC);
    if (fd < 0)
        return NO_PAGES;
    size_t done = 0;
    while (done < c->image_size) {
        ssize_t n = write(fd, c->image + done, c->image_size - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    bool ok = done == c->image_size &&
        mmap(c->image, c->image_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) !=
            MAP_FAILED;
    close(fd);
    return ok ? DONE : NO_PAGES;
}

static void compile_locked(Compile *c)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    c->outcome = tcc_host_enter(&c->host) ? run_tcc(c) : NO_PAGES;
    pthread_mutex_unlock(&lock);
    if (c->outcome == DONE)
        c->outcome = seal(c);
    if (c->outcome != DONE && c->image) {
        munmap(c->image, c->image_size);
        c->image = NULL;
    }
}

/* ---- the Ctx's side -------------------------------------------------------------------------- */

/* Pool bytes for a text. Measured: 2.2 MB to begin, then 2 (bodies) to 35 (many short declarations)
 * bytes per byte of text; only pages that are touched cost memory. */
static size_t pool_size(size_t text_size) { return ((size_t)8 << 20) + 48 * text_size; }

/* The line that the message names ("<string>:12: error: ...") and the one before it, because TinyCC
 * has often read one token on when it complains. */
static const char *offending_lines(Ctx *cx, const Compile *c)
{
    const char *colon = strchr(c->message, ':'), *s = c->text;
    long line = colon ? strtol(colon + 1, NULL, 10) : 0;
    Buf b;
    buf_init(&b, cx);
    for (long i = 1; i <= line && s; i++) {
        size_t n = strcspn(s, "\n");
        if (i >= line - 1)
            buf_printf(&b, "\n%6ld | %.*s", i, (int)MIN(n, (size_t)200), s);
        s = s[n] ? s + n + 1 : NULL;
    }
    return b.s ? b.s : "";
}

static void raise_outcome(Ctx *cx, const Compile *c)
{
    Outcome r = c->outcome;
    Where hint = {.hint = "run with --dump DIR to see the generated text"};
    if (r == BAD_TEXT)
        ctx_fail(cx, ST_INTERNAL, &hint, "generated code does not compile: %s%s",
            c->message[0] ? c->message : "TinyCC gave up without a message",
            offending_lines(cx, c));
    if (r == NO_PAGES)
        ctx_fail(cx, ST_RUNTIME, NULL,
            "the system gives no executable memory (memfd_create, mmap)");
    if (r != DONE)
        ctx_fail(cx, ST_MEMORY, NULL, "out of memory while compiling %zu bytes of generated code",
            strlen(c->text));
}

static void hand_over(Ctx *cx, JitCode *code, Compile *c)
{
    code->image = c->image;
    code->image_size = c->image_size;
    for (const Name *name = c->names; name; name = name->next)
        map_put_str(&code->names, ctx_strdup(cx, name->text), name->addr);
}

/* One attempt with a pool of `size` bytes; false if that was too small. */
static bool attempt(Ctx *cx, JitCode *code, Compile *c, size_t size)
{
    Alloc *alloc = cx->arena.alloc;
    c->image = NULL;
    c->names = NULL;
    c->message[0] = 0;
    c->host.pool_size = size;
    c->host.pool = alloc_get(alloc, size, 16);
    if (!c->host.pool)
        raise_outcome(cx, c);
    compile_locked(c);
    TRY(cx) {
        if (c->outcome == DONE)
            hand_over(cx, code, c);
        else if (c->outcome != POOL_EMPTY)
            raise_outcome(cx, c);
    }
    CATCH {
        alloc_put(alloc, c->host.pool, size);
        ctx_unwind(cx);
    }
    alloc_put(alloc, c->host.pool, size);
    return c->outcome == DONE;
}

JitCode *jit_tcc(Ctx *cx, const char *text, const JitSym *syms, int n_syms)
{
    JitCode *code = jit_code_new(cx);
    Compile *c = NEW(cx, Compile);
    c->text = text;
    c->syms = syms;
    c->n_syms = n_syms;
    c->outcome = NO_MEMORY;
    size_t n = strlen(text), size = pool_size(n);
    if ((int64_t)n > LIM_TEXT_BYTES)
        ctx_fail(cx, ST_LIMIT, NULL, "%zu bytes of generated code: the limit is %lld", n,
            (long long)LIM_TEXT_BYTES);
    while (!attempt(cx, code, c, size)) {
        size *= 4;
        if (size > (size_t)1 << 36)
            raise_outcome(cx, c);
    }
    return code;
}
