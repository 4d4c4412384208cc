/* mutate.c: see mutate.h. */
#include "fuzz/mutate.h"

#include <stdlib.h>

#include "graph/prescan.h"

/* ---- random numbers -------------------------------------------------------------------------- */

/* splitmix64 (Sebastiano Vigna, public domain) */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t n) { return n ? (size_t)(draw(state) % n) : 0; }

static uint64_t odd_number(uint64_t *state)
{
    static const int64_t odd[] = {0, 1, -1, 2, 3, 7, 13, 14, 16, 17, 127, 128, 255, 256, 65535,
        65536, INT32_MAX, INT32_MIN, (int64_t)1 << 32, (int64_t)1 << 40, INT64_MAX, INT64_MIN, -2,
        100, 9999};
    return draw(state) % 8 ? (uint64_t)odd[below(state, NELEM(odd))] : draw(state);
}

/* ---- the tree -------------------------------------------------------------------------------- */

typedef struct Field Field;
typedef VEC(Field *) Fields;
struct Field {
    uint32_t number;
    int wire;
    bool weights;
    uint64_t varint;
    const uint8_t *from, *at; /* where the field and its payload begin in the file */
    size_t n;                 /* bytes of payload, of leaves */
    bool message;
    Fields child;
};

typedef struct Tree {
    Ctx cx;
    Field root;
    Fields all, weights; /* every field but the root: structure, and elements of tensors */
    uint64_t rng;
    MutantStats *stats;
} Tree;

static void grow_tree(Tree *t, Field *parent, const ProtobufCMessageDescriptor *type, Wire w)
{
    while (w.at < w.end) {
        const uint8_t *from = w.at;
        WireField f;
        if (wire_field(&w, &f))
            return;
        Field *field = NEW(&t->cx, Field);
        *field = (Field){.number = f.number,
            .wire = f.type,
            .varint = f.varint,
            .from = from,
            .at = f.bytes.at,
            .n = f.bytes.n};
        field->weights = type == &onnx__tensor_proto__descriptor && tensor_data_field(f.number);
        VEC_PUSH(&t->cx, &parent->child, field);
        VEC_PUSH(&t->cx, field->weights ? &t->weights : &t->all, field);
        const ProtobufCFieldDescriptor *fd =
            protobuf_c_message_descriptor_get_field(type, f.number);
        field->message = fd && fd->type == PROTOBUF_C_TYPE_MESSAGE && f.type == WIRE_BYTES;
        if (field->message)
            grow_tree(t, field, fd->descriptor, (Wire){f.bytes.at, f.bytes.at + f.bytes.n});
    }
}

static void write_tree(Pb *out, const Field *f)
{
    for (int i = 0; i < f->child.n; i++) {
        const Field *c = f->child.at[i];
        pb_varint(out, (uint64_t)c->number << 3 | (unsigned)c->wire);
        if (c->wire == WIRE_VARINT) {
            pb_varint(out, c->varint);
        } else if (c->wire != WIRE_BYTES) {
            pb_raw(out, c->at, c->n);
        } else if (!c->message) {
            pb_varint(out, c->n);
            pb_raw(out, c->at, c->n);
        } else {
            Pb inner = {0};
            write_tree(&inner, c);
            pb_varint(out, inner.n);
            pb_raw(out, inner.at, inner.n);
            pb_free(&inner);
        }
    }
}

/* ---- edits of the tree ----------------------------------------------------------------------- */

/* One edit in twenty is of weights. */
static Field *any_field(Tree *t)
{
    bool weights = t->weights.n && (!t->all.n || draw(&t->rng) % 20 == 0);
    t->stats->edits++;
    t->stats->edits_in_weights += weights;
    const Fields *from = weights ? &t->weights : &t->all;
    return from->n ? from->at[below(&t->rng, (size_t)from->n)] : NULL;
}

static Field *any_parent(Tree *t)
{
    for (int i = 0; i < 50; i++) {
        Field *f = any_field(t);
        t->stats->edits--; /* only looked at */
        t->stats->edits_in_weights -= f && f->weights;
        if (f && f->message && f->child.n)
            return f;
    }
    return &t->root;
}

/* Text and bytes: cut, grown, emptied, with a byte changed, or those of another field. */
static void edit_leaf(Tree *t, Field *f)
{
    size_t n = f->n + 8;
    uint8_t *copy = ctx_alloc(&t->cx, n);
    if (f->n)
        memcpy(copy, f->at, f->n);
    size_t at = below(&t->rng, f->n);
    const Field *other = any_field(t);
    t->stats->edits--;
    t->stats->edits_in_weights -= other && other->weights;
    f->at = copy;
    switch (draw(&t->rng) % 6) {
    case 0: f->n = at; break;
    case 1: f->n += draw(&t->rng) % 8; break;
    case 2: f->n = 0; break;
    case 3: copy[at] ^= (uint8_t)(1u << draw(&t->rng) % 8); break;
    case 4: copy[at] = (uint8_t)odd_number(&t->rng); break;
    default:
        if (other && other->wire == WIRE_BYTES && !other->message && !other->weights) {
            f->at = other->at;
            f->n = other->n;
        }
    }
}

