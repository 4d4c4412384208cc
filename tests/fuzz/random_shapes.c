/* random_shapes.c: families of operators that move elements: shapes, parts, orders, indices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "fuzz/random_graph.h"

/* The same elements in another place: as large and as exact as before. */
static bool moved(Draw *d, int y, int x) { return settle(d, y, value_at(d, x)->scale, true); }

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Merges two neighbours, or splits an axis; other dims are copied by 0, or left to -1. */
static bool reshape_family(Draw *d)
{
    int x = pick(d), rank = 0, rests = 0;
    RValue v = *value_at(d, x);
    Dim dim[RECIPE_RANK + 1];
    int64_t list[RECIPE_RANK + 1], at = v.rank ? below(d, v.rank) : 0;
    bool merge = chance(d, 50) && at + 1 < v.rank;
    if (!v.rank)
        return false;
    for (int k = 0; k < v.rank; k++, rank++) {
        Dim *e = &v.dim[k];
        dim[rank] = *e;
        list[rank] = e->tag ? 0 : e->at[0];
        if (e->tag && rank != k) /* 0 copies the dim at the same place */
            list[rank] = -1, rests++;
        if (k != at)
            continue;
        if (merge) {
            k++;
            dim[rank] = (Dim){.at = {e[0].at[0] * e[1].at[0], e[0].at[1] * e[1].at[1]}};
            if (e[0].tag || e[1].tag)
                dim[rank].tag = (e[0].tag * 77 + e[1].tag * 31) % 1000003 + 100;
            list[rank] = dim[rank].tag ? -1 : dim[rank].at[0];
            rests += dim[rank].tag != 0;
        } else if (!e->tag && e->at[0] > 1) {
            int64_t part = 1 + below(d, e->at[0]);
            if (e->at[0] % part)
                return false;
            dim[rank] = fixed(part);
            list[rank++] = part;
            dim[rank] = fixed(e->at[0] / part);
            list[rank] = e->at[0] / part;
        }
    }
    if (rests > 1 || rank > RECIPE_RANK)
        return false;
    for (int k = 0; k < rank; k++)
        if (!list[k] && !dim[k].tag)
            return false; /* an empty axis can't be written here: 0 copies */
    return moved(d,
        add_node(d, "Reshape", IN(x, add_list(d, rank, list)), v.type, rank, dim, "%s", ""), x);
}

static bool flatten_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (!is_fixed(&v) || !v.rank)
        return false;
    int64_t n[2] = {1, 1}, axis = below(d, v.rank + 1);
    for (int k = 0; k < v.rank; k++)
        n[k >= axis] *= v.dim[k].at[0];
    return moved(d,
        add_node(d, "Flatten", IN(x), v.type, 2, (Dim[]){fixed(n[0]), fixed(n[1])}, "axis=%lld",
            (long long)axis),
        x);
}

static bool unsqueeze_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    Dim dim[RECIPE_RANK + 1];
    int64_t at = below(d, v.rank + 1);
    for (int k = 0, i = 0; k <= v.rank; k++)
        dim[k] = k == at ? fixed(1) : v.dim[i++];
    if (v.rank < 5)
        return moved(d,
            add_node(d, "Unsqueeze", IN(x, add_list(d, 1, &at)), v.type, v.rank + 1, dim, "%s", ""),
            x);
    return false;
}

static bool squeeze_family(Draw *d)
{
    int x = pick(d), rank = 0;
    RValue v = *value_at(d, x);
    Dim dim[RECIPE_RANK];
    int64_t at = -1;
    for (int k = 0; k < v.rank; k++)
        if (at < 0 && !v.dim[k].tag && v.dim[k].at[0] == 1)
            at = k;
        else
            dim[rank++] = v.dim[k];
    return at >= 0 &&
        moved(d, add_node(d, "Squeeze", IN(x, add_list(d, 1, &at)), v.type, rank, dim, "%s", ""),
            x);
}

