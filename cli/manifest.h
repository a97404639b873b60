/* The manifest recto-run.jsonl in the output folder: what each run was asked and how each file ended, a JSON object a line.
 *
 *     {"type":"run","created":…,"version":…,"machine":…,"features":…,"model":…,"settings":{…},"files":N}
 *     {"type":"file","file":…,"output":STEM,"identity":…,"pages":N,"statuses":{…}}
 *     {"type":"end","exit":N,"pages":N,"statuses":{…},"tokens":N,"seconds":S}
 *
 * Every run appends; of two lines about one output the last counts. */
#ifndef RECTO_CLI_MANIFEST_H
#define RECTO_CLI_MANIFEST_H

#include "identity.h"
#include "json_text.h"

struct manifest_file {
    char *output, *digest;
    int line; /* the later counts */
    int n_status[N_STATUS];
};

struct manifest {
    int fd; /* -1: there is none */
    char *path;
    struct manifest_file *file; /* of earlier runs, by output; the last line about each */
    int n_file;
};

/* Open or make DIR/recto-run.jsonl; with `reads`, learn what earlier runs have finished. 0, or -1 with errno. */
int manifest_open(struct manifest *m, const char *dir, bool reads);
void manifest_close(struct manifest *m);

/* What an earlier run says of this output, when it was made from the same; NULL if there is nothing. */
const struct manifest_file *manifest_find(const struct manifest *m, const char *output,
                                          const char *digest);

/* Append a line. 0, or -1 with errno; 0 when there is no manifest. */
int manifest_run(const struct manifest *m, const struct identity_run *run, int n_file);
int manifest_document(const struct manifest *m, const char *input, const char *output,
                      const struct identity *id, const int *n_status);
int manifest_end(const struct manifest *m, int exit, const int *n_status, long long n_token,
                 double seconds);

#endif