static void edit_value(Tree *t, Field *f)
{
    if (f->wire == WIRE_VARINT)
        f->varint =
            draw(&t->rng) % 3 ? odd_number(&t->rng) : f->varint + (draw(&t->rng) % 2 ? 1 : -1u);
    else if (!f->message)
        edit_leaf(t, f);
    else if (f->child.n)
        f->child.n = (int)below(&t->rng, (size_t)f->child.n); /* the message cut short */
}

static void edit_siblings(Tree *t, Field *parent)
{
    Fields *c = &parent->child;
    size_t a = below(&t->rng, (size_t)c->n), b = below(&t->rng, (size_t)c->n);
    Field *fa = c->at[a];
    switch (draw(&t->rng) % 3) {
    case 0: /* left out */
        memmove(c->at + a, c->at + a + 1, ((size_t)c->n - a - 1) * sizeof *c->at);
        c->n--;
        break;
    case 1: /* in another order */
        c->at[a] = c->at[b];
        c->at[b] = fa;
        break;
    default: VEC_PUSH(&t->cx, c, fa); /* given twice */
    }
}

/* Is `f` somewhere inside `in`? Then moving it there would make a cycle. */
static bool inside(const Field *f, const Field *in)
{
    bool found = f == in;
    for (int i = 0; i < in->child.n && !found; i++)
        found = inside(f, in->child.at[i]);
    return found;
}

/* A subtree from anywhere, put anywhere; under its own number, or one of those that stand there. */
static void transplant(Tree *t)
{
    Field *to = any_parent(t), *from = any_field(t);
    if (!from || inside(to, from))
        return;
    Field *copy = NEW(&t->cx, Field);
    *copy = *from;
    if (to->child.n && draw(&t->rng) % 2)
        copy->number = to->child.at[below(&t->rng, (size_t)to->child.n)]->number;
    VEC_PUSH(&t->cx, &to->child, copy);
}

static void edit_tree(Tree *t)
{
    Field *f;
    switch (draw(&t->rng) % 8) {
    case 0:
    case 1:
        t->stats->edits++;
        edit_siblings(t, any_parent(t));
        break;
    case 2: transplant(t); break;
    case 3:
        f = any_field(t);
        if (f)
            f->number = (uint32_t)(draw(&t->rng) % 30 + 1);
        break;
    default:
        f = any_field(t);
        if (f)
            edit_value(t, f);
    }
}

/* ---- edits of bytes -------------------------------------------------------------------------- */

/* Where structure lies: a field's tag and length, and its payload if that is no message. */
static size_t any_place(Tree *t, const uint8_t *model)
{
    const Field *f = any_field(t);
    if (!f)
        return 0;
    size_t head = (size_t)(f->at - f->from), n = f->message ? head : head + f->n;
    return (size_t)(f->from - model) + below(&t->rng, n);
}

static void insert(Pb *p, size_t at, const uint8_t *bytes, size_t n)
{
    uint8_t copy[16];
    memcpy(copy, bytes, n);
    pb_raw(p, copy, n);
    memmove(p->at + at + n, p->at + at, p->n - n - at);
    memcpy(p->at + at, copy, n);
}

static void edit_bytes(Tree *t, Pb *p, const uint8_t *model)
{
    size_t at = any_place(t, model), n = 1 + below(&t->rng, 8);
    if (at >= p->n)
        return;
    uint64_t noise = draw(&t->rng);
    switch (draw(&t->rng) % 6) {
    case 0:
    case 1: p->at[at] ^= (uint8_t)(1u << noise % 8); break;
    case 2: p->at[at] = (uint8_t)odd_number(&t->rng); break;
    case 3: insert(p, at, (const uint8_t *)&noise, n); break;
    case 4:
        n = MIN(n, p->n - at);
        memmove(p->at + at, p->at + at + n, p->n - at - n);
        p->n -= n;
        break;
    default:
        if (noise % 8 == 0)
            p->n = at; /* cut */
        else
            insert(p, at, p->at + below(&t->rng, MAX(p->n, (size_t)9) - 8), MIN(n, p->n));
    }
}

Pb mutant_make(const uint8_t *model, size_t n, uint64_t seed, MutantStats *stats)
{
    const Wire whole = {model, model + n};
    Tree t = {.rng = seed * 2654435761u + 1, .stats = stats};
    Pb out = {0};
    ctx_init(&t.cx, alloc_default());
    TRY(&t.cx) {
        grow_tree(&t, &t.root, &onnx__model_proto__descriptor, whole);
        int edits = draw(&t.rng) % 2 ? 1 : 1 + (int)below(&t.rng, 3);
        bool repaired = seed % 2 == 0;
        if (!repaired)
            pb_raw(&out, model, n);
        for (int i = 0; i < edits; i++)
            if (repaired)
                edit_tree(&t);
            else
                edit_bytes(&t, &out, model);
        if (repaired)
            write_tree(&out, &t.root);
        stats->repaired += repaired;
        stats->mutants++;
    }
    CATCH {
        abort(); /* out of memory in the test itself */
    }
    ctx_free(&t.cx);
    return out;
}
