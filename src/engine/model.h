/* A model folder opened on a device: configuration, vision and decoder with their weights. Immutable once open. */
#ifndef RECTO_ENGINE_MODEL_H
#define RECTO_ENGINE_MODEL_H

#include "decoder/decoder.h"
#include "vision/vision.h"

struct model {
    const struct backend *be;
    struct device *dev;
    struct device_info info;
    struct model_config cfg;
    struct weights weights;
    struct vision vision;
    struct decoder decoder;
    double load_ms;
};

/* dir holds config.json and *.safetensors. After any outcome model_close(m) is safe. RECTO_EMODEL, RECTO_EDEVICE. */
int model_open(struct model *m, const char *dir, const char *backend,
               const struct device_opts *opts);
/* The same for one of several ranks (ranks.h), with its part of the decoder. */
int model_open_part(struct model *m, const char *dir, const char *backend,
                    const struct device_opts *opts, struct cut_rank cut);
void model_close(struct model *m);

#endif
