#include "recto.h"

#include "base/err.h"
#include "settings.h"
#include "verify/stages.h"

#include <stdlib.h>

int recto_bench_stages(const struct recto_settings *s, const char *part, int rounds,
                       recto_line_fn *print, recto_stage_fn *took, void *ctx)
{
    struct recto_settings set;
    struct device_opts dev;
    char *dir = NULL;
    bool is_default;
    int rc;

    settings_copy(&set, s);
    TRY_OUT(settings_check(&set));
    TRY_OUT(settings_model_dir(&set, &dir, &is_default));
    dev = settings_device(&set);
    rc = stages_measure(
        &(struct stages_ask){dir, part, &dev, set.kv_block_tok, rounds, print, took, ctx});
out:
    settings_reset(&set);
    free(dir);
    return rc;
}
