/* Sources: pdfinfo(1), pdftoppm(1), pdftotext(1) and pdffonts(1) of poppler 22.12; its utils/pdftoppm.cc for how -scale-to-x,
 * -scale-to-y, -W and -H work together: the first two give the scale, in the page's displayed
 * frame only with -scale-dimension-before-rotation; the others cut off the column or row that rounding up may add. */
#include "helper/pdf.h"

#include "base/mem.h"
#include "base/decode_proto.h"
#include "helper/probe.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DOCUMENT "/proc/self/fd/0" /* opened anew by the program, so that it reads what it needs */
#define LAST     "2147483647"      /* pages: all of them */
#define ARG_MAX_ 32

static const char *const places[] = {"/usr/bin/", "/usr/local/bin/"};

struct command {
    char path[64];
    char *argv[ARG_MAX_];
    char number[4][16]; /* page, width, height */
    int n;
};

static void add(struct command *c, const char *word)
{
    c->argv[c->n++] = (char *)word;
}

static void add_pair(struct command *c, const char *option, const char *value)
{
    add(c, option);
    add(c, value);
}

static void add_page(struct command *c, const struct pdf_ask *a)
{
    snprintf(c->number[0], sizeof c->number[0], "%d", a->page);
    add_pair(c, "-f", c->number[0]);
    add_pair(c, "-l", c->number[0]);
}

static void ask_info(struct command *c, const struct pdf_ask *a)
{
    add(c, "pdfinfo");
    add_pair(c, "-f", "1");
    add_pair(c, "-l", LAST);
    add(c, "-box");
    add(c, DOCUMENT);
}

/* A page's text as UTF-8, without a form feed behind it. */
static void ask_text(struct command *c, const struct pdf_ask *a)
{
    add(c, "pdftotext");
    add_pair(c, "-enc", "UTF-8");
    add_pair(c, "-eol", "unix");
    add(c, "-nopgbrk");
    add_page(c, a);
    add(c, DOCUMENT);
    add(c, "-");
}

static void ask_fonts(struct command *c, const struct pdf_ask *a)
{
    add(c, "pdffonts");
    add_page(c, a);
    add(c, DOCUMENT);
}

static void ask_drawing(struct command *c, const struct pdf_ask *a)
{
    const int value[] = {a->width, a->height};

    for (size_t i = 0; i < COUNT(value); i++)
        snprintf(c->number[i + 1], sizeof c->number[i + 1], "%d", value[i]);
    add(c, "pdftoppm");
    add(c, "-cropbox");
    add(c, "-scale-dimension-before-rotation");
    add_page(c, a);
    add_pair(c, "-scale-to-x", c->number[1]);
    add_pair(c, "-scale-to-y", c->number[2]);
    add_pair(c, "-W", c->number[1]);
    add_pair(c, "-H", c->number[2]);
    if (a->hides_annots)
        add(c, "-hide-annotations");
    add(c, DOCUMENT);
}

static bool find_program(struct command *c)
{
    for (size_t i = 0; i < COUNT(places); i++) {
        snprintf(c->path, sizeof c->path, "%s%s", places[i], c->argv[0]);
        if (access(c->path, X_OK) == 0)
            return true;
    }
    return false;
}

void pdf_run(const struct pdf_ask *a, const struct sandbox_limits *l)
{
    static struct command c; /* static: its addresses name the one execve that is allowed */
    static char *const nothing[] = {NULL};
    static void (*const ask[])(struct command * c,
                               const struct pdf_ask *a) = {[PDF_INFO] = ask_info,
                                                           [PDF_DRAW] = ask_drawing,
                                                           [PDF_TEXT] = ask_text,
                                                           [PDF_FONTS] = ask_fonts};
    int missing;

    ask[a->what](&c, a);
    if (!find_program(&c)) {
        fprintf(stderr, "%s is missing: install poppler-utils\n", c.argv[0]);
        _exit(PDF_EXIT_NO_PROGRAM);
    }
    missing = sandbox_enter_program(
        l, &(struct sandbox_program){.path = c.path, .argv = c.argv, .input = STDIN_FILENO});
    if (a->probe && missing >= 0)
        _exit(probe_run(a->probe));
    dprintf(STDERR_FILENO, PDF_SANDBOX_LINE, missing < 0 ? 3u : (unsigned)missing);
    if (missing < 0 || (missing && a->is_strict))
        _exit(PDF_EXIT_SANDBOX);
    execve(c.path, c.argv, nothing);
    dprintf(STDERR_FILENO, "%s cannot be started\n", c.path);
    _exit(PDF_EXIT_NO_PROGRAM);
}
