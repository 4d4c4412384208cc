/* base.h: what everything above is built from: status, memory, containers, text. Knows nothing of
 * tensors.
 *
 * Errors. The library never exits, prints or aborts. Work is done inside a Ctx; the first
 * unrecoverable error (out of memory included) records itself there and unwinds to the nearest TRY
 * by longjmp, so the compiler's code need not test every allocation. This is sound because
 * everything that a Ctx's work takes is owned by the Ctx: memory comes from its arena, other
 * resources (maps, files, code pages) register a release function with ctx_defer. Errors that
 * should be listed together (all unsupported nodes, say) are recorded with ctx_report, which
 * returns, and raised at the end by ctx_check.
 */
#ifndef SINTER_BASE_H
#define SINTER_BASE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NELEM(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#if defined(__GNUC__)
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NORETURN __attribute__((noreturn))
#else
#error "gcc or clang is needed"
#endif
#ifdef __FAST_MATH__
#error "sinter's results depend on IEEE arithmetic: do not build it with -ffast-math"
#endif

/* ---- status ---------------------------------------------------------------------------------- */

/* Code, and the text that names its kind to a user. The values are those of sinter_code in
 * sinter.h. */
#define STATUS_CODES(X)                                   \
    X(ST_OK, 0, "ok")                                     \
    X(ST_MODEL, 1, "invalid model")                       \
    X(ST_INPUT, 2, "invalid input")                       \
    X(ST_IO, 3, "file error")                             \
    X(ST_MEMORY, 4, "out of memory")                      \
    X(ST_LIMIT, 5, "limit exceeded")                      \
    X(ST_UNSUPPORTED, 6, "unsupported")                   \
    X(ST_USAGE, 7, "wrong use")                           \
    X(ST_RUNTIME, 8, "run error")                         \
    X(ST_INTERNAL, 9, "internal error, please report it")
typedef enum {
#define X(name, value, text) name = value,
    STATUS_CODES(X)
#undef X
} Code;
const char *code_text(Code code);

/* Where something is wrong; each field may be NULL. The strings are copied on report. */
typedef struct {
    const char *node, *op_type, *tensor, *hint;
} Where;

/* One recorded problem. */
typedef struct Problem {
    Code code;
    char *message;
    Where where;
    struct Problem *next;
} Problem;

/* ---- memory ---------------------------------------------------------------------------------- */

/* The allocator that everything comes from. `count` numbers the calls; when it reaches `fail_at` (>
 * 0) that call and all later ones fail until fail_at is cleared: tests walk every n. Thread-safe
 * (atomics). */
typedef struct Alloc {
    void *(*get)(void *user, size_t size, size_t align);
    void (*put)(void *user, void *p, size_t size);
    void *user;
    int64_t count, fail_at, live_bytes;
    /* bytes of every chunk of an arena, 0: 64 KB and more; 1: tests reach each request */
    size_t chunk;
} Alloc;
Alloc *alloc_default(void);
/* NULL when it fails; size 0 gives a unique block */
void *alloc_get(Alloc *a, size_t size, size_t align);
void alloc_put(Alloc *a, void *p, size_t size);       /* NULL is fine */

/* Bump allocation; freed as a whole. */
typedef struct Chunk Chunk;
typedef struct Arena {
    Alloc *alloc;
    Chunk *chunks, *spare;
    size_t used; /* in the newest chunk */
} Arena;
void *arena_try(Arena *a, size_t size, size_t align); /* NULL when it fails; memory is zeroed */
void *arena_raw(Arena *a, size_t size, size_t align); /* the same, not zeroed */
void arena_free(Arena *a);
size_t arena_bytes(const Arena *a);
/* What was allocated after the mark is given back by the reset. The arena keeps the memory: no more
 * requests than before then succeed without the allocator. */
