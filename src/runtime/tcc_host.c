/* tcc_host.c: see tcc_host.h. */
#include "runtime/tcc_host.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static TccHost *host; /* set by tcc_host_enter, guarded by the lock of jit_tcc.c */

/* ---- libtcc's variables ---------------------------------------------------------------------- */

/* The build gathers them in these two sections; the linker supplies the bounds. */
#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN char __start_tcc_data[], __stop_tcc_data[], __start_tcc_bss[], __stop_tcc_bss[];

/* After a trap libtcc's variables point into a pool that is gone, so each compile begins from the
 * values that the linker gave them. */
static bool reset_variables(void)
{
    static char first[16384];
    static bool saved;
    size_t n = (size_t)(__stop_tcc_data - __start_tcc_data);
    if (n > sizeof first)
        return false;
    if (!saved)
        memcpy(first, __start_tcc_data, n);
    saved = true;
    memcpy(__start_tcc_data, first, n);
    memset(__start_tcc_bss, 0, (size_t)(__stop_tcc_bss - __start_tcc_bss));
    return true;
}

bool tcc_host_enter(TccHost *h)
{
    host = h;
    h->used = 0;
    memset(h->spare, 0, sizeof h->spare);
    return reset_variables();
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Before each block stands its class; a spare block's first word links to the next. */
typedef struct {
    _Alignas(16) size_t class;
} Header;

static size_t class_of(size_t size)
{
    size_t c = 4;
    while (c < HOST_CLASSES - 1 && ((size_t)1 << c) < size)
        c++;
    return c;
}

void *tcc_host_alloc(size_t size)
{
    size_t c = class_of(size), need = sizeof(Header) + ((size_t)1 << c);
    char *p = host->spare[c];
    if (p) {
        memcpy(&host->spare[c], p, sizeof(void *));
        return p;
    }
    if (size > (size_t)1 << c || need > host->pool_size - host->used)
        longjmp(host->trap, HOST_POOL_EMPTY);
    p = host->pool + host->used;
    host->used += need;
    ((Header *)p)->class = c;
    return p + sizeof(Header);
}

static size_t class_at(const void *p) { return ((const Header *)p)[-1].class; }

void *tcch_malloc(size_t size) { return tcc_host_alloc(size); }

void *tcch_calloc(size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes))
        longjmp(host->trap, HOST_POOL_EMPTY);
    return memset(tcc_host_alloc(bytes), 0, bytes);
}

void tcch_free(void *p)
{
    if (!p)
        return;
    size_t c = class_at(p);
    memcpy(p, &host->spare[c], sizeof(void *));
    host->spare[c] = p;
}

void *tcch_realloc(void *p, size_t size)
{
    if (!p)
        return tcc_host_alloc(size);
    size_t room = (size_t)1 << class_at(p);
    if (size <= room)
        return p;
    void *q = memcpy(tcc_host_alloc(size), p, room);
    tcch_free(p);
    return q;
}

/* ---- control --------------------------------------------------------------------------------- */

void tcch_exit(int code) NORETURN;
void tcch_exit(int code)
{
    (void)code;
    longjmp(host->trap, HOST_EXIT);
}

void tcch_assert_fail(const char *expr, const char *file, unsigned line, const char *fn) NORETURN;
void tcch_assert_fail(const char *expr, const char *file, unsigned line, const char *fn)
{
    (void)expr, (void)file, (void)line, (void)fn;
    longjmp(host->trap, HOST_EXIT);
}

/* Pages become executable in jit_tcc.c, from a second mapping: never here. */
int tcch_mprotect(void *p, size_t n, int prot)
{
    (void)p, (void)n, (void)prot;
    return 0;
}

/* One lock, ours, is enough; a trap would leave libtcc's own taken. */
int tcch_sem_init(void *s, int shared, unsigned value)
{
    (void)s, (void)shared, (void)value;
    return 0;
}

int tcch_sem_wait(void *s)
{
    (void)s;
    return 0;
}

int tcch_sem_post(void *s)
{
    (void)s;
    return 0;
}

int tcch_sigaction(int sig, const void *act, void *old)
{
    (void)sig, (void)act, (void)old;
    return 0;
}

/* ---- surroundings: none ---------------------------------------------------------------------- */

char **tcch_environ;
FILE *tcch_stdout, *tcch_stderr; /* only passed to the calls below */

char *tcch_getenv(const char *name)
{
    (void)name;
    return NULL;
}

char *tcch_getcwd(char *buf, size_t n)
{
    (void)buf, (void)n;
    return NULL;
}

int tcch_open(const char *path, int flags, ...)
{
    (void)path, (void)flags;
    errno = ENOENT;
    return -1;
}

ssize_t tcch_read(int fd, void *buf, size_t n)
{
    (void)fd, (void)buf, (void)n;
    return 0;
}

long tcch_lseek(int fd, long offset, int whence)
{
    (void)fd, (void)offset, (void)whence;
    return -1;
}

int tcch_close(int fd)
{
    (void)fd;
    return 0;
}

int tcch_unlink(const char *path)
{
    (void)path;
    return -1;
}

FILE *tcch_fdopen(int fd, const char *mode)
{
    (void)fd, (void)mode;
    return NULL;
}

void *tcch_dlopen(const char *path, int flags)
{
    (void)path, (void)flags;
    return NULL;
}

void *tcch_dlsym(void *handle, const char *name)
{
    (void)handle, (void)name;
    return NULL;
}

int tcch_dlclose(void *handle)
{
    (void)handle;
    return 0;
}

/* ---- printing: none -------------------------------------------------------------------------- */

int tcch_fclose(FILE *f)
{
    (void)f;
    return 0;
}

int tcch_fflush(FILE *f)
{
    (void)f;
    return 0;
}

int tcch_fputc(int c, FILE *f)
{
    (void)f;
    return c;
}

int tcch_fputs(const char *s, FILE *f)
{
    (void)s, (void)f;
    return 0;
}

size_t tcch_fwrite(const void *p, size_t size, size_t n, FILE *f)
{
    (void)p, (void)size, (void)f;
    return n;
}

int tcch_puts(const char *s)
{
    (void)s;
    return 0;
}

int tcch_putchar(int c) { return c; }

int tcch_printf(const char *fmt, ...)
{
    (void)fmt;
    return 0;
}

int tcch_fprintf(FILE *f, const char *fmt, ...)
{
    (void)f, (void)fmt;
    return 0;
}

int tcch_vfprintf(FILE *f, const char *fmt, va_list ap)
{
    (void)f, (void)fmt, (void)ap;
    return 0;
}

int tcch_printf_chk(int flag, const char *fmt, ...)
{
    (void)flag, (void)fmt;
    return 0;
}

int tcch_fprintf_chk(FILE *f, int flag, const char *fmt, ...)
{
    (void)f, (void)flag, (void)fmt;
    return 0;
}

int tcch_vfprintf_chk(FILE *f, int flag, const char *fmt, va_list ap)
{
    (void)f, (void)flag, (void)fmt, (void)ap;
    return 0;
}

/* ---- numbers: a decimal point is a point ----------------------------------------------------- */

/* glibc's C locale is static: this neither allocates nor fails. */
static locale_t c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double tcch_strtod(const char *s, char **end) { return strtod_l(s, end, c_locale()); }

float tcch_strtof(const char *s, char **end) { return strtof_l(s, end, c_locale()); }

long double tcch_strtold(const char *s, char **end) { return strtold_l(s, end, c_locale()); }
