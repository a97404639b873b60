/* Any bytes as an image file, decoded in-process. The limits are small, so that a run is fast. The
 * first byte says how much may be kept, so that reducing is reached too, and whether a PNG's
 * checksums are put right. */
#include "base/mem.h"
#include "helper/decode.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__asan_default_options(void);

/* As in recto-decode, whose memory is limited: a decoder that asks for more than 1 GiB at once is told that there is none.
 * (OpenJPEG asks for 2 GiB on corpus/decode/two_gigabytes.jp2.) */
const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=1024:allocator_may_return_null=1";
}

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Make the checksums of a PNG right, or hardly any change would get past them. */
static void mend_checksums(unsigned char *p, size_t n)
{
    size_t at = 8, len;

    while (n >= at + 12 && (len = be32(p + at)) <= n - at - 12) {
        uint32_t c = ~0u;

        for (size_t i = at + 4; i < at + 8 + len; i++) {
            c ^= p[i];
            for (int k = 0; k < 8; k++)
                c = c >> 1 ^ (c & 1 ? 0xEDB88320u : 0);
        }
        for (int k = 0; k < 4; k++)
            p[at + 8 + len + (size_t)k] = (unsigned char)(~c >> (24 - 8 * k));
        at += len + 12;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int64_t keep[] = {1 << 20, 1 << 20, 5000, 64};
    struct decode_request q = {.n_bytes = size, .max_pixels = 1 << 20};
    unsigned char wire[DECODE_ANSWER_BYTES], *rgb, *file, *copy;
    struct decode_answer a, back;
    int rc;

    if (size == 0)
        return 0;
    q.keep_pixels = keep[data[0] % COUNT(keep)];
    file = mem_alloc(size - 1);
    memcpy(file, data + 1, size - 1);
    if (data[0] < 128)
        mend_checksums(file, size - 1);
    rc = decode_image((struct file_bytes){file, size - 1}, &q, &a, &rgb);
    free(file);
    if (rc < 0) {
        assert(!rgb);
        return 0;
    }
    /* What the decoders answer must be what the other side accepts. */
    decode_answer_pack(wire, &a);
    rc = decode_answer_unpack(&back, wire, &q);
    assert(rc == 0);
    copy = mem_alloc((size_t)a.n_rgb); /* every byte is there */
    memcpy(copy, rgb, (size_t)a.n_rgb);
    free(copy);
    free(rgb);
    return 0;
}
