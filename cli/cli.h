/* What the parts of the command line program share: commands, exit codes, engine settings.
 * Everything in cli/ includes recto.h, and of the project nothing else but eval/ (which includes no
 * more): what the program can do, any other program can do through the public API. */
#ifndef RECTO_CLI_H
#define RECTO_CLI_H

#include "options.h"
#include "recto.h"

enum exit_code {
    EXIT_FINE = 0,   /* every page ok or blank; everything held */
    EXIT_BUG = 1,    /* the program is at fault */
    EXIT_USAGE = 2,  /* a wrong option, a name clash, an output that exists */
    EXIT_PAGES = 3,  /* finished, but a page ended error, loop or length, or a check did not hold */
    EXIT_INPUT = 4,  /* no input could be read at all */
    EXIT_MODEL = 5,  /* the model or the device */
    EXIT_OUTPUT = 6, /* the output */
    EXIT_INTERRUPTED = 130, /* SIGINT */
    EXIT_TERMINATED = 143,  /* SIGTERM */
    EXIT_PIPE = 141,        /* the reader of stdout went away before everything was written */
};

struct cmd {
    const char *name;
    unsigned mask; /* FOR_...: its options in the table */
    int (*run)(const struct options *o);
    const char *operands; /* what follows the options, for the synopsis */
    const char *what;     /* one line for the list of commands */
    const char *more;     /* text under the synopsis in the command's own help */
};

int cmd_read(const struct options *o);
int cmd_inspect(const struct options *o);
int cmd_verify(const struct options *o);
int cmd_bench(const struct options *o);
int bench_loss(const struct options *o);
int cmd_eval(const struct options *o);
int cmd_quantize(const struct options *o);
int cmd_serve(const struct options *o);
int cmd_key(const struct options *o);
int cmd_store(const struct options *o);

/* The options that concern an engine, over recto_settings_init's defaults.  s points into o. */
void settings_from(const struct options *o, struct recto_settings *s);
/* The options that concern a page; 0 or EXIT_USAGE after a message.  p points into o. */
int page_options_from(const struct options *o, struct recto_options *p);
/* The options that concern how documents are opened and drawn; *password is owned by the caller, in
 * points into o and it. 0, or an exit code after a message. */
int input_options_from(const struct options *o, struct recto_input *in, char **password);
/* The options that concern how results are written, over recto_write_options_init's defaults. w points into o. */
void write_options_from(const struct options *o, struct recto_write_options *w);
/* "20/90", "3/all" or "off" as guard_n and guard_w of recto_options; NULL leaves 0, 0.  0 or
 * EXIT_USAGE. */
int guard_from(const struct options *o, int *n, int *w);

/* Where the server keeps jobs: --data, or the state directory of the service (STATE_DIRECTORY) or user. Returns out. */
const char *data_dir_from(const struct options *o, char out[1024]);

/* The exit code for a failed call of recto.h outside the reading of a page. */
int exit_of_error(int code);
/* Is this code about the input file, rather than the model or ourselves? */
bool is_input_error(int code);
/* Print `recto: SENTENCE (CODE)` for the failure that just came back from recto.h and return its
 * exit code. */
int report_failure(int code);
/* One line on stderr: a small demonstration model reads, and how to use the released one. */
void announce_default_model(void);

#endif
