/* import_file.c: files mapped into memory: the model, and external data beneath its folder. */
#include "graph/import.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void unmap(void *arg)
{
    Bytes *file = arg;
    if (file->n)
        munmap((void *)(uintptr_t)file->at, file->n);
}

/* Maps an open file and closes it; NULL, or what is wrong. Only regular files have a size to map.
 */
static const char *map_fd(Ctx *cx, int fd, Bytes *file)
{
    struct stat st;
    const char *wrong = NULL;
    void *at = NULL;
    if (fstat(fd, &st))
        wrong = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        wrong = "not a regular file";
    else if (st.st_size &&
        (at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        wrong = strerror(errno);
    close(fd);
    if (wrong)
        return wrong;
    /* The record of the mapping must outlive every failure after it, so it is made and owned first.
     */
    Bytes mapped = {at, at ? (size_t)st.st_size : 0};
    Bytes *owned = arena_try(&cx->arena, sizeof *owned, 16);
    if (!owned) {
        unmap(&mapped);
        ctx_fail(cx, ST_MEMORY, NULL, "out of memory");
    }
    *owned = mapped;
    ctx_defer(cx, unmap, owned);
    *file = mapped;
    return NULL;
}

/* ---- beneath a folder ------------------------------------------------------------------------ */

/* Every part of the path is a name: not empty, not "..", not absolute. */
static bool stays_beneath(const char *path)
{
    if (!path[0])
        return false;
    for (const char *part = path;; part++) {
        size_t n = strcspn(part, "/");
        if (n == 0 || (n == 2 && memcmp(part, "..", 2) == 0))
            return false;
        part += n;
        if (!*part)
            return true;
    }
}

enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK }; /* never wait for the writer of a FIFO */

/* One part after the other, following no symbolic link: for kernels without openat2. */
static int open_by_parts(int folder, const char *path)
{
    int fd = dup(folder);
    while (fd >= 0) {
        char part[256];
        size_t n = strcspn(path, "/");
        if (n >= sizeof part) {
            close(fd);
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(part, path, n);
        part[n] = 0;
        path += n;
        int next = openat(fd, part, OPEN_FLAGS | O_NOFOLLOW | (*path ? O_DIRECTORY : 0));
        int why = errno;
        close(fd);
        errno = why;
        fd = next;
        if (!*path++)
            break;
    }
    return fd;
}

/* The kernel itself keeps the walk inside the folder, so no symbolic link leads out, not even one
 * that is put there while we look. */
static int open_beneath(const char *folder, const char *path)
{
    int base = open(folder[0] ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (base < 0)
        return -1;
    struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, base, path, &how, sizeof how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG))
        fd = open_by_parts(base, path);
    int why = errno;
    close(base);
    errno = why;
    return fd;
}

static const char *open_problem(int why)
{
    return why == EXDEV || why == ELOOP ? "a symbolic link leads out of the model's folder"
                                        : strerror(why);
}

bool map_external(Importer *im, const char *location, Bytes *file, const Where *where)
{
    Bytes *known = map_get_str(&im->files, location);
    if (known) {
        *file = *known;
        return true;
    }
    const char *wrong = NULL;
    if (!im->folder)
        wrong = "a model that is loaded from memory has no folder for external data";
    else if (!stays_beneath(location))
        wrong = "external data must lie beneath the model's folder";
    if (!wrong) {
        int fd = open_beneath(im->folder, location);
        wrong = fd < 0 ? open_problem(errno) : map_fd(im->cx, fd, file);
    }
    if (wrong) {
        BAD(im, ST_MODEL, where, "external data file '%.200s': %s", location, wrong);
        return false;
    }
    known = NEW(im->cx, Bytes);
    *known = *file;
    map_put_str(&im->files, location, known);
    return true;
}

Graph *graph_import_file(Ctx *cx, const char *path)
{
    Bytes file = {NULL, 0};
    int fd = open(path, OPEN_FLAGS);
    const char *wrong = fd < 0 ? strerror(errno) : map_fd(cx, fd, &file);
    if (wrong)
        ctx_fail(cx, ST_IO, NULL, "can't read the model file '%s': %s", path, wrong);
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? ctx_strndup(cx, path, (size_t)(slash - path) + 1) : "";
    return graph_import(cx, file.at, file.n, folder);
}
