/* Any bytes as a PPM: this parser runs in recto's own process. */
#include "page/ppm.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *copy = malloc(size + 3); /* "P6 " in front, so that every input is one */
    struct recto_image im;
    int rows, rc;

    memcpy(copy, "P6 ", 3);
    memcpy(copy + 3, data, size);
    assert(ppm_is(copy, size + 3));
    rc = ppm_parse(&im, &rows, copy, size + 3, 1 << 20);
    assert(rc == 0 ? im.rgb && rows >= 1 && rows <= im.height : !im.rgb);
    free(im.rgb);
    free(copy);
    return 0;
}
