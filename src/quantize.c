/* recto_quantize: a model folder's copy with smaller numbers. */
#include "recto.h"

#include "base/err.h"
#include "base/mem.h"
#include "settings.h"
#include "tensor/quant_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Everything beside the weights; which of them there are is the model's business. */
static int copy_companions(const char *from, const char *to)
{
    static const char *const names[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                        "generation_config.json"};
    int rc = 0;

    for (size_t i = 0; i < COUNT(names) && rc == 0; i++) {
        char *a = file_join(from, names[i]), *b = file_join(to, names[i]);

        if (file_exists(a))
            rc = file_copy(b, a, 64u << 20);
        free(a);
        free(b);
    }
    return rc;
}

static void report(const struct quant_written *w, enum weight_kind kind, const struct ckpt *c,
                   recto_line_fn *print, void *ctx)
{
    char line[256];
    int64_t before = 0;

    for (int i = 0; i < c->n_tensor; i++)
        before += (int64_t)c->tensor[i].bytes;
    snprintf(line, sizeof line,
             "%d matrices as %s, %d tensors in all; %lld bytes of numbers became %lld; relative "
             "error of the matrices %.2f %%",
             w->n_quantised, quant_kind_text(kind), w->n_tensor, (long long)before,
             (long long)w->bytes, 100 * w->error);
    print(ctx, line);
}

static int parse_scheme(const char *scheme, enum weight_kind *kind)
{
    TRY(quant_kind_parse(scheme, kind));
    if (!scheme || !quant_is(*kind))
        return err(RECTO_EUSAGE, "no scheme '%s': expected int8 or int4", scheme ? scheme : "");
    return 0;
}

int recto_quantize(const char *model_dir, const char *out, const char *scheme, int threads,
                   recto_line_fn *print, void *ctx)
{
    struct recto_settings s = {.model_dir = model_dir};
    struct quant_written done;
    struct model_config config;
    struct ckpt ckpt = {0};
    enum weight_kind kind;
    char *dir = NULL;
    bool is_default;
    int rc;

    TRY(parse_scheme(scheme, &kind));
    TRY(settings_model_dir(&s, &dir, &is_default));
    TRY_OUT(config_load(&config, dir));
    TRY_OUT(ckpt_open(&ckpt, dir));
    if (mkdir(out, 0777) < 0 && !file_is_dir(out)) {
        rc = err(RECTO_EOUTPUT, "cannot make the folder %s", out);
        goto out;
    }
    TRY_OUT(quant_write(out, &config, &ckpt, kind, threads, &done));
    TRY_OUT(copy_companions(dir, out));
    report(&done, kind, &ckpt, print, ctx);
out:
    ckpt_close(&ckpt);
    free(dir);
    return rc;
}
