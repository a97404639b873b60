#include "devices.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parallel -------------------------------------------------------------------------------------------------------- */

static bool number(const char **at, int *n)
{
    char *end;
    long v = **at >= '0' && **at <= '9' ? strtol(*at, &end, 10) : 0;

    if (v < 1 || v > DEVICES_MOST)
        return false;
    *n = (int)v;
    *at = end;
    return true;
}

static bool parse(const char *text, struct device_plan *p)
{
    p->n_engine = p->n_rank = 1;
    if (strncmp(text, "replicas=", 9) == 0) {
        text += 9;
        return number(&text, &p->n_engine) && *text == 0;
    }
    if (strncmp(text, "tp=", 3) != 0)
        return false;
    text += 3;
    if (!number(&text, &p->n_rank))
        return false;
    if (*text == 0)
        return true;
    return *text++ == 'x' && number(&text, &p->n_engine) && *text == 0;
}

static int parse_parallel(struct device_plan *p, const char *text, int n_listed, int max_running)
{
    if (strcmp(text, "auto") == 0) {
        bool is_cut = n_listed > 1 && max_running <= DEVICES_TP_PAGES;

        p->n_engine = is_cut ? 1 : MAX(n_listed, 1);
        p->n_rank = is_cut ? n_listed : 1;
        return 0;
    }
    if (!parse(text, p))
        return err(
            RECTO_EUSAGE,
            "parallel: '%.40s' is none of auto, tp=N, replicas=N, tp=NxM (N devices a model, M models)",
            text);
    if (p->n_engine * p->n_rank > DEVICES_MOST)
        return err(RECTO_EUSAGE, "parallel: %s is more than %d devices", text, DEVICES_MOST);
    return 0;
}

/* ---- device ---------------------------------------------------------------------------------------------------------- */

/* The numbers behind the colon; *n 0: none are listed. */
static int parse_list(const char *device, const struct backend *be, int id[DEVICES_MOST], int *n)
{
    const char *at = strchr(device, ':');

    *n = 0;
    if (!at)
        return 0;
    if (strcmp(++at, "all") == 0) {
        int there = be->count();

        if (there < 1)
            return err(RECTO_EDEVICE, "device: no %s is here; use --device cpu", be->name);
        for (*n = 0; *n < MIN(there, DEVICES_MOST); ++*n)
            id[*n] = *n;
        return 0;
    }
    for (;; at++) {
        char *end;
        long v = strtol(at, &end, 10);

        if (end == at || v < 0 || v > 1023 || *n == DEVICES_MOST || (*end && *end != ','))
            return err(RECTO_EUSAGE,
                       "device: '%s' is not %s, %s:NUMBER, %s:NUMBER,NUMBER... or %s:all", device,
                       be->name, be->name, be->name, be->name);
        id[(*n)++] = (int)v;
        at = end;
        if (*end == 0)
            return 0;
    }
}

static int check_list(const struct device_plan *p, const char *device, const int *id, int n)
{
    int need = p->n_engine * p->n_rank;

    if (n && n != need)
        return err(RECTO_EUSAGE, "device: %s lists %d, --parallel wants %d", device, n, need);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (id[i] == id[k])
                return err(RECTO_EUSAGE, "device: %s lists %d twice", device, id[i]);
    return 0;
}

static void fill(struct device_plan *p, const struct recto_settings *s, const struct backend *be,
                 const int *id, int n)
{
    int need = p->n_engine * p->n_rank, cores = s->threads ? s->threads : pool_usable_cores();

    for (int i = 0; i < need; i++) {
        p->opts[i] = settings_device(s);
        if (need > 1)
            p->opts[i].threads = MAX(1, cores / need + (i < cores % need));
        if (be->count && (n || need > 1)) {
            snprintf(p->name[i], sizeof p->name[i], "%s:%d", be->name, n ? id[i] : i);
            p->opts[i].name = p->name[i];
        }
    }
}

int devices_plan(struct device_plan *p, const struct recto_settings *s)
{
    const struct backend *be = backend_find(s->device);
    int id[DEVICES_MOST], n = 0;

    *p = (struct device_plan){0};
    if (!be)
        return RECTO_EDEVICE;
    if (be->count)
        TRY(parse_list(s->device, be, id, &n));
    TRY(parse_parallel(p, s->parallel, n, s->max_running));
    TRY(check_list(p, s->device, id, n));
    fill(p, s, be, id, n);
    return 0;
}
