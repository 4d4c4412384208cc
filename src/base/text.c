/* text.c: text buffers and locale-free numbers. */
#include "base/base.h"
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void buf_init(Buf *b, Ctx *cx) { *b = (Buf){.cx = cx}; }

static void reserve(Buf *b, size_t more)
{
    if (b->n + more + 1 <= b->cap)
        return;
    if (more > (size_t)LIM_TEXT_BYTES || b->n > (size_t)LIM_TEXT_BYTES)
        ctx_fail(b->cx, ST_LIMIT, NULL, "more than %lld bytes of generated text",
            (long long)LIM_TEXT_BYTES);
    size_t cap = MAX(b->cap * 2, b->n + more + 64);
    char *s = ctx_alloc(b->cx, cap);
    if (b->n)
        memcpy(s, b->s, b->n);
    b->s = s;
    b->cap = cap;
}

void buf_write(Buf *b, const void *p, size_t n)
{
    reserve(b, n);
    if (n)
        memcpy(b->s + b->n, p, n);
    b->n += n;
    b->s[b->n] = 0;
}

void buf_putc(Buf *b, char c) { buf_write(b, &c, 1); }

void buf_puts(Buf *b, const char *s) { buf_write(b, s, strlen(s)); }

void buf_printf(Buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    char small[256];
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    reserve(b, (size_t)n);
    if ((size_t)n < sizeof small)
        memcpy(b->s + b->n, small, (size_t)n + 1);
    else
        vsnprintf(b->s + b->n, (size_t)n + 1, fmt, again);
    va_end(again);
    b->n += (size_t)n;
}

/* glibc's C locale is static: this neither allocates nor fails. */
static locale_t c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

void buf_double(Buf *b, double x)
{
    char s[64];
    if (isnan(x)) {
        buf_puts(b, "nan");
        return;
    }
    if (isinf(x)) {
        buf_puts(b, x < 0 ? "-inf" : "inf");
        return;
    }
    locale_t own = c_locale(), callers = uselocale(own); /* of this thread only */
    for (int digits = 6; digits <= 17; digits += digits < 15 ? 3 : 1) {
        snprintf(s, sizeof s, "%.*g", digits, x);
        if (strtod_l(s, NULL, own) == x)
            break;
    }
    uselocale(callers);
    buf_puts(b, s);
}

/* Length of the valid UTF-8 sequence at s, or 0. */
static int utf8_len(const unsigned char *s)
{
    static const struct {
        unsigned char mask, lead, n;
        uint32_t least;
    } form[] = {{0x80, 0, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800},
        {0xf8, 0xf0, 4, 0x10000}};
    for (int f = 0; f < NELEM(form); f++) {
        if ((s[0] & form[f].mask) != form[f].lead)
            continue;
        uint32_t code = s[0] & (unsigned char)~form[f].mask;
        for (int i = 1; i < form[f].n; i++) {
            if ((s[i] & 0xc0) != 0x80)
                return 0;
            code = code << 6 | (s[i] & 0x3f);
        }
        bool surrogate = code >= 0xd800 && code < 0xe000;
        return code >= form[f].least && code < 0x110000 && !surrogate ? form[f].n : 0;
    }
    return 0;
}

void buf_quoted(Buf *b, const char *str)
{
    const unsigned char *s = (const unsigned char *)str;
    buf_putc(b, '"');
    while (*s) {
        int n = utf8_len(s);
        if (*s == '"' || *s == '\\')
            buf_printf(b, "\\%c", *s);
        else if (*s == '\n')
            buf_puts(b, "\\n");
        else if (*s < 0x20 || *s == 0x7f || n == 0)
            buf_printf(b, "\\u%04x", *s);
        else
            buf_write(b, s, (size_t)n);
        s += n ? n : 1;
    }
    buf_putc(b, '"');
}

double parse_double(const char *s, const char **end)
{
    char *stop = (char *)(uintptr_t)s;
    double x = 0;
    if (!strchr(" \t\n\v\f\r", *s)) /* strtod would skip white space; *s == 0 is found too */
        x = strtod_l(s, &stop, c_locale());
    if (end)
        *end = stop;
    return x;
}
