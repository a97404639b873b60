#include "result/zip.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <zlib.h>

enum {
    LOCAL_HEADER = 0x04034b50,
    CENTRAL_HEADER = 0x02014b50,
    END_RECORD = 0x06054b50,
    VERSION = 20, /* 2.0: folders, deflate */
    STORED = 0,
    DEFLATED = 8,
    NAME_IS_ASCII = 0,
    DATE = 1 << 5 | 1, /* 1 January 1980, the first there is */
    RAW_DEFLATE = -15, /* window bits; negative: without zlib's own header */
    MEMORY_LEVEL = 8,
};

static void put16(struct buf *b, unsigned v)
{
    buf_char(b, (char)v);
    buf_char(b, (char)(v >> 8));
}

static void put32(struct buf *b, uint32_t v)
{
    put16(b, v & 0xFFFF);
    put16(b, v >> 16);
}

/* Deflate into `to`; false when it does not become smaller. */
static bool deflated(struct buf *to, str s)
{
    z_stream z = {.next_in = (Bytef *)s.p, .avail_in = (uInt)s.n};
    bool is_smaller;

    if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, RAW_DEFLATE, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    to->cap = s.n + 1;
    to->p = mem_alloc(to->cap);
    z.next_out = (Bytef *)to->p;
    z.avail_out = (uInt)s.n;
    is_smaller = deflate(&z, Z_FINISH) == Z_STREAM_END;
    to->n = is_smaller ? z.total_out : 0;
    deflateEnd(&z);
    return is_smaller;
}

/* What both headers say of an entry. */
static void put_facts(struct buf *b, unsigned method, str content, size_t n_packed,
                      const char *name)
{
    put16(b, VERSION);
    put16(b, NAME_IS_ASCII);
    put16(b, method);
    put16(b, 0); /* midnight */
    put16(b, DATE);
    put32(b, (uint32_t)crc32(crc32(0, NULL, 0), (const Bytef *)content.p, (uInt)content.n));
    put32(b, (uint32_t)n_packed);
    put32(b, (uint32_t)content.n);
    put16(b, (unsigned)strlen(name));
    put16(b, 0); /* no extra field */
}

int zip_add(struct zip *z, struct buf *out, const char *name, str content)
{
    struct buf packed = {0};
    bool is_packed;
    size_t before = out->n;
    str data;

    if (z->n_entry >= ZIP_ENTRIES_MAX || content.n > ZIP_BYTES_MAX - z->n_byte)
        return err(RECTO_ETOOLARGE, "more than a ZIP archive can hold (65535 files, 4 GB)");
    is_packed = deflated(&packed, content);
    data = is_packed ? buf_view(&packed) : content;

    put32(out, LOCAL_HEADER);
    put_facts(out, is_packed ? DEFLATED : STORED, content, data.n, name);
    buf_text(out, name);
    buf_str(out, data);

    put32(&z->central, CENTRAL_HEADER);
    put16(&z->central, VERSION);
    put_facts(&z->central, is_packed ? DEFLATED : STORED, content, data.n, name);
    put16(&z->central, 0); /* no comment */
    put16(&z->central, 0); /* the only disk */
    put16(&z->central, 0); /* internal, */
    put32(&z->central, 0); /* external attributes */
    put32(&z->central, (uint32_t)z->n_byte);
    buf_text(&z->central, name);

    z->n_byte += out->n - before;
    z->n_entry++;
    buf_reset(&packed);
    return 0;
}

void zip_end(struct zip *z, struct buf *out)
{
    buf_str(out, buf_view(&z->central));
    put32(out, END_RECORD);
    put16(out, 0); /* this disk, */
    put16(out, 0); /* that of the directory */
    put16(out, (unsigned)z->n_entry);
    put16(out, (unsigned)z->n_entry);
    put32(out, (uint32_t)z->central.n);
    put32(out, (uint32_t)z->n_byte);
    put16(out, 0); /* no comment */
    zip_reset(z);
}

void zip_reset(struct zip *z)
{
    buf_reset(&z->central);
    *z = (struct zip){0};
}
