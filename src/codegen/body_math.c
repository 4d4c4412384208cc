#include "codegen/vec.h"
int v_math(VCode *v, Prim p, int a, int b) { (void)v; (void)p; (void)a; (void)b; return -1; }
