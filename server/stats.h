/* What the page's monitor shows: device, engine, queue, host; sampled once a second, the last 600 samples kept.
 * In the samples use is the mean over the devices, power and memory are sums. What nobody can tell (a CPU's power, say) is null, never 0. */
#ifndef RECTO_SERVER_STATS_H
#define RECTO_SERVER_STATS_H

#include <jansson.h>
#include <stdbool.h>

struct server;
struct stats;

enum { STATS_DEVICES = 64 };

/* How many devices the models lie on; the engine has to be there. */
int stats_devices(const struct server *s);

/* Start sampling. NULL: no thread. tick, if not NULL, is called after each sample. */
struct stats *stats_open(struct server *s, void (*tick)(void *ctx), void *ctx);
void stats_close(struct stats *st);
/* False: the engine has work and has made no step for 30 s. */
bool stats_is_alive(struct stats *st);
/* The object of GET /v1/stats; with the samples of the last ten minutes if asked. The caller decrefs. */
json_t *stats_json(struct server *s, bool with_history);

#endif
