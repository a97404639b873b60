/* A page's readings as files: {"recto-page":1,"attempt":2,"options":{...},"retry":{...},"page":{the page of the layout JSON}}. */
#ifndef RECTO_SERVER_PAGE_FILE_H
#define RECTO_SERVER_PAGE_FILE_H

#include "blob.h"

#include "recto.h"

/* p->number is the page of the job from here on. sha256: of the file, 64 hex digits. */
int page_file_write(const struct blob *b, const char *job, int page, int attempt,
                    const json_t *options, const json_t *retry, const struct recto_page *p,
                    char sha256[SHA_BYTES]);
/* recto_page_reset it. JOBS_NOT_FOUND; JOBS_INTERNAL: the file is damaged. */
int page_file_read(const struct blob *b, const char *job, int page, int attempt,
                   struct recto_page *p);
/* The page object alone, as JSON. */
int page_file_json(const struct blob *b, const char *job, int page, int attempt, json_t **out);

#endif
