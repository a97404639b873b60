/* Taking markers out of a stream: the result must not depend on where the stream is cut, and
 * nothing is invented. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/strip.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sink {
    char *text;
    size_t n, cap;
};

static void collect(void *ctx, const char *text, size_t n)
{
    struct sink *s = ctx;
    if (n == 0 || s->n + n > s->cap)
        abort();
    memcpy(s->text + s->n, text, n);
    s->n += n;
}

static struct sink filter(const char *text, size_t n, size_t cut)
{
    struct strip s = {.n_held = 0};
    struct sink out = {malloc(n + 1), 0, n};

    for (size_t at = 0; at < n; at += cut)
        strip_push(&s, text + at, n - at < cut ? n - at : cut, collect, &out);
    strip_end(&s, collect, &out);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct sink whole = filter((const char *)data + 1, size - 1, size);
    struct sink cut = filter((const char *)data + 1, size - 1, data[0] % 16 + 1u);

    if (whole.n != cut.n || memcmp(whole.text, cut.text, whole.n) != 0)
        abort();
    free(whole.text);
    free(cut.text);
    return 0;
}
