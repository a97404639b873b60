/* What time brings: deadlines, the end of retention, rubbish. */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 1000, TIDY_MS = 60000, SWEEP_MS = 600000, LATE = 64, EXPIRED = 100 };

static void end_late(struct jobs *j, int64_t now)
{
    int64_t job[LATE];
    int n;

    if (store_end_late(j->store, now, job, LATE, &n) < 0)
        return;
    for (int i = 0; i < n; i++)
        desk_cancel(j, job[i], false);
}

/* Jobs whose time is over. Their files go with the note that deleting them leaves. */
static void expire(struct jobs *j, int64_t now)
{
    char id[EXPIRED][ID_BYTES];
    int n;

    if (store_expired(j->store, now, id, EXPIRED, &n) < 0)
        return;
    for (int i = 0; i < n; i++)
        if (jobs_delete(j, NULL, id[i]) == 0)
            desk_log(j, RECTO_LOG_INFO, "job=%s expired", id[i]);
}

static bool stays(void *ctx, const char *sha256, const char *job)
{
    struct jobs *j = ctx;
    bool is_named = true;
    int rc = sha256 ? store_has_blob(j->store, sha256, &is_named)
                    : store_has_job(j->store, job, &is_named);

    return rc < 0 || is_named; /* in doubt it stays */
}

static void sweep(struct jobs *j)
{
    int64_t bytes;

    pthread_mutex_lock(&j->blob_lock);
    blob_sweep(&j->blob, stays, j, &bytes);
    pthread_mutex_unlock(&j->blob_lock);
    pthread_mutex_lock(&j->lock);
    j->disk_blob = bytes;
    pthread_mutex_unlock(&j->lock);
}

/* Under pressure everything derived goes. */
static void trim(struct jobs *j)
{
    int64_t free_bytes = blob_free_bytes(&j->blob);
    bool is_low = free_bytes >= 0 && free_bytes < j->set.disk_min;
    int64_t left = blob_trim_cache(&j->blob, is_low ? 0 : j->set.image_cache);

    pthread_mutex_lock(&j->lock);
    j->disk_cache = left;
    pthread_mutex_unlock(&j->lock);
}

void desk_tidy(struct jobs *j)
{
    int64_t now = now_ms();

    if (now - j->looked_ms >= LOOK_MS) {
        j->looked_ms = now;
        end_late(j, now);
        expire(j, now);
    }
    if (now - j->tidied_ms >= TIDY_MS) {
        j->tidied_ms = now;
        store_thin(j->store);
        trim(j);
    }
    if (now - j->swept_ms >= SWEEP_MS) {
        j->swept_ms = now;
        sweep(j);
    }
}

/* Inputs that no row names any more are found by the sweep; those of this job would otherwise wait for an hour. */
void desk_remove_files(struct jobs *j, const char *id)
{
    blob_remove_job(&j->blob, id);
    jobs_set_password(j, id, NULL);
}
