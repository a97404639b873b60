/* The course of a page: which readings it gets, one stage after another, until one is good or the ladder ends (ladder.h).
 *
 * A stage is one reading, or two halves, or four probes at once.  Page workers prepare it, the engine runs it; when its last
 * reading ends, course_stage_done decides, still on that thread, and the page goes back to the workers' list or out. */
#ifndef RECTO_COURSE_H
#define RECTO_COURSE_H

#include "walk.h"

/* A new page's first stage: reads it, or probes its orientation before. */
enum rung course_first(const struct job *j);
/* Set j's readings up for its rung: views of the page as displayed (NULL: they are there), prompts, requests. */
int course_prepare(struct job *j, const struct recto_image *page);
/* How many requests a rung's stage is: 1, 2 halves, 4 probes. */
int course_readings(enum rung r);
/* The guard of a plain reading: the options', else the model's. */
void course_guard(const struct job *j, int *n, int *w);
/* New ids that the page may still get. */
int course_budget(const struct job *j);
/* All readings of the stage have ended. */
void course_stage_done(struct job *j);
/* The stage could not be prepared: rc, with its sentence. */
void course_stage_failed(struct job *j, int rc);

#endif
