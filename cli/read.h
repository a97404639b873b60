/* The parts of `recto read`: cmd_read.c submits and polls, read_begin.c looks for what an earlier run has left,
 * read_docs.c takes what comes back, read_out.c passes it on. */
#ifndef RECTO_CLI_READ_H
#define RECTO_CLI_READ_H

#include "cli.h"
#include "identity.h"
#include "json_text.h"
#include "manifest.h"
#include "output.h"
#include "sheets.h"
#include "strip.h"
#include "work.h"

enum doc_state { DOC_WAITS, DOC_ACTIVE, DOC_ENDED, DOC_PRINTED };

/* --json-lines, json_lines.c. */
struct json_lines {
    bool is_on, as_they_come;
};

/* Pages end in any order and go into `work`; from there they go, in the order of the document, into its files (or, when its
 * turn has come, to standard output) and into the JSON lines. */
struct doc {
    enum doc_state state;
    uint64_t request;
    bool is_prepared;    /* looked for what is known from before; the engine may still be full */
    bool is_done_before; /* by an earlier run: nothing is read or written */
    bool has_cancelled;  /* pages, so it cannot be written */
    struct identity id;
    struct work work;
    struct sheets *sheets;  /* from the first page that can be read on */
    int n_sheet, n_json;    /* pages given to sheets and JSON lines */
    int n_page;             /* as soon as it is known; 0 before */
    int n_status[N_STATUS]; /* pages that have come */
    int n_come, n_unread;   /* the same; those whose only fault was in the input */
};

struct run {
    struct recto *engine;
    struct plan plan;
    struct recto_settings settings;
    struct recto_options page;
    struct recto_write_options write;
    char created[32], guard[40];
    char dpi[12];
    struct recto_input input; /* what holds for all documents: dpi, password, pages */
    char *password;           /* owned */
    char *stdin_path;         /* what came through "-": an unlinked file, by its descriptor */
    int stdin_fd;
    struct identity_run identity;
    struct manifest manifest; /* only with -o DIR */
    struct json_lines json;
    bool is_strict, fails_fast, resumes;
    int window;
    struct doc *doc;                     /* [plan.n_doc] */
    int n_submitted, n_ended, n_printed; /* documents; printed: the first n, on standard output */
    int n_page[N_STATUS];
    int n_done_page, n_all_page; /* all: of the documents that are open, and one for each other */
    int n_before;                /* of n_done_page, those of an earlier run */
    int n_refused; /* outputs that could not be made of a document, whose other outputs are there */
    int n_retried; /* pages that were read more than once */
    int n_unread;  /* documents whose only fault was in the input */
    long long n_token;
    char current[512];  /* the page that has ended last, for people */
    struct strip strip; /* --stream */
    char last_streamed;
    double stop_at; /* seconds; 0: no signal yet */
    int exit;       /* the gravest so far that ends the run, or 0 */
};

/* Begin with document `doc`: it is then with the engine, or has ended. RECTO_EAGAIN: the engine is full; another failure was
 * told and has ended the run. */
int read_begin(struct run *r, int doc);
/* Use what the engine tells: print, keep, write. Takes ev over. */
void read_take(struct run *r, struct recto_event *ev);
/* All that will come of this document has come. */
void read_ended(struct run *r, int doc);
/* A page that an earlier run has read counts as read. */
void read_count(struct run *r, int doc, enum recto_status status);
/* Stop what runs: all of it, or only the pages that have not begun. Documents still end, through read_take. */
void read_cancel(struct run *r, bool begun_too);
/* Nothing further is submitted or written, and the program will end with this code. */
void read_end(struct run *r, int exit);
/* Document `doc` as recto_submit wants it; points into r. */
struct recto_input read_input(const struct run *r, int doc);
/* There is no document behind this operand: say so, end it. */
void read_fault(struct run *r, int doc);
/* To standard output; a failure ends the run. */
void read_print(struct run *r, const char *text, size_t n);
/* `path` cannot be written, for the reason in errno: say so, end the run. */
void read_cannot_write(struct run *r, const char *path);
/* read_out.c. Text of --stream; pass on the pages of `doc` that can be passed on; its files, after its last page; standard
 * output, up to the first document that has not ended; forget a document. */
void out_stream(struct run *r, const char *text, size_t n);
void out_stream_end(struct run *r);
void out_pump(struct run *r, int doc);
void out_finish(struct run *r, int doc);
void out_print(struct run *r);
void out_release(struct run *r, int doc);
/* Does anything go to standard output in the order of the inputs? */
bool out_is_in_order(const struct run *r);
/* The exit code of --dry-run, after all is printed. */
int dry_run(const struct run *r, const struct options *o);
/* Pages that make the exit code EXIT_PAGES. */
int read_failed(const struct run *r);

#endif
