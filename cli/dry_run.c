/* recto read --dry-run: what would be read, without a model. One line a page:
 *
 *     report.pdf:3  1780 x 2304 px  209.5 dpi  2 x 3 tiles  1121 rows  ok */
#include "cli.h"
#include "output.h"
#include "progress.h"
#include "read.h"

#include <stdlib.h>

struct tally {
    int n_read, n_failed;
};

static void print_page(const char *name, const struct recto_page *p)
{
    char dpi[32] = "";

    if (p->dpi > 0)
        snprintf(dpi, sizeof dpi, "  %.1f dpi", p->dpi);
    printf("%s:%d  %d x %d px%s  %d x %d tiles  %d rows  %s\n", name, p->number, p->width,
           p->height, dpi, p->tiles_w, p->tiles_h, p->n_visual, recto_status_name(p->status));
    for (int i = 0; i < p->n_warning; i++)
        say(SAY_WARN, "%s:%d: warning: %s", name, p->number, p->warning[i]);
}

static void look_at_pages(struct recto_document *d, const struct recto_input *in, struct tally *t)
{
    int *page, n;

    if (recto_document_select(d, in->pages, &page, &n) < 0) {
        report_failure(RECTO_EPAGERANGE);
        t->n_failed++;
        return;
    }
    for (int i = 0; i < n; i++) {
        struct recto_page look;
        int rc = recto_document_look(d, page[i], &look);
        if (rc == 0)
            print_page(in->name, &look);
        else
            report_failure(rc);
        t->n_read += rc == 0;
        t->n_failed += rc < 0;
        if (rc == 0)
            recto_page_reset(&look);
    }
    recto_free(page);
}

static void look_at(const struct recto_input *in, const struct recto_settings *s, struct tally *t)
{
    struct recto_document *d;
    int rc = recto_document_open(&d, in, s);

    if (rc < 0) {
        report_failure(rc);
        t->n_failed++;
        return;
    }
    look_at_pages(d, in, t);
    recto_document_close(d);
}

int dry_run(const struct run *r, const struct options *o)
{
    struct tally t = {0};

    for (int i = 0; i < r->plan.n_doc; i++) {
        struct recto_input in = read_input(r, i);
        const struct input *from = r->plan.target[i].in;
        if (from->error) {
            say(SAY_ERROR, "%s: %s (%s)", from->path, from->fault, recto_error_name(from->error));
            t.n_failed++;
        } else
            look_at(&in, &r->settings, &t);
    }
    return t.n_read == 0 ? EXIT_INPUT : t.n_failed > 0 ? EXIT_PAGES : EXIT_FINE;
}
