#include "own_text.h"

#include "base/err.h"
#include "base/mem.h"
#include "judge.h"
#include "page/layer.h"
#include "result/model.h"

#include <stdio.h>
#include <stdlib.h>

static void warn(struct job *j, const char *what, const char *why)
{
    char text[ERR_TEXT_MAX + 64];

    snprintf(text, sizeof text, "text layer not %s: %s", what, why);
    page_add_warning(j->page, text);
}

/* Without markers in it a text is one block, as if the model had written it so. */
static void take(struct job *j, const struct layer *l)
{
    j->page->is_layer = true;
    parse_text(buf_view(&l->text), RECTO_FINISH_NONE, j->page);
    if (j->book->opt.stream)
        event_push(&j->recto->events, (struct recto_event){.kind = RECTO_EVENT_TEXT,
                                                           .request = j->book->id,
                                                           .number = j->number,
                                                           .text = mem_strdup(j->page->raw),
                                                           .n_text = j->page->n_raw});
}

static void keep_beside(struct job *j, struct layer *l)
{
    buf_char(&l->text, 0);
    j->page->layer = l->text.p;
    j->page->n_layer = l->text.n - 1;
    j->page->layer_trusted = !l->doubt;
    l->text = (struct buf){0};
}

void own_text_look(struct job *j)
{
    const struct recto_options *o = &j->book->opt;
    struct layer l;

    if (o->text_layer == RECTO_LAYER_IGNORE || !j->book->doc.is_pdf || j->is_blank ||
        !wants_text(o))
        return;
    if (layer_read(&l, &j->book->doc.pdf, j->number) < 0)
        warn(j, "read", err_text());
    else if (l.doubt && l.n_char)
        warn(j, "trusted", l.doubt);
    if (o->text_layer == RECTO_LAYER_COMPARE && l.text.n)
        keep_beside(j, &l);
    else if (l.text.n && !l.doubt)
        take(j, &l);
    layer_reset(&l);
}
