/* recipe.h: the deterministic contents of a zoo tensor.
 *
 * A zoo model is committed without its weights; its metadata names a recipe for each. The
 * recipes are simple enough to be repeated bit for bit in any language (tests/zoo/README.md has
 * them as a specification), so that a reference runtime's outputs, recorded elsewhere, stay
 * valid here.
 */
#ifndef ZOOFILL_RECIPE_H
#define ZOOFILL_RECIPE_H
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define RECIPE_RANK 16

typedef enum { FILL_UNIFORM, FILL_NORMAL, FILL_INT, FILL_CONST, FILL_GRID, FILL_STORED } FillKind;

typedef struct {
    const char *name; /* of the tensor, for messages */
    FillKind kind;
    double a, b;   /* the recipe's numbers */
    uint64_t seed; /* crc32 of the tensor's name in the upper half */
    int dtype;     /* of ONNX */
    int rank;
    int64_t dim[RECIPE_RANK];
    uint64_t count, bytes;
    uint8_t *stored; /* FILL_STORED: the unpacked bytes */
} Recipe;

/* From its JSON form. */
Recipe recipe_read(const char *name, const json_t *json, int dtype, int rank, const int64_t *dim);
void recipe_free(Recipe *r);
/* Elements start .. start+n-1 in row-major order, at out. */
void recipe_make(const Recipe *r, uint64_t start, uint64_t n, void *out);
/* Bytes of an element of an ONNX type; 0 where no recipe makes that type. */
size_t element_size(int dtype);
#endif
