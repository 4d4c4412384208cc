/* import_tensor.c: TensorProto and SparseTensorProto to Tensor.
 *
 * The elements are read from the tensor's own bytes in the file (prescan.h). What stands there in
 * the layout of a Tensor is used in place if it is big; small tensors are copied, which aligns
 * them.
 */
#include "graph/import.h"
#include <limits.h>

enum { COPY_BYTES = 1024 };
enum {
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    N_DATA = 12
};
static const char *const field_name[N_DATA] = {[FLOAT_DATA] = "float_data",
    [INT32_DATA] = "int32_data",
    [STRING_DATA] = "string_data",
    [INT64_DATA] = "int64_data",
    [RAW_DATA] = "raw_data",
    [DOUBLE_DATA] = "double_data",
    [UINT64_DATA] = "uint64_data"};

/* What a tensor's bytes hold of one data field. A list may come in pieces, and unpacked. */
typedef struct Data {
    int64_t pieces, elements;
    Bytes last;
} Data;

static int64_t varints_in(Bytes b)
{
    int64_t n = 0;
    for (size_t i = 0; i < b.n; i++)
        n += !(b.at[i] & 0x80);
    return n;
}

static int64_t elements_in(int number, const WireField *f)
{
    if (number == STRING_DATA || f->type != WIRE_BYTES)
        return 1;
    if (number == RAW_DATA)
        return (int64_t)f->bytes.n;
    if (number == FLOAT_DATA || number == DOUBLE_DATA)
        return (int64_t)f->bytes.n / (number == FLOAT_DATA ? 4 : 8);
    return varints_in(f->bytes);
}

/* Is the wire type one that this data field can have? */
static bool fits_field(int number, const WireField *f)
{
    if (f->type == WIRE_BYTES)
        return (number != FLOAT_DATA || f->bytes.n % 4 == 0) &&
            (number != DOUBLE_DATA || f->bytes.n % 8 == 0);
    return f->type ==
        (number == FLOAT_DATA           ? WIRE_32
                : number == DOUBLE_DATA ? WIRE_64
                                        : WIRE_VARINT) &&
        number != RAW_DATA && number != STRING_DATA;
}

/* The pre-scan has walked these fields, so reading them again can't fail. */
static bool next_data(Wire *w, WireField *f)
{
    while (w->at < w->end && !wire_field(w, f))
        if (tensor_data_field(f->number))
            return true;
    return false;
}

static const char *survey(Bytes body, Data *data)
{
    Wire w = {body.at, body.at + body.n};
    WireField f;
    while (next_data(&w, &f)) {
        int number = (int)f.number;
        if (!fits_field(number, &f))
            return field_name[number];
        Data *d = &data[number];
        d->elements =
            number == RAW_DATA ? (int64_t)f.bytes.n : d->elements + elements_in(number, &f);
        d->pieces++;
        d->last = f.bytes;
    }
    return NULL;
}

/* The typed field that holds elements of type t, and how many entries of it there must be. */
static int typed_field(const Tensor *t, int64_t *entries)
{
    *entries = t->count;
    switch (t->type) {
    case DT_F32: return FLOAT_DATA;
    case DT_C64: *entries *= 2; return FLOAT_DATA;
    case DT_F64: return DOUBLE_DATA;
    case DT_C128: *entries *= 2; return DOUBLE_DATA;
    case DT_I64: return INT64_DATA;
    case DT_U32:
    case DT_U64: return UINT64_DATA;
    case DT_STRING: return STRING_DATA;
    default:
        if (dtype_bits(t->type) < 8) /* an entry is a byte of packed elements */
            *entries = (int64_t)t->bytes;
        return INT32_DATA;
    }
}

/* ---- elements -------------------------------------------------------------------------------- */

static bool all_bool(Bytes b)
{
    for (size_t i = 0; i < b.n; i++)
        if (b.at[i] > 1)
            return false;
    return true;
}

/* Elements that already have a Tensor's layout. Bools other than 0 and 1 must not reach the
 * kernels. */
