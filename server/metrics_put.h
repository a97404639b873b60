/* The lines of /metrics: how they look, and those whose figures others keep. */
#ifndef RECTO_SERVER_METRICS_PUT_H
#define RECTO_SERVER_METRICS_PUT_H

#include "text.h"

struct server;

/* The two comment lines before a family; type: counter, gauge, histogram. */
void metrics_head(struct text *out, const char *name, const char *type, const char *what);
/* A family of one; a value that is NAN is left out, family and all. */
void metrics_one(struct text *out, const char *name, const char *type, const char *what,
                 double value);
/* Build, readiness, connections, engine, device, process, store. */
void metrics_put_rest(struct server *s, struct text *out);

#endif
