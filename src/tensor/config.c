/* One configuration from the text of a file: layout, then what both have in common, then the guard.
 * */
#include "tensor/config.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "tensor/config_key.h"

#include <stdlib.h>

#define CONFIG_BYTES_MAX (1u << 20)

void config_released(struct model_config *c)
{
    *c = (struct model_config){
        .sam = {.width = 768,
                .layers = 12,
                .heads = 12,
                .head_dim = 64,
                .mlp = 3072,
                .out_chans = 256,
                .net2 = 512,
                .window = 14,
                .patch = 16,
                .is_global = {[2] = true, [5] = true, [8] = true, [11] = true},
                .eps = 1e-6f},
        .flow = {896, 24, 14, 2, 64, 4864, 1e6f, 1e-6f},
        .decoder = {129280, 1280, 12, 10, 10, 128, 6848, 1, 896, 64, 6, 2, 1e4f, 1e-6f, 8192, 0, 1,
                    false, 1},
        .image_token_id = -1,
        .crop_mode = true,
        .image_size = 1024,
        .tile = 768,
        .n_query_global = 256,
        .n_query_tile = 144,
        .guard_n = 20,
        .guard_w = 90,
    };
}

/* ---- both ------------------------------------------------------------------------------------ */

static int divides(const char *name, const char *part, int heads, const char *what, int width)
{
    if (width % heads)
        return err(RECTO_EMODEL, "%s: %s: %d heads do not divide a %s of %d", name, part, heads,
                   what, width);
    return 0;
}

/* Rope turns pairs; attention kernels hold one head's vector on the stack. */
static int check_head(const char *name, const char *part, int dim, bool has_rope)
{
    if (dim > 256 || (has_rope && dim % 2))
        return err(RECTO_EMODEL, "%s: %s: a head has %d channels, expected %s number up to 256",
                   name, part, dim, has_rope ? "an even" : "a");
    return 0;
}

static int finish(struct model_config *c, const char *name)
{
    struct sam_config *s = &c->sam;
    struct flow_config *f = &c->flow;
    struct decoder_config *d = &c->decoder;

    TRY(divides(name, "SAM", s->heads, "width", s->width));
    TRY(divides(name, "encoder", f->heads, "width", f->dim));
    TRY(divides(name, "encoder", f->kv_heads, "number of heads", f->heads));
    TRY(divides(name, "decoder", d->heads, "width", d->hidden));
    TRY(divides(name, "decoder", d->kv_heads, "number of heads", d->heads));
    s->head_dim = s->width / s->heads;
    f->head_dim = f->dim / f->heads;
    d->head_dim = d->hidden / d->heads;
    TRY(check_head(name, "SAM", s->head_dim, false));
    TRY(check_head(name, "encoder", f->head_dim, true));
    TRY(check_head(name, "decoder", d->head_dim, true));
    if (d->n_pick > d->n_expert)
        return err(RECTO_EMODEL,
                   "%s: num_experts_per_tok is %d, expected at most n_routed_experts = %d", name,
                   d->n_pick, d->n_expert);
    return 0;
}

static int read_root(const json_t *root, const char *name, struct model_config *c)
{
    static const struct rule rules[] = {
        {"tie_word_embeddings", MUST_FALSE, 0, NULL, "output layer that is the embedding"},
        {"quantization_config", MUST_ABSENT, 0, NULL,
         "reader of packed checkpoints; use the bf16 one"},
    };
    struct place top;
    str type = {0};

    place_root(&top, root, name);
    if (!json_is_object(root))
        return err(RECTO_EMODEL, "%s: expected a JSON object", top.where);
    TRY(json_str(root, top.where, "model_type", true, &type));
    bool is_native = str_eq(type, STR("deepseek_ocr2"));
    if (!is_native && !json_object_get(root, "language_config"))
        return err(RECTO_EMODEL,
                   "%s: not a configuration of DeepSeek-OCR-2: "
                   "neither model_type deepseek_ocr2 nor language_config",
                   name);
    TRY(check_rules(&top, rules, sizeof rules / sizeof *rules));
    TRY(is_native ? config_read_native(&top, c) : config_read_original(&top, c));
    TRY(get_int(&top, "image_token_id", OPTIONAL, 0, c->decoder.vocab - 1, &c->image_token_id));
    TRY(json_bool(root, top.where, "crop_mode", true, &c->crop_mode));
    return finish(c, top.where);
}

int config_parse(struct model_config *c, str json, const char *name)
{
    json_t *root = NULL;

    config_released(c);
    int rc = json_parse(&root, json, name);
    if (rc == 0)
        rc = read_root(root, name, c);
    json_decref(root);
    return rc < 0 ? RECTO_EMODEL : 0;
}

static int parse_guard(const char *name, str guard, struct model_config *c)
{
    char text[24] = {0}, *end;

    if (guard.n < sizeof text)
        memcpy(text, guard.p, guard.n);
    if (strcmp(text, "off") == 0) {
        c->guard_n = -1;
        return 0;
    }
    long n = text[0] >= '1' && text[0] <= '9' ? strtol(text, &end, 10) : 0;
    bool is_all = n && strcmp(end, "/all") == 0;
    long w = n && !is_all && end[0] == '/' && end[1] >= '1' && end[1] <= '9'
                 ? strtol(end + 1, &end, 10)
                 : 0;
    if (n < 1 || n > 1000 || (!is_all && (w < n || w > 1000000 || *end)))
        return err(RECTO_EMODEL,
                   "%s: recto.guard is \"%s\", expected size/window (1 <= size <= 1000, "
                   "size <= window), size/all or off",
                   name, text);
    c->guard_n = (int)n;
    c->guard_w = is_all ? -1 : (int)w;
    return 0;
}

static int guard_of(const json_t *root, const char *name, struct model_config *c)
{
    struct place top, own;
    str guard = {0};

    place_root(&top, root, name);
    if (!json_object_get(root, "recto"))
        return 0;
    TRY(enter(&own, &top, "recto"));
    TRY(json_str(own.obj, own.where, "guard", true, &guard));
    return guard.p ? parse_guard(top.where, guard, c) : 0;
}

int config_parse_guard(struct model_config *c, str json, const char *name)
{
    json_t *root = NULL;
    int rc = json_parse(&root, json, name);

    if (rc == 0)
        rc = guard_of(root, name, c);
    json_decref(root);
    return rc < 0 ? RECTO_EMODEL : 0;
}

/* Read one file of the folder and hand its text on. */
static int load(struct model_config *c, const char *path,
                int (*parse)(struct model_config *, str, const char *))
{
    struct buf text = {0};
    int rc = file_read(&text, path, CONFIG_BYTES_MAX);

    if (rc == RECTO_ENOTFOUND)
        rc = err(RECTO_EMODEL,
                 "%s: no such file; download it with the weights, it says how large the model is",
                 path);
    else if (rc == 0)
        rc = parse(c, buf_view(&text), path);
    buf_reset(&text);
    return rc < 0 ? RECTO_EMODEL : 0;
}

int config_load(struct model_config *c, const char *dir)
{
    bool is_file = str_ends(str_of(dir), STR(".json")) && !file_is_dir(dir);
    char *config = is_file ? mem_strdup(dir) : file_join(dir, "config.json");
    char *generation = file_join(dir, "generation_config.json");
    int rc = load(c, config, config_parse);

    if (rc == 0 && file_exists(generation))
        rc = load(c, generation, config_parse_guard);
    free(config);
    free(generation);
    return rc;
}
