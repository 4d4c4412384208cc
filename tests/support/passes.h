/* passes.h: models through the passes one by one, for tests that look at what each pass leaves. */
#ifndef TEST_PASSES_H
#define TEST_PASSES_H
#include "passes/pass.h"

/* The options of a compilation for a machine that does not depend on the one that tests. */
Options passes_options(int level, int fuse);
/* Called after each pass that ran. */
typedef void (*AfterPass)(void *user, Module *m, const char *pass);
/* What passes_run does, up to and with the pass `last` (NULL: all), with a look at the state after
 * each. */
void passes_each(Module *m, const char *last, AfterPass after, void *user);
/* Imports a file and prepares a module for it. */
Module *passes_module(Ctx *cx, const char *path, Options o);

/* Elements for the constants of which a text has the hash alone. */
void passes_make_up(Ctx *cx, Graph *graph);
/* A tensor of small made-up numbers: floats in [-1, 1), integers 0 and 1. */
Tensor *passes_tensor(Ctx *cx, DType type, int rank, const int64_t *dim);

/* Calls fn for each committed model and each of the small zoo, whose weights are filled in
 * first. */
void each_model(void (*fn)(const char *name, const char *path));
/* Is it one of those that hold operators which the compiler does not know yet? Tests fail when it
 * does after all. */
bool model_unsupported(const char *name);
#endif
