#include "nvml.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdlib.h>

typedef void *nvml_device;
struct nvml_rates {
    unsigned gpu,
        memory; /* per cent of the last sampling period in which a kernel ran, memory was used */
};
struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};
enum { NVML_SUCCESS, NVML_TEMPERATURE_GPU = 0 };

/* name, parameters */
#define NVML_CALLS(X)                                                            \
    X(nvmlInit_v2, (void))                                                       \
    X(nvmlShutdown, (void))                                                      \
    X(nvmlDeviceGetHandleByPciBusId_v2, (const char *, nvml_device *))           \
    X(nvmlDeviceGetUtilizationRates, (nvml_device, struct nvml_rates *))         \
    X(nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *))              \
    X(nvmlDeviceGetPowerUsage, (nvml_device, unsigned *))       /* milliwatts */ \
    X(nvmlDeviceGetTemperature, (nvml_device, int, unsigned *)) /* degrees C */

struct nvml {
    void *library;
    nvml_device device;
#define X(name, parameters) int(*name) parameters;
    NVML_CALLS(X)
#undef X
};

static bool find_calls(struct nvml *n)
{
    bool all = true;

#define X(name, parameters) all = (*(void **)(void *)&n->name = dlsym(n->library, #name)) && all;
    NVML_CALLS(X)
#undef X
    return all;
}

struct nvml *nvml_open(const char *bus_id)
{
    struct nvml *n = mem_zero(1, sizeof *n);

    n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (n->library && find_calls(n) && n->nvmlInit_v2() == NVML_SUCCESS) {
        if (n->nvmlDeviceGetHandleByPciBusId_v2(bus_id, &n->device) == NVML_SUCCESS)
            return n;
        n->nvmlShutdown();
    }
    if (n->library)
        dlclose(n->library);
    free(n);
    return NULL;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    n->nvmlShutdown();
    dlclose(n->library);
    free(n);
}

void nvml_read(struct nvml *n, struct device_stats *s)
{
    struct nvml_rates rates;
    struct nvml_memory memory;
    unsigned value;

    *s = DEVICE_STATS_UNKNOWN;
    if (!n)
        return;
    if (n->nvmlDeviceGetUtilizationRates(n->device, &rates) == NVML_SUCCESS)
        s->utilisation = rates.gpu / 100.0;
    if (n->nvmlDeviceGetMemoryInfo(n->device, &memory) == NVML_SUCCESS) {
        s->memory_used = (int64_t)memory.used;
        s->memory_total = (int64_t)memory.total;
    }
    if (n->nvmlDeviceGetPowerUsage(n->device, &value) == NVML_SUCCESS)
        s->power_w = value / 1000.0;
    if (n->nvmlDeviceGetTemperature(n->device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        s->temperature_c = value;
}