typedef struct ArenaMark {
    Chunk *chunk;
    size_t used;
} ArenaMark;
ArenaMark arena_mark(const Arena *a);
void arena_reset(Arena *a, ArenaMark mark);

typedef struct Deferred Deferred;
typedef struct MapSlot MapSlot;
typedef void (*LogFn)(void *user, int level, const char *text);

/* A unit of work and the owner of all that it took. */
typedef struct Ctx {
    Arena arena;
    Problem *problems, **last_problem;
    int n_problems;
    struct TryFrame *trap; /* the innermost TRY */
    Deferred *deferred;
    LogFn log;
    void *log_user;
    int log_level; /* 0 errors and notes, 1 -v, 2 -vv */
    Problem oom;   /* so that "out of memory" itself needs no memory */
    MapSlot *spare_slots[32]; /* tables that maps gave back, by the logarithm of their size */
} Ctx;

void ctx_init(Ctx *cx, Alloc *alloc);
void ctx_free(Ctx *cx); /* runs the deferred releases (newest first), then frees the arena */
/* Back to the state at the mark: what was allocated and reported since is forgotten. No TRY, no
 * deferral between. */
void ctx_reset(Ctx *cx, ArenaMark mark);
/* on failure: releases at once, then unwinds */
void ctx_defer(Ctx *cx, void (*release)(void *), void *arg);
void ctx_log(Ctx *cx, int level, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Record a problem and go on. `where` may be NULL. */
void ctx_report(Ctx *cx, Code code, const Where *where, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Record a problem and unwind. */
void ctx_fail(Ctx *cx, Code code, const Where *where, const char *fmt, ...) PRINTF_LIKE(4,
    5) NORETURN;
/* Unwind if anything has been reported. */
void ctx_check(Ctx *cx);
void ctx_unwind(Ctx *cx) NORETURN;

/* TRY(cx) { work } CATCH { cleanup }: the block after CATCH runs if the work unwound. Nests; a
 * failure inside the CATCH block goes to the next TRY out. Locals changed inside the work and read
 * after it must be volatile. Do not return, break or goto out of the work block. */
struct TryFrame {
    jmp_buf buf;
    Ctx *cx;
    struct TryFrame *outer;
    int done;
};
#define TRY(cx_)                                                                            \
    for (struct TryFrame try_ = {.cx = (cx_), .outer = (cx_)->trap}; !try_.done;            \
         try_.done = 1, try_.cx->trap = try_.outer)                                         \
        if (try_.cx->trap = &try_, setjmp(try_.buf) == 0)
#define CATCH else

/* Arena allocation that unwinds on failure; zeroed. */
void *ctx_alloc(Ctx *cx, size_t size);
#define NEW(cx, T) ((T *)ctx_alloc((cx), sizeof(T)))
#define NEW_N(cx, T, n) ((T *)ctx_array((cx), (size_t)(n), sizeof(T)))
void *ctx_array(Ctx *cx, size_t n, size_t size); /* overflow-checked */
char *ctx_strdup(Ctx *cx, const char *s);
char *ctx_strndup(Ctx *cx, const char *s, size_t n);
char *ctx_printf(Ctx *cx, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- containers ------------------------------------------------------------------------------ */

/* A growable array: VEC(Node *) nodes; VEC_PUSH(cx, &nodes, node); nodes.at[i], nodes.n */
#define VEC(T)   \
    struct {     \
        T *at;   \
        int n;   \
        int cap; \
    }
#define VEC_PUSH(cx, v, x)                                                                         \
    do {                                                                                           \
        if ((v)->n == (v)->cap)                                                                    \
            (v)->at = vec_grow((cx), (v)->at, &(v)->cap, (v)->n, sizeof((v)->at[0]));              \
        (v)->at[(v)->n++] = (x);                                                                   \
    } while (0)
void *vec_grow(Ctx *cx, void *at, int *cap, int n, size_t size);

/* The one hash table: byte-string keys to pointers. Keys are not copied: they must live as long as
 * the map. */
struct MapSlot {
    const void *key;
    size_t len;
    uint64_t hash;
    void *value;
};
typedef struct Map {
    Ctx *cx;
    MapSlot *slots;
    size_t n, cap;
} Map;
void map_init(Map *m, Ctx *cx);
void map_done(Map *m); /* optional: empties the map; other maps of the Ctx reuse its memory */
void *map_get(const Map *m, const void *key, size_t len); /* NULL when absent */
void map_put(Map *m, const void *key, size_t len, void *value); /* replaces */
void map_del(Map *m, const void *key, size_t len);
#define map_get_str(m, s) map_get((m), (s), strlen(s))
#define map_put_str(m, s, v) map_put((m), (s), strlen(s), (v))
uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);

/* ---- text ------------------------------------------------------------------------------------ */

/* A text buffer in the Ctx's arena; always NUL-terminated. Never prints floating point through the
 * locale. */
typedef struct Buf {
    Ctx *cx;
    char *s;
    size_t n, cap;
} Buf;
void buf_init(Buf *b, Ctx *cx);
void buf_putc(Buf *b, char c);
void buf_puts(Buf *b, const char *s);
void buf_write(Buf *b, const void *p, size_t n);
void buf_printf(Buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3); /* no %f %g %e: use buf_double */
/* shortest of %.15g / %.17g that reads back, '.' always; nan inf -inf */
void buf_double(Buf *b, double x);
/* "…" with C/JSON escapes; bytes >= 0x80 pass if valid UTF-8 */
void buf_quoted(Buf *b, const char *s);
/* Reads a number as buf_double prints it (and any decimal form), whatever the locale. */
double parse_double(const char *s, const char **end);

/* ---- limits ---------------------------------------------------------------------------------- */

/* Every bound on untrusted input, in one table; exceeding one is a named error. */
#define LIMITS(X)                                                                  \
    X(LIM_FILE_BYTES, (int64_t)1 << 40, "model file bytes")                        \
    X(LIM_TENSOR_BYTES, (int64_t)1 << 36, "tensor bytes")                          \
    X(LIM_NODES, 2000000, "nodes")                                                 \
    X(LIM_NESTING, 100, "protobuf nesting depth")                                  \
    X(LIM_SUBGRAPH_DEPTH, 32, "subgraph and function nesting depth")               \
    X(LIM_RANK, 16, "tensor rank")                                                 \
    X(LIM_NAME, 65536, "bytes of a name")                                          \
    X(LIM_ARENA_BYTES, (int64_t)1 << 38, "bytes of planned memory")                \
    X(LIM_TEXT_BYTES, (int64_t)1 << 28, "bytes of generated text")                 \
    X(LIM_FIELDS, 200000000, "protobuf fields")                                    \
    X(LIM_MESSAGE_BYTES, (int64_t)1 << 32, "bytes of structure (weights apart)")   \
    X(LIM_INLINED, 4000000,  "items after inlining functions")                     \
    X(LIM_SPARSE_BYTES, (int64_t)1 << 31, "bytes of a sparse tensor made dense")   \
    X(LIM_ATTRIBUTES, 1000, "attributes of a node, or operator sets")              \
    X(LIM_PROBLEMS, 64, "problems listed at once")
enum {
#define X(name, value, text) name##_ID,
    LIMITS(X)
#undef X
    N_LIMITS
};
#define X(name, value, text) static const int64_t name = value;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
LIMITS(X)
#pragma GCC diagnostic pop
#undef X
#define MAX_RANK 16

/* a*b, false on overflow of int64 (also for negative operands). */
static inline bool mul_ok(int64_t a, int64_t b, int64_t *r) { return !__builtin_mul_overflow(a, b,
    r); }
static inline bool add_ok(int64_t a, int64_t b, int64_t *r) { return !__builtin_add_overflow(a, b,
    r); }

#endif