static bool transpose_family(Draw *d)
{
    int x = pick(d), perm[RECIPE_RANK];
    RValue v = *value_at(d, x);
    Dim dim[RECIPE_RANK];
    char attrs[48] = "perm=[", *s = attrs + 6;
    if (v.rank < 2)
        return false;
    for (int k = 0; k < v.rank; k++)
        perm[k] = k;
    for (int k = v.rank - 1; k > 0; k--) {
        int j = (int)below(d, k + 1), t = perm[k];
        perm[k] = perm[j];
        perm[j] = t;
    }
    for (int k = 0; k < v.rank; k++) {
        dim[k] = v.dim[perm[k]];
        s += sprintf(s, k ? ",%d" : "%d", perm[k]);
    }
    strcpy(s, "]");
    return moved(d, add_node(d, "Transpose", IN(x), v.type, v.rank, dim, "%s", attrs), x);
}

static bool expand_family(Draw *d)
{
    int x = pick(d), more = (int)below(d, 2);
    RValue v = *value_at(d, x);
    Dim dim[RECIPE_RANK + 1];
    int64_t list[RECIPE_RANK + 1];
    if (v.rank + more > 5)
        return false;
    for (int k = 0; k < v.rank + more; k++) {
        dim[k] = k < more ? fixed(1) : v.dim[k - more];
        bool one = !dim[k].tag && dim[k].at[0] == 1;
        list[k] = dim[k].tag ? 1 : dim[k].at[0];
        if (one)
            dim[k] = fixed(list[k] = ANY(d, 1, 2, 3, 5));
    }
    return moved(d,
        add_node(d, "Expand", IN(x, add_list(d, v.rank + more, list)), v.type, v.rank + more, dim,
            "%s", ""),
        x);
}

static bool tile_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    Dim dim[RECIPE_RANK];
    int64_t list[RECIPE_RANK];
    if (!v.rank)
        return false;
    for (int k = 0; k < v.rank; k++) {
        list[k] = chance(d, 50) ? 1 : 1 + below(d, 3);
        dim[k] = list[k] == 1 ? v.dim[k]
                              : dim_of(&v.dim[k], v.dim[k].at[0] * list[k],
                                    v.dim[k].at[1] * list[k], (uint32_t)list[k]);
    }
    return moved(d,
        add_node(d, "Tile", IN(x, add_list(d, v.rank, list)), v.type, v.rank, dim, "%s", ""), x);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool concat_family(Draw *d)
{
    int x = pick(d), in[4], n = 2 + (int)below(d, 2);
    RValue v = *value_at(d, x);
    if (!v.rank)
        return false;
    int axis = (int)below(d, v.rank);
    Dim sum = v.dim[axis];
    double scale = v.scale;
    in[0] = x;
    for (int i = 1; i < n; i++) {
        in[i] = -1;
        for (int tries = 0; tries < 15 && in[i] < 0; tries++) {
            int y = pick(d);
            const RValue *w = value_at(d, y);
            bool fits = w->type == v.type && w->rank == v.rank;
            for (int k = 0; k < v.rank && fits; k++)
                fits = k == axis || dim_same(&w->dim[k], &v.dim[k]);
            if (fits && (y != x || chance(d, 20)))
                in[i] = y;
        }
        if (in[i] < 0) {
            Dim dim[RECIPE_RANK];
            memcpy(dim, v.dim, sizeof dim);
            if (!dim[axis].tag)
                dim[axis] = fixed(1 + below(d, 9));
            in[i] = add_data(d, v.type, v.rank, dim);
        }
        const Dim *e = &value_at(d, in[i])->dim[axis];
        Dim tagged = sum.tag ? sum : *e;
        sum = dim_of(&tagged, sum.at[0] + e->at[0], sum.at[1] + e->at[1],
            e->tag * 17 + (uint32_t)e->at[0]);
        scale = MAX(scale, value_at(d, in[i])->scale);
    }
    v.dim[axis] = sum;
    int y = add_node(d, "Concat", n, in, v.type, v.rank, v.dim, "axis=%d",
        chance(d, 50) ? axis : axis - v.rank);
    return settle(d, y, scale, true);
}

