/* Any bytes as an image file, decoded in-process. The limits are small, so that a run is fast; the first byte's low bits vary
 * how much may be kept, so that the reducing path is reached too. */
#include "base/mem.h"
#include "helper/decode.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t keep[] = {1 << 20, 1 << 20, 5000, 64};
    struct decode_request q = {.n_bytes = size, .max_pixels = 1 << 20};
    unsigned char wire[DECODE_ANSWER_BYTES], *rgb;
    struct decode_answer a, back;
    int rc;

    if (size == 0)
        return 0;
    q.keep_pixels = keep[data[0] % COUNT(keep)];
    rc = decode_image((struct file_bytes){data + 1, size - 1}, &q, &a, &rgb);
    if (rc < 0) {
        assert(!rgb);
        return 0;
    }
    /* What the decoders answer must be what the other side accepts. */
    decode_answer_pack(wire, &a);
    rc = decode_answer_unpack(&back, wire, &q);
    assert(rc == 0);
    for (uint64_t i = 0, sum = 0; i < a.n_rgb; i++) /* every byte is there and was written (MSan) */
        sum += rgb[i];
    free(rgb);
    return 0;
}
