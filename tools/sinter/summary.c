/* summary.c: see summary.h. */
#include "summary.h"
#include "element.h"
#include "file.h"
#include "json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 8, ROWS = 8 }; /* values and rows shown */

static bool is_number(const sinter_tensor *t)
{
    ElementClass class = dtype_class(t->dtype);
    return class != CLASS_OTHER && class != CLASS_COMPLEX;
}

/* A running mean: a sum would lose digits, or overflow. */
Statistics statistics(const sinter_tensor *t)
{
    Statistics s = {.min = INFINITY, .max = -INFINITY};
    for (int64_t i = 0; is_number(t) && i < t->count; i++) {
        double x = element_get(t->dtype, t->data, i);
        if (!isfinite(x)) {
            s.not_finite++;
            continue;
        }
        s.min = fmin(s.min, x);
        s.max = fmax(s.max, x);
        s.mean += (x - s.mean) / (double)++s.numbers;
    }
    return s;
}

/* Empty lines count: line K names index K. */
sinter_code labels_read(const char *path, StrList *labels, sinter_error *err)
{
    char *bytes;
    size_t n;
    if (!path)
        return SINTER_OK;
    if (file_read(path, &bytes, &n, err))
        return err->code;
    for (char *p = bytes; *p;) {
        size_t k = strcspn(p, "\n");
        list_add(labels, cli_strndup(p, k && p[k - 1] == '\r' ? k - 1 : k));
        p += k + (p[k] == '\n');
    }
    free(bytes);
    return SINTER_OK;
}

/* ---- the largest values of a row ---------------------------------------------------------- */

/* Inserts into the k best so far, largest first; of equals the lower index first. NaN never enters.
 */
static int best_of_row(const sinter_tensor *t, int64_t start, int64_t length, int k, int64_t *best)
{
    int n = 0;
    for (int64_t j = 0; j < length; j++) {
        double x = element_get(t->dtype, t->data, start + j);
        int at = n;
        while (at > 0 && x > element_get(t->dtype, t->data, start + best[at - 1]))
            at--;
        if (isnan(x) || at >= k)
            continue;
        n += n < k;
        memmove(best + at + 1, best + at, sizeof *best * (size_t)(n - 1 - at));
        best[at] = j;
    }
    return n;
}

typedef struct Rows {
    int64_t length, count;
    int k;
    int64_t *best;
} Rows;

/* Rows lie along the last axis, where classifiers keep their classes; a scalar is one row of one.
 */
static Rows rows_of(const sinter_tensor *t, int top)
{
    Rows r = {.length = t->rank ? t->dim[t->rank - 1] : 1, .k = top};
    r.count = r.length && is_number(t) ? t->count / r.length : 0;
    if (r.k > r.length)
        r.k = (int)r.length;
    r.best = cli_alloc(sizeof *r.best * (size_t)(r.k + 1));
    return r;
}

static const char *label_of(const StrList *labels, int64_t i)
{
    return i < labels->n ? labels->at[i] : NULL;
}

/* A batch of a thousand rows would bury the answer: the first ROWS are shown. */
static void top_text(const sinter_tensor *t, int top, const StrList *labels)
{
    Rows r = rows_of(t, top);
    char value[64];
    for (int64_t row = 0; row < r.count && row < ROWS; row++) {
        int n = best_of_row(t, row * r.length, r.length, r.k, r.best);
        printf(r.count > 1 ? "  top %d of row %lld\n" : "  top %d\n", n, (long long)row);
        for (int i = 0; i < n; i++) {
            const char *label = label_of(labels, r.best[i]);
            element_print(t->dtype, t->data, row * r.length + r.best[i], 6, value);
            printf(label ? "    %6lld  %-14s %s\n" : "    %6lld  %s\n", (long long)r.best[i], value,
                label);
        }
    }
    if (r.count > ROWS)
        printf("  (%lld more rows)\n", (long long)(r.count - ROWS));
}

static json_t *top_json(const sinter_tensor *t, int top, const StrList *labels)
{
    Rows r = rows_of(t, top);
    json_t *rows = json_array();
    for (int64_t row = 0; row < r.count && row < ROWS; row++) {
        int n = best_of_row(t, row * r.length, r.length, r.k, r.best);
        json_t *list = json_array();
        for (int i = 0; i < n; i++) {
            json_t *o = json_object();
            const char *label = label_of(labels, r.best[i]);
            json_put(o, "index", json_whole(r.best[i]));
            json_put(o, "value",
                json_number(element_get(t->dtype, t->data, row * r.length + r.best[i])));
            if (label)
                json_put(o, "label", json_text(label));
            json_add(list, o);
        }
        json_add(rows, list);
    }
    return rows;
}