static bool split_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (!v.rank)
        return false;
    int axis = (int)below(d, v.rank), n = 2 + (int)below(d, 2);
    int64_t size = v.dim[axis].at[0], list[3], left = size;
    if (v.dim[axis].tag || size < n)
        return false;
    bool even = chance(d, 50) && size % n == 0;
    for (int i = 0; i < n; i++) {
        list[i] = even ? size / n : i == n - 1 ? left : 1 + below(d, left - (n - 1 - i));
        left -= list[i];
    }
    v.dim[axis] = fixed(list[0]);
    int l = even ? -1 : add_list(d, n, list);
    add_node(d, "Split", even ? 1 : 2, (int[]){x, l}, v.type, v.rank, v.dim, "axis=%d", axis);
    for (int i = 1; i < n && !d->failed; i++) {
        v.dim[axis] = fixed(list[i]);
        int y = add_value(d, IN_NODE, v.type, v.rank, v.dim);
        RNode *node = &d->r->node[d->r->n_nodes - 1];
        value_at(d, y)->exact = v.exact;
        value_at(d, y)->scale = v.scale;
        node->out[node->n_out++] = y;
    }
    return true;
}

static bool slice_family(Draw *d)
{
    int x = pick(d), n = 0;
    RValue v = *value_at(d, x);
    int64_t start[RECIPE_RANK], end[RECIPE_RANK], axis[RECIPE_RANK], step[RECIPE_RANK];
    for (int k = 0; k < v.rank; k++) {
        Dim *e = &v.dim[k];
        if (chance(d, 50))
            continue;
        int64_t s = ANY(d, 1, 1, 1, 2, 3, -1, -1, -2), from = below(d, MIN(e->at[0], e->at[1]) + 1),
                count[2];
        int64_t short_by = e->tag ? 0 : below(d, (e->at[0] - from) / 2 + 1);
        if (s < 0 && (from >= MIN(e->at[0], e->at[1])))
            continue;
        axis[n] = k;
        step[n] = s;
        start[n] = s > 0 ? from : -1 - from; /* counted from the end when walking back */
        end[n] = s > 0 ? (short_by ? e->at[0] - short_by : INT64_MAX) : INT64_MIN;
        if (s < 0 && short_by && !e->tag)
            end[n] = short_by - 1;
        for (int run = 0; run < 2; run++) {
            int64_t left = MAX(e->at[run] - from - short_by, 0), pace = s > 0 ? s : -s;
            count[run] = (left + pace - 1) / pace;
        }
        *e = dim_of(e, count[0], count[1], (uint32_t)(s + 10) * 100 + (uint32_t)from);
        n++;
    }
    if (!n)
        return false;
    int in[] = {x, add_list(d, n, start), add_list(d, n, end), add_list(d, n, axis),
        add_list(d, n, step)};
    return moved(d, add_node(d, "Slice", 5, in, v.type, v.rank, v.dim, "%s", ""), x);
}

static bool pad_family(Draw *d)
{
    static const char *const modes[] = {"constant", "constant", "edge", "reflect"};
    int x = pick(d);
    const char *mode = modes[below(d, 4)];
    RValue v = *value_at(d, x);
    int64_t list[2 * RECIPE_RANK] = {0};
    if (!v.rank || v.type == DT_BOOL || v.type == DT_BF16)
        return false;
    for (int k = 0; k < v.rank; k++) {
        Dim *e = &v.dim[k];
        int64_t least = MIN(e->at[0], e->at[1]);
        if (chance(d, 50) || (mode[0] != 'c' && least < 3))
            continue;
        list[k] = below(d, 3);
        list[v.rank + k] = below(d, 3);
        if (mode[0] == 'c' && chance(d, 10) && least > 2)
            list[k] = -1;
        int64_t more = list[k] + list[v.rank + k];
        *e = dim_of(e, e->at[0] + more, e->at[1] + more,
            (uint32_t)(more + 5) * 17 + (uint32_t)list[k]);
    }
    int l = add_list(d, 2 * v.rank, list);
    int c = mode[0] == 'c' && chance(d, 50) ? add_range(d, v.type, 0, NULL, 1, 3) : -1;
    return moved(d,
        add_node(d, "Pad", c < 0 ? 2 : 3, (int[]){x, l, c}, v.type, v.rank, v.dim, "mode=%s", mode),
        x);
}

/* ---- indices --------------------------------------------------------------------------------- */

