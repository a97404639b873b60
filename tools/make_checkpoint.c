/* Make a checkpoint: of random weights for any configuration, or the native twin of an original
 * one.
 *
 * Random weights have the released model's size, names and memory traffic, so that loading, speed
 * and memory can be tried without the real 6.8 GB. They are drawn so that the network is sane:
 * every matrix maps inputs of unit variance to about half of it, norms keep the stream near 1, the
 * router has no favourites, and logits differ between tokens. The text that comes out means
 * nothing.
 *
 * Number i of a tensor depends on the seed, the tensor's original name and i alone: not on threads,
 * files or naming. */
#include "base/clock.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "tensor/ckpt_write.h"
#include "tools/args.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char usage[] =
    "make_checkpoint [--config CONFIG.json] [--seed N] [--native] [--dtype bf16|f32] [--shards N]\n"
    "                [--tokenizer FILE] [--threads N] OUT_DIR\n"
    "    Random weights for a configuration; without --config, the released one\n"
    "    (2707 tensors, 6.78 GB in bf16).\n"
    "make_checkpoint --convert-native [--shards N] [--threads N] SRC_DIR OUT_DIR\n"
    "    The same weights as transformers 5 writes them: native names, fused experts.\n";

struct args {
    const char *config, *tokenizer, *from, *out;
    uint64_t seed;
    int shards, threads;
    bool is_native, is_convert;
    enum dtype dtype;
};

/* ---- random numbers -------------------------------------------------------------------------- */

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
 * Generators, 2014), here of a counter, so that any piece can be made on its own. */
static inline uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* About N(0, 1): the sum of four uniform 16-bit numbers, of variance 4 (65536^2 - 1) / 12. Nothing
 * beyond 3.46. */
static inline float normal(uint64_t r)
{
    int sum = (int)(r & 65535) + (int)(r >> 16 & 65535) + (int)(r >> 32 & 65535) + (int)(r >> 48);

    return (float)(sum - 131070) * (1 / 37837.2275f);
}

/* value = centre + scale * N(0, 1) */
static void spread(const struct inventory_item *it, float *centre, float *scale)
{
    *centre = it->role == ROLE_NORM ? 1 : 0;
    *scale = 0;
    switch (it->role) {
    case ROLE_LINEAR:
    case ROLE_CONV: /* 0.7: a stack of them neither grows nor fades much before the next norm */
        *scale = 0.7f / sqrtf((float)it->fan_in);
        break;
    case ROLE_ROUTER: /* logits of unit variance: picks differ, experts get equal shares */
    case ROLE_HEAD:
        *scale = 1 / sqrtf((float)it->fan_in);
        break;
    case ROLE_EMBED: /* as large as what the projector gives for a visual token */
        *scale = 0.5f;
        break;
    case ROLE_NORM: /* within 0.9 and 1.1 */
        *scale = 0.1f / 3.4642f;
        break;
    case ROLE_POS:
    case ROLE_REL_POS:
        *scale = 0.05f;
        break;
    case ROLE_BIAS:
    case ROLE_NORM_BIAS:
        *scale = 0.02f;
        break;
    }
}

static int fill_random(void *ctx, const struct inventory_item *it, int64_t from, int64_t count,
                       float *to)
{
    const struct args *a = ctx;
    uint64_t key = mix(a->seed + 0x9e3779b97f4a7c15u);
    float centre, scale;

    for (const char *s = it->name; *s; s++)
        key = mix(key ^ (unsigned char)*s);
    spread(it, &centre, &scale);
    key += 0x9e3779b97f4a7c15u * (uint64_t)from;
    for (int64_t i = 0; i < count; i++)
        to[i] = centre + scale * normal(mix(key + 0x9e3779b97f4a7c15u * (uint64_t)i));
    return 0;
}

/* ---- another checkpoint ---------------------------------------------------------------------- */

struct from {
    struct ckpt ckpt;
    enum names_layout layout;
};

