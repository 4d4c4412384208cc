/* npy.c: the .npy format: magic, version, a Python dict literal as header, then the elements.
 *
 *     93 'NUMPY' major minor length {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 * data
 *
 * The header is untrusted: sizes are checked for overflow and against the bytes that are there
 * before any memory is taken. Elements stay little-endian, as everywhere in sinter; big-endian
 * files are refused by name.
 */
#include "npy.h"
#include "cli.h"
#include "element.h"
#include "file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Type strings without the byte order. NumPy has no bfloat16; ml_dtypes writes it as two raw bytes.
 */
static const struct {
    const char *descr;
    sinter_dtype type;
} descrs[] = {
    {"f4", SINTER_FLOAT32},
    {"f8", SINTER_FLOAT64},
    {"f2", SINTER_FLOAT16},
    {"i1", SINTER_INT8},
    {"i2", SINTER_INT16},
    {"i4", SINTER_INT32},
    {"i8", SINTER_INT64},
    {"u1", SINTER_UINT8},
    {"u2", SINTER_UINT16},
    {"u4", SINTER_UINT32},
    {"u8", SINTER_UINT64},
    {"b1", SINTER_BOOL},
    {"c8", SINTER_COMPLEX64},
    {"c16", SINTER_COMPLEX128},
    {"V2", SINTER_BFLOAT16},
};
enum { N_DESCRS = sizeof descrs / sizeof *descrs };

typedef struct Header {
    sinter_dtype type;
    bool fortran;
    int rank;
    int64_t dim[SINTER_MAX_RANK];
    int64_t count;
} Header;

/* The text after "'key':" in the dict, or NULL. */
static const char *dict_value(const char *dict, const char *key)
{
    const char *p = strstr(dict, cli_printf("'%s'", key));
    if (!p)
        p = strstr(dict, cli_printf("\"%s\"", key));
    if (!p)
        return NULL;
    p += strlen(key) + 2;
    p += strspn(p, " ");
    return *p == ':' ? p + 1 + strspn(p + 1, " ") : NULL;
}

/* "'<f4'". One-byte types have no order, whatever is written. */
static sinter_code parse_descr(const char *p, const char *where, Header *h, sinter_error *err)
{
    char quote = *p, text[16] = "";
    size_t n = quote == '\'' || quote == '"' ? strcspn(p + 1, "'\"") : 0;
    if (n == 0)
        return set_error(err, SINTER_ERR_INPUT, "%s: structured arrays are not read", where);
    snprintf(text, sizeof text, "%.*s", (int)(n < 15 ? n : 15), p + 1);
    const char *kind = text + (strchr("<>|=", text[0]) != NULL);
    if (text[0] == '>' && strcmp(kind, "b1") != 0 && kind[1] != '1') {
        set_error(err, SINTER_ERR_INPUT, "%s: big-endian array ('%s')", where, text);
        set_hint(err, "save it as a.astype(a.dtype.newbyteorder('<'))");
        return err->code;
    }
    for (int i = 0; i < N_DESCRS; i++) {
        if (strcmp(kind, descrs[i].descr) == 0) {
            h->type = descrs[i].type;
            return SINTER_OK;
        }
    }
    return set_error(err, SINTER_ERR_INPUT, "%s: arrays of type '%s' are not read", where, text);
}

/* "(3, 4)", "(3,)", "()"; Python 2 wrote "3L". */
static sinter_code parse_shape(const char *p, const char *where, Header *h, sinter_error *err)
{
    if (*p++ != '(')
        return set_error(err, SINTER_ERR_INPUT, "%s: broken .npy header (shape)", where);
    h->count = 1;
    for (p += strspn(p, " "); *p != ')'; p += strspn(p, "L, ")) {
        char *end;
        long long d = strtoll(p, &end, 10);
        if (end == p || d < 0)
            return set_error(err, SINTER_ERR_INPUT, "%s: broken .npy header (shape)", where);
        if (h->rank == SINTER_MAX_RANK)
            return set_error(err, SINTER_ERR_LIMIT, "%s: more than %d dimensions", where,
                SINTER_MAX_RANK);
        if (__builtin_mul_overflow(h->count, d, &h->count))
            return set_error(err, SINTER_ERR_INPUT, "%s: the product of the dimensions overflows",
                where);
        h->dim[h->rank++] = d;
        p = end;
    }
    return SINTER_OK;
}

/* The keys may stand in any order. */
static sinter_code parse_header(const char *dict, const char *where, Header *h, sinter_error *err)
{
    const char *descr = dict_value(dict, "descr"), *order = dict_value(dict, "fortran_order");
    const char *shape = dict_value(dict, "shape");
    if (!descr || !order || !shape)
        return set_error(err, SINTER_ERR_INPUT, "%s: broken .npy header", where);
    h->fortran = strncmp(order, "True", 4) == 0;
    if (parse_descr(descr, where, h, err))
        return err->code;
    return parse_shape(shape, where, h, err);
}

