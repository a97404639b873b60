/* A work file of any bytes: what is taken from it can be given back, and opening it again finds the same. */
#include <stdint.h>
#include <stdlib.h>

#include "cli/work.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char who[] = "{\"recto-work\":1}";

/* As an earlier run's file, behind the line that says whose it is. */
static void write_file(const char *path, const uint8_t *data, size_t size)
{
    FILE *f = fopen(path, "we");

    if (!f || fprintf(f, "%s\n", who) < 0 || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
}

static int read_all(const char *path)
{
    struct work w;
    enum recto_status status;
    int n = 0;

    if (work_open(&w, path, who, true) < 0 || w.was_other)
        abort();
    for (int i = 0; i < w.n_page; i++) {
        struct recto_page p;
        if (!work_has(&w, i, &status))
            continue;
        if (work_get(&w, i, &p) < 0 || p.status != status || p.index != i)
            abort();
        recto_page_reset(&p);
        n++;
    }
    if (n != w.n_known)
        abort();
    work_close(&w);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];

    snprintf(path, sizeof path, "/tmp/recto-fuzz-work-%d", (int)getpid());
    write_file(path, data, size);
    if (read_all(path) != read_all(path))
        abort();
    unlink(path);
    return 0;
}