static void place(Ctx *cx, Tensor *t, Bytes b)
{
    bool clean = t->type != DT_BOOL || all_bool(b);
    if (b.n > COPY_BYTES && clean) {
        t->data = (void *)(uintptr_t)b.at; /* read only: nothing writes to a constant */
        return;
    }
    uint8_t *data = ctx_alloc(cx, b.n);
    if (b.n)
        memcpy(data, b.at, b.n);
    for (size_t i = 0; !clean && i < b.n; i++)
        data[i] = data[i] != 0;
    t->data = data;
}

static void gather_fixed(const Tensor *t, Bytes body, int number)
{
    Wire w = {body.at, body.at + body.n};
    WireField f;
    char *to = t->data;
    while (next_data(&w, &f))
        if ((int)f.number == number && f.bytes.n) {
            memcpy(to, f.bytes.at, f.bytes.n);
            to += f.bytes.n;
        }
}

/* One entry of an integer list. An entry for a narrow type may be written signed or unsigned. */
static bool store_entry(const Tensor *t, int64_t index, uint64_t v)
{
    int bits = MAX(dtype_bits(t->type), 8);
    int64_t x = (int64_t)v;
    if (bits < 64 && (x < -((int64_t)1 << (bits - 1)) || x >= (int64_t)1 << bits))
        return false;
    if (t->type == DT_BOOL)
        v = v != 0;
    memcpy((char *)t->data + index * (bits / 8), &v, (size_t)bits / 8); /* little-endian */
    return true;
}

static bool gather_varints(const Tensor *t, Bytes body, int number)
{
    Wire w = {body.at, body.at + body.n};
    WireField f;
    int64_t i = 0;
    while (next_data(&w, &f)) {
        if ((int)f.number != number)
            continue;
        Wire list = {f.bytes.at, f.bytes.at + f.bytes.n};
        uint64_t v;
        while (list.at < list.end) {
            if (!wire_varint(&list, &v) || !store_entry(t, i, v))
                return false;
            i++;
        }
    }
    return true;
}

static void gather_strings(Ctx *cx, Tensor *t, Bytes body)
{
    Wire w = {body.at, body.at + body.n};
    WireField f;
    int64_t i = 0;
    while (next_data(&w, &f))
        if (f.number == STRING_DATA)
            t->strings[i++] = ctx_strndup(cx, (const char *)f.bytes.at, f.bytes.n);
}

static bool fill_typed(Importer *im, Tensor *t, Bytes body, int number, const Data *d)
{
    if (number == STRING_DATA) {
        t->strings = NEW_N(im->cx, char *, t->count);
        gather_strings(im->cx, t, body);
        return true;
    }
    bool fixed = number == FLOAT_DATA || number == DOUBLE_DATA;
    if (fixed && d->pieces == 1) {
        place(im->cx, t, d->last);
        return true;
    }
    t->data = ctx_alloc(im->cx, t->bytes);
    if (fixed)
        gather_fixed(t, body, number);
    return fixed || gather_varints(t, body, number);
}

/* ---- where the elements are ------------------------------------------------------------------ */

/* The one data field that is used; 0 when there is none, -1 when that has been reported as wrong.
 */
static int used_field(Importer *im, const Data *data, const Where *w)
{
    int used = 0;
    for (int i = 0; i < N_DATA; i++) {
        if (!data[i].elements)
            continue;
        if (used) {
            BAD(im, ST_MODEL, w, "a tensor has both %s and %s", field_name[used], field_name[i]);
            return -1;
        }
        used = i;
    }
    return used;
}