/* ---- the whole ------------------------------------------------------------------------- */

/* For people: what it is, what it looks like, what it says. */
void summary_text(const char *name, const sinter_tensor *t, int top, const StrList *labels)
{
    Statistics s = statistics(t);
    char value[64];
    printf("%s: %s %s\n ", show_name(name), dtype_name(t->dtype), show_shape(t->rank, t->dim));
    for (int64_t i = 0; i < t->count && i < FIRST; i++) {
        element_print(t->dtype, t->data, i, 6, value);
        printf(" %s", value);
    }
    printf(t->count > FIRST ? " ...\n" : t->count ? "\n" : " (no elements)\n");
    if (s.numbers > 1)
        printf("  min %.6g  max %.6g  mean %.6g\n", s.min, s.max, s.mean);
    if (s.not_finite)
        printf("  %lld of %lld values are NaN or infinite\n", (long long)s.not_finite,
            (long long)t->count);
    if (top)
        top_text(t, top, labels);
}

/* JSON integers of readers may end at 2^63: larger ones, and what is no number, become text. */
static json_t *element_json(const sinter_tensor *t, int64_t i)
{
    char value[64];
    switch (dtype_class(t->dtype)) {
    case CLASS_FLOAT: return json_number(element_get(t->dtype, t->data, i));
    case CLASS_SIGNED: return json_whole(element_signed(t->dtype, t->data, i));
    case CLASS_BOOL: return json_boolean(element_unsigned(t->dtype, t->data, i));
    case CLASS_UNSIGNED:
        if (element_unsigned(t->dtype, t->data, i) <= INT64_MAX)
            return json_whole((int64_t)element_unsigned(t->dtype, t->data, i));
        break;
    default: break;
    }
    element_print(t->dtype, t->data, i, 17, value);
    return json_text(value);
}

json_t *summary_json(const char *name, const sinter_tensor *t, int top, const StrList *labels)
{
    Statistics s = statistics(t);
    json_t *o = json_object(), *first = json_array();
    for (int64_t i = 0; i < t->count && i < FIRST; i++)
        json_add(first, element_json(t, i));
    json_put(o, "name", json_text(name));
    json_put(o, "dtype", json_text(dtype_name(t->dtype)));
    json_put(o, "shape", json_dims(t->rank, t->dim));
    json_put(o, "count", json_whole(t->count));
    json_put(o, "first", first);
    json_put(o, "min", s.numbers ? json_number(s.min) : json_null());
    json_put(o, "max", s.numbers ? json_number(s.max) : json_null());
    json_put(o, "mean", s.numbers ? json_number(s.mean) : json_null());
    json_put(o, "not_finite", json_whole(s.not_finite));
    if (top)
        json_put(o, "top", top_json(t, top, labels));
    return o;
}

static const char *number_cell(double x, bool given) { return given ? cli_printf("%.6g", x) : ""; }

void summary_row(const char *name, const sinter_tensor *t, Format format)
{
    Statistics s = statistics(t);
    const char *cell[] = {name, dtype_name(t->dtype), show_shape(t->rank, t->dim),
        cli_printf("%lld", (long long)t->count), number_cell(s.min, s.numbers),
        number_cell(s.max, s.numbers), number_cell(s.mean, s.numbers)};
    print_row(format, 7, cell);
}

/* RFC 4180 quoting, and for Markdown an escaped bar; line ends in a Markdown cell become spaces. */
static void print_cell(Format format, const char *s)
{
    bool quote = format == FORMAT_CSV && strpbrk(s, ",\"\r\n");
    if (quote)
        putchar('"');
    for (; *s; s++) {
        if ((format == FORMAT_CSV && *s == '"' && quote) || (format == FORMAT_MD && *s == '|'))
            putchar(format == FORMAT_CSV ? '"' : '\\');
        putchar(format == FORMAT_MD && (*s == '\n' || *s == '\r') ? ' ' : *s);
    }
    if (quote)
        putchar('"');
}

/* CSV and Markdown from the same cells. */
void print_row(Format format, int n, const char *const *cell)
{
    fputs(format == FORMAT_MD ? "| " : "", stdout);
    for (int i = 0; i < n; i++) {
        if (i)
            fputs(format == FORMAT_MD ? " | " : ",", stdout);
        print_cell(format, cell[i]);
    }
    puts(format == FORMAT_MD ? " |" : "");
}

void print_header(Format format, int n, const char *const *cell)
{
    print_row(format, n, cell);
    for (int i = 0; format == FORMAT_MD && i < n; i++)
        fputs(i + 1 < n ? "|---" : "|---|\n", stdout);
}