static bool gather_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (!v.rank)
        return false;
    int axis = (int)below(d, v.rank), rank = 0, n = (int)ANY(d, 0, 1, 1, 2);
    int64_t size = MIN(v.dim[axis].at[0], v.dim[axis].at[1]);
    Dim index[2] = {fixed(ANY(d, 1, 2, 3, 7)), fixed(ANY(d, 1, 2, 4))}, dim[RECIPE_RANK + 2];
    if (!size || v.rank + n > 6)
        return false;
    int i =
        add_range(d, chance(d, 80) ? DT_I64 : DT_I32, n, index, (double)-size, (double)size - 0.5);
    for (int k = 0; k < v.rank; k++)
        if (k != axis)
            dim[rank++] = v.dim[k];
        else
            for (int j = 0; j < n; j++)
                dim[rank++] = index[j];
    return moved(d, add_node(d, "Gather", IN(x, i), v.type, rank, dim, "axis=%d", axis), x);
}

static bool gather_elements_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (!v.rank)
        return false;
    int axis = (int)below(d, v.rank);
    int64_t size = MIN(v.dim[axis].at[0], v.dim[axis].at[1]);
    Dim dim[RECIPE_RANK];
    memcpy(dim, v.dim, sizeof dim);
    dim[axis] = fixed(ANY(d, 1, 2, 5));
    if (!size)
        return false;
    int i = add_range(d, DT_I64, v.rank, dim, 0, (double)size - 0.5);
    return moved(d, add_node(d, "GatherElements", IN(x, i), v.type, v.rank, dim, "axis=%d", axis),
        x);
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool resize_family(Draw *d)
{
    static const char *const modes[] = {
        "mode=nearest nearest_mode=floor coordinate_transformation_mode=asymmetric", "mode=nearest",
        "mode=linear", "mode=linear coordinate_transformation_mode=align_corners",
        "mode=linear coordinate_transformation_mode=pytorch_half_pixel"};
    int x = pick_type(d, DT_F32);
    if (x < 0 || value_at(d, x)->rank != 4)
        return false;
    RValue v = *value_at(d, x);
    int64_t list[4];
    for (int k = 0; k < 4; k++) {
        if (v.dim[k].tag || !v.dim[k].at[0])
            return false;
        list[k] = k < 2 ? v.dim[k].at[0] : v.dim[k].at[0] * ANY(d, 1, 2, 3) - (int)ANY(d, 0, 0, 1);
        v.dim[k] = fixed(list[k] = MAX(list[k], 1));
    }
    int in[] = {x, -1, -1, add_list(d, 4, list)};
    int y = add_node(d, "Resize", 4, in, v.type, 4, v.dim, "%s", modes[below(d, NELEM(modes))]);
    d->work += elements(value_at(d, y)) * 20;
    return settle(d, y, v.scale, false);
}

static bool depth_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (v.rank != 4 || v.type != DT_F32)
        return false;
    bool up = chance(d, 60);
    if (up ? v.dim[1].tag || v.dim[1].at[0] % 4
           : v.dim[2].tag || v.dim[3].tag || v.dim[2].at[0] % 2 || v.dim[3].at[0] % 2)
        return false;
    for (int k = 1; k < 4; k++) {
        int64_t by = k == 1 ? 4 : 2, *n = v.dim[k].at;
        bool grows = (k == 1) != up;
        v.dim[k] =
            dim_of(&v.dim[k], grows ? n[0] * by : n[0] / by, grows ? n[1] * by : n[1] / by, 2 + up);
    }
    return moved(d,
        add_node(d, up ? "DepthToSpace" : "SpaceToDepth", IN(x), v.type, 4, v.dim,
            up && chance(d, 50) ? "blocksize=2 mode=CRD" : "blocksize=2"),
        x);
}

static bool trilu_family(Draw *d)
{
    int x = pick(d);
    if (value_at(d, x)->rank < 2 || value_at(d, x)->type != DT_F32)
        return false;
    return moved(d, add_like(d, "Trilu", x, chance(d, 50) ? "upper=0" : "upper=1"), x);
}

/* ---- shapes that are computed ---------------------------------------------------------------- */

