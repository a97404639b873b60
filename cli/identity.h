/* What the text of a page depends on: when it is the same, results of an earlier run are as good as new ones.
 *
 *     {"recto-work":1,"version":…,"model":…,"backend":…,"precision":…,"kernels":…,
 *      "size":…,"mtime":…,"sha256":…,"pages":…,"settings":{…}}
 *
 * Settings are all options given to `recto read`, except those known not to change any text. */
#ifndef RECTO_CLI_IDENTITY_H
#define RECTO_CLI_IDENTITY_H

#include "options.h"
#include "recto.h"

struct identity {
    char *line;      /* the object above, without newline */
    char digest[65]; /* SHA-256 of line, in hex */
    char sha256[65]; /* of the input's bytes; "" if it is no regular file that can be read */
    char kind[16];   /* as recto_kind; "" unknown */
};

/* The part that is the same for all documents. */
struct identity_run {
    char *text; /* owned: the keys from "version" to "kernels" */
    char *settings;
    char model[65];
    struct recto_info info;
};
/* 0 or RECTO_*. identity_run_reset after either. */
int identity_run_make(struct identity_run *r, const struct recto *engine, const struct options *o);
void identity_run_reset(struct identity_run *r);

/* Of the file that `in` names. Reads all of it. */
void identity_make(struct identity *id, const struct identity_run *r, const struct recto_input *in);
void identity_reset(struct identity *id);

#endif
