/* map.c: the hash table: open addressing, linear probing, power-of-two sizes. */
#include "base/base.h"

/* wyhash-like mixing: a 64x64->128 multiply folded (idea: Wang Yi's wyhash, public domain). */
static uint64_t mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 u128;
    u128 r = (u128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed)
{
    const unsigned char *s = p;
    uint64_t h = seed ^ n;
    if (n == 4) { /* most keys are an id: without calls to memcpy and memcmp */
        uint32_t id;
        memcpy(&id, s, 4);
        return mix(h, id);
    }
    for (; n >= 8; n -= 8, s += 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = mix(h, w);
    }
    uint64_t w = 0;
    memcpy(&w, s, n);
    return mix(h, w);
}

void map_init(Map *m, Ctx *cx) { *m = (Map){.cx = cx}; }

static const char tombstone_key;

static inline bool same_key(const void *a, const void *b, size_t len)
{
    return len == 4 ? memcmp(a, b, 4) == 0 : memcmp(a, b, len) == 0;
}

/* The slot that holds the key, or the first free one for it. */
static MapSlot *probe(const Map *m, const void *key, size_t len, uint64_t hash)
{
    MapSlot *free_slot = NULL;
    for (size_t i = hash & (m->cap - 1);; i = (i + 1) & (m->cap - 1)) {
        MapSlot *s = &m->slots[i];
        if (!s->key)
            return free_slot ? free_slot : s;
        if (s->key == &tombstone_key)
            free_slot = free_slot ? free_slot : s;
        else if (s->hash == hash && s->len == len && same_key(s->key, key, len))
            return s;
    }
}

void *map_get(const Map *m, const void *key, size_t len)
{
    if (!m->n)
        return NULL;
    MapSlot *s = probe(m, key, len, hash_bytes(key, len, 0));
    return s->key && s->key != &tombstone_key ? s->value : NULL;
}

/* A table of 2^k empty slots. Maps that live shortly are many: their tables go round. */
static MapSlot *new_slots(Ctx *cx, size_t cap)
{
    MapSlot **spare = &cx->spare_slots[__builtin_ctzl(cap)], *s = *spare;
    if (!s)
        return NEW_N(cx, MapSlot, cap);
    *spare = s->value;
    return memset(s, 0, cap * sizeof *s);
}

static void give_back(Ctx *cx, MapSlot *s, size_t cap)
{
    MapSlot **spare = &cx->spare_slots[__builtin_ctzl(cap)];
    s->value = *spare;
    *spare = s;
}

void map_done(Map *m)
{
    if (m->cap)
        give_back(m->cx, m->slots, m->cap);
    map_init(m, m->cx);
}

static void grow(Map *m)
{
    MapSlot *old = m->slots;
    size_t old_cap = m->cap, cap = old_cap ? old_cap * 2 : 16;
    m->slots = new_slots(m->cx, cap);
    m->cap = cap;
    m->n = 0;
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].key && old[i].key != &tombstone_key) {
            *probe(m, old[i].key, old[i].len, old[i].hash) = old[i];
            m->n++;
        }
    if (old_cap)
        give_back(m->cx, old, old_cap);
}

void map_put(Map *m, const void *key, size_t len, void *value)
{
    if (2 * (m->n + 1) > m->cap) /* n counts tombstones too, so a free slot always exists */
        grow(m);
    uint64_t hash = hash_bytes(key, len, 0);
    MapSlot *s = probe(m, key, len, hash);
    if (!s->key)
        m->n++;
    *s = (MapSlot){key, len, hash, value};
}

void map_del(Map *m, const void *key, size_t len)
{
    if (!m->n)
        return;
    MapSlot *s = probe(m, key, len, hash_bytes(key, len, 0));
    if (s->key && s->key != &tombstone_key)
        *s = (MapSlot){&tombstone_key, 0, 0, NULL};
}
