/* multipart/form-data (RFC 7578) as it arrives, in pieces of any size.
 *
 * At most 64 parts, 4 KiB of header a part, a boundary of 1 to 70 bytes that is followed exactly: what looks almost like a
 * delimiter is content.  Content goes to the callback at once; nothing but the tail that may begin a delimiter is kept. */
#ifndef RECTO_SERVER_MULTIPART_H
#define RECTO_SERVER_MULTIPART_H

#include "text.h"

#include <stdbool.h>

enum { MULTIPART_PARTS = 64, MULTIPART_HEAD = 4 << 10, MULTIPART_NAME = 1024 };

struct multipart_part {
    char name[64];                 /* of the form's field; "" if none was said */
    char filename[MULTIPART_NAME]; /* any bytes but NUL; "" if none was said */
};

struct multipart_calls {
    /* A part begins, its content comes, it ends. Not 0: stop; multipart_push then returns that. */
    int (*begin)(void *ctx, const struct multipart_part *part);
    int (*content)(void *ctx, const char *bytes, size_t n);
    int (*end)(void *ctx);
    void *ctx;
};

struct multipart {
    struct multipart_calls calls;
    char delimiter[80]; /* "\r\n--" and the boundary */
    size_t n_delimiter;
    int state, n_part;
    struct text held;
    const char *error; /* a sentence, once push has returned -1 for the client's fault */
};

/* content_type: the header's value. -1: not multipart/form-data, or without a usable boundary (error is set). */
int multipart_begin(struct multipart *m, const char *content_type,
                    const struct multipart_calls *calls);
/* 0, -1 with error, or what a callback returned. */
int multipart_push(struct multipart *m, const char *bytes, size_t n);
/* The body ended: -1 with error if the last delimiter did not come. */
int multipart_finish(struct multipart *m);
void multipart_reset(struct multipart *m);

#endif
