/* Two texts from strangers, a truth and what was read, parted by the first NUL: all that recto eval does with them. Distances stay
 * within their bounds, and a text is like itself. */
#include "diff.h"
#include "latex.h"
#include "olm.h"
#include "omni.h"
#include "page_score.h"
#include "teds.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool holds)
{
    if (!holds)
        abort();
}

static void score_as_folder(char *truth, char *read)
{
    struct eval_case c = {.name = truth, .md = truth, .n_page = 1};
    struct eval_pred p = {.is_there = true, .md = read}, same = {.is_there = true, .md = truth};
    struct eval_page_score s;

    eval_page_score(&s, &c, &p);
    for (int k = 0; k < N_EVAL_NORM; k++)
        need(s.text[k].ned >= 0 && s.text[k].ned <= 1);
    need(s.table.teds > -1 - 1e-6 && s.table.teds < 1 + 1e-6);
    eval_page_score(&s, &c, &same);
    need(s.text[0].chars.edits == 0 && s.text[2].words.edits == 0);
    for (int n = 1; n < 4; n++)
        free(eval_md_page(truth, n));
}

static void score_as_benchmarks(char *truth, char *read)
{
    json_t *page = json_pack("{s[{sssssi}{sssssi}{sssssi}]}", "layout_dets", "category_type",
                             "text_block", "text", "word", "order", 1, "category_type", "table",
                             "html", "<table>", "order", 2, "category_type", "equation_isolated",
                             "latex", "x", "order", 3);
    json_t *tests = json_pack("[{ssss}{ssssss}{ssss}{ssss}{ssssss}{ssss}]", "type", "present",
                              "text", "word", "type", "order", "before", "a", "after", "b", "type",
                              "table", "cell", "a", "type", "math", "math", "x", "type", "format",
                              "format", "bold", "text", "b", "type", "footnote", "marker", "1");
    json_t *det = json_array_get(json_object_get(page, "layout_dets"), 0),
           *text = json_string(truth);

    if (text) /* valid UTF-8 */
        json_object_set_new(det, "text", text);
    json_decref(omni_score(page, read));
    json_decref(olm_score(tests, &(struct eval_pred){.md = read}));
    json_decref(page);
    json_decref(tests);
    free(latex_to_text(read));
}

static void show(const char *truth, const char *read)
{
    struct eval_text a = eval_text_of(truth, strlen(truth), EVAL_N2),
                     b = eval_text_of(read, strlen(read), EVAL_N2);
    struct diff d = diff_of(&a, &b);

    for (int i = 0; i < d.n; i++)
        need(!strchr(d.part[i].text, '<'));
    diff_reset(&d);
    eval_text_reset(&a);
    eval_text_reset(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 3000 };
    char all[MOST + 2] = {0};
    size_t n = size < MOST ? size : MOST;

    memcpy(all, data, n);
    char *read = all + strlen(all) + (strlen(all) < n); /* empty without a NUL */
    score_as_folder(all, read);
    score_as_benchmarks(all, read);
    show(all, read);
    return 0;
}
