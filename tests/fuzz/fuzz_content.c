/* Any bytes as a content stream: cutting what is invisible leaves a stream without invisible text objects, never a longer
 * one by more than what stands in for `"`, and looking without cutting finds the same. */
#include "helper/pdfout/content.h"

#include <assert.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = malloc(size ? size : 1); /* of exact size, so that a read behind it is caught */
    struct content_look look, alone;
    struct buf out = {0};

    memcpy(copy, data, size);
    content_look(&look, (str){copy, size}, &out);
    content_look(&alone, (str){copy, size}, NULL);
    assert(memcmp(&look, &alone, sizeof look) == 0);
    assert(look.n_open >= 0 && look.n_early >= 0 && look.n_invisible >= 0);
    assert(out.n <= size * 4);
    assert(look.n_invisible || (out.n == size && (size == 0 || memcmp(out.p, copy, size) == 0)));
    buf_reset(&out);
    free(copy);
    return 0;
}
