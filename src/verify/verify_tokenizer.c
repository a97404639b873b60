/* Text -> ids and ids -> text against cases made with the reference tokenizer
 * (tests/golden/tokenizer_cases.json): {"cases": [{"text": "Hello", "ids": [19923], "decoded":
 * "Hello"}, ...]}, ids without BOS. */
#include "base/err.h"
#include "base/json.h"
#include "prompt/tokenizer.h"
#include "result/detok.h"

#include <stdio.h>

#define MAX_CASES_FILE (16 << 20)

struct verify {
    struct tokenizer t;
    recto_line_fn *print;
    void *ctx;
    int n_case, n_encoded, n_decoded;
};

/* Text in quotes, control characters and non-ASCII visible, so that a terminal shows what differs.
 */
static void quote(struct buf *out, str s)
{
    buf_char(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c >= 0x20 && c < 0x7F && c != '"' && c != '\\')
            buf_char(out, (char)c);
        else
            buf_fmt(out, "\\x%02x", c);
    }
    buf_char(out, '"');
}

static void list_ids(struct buf *out, const struct ids *ids)
{
    for (int i = 0; i < ids->n; i++)
        buf_fmt(out, "%s%d", i ? " " : "", ids->id[i]);
}

static void print_reset(struct verify *v, struct buf *line)
{
    if (v->print)
        v->print(v->ctx, line->p);
    buf_reset(line);
}

static int read_ids(const json_t *list, const char *where, struct ids *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *v = json_array_get(list, i);

        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) > VOCAB_MAX_ID)
            return err(RECTO_EFORMAT, "%s: ids[%zu]: expected a token id", where, i);
        ids_add(out, (int32_t)json_integer_value(v));
    }
    return 0;
}

static int check_encode(struct verify *v, str text, const struct ids *want)
{
    struct ids got = {0};
    int rc = tokenizer_encode(&v->t, text, true, &got);

    if (rc == 0 && got.n == want->n &&
        (got.n == 0 || !memcmp(got.id, want->id, sizeof(*got.id) * (size_t)got.n))) {
        v->n_encoded++;
    } else if (rc == 0) {
        struct buf line = {0};
        buf_fmt(&line, "encode case=%d text=", v->n_case);
        quote(&line, text);
        buf_text(&line, " expected=");
        list_ids(&line, want);
        buf_text(&line, " got=");
        list_ids(&line, &got);
        print_reset(v, &line);
    }
    ids_reset(&got);
    return rc;
}

static void check_decode(struct verify *v, const struct ids *ids, str want)
{
    struct buf got = {0};
    struct detok d;

    detok_init(&d, tokenizer_pieces(&v->t), tokenizer_n_vocab(&v->t));
    for (int i = 0; i < ids->n; i++)
        detok_put(&d, ids->id[i], &got);
    if (detok_flush(&d) == 0 && str_eq(buf_view(&got), want)) {
        v->n_decoded++;
    } else {
        struct buf line = {0};
        buf_fmt(&line, "decode case=%d ids=", v->n_case);
        list_ids(&line, ids);
        buf_text(&line, " expected=");
        quote(&line, want);
        buf_text(&line, " got=");
        quote(&line, buf_view(&got));
        print_reset(v, &line);
    }
    buf_reset(&got);
}

static int check_case(struct verify *v, const json_t *item, const char *where)
{
    struct ids want = {0};
    str text, decoded;
    json_t *ids;

    TRY(json_str(item, where, "text", false, &text));
    TRY(json_str(item, where, "decoded", false, &decoded));
    TRY(json_get_array(item, where, "ids", false, &ids));
    int rc = read_ids(ids, where, &want);
    if (rc == 0)
        rc = check_encode(v, text, &want);
    if (rc == 0)
        check_decode(v, &want, decoded);
    ids_reset(&want);
    return rc;
}

static int check_all(struct verify *v, const json_t *root, const char *path)
{
    struct buf line = {0};
    json_t *cases;

    TRY(json_get_array(root, path, "cases", false, &cases));
    for (size_t i = 0; i < json_array_size(cases); i++) {
        char where[32];

        snprintf(where, sizeof(where), "cases[%zu]", i);
        int rc = check_case(v, json_array_get(cases, i), where);
        if (rc < 0)
            return err_prefix(rc, "%s", path);
        v->n_case++;
    }
    buf_fmt(&line, "tokenizer %d/%d encode, %d/%d decode", v->n_encoded, v->n_case, v->n_decoded,
            v->n_case);
    print_reset(v, &line);
    if (v->n_case == 0)
        return err(RECTO_EFORMAT, "%s: no cases in it", path);
    if (v->n_encoded < v->n_case || v->n_decoded < v->n_case)
        return err(
            RECTO_EVERIFY,
            "the tokenizer differs from the reference in %d of %d cases to ids, %d of %d to text",
            v->n_case - v->n_encoded, v->n_case, v->n_case - v->n_decoded, v->n_case);
    return 0;
}

int recto_verify_tokenizer(const char *tokenizer_json, const char *cases_json, recto_line_fn *print,
                           void *ctx)
{
    struct verify v = {.print = print, .ctx = ctx};
    json_t *root = NULL;
    int rc = tokenizer_open(&v.t, tokenizer_json);

    if (rc == 0)
        rc = json_read(&root, cases_json, MAX_CASES_FILE);
    if (rc == 0)
        rc = check_all(&v, root, cases_json);
    json_decref(root);
    tokenizer_close(&v.t);
    return rc;
}
