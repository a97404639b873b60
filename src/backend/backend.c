#include "backend/backend.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

static const struct backend *const backends[] = {
    &backend_cpu,
};

const struct backend *backend_find(const char *name)
{
    for (size_t i = 0; i < COUNT(backends); i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    err(RECTO_EDEVICE, "device: no '%s' in this build (recto --version lists what is there)", name);
    return NULL;
}
