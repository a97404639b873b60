/* How often somebody may call: a bucket of tokens for each key, or each address where there are no keys.  A bucket holds
 * `burst` and fills at `rate` a second.  4096 callers are remembered; who has called least lately is forgotten first. */
#ifndef RECTO_SERVER_LIMIT_H
#define RECTO_SERVER_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct limit;
struct limit_state {
    int limit, remaining; /* calls at once; left now */
    int64_t reset_ms;     /* until the bucket is full */
    int64_t retry_ms;     /* until the next call may come, when this one may not */
};

struct limit *limit_open(void);
void limit_close(struct limit *l);
/* May `who` call now? A token is taken if so. rate 0: always. */
bool limit_take(struct limit *l, const char *who, double rate, int burst, struct limit_state *out);

#endif