static int fill_copy(void *ctx, const struct inventory_item *it, int64_t from, int64_t count,
                     float *to)
{
    const struct from *f = ctx;
    struct ckpt_view v;

    TRY(names_find(&f->ckpt, f->layout, it->name, &v));
    struct ckpt_view part = v;
    part.data = (const char *)v.data + (size_t)from * dtype_size(v.dtype);
    part.bytes = (size_t)count * dtype_size(v.dtype);
    TRY(ckpt_read_f32(v.dtype, part.data, count, to));
    names_drop(&f->ckpt, &part);
    return 0;
}

static int open_from(struct from *f, const char *dir, const struct model_config *c)
{
    TRY(ckpt_open(&f->ckpt, dir));
    int layout = names_detect(&f->ckpt);
    TRY(layout);
    f->layout = (enum names_layout)layout;
    return inventory_check(c, &f->ckpt, f->layout);
}

/* ---- small files beside the weights ---------------------------------------------------------- */

static int write_text(const char *dir, const char *name, const struct buf *text)
{
    char *path = file_join(dir, name);
    int rc = file_write(path, buf_view(text));

    free(path);
    return rc;
}

static int copy_file(const char *from, const char *dir, const char *name)
{
    char *path = file_join(dir, name);
    int rc = file_copy(path, from, 64u << 20);

    free(path);
    return rc;
}

/* The text of a special id, or NULL. */
static const char *added_text(const json_t *tokenizer, int id)
{
    const json_t *v, *list = json_object_get(tokenizer, "added_tokens");
    size_t i;

    json_array_foreach(list, i, v) if (json_integer_value(json_object_get(v, "id")) ==
                                       id) return json_string_value(json_object_get(v, "content"));
    return NULL;
}

static int write_tokenizer(const struct args *a, const struct model_config *c)
{
    json_t *root = NULL;
    struct buf text = {0};
    int rc;

    TRY_OUT(copy_file(a->tokenizer, a->out, "tokenizer.json"));
    TRY_OUT(json_read(&root, a->tokenizer, 64u << 20));
    const char *bos = added_text(root, c->decoder.bos), *eos = added_text(root, c->decoder.eos);
    if (!bos || !eos) {
        rc = err(RECTO_EFORMAT, "%s: no added token has the id %d", a->tokenizer,
                 bos ? c->decoder.eos : c->decoder.bos);
        goto out;
    }
    json_t *config = json_pack("{s:s, s:s, s:b, s:b}", "bos_token", bos, "eos_token", eos,
                               "add_bos_token", 1, "add_eos_token", 0);
    char *dump = json_dumps(config, JSON_INDENT(2));
    buf_text(&text, dump);
    buf_char(&text, '\n');
    free(dump);
    json_decref(config);
    rc = write_text(a->out, "tokenizer_config.json", &text);
out:
    json_decref(root);
    buf_reset(&text);
    return rc;
}

/* Weights with other names, everything else the same. */
static int copy_companions(const struct args *a)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json",
                                        "generation_config.json"};
    int rc = 0;

    for (size_t i = 0; i < COUNT(names) && rc == 0; i++) {
        char *path = file_join(a->from, names[i]);

        if (file_exists(path))
            rc = copy_file(path, a->out, names[i]);
        free(path);
    }
    return rc;
}

/* ---- the program ----------------------------------------------------------------------------- */

static int read_config(const struct args *a, struct model_config *c)
{
    struct buf text = {0};
    int rc;

    if (a->is_convert)
        return config_load(c, a->from);
    config_released(c);
    if (!a->config)
        return 0;
    rc = file_read(&text, a->config, 1u << 20);
    if (rc == 0)
        rc = config_parse(c, buf_view(&text), a->config);
    buf_reset(&text);
    return rc;
}

static int write_config(const struct args *a, const struct model_config *c, enum dtype dtype)
{
    struct buf text = {0};

    config_write(c, a->is_native ? CONFIG_NATIVE : CONFIG_ORIGINAL,
                 dtype == DT_BF16 ? "bfloat16" : "float32", &text);
    int rc = write_text(a->out, "config.json", &text);
    buf_reset(&text);
    return rc;
}

