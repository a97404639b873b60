/* Numbers on the streams between recto and its helpers: little-endian, one after the other. Each call advances *p. */
#ifndef RECTO_BASE_WIRE_H
#define RECTO_BASE_WIRE_H

#include <stdint.h>

static inline void wire_put32(unsigned char **p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        *(*p)++ = (unsigned char)(v >> (8 * i));
}

static inline void wire_put64(unsigned char **p, uint64_t v)
{
    wire_put32(p, (uint32_t)v);
    wire_put32(p, (uint32_t)(v >> 32));
}

static inline uint32_t wire_get32(const unsigned char **p)
{
    uint32_t v = 0;

    for (int i = 0; i < 4; i++)
        v |= (uint32_t) * (*p)++ << (8 * i);
    return v;
}

static inline uint64_t wire_get64(const unsigned char **p)
{
    uint64_t lo = wire_get32(p);

    return lo | (uint64_t)wire_get32(p) << 32;
}

#endif
