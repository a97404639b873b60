/* Sources: utils/pdfinfo.cc and poppler/Catalog.cc (cachePageTree) of poppler 22.12: the lines
 * printed, and that a Kid that is no page is left out of the count with a complaint which names the
 * number the page would have had. */
#include "page/pdf_info.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_BYTES 2048

/* ---- lines --------------------------------------------------------------------------------- */

static bool next_line(str *s, char *line, size_t cap)
{
    size_t n, end;

    if (!s->n)
        return false;
    end = str_find(*s, STR("\n"), 0);
    n = MIN(end, cap - 1);
    memcpy(line, s->p, n);
    line[n] = 0;
    end += end < s->n;
    s->p += end;
    s->n -= end;
    return true;
}

const char *pdf_first_error(str complaint)
{
    static _Thread_local char text[160];
    char line[512];

    text[0] = 0;
    while (next_line(&complaint, line, sizeof line)) {
        const char *at = strstr(line, "Error");

        at = at ? strstr(at, ": ") : NULL;
        if (!at)
            continue;
        snprintf(text, sizeof text, "%s", at + 2);
        for (char *c = text; *c; c++)
            *c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
        break;
    }
    return text;
}

/* ---- pages that are none ---------------------------------------------------------------------- */

/* Mark them, then number the others as poppler does. The complaint names a page by the count of
 * good ones before it, so the k-th such page lies k places further on. */
static void number_pages(struct pdf *p, str complaint)
{
    char line[512];
    int n_bad = 0, drawn = 0, n;

    for (int i = 0; i < p->n_page; i++)
        p->page[i].drawn = 1;
    while (next_line(&complaint, line, sizeof line)) {
        const char *at = strstr(line, "Kid object (page ");

        if (at && sscanf(at, "Kid object (page %d) is wrong type", &n) == 1 && n >= 1 &&
            n <= p->n_page - n_bad)
            p->page[n - 1 + n_bad++].drawn = 0;
    }
    for (int i = 0; i < p->n_page; i++)
        if (p->page[i].drawn)
            p->page[i].drawn = ++drawn;
}

/* Sizes come under poppler's numbers. */
static void spread_sizes(struct pdf *p, const struct pdf_page *read)
{
    for (int i = 0; i < p->n_page; i++)
        if (p->page[i].drawn) {
            int drawn = p->page[i].drawn;

            p->page[i] = read[drawn - 1];
            p->page[i].drawn = drawn;
        }
}

/* ---- what is printed ------------------------------------------------------------------------- */

static int read_count(struct pdf *p, str out, str complaint)
{
    char line[512];

    while (next_line(&out, line, sizeof line)) {
        sscanf(line, "Pages: %d", &p->n_page);
        if (strncmp(line, "Encrypted:", 10) == 0)
            p->is_encrypted = strstr(line, "yes") != NULL;
    }
    if (p->n_page < 1)
        return err(RECTO_EDAMAGED, "damaged: %s",
                   *pdf_first_error(complaint) ? pdf_first_error(complaint) : "no pages found");
    if (p->n_page > PDF_PAGES_MAX)
        return err(RECTO_ETOOLARGE, "%d pages are over the limit of %d", p->n_page, PDF_PAGES_MAX);
    return 0;
}

static void take_turn(struct pdf_page *page, int turn)
{
    double w = page->w;

    if (turn == 90 || turn == 180 || turn == 270)
        page->turn = turn;
    if (turn == 90 || turn == 270) {
        page->w = page->h;
        page->h = w;
    }
}

static void read_line(struct pdf_page *page, int n_page, const char *line)
{
    double w, h, c[4];
    int n, turn;

    if (sscanf(line, "Page %d size: %lf x %lf pts", &n, &w, &h) == 3 && n >= 1 && n <= n_page) {
        page[n - 1].w = w;
        page[n - 1].h = h;
    } else if (sscanf(line, "Page %d rot: %d", &n, &turn) == 2 && n >= 1 && n <= n_page) {
        take_turn(&page[n - 1], turn);
    } else if (sscanf(line, "Page %d CropBox: %lf %lf %lf %lf", &n, &c[0], &c[1], &c[2], &c[3]) ==
                   5 &&
               n >= 1 && n <= n_page) {
        memcpy(page[n - 1].crop, c, sizeof c);
    }
}

int pdf_info_read(struct pdf *p, str out, str complaint)
{
    struct pdf_page *read;
    char line[512];

    TRY(read_count(p, out, complaint));
    p->page = mem_zero((size_t)p->n_page, sizeof *p->page);
    read = mem_zero((size_t)p->n_page, sizeof *read);
    while (next_line(&out, line, sizeof line))
        read_line(read, p->n_page, line);
    number_pages(p, complaint);
    spread_sizes(p, read);
    free(read);
    p->is_repaired = str_find(complaint, STR("try to reconstruct"), 0) < complaint.n ||
                     !pdf_table_is_sound(p->fd);
    return 0;
}

/* ---- the table of contents --------------------------------------------------------------------- */

/* "xref", or "12 0 obj" of a table that is a stream. */
static bool starts_table(int fd, off_t at)
{
    char head[32] = "";
    int n, g, end = 0;

    if (pread(fd, head, sizeof head - 1, at) < 4)
        return false;
    return strncmp(head, "xref", 4) == 0 || (sscanf(head, "%d %d obj%n", &n, &g, &end) == 2 && end);
}

/* Offsets count from "%PDF-", which may have something in front of it. */
static off_t header_offset(int fd)
{
    char head[1025] = "";
    ssize_t n = pread(fd, head, sizeof head - 1, 0);
    str s = {head, n > 0 ? (size_t)n : 0};
    size_t at = str_find(s, STR("%PDF-"), 0);

    return at < s.n ? (off_t)at : 0;
}

bool pdf_table_is_sound(int fd)
{
    char tail[TAIL_BYTES + 1] = "";
    struct stat st;
    ssize_t n;
    size_t at = 0, last = 0;
    str s;

    if (fstat(fd, &st) < 0)
        return false;
    n = pread(fd, tail, TAIL_BYTES, st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0);
    s = (str){tail, n > 0 ? (size_t)n : 0};
    last = s.n;
    while ((at = str_find(s, STR("startxref"), at)) < s.n)
        last = at++;
    if (last == s.n)
        return false;
    at = (size_t)strtoull(tail + last + 9, NULL, 10);
    return at < (size_t)st.st_size &&
           (starts_table(fd, (off_t)at) || starts_table(fd, (off_t)at + header_offset(fd)));
}