static int make(const struct args *a)
{
    struct model_config c;
    struct from from = {0};
    struct ckpt_written done;
    struct ckpt_plan plan = {.config = &c,
                             .layout = a->is_native ? NAMES_NATIVE : NAMES_ORIGINAL,
                             .dtype = a->dtype,
                             .n_shard = a->shards,
                             .threads = a->threads,
                             .fill = a->is_convert ? fill_copy : fill_random,
                             .ctx = a->is_convert ? (void *)&from : (void *)a};
    int64_t start = clock_ns();
    int rc;

    TRY(read_config(a, &c));
    if (mkdir(a->out, 0777) < 0 && !file_is_dir(a->out))
        return err(RECTO_EOUTPUT, "cannot make the folder %s", a->out);
    if (a->is_convert) {
        struct ckpt_view head;

        TRY_OUT(open_from(&from, a->from, &c));
        TRY_OUT(names_find(&from.ckpt, from.layout, "lm_head.weight", &head));
        plan.dtype = head.dtype == DT_BF16 ? DT_BF16 : DT_F32;
    }
    /* Weights first: they refuse a folder that has some, and then nothing in it was touched. */
    TRY_OUT(ckpt_write(a->out, &plan, &done));
    TRY_OUT(write_config(a, &c, plan.dtype));
    if (a->is_convert)
        TRY_OUT(copy_companions(a));
    if (a->tokenizer)
        TRY_OUT(write_tokenizer(a, &c));
    double s = clock_ms_since(start) / 1e3;
    printf("files=%d tensors=%d parameters=%lld bytes=%lld seconds=%.1f MB/s=%.0f\n", done.n_file,
           done.n_tensor, (long long)done.n_param, (long long)done.bytes, s,
           (double)done.bytes / 1e6 / s);
out:
    if (a->is_convert)
        ckpt_close(&from.ckpt);
    return rc;
}

static int parse_option(struct args *a, int option, const char *value)
{
    long long n;

    switch (option) {
    case 'c':
        a->config = value;
        return 0;
    case 't':
        a->tokenizer = value;
        return 0;
    case 'n':
        a->is_native = true;
        return 0;
    case 'v':
        a->is_convert = a->is_native = true;
        return 0;
    case 's':
        TRY(args_number("seed", value, 0, INT64_MAX, &n));
        a->seed = (uint64_t)n;
        return 0;
    case 'k':
        TRY(args_number("shards", value, 0, 1000, &n));
        a->shards = (int)n;
        return 0;
    case 'j':
        TRY(args_number("threads", value, 0, 1024, &n));
        a->threads = (int)n;
        return 0;
    case 'd':
        if (strcmp(value, "bf16") != 0 && strcmp(value, "f32") != 0)
            return err(RECTO_EUSAGE, "--dtype %s: expected bf16 or f32", value);
        a->dtype = strcmp(value, "bf16") == 0 ? DT_BF16 : DT_F32;
        return 0;
    default:
        return err(RECTO_EUSAGE, "unknown option, or one without its value");
    }
}

static int parse_args(struct args *a, int argc, char **argv)
{
    static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"seed", required_argument, NULL, 's'},
        {"native", no_argument, NULL, 'n'},
        {"dtype", required_argument, NULL, 'd'},
        {"shards", required_argument, NULL, 'k'},
        {"tokenizer", required_argument, NULL, 't'},
        {"threads", required_argument, NULL, 'j'},
        {"convert-native", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *a = (struct args){.dtype = DT_BF16};
    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        TRY(parse_option(a, option, optarg));
    if (argc - optind != (a->is_convert ? 2 : 1))
        return err(RECTO_EUSAGE,
                   a->is_convert ? "expected SRC_DIR and OUT_DIR" : "expected OUT_DIR");
    a->from = a->is_convert ? argv[optind] : NULL;
    a->out = argv[argc - 1];
    return 0;
}

int main(int argc, char **argv)
{
    struct args a;
    int rc = parse_args(&a, argc, argv);

    if (rc == 0)
        rc = make(&a);
    if (rc < 0)
        fprintf(stderr, "make_checkpoint: %s\n%s", err_text(), rc == RECTO_EUSAGE ? usage : "");
    return rc < 0;
}
