#include "page/pdf_out.h"

#include "base/clock.h"
#include "base/decode_proto.h"
#include "base/err.h"
#include "base/mem.h"
#include "page/patience.h"
#include "page/source.h"
#include "page/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "recto-pdf"
#define QUIET_MS \
    600000 /* of waiting for it without a sign of life: the guard behind its limit of CPU time */
#define CHUNK      65536
#define GRACE_MS   2000 /* for one that hung up to be seen dead, with the reason */
#define ANSWER_MAX 1024

struct pdf_out {
    const struct pdf *document;
    const char *failing; /* what does not come about, for sentences */
    pid_t pid;
    int stream, answers;
    struct buf answer; /* the start of its standard error */
};

/* ---- ends ------------------------------------------------------------------------------------- */

/* The sentence comes from a process that has read the document: printable, and of a known code, or not believed. */
static int answer_code(const struct pdf_out *o, const char **text)
{
    unsigned missing = 0;
    int code = 0, at = 0;

    *text = "";
    if (!o->answer.p || sscanf(o->answer.p, PDF_ANSWER_LINE "%n", &code, &missing, &at) < 2)
        return 1;
    page_source_warn_missing(missing & (DECODE_NO_LANDLOCK | DECODE_NO_SECCOMP));
    if (code > 0 || (code < 0 && strcmp(recto_error_name(code), recto_error_name(1)) == 0))
        return 1;
    o->answer.p[strcspn(o->answer.p, "\n")] = 0;
    for (char *c = o->answer.p; *c; c++)
        *c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
    *text = o->answer.p + at;
    return code;
}

