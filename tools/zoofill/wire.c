/* wire.c: see wire.h. */
#include "wire.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("error: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

void *xmalloc(size_t n)
{
    void *p = calloc(n ? n : 1, 1);
    if (!p)
        die("out of memory (%zu bytes)", n);
    return p;
}

Span read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        die("%s: cannot read", path);
    long n = ftell(f);
    if (n < 0)
        die("%s: cannot read", path);
    rewind(f);
    uint8_t *p = xmalloc((size_t)n);
    if (fread(p, 1, (size_t)n, f) != (size_t)n)
        die("%s: cannot read %ld bytes", path, n);
    fclose(f);
    return (Span){p, p + n};
}

uint64_t wire_varint(Span *s)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (s->p >= s->end)
            break;
        uint8_t b = *s->p++;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return v;
    }
    die("malformed protobuf: a number runs past its end");
}

/* Cuts n bytes off the front. */
static Span take(Span *s, uint64_t n)
{
    if (n > span_size(*s))
        die("malformed protobuf: a field of %llu bytes where %zu are left", (unsigned long long)n,
            span_size(*s));
    Span r = {s->p, s->p + n};
    s->p += n;
    return r;
}

bool wire_next(Span *message, Field *f)
{
    if (message->p >= message->end)
        return false;
    *f = (Field){.whole.p = message->p};
    uint64_t tag = wire_varint(message);
    f->number = (int)(tag >> 3);
    f->type = (int)(tag & 7);
    switch (f->type) {
    case WIRE_VARINT: f->value = wire_varint(message); break;
    case WIRE_FIXED64:
    case WIRE_FIXED32:
        f->bytes = take(message, f->type == WIRE_FIXED64 ? 8 : 4);
        memcpy(&f->value, f->bytes.p, span_size(f->bytes));
        break;
    case WIRE_BYTES: f->bytes = take(message, wire_varint(message)); break;
    default: die("malformed protobuf: wire type %d", f->type);
    }
    f->whole.end = message->p;
    return true;
}

bool span_is(Span s, const char *text)
{
    return strlen(text) == span_size(s) && !memcmp(s.p, text, span_size(s));
}

char *span_text(Span s)
{
    char *t = xmalloc(span_size(s) + 1);
    if (s.p)
        memcpy(t, s.p, span_size(s));
    return t;
}

Span wire_find(Span message, int number)
{
    for (Field f; wire_next(&message, &f);)
        if (f.number == number && f.type == WIRE_BYTES)
            return f.bytes;
    return (Span){0};
}

void put_bytes(Sink *s, const void *p, size_t n)
{
    if (s->f && n && fwrite(p, 1, n, s->f) != n)
        die("cannot write %zu bytes", n);
    s->written += n;
}

void put_varint(Sink *s, uint64_t v)
{
    uint8_t b[10];
    size_t n = 0;
    for (; v > 127; v >>= 7)
        b[n++] = (uint8_t)(v | 128);
    b[n++] = (uint8_t)v;
    put_bytes(s, b, n);
}

void put_tag(Sink *s, int number, int type)
{
    put_varint(s, (uint64_t)number << 3 | (uint64_t)type);
}

void put_header(Sink *s, int number, uint64_t n)
{
    put_tag(s, number, WIRE_BYTES);
    put_varint(s, n);
}
