#include "archive.h"

#include "fault.h"

#include <errno.h>
#include <sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { ENTRIES_MAX = 65535, VERSION = 20, FLAG_UTF8 = 1 << 11, DEFLATED = 8 };
#define DATE_1980 0x21u /* 1 January 1980, the format's first day */

struct entry {
    char *name;
    unsigned at, crc, packed, bytes;
    bool is_packed;
};

struct archive {
    int fd, rc;
    struct fault_note why;
    unsigned long long at; /* in the file */
    struct entry *entry;
    int n_entry;
    z_stream deflate;
    SHA2_CTX sha;
    unsigned long long bytes; /* of the entry under way */
};

static void latch(struct archive *z, int rc)
{
    if (z->rc == 0 && rc < 0) {
        z->rc = rc;
        fault_save(&z->why, rc);
    }
}

static void put(struct archive *z, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n > 0 && z->rc == 0) {
        ssize_t done = write(z->fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            latch(z, fault_write("the archive"));
            return;
        }
        p += done;
        n -= (size_t)done;
        z->at += (unsigned long long)done;
    }
    if (z->at > 0xfffffffeu)
        latch(z, fault(JOBS_INVALID_VALUE, NULL,
                       "the archive would pass 4 GiB: take the formats one by one"));
}

static void le(unsigned char **p, unsigned v, int n)
{
    for (int i = 0; i < n; i++)
        *(*p)++ = (unsigned char)(v >> (8 * i));
}

/* What local header and directory have in common. */
static void common(unsigned char **p, const struct entry *e)
{
    le(p, VERSION, 2);
    le(p, FLAG_UTF8, 2);
    le(p, e->is_packed ? DEFLATED : 0, 2);
    le(p, 0, 2); /* time */
    le(p, DATE_1980, 2);
    le(p, e->crc, 4);
    le(p, e->packed, 4);
    le(p, e->bytes, 4);
    le(p, (unsigned)strlen(e->name), 2);
    le(p, 0, 2); /* extra field */
}

enum { LOCAL = 30, CENTRAL = 46, END_RECORD = 22 };

static void local_header(const struct entry *e, unsigned char out[LOCAL])
{
    unsigned char *p = out;

    le(&p, 0x04034b50, 4);
    common(&p, e);
}

struct archive *archive_new(int fd)
{
    struct archive *z = calloc(1, sizeof *z);

    if (!z)
        abort();
    z->fd = fd;
    return z;
}

void archive_begin(struct archive *z, const char *name, bool is_packed)
{
    unsigned char head[LOCAL];

    if (z->n_entry == ENTRIES_MAX) {
        latch(z, fault(JOBS_INVALID_VALUE, NULL,
                       "the archive would pass 65535 files: take the formats one by one"));
        return;
    }
    z->entry = realloc(z->entry, (size_t)(z->n_entry + 1) * sizeof *z->entry);
    if (!z->entry)
        abort();
    z->entry[z->n_entry++] = (struct entry){
        .name = strdup(name), .at = (unsigned)z->at, .is_packed = is_packed};
    z->bytes = 0;
    SHA256Init(&z->sha);
    local_header(&z->entry[z->n_entry - 1], head);
    put(z, head, sizeof head);
    put(z, name, strlen(name));
    z->deflate = (z_stream){0};
    if (is_packed && deflateInit2(&z->deflate, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                                  Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
}

static void pack(struct archive *z, const void *bytes, size_t n, int flush)
{
    unsigned char out[65536];
    int rc;

    z->deflate.next_in = (unsigned char *)bytes;
    z->deflate.avail_in = (unsigned)n;
    do {
        z->deflate.next_out = out;
        z->deflate.avail_out = sizeof out;
        rc = deflate(&z->deflate, flush);
        put(z, out, sizeof out - z->deflate.avail_out);
    } while (z->deflate.avail_out == 0 || (flush == Z_FINISH && rc != Z_STREAM_END && z->rc == 0));
}

void archive_write(struct archive *z, const void *bytes, size_t n)
{
    if (z->rc < 0 || n == 0)
        return;
    struct entry *e = &z->entry[z->n_entry - 1];
    e->crc = (unsigned)crc32_z(e->crc, bytes, n);
    SHA256Update(&z->sha, bytes, n);
    z->bytes += n;
    if (e->is_packed)
        pack(z, bytes, n, Z_NO_FLUSH);
    else
        put(z, bytes, n);
}

/* Sizes are known now: into the header in front of the entry. */
void archive_close(struct archive *z, char sha256[65])
{
    unsigned char head[LOCAL];

    sha256[0] = 0;
    if (z->n_entry == 0)
        return;
    struct entry *e = &z->entry[z->n_entry - 1];
    if (e->is_packed) {
        if (z->rc == 0)
            pack(z, "", 0, Z_FINISH);
        deflateEnd(&z->deflate);
    }
    SHA256End(&z->sha, sha256);
    if (z->bytes > 0xfffffffeu)
        latch(z, fault(JOBS_INVALID_VALUE, NULL, "a file of the archive would pass 4 GiB"));
    e->bytes = (unsigned)z->bytes;
    e->packed = (unsigned)(z->at - e->at - LOCAL - strlen(e->name));
    local_header(e, head);
    if (z->rc == 0 && pwrite(z->fd, head, sizeof head, (off_t)e->at) != (ssize_t)sizeof head)
        latch(z, fault_write("the archive"));
}

static void put_directory(struct archive *z)
{
    unsigned long long from = z->at;
    unsigned char end[END_RECORD], *p = end;

    for (int i = 0; i < z->n_entry; i++) {
        unsigned char head[CENTRAL] = {0}, *h = head;
        le(&h, 0x02014b50, 4);
        le(&h, 3 << 8 | VERSION, 2); /* made on Unix */
        common(&h, &z->entry[i]);
        le(&h, 0, 2); /* comment */
        le(&h, 0, 2); /* disk */
        le(&h, 0, 2); /* internal attributes */
        le(&h, 0100644u << 16, 4);
        le(&h, z->entry[i].at, 4);
        put(z, head, sizeof head);
        put(z, z->entry[i].name, strlen(z->entry[i].name));
    }
    le(&p, 0x06054b50, 4);
    le(&p, 0, 4);
    le(&p, (unsigned)z->n_entry, 2);
    le(&p, (unsigned)z->n_entry, 2);
    le(&p, (unsigned)(z->at - from), 4);
    le(&p, (unsigned)from, 4);
    le(&p, 0, 2);
    put(z, end, sizeof end);
}

int archive_end(struct archive *z)
{
    if (z->rc == 0)
        put_directory(z);
    int rc = z->rc < 0 ? fault_load(&z->why) : 0;
    for (int i = 0; i < z->n_entry; i++)
        free(z->entry[i].name);
    free(z->entry);
    free(z);
    return rc;
}