/* A reshape to [d0, d1 * .. ] by Shape, Slice and Concat, as exporters write it. */
static bool computed_shape_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (v.rank < 2 || v.dim[0].at[0] == 0 || v.dim[0].at[1] == 0)
        return false;
    Dim rest = {.at = {1, 1}};
    for (int k = 1; k < v.rank; k++) {
        rest.at[0] *= v.dim[k].at[0];
        rest.at[1] *= v.dim[k].at[1];
        rest.tag = (rest.tag * 31 + v.dim[k].tag * 7) % 1000003;
    }
    rest.tag += rest.tag ? 100 : 0;
    Dim rank = fixed(v.rank), one = fixed(1), two = fixed(2);
    int shape = add_node(d, "Shape", IN(x), DT_I64, 1, &rank, "%s", "");
    int zero = add_list(d, 1, (int64_t[]){0}), minus = add_list(d, 1, (int64_t[]){-1});
    int first = add_node(d, "Gather", IN(shape, zero), DT_I64, 1, &one, "axis=0");
    int target = add_node(d, "Concat", IN(first, minus), DT_I64, 1, &two, "axis=0");
    return moved(d,
        add_node(d, "Reshape", IN(x, target), v.type, 2, (Dim[]){v.dim[0], rest}, "%s", ""), x);
}

/* A value grown to the shape of another of its rank, where it has ones. */
static bool expand_like_family(Draw *d)
{
    int x = pick(d), y = pick(d);
    RValue v = *value_at(d, x), w = *value_at(d, y);
    if (v.rank != w.rank || !v.rank)
        return false;
    for (int k = 0; k < v.rank; k++) {
        bool one = !v.dim[k].tag && v.dim[k].at[0] == 1;
        if (!one && !dim_same(&v.dim[k], &w.dim[k]))
            return false;
    }
    Dim rank = fixed(v.rank);
    int shape = add_node(d, "Shape", IN(y), DT_I64, 1, &rank, "%s", "");
    return moved(d, add_node(d, "Expand", IN(x, shape), v.type, w.rank, w.dim, "%s", ""), x);
}

/* Rows of a table by two indices each; or one-hot rows of indices. */
static bool gather_nd_family(Draw *d)
{
    int x = pick(d);
    RValue v = *value_at(d, x);
    if (v.rank < 2)
        return false;
    int64_t size = MIN(MIN(v.dim[0].at[0], v.dim[0].at[1]), MIN(v.dim[1].at[0], v.dim[1].at[1]));
    Dim index[2] = {fixed(ANY(d, 1, 3, 6)), fixed(2)}, dim[RECIPE_RANK];
    if (!size)
        return false;
    dim[0] = index[0];
    for (int k = 2; k < v.rank; k++)
        dim[k - 1] = v.dim[k];
    int i = add_range(d, DT_I64, 2, index, (double)-size, (double)size - 0.5);
    return moved(d, add_node(d, "GatherND", IN(x, i), v.type, v.rank - 1, dim, "%s", ""), x);
}

/* Halves swapped, one negated: rotary embeddings. */
static bool rotate_family(Draw *d)
{
    int x = pick_type(d, DT_F32);
    if (x < 0 || !value_at(d, x)->rank)
        return false;
    RValue v = *value_at(d, x);
    Dim *last = &v.dim[v.rank - 1];
    if (last->tag || last->at[0] < 2 || last->at[0] % 2)
        return false;
    int64_t half = last->at[0] / 2, n = last->at[0];
    *last = fixed(half);
    int axis = add_list(d, 1, (int64_t[]){-1});
    int from[2] = {add_list(d, 1, (int64_t[]){0}), add_list(d, 1, &half)};
    int to[2] = {from[1], add_list(d, 1, (int64_t[]){INT64_MAX})};
    int a = add_node(d, "Slice", IN(x, from[0], to[0], axis), v.type, v.rank, v.dim, "%s", "");
    int b = add_node(d, "Slice", IN(x, from[1], to[1], axis), v.type, v.rank, v.dim, "%s", "");
    int minus = add_like(d, "Neg", b, "");
    *last = fixed(n);
    return moved(d, add_node(d, "Concat", IN(minus, a), v.type, v.rank, v.dim, "axis=-1"), x);
}

const FamilyRow shape_families[] = {{reshape_family, 20}, {flatten_family, 4},
    {unsqueeze_family, 5}, {squeeze_family, 6}, {transpose_family, 20}, {expand_family, 6},
    {tile_family, 3}, {concat_family, 16}, {split_family, 12}, {slice_family, 14}, {pad_family, 10},
    {gather_family, 8}, {gather_elements_family, 3}, {resize_family, 5}, {depth_family, 4},
    {trilu_family, 2}, {computed_shape_family, 4}, {expand_like_family, 3}, {gather_nd_family, 3},
    {rotate_family, 5}};
const int n_shape_families = NELEM(shape_families);
