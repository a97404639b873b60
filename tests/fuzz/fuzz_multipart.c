/* multipart/form-data: what comes out must not depend on where the body is cut; parts are within their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/multipart.c"
#include "server/text.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_begin(void *ctx, const struct multipart_part *p)
{
    if (strlen(p->name) >= sizeof p->name || strlen(p->filename) >= sizeof p->filename)
        abort();
    text_fmt(ctx, "<%s|%s>", p->name, p->filename);
    return 0;
}

static int on_content(void *ctx, const char *bytes, size_t n)
{
    text_add(ctx, bytes, n);
    return 0;
}

static int on_end(void *ctx)
{
    text_str(ctx, "</>");
    return 0;
}

/* 0 if the whole body is well formed; out is then all of it. */
static int take_all(const char *body, size_t n, size_t cut, struct text *out)
{
    struct multipart_calls calls = {on_begin, on_content, on_end, out};
    struct multipart m;
    int rc = multipart_begin(&m, "multipart/form-data; boundary=b", &calls);

    for (size_t i = 0; rc == 0 && i < n; i += cut)
        rc = multipart_push(&m, body + i, n - i < cut ? n - i : cut);
    if (rc == 0)
        rc = multipart_finish(&m);
    multipart_reset(&m);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text whole = {0}, cut = {0};

    if (size < 1)
        return 0;
    int a = take_all((const char *)data + 1, size - 1, size, &whole);
    int b = take_all((const char *)data + 1, size - 1, data[0] % 16 + 1, &cut);
    if (a != b || (a == 0 && (whole.n != cut.n ||
                              memcmp(whole.p ? whole.p : "", cut.p ? cut.p : "", whole.n) != 0)))
        abort();
    text_reset(&whole);
    text_reset(&cut);
    return 0;
}
