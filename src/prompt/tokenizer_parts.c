#include "prompt/tokenizer_parts.h"

#include "base/err.h"
#include "prompt/byte_level.h"
#include "prompt/json_scan.h"

/* ---- finding the parts ----------------------------------------------------------------------- */

struct splitter {
    struct json_scan scan;
    const char *copied; /* what comes before is in rest, or is one of the long values */
    struct parts *parts;
    struct buf scratch;
};

static void cut_out(struct splitter *s, const char *from, str *part, const char *instead)
{
    buf_add(&s->parts->rest, s->copied, (size_t)(from - s->copied));
    buf_text(&s->parts->rest, instead);
    *part = (str){from, (size_t)(s->scan.p - from)};
    s->copied = s->scan.p;
}

/* Walk the members of an object; false where it stops looking like one, which jansson will say
 * better. */
static bool walk_object(struct splitter *s, bool is_model)
{
    str key;

    if (!scan_char(&s->scan, '{'))
        return false;
    while (scan_string(&s->scan, &s->scratch, &key) && scan_char(&s->scan, ':')) {
        char first = scan_peek(&s->scan);
        const char *from = s->scan.p;

        if (!is_model && str_eq(key, STR("model")) && first == '{') {
            if (!walk_object(s, true))
                return false;
        } else {
            bool is_vocab = is_model && str_eq(key, STR("vocab")) && first == '{';
            bool is_merges = is_model && str_eq(key, STR("merges")) && first == '[';
            if (!scan_skip(&s->scan))
                return false;
            if (is_vocab && !s->parts->vocab.n)
                cut_out(s, from, &s->parts->vocab, "{}");
            if (is_merges && !s->parts->merges.n)
                cut_out(s, from, &s->parts->merges, "[]");
        }
        if (!scan_char(&s->scan, ','))
            return scan_char(&s->scan, '}');
    }
    return false;
}

int parts_find(struct parts *parts, str json)
{
    struct splitter s = {.scan = {json.p, json.p + json.n}, .copied = json.p, .parts = parts};
    size_t left;

    walk_object(&s, false);
    left = (size_t)(json.p + json.n - s.copied);
    if (parts->rest.n + left <= TOKENIZER_MAX_REST)
        buf_add(&parts->rest, s.copied, left);
    buf_reset(&s.scratch);
    if (parts->rest.n < left)
        return err(
            RECTO_EFORMAT,
            "cut short or not a tokenizer: model.vocab and model.merges are not found whole");
    return 0;
}

/* ---- vocabulary and merges ------------------------------------------------------------------- */

static int broken(const char *part, int n, const char *what)
{
    return err(RECTO_EFORMAT, "model.%s: entry %d: expected %s", part, n, what);
}

static int vocab_entry(struct tokenizer *t, str key, int64_t id, struct buf *bytes)
{
    buf_clear(bytes);
    buf_add(bytes, key.p, key.n); /* makes room; alphabet text is never shorter than its bytes */
    int64_t n = byte_level_decode(key, bytes->p);
    if (n <
        0) /* a special token, such as "<｜▁pad▁｜>": reads as written, is no product of merges */
        return vocab_add(&t->vocab, id, key, false);
    if (n == 1)
        t->bpe.byte_id[(unsigned char)bytes->p[0]] = (int32_t)id;
    return vocab_add(&t->vocab, id, (str){bytes->p, (size_t)n}, true);
}

int parts_read_vocab(const struct parts *parts, struct tokenizer *t)
{
    str text = parts->vocab;
    struct json_scan s = {text.p + 1, text.p + text.n - 1}; /* between the braces */
    struct buf scratch = {0}, bytes = {0};
    int rc = 0;

    for (int n = 0; rc == 0 && scan_peek(&s); n++) {
        str key;
        int64_t id;

        if (n && !scan_char(&s, ','))
            rc = broken("vocab", n, "a comma");
        else if (!scan_string(&s, &scratch, &key) || !scan_char(&s, ':') || !scan_number(&s, &id))
            rc = broken("vocab", n, "\"token\": id");
        else if (vocab_entry(t, key, id, &bytes) < 0)
            rc = err_prefix(RECTO_EFORMAT, "model.vocab: entry %d", n);
    }
    buf_reset(&scratch);
    buf_reset(&bytes);
    for (int b = 0; rc == 0 && b < 256; b++)
        if (t->bpe.byte_id[b] < 0)
            rc = err(RECTO_EMODEL, "model.vocab: no token for byte %d: not a byte-level vocabulary",
                     b);
    return rc;
}

/* Append the bytes of one side of a merge to pair. */
static bool merge_side(str text, struct buf *pair, size_t *n_side)
{
    size_t before = pair->n;

    buf_add(pair, text.p, text.n);
    int64_t n = byte_level_decode(text, pair->p + before);
    if (n <= 0)
        return false;
    pair->n = before + (size_t)n;
    *n_side = (size_t)n;
    return true;
}

/* One merge, as ["a", "b"] or "a b", into pair: the bytes of both sides joined, the left one n_left
 * long. */
static bool scan_merge(struct json_scan *s, struct buf *scratch, struct buf *pair, size_t *n_left)
{
    size_t n_right;
    str text;

    buf_clear(pair);
    if (scan_char(s, '['))
        return scan_string(s, scratch, &text) && merge_side(text, pair, n_left) &&
               scan_char(s, ',') && scan_string(s, scratch, &text) &&
               merge_side(text, pair, &n_right) && scan_char(s, ']');
    if (!scan_string(s, scratch, &text))
        return false;
    size_t space = str_find(text, STR(" "), 0);
    if (space == text.n) /* a second space would not be in the alphabet */
        return false;
    return merge_side((str){text.p, space}, pair, n_left) &&
           merge_side((str){text.p + space + 1, text.n - space - 1}, pair, &n_right);
}

static int merge_entry(struct tokenizer *t, str pair, size_t n_left)
{
    int32_t left = vocab_find(&t->vocab, (str){pair.p, n_left});
    int32_t right = vocab_find(&t->vocab, (str){pair.p + n_left, pair.n - n_left});
    int32_t product = vocab_find(&t->vocab, pair);

    if (left < 0 || right < 0 || product < 0)
        return err(RECTO_EFORMAT, "its %s is not in model.vocab",
                   left < 0    ? "left side"
                   : right < 0 ? "right side"
                               : "product");
    return bpe_add(&t->bpe, left, right, product);
}

int parts_read_merges(const struct parts *parts, struct tokenizer *t)
{
    str text = parts->merges;
    struct json_scan s = {text.p + 1, text.p + text.n - 1}; /* between the brackets */
    struct buf scratch = {0}, pair = {0};
    int rc = 0;

    for (int n = 0; rc == 0 && scan_peek(&s); n++) {
        size_t n_left;

        if (n && !scan_char(&s, ','))
            rc = broken("merges", n, "a comma");
        else if (!scan_merge(&s, &scratch, &pair, &n_left))
            rc = broken("merges", n, "\"a b\" or [\"a\", \"b\"] in the byte alphabet");
        else if (merge_entry(t, buf_view(&pair), n_left) < 0)
            rc = err_prefix(RECTO_EFORMAT, "model.merges: entry %d", n);
    }
    buf_reset(&scratch);
    buf_reset(&pair);
    return rc;
}
