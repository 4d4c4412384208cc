/* json.h: jansson with the failures that matter to us handled: names of a model may be any bytes,
 * measured numbers may not be finite, and out of memory ends the command. */
#ifndef SINTER_CLI_JSON_H
#define SINTER_CLI_JSON_H
#include <jansson.h>
#include <stdint.h>

json_t *json_text(const char *s); /* bytes that are not UTF-8 become U+FFFD */
json_t *json_number(double x);    /* not finite: the largest double of that sign; NaN: null */
json_t *json_whole(int64_t x);
json_t *json_dims(int rank, const int64_t *dim);
void json_put(json_t *object, const char *key, json_t *value); /* takes over value */
void json_add(json_t *array, json_t *value);                   /* takes over value */
/* Prints one line on stdout and releases the object. */
void json_print_line(json_t *object);
/* A key's number or text, with a default when it is absent. */
double json_get_number(const json_t *object, const char *key, double otherwise);
const char *json_get_text(const json_t *object, const char *key, const char *otherwise);

#endif
