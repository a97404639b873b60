/* recto-decode: turns the bytes of one picture after the other into RGB, in a sandbox, so that a
 * hostile file can take over nothing but this process, which has no secrets, no files, no network.
 * Started by recto; src/base/decode_proto.h is what is said over its stdin and stdout.  Nothing is
 * written to stderr: what goes wrong is an answer.
 *
 * For PDF, one process a page: it goes into a sandbox of its own and becomes poppler's (pdf.h). */
#include "base/decode_proto.h"
#include "base/err.h"
#include "helper/decode.h"
#include "helper/pdf.h"
#include "helper/probe.h"
#include "helper/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_MIB  2048
#define CPU_S       90 /* of the process; it retires after 30, so that any page has 60 */
#define DRAIN_BYTES 65536

struct settings {
    struct sandbox_limits limits;
    bool is_strict;
    const char *probe;
    bool is_pdf; /* become a program that reads one, see helper/pdf.h */
    struct pdf_ask pdf;
};

enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_SANDBOX = 3, EXIT_STREAM = 4 };

static int parse_number(const char *s, int lo, int hi, int *out)
{
    char *end;
    long v = strtol(s, &end, 10);

    if (*s == 0 || *end || v < lo || v > hi)
        return -1;
    *out = (int)v;
    return 0;
}

static int parse_without(const char *s, unsigned *out)
{
    if (strcmp(s, "landlock") == 0)
        *out |= DECODE_NO_LANDLOCK;
    else if (strcmp(s, "seccomp") == 0)
        *out |= DECODE_NO_SECCOMP;
    else
        return -1;
    return 0;
}

/* Options without a value. */
static bool parse_flag(struct settings *s, const char *name)
{
    if (strcmp(name, "--strict") == 0)
        s->is_strict = s->pdf.is_strict = true;
    else if (strcmp(name, "--pdf-info") == 0)
        s->is_pdf = true;
    else if (strcmp(name, "--no-annots") == 0)
        s->pdf.hides_annots = true;
    else
        return false;
    return true;
}

static int parse_page(struct settings *s, enum pdf_what what, const char *value)
{
    s->is_pdf = true;
    s->pdf.what = what;
    return parse_number(value, 1, INT_MAX, &s->pdf.page);
}

/* Those of --pdf-info, --pdf-draw and the like; 1: it is none of them. */
static int parse_pdf(struct settings *s, const char *name, const char *value)
{
    if (strcmp(name, "--width") == 0)
        return parse_number(value, 1, DECODE_SIDE_MAX, &s->pdf.width);
    else if (strcmp(name, "--height") == 0)
        return parse_number(value, 1, DECODE_SIDE_MAX, &s->pdf.height);
    else if (strcmp(name, "--pdf-draw") == 0)
        return parse_page(s, PDF_DRAW, value);
    else if (strcmp(name, "--pdf-text") == 0)
        return parse_page(s, PDF_TEXT, value);
    else if (strcmp(name, "--pdf-fonts") == 0)
        return parse_page(s, PDF_FONTS, value);
    else
        return 1;
    return 0;
}

static int parse(struct settings *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        int rc;

        if (parse_flag(s, name))
            continue;
        rc = parse_pdf(s, name, value);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            i++;
            continue;
        }
        rc = 0;
        if (strcmp(name, "--cpu-s") == 0)
            rc = parse_number(value, 1, 86400, &s->limits.cpu_s);
        else if (strcmp(name, "--memory-mib") == 0)
            rc = parse_number(value, 64, 1 << 20, &s->limits.memory_mib);
        else if (strcmp(name, "--without") == 0)
            rc = parse_without(value, &s->limits.without);
        else if (strcmp(name, "--probe") == 0)
            s->probe = s->pdf.probe = value;
        else
            rc = -1;
        if (rc < 0)
            return rc;
        i++;
    }
    return s->pdf.what == PDF_DRAW && !(s->pdf.width && s->pdf.height) ? -1 : 0;
}

