/* JSON with pictures in it, as it arrives: strings that are base64 "data:" URLs go to files, the rest to memory.
 *
 * A string value that begins with data:TYPE;base64, is decoded into a file of its own and stands in the kept text as the
 * string "\u0001N" (N = 0, 1, ...); a client that writes such a string itself names a picture of its own call, no other.  So a body of 64 MiB costs its files, and memory for what is no picture.  Only "\/" may be escaped inside base64. */
#ifndef RECTO_SERVER_SIEVE_H
#define RECTO_SERVER_SIEVE_H

#include "text.h"

#include <stdbool.h>
#include <stdint.h>

enum { SIEVE_FILES = 64, SIEVE_TEXT_MAX = 4 << 20, SIEVE_HEAD_MAX = 256 };

struct sieve {
    struct text text;    /* the JSON with file marks instead of data URLs */
    int fd[SIEVE_FILES]; /* unlinked files, open for reading and writing */
    int64_t bytes[SIEVE_FILES];
    int n_file;
    const char *error; /* a sentence, once sieve_push has returned -1 */
    bool is_full;      /* the fault is of the disk, not of the client */
    /* inside */
    const char *dir;
    int state;
    struct text head; /* of a string that may become a data URL */
    uint32_t bits;
    int n_bit, n_pad;
    unsigned char out[4096];
    size_t n_out;
};

/* dir: where the files are made; borrowed. */
void sieve_begin(struct sieve *s, const char *dir);
/* -1 with error: base64 that is none, too many files, too much text, no room on disk. */
int sieve_push(struct sieve *s, const char *bytes, size_t n);
/* Closes the files. */
void sieve_reset(struct sieve *s);
/* The index of the file that a string of the kept text stands for; -1: it is an ordinary string. */
int sieve_file(const struct sieve *s, const char *string);

#endif
