#include "strip.h"

#include <string.h>

static const char *const opens[] = {"<|ref|>", "<|det|>"};
static const char *const closes[] = {"<|/ref|>", "<|/det|>"};

enum held { IS_TEXT, MAY_OPEN, IS_OPEN, IS_CLOSED };

/* What the held bytes are, a whole marker being opened or only begun. */
static enum held judge(const struct strip *s)
{
    for (int i = 0; i < 2; i++) {
        size_t open = strlen(opens[i]), close = strlen(closes[i]);

        if (memcmp(s->held, opens[i], s->n_held < open ? s->n_held : open) != 0)
            continue;
        if (s->n_held < open)
            return MAY_OPEN;
        bool closed = s->n_held >= open + close &&
                      memcmp(s->held + s->n_held - close, closes[i], close) == 0;
        return closed ? IS_CLOSED : IS_OPEN;
    }
    return IS_TEXT;
}

static void push_byte(struct strip *s, char c, strip_out *out, void *ctx)
{
    if (s->after_marker && s->n_held == 0 && c == '\n') {
        s->after_marker = false;
        return;
    }
    s->held[s->n_held++] = c;
    switch (judge(s)) {
    case MAY_OPEN:
        return;
    case IS_CLOSED:
        s->n_held = 0;
        s->after_marker = true;
        return;
    case IS_OPEN:
        if (s->n_held < STRIP_MAX)
            return;
        break;
    case IS_TEXT:
        break;
    }
    /* The last byte may begin a marker itself ("<<|ref|>"); no earlier one can, as markers hold
     * '<' only in front. */
    size_t keep = s->n_held > 1 && c == '<' ? 1 : 0;
    out(ctx, s->held, s->n_held - keep);
    s->held[0] = c;
    s->n_held = keep;
    s->after_marker = false;
}

void strip_push(struct strip *s, const char *text, size_t n, strip_out *out, void *ctx)
{
    for (size_t i = 0; i < n; i++)
        push_byte(s, text[i], out, ctx);
}

void strip_end(struct strip *s, strip_out *out, void *ctx)
{
    enum held held = s->n_held > 0 ? judge(s) : IS_OPEN;

    if (held == IS_TEXT || held == MAY_OPEN)
        out(ctx, s->held, s->n_held);
    s->n_held = 0;
}
