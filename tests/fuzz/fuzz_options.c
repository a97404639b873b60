/* The configuration file and the checks of its values: any bytes give options or one sentence. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/config.c"
#include "cli/options.c"
#include "cli/options_table.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    char *argv[] = {path};
    struct options o;

    if (fd < 0) {
        fd = memfd_create("recto.ini", 0);
        snprintf(path, sizeof path, "--config=/proc/self/fd/%d", fd);
    }
    if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    int rc = options_parse(&o, "read", FOR_READ, 1, argv);
    if ((rc < 0) != (*o.error != 0))
        abort();
    for (int k = 0; rc == 0 && k < N_OPT; k++)
        if (opt_given(&o, (enum option)k) && *opt_origin(&o, (enum option)k) == 0)
            abort();
    options_reset(&o);
    return 0;
}
