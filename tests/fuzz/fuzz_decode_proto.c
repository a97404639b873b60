/* What a helper that was taken over may send: greeting and answer; and what a helper may be sent.
 */
#include "base/decode_proto.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_answer(const unsigned char *bytes, const struct decode_request *q)
{
    unsigned char again[DECODE_ANSWER_BYTES];
    struct decode_answer a, b;

    if (decode_answer_unpack(&a, bytes, q) < 0)
        return;
    assert(strnlen(a.text, sizeof a.text) < sizeof a.text);
    assert(strnlen(a.kind, sizeof a.kind) < sizeof a.kind);
    if (a.code == 0 && q->frame == DECODE_COUNT_ONLY) {
        assert(a.width == 0 && a.height == 0 && a.n_rgb == 0 && a.n_frame >= 1);
    } else if (a.code == 0) {
        assert(a.width >= 1 && a.width <= DECODE_SIDE_MAX && a.height >= 1 &&
               a.height <= DECODE_SIDE_MAX);
        assert((int64_t)a.width * a.height <= q->keep_pixels);
        assert((int64_t)a.declared_width * a.declared_height <= q->max_pixels);
        assert(a.n_rgb == (uint64_t)a.width * (uint64_t)a.height * 3);
        assert(a.orientation >= 1 && a.orientation <= 8 && a.rows >= 0 &&
               a.rows <= a.declared_height);
    } else {
        assert(a.n_rgb == 0 && a.code < 0 && a.text[0]);
    }
    decode_answer_pack(again, &a);
    assert(decode_answer_unpack(&b, again, q) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct decode_request q;
    struct decode_hello h;

    if (size >= DECODE_HELLO_BYTES)
        decode_hello_unpack(&h, data);
    if (size >= DECODE_REQUEST_BYTES && decode_request_unpack(&q, data) == 0) {
        unsigned char again[DECODE_REQUEST_BYTES];

        decode_request_pack(again, &q);
        assert(memcmp(again, data, sizeof again) == 0);
        if (size >= DECODE_REQUEST_BYTES + DECODE_ANSWER_BYTES)
            check_answer(data + DECODE_REQUEST_BYTES, &q);
    }
    q = (struct decode_request){.n_bytes = 1, .max_pixels = 64 << 20, .keep_pixels = 64 << 20};
    if (size >= DECODE_ANSWER_BYTES)
        check_answer(data, &q);
    return 0;
}
