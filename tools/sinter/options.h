/* options.h: the one table that parsing, help and docs/cli.md come from. */
#ifndef SINTER_CLI_OPTIONS_H
#define SINTER_CLI_OPTIONS_H
#include "cli.h"

/* How an option's text becomes a field of Args. */
typedef enum {
    OPT_SET,    /* no value: the int field becomes `low` */
    OPT_COUNT,  /* no value: the int field counts */
    OPT_TEXT,   /* const char * */
    OPT_LIST,   /* StrList, one entry each time */
    OPT_INT,    /* int in [low, high] */
    OPT_SEED,   /* uint64_t */
    OPT_BYTES,  /* int64_t > 0, with K, M, G */
    OPT_REAL,   /* double >= 0 */
    OPT_CHOICE, /* int: the number of the word in `words`, plus `low` */
    OPT_LATER   /* known by the contract, not in this version */
} OptionKind;

/* Groups of verbs, for Option.verbs. */
enum {
    V_RUN = 1, V_INSPECT = 2, V_VERIFY = 4, V_REPORT = 8, V_EMIT = 16, V_BENCH = 32,
    V_INPUTS = V_RUN | V_VERIFY | V_REPORT | V_EMIT | V_BENCH,
    V_COMPARES = V_RUN | V_VERIFY | V_REPORT,
    V_ALL = V_INPUTS | V_INSPECT
};

typedef struct Option {
    const char *name, *value; /* "--input", "SPEC"; value NULL: takes none */
    OptionKind kind;
    unsigned verbs;
    size_t field; /* offset in Args */
    long long low, high;
    const char *words; /* "text|json|csv|md" */
    const char *help;
} Option;
extern const Option option_table[];
extern const int option_table_n;

/* The bit of a verb in Option.verbs; 0 for verbs of later versions. */
unsigned verb_bit(const Verb *verb);

#endif
