#include "sieve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* IN_HEAD: the first bytes of a string, as long as they may begin a data URL. */
enum state { OUTSIDE, IN_HEAD, IN_STRING, IN_ESCAPE, IN_BASE64, IN_BASE64_ESCAPE };

void sieve_begin(struct sieve *s, const char *dir)
{
    *s = (struct sieve){.dir = dir, .state = OUTSIDE};
}

void sieve_reset(struct sieve *s)
{
    for (int i = 0; i < s->n_file; i++)
        close(s->fd[i]);
    s->n_file = 0;
    text_reset(&s->text);
    text_reset(&s->head);
}

static int fail(struct sieve *s, const char *why)
{
    s->error = why;
    return -1;
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */
static int open_file(struct sieve *s)
{
    if (s->n_file == SIEVE_FILES)
        return fail(s, "more than 64 pictures in one call; POST /v1/jobs takes documents");
    int fd = open(s->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) { /* not every file system has unnamed files */
        struct text path = {0};

        text_fmt(&path, "%s/part-XXXXXX", s->dir);
        fd = mkostemp(path.p, O_CLOEXEC);
        if (fd >= 0)
            unlink(path.p);
        text_reset(&path);
    }
    if (fd < 0) {
        s->is_full = true;
        return fail(s, "no file can be made for a picture of this call");
    }
    s->fd[s->n_file] = fd;
    s->bytes[s->n_file++] = 0;
    s->bits = 0;
    s->n_bit = s->n_pad = 0;
    s->n_out = 0;
    return 0;
}

static int flush(struct sieve *s)
{
    int i = s->n_file - 1;

    for (size_t done = 0; done < s->n_out;) {
        ssize_t n = write(s->fd[i], s->out + done, s->n_out - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            s->is_full = true;
            return fail(s, "the disk is full");
        }
        done += (size_t)n;
    }
    s->bytes[i] += (int64_t)s->n_out;
    s->n_out = 0;
    return 0;
}

/* ---- base64 ---------------------------------------------------------------------------------------------------------- */
/* 0..63, 64 for padding, -1. The URL-safe letters count as well. */
static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    if (c == '/' || c == '_')
        return 63;
    return c == '=' ? 64 : -1;
}

static int put_digit(struct sieve *s, char c)
{
    int v = value_of(c);

    if (v == 64 && ++s->n_pad <= 2)
        return 0;
    if (v < 0 || v == 64 || s->n_pad > 0)
        return fail(s, "a data: URL is not base64");
    s->bits = s->bits << 6 | (uint32_t)v;
    s->n_bit += 6;
    if (s->n_bit < 8)
        return 0;
    s->n_bit -= 8;
    s->out[s->n_out++] = (unsigned char)(s->bits >> s->n_bit);
    return s->n_out == sizeof s->out ? flush(s) : 0;
}

static int end_base64(struct sieve *s)
{
    if (flush(s) < 0)
        return -1;
    if (s->n_bit == 6)
        return fail(s, "a data: URL is cut short");
    text_fmt(&s->text, "\\u0001%d\"", s->n_file - 1);
    s->state = OUTSIDE;
    return 0;
}

/* ---- the walk -------------------------------------------------------------------------------------------------------- */
static int keep(struct sieve *s, const char *bytes, size_t n)
{
    if (s->text.n + n > SIEVE_TEXT_MAX)
        return fail(s, "the call holds more than 4 MiB of text beside its pictures");
    text_add(&s->text, bytes, n);
    return 0;
}

/* The head is an ordinary string's beginning after all. */
static int let_head_go(struct sieve *s)
{
    int rc = keep(s, s->head.p, s->head.n);

    text_clear(&s->head);
    s->state = IN_STRING;
    return rc;
}

/* A string so far: is it, may it become a data URL in base64? */
static int judge_head(struct sieve *s, char c)
{
    static const char scheme[] = "data:";
    size_t n = s->head.n < 5 ? s->head.n : 5;

    if (strncasecmp(s->head.p, scheme, n) != 0 || s->head.n > SIEVE_HEAD_MAX)
        return let_head_go(s);
    if (c != ',')
        return 0;
    if (s->head.n < 13 || strncasecmp(s->head.p + s->head.n - 8, ";base64,", 8) != 0)
        return let_head_go(s);
    text_clear(&s->head);
    s->state = IN_BASE64;
    return open_file(s);
}

static int in_head(struct sieve *s, char c)
{
    if (c == '"' || c == '\\') {
        if (let_head_go(s) < 0)
            return -1;
        s->state = c == '"' ? OUTSIDE : IN_ESCAPE;
        return keep(s, &c, 1);
    }
    text_char(&s->head, c);
    return judge_head(s, c);
}

static int in_base64(struct sieve *s, char c)
{
    if (c == '"')
        return end_base64(s);
    if (c == '\\') {
        s->state = IN_BASE64_ESCAPE;
        return 0;
    }
    return put_digit(s, c);
}

static int in_escape(struct sieve *s, char c)
{
    s->state = IN_STRING;
    return keep(s, &c, 1);
}

static int take(struct sieve *s, char c)
{
    switch ((enum state)s->state) {
    case OUTSIDE:
        s->state = c == '"' ? IN_HEAD : OUTSIDE;
        return keep(s, &c, 1);
    case IN_HEAD:
        return in_head(s, c);
    case IN_STRING:
        s->state = c == '"' ? OUTSIDE : c == '\\' ? IN_ESCAPE : IN_STRING;
        return keep(s, &c, 1);
    case IN_ESCAPE:
        return in_escape(s, c);
    case IN_BASE64:
        return in_base64(s, c);
    case IN_BASE64_ESCAPE:
        s->state = IN_BASE64;
        return c == '/' ? put_digit(s, c) : fail(s, "a data: URL is not base64");
    }
    return 0;
}

int sieve_push(struct sieve *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (take(s, bytes[i]) < 0)
            return -1;
    return 0;
}

int sieve_file(const struct sieve *s, const char *string)
{
    if (string[0] != 1)
        return -1;
    int i = atoi(string + 1);
    return i >= 0 && i < s->n_file ? i : -1;
}
