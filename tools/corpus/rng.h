/* Random numbers that depend on the seed alone: SplitMix64 (Steele, Lea, Flood: Fast Splittable
 * Pseudorandom Number Generators, 2014). One stream a page, so that page i is the same whatever was
 * made before it. */
#ifndef CORPUS_RNG_H
#define CORPUS_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The stream of page i of a seed. */
static inline struct rng rng_of(uint64_t seed, uint64_t i)
{
    struct rng r = {seed};

    r.state = rng_next(&r) ^ i;
    r.state = rng_next(&r);
    return r;
}

/* 0 ... n-1; n is small, so the bias of % does not matter. */
static inline int rng_below(struct rng *r, int n)
{
    return (int)(rng_next(r) >> 33) % n;
}

/* lo ... hi, both included. */
static inline int rng_in(struct rng *r, int lo, int hi)
{
    return lo + rng_below(r, hi - lo + 1);
}

/* [-1, 1] */
static inline double rng_wobble(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * (2.0 / 9007199254740992.0) - 1;
}

/* About N(0, 1): the sum of four uniform 16-bit numbers, of variance (65536^2 - 1) / 3. */
static inline double rng_normal(struct rng *r)
{
    uint64_t v = rng_next(r);
    int sum = (int)(v & 65535) + (int)(v >> 16 & 65535) + (int)(v >> 32 & 65535) + (int)(v >> 48);

    return (sum - 131070) * (1 / 37837.2275);
}

#endif
