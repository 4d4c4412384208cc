/* prescan.c: checks wire data, cuts the weights out, and lets protobuf-c unpack the rest
 * (prescan.h). */
#include "graph/prescan.h"

/* ---- reading --------------------------------------------------------------------------------- */

bool wire_varint(Wire *w, uint64_t *v)
{
    *v = 0;
    for (int shift = 0; shift < 70 && w->at < w->end; shift += 7) {
        uint8_t byte = *w->at++;
        if (shift < 64)
            *v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* The payload of a field whose size is known. */
static const char *take(Wire *w, WireField *f, uint64_t n)
{
    if (n > (uint64_t)(w->end - w->at))
        return "runs past the end of the message that holds it";
    f->bytes = (Bytes){w->at, (size_t)n};
    w->at += n;
    return NULL;
}

const char *wire_field(Wire *w, WireField *f)
{
    uint64_t tag, length;
    if (!wire_varint(w, &tag))
        return "has a broken tag";
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return "has a number that protobuf does not allow";
    *f = (WireField){.number = (uint32_t)(tag >> 3), .type = (int)(tag & 7)};
    switch (f->type) {
    case WIRE_VARINT:
        f->bytes.at = w->at;
        if (!wire_varint(w, &f->varint))
            return "is a broken or cut varint";
        f->bytes.n = (size_t)(w->at - f->bytes.at);
        return NULL;
    case WIRE_64: return take(w, f, 8);
    case WIRE_32: return take(w, f, 4);
    case WIRE_BYTES: return wire_varint(w, &length) ? take(w, f, length) : "has a broken length";
    default: return "is of a kind (group) that ONNX does not use";
    }
}

bool tensor_data_field(uint32_t number)
{
    return (number >= 4 && number <= 7) || (number >= 9 && number <= 11);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The walk is done twice: first to check and to measure (out NULL), then to write. Lengths of
 * messages are written as five bytes whatever they are, so that a message's size is known before
 * its content is. */
typedef struct Walk {
    Scan *scan;
    const uint8_t *file;
    uint8_t *out;
    size_t size;      /* of the skeleton so far */
    int64_t unpacked; /* what protobuf-c will need, roughly */
    uint32_t n_bodies;
} Walk;
enum { LENGTH_BYTES = 5 };
static const size_t SKELETON_MAX = (size_t)1 << 31;

static void put(Walk *k, const void *p, size_t n)
{
    if (k->out && n)
        memcpy(k->out + k->size, p, n);
    k->size += n;
}

static void put_varint(Walk *k, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    put(k, bytes, n);
}

static void put_tag(Walk *k, uint32_t number, int type)
{
    put_varint(k, (uint64_t)number << 3 | (unsigned)type);
}

static void patch_length(Walk *k, size_t at)
{
    size_t n = k->size - at - LENGTH_BYTES;
    for (int i = 0; k->out && i < LENGTH_BYTES; i++, n >>= 7)
        k->out[at + (size_t)i] = (uint8_t)((n & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

static void fail_at(Walk *k, const ProtobufCMessageDescriptor *type, const char *field,
    const uint8_t *at, const char *wrong)
{
    ctx_fail(k->scan->cx, ST_MODEL,
        &(Where){.hint = "is this an ONNX file, and is it complete? Fetch or export it again"},
        "not a valid ONNX file: at byte %lld, %s%s%s %s", (long long)(at - k->file),
        type->short_name, field ? "." : ": a field", field ? field : "", wrong);
}

static void limit(Walk *k, int64_t value, int64_t bound, const char *what)
{
    if (value > bound)
        ctx_fail(k->scan->cx, ST_LIMIT, NULL, "the model exceeds the limit of %lld %s",
            (long long)bound, what);
}

static int wire_type_of(ProtobufCType t)
{
    switch (t) {
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return WIRE_64;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return WIRE_32;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
    default: return WIRE_VARINT;
    }
}

/* A number list in one piece must hold whole numbers; protobuf-c would only say "failed". */
static const char *check_packed(int type, Bytes b)
{
    if (type != WIRE_VARINT)
        return b.n % (type == WIRE_64 ? 8 : 4) ? "is a list that ends inside a number" : NULL;
    Wire w = {b.at, b.at + b.n};
    uint64_t v;
    while (w.at < w.end)
        if (!wire_varint(&w, &v))
            return "is a list with a broken varint";
    return NULL;
}

/* Metadata may be long and hold anything; what is a name may not. */
static const char *check_string(Walk *k, const ProtobufCMessageDescriptor *type, Bytes b)
{
    if (type == &onnx__string_string_entry_proto__descriptor)
        return NULL;
    limit(k, (int64_t)b.n, LIM_NAME, "bytes in a name");
    return b.n && memchr(b.at, 0, b.n) ? "is a name with a NUL byte in it" : NULL;
}

static const char *check_leaf(Walk *k, const ProtobufCMessageDescriptor *type,
    const ProtobufCFieldDescriptor *fd, const WireField *f)
{
    int wire = wire_type_of(fd->type);
    if (f->type != wire) {
        if (fd->label != PROTOBUF_C_LABEL_REPEATED || f->type != WIRE_BYTES)
            return "has the wrong wire type";
        k->unpacked += 8 * (int64_t)f->bytes.n;
        return check_packed(wire, f->bytes);
    }
    k->unpacked += (int64_t)f->bytes.n + 32;
    return fd->type == PROTOBUF_C_TYPE_STRING ? check_string(k, type, f->bytes) : NULL;
}

/* Fields that the importer has no use for: unknown ones, weights, documentation, and `body` itself.
 */
static const ProtobufCFieldDescriptor *wanted(const ProtobufCMessageDescriptor *type,
    uint32_t number)
{
    const ProtobufCFieldDescriptor *fd = protobuf_c_message_descriptor_get_field(type, number);
    if (!fd || strcmp(fd->name, "doc_string") == 0)
        return NULL;
    bool tensor = type == &onnx__tensor_proto__descriptor;
    return tensor && (tensor_data_field(number) || strcmp(fd->name, "body") == 0) ? NULL : fd;
}

static void put_body(Walk *k, Wire w)
{
    const ProtobufCMessageDescriptor *type = &onnx__tensor_proto__descriptor;
    uint32_t index = k->n_bodies++;
    if (k->out)
        k->scan->body[index] = (Bytes){w.at, (size_t)(w.end - w.at)};
    put_tag(k, protobuf_c_message_descriptor_get_field_by_name(type, "body")->id, WIRE_32);
    put(k, &index, sizeof index);
}

static void walk(Walk *k, const ProtobufCMessageDescriptor *type, Wire w, int depth)
{
    limit(k, depth, LIM_NESTING, "levels of nested messages");
    k->unpacked += (int64_t)type->sizeof_message + 64;
    limit(k, k->unpacked, LIM_MESSAGE_BYTES, "bytes of structure (weights apart)");
    if (type == &onnx__tensor_proto__descriptor)
        put_body(k, w);
    while (w.at < w.end) {
        const uint8_t *at = w.at;
        WireField f;
        const char *wrong = wire_field(&w, &f);
        if (wrong)
            fail_at(k, type, NULL, at, wrong);
        limit(k, ++k->scan->n_fields, LIM_FIELDS, "protobuf fields");
        const ProtobufCFieldDescriptor *fd = wanted(type, f.number);
        if (!fd)
            continue;
        wrong = check_leaf(k, type, fd, &f);
        if (wrong)
            fail_at(k, type, fd->name, at, wrong);
        put_tag(k, f.number, f.type);
        if (fd->type == PROTOBUF_C_TYPE_MESSAGE) {
            size_t length_at = k->size;
            k->size += LENGTH_BYTES;
            walk(k, fd->descriptor, (Wire){f.bytes.at, f.bytes.at + f.bytes.n}, depth + 1);
            patch_length(k, length_at);
        } else {
            if (f.type == WIRE_BYTES)
                put_varint(k, f.bytes.n);
            put(k, f.bytes.at, f.bytes.n);
        }
    }
}

/* ---- unpacking ------------------------------------------------------------------------------- */

/* protobuf-c's allocator. Arena memory is zeroed: one byte more than asked for is a NUL after bytes
 * fields. */
typedef struct Store {
    Ctx *cx;
    bool full;
} Store;

static void *arena_get(void *user, size_t size)
{
    Store *store = user;
    void *p = arena_try(&store->cx->arena, size + 1, 16);
    store->full |= !p;
    return p;
}

static void arena_keep(void *user, void *p)
{
    (void)user;
    (void)p;
}

static void free_skeleton(void *arena) { arena_free(arena); }

ProtobufCMessage *prescan_unpack(Scan *scan, Ctx *cx, const ProtobufCMessageDescriptor *type,
    Bytes bytes)
{
    *scan = (Scan){.cx = cx};
    limit(&(Walk){.scan = scan}, (int64_t)bytes.n, LIM_FILE_BYTES, "bytes of a model file");
    Wire all = {bytes.at, bytes.at + bytes.n};
    Walk measure = {.scan = scan, .file = bytes.at};
    walk(&measure, type, all, 1);
    limit(&measure, (int64_t)measure.size, (int64_t)SKELETON_MAX - 1,
        "bytes of structure (weights apart)");

    Arena *scratch = NEW(cx, Arena);
    scratch->alloc = cx->arena.alloc;
    ctx_defer(cx, free_skeleton, scratch);
    uint8_t *skeleton = arena_try(scratch, measure.size + 1, 1);
    if (!skeleton)
        ctx_fail(cx, ST_MEMORY, NULL, "out of memory");
    scan->body = NEW_N(cx, Bytes, measure.n_bodies + 1);
    Walk write = {.scan = scan, .file = bytes.at, .out = skeleton};
    scan->n_fields = 0;
    walk(&write, type, all, 1);
    scan->n_bodies = write.n_bodies;

    Store store = {.cx = cx};
    ProtobufCAllocator in_arena = {arena_get, arena_keep, &store};
    ProtobufCMessage *m = protobuf_c_message_unpack(type, &in_arena, write.size, skeleton);
    free_skeleton(scratch);
    if (store.full)
        ctx_fail(cx, ST_MEMORY, NULL, "out of memory");
    if (!m)
        ctx_fail(cx, ST_MODEL, NULL, "not a valid ONNX file: protobuf-c can't read it");
    return m;
}