static bool internal_data(Importer *im, Tensor *t, Bytes body, const Where *w)
{
    Data data[N_DATA] = {{0}};
    const char *broken = survey(body, data);
    if (broken) {
        BAD(im, ST_MODEL, w, "a tensor's %s is broken", broken);
        return false;
    }
    int64_t want;
    int used = used_field(im, data, w), typed = typed_field(t, &want);
    if (used < 0)
        return false;
    if (used == RAW_DATA && t->type != DT_STRING)
        want = (int64_t)t->bytes;
    else if (used && used != typed) {
        BAD(im, ST_MODEL, w, "elements of type %s can't be in %s", dtype_text(t->type),
            field_name[used]);
        return false;
    }
    if (!used && want) {
        BAD(im, ST_MODEL, w, "a tensor of %lld %s elements has no data", (long long)t->count,
            dtype_text(t->type));
        return false;
    }
    if (data[used].elements != want) {
        BAD(im, ST_MODEL, w, "a tensor of %lld %s elements needs %lld %s in %s, but has %lld",
            (long long)t->count, dtype_text(t->type), (long long)want,
            used == RAW_DATA ? "bytes" : "entries", field_name[used],
            (long long)data[used].elements);
        return false;
    }
    if (used == RAW_DATA) {
        place(im->cx, t, data[RAW_DATA].last);
        return true;
    }
    if (!fill_typed(im, t, body, typed, &data[typed])) {
        BAD(im, ST_MODEL, w, "%s has an entry that is no %s", field_name[typed],
            dtype_text(t->type));
        return false;
    }
    return true;
}

/* A decimal number of bytes; false when it is none. */
static bool parse_size(const char *s, int64_t *n)
{
    *n = 0;
    for (const char *c = s; *c; c++)
        if (*c < '0' || *c > '9' || !mul_ok(*n, 10, n) || !add_ok(*n, *c - '0', n))
            return false;
    return *s != 0;
}

