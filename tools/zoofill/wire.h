/* wire.h: just enough of the protobuf wire format for the test tools.
 *
 * The tools that make and judge test data must not share code with the importer that they help
 * to test, so they read messages themselves: a message is a span of bytes, wire_next walks its
 * fields, and what a tool does not know it copies unchanged.
 */
#ifndef ZOOFILL_WIRE_H
#define ZOOFILL_WIRE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    const uint8_t *p, *end;
} Span;

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* One field: its number, wire type, value (varint and fixed types) or bytes, and all of it with
 * its tag. */
typedef struct {
    int number, type;
    uint64_t value;
    Span bytes, whole;
} Field;

/* Field numbers of the ONNX messages that the tools look into. */
enum {
    MODEL_GRAPH = 7,
    MODEL_METADATA = 14,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_STRINGS = 6,
    TENSOR_INT64S = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11
};

/* The next field of the message; false at its end. A malformed message ends the program: the
 * files are ours. */
bool wire_next(Span *message, Field *f);
uint64_t wire_varint(Span *s);
#define MIN_SIZE(a, b) ((a) < (b) ? (a) : (b))
static inline size_t span_size(Span s) { return (size_t)(s.end - s.p); }
/* Is the span this text? */
bool span_is(Span s, const char *text);
char *span_text(Span s); /* a NUL-terminated copy */
/* The first string or bytes field of that number; empty when there is none. */
Span wire_find(Span message, int number);

/* Writing: to a file, or only counting when `f` is NULL. */
typedef struct {
    FILE *f;
    uint64_t written;
} Sink;
void put_bytes(Sink *s, const void *p, size_t n);
void put_varint(Sink *s, uint64_t v);
void put_tag(Sink *s, int number, int type);
/* Tag and length of a bytes field; n bytes must follow. */
void put_header(Sink *s, int number, uint64_t n);

/* The whole file in memory. */
Span read_file(const char *path);
/* Says what is wrong on stderr and ends the program with status 1. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *xmalloc(size_t n);
#endif
