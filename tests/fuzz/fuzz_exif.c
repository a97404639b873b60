/* Any bytes as an EXIF block. The copy has exactly the block's length, so that a read behind it is
 * caught. */
#include "helper/exif.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size ? size : 1);
    struct exif e;

    memcpy(copy, data, size);
    e = exif_read(copy, size);
    assert(e.orientation >= 1 && e.orientation <= 8);
    assert(e.dpi_x >= 0 && e.dpi_x <= 100000 && e.dpi_y >= 0 && e.dpi_y <= 100000);
    free(copy);
    return 0;
}
