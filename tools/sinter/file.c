/* file.c: see file.h. */
#include "file.h"
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static sinter_code io_error(sinter_error *err, const char *what, const char *path)
{
    return set_error(err, SINTER_ERR_IO, "can't %s %s: %s", what, show_name(path), strerror(errno));
}

/* A file that is changed meanwhile is an error, not a tensor with a random end. */
static sinter_code read_all(int fd, const char *path, size_t size, char **bytes, sinter_error *err)
{
    char *p = malloc(size + 1);
    size_t done = 0;
    if (!p)
        return set_error(err, SINTER_ERR_MEMORY, "no memory for the %zu bytes of %s", size,
            show_name(path));
    while (done < size) {
        ssize_t k = read(fd, p + done, size - done);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            free(p);
            return k < 0 ? io_error(err, "read", path)
                         : set_error(err, SINTER_ERR_IO, "%s became shorter while it was read",
                               show_name(path));
        }
        done += (size_t)k;
    }
    p[size] = 0;
    *bytes = p;
    return SINTER_OK;
}

/* O_NONBLOCK: a pipe given by mistake is refused, not waited for. */
sinter_code file_read(const char *path, char **bytes, size_t *n, sinter_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return io_error(err, "open", path);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return set_error(err, SINTER_ERR_IO, "%s is not a regular file", show_name(path));
    }
    *n = (size_t)st.st_size;
    sinter_code code = read_all(fd, path, *n, bytes, err);
    close(fd);
    return code;
}

/* In the same folder, since rename does not cross file systems; by process, so that two runs do not
 * meet. */
char *file_temporary(const char *path) { return cli_printf("%s.%ld.tmp", path, (long)getpid()); }

/* A temporary that can't take its place is not left behind. */
sinter_code file_commit(const char *temporary, const char *path, sinter_error *err)
{
    if (rename(temporary, path) == 0)
        return SINTER_OK;
    io_error(err, "write", path);
    unlink(temporary);
    return err->code;
}

/* Success is known only after close: the disk may be full until then. */
sinter_code file_write(const char *path, const void *bytes, size_t n, sinter_error *err)
{
    char *temporary = file_temporary(path);
    FILE *f = fopen(temporary, "wbe");
    if (!f)
        return io_error(err, "write", path);
    bool ok = fwrite(bytes, 1, n, f) == n;
    if (fclose(f) || !ok) {
        io_error(err, "write", path);
        unlink(temporary);
        return err->code;
    }
    return file_commit(temporary, path, err);
}

/* Like mkdir -p: parents that exist are fine. */
sinter_code folder_make(const char *path, sinter_error *err)
{
    char *part = cli_printf("%s", path);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        mkdir(part, 0777); /* what is wrong shows at the last one */
        *p = '/';
    }
    if (mkdir(part, 0777) && !is_folder(part))
        return io_error(err, "make the folder", path);
    return SINTER_OK;
}
