/* Settings of an engine: defaults, checks, and where the model is. */
#ifndef RECTO_SETTINGS_H
#define RECTO_SETTINGS_H

#include "backend/backend.h"
#include "recto.h"

/* A copy that owns its strings; settings_reset frees them. */
void settings_copy(struct recto_settings *to, const struct recto_settings *from);
void settings_reset(struct recto_settings *s);
/* RECTO_EUSAGE names the setting and what it may be. */
int settings_check(const struct recto_settings *s);
/* s->model_dir, else the mini model in share/recto/models/mini beside the running program; *dir is owned by the caller. */
int settings_model_dir(const struct recto_settings *s, char **dir, bool *is_default);
struct device_opts settings_device(const struct recto_settings *s);

#endif
