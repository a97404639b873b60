#include "engine/model.h"

#include "base/clock.h"
#include "base/err.h"

static int load_weights(struct model *m, const char *dir, enum weight_kind kind,
                        struct cut_rank cut)
{
    struct ckpt ckpt = {0};
    struct loader ld;
    int rc;

    if (!m->be->is_simulated)
        TRY_OUT(ckpt_open(&ckpt, dir));
    loader_init(&ld, &m->weights, m->be, m->dev, m->be->is_simulated ? NULL : &ckpt);
    ld.kind = kind;
    ld.cut = cut;
    vision_load(&m->vision, &ld, &m->cfg);
    decoder_load(&m->decoder, &ld, &m->cfg.decoder);
    rc = loader_finish(&ld);
out:
    ckpt_close(&ckpt);
    return rc;
}

int model_open(struct model *m, const char *dir, const char *backend,
               const struct device_opts *opts)
{
    return model_open_part(m, dir, backend, opts, (struct cut_rank){0, 1});
}

int model_open_part(struct model *m, const char *dir, const char *backend,
                    const struct device_opts *opts, struct cut_rank cut)
{
    int64_t start = clock_ns();
    enum weight_kind kind;

    *m = (struct model){0};
    m->be = backend_find(backend);
    if (!m->be)
        return RECTO_EDEVICE;
    TRY(quant_kind_parse(opts->weights, &kind));
    TRY(config_load(&m->cfg, dir));
    if (m->cfg.decoder.kv_heads != m->cfg.decoder.heads)
        return err(
            RECTO_EMODEL,
            "model: %s/config.json: num_key_value_heads is %d, expected num_attention_heads (%d)",
            dir, m->cfg.decoder.kv_heads, m->cfg.decoder.heads);
    TRY(m->be->open(&m->dev, opts));
    m->be->info(m->dev, &m->info);
    TRY(load_weights(m, dir, kind, cut));
    m->load_ms = clock_ms_since(start);
    return 0;
}

void model_close(struct model *m)
{
    vision_reset(&m->vision);
    if (m->decoder.cfg)
        decoder_reset(&m->decoder);
    if (m->dev) {
        weights_free(&m->weights);
        m->be->close(m->dev);
    }
    *m = (struct model){0};
}