static void usage(void)
{
    fprintf(stderr, "recto-decode is started by recto and reads requests from its standard input.\n"
                    "usage: recto-decode [--strict] [--cpu-s N] [--memory-mib N]\n"
                    "       recto-decode --pdf-info <FILE\n"
                    "       recto-decode --pdf-draw N --width W --height H [--no-annots] <FILE\n"
                    "       recto-decode --pdf-text N <FILE\n"
                    "       recto-decode --pdf-fonts N <FILE\n"
                    "for tests: [--without landlock|seccomp] "
                    "[--probe open|write|socket|exec|fork|memory|cpu|code]\n");
}

static bool read_all(unsigned char *p, size_t n)
{
    while (n) {
        ssize_t got = read(STDIN_FILENO, p, n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got, n -= (size_t)got;
    }
    return true;
}

static bool write_all(const unsigned char *p, size_t n)
{
    while (n) {
        ssize_t put = write(STDOUT_FILENO, p, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        p += put, n -= (size_t)put;
    }
    return true;
}

static bool drain(uint64_t n)
{
    static unsigned char waste[DRAIN_BYTES];

    while (n) {
        size_t some = n < sizeof waste ? (size_t)n : sizeof waste;

        if (!read_all(waste, some))
            return false;
        n -= some;
    }
    return true;
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The file's bytes follow the request. They are taken off the stream even when there is no room for
 * them, since the other side does not listen before it has sent all. */
static bool read_file(struct file_bytes *f, unsigned char **block, uint64_t n)
{
    *block = malloc(n ? (size_t)n : 1);
    *f = (struct file_bytes){*block, (size_t)n};
    return *block ? read_all(*block, f->n) : drain(n);
}

/* One request and its answer; false when the stream has ended or the helper is to end. */
static bool serve_one(int cpu_s)
{
    unsigned char head[DECODE_REQUEST_BYTES], tail[DECODE_ANSWER_BYTES], *block, *rgb = NULL;
    struct decode_answer a = {0};
    struct decode_request q;
    struct file_bytes file;
    bool is_written;
    int rc;

    if (!read_all(head, sizeof head) || decode_request_unpack(&q, head) < 0 ||
        !read_file(&file, &block, q.n_bytes))
        return false;
    rc = block ? decode_image(file, &q, &a, &rgb)
               : err(RECTO_ETOOLARGE, "the file is larger than the decoder's memory");
    free(block);
    a.code = rc;
    if (rc < 0)
        snprintf(a.text, sizeof a.text, "%.255s", err_text());
    if (cpu_seconds() > cpu_s / 3.0)
        a.flags |= DECODE_RETIRING;
    decode_answer_pack(tail, &a);
    is_written = write_all(tail, sizeof tail) && write_all(rgb, (size_t)a.n_rgb);
    free(rgb);
    return is_written && !(a.flags & DECODE_RETIRING);
}

int main(int argc, char **argv)
{
    struct settings s = {.limits = {.memory_mib = MEMORY_MIB, .cpu_s = CPU_S}};
    unsigned char hello[DECODE_HELLO_BYTES];
    int missing;

    if (parse(&s, argc, argv) < 0) {
        usage();
        return EXIT_USAGE;
    }
    closefrom(STDERR_FILENO + 1);
    if (s.is_pdf)
        pdf_run(&s.pdf, &s.limits);
    missing = sandbox_enter(&s.limits);
    if (missing < 0)
        _exit(EXIT_SANDBOX);
    if (s.probe)
        _exit(probe_run(s.probe));
    if (missing && s.is_strict)
        missing |= DECODE_REFUSED;
    decode_hello_pack(hello, &(struct decode_hello){.flags = (unsigned)missing});
    if (!write_all(hello, sizeof hello))
        _exit(EXIT_STREAM);
    if (missing & DECODE_REFUSED)
        _exit(EXIT_SANDBOX);
    while (serve_one(s.limits.cpu_s))
        continue;
    _exit(EXIT_DONE);
}
