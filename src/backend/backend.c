#include "backend/backend.h"

#include "base/err.h"
#include "base/mem.h"

#include <string.h>

static const struct backend *const backends[] = {
    &backend_cpu,
    &backend_sim,
    &backend_script,
#ifdef RECTO_HAVE_CUDA
    &backend_cuda,
#endif
};

const struct backend *backend_find(const char *name)
{
    size_t n = strcspn(name, ":");

    for (size_t i = 0; i < COUNT(backends); i++)
        if (strlen(backends[i]->name) == n && memcmp(backends[i]->name, name, n) == 0)
            return backends[i];
    err(RECTO_EDEVICE, "device: no '%s' in this build (recto --version lists what is there)", name);
    return NULL;
}
