/* report.html: the tables, and the worst pages with their picture, boxes and differences. No script, nothing from elsewhere;
 * every text from outside is escaped. */
#include "diff.h"
#include "picture.h"
#include "tables.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

static const char head[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' data:; "
    "style-src 'unsafe-inline'\">\n<title>recto eval</title>\n<style>\n"
    "body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222 }\n"
    "table { border-collapse: collapse; margin: .5em 0 1.5em } td, th { border: 1px solid #bbb; padding: .2em .6em;\n"
    "  text-align: right; vertical-align: top; overflow-wrap: anywhere } th { background: #eee }\n"
    "td:first-child, th:first-child { text-align: left } .fields td { text-align: left }\n"
    ".page { border-top: 2px solid #888; margin-top: 2em; display: grid; grid-template-columns: 1fr 1fr; gap: 0 2em }\n"
    ".page h3, .page p.facts { grid-column: 1 / 3; margin: .6em 0 } .sheet { position: relative; align-self: start }\n"
    ".sheet img { width: 100%; display: block; border: 1px solid #999 }\n"
    ".sheet svg { position: absolute; inset: 0; width: 100%; height: 100% }\n"
    "rect { fill: none; stroke-width: 2px; vector-effect: non-scaling-stroke } .truth { stroke: #080 }\n"
    ".found { stroke: #06c; stroke-dasharray: 6 3 } .key { font-size: 90% } .diff { white-space: pre-wrap; margin: 0 }\n"
    "del { background: #ffd0d0; text-decoration: line-through } ins { background: #c8f0c8; text-decoration: none }\n"
    "</style>\n</head>\n<body>\n";

static void escaped(struct page_text *out, const char *s)
{
    print_escaped(out, s, strlen(s));
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void print_sheet(struct page_text *out, const struct report_table *t)
{
    print(out, "<h2>");
    escaped(out, t->title);
    print(out, "</h2>\n");
    if (t->note) {
        print(out, "<p>");
        escaped(out, t->note);
        print(out, "</p>\n");
    }
    print(out, "<table%s>\n", t->n_col == 2 ? " class=\"fields\"" : "");
    for (int row = 0; row < t->n_row; row++) {
        print(out, "<tr>");
        for (int c = 0; c < t->n_col; c++) {
            print(out, row ? "<td>" : "<th>");
            escaped(out, t->cell[row * t->n_col + c]);
            print(out, row ? "</td>" : "</th>");
        }
        print(out, "</tr>\n");
    }
    print(out, "</table>\n");
}

/* ---- a page ---------------------------------------------------------------------------------- */

static void print_boxes(struct page_text *out, const struct recto_page *page, const char *class)
{
    for (int i = 0; i < page->n_block; i++)
        for (int k = 0; k < page->block[i].n_box; k++) {
            const struct recto_box *b = &page->block[i].box[k];

            print(out, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"><title>%d ",
                  class, b->x1, b->y1, b->x2 - b->x1, b->y2 - b->y1, page->block[i].order);
            escaped(out, page->block[i].label ? page->block[i].label : "");
            print(out, "</title></rect>\n");
        }
}

static void print_picture(struct page_text *out, const struct eval_case *c,
                          const struct eval_pred *p, const char *link)
{
    print(out,
          "<div class=\"sheet\"><a href=\"%s\"><img src=\"%s\" alt=\"the page\"></a>\n"
          "<svg viewBox=\"0 0 999 999\" preserveAspectRatio=\"none\">\n",
          link, link);
    if (c->layout)
        print_boxes(out, c->layout, "truth");
    if (p->has_page)
        print_boxes(out, &p->page, "found");
    print(out, "</svg></div>\n");
}

static void print_diff(struct page_text *out, const struct eval_run *r, int page)
{
    static const char *const open[] = {"", "<del>", "<ins>"}, *const close[] = {"", "</del>",
                                                                                "</ins>"};
    const char *truth = eval_truth_text(&r->set->at[page]);
    const char *text = eval_pred_text(&r->set->at[page], &r->pred[page]);
    struct eval_text a = eval_text_of(truth, strlen(truth), r->norm);
    struct eval_text b = eval_text_of(text, strlen(text), r->norm);
    struct diff d = diff_of(&a, &b);

    print(out, "<div><p class=\"diff\">");
    for (int i = 0; i < d.n; i++)
        print(out, "%s%s%s", open[d.part[i].kind], d.part[i].text, close[d.part[i].kind]);
    print(out, "</p>%s</div>\n", d.is_cut ? "<p>(only the beginnings were compared)</p>" : "");
    diff_reset(&d);
    eval_text_reset(&a);
    eval_text_reset(&b);
}

static void print_facts(struct page_text *out, const struct eval_run *r, int page)
{
    const struct eval_result *q = &r->result[page];
    const struct eval_text_score *t = &q->score.text[r->norm - EVAL_N0];

    print(out, "<p class=\"facts\">");
    if (!q->is_there)
        print(out, "nothing was read; ");
    if (q->score.has_text)
        print(out, "CER %.2f %%, WER %.2f %%, %zu edits in %zu characters",
              100 * eval_rate(t->chars), 100 * eval_rate(t->words), t->chars.edits, t->chars.ref);
    if (q->score.table.n_truth)
        print(out, "; TEDS %.3f, TEDS-S %.3f over %d tables", q->score.table.teds,
              q->score.table.teds_s, q->score.table.n_truth);
    if (q->reading.is_known)
        print(out, "; status %s, %d readings, %d tokens, confidence %.3f, grid %d × %d",
              recto_status_name(q->reading.status), q->reading.n_attempt, q->reading.n_token,
              q->reading.conf, q->reading.tiles_w, q->reading.tiles_h);
    print(out, "</p>\n");
}

static void print_page(struct page_text *out, const struct eval_run *r, int page, const char *dir,
                       const struct recto_settings *settings, int rank)
{
    const struct eval_case *c = &r->set->at[page];
    char *link = eval_string("report.files/worst-%02d.jpg", rank),
         *path = eval_string("%s/%s", dir, link);

    print(out, "<section class=\"page\"><h3>%d. ", rank);
    escaped(out, c->name);
    print(out, "</h3>\n");
    print_facts(out, r, page);
    if (eval_picture(c, settings, path))
        print_picture(out, c, &r->pred[page], link);
    else
        print(out, "<p>(the page cannot be drawn)</p>\n");
    print_diff(out, r, page);
    print(out, "</section>\n");
    free(link);
    free(path);
}

void eval_report_html(const struct eval_run *r, const char *dir, int most,
                      const struct recto_settings *settings, struct page_text *out)
{
    struct report_tables s = report_tables_of(r);
    int *worst = eval_worst_first(r), n = r->set->n < most ? r->set->n : most;

    print(out, "%s<h1>recto eval</h1>\n<p>", head);
    escaped(out, r->set->path);
    print(out, ", %d pages (%s).</p>\n", r->set->n, eval_layout_name(r->set->layout));
    for (int i = 0; i < s.n - 2; i++)
        print_sheet(out, &s.at[i]);
    print(
        out,
        "<h2>The %d worst pages</h2>\n<p class=\"key\">Boxes: green of the truth, dashed blue as read. Text (%s): "
        "<del>not read</del>, <ins>read but not there</ins>.</p>\n",
        n, eval_norm_name(r->norm));
    for (int i = 0; i < n; i++)
        print_page(out, r, worst[i], dir, settings, i + 1);
    for (int i = s.n - 2; i < s.n; i++) /* run and record come last */
        print_sheet(out, &s.at[i]);
    print(out, "</body>\n</html>\n");
    report_tables_reset(&s);
    free(worst);
}