static bool external_data(Importer *im, Tensor *t, const TensorProto *p, const Where *w)
{
    const char *location = "";
    int64_t offset = 0, length = (int64_t)t->bytes;
    bool ok = true;
    for (size_t i = 0; i < p->n_external_data; i++) {
        const char *key = text(p->external_data[i]->key), *value = text(p->external_data[i]->value);
        if (strcmp(key, "location") == 0)
            location = value;
        else if (strcmp(key, "offset") == 0)
            ok &= parse_size(value, &offset);
        else if (strcmp(key, "length") == 0)
            ok &= parse_size(value, &length);
    }
    if (!ok || t->type == DT_STRING || length != (int64_t)t->bytes) {
        BAD(im, ST_MODEL, w,
            "external data of %s: offset or length is wrong; %lld bytes are needed",
            dtype_text(t->type), (long long)t->bytes);
        return false;
    }
    Bytes file;
    if (!map_external(im, location, &file, w))
        return false;
    if (offset > (int64_t)file.n || length > (int64_t)file.n - offset) {
        BAD(im, ST_MODEL, w,
            "external data file '%.200s' has %lld bytes; offset %lld with %lld bytes is past "
            "its end",
            location, (long long)file.n, (long long)offset, (long long)length);
        return false;
    }
    place(im->cx, t, (Bytes){file.at ? file.at + offset : NULL, (size_t)length});
    return true;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool read_dims(Importer *im, Tensor *t, size_t n, const int64_t *dim, const Where *w)
{
    if (n > (size_t)LIM_RANK) {
        BAD(im, ST_LIMIT, w, "rank %lld exceeds the limit of %lld", (long long)n,
            (long long)LIM_RANK);
        return false;
    }
    t->rank = (int)n;
    for (size_t i = 0; i < n; i++) {
        t->dim[i] = dim[i];
        if (dim[i] < 0) {
            BAD(im, ST_MODEL, w, "dim %d of a tensor is %lld", (int)i, (long long)dim[i]);
            return false;
        }
    }
    tensor_layout(im->cx, t, w);
    return true;
}

static Tensor *read_tensor(Importer *im, const TensorProto *p, const Where *w)
{
    Tensor *t = NEW(im->cx, Tensor);
    int type = p->has_data_type ? p->data_type : 0;
    if (type <= 0 || type >= DT_COUNT) {
        BAD(im, ST_MODEL, w, "a tensor has data type %d, which ONNX does not define", type);
        return NULL;
    }
    t->type = (DType)type;
    if (p->segment) {
        BAD(im, ST_UNSUPPORTED, w, "a tensor that is split into segments");
        return NULL;
    }
    if (!read_dims(im, t, p->n_dims, p->dims, w))
        return NULL;
    bool external =
        p->has_data_location && p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    bool ok =
        external ? external_data(im, t, p, w) : internal_data(im, t, im->scan.body[p->body], w);
    return ok ? t : NULL;
}

Tensor *import_tensor(Importer *im, const TensorProto *p, const Where *where)
{
    Where w = where ? *where : (Where){.node = NULL};
    if (!w.tensor && p->name && p->name[0])
        w.tensor = p->name;
    Tensor **known = &im->tensor[p->body];
    if (!*known)
        *known = read_tensor(im, p, &w);
    return *known;
}

/* ---- sparse ---------------------------------------------------------------------------------- */

/* Where entry k of a sparse tensor goes, as an element of the dense one; -1 when that is outside.
 * Indices are one linear index per entry, or one index per axis. */
static int64_t sparse_at(const Tensor *dense, const Tensor *indices, int64_t k)
{
    if (indices->rank == 1) {
        int64_t at = scalar_load(DT_I64, indices->data, k).i;
        return at >= 0 && at < dense->count ? at : -1;
    }
    int64_t at = 0;
    for (int i = 0; i < dense->rank; i++) {
        int64_t x = scalar_load(DT_I64, indices->data, k * dense->rank + i).i;
        if (x < 0 || x >= dense->dim[i])
            return -1;
        at = at * dense->dim[i] + x;
    }
    return at;
}

static const char *sparse_problem(const Tensor *dense, const Tensor *values, const Tensor *indices)
{
    if (values->rank != 1)
        return "values must be a list";
    if (dense->rank == 0)
        return "dims are missing";
    if (values->type == DT_STRING || dtype_bits(values->type) < 8)
        return "elements of this type can't be sparse";
    if (indices->type != DT_I64)
        return "indices must be int64";
    bool linear = indices->rank == 1 && indices->dim[0] == values->count;
    bool by_axis =
        indices->rank == 2 && indices->dim[0] == values->count && indices->dim[1] == dense->rank;
    return linear || by_axis ? NULL : "indices must have a row per value: [n], or [n, rank]";
}

Tensor *import_sparse(Importer *im, const Onnx__SparseTensorProto *p, const Where *where)
{
    Where w = where ? *where : (Where){.node = NULL};
    if (!p->values || !p->indices) {
        BAD(im, ST_MODEL, &w, "a sparse tensor without values or indices");
        return NULL;
    }
    if (!w.tensor)
        w.tensor = text(p->values->name);
    Tensor *values = import_tensor(im, p->values, &w), *indices = import_tensor(im, p->indices, &w);
    Tensor *t = NEW(im->cx, Tensor);
    if (!values || !indices)
        return NULL;
    t->type = values->type;
    if (!read_dims(im, t, p->n_dims, p->dims, &w))
        return NULL;
    const char *wrong = sparse_problem(t, values, indices);
    if (wrong) {
        BAD(im, ST_MODEL, &w, "sparse tensor: %s", wrong);
        return NULL;
    }
    if ((int64_t)t->bytes > LIM_SPARSE_BYTES)
        ctx_fail(im->cx, ST_LIMIT, &w,
            "a sparse tensor exceeds the limit of %lld bytes when made dense",
            (long long)LIM_SPARSE_BYTES);
    t->data = ctx_alloc(im->cx, t->bytes);
    size_t size = (size_t)dtype_bytes(t->type);
    for (int64_t k = 0; k < values->count; k++) {
        int64_t at = sparse_at(t, indices, k);
        if (at < 0) {
            BAD(im, ST_MODEL, &w, "sparse tensor: the index of value %lld is outside",
                (long long)k);
            return NULL;
        }
        memcpy((char *)t->data + (size_t)at * size, (const char *)values->data + (size_t)k * size,
            size);
    }
    return t;
}

/* A tensor file of its own. It may not refer to other files. */
Tensor *tensor_import(Ctx *cx, const void *bytes, size_t n, const char **name)
{
    Importer im = {.cx = cx};
    ProtobufCMessage *m =
        prescan_unpack(&im.scan, cx, &onnx__tensor_proto__descriptor, (Bytes){bytes, n});
    const TensorProto *p = (const TensorProto *)m;
    im.tensor = NEW_N(cx, Tensor *, im.scan.n_bodies);
    map_init(&im.files, cx);
    Tensor *t = import_tensor(&im, p, NULL);
    ctx_check(cx);
    if (name)
        *name = text(p->name);
    return t;
}
