/* A simulated device: a backend whose ops compute nothing and only advance a clock, by a roofline of the named machine.
 *
 *   "sim:h200", "sim:a100", "sim:cpu2"     never chosen unless named
 *   "sim:h200-measured"                    the same, but views and rows take what recto was measured to take on one H200
 *
 * It runs the real engine over any configuration (config.json; no weights are read) millions of steps a minute, to compare
 * policies and to plan for many devices.  An op takes max(operations / rate, bytes / bandwidth) + a launch; rate and bandwidth
 * are the shares of the machine's measured peaks that tuned kernels are expected to reach.  Text is scripted: a page's length
 * and ids follow from its image's key, so a page reads the same wherever and whenever it runs.
 *
 *   "script:FILE"     the same ops on the machine's own clock, with every request's ids from FILE (src/script.h) */
#ifndef RECTO_BACKEND_SIM_H
#define RECTO_BACKEND_SIM_H

#include "backend/backend.h"

/* New ids of the page with this image key, before EOS: 600 when bit 63 is set, else 100 to 1100, 600 on average. */
int sim_page_length(uint64_t image);
int32_t sim_page_id(uint64_t image, int i, int vocab);

/* ---- for tests and simulations, on a device of backend_sim ---- */
/* Let the clock stand at least at t (the engine has nothing to do until then). */
void sim_wait_until(struct device *d, int64_t t_ns);
/* Choosing an id for a page whose key is a multiple of `every` fails, as a broken op would; 0: never. */
void sim_break_pages(struct device *d, uint64_t every);
/* Bytes handed out and not freed. */
int64_t sim_bytes(const struct device *d);

#endif
