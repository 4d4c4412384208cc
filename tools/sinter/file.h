/* file.h: whole files in and out. */
#ifndef SINTER_CLI_FILE_H
#define SINTER_CLI_FILE_H
#include "sinter.h"
#include <stdbool.h>

bool is_folder(const char *path);
/* Reads a regular file; *bytes is malloc'ed and has a NUL after its n bytes. */
sinter_code file_read(const char *path, char **bytes, size_t *n, sinter_error *err);
/* Writes a temporary beside `path` and renames it: readers see the old file or the whole new one.
 */
sinter_code file_write(const char *path, const void *bytes, size_t n, sinter_error *err);
/* A fresh temporary name beside `path`, for those that write files themselves; then file_commit
 * renames. */
char *file_temporary(const char *path);
sinter_code file_commit(const char *temporary, const char *path, sinter_error *err);
/* Makes a folder and its parents. */
sinter_code folder_make(const char *path, sinter_error *err);

#endif
