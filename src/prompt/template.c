#include "prompt/template.h"

#include "base/err.h"

#include <assert.h>

/* What follows "<image>" for each task; locate's phrase goes between its two texts. */
static const struct {
    const char *text, *after_phrase;
} tasks[] = {
    [RECTO_TASK_MARKDOWN] = {"\n<|grounding|>Convert the document to markdown.", NULL},
    [RECTO_TASK_TEXT] = {"\nFree OCR.", NULL},
    [RECTO_TASK_OCR] = {"\n<|grounding|>OCR this image.", NULL},
    [RECTO_TASK_FIGURE] = {"\nParse the figure.", NULL},
    [RECTO_TASK_DESCRIBE] = {"\nDescribe this image in detail.", NULL},
    [RECTO_TASK_LOCATE] = {"\nLocate <|ref|>", "<|/ref|> in the image."},
};

void prompt_reset(struct prompt *p)
{
    free(p->id);
    *p = (struct prompt){0};
}

/* What str.isspace of Python 3 holds for white space. */
static bool is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

static str strip(str s)
{
    uint32_t code;
    int len;

    while ((len = utf8_next(s, &code)) > 0 && is_space(code))
        s.p += len, s.n -= (size_t)len;
    while (s.n) {
        size_t last = s.n - 1;
        while (last > 0 && ((unsigned char)s.p[last] & 0xC0) == 0x80)
            last--;
        len = utf8_next((str){s.p + last, s.n - last}, &code);
        if (len <= 0 || last + (size_t)len != s.n || !is_space(code))
            break;
        s.n = last;
    }
    return s;
}

struct build {
    const struct tokenizer *t;
    const struct prompt_ask *ask;
    struct ids ids;
    int slot;
};

static int add_text(struct build *b, const char *text)
{
    return tokenizer_encode(b->t, str_of(text), true, &b->ids);
}

static int add_image(struct build *b)
{
    int32_t id = b->ask->image_id;

    if (id < 0)
        id = tokenizer_id(b->t, STR(PROMPT_IMAGE));
    if (id < 0)
        return err(RECTO_EMODEL, "tokenizer.json has no token " PROMPT_IMAGE
                                 ", and config.json no image_token_id: get the model's own files");
    b->slot = b->ids.n;
    for (int i = 0; i < b->ask->n_visual; i++)
        ids_add(&b->ids, id);
    return 0;
}

static int build_task(struct build *b)
{
    enum recto_task task = b->ask->task;

    if ((unsigned)task >= COUNT(tasks))
        return err(RECTO_EUSAGE, "there is no task %d", (int)task);
    TRY(add_image(b));
    TRY(add_text(b, tasks[task].text));
    if (!tasks[task].after_phrase)
        return 0;
    if (!b->ask->phrase || !b->ask->phrase[0])
        return err(RECTO_EUSAGE, "locate needs a phrase: locate=PHRASE");
    TRY(tokenizer_encode(b->t, str_of(b->ask->phrase), false, &b->ids));
    return add_text(b, tasks[task].after_phrase);
}

static int build_prompt(struct build *b)
{
    str s = strip(str_of(b->ask->prompt));
    size_t at = str_find(s, STR(PROMPT_IMAGE), 0), behind = at + strlen(PROMPT_IMAGE);

    if (s.n == 0)
        return err(RECTO_EUSAGE, "the prompt is empty: leave it out to use the task's own");
    if (at == s.n) {
        TRY(add_image(b));
        TRY(add_text(b, "\n"));
        return tokenizer_encode(b->t, s, true, &b->ids);
    }
    if (str_find(s, STR(PROMPT_IMAGE), behind) < s.n)
        return err(RECTO_EUSAGE, "the prompt holds " PROMPT_IMAGE " twice: a page is one image");
    TRY(tokenizer_encode(b->t, (str){s.p, at}, true, &b->ids));
    TRY(add_image(b));
    return tokenizer_encode(b->t, (str){s.p + behind, s.n - behind}, true, &b->ids);
}

int prompt_build(struct prompt *out, const struct tokenizer *t, const struct prompt_ask *ask)
{
    struct build b = {.t = t, .ask = ask};
    int rc;

    assert(ask->n_visual >= 0);
    *out = (struct prompt){0};
    if (t->bos < 0)
        return err(RECTO_EMODEL, "tokenizer.json has no token for the beginning of a text");
    ids_add(&b.ids, t->bos);
    rc = ask->prompt ? build_prompt(&b) : build_task(&b);
    if (rc < 0)
        ids_reset(&b.ids);
    else
        *out = (struct prompt){b.ids.id, b.ids.n, b.slot, ask->n_visual};
    return rc;
}

int prompt_check_length(const struct prompt *p, int context)
{
    if (p->n < context)
        return 0;
    return err(
        RECTO_EUSAGE,
        "the prompt has %d tokens (%d of them the image), the model takes %d with the answer: "
        "shorten the text",
        p->n, p->n_visual, context);
}
