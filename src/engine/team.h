/* Threads that do the same thing at the same time, one for each rank of a model (ranks.h).  The caller is rank 0. */
#ifndef RECTO_ENGINE_TEAM_H
#define RECTO_ENGINE_TEAM_H

struct team;

/* 0, or a negative code with its sentence. */
typedef int team_fn(void *ctx, int rank);

/* n - 1 threads, which belong to the one that calls team_run. RECTO_EINTERNAL: no thread. */
int team_open(struct team **out, int n);
void team_close(struct team *t); /* NULL is fine */
/* fn by every rank on its own thread; returns when all have.  The failure of the lowest rank that has one which is not only
 * that of another (RECTO_EDEVICE because of comm_abort), with its sentence; 0: none. */
int team_run(struct team *t, team_fn *fn, void *ctx);

#endif
