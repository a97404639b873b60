/* Whose pages are next: integers in, integers out.
 *
 * Three levels, each shared by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the classes interactive, normal and
 * batch 8 : 3 : 1 while all wait; within a class the owners alike; within an owner the jobs alike. So a job of three pages
 * beside one of three thousand gets every second page of its owner's share, and whoever comes after an idle time is not owed the
 * past. One thread. */
#ifndef RECTO_SERVER_FAIR_H
#define RECTO_SERVER_FAIR_H

#include "recto.h"

struct fair;

struct fair *fair_new(void);
void fair_free(struct fair *f);
/* A job has n_page more pages waiting in that class. */
void fair_add(struct fair *f, enum recto_class class, const char *owner, int64_t job, int n_page);
/* None of them waits any more, in any class. */
void fair_drop(struct fair *f, int64_t job);
/* Who is next: job and class; false: nobody waits. interactive_only: of that class. */
bool fair_next(struct fair *f, bool interactive_only, int64_t *job, enum recto_class *class);
/* It has been served n_page pages; n_left of it wait still in that class. */
void fair_served(struct fair *f, enum recto_class class, int64_t job, int n_page, int n_left);
/* Pages that wait for a job in that class, as far as f was told. */
int fair_waiting(const struct fair *f, enum recto_class class, int64_t job);

/* Call fn for each job that waits, with the number of pages that are handed out before its first if nothing else comes: by
 * serving a copy of f, `piece` pages at once, for so many steps; of jobs that had no turn by then nothing is said. */
typedef void fair_ahead_fn(void *ctx, int64_t job, int n_ahead);
void fair_look_ahead(const struct fair *f, int piece, int n_step, fair_ahead_fn *fn, void *ctx);

#endif
