/* What a user sees on stderr: messages, and one line of progress.
 *
 * say() may be called from any thread (the engine's log comes from its own threads).  Messages
 * scroll above the progress line.  Names of files and sentences about them come from outside, so
 * control characters are replaced before printing. */
#ifndef RECTO_CLI_PROGRESS_H
#define RECTO_CLI_PROGRESS_H

#include "recto.h"

enum say_level { SAY_ERROR, SAY_WARN, SAY_INFO, SAY_DEBUG };
enum progress_mode { PROGRESS_NONE, PROGRESS_PLAIN, PROGRESS_LINE };

/* Print messages up to this level; call once, before any thread starts. */
void say_init(enum say_level most);
/* Append all messages to a file, too, with the time, whatever is printed. 0, or -1 with errno. */
int say_log_open(const char *path);
/* Print messages as JSON objects, a line each: {"time":...,"level":...,"message":...}. */
void say_as_json(bool is_so);
bool say_prints(enum say_level level);
bool say_hears(enum say_level level); /* to print or for the log */
/* `recto: ` + the sentence (printf style, no newline) as one line. */
void say(enum say_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A recto_log_fn that says what the engine logs. */
void say_log(void *ctx, enum recto_log_level level, const char *line);

/* "auto" is a line on a terminal and plain elsewhere; "plain" and "none" as they say. */
enum progress_mode progress_mode_of(const char *name);
void progress_start(enum progress_mode mode, int total_docs);
struct progress {            /* pages */
    int done, before, total; /* before: of those done, what an earlier run has read */
    int retried, loop, failed;
    const char *current; /* the one that has ended last */
};
/* Redrawn at most ten times a second (plain: a line every ten seconds). */
void progress_show(const struct progress *p);
/* A document ended: a line of its own in plain mode, when there are several documents. */
void progress_document(const char *name, int n_page, const char *status);
/* Take the line off the screen, because something else is about to be printed. */
void progress_clear(void);
void progress_stop(void);
/* Seconds since progress_start. */
double progress_seconds(void);

#endif