static void stop(struct pdf_out *o)
{
    if (o->pid) {
        kill(o->pid, SIGKILL);
        while (waitpid(o->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    o->pid = 0;
}

static int took_too_long(struct pdf_out *o)
{
    stop(o);
    return err(RECTO_ETOOLARGE, "%s: it takes more time than may be used", o->failing);
}

/* The helper has ended, or hung up and is about to: how? */
static int how_it_ended(struct pdf_out *o)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    int status = 0, code, sig;
    const char *text;
    pid_t ended = 0;

    for (int ms = 0; ms < GRACE_MS && (ended = waitpid(o->pid, &status, WNOHANG)) == 0; ms += 2)
        nanosleep(&nap, NULL);
    if (ended == 0)
        return took_too_long(o);
    o->pid = 0;
    sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (sig == SIGXCPU)
        return err(RECTO_ETOOLARGE, "%s: it takes more time than may be used", o->failing);
    if (sig)
        return err(RECTO_ERENDER, "%s: " PROGRAM " was ended by signal %d (%s)", o->failing, sig,
                   sigdescr_np(sig) ? sigdescr_np(sig) : "unknown");
    code = answer_code(o, &text);
    if (code < 0)
        return err(code, "%s", text);
    if (code > 0 || status)
        return err(RECTO_ERENDER, "%s: " PROGRAM " ended with status %d", o->failing,
                   WEXITSTATUS(status));
    return 0;
}

/* Keep what comes on standard error; false at its end, or when nothing comes. */
static bool hear(struct pdf_out *o)
{
    struct pollfd p = {.fd = o->answers, .events = POLLIN};
    char some[256];
    ssize_t n = poll(&p, 1, GRACE_MS) > 0 ? read(o->answers, some, sizeof some) : 0;

    if (n > 0)
        buf_add(&o->answer, some, MIN((size_t)n, ANSWER_MAX - MIN(o->answer.n, ANSWER_MAX)));
    return n > 0;
}

static int hung_up(struct pdf_out *o)
{
    int rc;

    while (hear(o))
        continue;
    rc = how_it_ended(o);
    return rc < 0 ? rc : err(RECTO_ERENDER, "%s: " PROGRAM " ended too early", o->failing);
}

/* ---- start ------------------------------------------------------------------------------------ */

static char *program_path(const char *helper)
{
    const char *slash = strrchr(helper, '/');
    struct buf b = {0};

    buf_fmt(&b, "%.*s" PROGRAM, slash ? (int)(slash - helper) + 1 : 0, helper);
    return b.p;
}

static int start(struct pdf_out *o, const struct pdf_tool *tool, int document)
{
    char *path = program_path(tool->helper);
    const char *argv[] = {path, tool->is_strict ? "--strict" : NULL, NULL};
    int stream[2], answers[2], e;

    if ((e = spawn_stream(stream)) == 0 && (e = spawn_pipe(answers)) != 0) {
        close(stream[0]);
        close(stream[1]);
    }
    if (e == 0) {
        e = spawn_program(&o->pid, argv, (int[]){stream[1], stream[1], answers[1], document},
                          document >= 0 ? 4 : 3);
        close(stream[1]);
        close(answers[1]);
        o->stream = stream[0];
        o->answers = answers[0];
    }
    if (e) {
        o->pid = 0;
        e = err(RECTO_ERENDER, "%s: %s cannot be started: %s; it belongs beside recto-decode",
                o->failing, path, strerror(e));
    }
    free(path);
    return e;
}

/* ---- records ---------------------------------------------------------------------------------- */

/* Ready for `events`, or hung up: RECTO_* when neither comes. */
static int await(struct pdf_out *o, short events)
{
    struct pollfd p = {.fd = o->stream, .events = events};
    struct patience w = patience_of(QUIET_MS);
    int n;

    do {
        n = patience_poll(&w, &p, 1);
    } while (n == 0);
    return n > 0 ? 0 : took_too_long(o);
}

static int send_bytes(struct pdf_out *o, const void *bytes, size_t n)
{
    const char *p = bytes;

    if (!o->pid)
        return err(RECTO_ERENDER, "%s: " PROGRAM " has ended", o->failing);
    while (n) {
        ssize_t done = send(o->stream, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (done < 0 && (errno == EINTR || errno == EAGAIN)) {
            TRY(await(o, POLLOUT));
            continue;
        }
        if (done < 0)
            return hung_up(o);
        p += done, n -= (size_t)done;
    }
    return 0;
}

/* The payload may have something of ours in front. */
static int send_record(struct pdf_out *o, const struct pdf_head *h, str front, str bytes)
{
    unsigned char packed[PDF_HEAD_BYTES];
    struct pdf_head head = *h;

    head.n = front.n + bytes.n;
    if (head.n > PDF_PAYLOAD_MAX)
        return err(RECTO_ETOOLARGE, "%llu bytes of one page are too many for a searchable copy",
                   (unsigned long long)head.n);
    pdf_head_pack(packed, &head);
    TRY(send_bytes(o, packed, sizeof packed));
    TRY(send_bytes(o, front.p, front.n));
    return send_bytes(o, bytes.p, bytes.n);
}

static int count_drawn(const struct pdf *p)
{
    int n = 0;

    for (int i = 0; i < p->n_page; i++)
        n += p->page[i].drawn > 0;
    return n;
}

static int send_open(struct pdf_out *o, unsigned flags)
{
    const struct pdf *d = o->document;
    struct pdf_head h = {.what = PDF_OPEN, .a = flags};

    if (!d)
        return send_record(o, &h, STR(""), STR(""));
    h.a |= PDF_HAS_DOCUMENT;
    h.b = (uint32_t)d->n_page;
    h.c = (uint32_t)count_drawn(d);
    return send_record(o, &h, STR(""), str_of(d->password));
}

int pdf_out_open(struct pdf_out **out, const struct pdf *document, const struct pdf_tool *tool,
                 unsigned flags)
{
    struct pdf_out *o = mem_zero(1, sizeof *o);
    int fd = document ? spawn_raise(pdf_reopen(document)) : -1, rc = document && fd < 0 ? fd : 0;

    *o = (struct pdf_out){.document = document,
                          .failing = flags & PDF_DECRYPT ? "the password cannot be used"
                                                         : "no searchable copy",
                          .stream = -1,
                          .answers = -1};
    *out = NULL;
    if (rc == 0)
        rc = start(o, tool, fd);
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        rc = send_open(o, flags);
    if (rc < 0)
        pdf_out_close(o);
    else
        *out = o;
    return rc;
}

int pdf_out_picture(struct pdf_out *o, const struct pdf_picture *p, str bytes)
{
    unsigned char packed[PDF_PICTURE_BYTES];

    pdf_picture_pack(packed, p);
    return send_record(o, &(struct pdf_head){.what = PDF_PICTURE},
                       (str){(const char *)packed, sizeof packed}, bytes);
}

int pdf_out_text(struct pdf_out *o, int number, str content)
{
    struct pdf_head h = {.what = PDF_TEXT, .a = (uint32_t)number};

    if (o->document && number >= 1 && number <= o->document->n_page)
        h.b = (uint32_t)o->document->page[number - 1].drawn;
    return send_record(o, &h, STR(""), content);
}

int pdf_out_font(struct pdf_out *o, enum pdf_record what, str bytes)
{
    return send_record(o, &(struct pdf_head){.what = what}, STR(""), bytes);
}

/* ---- the file --------------------------------------------------------------------------------- */

/* Pass on what is there; 1 at the end of the stream. */
static int pass_on(struct pdf_out *o, pdf_out_sink *sink, void *ctx)
{
    static _Thread_local char chunk[CHUNK];
    ssize_t n = recv(o->stream, chunk, sizeof chunk, MSG_DONTWAIT);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n <= 0)
        return 1;
    return sink(ctx, chunk, (size_t)n);
}

int pdf_out_finish(struct pdf_out *o, pdf_out_sink *sink, void *ctx)
{
    int rc;

    TRY(send_record(o, &(struct pdf_head){.what = PDF_END}, STR(""), STR("")));
    do {
        TRY(await(o, POLLIN));
        rc = pass_on(o, sink, ctx);
    } while (rc == 0);
    if (rc < 0)
        return rc;
    while (hear(o))
        continue;
    return how_it_ended(o);
}

void pdf_out_close(struct pdf_out *o)
{
    if (!o)
        return;
    if (o->stream >= 0)
        close(o->stream);
    if (o->answers >= 0)
        close(o->answers);
    stop(o);
    buf_reset(&o->answer);
    free(o);
}
