/* Any bytes as the structure of a PNG and of a JPEG. */
#include "base/picture_head.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1);
    struct jpeg_head j;
    struct png_head p;
    struct buf out = {0};

    memcpy(copy, data, size);
    if (png_head(&p, (str){copy, size})) {
        assert(p.width > 0 && p.height > 0 && p.depth >= 1 && p.depth <= 16);
        png_data(&out, (str){copy, size});
        assert(out.n > 0 && out.n < size);
    }
    if (jpeg_head(&j, (str){copy, size}))
        assert(j.width > 0 && j.width < 65536 && j.height > 0 && j.height < 65536);
    buf_reset(&out);
    free(copy);
    return 0;
}
