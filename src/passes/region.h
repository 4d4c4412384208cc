/* region.h: compute at a tile, fusion's second move. A group walks tiles of its root; each stage
 * computes just the box that the later stages need for this tile. The boxes come from interval
 * arithmetic over the index forms of the loads. Legality, scratch layout and the emitted loops all
 * use these boxes and no others. */
#ifndef SINTER_REGION_H
#define SINTER_REGION_H
#include "passes/pass.h"

/* One axis of a box: indices lo .. lo+ext-1. lo and ext may hold tile variables; cap bounds ext and
 * does not. */
typedef struct Span {
    const Ix *lo, *ext, *cap;
    bool full; /* the whole axis, whatever the tile */
} Span;
typedef struct Region {
    bool needed;
    Span span[MAX_RANK];
} Region;

/* The tile loops: axis `axis` of the root in blocks of `size`. */
typedef struct TileAxis {
    int axis;
    int64_t size;
    const Var *var; /* counts blocks */
} TileAxis;
typedef struct Tiling {
    int n;
    TileAxis at[MAX_RANK];
} Tiling;

/* Fills region[i] for stage i of n, the last being the root. False if some stage's box can't be had
 * (then the group is not legal). */
bool regions_of(Pool *p, Def *const *stage, int n, const Tiling *t, Region *region);
/* Do the boxes of this stage over all tiles cover the whole value, each element once? Needed for
 * values that are read outside the group. */
bool region_partitions(Pool *p, const Def *d, const Region *r, const Tiling *t);
/* Elements of the box, at the hints. */
int64_t region_volume(const Def *d, const Region *r);
/* The tile variables with fresh variables; for use by schedule. */
void tiling_vars(Pool *p, const Def *root, Tiling *t);
#endif
