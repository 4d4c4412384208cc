/* cli_test.h: cmocka with the headers that it wants before it. */
#ifndef SINTER_CLI_TEST_H
#define SINTER_CLI_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
