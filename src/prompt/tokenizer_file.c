#include "prompt/tokenizer_file.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "prompt/tokenizer_parts.h"

#include <sys/random.h>

/* ---- the rest -------------------------------------------------------------------------------- */

static int unsupported(const char *where, const char *key, const char *what)
{
    return err(RECTO_EMODEL, "%s: %s: %s is not supported", where, key, what);
}

/* obj[key] may be absent, null or false. */
static int only_false(const json_t *obj, const char *where, const char *key)
{
    bool is_on = false;

    TRY(json_bool(obj, where, key, true, &is_on));
    return is_on ? unsupported(where, key, "true") : 0;
}

/* obj[key] may be absent, null or "". */
static int only_empty(const json_t *obj, const char *where, const char *key)
{
    str s = {0};

    TRY(json_str(obj, where, key, true, &s));
    return s.n ? unsupported(where, key, "a text") : 0;
}

static int only_type(const json_t *obj, const char *where, const char *type)
{
    str s;

    TRY(json_str(obj, where, "type", false, &s));
    if (!str_eq(s, str_of(type)))
        return err(RECTO_EMODEL, "%s: type \"%.40s\" is not supported, only \"%s\"", where, s.p,
                   type);
    return 0;
}

static int check_model(const json_t *root, const struct parts *parts)
{
    static const char *const off[] = {"byte_fallback", "ignore_merges"};
    static const char *const none[] = {"unk_token", "continuing_subword_prefix",
                                       "end_of_word_suffix"};
    json_t *model, *part;
    double dropout = 0;

    TRY(json_get_object(root, "file", "model", false, &model));
    TRY(only_type(model, "model", "BPE"));
    TRY(json_double(model, "model", "dropout", true, 0, 1, &dropout));
    if (dropout != 0)
        return unsupported("model", "dropout", "another value than 0");
    for (size_t i = 0; i < COUNT(off); i++)
        TRY(only_false(model, "model", off[i]));
    for (size_t i = 0; i < COUNT(none); i++)
        TRY(only_empty(model, "model", none[i]));
    TRY(json_get_object(model, "model", "vocab", false, &part));
    TRY(json_get_array(model, "model", "merges", false, &part));
    if (!parts->vocab.n || !parts->merges.n)
        return err(RECTO_EFORMAT, "model: vocab and merges are not found");
    return 0;
}

static int check_normalizer(const json_t *root)
{
    json_t *normalizer, *list;

    TRY(json_get_object(root, "file", "normalizer", true, &normalizer));
    if (!normalizer)
        return 0;
    TRY(only_type(normalizer, "normalizer", "Sequence"));
    TRY(json_get_array(normalizer, "normalizer", "normalizers", false, &list));
    return json_array_size(list) ? unsupported("normalizer", "normalizers", "a list with steps")
                                 : 0;
}

static int check_decoder(const json_t *root)
{
    json_t *decoder;

    TRY(json_get_object(root, "file", "decoder", true, &decoder));
    return decoder ? only_type(decoder, "decoder", "ByteLevel") : 0;
}

static int read_split(struct tokenizer *t, const json_t *step)
{
    str behavior, regex;
    json_t *pattern;

    TRY(json_str(step, "Split", "behavior", false, &behavior));
    if (!str_eq(behavior, STR("Isolated")))
        return unsupported("Split", "behavior", "anything but \"Isolated\"");
    TRY(only_false(step, "Split", "invert"));
    TRY(json_get_object(step, "Split", "pattern", false, &pattern));
    if (!json_object_get(pattern, "Regex"))
        return unsupported("Split", "pattern", "anything but \"Regex\"");
    TRY(json_str(pattern, "pattern", "Regex", false, &regex));
    return presplit_add(&t->presplit, regex);
}

static int check_byte_level(const json_t *step)
{
    bool use_regex = true; /* what a missing key means to huggingface/tokenizers */

    TRY(only_type(step, "the last step", "ByteLevel"));
    TRY(only_false(step, "ByteLevel", "add_prefix_space"));
    TRY(json_bool(step, "ByteLevel", "use_regex", true, &use_regex));
    return use_regex ? unsupported("ByteLevel", "use_regex", "true") : 0;
}

static int read_steps(struct tokenizer *t, const json_t *root)
{
    json_t *pre, *list;

    TRY(json_get_object(root, "file", "pre_tokenizer", false, &pre));
    TRY(only_type(pre, "pre_tokenizer", "Sequence"));
    TRY(json_get_array(pre, "pre_tokenizer", "pretokenizers", false, &list));
    size_t n = json_array_size(list);
    if (n == 0)
        return err(RECTO_EMODEL, "pre_tokenizer: no steps; the last one must be ByteLevel");
    for (size_t i = 0; i + 1 < n; i++) {
        const json_t *step = json_array_get(list, i);
        int rc = only_type(step, "step", "Split");

        if (rc == 0)
            rc = read_split(t, step);
        if (rc < 0)
            return err_prefix(rc, "pre_tokenizer: pretokenizers[%zu]", i);
    }
    return check_byte_level(json_array_get(list, n - 1));
}

