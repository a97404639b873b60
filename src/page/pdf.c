#include "page/pdf.h"

#include "base/decode_proto.h"
#include "base/err.h"
#include "base/mem.h"
#include "page/dpi.h"
#include "page/pdf_decrypt.h"
#include "page/pdf_info.h"
#include "page/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define INFO_MAX     ((size_t)16 << 20) /* bytes printed about 100,000 pages */
#define HEAD_WINDOW  1024 /* "%PDF-" may be preceded by this much (ISO 32000-1, H.3.4.1) */
#define PPM_HEAD_MAX 32
#define ARG_MAX_     16

enum { EXIT_SANDBOX = 3, EXIT_NO_PROGRAM = 5 }; /* helper/pdf.h */

bool pdf_is(const void *head, size_t n)
{
    static const str other[] = {STR("\xFF\xD8\xFF"), STR("\x89PNG"),    STR("GIF8"),
                                STR("RIFF"),         STR("II*\0"),      STR("MM\0*"),
                                STR("BM"),           STR("PK\x03\x04"), STR("%!PS")};
    str s = {head, MIN(n, (size_t)HEAD_WINDOW)};
    size_t at = str_find(s, STR("%PDF-"), 0);

    for (size_t i = 0; at > 0 && i < COUNT(other); i++)
        if (str_starts(s, other[i]))
            return false;
    return at < s.n;
}

/* ---- the helper ------------------------------------------------------------------------------ */

struct call {
    const char *argv[ARG_MAX_];
    int n;
    char number[3][16];
    char cpu_s[16];
};

static void add(struct call *c, const char *word)
{
    c->argv[c->n++] = word;
}

static void call_start(struct call *c, const struct pdf *p)
{
    *c = (struct call){0};
    add(c, p->tool.helper);
    snprintf(c->cpu_s, sizeof c->cpu_s, "%d", p->tool.cpu_s);
    add(c, "--cpu-s");
    add(c, c->cpu_s);
    if (p->tool.is_strict)
        add(c, "--strict");
}

/* Each process gets a description of the file of its own, since they share no position then. */
int pdf_reopen(const struct pdf *p)
{
    char path[64];
    int again;

    snprintf(path, sizeof path, "/proc/self/fd/%d", p->fd);
    again = open(path, O_RDONLY | O_CLOEXEC);
    return again >= 0 ? again : err(RECTO_EREAD, "cannot read: %s", strerror(errno));
}

static int call_run(struct call *c, const struct pdf *p, struct tool_ask *a, struct tool_result *r)
{
    int rc;

    *r = (struct tool_result){0};
    a->argv = c->argv;
    a->timeout_ms = p->tool.timeout_ms;
    a->input = pdf_reopen(p);
    if (a->input < 0)
        return a->input;
    rc = tool_run(r, a);
    close(a->input);
    return rc;
}

static unsigned missing_of(const struct tool_result *r)
{
    unsigned missing = 0;

    if (r->complaint.p)
        sscanf(r->complaint.p, "recto-decode sandbox %u", &missing);
    return missing & (DECODE_NO_LANDLOCK | DECODE_NO_SECCOMP);
}

static bool complains(const struct tool_result *r, const char *what)
{
    return str_find(buf_view(&r->complaint), str_of(what), 0) < r->complaint.n;
}

/* The ways a process can end that say nothing of the document itself; 0: it ended well, or
 * complained. */
