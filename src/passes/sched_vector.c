/* sched_vector.c: stages as vector bodies over rows and lanes. */
#include "passes/sched.h"

bool sched_vector(Sched *s, Stmts *into, int stage)
{
    (void)s;
    (void)into;
    (void)stage;
    return false;
}

