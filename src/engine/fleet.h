/* Engines side by side, each with a whole model on devices of its own, and one queue before them (shelf.h).  Of one engine a
 * fleet is that engine.
 *
 * When an engine's device is lost, its pages go back to the queue, keeping the ids they have, and the others read them to the end;
 * a page that has been on MOVES_MOST lost devices ends with an error, since it may be the cause. */
#ifndef RECTO_ENGINE_FLEET_H
#define RECTO_ENGINE_FLEET_H

#include "engine/engine.h"

struct fleet {
    struct engine *engine; /* [n] */
    int n;
    struct shelf *shelf; /* NULL: one engine, which has its own inbox */
};

/* n engines with their models, engine i on dev [i * n_rank ...]; o is for each. After any outcome fleet_close is safe. */
int fleet_open(struct fleet *f, const char *model_dir, const char *backend,
               const struct device_opts *dev, const struct engine_opts *o, int n);
int fleet_start(struct fleet *f);
void fleet_close(struct fleet *f);
/* As engine_submit_wait. */
int fleet_submit_wait(struct fleet *f, struct request *q);
/* The part of a model on device i of those that fleet_open was given. */
const struct model *fleet_model(const struct fleet *f, int i);
/* Sums over all engines. */
void fleet_get_stats(struct fleet *f, struct engine_stats *s);

#endif
