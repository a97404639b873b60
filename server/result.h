/* A job's results: written once into the cache, page by page from the page files, so that memory does not grow with the pages. */
#ifndef RECTO_SERVER_RESULT_H
#define RECTO_SERVER_RESULT_H

#include "job_page.h"

/* Takes a side file of a format ("p0001-f1.jpg"); NULL in a call of result_write: there are none. 0 or a negative JOBS_*. */
typedef int result_side_fn(void *ctx, const char *name, const void *bytes, size_t n);

/* Write a format of the job to fd: all its pages, those that are not finished marked where the format can. stem: of links to side
 * files, NULL: none. JOBS_INVALID_VALUE: not to be had of this document. */
int result_write(struct jobs *j, const struct job_row *job, const char *format, int fd,
                 const char *stem, result_side_fn *side, void *ctx);
/* document.md .json .html .txt, document.files/, manifest.json. */
int result_write_zip(struct jobs *j, const struct job_row *job, int fd);

/* bytes as a body, in memory. media: "text/markdown". */
int body_of_bytes(struct jobs_body *b, const char *bytes, size_t n, const char *media);
/* The file as a body; JOBS_NOT_FOUND. */
int body_of_file(struct jobs_body *b, const char *path, const char *media);
void body_name(struct jobs_body *b, const char *name,
               const char *extension); /* "a.pdf" and "md": "a.md" */
const char *media_of_format(const char *format);

#endif