/* Copies column-major elements to row-major places: the index vector counts as the source lies. */
static void copy_fortran(const Header *h, const char *from, char *to)
{
    int64_t at[SINTER_MAX_RANK] = {0}, stride[SINTER_MAX_RANK], offset = 0;
    size_t size = (size_t)dtype_size(h->type);
    for (int64_t s = 1, k = h->rank - 1; k >= 0; s *= h->dim[k--])
        stride[k] = s;
    for (int64_t i = 0; i < h->count; i++) {
        memcpy(to + size * (size_t)offset, from + size * (size_t)i, size);
        for (int k = 0; k < h->rank; k++) {
            offset += stride[k];
            if (++at[k] < h->dim[k])
                break;
            offset -= stride[k] * h->dim[k];
            at[k] = 0;
        }
    }
}

/* Finds the dict; returns the offset of the data, or 0 when the file is not .npy or is cut short.
 */
static size_t header_text(const char *bytes, size_t n, const char **dict)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (n < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0 || b[6] < 1 || b[6] > 3)
        return 0;
    size_t start = b[6] == 1 ? 10 : 12, length = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > n - start)
        return 0;
    *dict = cli_strndup(bytes + start, length);
    return start + length;
}

/* The size is checked against the bytes that are there before the value takes memory: a header of
 * 50 bytes can claim a terabyte. */
sinter_code npy_parse(const char *bytes, size_t n, const char *where, sinter_value **value,
    sinter_error *err)
{
    Header h = {.rank = 0};
    const char *dict;
    sinter_tensor t;
    size_t start = header_text(bytes, n, &dict), size;
    if (start == 0)
        return set_error(err, SINTER_ERR_INPUT, "%s is not a .npy array (or is cut short)", where);
    if (parse_header(dict, where, &h, err))
        return err->code;
    if (__builtin_mul_overflow((size_t)h.count, (size_t)dtype_size(h.type), &size) ||
        size > n - start)
        return set_error(err, SINTER_ERR_INPUT,
            "%s: %s %s needs more bytes than the %zu that follow its header", where,
            dtype_name(h.type), show_shape(h.rank, h.dim), n - start);
    if (sinter_tensor_new(h.type, h.rank, h.dim, NULL, 0, value, err))
        return err->code;
    sinter_tensor_get(*value, &t);
    if (h.fortran && h.rank > 1)
        copy_fortran(&h, bytes + start, t.data);
    else if (size)
        memcpy(t.data, bytes + start, size);
    return SINTER_OK;
}

sinter_code npy_read(const char *path, sinter_value **value, sinter_error *err)
{
    char *bytes;
    size_t n;
    if (file_read(path, &bytes, &n, err))
        return err->code;
    sinter_code code = npy_parse(bytes, n, show_name(path), value, err);
    free(bytes);
    return code;
}

static const char *npy_descr(sinter_dtype type)
{
    for (int i = 0; i < N_DESCRS; i++)
        if (descrs[i].type == type)
            return descrs[i].descr;
    return NULL;
}

/* Two raw bytes would come back as a void type in NumPy: such a file is read, but not written. */
bool npy_holds(sinter_dtype type) { return type != SINTER_BFLOAT16 && npy_descr(type); }

/* "(3, 4)"; one dimension needs the comma that makes a Python tuple. */
static const char *shape_tuple(const sinter_tensor *t)
{
    const char *s = "(";
    for (int i = 0; i < t->rank; i++)
        s = cli_printf("%s%lld%s", s, (long long)t->dim[i],
            i + 1 < t->rank    ? ", "
                : t->rank == 1 ? ","
                               : "");
    return cli_printf("%s)", s);
}

/* The header is padded so that the data start at a multiple of 64, as NumPy does for mapping. */
sinter_code npy_format(const sinter_tensor *t, char **bytes, size_t *n, sinter_error *err)
{
    if (!npy_holds(t->dtype))
        return set_error(err, SINTER_ERR_USAGE, "a .npy array can't hold the type %s",
            dtype_name(t->dtype));
    const char *order = dtype_size(t->dtype) == 1 ? "|" : "<";
    const char *dict = cli_printf("{'descr': '%s%s', 'fortran_order': False, 'shape': %s, }", order,
        npy_descr(t->dtype), shape_tuple(t));
    size_t start = (10 + strlen(dict) + 1 + 63) / 64 * 64, header = start - 10;
    char *p = malloc(start + t->bytes + 1);
    if (!p)
        return set_error(err, SINTER_ERR_MEMORY, "no memory for an array of %zu bytes", t->bytes);
    memset(p, ' ', start);
    memcpy(p, "\x93NUMPY\x01\x00", 8);
    p[8] = (char)(header & 255);
    p[9] = (char)(header >> 8);
    memcpy(p + 10, dict, strlen(dict));
    p[start - 1] = '\n';
    if (t->bytes)
        memcpy(p + start, t->data, t->bytes);
    *bytes = p;
    *n = start + t->bytes;
    return SINTER_OK;
}