/* ---- added tokens ---------------------------------------------------------------------------- */

static int read_added_token(struct tokenizer *t, const json_t *token)
{
    static const char *const off[] = {"lstrip", "rstrip", "single_word"};
    bool normalized = false;
    int64_t id;
    str text;

    TRY(json_int(token, "token", "id", false, 0, VOCAB_MAX_ID, &id));
    TRY(json_str(token, "token", "content", false, &text));
    TRY(json_bool(token, "token", "normalized", true, &normalized));
    for (size_t i = 0; i < COUNT(off); i++)
        TRY(only_false(token, "token", off[i]));
    str piece = vocab_piece(&t->vocab, (int32_t)id);
    if (!piece.n)
        TRY(vocab_add(&t->vocab, id, text, false));
    else if (!str_eq(piece, text))
        return err(RECTO_EFORMAT, "id %d is another token in model.vocab", (int)id);
    added_put(&t->added[normalized], vocab_piece(&t->vocab, (int32_t)id), (int32_t)id);
    return 0;
}

static int read_added(struct tokenizer *t, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        int rc = read_added_token(t, json_array_get(list, i));
        if (rc < 0)
            return err_prefix(rc, "added_tokens[%zu]", i);
    }
    TRY(added_sort(&t->added[0]));
    TRY(added_sort(&t->added[1]));
    for (int i = 0; i < t->added[1].n; i++)
        if (added_find(&t->added[0], t->added[1].token[i].text) >= 0)
            return err(RECTO_EFORMAT, "added_tokens: the text of id %d is there twice",
                       t->added[1].token[i].id);
    return 0;
}

/* ---- the whole file -------------------------------------------------------------------------- */

static uint64_t random_seed(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
        seed = (uint64_t)clock_ns();
    return seed;
}

static int read_root(struct tokenizer *t, const json_t *root, const struct parts *parts)
{
    uint64_t seed = random_seed();
    json_t *added;

    if (!json_is_object(root))
        return err(RECTO_EFORMAT, "expected an object");
    TRY(check_model(root, parts));
    TRY(check_normalizer(root));
    TRY(check_decoder(root));
    TRY(read_steps(t, root));
    TRY(json_get_array(root, "file", "added_tokens", false, &added));
    /* a piece is never longer than the text that spells it, so this much will do */
    vocab_init(&t->vocab, parts->vocab.n + parts->rest.n, seed);
    bpe_init(&t->bpe, seed);
    TRY(parts_read_vocab(parts, t));
    TRY(parts_read_merges(parts, t));
    return read_added(t, added);
}

int tokenizer_file_read(struct tokenizer *t, str json, const char *name)
{
    struct parts parts = {0};
    json_t *root = NULL;
    int rc = parts_find(&parts, json);

    if (rc == 0) {
        rc = json_parse(&root, buf_view(&parts.rest), name);
        if (rc < 0)
            goto out; /* its sentence names the file */
        rc = read_root(t, root, &parts);
    }
    if (rc < 0)
        err_prefix(rc, "%s", name);
out:
    json_decref(root);
    buf_reset(&parts.rest);
    return rc;
}

/* A token is named by its text, or by an object with its text as "content". */
static int read_token_name(const struct tokenizer *t, const json_t *root, const char *key,
                           int32_t *id)
{
    json_t *value = json_object_get(root, key);
    str text = {0};

    if (json_is_object(value))
        TRY(json_str(value, key, "content", false, &text));
    else
        TRY(json_str(root, "file", key, true, &text));
    if (!text.p)
        return 0;
    *id = tokenizer_id(t, text);
    if (*id < 0)
        return err(RECTO_EMODEL, "%s \"%.60s\" is not a token of tokenizer.json", key, text.p);
    return 0;
}

static int read_config(struct tokenizer *t, const json_t *root)
{
    if (!json_is_object(root))
        return err(RECTO_EFORMAT, "expected an object");
    TRY(read_token_name(t, root, "bos_token", &t->bos));
    return read_token_name(t, root, "eos_token", &t->eos);
}

int tokenizer_config_read(struct tokenizer *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? mem_strndup(path, (size_t)(slash - path + 1)) : mem_strdup("./");
    char *config = file_join(dir, "tokenizer_config.json");
    json_t *root = NULL;
    int rc = 0;

    if (file_exists(config)) {
        rc = json_read(&root, config, TOKENIZER_MAX_REST);
        if (rc == 0) {
            rc = read_config(t, root);
            if (rc < 0)
                err_prefix(rc, "%s", config);
        }
    }
    json_decref(root);
    free(config);
    free(dir);
    return rc;
}
