/* memory.c: the injected allocator and arenas. */
#include "base/base.h"
#include <stdlib.h>
#include <sys/mman.h>

/* Big blocks (packed weights, the run's arena) ask for huge pages: far fewer page faults and TLB
 * misses. */
enum { HUGE_PAGE = 2 << 20 };

static void *libc_get(void *user, size_t size, size_t align)
{
    (void)user;
    void *p = NULL;
    bool big = size >= 2 * (size_t)HUGE_PAGE;
    align = MAX(MAX(align, sizeof(void *)), big ? (size_t)HUGE_PAGE : 1);
    if (posix_memalign(&p, align, size) != 0)
        return NULL;
    if (big)
        (void)madvise(p, size, MADV_HUGEPAGE); /* a wish: nothing depends on it */
    return p;
}

static void libc_put(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free(p);
}

Alloc *alloc_default(void)
{
    static Alloc heap = {.get = libc_get, .put = libc_put};
    return &heap;
}

void *alloc_get(Alloc *a, size_t size, size_t align)
{
    int64_t n = __atomic_add_fetch(&a->count, 1, __ATOMIC_RELAXED);
    int64_t fail_at = __atomic_load_n(&a->fail_at, __ATOMIC_RELAXED);
    if (fail_at > 0 && n >= fail_at)
        return NULL;
    void *p = a->get(a->user, MAX(size, (size_t)1), align);
    if (p)
        __atomic_add_fetch(&a->live_bytes, (int64_t)size, __ATOMIC_RELAXED);
    return p;
}

void alloc_put(Alloc *a, void *p, size_t size)
{
    if (!p)
        return;
    __atomic_sub_fetch(&a->live_bytes, (int64_t)size, __ATOMIC_RELAXED);
    a->put(a->user, p, MAX(size, (size_t)1));
}

struct Chunk {
    Chunk *next;
    size_t size; /* of the whole block */
    /* the payload follows, 64-byte aligned */
};
enum { CHUNK_HEADER = 64, CHUNK_BYTES = 64 * 1024 };

/* Chunks double up to 1 MB, so that a small model stays small and a big one makes few calls; big
 * tensors share chunks that consist of huge pages. */
static size_t chunk_size(const Arena *a, size_t least)
{
    size_t grown = a->alloc->chunk;
    if (!grown)
        grown = a->chunks ? MIN(a->chunks->size * 2, (size_t)1 << 20) : CHUNK_BYTES;
    if (!a->alloc->chunk && least >= (size_t)1 << 20)
        grown = (size_t)16 << 20;
    return MAX(grown, least);
}

/* A spare chunk of at least that size, or a new one; spares that are too small are given up. */
static Chunk *next_chunk(Arena *a, size_t least)
{
    while (a->spare) {
        Chunk *c = a->spare;
        a->spare = c->next;
        if (c->size >= least)
            return c;
        alloc_put(a->alloc, c, c->size);
    }
    size_t size = chunk_size(a, least);
    Chunk *c = alloc_get(a->alloc, size, CHUNK_HEADER);
    if (c)
        c->size = size;
    return c;
}

void *arena_try(Arena *a, size_t size, size_t align)
{
    void *p = arena_raw(a, size, align);
    return p ? memset(p, 0, size) : NULL;
}

void *arena_raw(Arena *a, size_t size, size_t align)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    align = MAX(align, (size_t)1);
    size_t at = (a->used + align - 1) & ~(align - 1);
    if (!a->chunks || at > a->chunks->size || size > a->chunks->size - at) {
        Chunk *c = next_chunk(a, size + CHUNK_HEADER + align);
        if (!c)
            return NULL;
        c->next = a->chunks;
        a->chunks = c;
        at = (CHUNK_HEADER + align - 1) & ~(align - 1);
    }
    a->used = at + size;
    return (char *)a->chunks + at;
}

static void free_chunks(Arena *a, Chunk *list)
{
    for (Chunk *c = list, *next; c; c = next) {
        next = c->next;
        alloc_put(a->alloc, c, c->size);
    }
}

void arena_free(Arena *a)
{
    free_chunks(a, a->chunks);
    free_chunks(a, a->spare);
    a->chunks = a->spare = NULL;
    a->used = 0;
}

size_t arena_bytes(const Arena *a)
{
    size_t n = 0;
    for (const Chunk *c = a->chunks; c; c = c->next)
        n += c->size;
    for (const Chunk *c = a->spare; c; c = c->next)
        n += c->size;
    return n;
}

ArenaMark arena_mark(const Arena *a) { return (ArenaMark){a->chunks, a->used}; }

/* Several spare chunks become one that is as large as all, so that whatever the next requests are,
 * they fit if they are no more than those before. Without memory for it the chunks stay what they
 * are. */
static void join_spares(Arena *a)
{
    if (!a->spare || !a->spare->next)
        return;
    size_t size = a->chunks ? a->chunks->size - a->used : 0;
    for (const Chunk *c = a->spare; c; c = c->next)
        size += c->size;
    Chunk *one = alloc_get(a->alloc, size, CHUNK_HEADER);
    if (!one)
        return;
    free_chunks(a, a->spare);
    *one = (Chunk){NULL, size};
    a->spare = one;
}

void arena_reset(Arena *a, ArenaMark mark)
{
    while (a->chunks != mark.chunk) {
        Chunk *c = a->chunks;
        a->chunks = c->next;
        c->next = a->spare; /* the oldest ends up in front: it is wanted first again */
        a->spare = c;
    }
    a->used = mark.used;
    join_spares(a);
}
