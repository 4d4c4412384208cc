/* json.c: see json.h. */
#include "json.h"
#include "cli.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jansson returns NULL only when memory is out, for values that we know to be right. */
static json_t *checked(json_t *value)
{
    if (!value) {
        fprintf(stderr, "sinter: out of memory while writing JSON\n");
        exit(EXIT_ERROR);
    }
    return value;
}

/* Bytes of the UTF-8 sequence at s, or 0 when it is not one that JSON text may hold. */
static int utf8_length(const unsigned char *s)
{
    int n = *s < 0x80             ? 1
        : *s >= 0xC2 && *s < 0xE0 ? 2
        : (*s & 0xF0) == 0xE0     ? 3
        : *s >= 0xF0 && *s < 0xF5 ? 4
                                  : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((*s == 0xE0 && s[1] < 0xA0) || (*s == 0xED && s[1] > 0x9F)) /* overlong; a surrogate */
        return 0;
    if ((*s == 0xF0 && s[1] < 0x90) || (*s == 0xF4 && s[1] > 0x8F))
        return 0;
    return n;
}

/* The usual case, text that is valid, costs one call. */
json_t *json_text(const char *s)
{
    json_t *plain = json_string(s);
    if (plain)
        return plain;
    char *clean = cli_alloc(3 * strlen(s) + 1), *p = clean;
    for (const unsigned char *q = (const unsigned char *)s; *q;) {
        int n = utf8_length(q);
        memcpy(p, n ? (const char *)q : "\xEF\xBF\xBD", n ? (size_t)n : 3);
        p += n ? n : 3;
        q += n ? n : 1;
    }
    return checked(json_string(clean));
}

/* Whole numbers are printed without a fraction, as counts are. */
json_t *json_number(double x)
{
    if (isnan(x))
        return checked(json_null());
    if (isinf(x))
        x = x > 0 ? DBL_MAX : -DBL_MAX;
    if (x == floor(x) && fabs(x) < 9e15)
        return json_whole((int64_t)x);
    return checked(json_real(x));
}

json_t *json_whole(int64_t x) { return checked(json_integer(x)); }

json_t *json_dims(int rank, const int64_t *dim)
{
    json_t *a = checked(json_array());
    for (int i = 0; i < rank; i++)
        json_add(a, json_whole(dim[i]));
    return a;
}

/* Keys are names of the model too (symbols, operators): they must be valid text. */
void json_put(json_t *object, const char *key, json_t *value)
{
    json_t *clean = json_text(key);
    if (json_object_set_new(object, json_string_value(clean), value))
        checked(NULL);
    json_decref(clean);
}

void json_add(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        checked(NULL);
}

/* Nine digits bring a float back exactly, and say enough of a time. */
void json_print_line(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        checked(NULL);
    puts(text);
    free(text);
    json_decref(object);
}

double json_get_number(const json_t *object, const char *key, double otherwise)
{
    json_t *v = json_object_get(object, key);
    return json_is_number(v) ? json_number_value(v) : otherwise;
}

const char *json_get_text(const json_t *object, const char *key, const char *otherwise)
{
    json_t *v = json_object_get(object, key);
    return json_is_string(v) ? json_string_value(v) : otherwise;
}
