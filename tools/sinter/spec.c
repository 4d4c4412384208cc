/* spec.c: see spec.h. Nothing here knows a model: names are matched and types applied in inputs.c.
 */
#include "spec.h"
#include "file.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* A decimal number, inf or nan, with an optional sign, begins here. */
static bool starts_number(const char *s)
{
    if (*s == '+' || *s == '-')
        s++;
    if (*s == '.')
        s++;
    return (*s >= '0' && *s <= '9') || starts(s, "inf") || starts(s, "nan");
}

/* The '=' that divides NAME=VALUE, or NULL for a folder. */
static const char *end_of_name(const char *text)
{
    for (const char *p = strchr(text, '='); p; p = strchr(p + 1, '='))
        if (p[1] == '@' || starts(p + 1, "rand:") || starts_number(p + 1))
            return p;
    return NULL;
}

/* FILE.npz:KEY divides at the first ".npz:" whose left side is a file, else at the first one. */
static void split_key(Spec *spec)
{
    const char *first = NULL;
    for (const char *p = strstr(spec->path, ".npz:"); p; p = strstr(p + 1, ".npz:")) {
        const char *path = cli_strndup(spec->path, (size_t)(p + 4 - spec->path));
        FILE *f = fopen(path, "rbe");
        if (!first || f)
            first = p;
        if (f) {
            fclose(f);
            break;
        }
    }
    if (first) {
        spec->key = first + 5;
        spec->path = cli_strndup(spec->path, (size_t)(first + 4 - spec->path));
        spec->kind = SPEC_NPZ;
    }
}

static sinter_code parse_file(const char *text, const char *path, Spec *spec, sinter_error *err)
{
    spec->path = path;
    if (ends_with(path, ".npy")) {
        spec->kind = SPEC_NPY;
    } else if (ends_with(path, ".pb")) {
        spec->kind = SPEC_PB;
    } else if (ends_with(path, ".npz")) {
        spec->kind = SPEC_NPZ;
    } else {
        spec->kind = SPEC_FOLDER;
        split_key(spec);
        if (spec->kind != SPEC_NPZ)
            return set_error(err, SINTER_ERR_USAGE,
                "--input %s: files end in .npy, .pb or .npz[:KEY]", text);
    }
    return SINTER_OK;
}

/* All three numbers must be there and nothing after them; HI - LO must not overflow. */
static sinter_code parse_rand(const char *text, const char *p, Spec *spec, sinter_error *err)
{
    char *end;
    spec->kind = SPEC_RAND;
    errno = 0;
    spec->seed = strtoull(p, &end, 10);
    bool ok = end != p && *end == ':' && !errno && *p != '-';
    if (ok) {
        spec->lo = strtod(p = end + 1, &end);
        ok = end != p && *end == ':';
    }
    if (ok) {
        spec->hi = strtod(p = end + 1, &end);
        ok = end != p && !*end;
    }
    if (!ok || !(spec->lo <= spec->hi) || spec->hi - spec->lo > 1e300)
        return set_error(err, SINTER_ERR_USAGE,
            "--input %s: want NAME=rand:SEED:LO:HI with LO <= HI", text);
    return SINTER_OK;
}

/* The words are checked to be numbers, and kept: what range they must have only the input's type
 * says. */
static sinter_code parse_list(const char *text, const char *p, Spec *spec, sinter_error *err)
{
    spec->kind = SPEC_LIST;
    for (;;) {
        char *end;
        size_t n = strcspn(p, ",");
        char *word = cli_strndup(p, n);
        strtod(word, &end);
        if (end == word || *end)
            return set_error(err, SINTER_ERR_USAGE, "--input %s: \"%s\" is not a number", text,
                word);
        list_add(&spec->numbers, word);
        if (p[n] == 0)
            return SINTER_OK;
        p += n + 1;
    }
}

/* A folder may be called like an assignment: what does not parse as one, and is there, is the
 * folder. */
