/* memory.c: the command's small memory and the text helpers built on it. */
#include "cli.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All blocks hang on one list: nothing is freed before exit, and a leak checker sees every block
 * reachable. */
typedef struct Block {
    struct Block *next;
    _Alignas(16) char data[];
} Block;
static Block *blocks;

/* A leak checker must see that nothing else is lost. */
static void free_blocks(void)
{
    while (blocks) {
        Block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
}

/* The one place where the command gives up; what the library holds then goes with the process. */
void *cli_alloc(size_t size)
{
    if (!blocks)
        atexit(free_blocks);
    Block *b = size < SIZE_MAX - sizeof(Block) ? calloc(1, sizeof(Block) + size) : NULL;
    if (!b) {
        fprintf(stderr, "sinter: out of memory (%zu bytes)\n", size);
        exit(EXIT_ERROR);
    }
    b->next = blocks;
    blocks = b;
    return b->data;
}

char *cli_strndup(const char *s, size_t n)
{
    char *copy = cli_alloc(n + 1);
    memcpy(copy, s, n);
    return copy;
}

/* Printed twice: once to learn the length. */
char *cli_printf(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *s = cli_alloc((size_t)n + 1);
    va_start(ap, fmt);
    vsnprintf(s, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return s;
}

/* Doubles the room whenever the count reaches a power of two. */
void list_add(StrList *list, const char *s)
{
    if ((list->n & (list->n - 1)) == 0) {
        const char **grown = cli_alloc(sizeof(char *) * (size_t)(2 * list->n + 2));
        if (list->n)
            memcpy(grown, list->at, sizeof(char *) * (size_t)list->n);
        list->at = grown;
    }
    list->at[list->n++] = s;
    list->at[list->n] = NULL;
}

bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);
    return n >= k && strcmp(s + n - k, suffix) == 0;
}

/* Names with blanks or control bytes would be misread between other words. */
static bool plain_name(const char *s)
{
    if (!*s)
        return false;
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || *s == '"' || *s == '\\' || *s == 0x7f)
            return false;
    return true;
}

/* Bytes from 0x80 on pass: they are mostly UTF-8. */
const char *show_name(const char *name)
{
    if (plain_name(name))
        return name;
    char *out = cli_alloc(4 * strlen(name) + 3), *p = out;
    *p++ = '"';
    for (const unsigned char *s = (const unsigned char *)name; *s; s++) {
        if (*s == '"' || *s == '\\')
            p += sprintf(p, "\\%c", *s);
        else if (*s < ' ' || *s == 0x7f)
            p += sprintf(p, "\\x%02x", *s);
        else
            *p++ = (char)*s;
    }
    *p++ = '"';
    return out;
}

const char *show_shape(int rank, const int64_t *dim)
{
    const char *s = "[";
    for (int i = 0; i < rank; i++)
        s = cli_printf("%s%s%lld", s, i ? ", " : "", (long long)dim[i]);
    return cli_printf("%s]", s);
}

/* Edit distance with transposed neighbours counted once, on words short enough for a mistyped
 * option. */
static int edit_distance(const char *a, const char *b)
{
    enum { MOST = 48 };
    int n = (int)strlen(a), m = (int)strlen(b), d[MOST + 1][MOST + 1];
    if (n > MOST || m > MOST)
        return MOST;
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[n][m];
}

/* Near means at most a third of the word's letters changed, but always one; or an unfinished word.
 */
const char *nearest(const char *word, const StrList *candidates)
{
    const char *best = NULL;
    int n = (int)strlen(word), least = n / 3 + (n > 2 ? 1 : 0) + 1;
    for (int i = 0; i < candidates->n; i++) {
        int d = edit_distance(word, candidates->at[i]);
        if (n >= 3 && strncmp(word, candidates->at[i], (size_t)n) == 0 && d >= least)
            d = least - 1;
        if (d < least) {
            least = d;
            best = candidates->at[i];
        }
    }
    return best;
}
