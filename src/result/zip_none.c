/* A build without recto-decode needs no library to compress with, and makes no archives. */
#include "base/err.h"
#include "result/zip.h"

int zip_add(struct zip *z, struct buf *out, const char *name, str content)
{
    return err(RECTO_EUSAGE, "this build makes no archives: build with RECTO_HELPER");
}

void zip_end(struct zip *z, struct buf *out)
{
}

void zip_reset(struct zip *z)
{
}
