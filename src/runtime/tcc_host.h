/* tcc_host.h: the world as libtcc sees it. The build renames every outside call of libtcc (see
 * cmake/tcc_symbols.txt) to a tcch_ function defined in tcc_host.c, so that it can't exit, print,
 * open files, read the environment or the locale, make memory writable and executable, or leak: its
 * memory is one pool, and its variables are put back to their first state before each compile.
 */
#ifndef SINTER_TCC_HOST_H
#define SINTER_TCC_HOST_H
#include <libtcc.h>

#include "base/base.h"

/* Blocks are rounded to powers of two from 16 bytes, and reused by size. */
enum { HOST_CLASSES = 40 };
typedef struct TccHost {
    char *pool;
    size_t pool_size, used;
    void *spare[HOST_CLASSES];
    jmp_buf trap; /* where libtcc's exit and an empty pool end up */
} TccHost;

typedef enum { HOST_EXIT = 1, HOST_POOL_EMPTY } HostTrap; /* values that arrive at the trap */

/* Makes `h` the current host and libtcc as new; false if its variables don't fit the space kept for
 * them. The caller holds the compile lock from here until it is done with libtcc. */
bool tcc_host_enter(TccHost *h);
/* From the pool; traps when it is empty. */
void *tcc_host_alloc(size_t size);

#endif
