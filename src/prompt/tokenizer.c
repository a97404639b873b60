#include "prompt/tokenizer.h"

#include "base/err.h"
#include "base/file.h"
#include "prompt/tokenizer_file.h"

void tokenizer_close(struct tokenizer *t)
{
    vocab_reset(&t->vocab);
    bpe_reset(&t->bpe);
    added_reset(&t->added[0]);
    added_reset(&t->added[1]);
    presplit_reset(&t->presplit);
    t->bos = t->eos = -1;
}

int tokenizer_parse(struct tokenizer *t, str json, const char *name)
{
    *t = (struct tokenizer){.bos = -1, .eos = -1};
    TRY(tokenizer_file_read(t, json, name));
    t->bos = tokenizer_id(t, STR("<｜begin▁of▁sentence｜>"));
    t->eos = tokenizer_id(t, STR("<｜end▁of▁sentence｜>"));
    return 0;
}

int tokenizer_open(struct tokenizer *t, const char *path)
{
    struct buf json = {0};
    int rc = file_read(&json, path, TOKENIZER_MAX_FILE);

    *t = (struct tokenizer){.bos = -1, .eos = -1};
    if (rc == 0)
        rc = tokenizer_parse(t, buf_view(&json), path);
    buf_reset(&json);
    TRY(rc);
    TRY(tokenizer_config_read(t, path));
    if (t->bos < 0 || t->eos < 0)
        return err(RECTO_EMODEL,
                   "%s: no token for the %s of a text: name it as %s in tokenizer_config.json",
                   path, t->bos < 0 ? "beginning" : "end", t->bos < 0 ? "bos_token" : "eos_token");
    return 0;
}

int32_t tokenizer_id(const struct tokenizer *t, str text)
{
    int32_t id = added_find(&t->added[0], text);

    if (id < 0)
        id = added_find(&t->added[1], text);
    return id < 0 ? vocab_find(&t->vocab, text) : id;
}

/* ---- encoding -------------------------------------------------------------------------------- */

struct encode {
    const struct tokenizer *t;
    struct bpe_scratch scratch;
    struct ids *out;
};

static void encode_piece(void *ctx, str piece)
{
    struct encode *e = ctx;

    bpe_encode(&e->t->bpe, &e->scratch, piece, e->out);
}

/* Cut out the added tokens of both levels, first the ones that no normaliser may touch. */
static int encode_marked(struct encode *e, str text, int level)
{
    size_t from = 0, start, len;
    int32_t id;

    if (text.n == 0)
        return 0;
    if (level == 2)
        return presplit_run(&e->t->presplit, text, encode_piece, e);
    while ((id = added_next(&e->t->added[level], text, from, &start, &len)) >= 0) {
        TRY(encode_marked(e, (str){text.p + from, start - from}, level + 1));
        ids_add(e->out, id);
        from = start + len;
    }
    return encode_marked(e, (str){text.p + from, text.n - from}, level + 1);
}

/* text itself if it is UTF-8, else a copy in clean with U+FFFD for what is not. */
static str as_utf8(str text, struct buf *clean)
{
    size_t good = 0; /* text[good, i) is valid and not copied yet */

    for (size_t i = 0; i < text.n;) {
        uint32_t code;
        int len = utf8_next((str){text.p + i, text.n - i}, &code);

        if (len <= 0) {
            buf_add(clean, text.p + good, i - good);
            buf_utf8(clean, 0xFFFD);
            i = good = len < 0 ? i + (size_t)-len : text.n;
        } else {
            i += (size_t)len;
        }
    }
    if (clean->n == 0)
        return text;
    buf_add(clean, text.p + good, text.n - good);
    return buf_view(clean);
}

int tokenizer_encode(const struct tokenizer *t, str text, bool parse_special, struct ids *out)
{
    struct encode e = {.t = t, .out = out};
    struct buf clean = {0};
    int n_before = out->n;

    if (text.n > TOKENIZER_MAX_TEXT)
        return err(RECTO_ETOOLARGE, "a text of %zu bytes, at most %d can be a prompt", text.n,
                   TOKENIZER_MAX_TEXT);
    text = as_utf8(text, &clean);
    int rc = encode_marked(&e, text, parse_special ? 0 : 2);
    if (rc < 0)
        out->n = n_before;
    bpe_scratch_reset(&e.scratch);
    buf_reset(&clean);
    return rc;
}
