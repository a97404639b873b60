#include "judge.h"

#include "result/model.h"

#define MUCH_TEXT  200 /* characters that cannot stand on a page with hardly any ink */
#define LEAST_CONF 0.5

struct yield yield_of(const struct recto_page *p)
{
    struct yield y = {0};

    for (int i = 0; i < p->n_block; i++) {
        const struct recto_block *b = &p->block[i];

        for (size_t k = 0; k < b->n_text; k++)
            y.n_char += ((unsigned char)b->text[k] & 0xC0) != 0x80;
        y.has_figure |= b->kind == RECTO_BLOCK_FIGURE;
    }
    return y;
}

bool wants_text(const struct recto_options *o)
{
    return !o->prompt && (o->task == RECTO_TASK_MARKDOWN || o->task == RECTO_TASK_TEXT ||
                          o->task == RECTO_TASK_OCR);
}

void judge_page(struct recto_page *p, const struct ink *ink, const struct recto_options *o)
{
    struct yield y = yield_of(p);
    bool knows_ink = ink->n_pixel > 0 && wants_text(o);

    if (p->status != RECTO_PAGE_OK)
        return;
    if (knows_ink && y.n_char == 0 && !y.has_figure) {
        p->status = ink->n_kept < INK_FEW_KEPT ? RECTO_PAGE_BLANK : RECTO_PAGE_SUSPECT;
        if (p->status == RECTO_PAGE_SUSPECT)
            page_add_warning(p, "ink on the page, but no text was read");
    } else if (knows_ink && y.n_char > MUCH_TEXT && ink_is_scarce(ink)) {
        p->status = RECTO_PAGE_SUSPECT;
        page_add_warning(p, "more text than ink");
    } else if (p->n_token > 0 && p->conf < LEAST_CONF && o->temperature == 0) {
        p->status = RECTO_PAGE_SUSPECT;
        page_add_warning(p, "the model was unsure of this page");
    }
}
