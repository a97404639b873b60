/* What `recto store` does, on a data directory that no server holds. */
#include "blob.h"
#include "fault.h"
#include "store.h"

#include <stdlib.h>
#include <unistd.h>

static bool has_file(void *ctx, const char *job, int page, int attempt)
{
    char *path = blob_page(ctx, job, page, attempt);
    bool is_there = access(path, R_OK) == 0;

    free(path);
    return is_there;
}

static int with_database(const char *data,
                         int (*fn)(struct blob *b, const char *path, recto_line_fn *print,
                                   void *ctx),
                         recto_line_fn *print, void *ctx)
{
    struct fault_note why;
    struct blob b;
    int rc = blob_open(&b, data);

    if (rc == 0) {
        char *path = blob_database(&b);
        rc = access(path, F_OK) == 0
                 ? fn(&b, path, print, ctx)
                 : fault(JOBS_STORE, NULL, "%s holds no recto.db: is it the right directory?",
                         data);
        free(path);
    }
    fault_save(&why, rc);
    blob_close(&b);
    return fault_load(&why);
}

static int check(struct blob *b, const char *path, recto_line_fn *print, void *ctx)
{
    return store_check(path, has_file, b, print, ctx);
}

static int vacuum(struct blob *b, const char *path, recto_line_fn *print, void *ctx)
{
    (void)b;
    return store_vacuum(path, print, ctx);
}

static int migrate(struct blob *b, const char *path, recto_line_fn *print, void *ctx)
{
    (void)b;
    return store_migrate(path, print, ctx);
}

int jobs_store_check(const char *data, recto_line_fn *print, void *ctx)
{
    return with_database(data, check, print, ctx);
}

int jobs_store_vacuum(const char *data, recto_line_fn *print, void *ctx)
{
    return with_database(data, vacuum, print, ctx);
}

int jobs_store_migrate(const char *data, recto_line_fn *print, void *ctx)
{
    return with_database(data, migrate, print, ctx);
}
