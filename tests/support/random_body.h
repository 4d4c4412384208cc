/* random_body.h: bodies made at random from all that bodies can say, and memory to run them on. */
#ifndef TEST_RANDOM_BODY_H
#define TEST_RANDOM_BODY_H
#include "codegen/body.h"

typedef struct Rng {
    uint64_t state;
} Rng;
uint32_t rng_next(Rng *r);
int rng_below(Rng *r, int n);

enum { MAX_PORTS = 24 };

/* A body and how its ports lie in memory. */
typedef struct RandomBody {
    Body body;
    int shares[MAX_PORTS]; /* the load port whose memory a store port shares (in place), or -1 */
    int step[MAX_PORTS];   /* 1: a row on; 0: always the same row; -1: a row back */
} RandomBody;

/* Only what every tier computes to the bit. `encodable`: and only what vector code can do. `size`:
 * instructions in a loop, at most. */
void random_body(RandomBody *b, Ctx *cx, Rng *r, bool encodable, int size);

/* Pages between guard pages, one a port; what a body may touch ends (or begins) right at a guard.
 */
enum { PAGE = 4096 };
typedef struct Memory {
    uint8_t *page[MAX_PORTS];
    void *ptr[MAX_PORTS];     /* as passed to the body */
    int64_t step[MAX_PORTS];
    uint8_t before[MAX_PORTS][PAGE], after[MAX_PORTS][PAGE];
} Memory;
Memory *memory_new(void); /* NULL when there is none */
void memory_free(Memory *m);
/* Fills `before` with values of the ports' types, special ones among them, and sets ptr and step.
 */
void memory_fill(Memory *m, const RandomBody *b, Rng *r, int64_t n, int64_t rows);
void memory_reset(Memory *m, int n_ports); /* `before` into the pages */
void memory_save(Memory *m, int n_ports);  /* the pages into `after` */

#endif
