/* The options of a job and of a retry: a JSON object of the API, checked member by member, and what it says to the engine. */
#ifndef RECTO_SERVER_JOB_OPTIONS_H
#define RECTO_SERVER_JOB_OPTIONS_H

#include "rows.h"

/* Check each member of `from` and set it in `to`; unknown ones are refused. is_retry: only members that say how to read.
 * prefix is no member: "password" is one. JOBS_UNKNOWN_OPTION, JOBS_INVALID_VALUE. */
int options_merge(json_t *to, const json_t *from, bool is_retry);
/* One member by its text: numbers and null are taken as such where the member may be one. */
int options_set_text(json_t *to, const char *name, const char *value);
/* The members that need each other: locate and query, custom and prompt. */
int options_check(const json_t *options);

/* Fill in what is not there with its default; takes password out: a new string, NULL: none. */
char *options_complete(json_t *options);
enum recto_class options_class(const json_t *options);
/* Whole number of a member, or otherwise. */
int64_t options_int(const json_t *options, const char *name, int64_t otherwise);
const char *options_text(const json_t *options, const char *name); /* NULL: not a string */

/* What is asked of the engine: the job's options, overridden by a retry's (NULL: none). Strings point into the two. */
void options_apply(const json_t *options, const json_t *retry, struct recto_options *o,
                   struct recto_input *in);

#endif
