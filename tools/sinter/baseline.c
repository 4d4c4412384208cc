/* baseline.c: see baseline.h. A count that fell is a difference too: the file is to be recorded
 * anew, in a commit that says why, or the next rise would go unseen. */
#include "baseline.h"
#include "file.h"
#include "json.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Facts that do not depend on the machine's speed. A dot goes into an object. */
static const char *const counts[] = {"nodes_imported", "nodes_final", "groups", "launches",
    "library_calls", "unique_kernels", "loop_nests", "contractions", "materialised.count",
    "materialised.bytes", "unfused.launches", "unfused.materialised.count",
    "unfused.materialised.bytes", "arena_bytes", "arena_bound_bytes"};
enum { N_COUNTS = sizeof counts / sizeof *counts };

/* Follows a dotted path. */
static json_t *find_count(const json_t *report, const char *path)
{
    json_t *at = (json_t *)report;
    while (at && *path) {
        size_t n = strcspn(path, ".");
        at = json_object_get(at, cli_strndup(path, n));
        path += n + (path[n] == '.');
    }
    return json_is_integer(at) ? at : NULL;
}

/* A broken file is told by its line, and never overwritten. */
static sinter_code read_baseline(const char *file, json_t **all, sinter_error *err)
{
    char *bytes;
    size_t n;
    json_error_t where;
    if (file_read(file, &bytes, &n, err))
        return err->code;
    *all = json_loadb(bytes, n, 0, &where);
    free(bytes);
    if (json_is_object(*all))
        return SINTER_OK;
    json_decref(*all);
    return set_error(err, SINTER_ERR_IO, "%s is no baseline: line %d: %s", show_name(file),
        where.line, where.text);
}

/* Other models of the file keep their counts; keys are sorted so that a diff of two recordings is
 * small. */
sinter_code baseline_record(const char *file, const char *model, const json_t *report,
    sinter_error *err)
{
    json_t *all = NULL, *kept = json_object();
    if (access(file, F_OK) == 0 && read_baseline(file, &all, err)) {
        json_decref(kept);
        return err->code;
    }
    if (!all)
        all = json_object();
    for (int i = 0; i < N_COUNTS; i++) {
        json_t *count = find_count(report, counts[i]);
        if (count)
            json_put(kept, counts[i], json_whole(json_integer_value(count)));
    }
    json_put(all, model, kept);
    char *text = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(all);
    if (!text)
        return set_error(err, SINTER_ERR_MEMORY, "no memory for the baseline");
    sinter_code code = file_write(file, text, strlen(text), err);
    free(text);
    return code;
}

/* All differences are told, not just the first. A count that the report no longer has is one too.
 */
sinter_code baseline_check(const char *file, const char *model, const json_t *report, bool *same,
    sinter_error *err)
{
    json_t *all, *kept, *was;
    const char *key;
    if (read_baseline(file, &all, err))
        return err->code;
    kept = json_object_get(all, model);
    if (!kept) {
        set_error(err, SINTER_ERR_INPUT, "%s has no counts of %s", show_name(file),
            show_name(model));
        set_hint(err, "--record %s adds them", file);
    }
    json_object_foreach(kept, key, was)
    {
        json_t *is = find_count(report, key);
        if (is && json_integer_value(is) == json_integer_value(was))
            continue;
        fprintf(stderr, "sinter: %s: %s was %lld, is %s\n", show_name(model), key,
            (long long)json_integer_value(was),
            is ? cli_printf("%lld", (long long)json_integer_value(is)) : "missing");
        *same = false;
    }
    json_decref(all);
    return kept ? SINTER_OK : err->code;
}