static int check_end(const struct tool_result *r)
{
    unsigned missing = missing_of(r);

    if (r->end == TOOL_KILLED && r->status == SIGXCPU)
        return err(RECTO_ETOOLARGE, "the page takes more time than the decoder may use");
    if (r->end == TOOL_LATE)
        return err(RECTO_ERENDER, "page could not be drawn: the decoder took too long");
    if (r->end == TOOL_TOO_MUCH)
        return err(RECTO_ERENDER, "page could not be drawn: the decoder's answer makes no sense");
    if (complains(r, "bad_alloc") || complains(r, "Out of memory"))
        return err(RECTO_ETOOLARGE, "the page takes more memory than the decoder may use");
    if (r->end == TOOL_KILLED)
        return err(RECTO_ERENDER, "page could not be drawn: pdftoppm was ended by signal %d (%s)",
                   r->status, sigdescr_np(r->status) ? sigdescr_np(r->status) : "unknown");
    if (r->status == EXIT_NO_PROGRAM)
        return err(RECTO_ERENDER, "page could not be drawn: pdftoppm and pdfinfo are missing; "
                                  "install poppler-utils");
    if (r->status == EXIT_SANDBOX)
        return err(RECTO_ERENDER,
                   "page could not be drawn: this system lacks %s%s%s, and the strict sandbox was "
                   "asked for",
                   missing & DECODE_NO_LANDLOCK ? "Landlock" : "", missing == 3 ? " and " : "",
                   missing & DECODE_NO_SECCOMP ? "seccomp" : "");
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int read_info(struct pdf *p, const struct tool_result *r)
{
    const char *reason;

    p->missing = missing_of(r);
    TRY(check_end(r));
    if (complains(r, "Incorrect password"))
        return err(RECTO_EPASSWORD, "needs a password (--password-file)");
    if (complains(r, "Invalid page count 0") || complains(r, "the last page (0)"))
        return err(RECTO_EEMPTY, "has no pages");
    reason = pdf_first_error(buf_view(&r->complaint));
    if (r->status != 0)
        return err(RECTO_EDAMAGED, "damaged: %s", *reason ? reason : "not a document");
    return pdf_info_read(p, buf_view(&r->out), buf_view(&r->complaint));
}

static int ask_info(struct pdf *p)
{
    struct tool_ask a = {.max_out = INFO_MAX};
    struct tool_result r;
    struct call c;
    int rc;

    call_start(&c, p);
    add(&c, "--pdf-info");
    rc = call_run(&c, p, &a, &r);
    if (rc == 0)
        rc = read_info(p, &r);
    tool_reset(&r);
    return rc;
}

/* The document without its encryption takes its place. */
static int decrypt(struct pdf *p)
{
    int plain;

    TRY(pdf_decrypt(p, &plain));
    close(p->fd);
    p->fd = plain;
    p->is_decrypted = true;
    return ask_info(p);
}

int pdf_open(struct pdf *p, const struct pdf_tool *tool, int fd, const char *password)
{
    int rc;

    *p = (struct pdf){.tool = *tool, .fd = fd};
    p->tool.helper = mem_strdup(tool->helper);
    p->password = password ? mem_strdup(password) : NULL;
    rc = ask_info(p);
    return rc == RECTO_EPASSWORD && password ? decrypt(p) : rc;
}

static void forget(char *password)
{
    if (password)
        explicit_bzero(password, strlen(password));
    free(password);
}

void pdf_close(struct pdf *p)
{
    if (p->fd > 0)
        close(p->fd);
    forget(p->password);
    free(p->page);
    free((char *)p->tool.helper);
    *p = (struct pdf){.fd = -1};
}

static int draw_failed(const struct tool_result *r)
{
    const char *reason = pdf_first_error(buf_view(&r->complaint));

    return err(RECTO_EDAMAGED, "damaged: %s", *reason ? reason : "the page has no size");
}

/* ---- what a program prints of a page ---------------------------------------------------------- */

int pdf_print(const struct pdf *p, const char *option, int page, size_t most, struct buf *out)
{
    struct tool_ask a = {.max_out = most};
    struct tool_result r;
    struct call c;
    int rc;

    if (!p->page[page - 1].drawn)
        return err(RECTO_EDAMAGED, "damaged: the page cannot be found in the file");
    call_start(&c, p);
    snprintf(c.number[0], sizeof c.number[0], "%d", p->page[page - 1].drawn);
    add(&c, option);
    add(&c, c.number[0]);
    rc = call_run(&c, p, &a, &r);
    if (rc == 0)
        rc = check_end(&r);
    if (rc == 0 && r.status)
        rc = draw_failed(&r);
    if (rc == 0)
        buf_str(out, buf_view(&r.out));
    tool_reset(&r);
    return rc;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* What came is one binary PPM of the size asked for; its pixels move to the front. */
static int take_picture(struct tool_result *r, const struct raster_size *size,
                        struct recto_image *out)
{
    size_t n = (size_t)size->w * (size_t)size->h * 3, head;
    char wanted[PPM_HEAD_MAX];

    head = (size_t)snprintf(wanted, sizeof wanted, "P6\n%d %d\n255\n", size->w, size->h);
    if (r->out.n != head + n || memcmp(r->out.p, wanted, head) != 0)
        return r->out.n ? err(RECTO_ERENDER, "page could not be drawn: pdftoppm gave another "
                                             "picture than it was asked for")
                        : draw_failed(r);
    memmove(r->out.p, r->out.p + head, n);
    *out = (struct recto_image){size->w, size->h, (unsigned char *)r->out.p};
    r->out = (struct buf){0};
    return 0;
}

static int run_draw(const struct pdf *p, int drawn, const struct pdf_look *look,
                    const struct raster_size *size, struct recto_image *out)
{
    const int value[] = {drawn, size->w, size->h};
    static const char *const option[] = {"--pdf-draw", "--width", "--height"};
    struct tool_ask a = {.max_out = (size_t)size->w * (size_t)size->h * 3 + PPM_HEAD_MAX};
    struct tool_result r;
    struct call c;
    int rc;

    call_start(&c, p);
    for (int i = 0; i < 3; i++) {
        snprintf(c.number[i], sizeof c.number[i], "%d", value[i]);
        add(&c, option[i]);
        add(&c, c.number[i]);
    }
    if (look->hides_annots)
        add(&c, "--no-annots");
    a.expect = a.max_out;
    rc = call_run(&c, p, &a, &r);
    if (rc == 0)
        rc = check_end(&r);
    if (rc == 0)
        rc = r.status ? draw_failed(&r) : take_picture(&r, size, out);
    tool_reset(&r);
    return rc;
}

int pdf_draw(const struct pdf *p, int page, const struct pdf_look *look, struct recto_image *out,
             double *dpi)
{
    const struct pdf_page *pg = &p->page[page - 1];
    struct raster_size size;

    *out = (struct recto_image){0};
    *dpi = 0;
    if (!pg->drawn)
        return err(RECTO_EDAMAGED, "damaged: the page cannot be found in the file");
    TRY(raster_size_of(&size, pg->w, pg->h, look->dpi, p->tool.max_pixels));
    TRY(run_draw(p, pg->drawn, look, &size, out));
    *dpi = size.dpi;
    return 0;
}
