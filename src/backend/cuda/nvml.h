/* What a card reports of itself, through NVIDIA's management library (NVML), which the driver installs; found at run time.
 * Source: NVML API Reference Guide, nvmlDeviceGetUtilizationRates, ...MemoryInfo, ...PowerUsage, ...Temperature. */
#ifndef RECTO_BACKEND_CUDA_NVML_H
#define RECTO_BACKEND_CUDA_NVML_H

#include "backend/backend.h"

struct nvml;

/* The card at a PCI bus id as the runtime prints it ("0000:1b:00.0"). NULL where the library or the card is missing. */
struct nvml *nvml_open(const char *bus_id);
void nvml_close(struct nvml *n);
/* n may be NULL: everything unknown. Any thread. */
void nvml_read(struct nvml *n, struct device_stats *s);

#endif
