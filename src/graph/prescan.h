/* prescan.h: the wire format of untrusted files, checked before protobuf-c sees it.
 *
 * protobuf-c recurses without a bound and copies every bytes field. The pre-scan walks the file
 * first, driven by the same descriptors: it checks depth, lengths, counts and names, and writes the
 * *skeleton*: the message without its weights, documentation and unknown fields. protobuf-c unpacks
 * the skeleton only. Each TensorProto in it carries `body`, an index into `Scan.body`, where its
 * bytes in the file are found; the tensor's elements are read from there (import_tensor.c), big
 * ones without being copied.
 */
#ifndef SINTER_PRESCAN_H
#define SINTER_PRESCAN_H
#include "base/base.h"
#include "graph/onnx.pb-c.h"

typedef struct Bytes {
    const uint8_t *at;
    size_t n;
} Bytes;

/* A position in protobuf wire data. */
typedef struct Wire {
    const uint8_t *at, *end;
} Wire;

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
typedef struct WireField {
    uint32_t number;
    int type;
    uint64_t varint; /* WIRE_VARINT */
    Bytes bytes;     /* the payload as it stands: of WIRE_BYTES without its length */
} WireField;

bool wire_varint(Wire *w, uint64_t *v);
const char *wire_field(Wire *w, WireField *f); /* reads one; NULL, or what is wrong with it */

typedef struct Scan {
    Ctx *cx;
    Bytes *body; /* by TensorProto.body */
    uint32_t n_bodies;
    int64_t n_fields;
} Scan;

/* Checks `bytes` as a message of type `type` and unpacks it; the message lives in cx's arena, so it
 * needs no release, and a NUL byte follows every string and bytes field. Wire errors unwind. */
ProtobufCMessage *prescan_unpack(Scan *scan, Ctx *cx, const ProtobufCMessageDescriptor *type,
    Bytes bytes);

/* Is this field of TensorProto one of those that hold elements? */
bool tensor_data_field(uint32_t number);

#endif
