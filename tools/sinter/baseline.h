/* baseline.h: counts of a model kept in a file, for `sinter report --record` and `--check`. */
#ifndef SINTER_CLI_BASELINE_H
#define SINTER_CLI_BASELINE_H
#include "cli.h"
#include <jansson.h>

/* Both take the report object. The file is one JSON object: model path to counts. */
sinter_code baseline_record(const char *file, const char *model, const json_t *report,
    sinter_error *err);
/* *same becomes false when any count differs; each difference is said on stderr. */
sinter_code baseline_check(const char *file, const char *model, const json_t *report, bool *same,
    sinter_error *err);

#endif