sinter_code spec_parse(const char *text, Spec *spec, sinter_error *err)
{
    memset(spec, 0, sizeof *spec);
    const char *equals = end_of_name(text);
    if (!equals) {
        spec->kind = SPEC_FOLDER;
        spec->path = text;
        if (is_folder(text))
            return SINTER_OK;
        set_error(err, strchr(text, '=') ? SINTER_ERR_USAGE : SINTER_ERR_IO,
            "--input %s: no such folder", text);
        set_hint(err,
            "want DIR, NAME=@FILE.npy, NAME=@FILE.pb, NAME=@FILE.npz[:KEY], NAME=rand:SEED:LO:HI "
            "or NAME=1,2,3");
        return err->code;
    }
    const char *p = equals + 1;
    spec->name = cli_strndup(text, (size_t)(equals - text));
    if (*p == '@')
        return parse_file(text, p + 1, spec, err);
    if (starts(p, "rand:"))
        return parse_rand(text, p + 5, spec, err);
    if (parse_list(text, p, spec, err) == SINTER_OK)
        return SINTER_OK;
    if (!is_folder(text))
        return err->code;
    *spec = (Spec){.kind = SPEC_FOLDER, .path = text}; /* a folder called x=1.dir */
    return SINTER_OK;
}

/* A size: digits only, at most what a dimension can be. */
static bool parse_size(const char *p, size_t n, int64_t *size)
{
    *size = 0;
    for (size_t i = 0; i < n; i++)
        if (p[i] < '0' || p[i] > '9' || __builtin_mul_overflow(*size, 10, size) ||
            __builtin_add_overflow(*size, p[i] - '0', size))
            return false;
    return n > 0;
}

sinter_code dim_parse(const char *text, const char **name, int64_t *size, sinter_error *err)
{
    const char *p = strrchr(text, '=');
    if (!p || p == text || !parse_size(p + 1, strlen(p + 1), size))
        return set_error(err, SINTER_ERR_USAGE, "--dim %s: want NAME=N with N >= 0", text);
    *name = cli_strndup(text, (size_t)(p - text));
    return SINTER_OK;
}

/* "NAME:" is a scalar: rank 0 has no dims to write. */
sinter_code shape_parse(const char *text, ShapeSpec *shape, sinter_error *err)
{
    const char *p = strrchr(text, ':');
    memset(shape, 0, sizeof *shape);
    if (!p || p == text)
        return set_error(err, SINTER_ERR_USAGE, "--shape %s: want NAME:1x3x8", text);
    shape->name = cli_strndup(text, (size_t)(p - text));
    if (p[1] == 0)
        return SINTER_OK;
    do {
        size_t n = strcspn(++p, "x");
        if (shape->rank == SINTER_MAX_RANK)
            return set_error(err, SINTER_ERR_USAGE, "--shape %s: more than %d dimensions", text,
                SINTER_MAX_RANK);
        if (!parse_size(p, n, &shape->dim[shape->rank++]))
            return set_error(err, SINTER_ERR_USAGE, "--shape %s: want NAME:1x3x8", text);
        p += n;
    } while (*p == 'x');
    return SINTER_OK;
}

static int ascending(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* K of "PREFIX_K.pb", or -1. */
static int file_number(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    int64_t k;
    if (strncmp(name, prefix, n) != 0 || name[n] != '_' || !ends_with(name + n, ".pb"))
        return -1;
    if (!parse_size(name + n + 1, strlen(name + n + 1) - 3, &k) || k > 1000000)
        return -1;
    return (int)k;
}

/* Any gap in the numbers is fine: optional inputs are left out of data sets. */
int data_set_files(const char *folder, const char *prefix, int **numbers)
{
    DIR *d = opendir(folder);
    int n = 0, room = 0;
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));) {
        int k = file_number(e->d_name, prefix);
        if (k < 0)
            continue;
        if (n == room) {
            int *grown = cli_alloc(sizeof(int) * (size_t)(room = 2 * room + 16));
            if (n)
                memcpy(grown, *numbers, sizeof(int) * (size_t)n);
            *numbers = grown;
        }
        (*numbers)[n++] = k;
    }
    closedir(d);
    if (n)
        qsort(*numbers, (size_t)n, sizeof(int), ascending);
    return n;
}

/* Both layouts are in use: the files themselves, and a folder for each set. */
const char *data_set_folder(const char *path, const char *prefix)
{
    int *numbers;
    const char *inner = cli_printf("%s/test_data_set_0", path);
    return data_set_files(path, prefix, &numbers) <= 0 && is_folder(inner) ? inner : path;
}
