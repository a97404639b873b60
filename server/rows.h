/* What the store keeps of a job, as structs, and as the JSON objects of the API. Strings are owned; _reset frees them. */
#ifndef RECTO_SERVER_ROWS_H
#define RECTO_SERVER_ROWS_H

#include "job.h"

#include <jansson.h>
#include <stdint.h>

enum { ID_BYTES = 32, SHA_BYTES = 65, OWNER_BYTES = 128 };

/* prefix ("job") + "_" + 24 characters of base32, from the kernel's random source. */
void id_make(char id[ID_BYTES], const char *prefix);
int64_t now_ms(void); /* since 1970 */

struct job_row {
    int64_t key; /* the store's number for it; rises with creation */
    char id[ID_BYTES];
    char owner[OWNER_BYTES];
    char *name;
    enum job_state state;
    enum recto_class class;
    char *options; /* JSON object: the job's options, complete and checked, without password */
    int count[JOB_COUNTS];
    bool has_begun, is_cancelled;
    char *error;                                                       /* API code, NULL: none */
    int64_t created_ms, started_ms, ended_ms, expires_ms, deadline_ms; /* 0: none */
    int64_t retain_s;
    int64_t seq;  /* of its last event */
    int64_t rev;  /* rises with every change of its results */
    char *inputs; /* JSON array, as in the job object */
};

struct input_row {
    char *name, *media; /* "application/pdf" */
    int64_t bytes;
    char sha256[SHA_BYTES];
    int n_page;
};

struct page_row {
    int64_t job;           /* job_row.key */
    int page;              /* of the job, from 1 */
    int input, input_page; /* its file, from 0; its page there, from 1 */
    enum page_state state;
    enum recto_status status; /* of `best`; meaningful once has_status */
    bool has_status;
    enum recto_class class;
    int n_attempt;   /* that have ended; one under way is number n_attempt + 1 */
    int best;        /* attempt whose reading is the page's; 0: none */
    int lost;        /* processes that died while it was in flight, one after the other */
    char *settings;  /* JSON object: options of a retry over the job's; NULL: none */
    bool is_replace; /* the coming reading counts, whatever it is */
    int width, height, rotation;
    int n_tok, ms;
    double conf, min_logp;
    int64_t n_text;           /* bytes of text of `best` */
    char edited[SHA_BYTES];   /* SHA-256 of the user's text; "": none */
    char *error, *error_text; /* API code and sentence of the last attempt, if it failed */
    int64_t started_ms, ended_ms;
};

void job_row_reset(struct job_row *r);
void input_row_reset(struct input_row *r);
void page_row_reset(struct page_row *r);

/* The job object; speed, eta and position are null, to be set by who knows. */
json_t *job_row_json(const struct job_row *r);
json_t *input_row_json(const struct input_row *r);
/* The page object: what "…/pages" lists and `event: page` tells, the latter with "job". job NULL: without. */
json_t *page_row_json(const struct page_row *r, const char *job);

#endif
