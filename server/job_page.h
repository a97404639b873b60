/* The pages of a job as the writers want them, whatever became of them, and the writers' options. */
#ifndef RECTO_SERVER_JOB_PAGE_H
#define RECTO_SERVER_JOB_PAGE_H

#include "desk.h"

/* Which text of a page. */
enum page_version {
    VERSION_USER,  /* the user's where there is one, else the model's */
    VERSION_MODEL, /* as the model wrote it */
};

/* The page, number as in the job; recto_page_reset it. A page without a reading is an empty one with status error or cancelled and
 * what is known, or, while it is not read yet, status error and its state as the sentence. attempt 0: its best. The user's text
 * stands in blocks without boxes. */
int job_page_load(struct jobs *j, const struct job_row *job, const struct page_row *row,
                  enum page_version version, int attempt, struct recto_page *out);
/* The user's text of an edited page; the caller frees. */
int job_page_edit(struct jobs *j, const struct job_row *job, const struct page_row *row,
                  char **text, size_t *n);
/* Replace p's blocks by those of Markdown: headings, tables, paragraphs. */
void page_take_text(struct recto_page *p, const char *text, size_t n);

/* Open the k-th input, with the job's dpi; recto_document_close it. */
int job_document(struct jobs *j, const struct job_row *job, int input, struct recto_document **out);

/* Job and one of its pages. */
int job_find_page(struct jobs *j, const char *owner, const char *id, int page, struct job_row *job,
                  struct page_row *row);

#endif
