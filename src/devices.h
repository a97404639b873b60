/* --device and --parallel: how many engines there are, and on which devices each model lies.
 *
 *   device     NAME, or NAME:LIST of numbers (cuda:0,1), or NAME:all, where the kind has numbered devices; NAME alone is as many
 *              as are needed, from number 0.  A kind without numbers (cpu, sim:..., script:...) is shared by all.
 *   parallel   tp=N        one model cut over N devices
 *              replicas=N  N whole models, pages spread over them
 *              tp=NxM      M models, each cut over N devices
 *              auto        of the devices that are listed: one is simply used; several are replicas, but tp while max_running is
 *                          at most DEVICES_TP_PAGES: few pages gain from a shorter step, many from more steps.  Measured:
 *                          docs/devices.md
 */
#ifndef RECTO_DEVICES_H
#define RECTO_DEVICES_H

#include "backend/backend.h"
#include "recto.h"

enum { DEVICES_MOST = 64, DEVICES_TP_PAGES = 8 };

struct device_plan {
    int n_engine, n_rank;
    struct device_opts opts
        [DEVICES_MOST]; /* [n_engine * n_rank] engine by engine; strings are the settings' or name's */
    char name[DEVICES_MOST][32];
};

/* RECTO_EUSAGE: a text that is none of these; RECTO_EDEVICE: not so many devices. */
int devices_plan(struct device_plan *p, const struct recto_settings *s);

#endif
