/* The two halves of `recto read`: cmd_read.c submits and polls, read_docs.c makes documents of
 * what comes back. */
#ifndef RECTO_CLI_READ_H
#define RECTO_CLI_READ_H

#include "cli.h"
#include "output.h"
#include "strip.h"

enum { N_STATUS = RECTO_PAGE_CANCELLED + 1 };

enum doc_state { DOC_WAITS, DOC_ACTIVE, DOC_ENDED, DOC_PRINTED };

/* --json-lines, json_lines.c. */
struct json_doc;
struct json_lines {
    bool is_on, as_they_come;
    struct json_doc *doc; /* [n_doc] */
    int n_doc, n_printed; /* documents */
};

struct doc {
    enum doc_state state;
    uint64_t request;
    bool is_started; /* the engine has begun with it: on a signal it may finish */
    int n_page;      /* as soon as it is known; 0 before */
    int n_event;
    struct recto_event *event; /* of kind PAGE, kept until the document is written */
    char *text;                /* for standard output, until its turn */
    size_t n_text;
};

struct run {
    struct recto *engine;
    struct plan plan;
    struct recto_options page;
    struct recto_input input; /* what holds for all documents: dpi, password, pages */
    char *password;           /* owned */
    struct json_lines json;
    bool is_strict;
    int window;
    struct doc *doc;                     /* [plan.n_doc] */
    int n_submitted, n_ended, n_printed; /* documents; printed: the first n, on standard output */
    int n_page[N_STATUS];
    int n_done_page, n_all_page; /* all: of the documents that are open, and one for each other */
    int n_unread;                /* documents whose only fault was in the input */
    long long n_token;
    char *stdin_bytes; /* what came through "-" */
    size_t n_stdin;
    struct strip strip; /* --stream */
    char last_streamed;
    double stop_at; /* seconds; 0: no signal yet */
    int exit;       /* the gravest so far that ends the run, or 0 */
};

/* Use what the engine tells: print, keep, write. Takes ev over. */
void read_take(struct run *r, struct recto_event *ev);
/* Stop what runs (all of it, or only what has not begun). Documents still end, through
 * read_take. */
void read_cancel(struct run *r, bool started_too);
/* Nothing further is submitted or written, and the program will end with this code. */
void read_end(struct run *r, int exit);
/* Document `doc` as recto_submit wants it; points into r. */
struct recto_input read_input(const struct run *r, int doc);
/* There is no document behind this operand: say so, end it. */
void read_fault(struct run *r, int doc);
/* To standard output; a failure ends the run. */
void read_print(struct run *r, const char *text, size_t n);
/* The exit code of --dry-run, after all is printed. */
int dry_run(const struct run *r, const struct options *o);
/* Pages that make the exit code EXIT_PAGES. */
int read_failed(const struct run *r);

#endif
