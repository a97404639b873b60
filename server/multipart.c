#include "multipart.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum state { IN_PREAMBLE, AFTER_DELIMITER, IN_HEAD, IN_CONTENT, AT_END };

static int fail(struct multipart *m, const char *why)
{
    m->error = why;
    return -1;
}

/* The boundary of "multipart/form-data; charset=x; boundary=\"abc\"" into out. */
static bool boundary_of(const char *type, char out[71])
{
    static const char odd[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'()+_,-./:=? ";
    const char *p = strcasestr(type, "boundary=");
    size_t n;

    if (strncasecmp(type, "multipart/form-data", 19) != 0 || !p)
        return false;
    p += 9;
    n = *p == '"' ? strcspn(p + 1, "\"") : strcspn(p, "; \t");
    p += *p == '"';
    if (n < 1 || n > 70 || strspn(p, odd) < n || p[n - 1] == ' ')
        return false;
    memcpy(out, p, n);
    out[n] = 0;
    return true;
}

int multipart_begin(struct multipart *m, const char *content_type,
                    const struct multipart_calls *calls)
{
    char boundary[71];

    *m = (struct multipart){.calls = *calls, .state = IN_PREAMBLE};
    if (!boundary_of(content_type, boundary))
        return fail(m, "the Content-Type must be multipart/form-data with a boundary");
    m->n_delimiter = (size_t)snprintf(m->delimiter, sizeof m->delimiter, "\r\n--%s", boundary);
    text_str(&m->held, "\r\n"); /* the first delimiter may stand at the very beginning */
    return 0;
}

void multipart_reset(struct multipart *m)
{
    text_reset(&m->held);
}

/* ---- the header of a part -------------------------------------------------------------------------------------------- */
/* The value of `name="..."` in a Content-Disposition; quotes and backslashes may be escaped by a backslash. */
static void parameter(const char *line, const char *name, char *out, size_t cap)
{
    size_t n = 0, len = strlen(name);
    const char *p = line;

    *out = 0;
    while ((p = strchr(p, ';'))) {
        p += 1 + strspn(p + 1, " \t");
        if (strncasecmp(p, name, len) == 0 && p[len] == '=' && p[len + 1] == '"')
            break;
    }
    if (!p)
        return;
    for (p += len + 2; *p && *p != '"' && n + 1 < cap; p++) {
        if (*p == '\\' && (p[1] == '"' || p[1] == '\\'))
            p++;
        out[n++] = *p;
    }
    out[n] = 0;
}

static void read_line(struct multipart_part *part, const char *line)
{
    if (strncasecmp(line, "Content-Disposition:", 20) != 0)
        return;
    parameter(line, "name", part->name, sizeof part->name);
    parameter(line, "filename", part->filename, sizeof part->filename);
}

/* head: n bytes, lines parted by \r\n. */
static int read_head(struct multipart *m, char *head, size_t n)
{
    struct multipart_part part = {0};

    if (memchr(head, 0, n))
        return fail(m, "a NUL byte in the header of a part");
    for (char *line = head, *end; line < head + n; line = end + 2) {
        end = memmem(line, (size_t)(head + n - line), "\r\n", 2);
        if (!end)
            break;
        *end = 0;
        read_line(&part, line);
    }
    return m->calls.begin(m->calls.ctx, &part);
}

/* ---- the states: each takes what it can from the front of m->held; 1: something was taken, 0: more bytes are needed -------- */
static int in_preamble(struct multipart *m)
{
    char *hit = memmem(m->held.p, m->held.n, m->delimiter, m->n_delimiter);
    size_t keep = m->n_delimiter - 1;

    if (hit) {
        text_drop(&m->held, (size_t)(hit - m->held.p) + m->n_delimiter);
        m->state = AFTER_DELIMITER;
        return 1;
    }
    if (m->held.n > keep)
        text_drop(&m->held, m->held.n - keep);
    return 0;
}

/* Behind a delimiter: "--" ends all, blanks and a line end begin a part. */
static int after_delimiter(struct multipart *m)
{
    size_t blank = 0;

    if (m->held.n < 2)
        return 0;
    if (memcmp(m->held.p, "--", 2) == 0) {
        m->state = AT_END;
        return 1;
    }
    while (blank < m->held.n && (m->held.p[blank] == ' ' || m->held.p[blank] == '\t'))
        blank++;
    if (blank > 70)
        return fail(m, "a delimiter is followed by something else than a line end");
    if (m->held.n < blank + 2)
        return 0;
    if (memcmp(m->held.p + blank, "\r\n", 2) != 0)
        return fail(m, "a delimiter is followed by something else than a line end");
    if (++m->n_part > MULTIPART_PARTS)
        return fail(m, "more than 64 parts");
    text_drop(&m->held, blank); /* the line end stays: an empty header is two of them */
    m->state = IN_HEAD;
    return 1;
}

static int in_head(struct multipart *m)
{
    char *hit = memmem(m->held.p, m->held.n, "\r\n\r\n", 4);
    size_t n = hit ? (size_t)(hit - m->held.p) + 2 : m->held.n;

    if (n > MULTIPART_HEAD)
        return fail(m, "the header of a part is longer than 4096 bytes");
    if (!hit)
        return 0;
    int rc = read_head(m, m->held.p + 2, n - 2);
    if (rc != 0)
        return rc < 0 ? rc : -rc;
    text_drop(&m->held, n + 2);
    m->state = IN_CONTENT;
    return 1;
}

static int in_content(struct multipart *m)
{
    char *hit = memmem(m->held.p, m->held.n, m->delimiter, m->n_delimiter);
    size_t keep = m->n_delimiter - 1, n = hit                ? (size_t)(hit - m->held.p)
                                          : m->held.n > keep ? m->held.n - keep
                                                             : 0;
    int rc = n > 0 ? m->calls.content(m->calls.ctx, m->held.p, n) : 0;

    if (rc == 0 && hit)
        rc = m->calls.end(m->calls.ctx);
    if (rc != 0)
        return rc < 0 ? rc : -rc;
    text_drop(&m->held, hit ? n + m->n_delimiter : n);
    if (hit)
        m->state = AFTER_DELIMITER;
    return hit != NULL;
}

static int step(struct multipart *m)
{
    switch ((enum state)m->state) {
    case IN_PREAMBLE:
        return in_preamble(m);
    case AFTER_DELIMITER:
        return after_delimiter(m);
    case IN_HEAD:
        return in_head(m);
    case IN_CONTENT:
        return in_content(m);
    case AT_END:
        text_clear(&m->held); /* the epilogue */
        break;
    }
    return 0;
}

int multipart_push(struct multipart *m, const char *bytes, size_t n)
{
    int rc;

    text_add(&m->held, bytes, n);
    while ((rc = step(m)) > 0)
        ;
    return rc;
}

int multipart_finish(struct multipart *m)
{
    return m->state == AT_END ? 0 : fail(m, "the body ends before its last delimiter");
}
