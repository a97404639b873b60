#include "settings.h"

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "tensor/quant.h"

#include <stdlib.h>
#include <string.h>

void recto_settings_init(struct recto_settings *s)
{
    *s = (struct recto_settings){
        .size = sizeof *s,
        .device = "cpu",
        .precision = "auto",
        .cpu_kernels = "auto",
        .router = "fp32",
        .max_running = 8,
        .chunk_tok = 512,
        .image_cache_bytes = 256000000,
        .max_waiting = 64,
        .max_pixels = 1500000000,
        .log_least = RECTO_LOG_INFO,
        .weights = "auto",
        .parallel = "auto",
    };
}

void recto_options_init(struct recto_options *o)
{
    *o = (struct recto_options){.size = sizeof *o,
                                .priority = RECTO_CLASS_NORMAL,
                                .top_p = 1,
                                .retries = 3,
                                .rotate = RECTO_ROTATE_AUTO};
}

void recto_options_imitate(struct recto_options *o)
{
    static const int guard[][2] = {{0, 0}, {20, 90}, {20, 50}, {40, 90}}; /* by recto_official */

    if (o->official == RECTO_OFFICIAL_NO)
        return;
    o->guard_n = guard[o->official][0];
    o->guard_w = guard[o->official][1];
    o->retries = o->rotate = 0;
    o->no_blank_check = true;
    o->text_layer = RECTO_LAYER_IGNORE;
}

int recto_task_parse(const char *name, enum recto_task *task, const char **phrase)
{
    static const char *const names[] = {"markdown", "text", "ocr", "figure", "describe"};

    *phrase = NULL;
    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *task = (enum recto_task)i;
            return 0;
        }
    if (strncmp(name, "locate=", 7) == 0 && name[7]) {
        *task = RECTO_TASK_LOCATE;
        *phrase = name + 7;
        return 0;
    }
    return err(RECTO_EUSAGE,
               "no task '%s': expected markdown, text, ocr, figure, describe or locate=PHRASE",
               name);
}

/* The strings of the struct, so that copy and reset cannot forget one. */
static const char **string_at(struct recto_settings *s, int i)
{
    const char **all[] = {&s->model_dir, &s->device, &s->precision, &s->cpu_kernels,
                          &s->router,    &s->helper, &s->weights,   &s->parallel};

    return i < (int)COUNT(all) ? all[i] : NULL;
}

void settings_copy(struct recto_settings *to, const struct recto_settings *from)
{
    const char **s;

    recto_settings_init(to);
    memcpy(to, from, MIN(from->size, sizeof *to));
    to->size = sizeof *to;
    for (int i = 0; (s = string_at(to, i)); i++)
        if (*s)
            *s = mem_strdup(*s);
}

void settings_reset(struct recto_settings *s)
{
    const char **string;

    for (int i = 0; (string = string_at(s, i)); i++)
        free((char *)*string);
    *s = (struct recto_settings){0};
}

static bool is_one_of(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (s && strcmp(s, *list) == 0)
            return true;
    return false;
}

static int check_words(const struct recto_settings *s)
{
    static const char *const precisions[] = {"auto", "bf16", "fp32", NULL};
    static const char *const kernels[] = {"auto",       "c",          "avx2", "avx512",
                                          "avx512vnni", "avx512bf16", "amx",  NULL};
    static const char *const routers[] = {"fp32", "bf16", NULL};
    enum weight_kind kind;

    if (!is_one_of(s->precision, precisions))
        return err(RECTO_EUSAGE, "no precision '%s': expected auto, bf16 or fp32", s->precision);
    if (!is_one_of(s->cpu_kernels, kernels))
        return err(RECTO_EUSAGE,
                   "no CPU kernels '%s': expected auto, c, avx2, avx512, avx512vnni, avx512bf16 "
                   "or amx",
                   s->cpu_kernels);
    if (!is_one_of(s->router, routers))
        return err(RECTO_EUSAGE, "no router precision '%s': expected fp32 or bf16", s->router);
    return quant_kind_parse(s->weights, &kind);
}

static int check_range(const char *what, int64_t value, int64_t lo, int64_t hi)
{
    if (value < lo || value > hi)
        return err(RECTO_EUSAGE, "%s is %lld, expected %lld to %lld", what, (long long)value,
                   (long long)lo, (long long)hi);
    return 0;
}

int settings_check(const struct recto_settings *s)
{
    TRY(check_words(s));
    TRY(check_range("threads", s->threads, 0, 1024));
    TRY(check_range("kv_block_tok", s->kv_block_tok, 0, 128));
    TRY(check_range("kv_tok", s->kv_tok, 0, INT32_MAX / 2));
    TRY(check_range("max_running", s->max_running, 1, 1024));
    TRY(check_range("interactive_reserve", s->interactive_reserve, 0, s->max_running - 1));
    TRY(check_range("image_cache_bytes", s->image_cache_bytes, 0, INT64_MAX));
    TRY(check_range("chunk_tok", s->chunk_tok, 1, 8192));
    TRY(check_range("max_waiting", s->max_waiting, 1, 1000000));
    TRY(check_range("page_workers", s->page_workers, 0, 16));
    return check_range("max_pixels", s->max_pixels, 1, (int64_t)10000000000);
}

int settings_model_dir(const struct recto_settings *s, char **dir, bool *is_default)
{
    static const char *const places[] = {"share/recto/models/mini", "../share/recto/models/mini"};
    char *program;

    *is_default = !s->model_dir;
    *dir = s->model_dir ? mem_strdup(s->model_dir) : NULL;
    if (*dir)
        return 0;
    program = file_program_dir();
    for (size_t i = 0; program && i < COUNT(places); i++) {
        *dir = file_join(program, places[i]);
        if (file_is_dir(*dir))
            break;
        free(*dir);
        *dir = NULL;
    }
    free(program);
    if (!*dir)
        return err(
            RECTO_EMODEL,
            "model: no share/recto/models/mini beside the program; name a model folder with --model");
    return 0;
}

struct device_opts settings_device(const struct recto_settings *s)
{
    return (struct device_opts){
        .name = s->device,
        .precision = s->precision,
        .kernels = s->cpu_kernels,
        .router_bf16 = strcmp(s->router, "bf16") == 0,
        .threads = s->threads,
        .weights = s->weights,
    };
}
