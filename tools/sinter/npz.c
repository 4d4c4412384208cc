/* npz.c: .npz archives: zip files whose members NAME.npy are arrays. */
#include "cli.h"
#include "file.h"
#include "npy.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

/* libzip's error numbers become its texts. */
static zip_t *open_archive(const char *path, int flags, sinter_error *err)
{
    int why = 0;
    zip_error_t text;
    zip_t *z = zip_open(path, flags, &why);
    if (!z) {
        zip_error_init_with_code(&text, why);
        set_error(err, SINTER_ERR_IO, "can't open %s: %s", show_name(path),
            zip_error_strerror(&text));
        zip_error_fini(&text);
    }
    return z;
}

/* All array names of an archive, without ".npy". */
static StrList array_names(zip_t *z)
{
    StrList names = {0};
    for (zip_int64_t i = 0, n = zip_get_num_entries(z, 0); i < n; i++) {
        const char *s = zip_get_name(z, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        if (s && ends_with(s, ".npy"))
            list_add(&names, cli_strndup(s, strlen(s) - 4));
    }
    return names;
}

/* The member to read, or NULL with the error that tells which there are. */
static const char *choose(zip_t *z, const char *path, const char *key, const char *name,
    sinter_error *err)
{
    StrList names = array_names(z);
    const char *all = "", *want = key ? key : name;
    for (int i = 0; i < names.n; i++)
        if (strcmp(names.at[i], want) == 0)
            return names.at[i];
    if (!key && names.n == 1)
        return names.at[0];
    for (int i = 0; i < names.n && i < 20; i++)
        all = cli_printf("%s%s%s", all, i ? ", " : "", show_name(names.at[i]));
    set_error(err, SINTER_ERR_INPUT, "%s has no array %s", show_name(path), show_name(want));
    set_hint(err, names.n ? "its arrays: %s" : "it holds no arrays%s", all);
    return NULL;
}

/* The size in the archive's directory is a claim: reading fewer bytes than it says is an error. */
static sinter_code read_member(zip_t *z, const char *member, const char *where,
    sinter_value **value, sinter_error *err)
{
    zip_stat_t st;
    if (zip_stat(z, member, ZIP_FL_ENC_RAW, &st) || !(st.valid & ZIP_STAT_SIZE))
        return set_error(err, SINTER_ERR_IO, "%s: %s", where, zip_strerror(z));
    zip_file_t *f = zip_fopen(z, member, ZIP_FL_ENC_RAW);
    char *bytes = f && st.size < SIZE_MAX ? malloc((size_t)st.size + 1) : NULL;
    sinter_code code;
    if (!f)
        code = set_error(err, SINTER_ERR_IO, "%s: %s", where, zip_strerror(z));
    else if (!bytes)
        code = set_error(err, SINTER_ERR_MEMORY, "%s: no memory for its %llu bytes", where,
            (unsigned long long)st.size);
    else if (zip_fread(f, bytes, st.size) != (zip_int64_t)st.size)
        code = set_error(err, SINTER_ERR_IO, "%s: %s", where, zip_file_strerror(f));
    else
        code = npy_parse(bytes, (size_t)st.size, where, value, err);
    free(bytes);
    if (f)
        zip_fclose(f);
    return code;
}

/* The archive is opened for reading and discarded, so nothing can be written to it by mistake. */
sinter_code npz_read(const char *path, const char *key, const char *name, sinter_value **value,
    sinter_error *err)
{
    zip_t *z = open_archive(path, ZIP_RDONLY, err);
    if (!z)
        return err->code;
    const char *array = choose(z, path, key, name, err);
    if (array)
        read_member(z, cli_printf("%s.npy", array), cli_printf("%s:%s", path, array), value, err);
    zip_discard(z);
    return array && *value ? SINTER_OK : err->code;
}

/* Stored, not compressed: np.savez does the same, and a reader can map it. libzip owns the bytes
 * afterwards. */
static bool add_array(zip_t *z, const char *name, const sinter_tensor *t, sinter_error *err)
{
    char *bytes;
    size_t n;
    if (npy_format(t, &bytes, &n, err))
        return false;
    zip_source_t *source = zip_source_buffer(z, bytes, n, 1);
    if (!source) {
        free(bytes);
        set_error(err, SINTER_ERR_MEMORY, "no memory for an archive");
        return false;
    }
    zip_int64_t at = zip_file_add(z, cli_printf("%s.npy", name), source, ZIP_FL_OVERWRITE);
    if (at < 0) {
        zip_source_free(source);
        set_error(err, SINTER_ERR_IO, "can't add the array %s: %s", show_name(name),
            zip_strerror(z));
        return false;
    }
    zip_set_file_compression(z, (zip_uint64_t)at, ZIP_CM_STORE, 0);
    return true;
}

/* libzip writes on close, into a temporary of ours: a failure before leaves the old file as it was.
 */
sinter_code npz_write(const char *path, int n, const char *const *name, const sinter_tensor *tensor,
    sinter_error *err)
{
    char *temporary = file_temporary(path);
    zip_t *z = open_archive(temporary, ZIP_CREATE | ZIP_TRUNCATE, err);
    if (!z)
        return err->code;
    for (int i = 0; i < n; i++) {
        if (!add_array(z, name[i], &tensor[i], err)) {
            zip_discard(z);
            return err->code;
        }
    }
    if (zip_close(z)) {
        set_error(err, SINTER_ERR_IO, "can't write %s: %s", show_name(path), zip_strerror(z));
        zip_discard(z);
        unlink(temporary);
        return err->code;
    }
    return file_commit(temporary, path, err);
}
