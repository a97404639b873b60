#include "tables.h"

#include "text.h"

#include <string.h>

static void print_cell(struct page_text *out, const char *s)
{
    print(out, " ");
    for (; *s; s++)
        if (*s == '|')
            print(out, "\\|");
        else
            print_bytes(out, *s == '\n' ? " " : s, 1);
    print(out, " |");
}

static void print_sheet(struct page_text *out, const struct report_table *t)
{
    print(out, "\n## %s\n", t->title);
    if (t->note)
        print(out, "\n%s\n", t->note);
    for (int row = 0; row < t->n_row; row++) {
        print(out, row ? "|" : "\n|");
        for (int c = 0; c < t->n_col; c++)
            print_cell(out, t->cell[row * t->n_col + c]);
        print(out, "\n");
        for (int c = 0; row == 0 && c < t->n_col; c++)
            print(out, c + 1 < t->n_col ? "|---" : "|---|\n");
    }
}

void eval_report_md(const struct eval_run *r, struct page_text *out)
{
    struct report_tables s = report_tables_of(r);

    print(
        out,
        "# recto eval\n\n%s, %d pages (%s). Scores are recto's own; published numbers come from the code of the "
        "benchmark.\n",
        r->set->path, r->set->n, eval_layout_name(r->set->layout));
    for (int i = 0; i < s.n; i++)
        print_sheet(out, &s.at[i]);
    report_tables_reset(&s);
}
