/* recto-pdf: lays recognised text invisibly over the pages of a PDF, or makes a PDF of pictures, in the sandbox of
 * recto-decode: libqpdf reads documents from anywhere, and one that takes it over has taken over nothing else.
 * Started by recto; src/base/pdf_proto.h is what is said. */
#include "base/decode_proto.h"
#include "base/err.h"
#include "base/mem.h"
#include "helper/pdfout/file.h"
#include "helper/probe.h"
#include "helper/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_MIB 4096 /* beside the document itself */
#define CPU_S      600
#define OUT_BUFFER 65536

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct settings {
    bool is_strict;
    unsigned without;
    const char *probe;
};

static int parse(struct settings *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--strict") == 0)
            s->is_strict = true;
        else if (strcmp(argv[i], "--without") == 0 && strcmp(value, "landlock") == 0)
            s->without |= DECODE_NO_LANDLOCK, i++;
        else if (strcmp(argv[i], "--without") == 0 && strcmp(value, "seccomp") == 0)
            s->without |= DECODE_NO_SECCOMP, i++;
        else if (strcmp(argv[i], "--probe") == 0 && *value)
            s->probe = value, i++;
        else
            return -1;
    }
    return 0;
}

/* ---- the stream ---------------------------------------------------------------------------------- */

static int read_all(void *to, uint64_t n)
{
    char *p = to;

    while (n) {
        ssize_t got = read(STDIN_FILENO, p, (size_t)n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return err(RECTO_EFORMAT, "the records end early");
        p += got, n -= (uint64_t)got;
    }
    return 0;
}

struct record {
    struct pdf_head head;
    char *bytes; /* [head.n], and a NUL behind */
    size_t cap;
};

static int read_record(struct record *r)
{
    unsigned char packed[PDF_HEAD_BYTES];

    TRY(read_all(packed, sizeof packed));
    TRY(pdf_head_unpack(&r->head, packed));
    if (r->head.n + 1 > r->cap) {
        free(r->bytes);
        r->cap = (size_t)r->head.n + 1;
        r->bytes = malloc(r->cap);
        if (!r->bytes)
            return err(RECTO_ETOOLARGE, "no memory for a record of %zu bytes", r->cap);
    }
    r->bytes[r->head.n] = 0;
    return read_all(r->bytes, r->head.n);
}

/* ---- what is asked for ----------------------------------------------------------------------------- */

struct document {
    unsigned char *p; /* NULL: none */
    size_t n;
};

/* Mapped before the sandbox closes: nothing can be mapped from a file inside it. */
static struct document map_document(void)
{
    struct stat st;
    void *p;

    if (fstat(PDF_DOCUMENT_FD, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 1)
        return (struct document){0};
    p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, PDF_DOCUMENT_FD, 0);
    return p == MAP_FAILED ? (struct document){0} : (struct document){p, (size_t)st.st_size};
}

static int add_picture(struct out_file *f, const struct record *r)
{
    struct pdf_picture p;

    if (r->head.n < PDF_PICTURE_BYTES || (f->flags & PDF_HAS_DOCUMENT))
        return err(RECTO_EFORMAT, "a picture where none can be");
    TRY(pdf_picture_unpack(&p, (const unsigned char *)r->bytes));
    return picture_add(f, &p,
                       (str){r->bytes + PDF_PICTURE_BYTES, (size_t)r->head.n - PDF_PICTURE_BYTES});
}

static int take(struct out_file *f, const struct record *r, const struct document *d)
{
    str bytes = {r->bytes, (size_t)r->head.n};

    if (r->head.what == PDF_OPEN ? f->q != NULL : f->q == NULL)
        return err(RECTO_EFORMAT, "record %d out of place", (int)r->head.what);
    if (r->head.what == PDF_OPEN && (r->head.a & PDF_HAS_DOCUMENT) && !d->p)
        return err(RECTO_EREAD, "the document cannot be mapped");
    switch (r->head.what) {
    case PDF_OPEN:
        return file_open(f, r->head.a & PDF_HAS_DOCUMENT ? d->p : NULL, d->n, &r->head, r->bytes);
    case PDF_PICTURE:
        return add_picture(f, r);
    case PDF_TEXT:
        return page_add_text(f, r->head.a, r->head.b, bytes);
    case PDF_END:
        return file_write_out(f);
    default:
        return font_set(f, r->head.what, bytes);
    }
}

static int serve(const struct document *d)
{
    struct out_file f = {0};
    struct record r = {0};
    int rc;

    do {
        rc = read_record(&r);
        if (rc == 0)
            rc = take(&f, &r, d);
    } while (rc == 0 && r.head.what != PDF_END);
    file_close(&f);
    free(r.bytes);
    return rc;
}

/* The two streams, and the memory for the document on top. */
static int enter(const struct settings *s, const struct document *d)
{
    struct sandbox_limits l = {
        .memory_mib = MEMORY_MIB + (int)(d->n >> 20), .cpu_s = CPU_S, .without = s->without};
    int missing = sandbox_enter(&l);

    if (missing > 0 && s->is_strict)
        return err(RECTO_ERENDER, "this system lacks the sandbox that was asked for");
    return missing;
}

/* By write itself, since stdio would first ask what kind of stream it is. */
static void answer(int rc, int missing)
{
    char line[ERR_TEXT_MAX + 64];
    int n = snprintf(line, sizeof line, PDF_ANSWER_LINE "%s\n", rc < 0 ? rc : 0,
                     missing < 0 ? 0u : (unsigned)missing, rc < 0 ? err_text() : "");

    if (write(STDERR_FILENO, line, (size_t)n) != n)
        _exit(EXIT_FAILED);
}

int main(int argc, char **argv)
{
    static char
        out[OUT_BUFFER]; /* a buffer of ours, or stdio would ask for the kind of the stream */
    struct settings s = {0};
    struct document d;
    int rc, missing;

    if (parse(&s, argc, argv) < 0) {
        fprintf(stderr, "recto-pdf is started by recto and reads from its standard input.\n");
        return EXIT_USAGE;
    }
    closefrom(PDF_DOCUMENT_FD + 1);
    setvbuf(stdout, out, _IOFBF, sizeof out);
    d = map_document();
    close(PDF_DOCUMENT_FD);
    rc = missing = enter(&s, &d);
    if (s.probe && missing >= 0)
        _exit(probe_run(s.probe));
    if (rc >= 0)
        rc = serve(&d);
    answer(rc, missing);
    _exit(rc < 0 ? EXIT_FAILED : EXIT_DONE);
}
