/* The sieve in front of a chat call's JSON: the same whatever the cuts; what is kept never grows beyond what came. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/sieve.c"
#include "server/text.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take_all(struct sieve *s, const char *json, size_t n, size_t cut)
{
    int rc = 0;

    sieve_begin(s, "/tmp");
    for (size_t i = 0; rc == 0 && i < n; i += cut)
        rc = sieve_push(s, json + i, n - i < cut ? n - i : cut);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sieve a, b;

    if (size < 1)
        return 0;
    int rc = take_all(&a, (const char *)data + 1, size - 1, size);
    if (take_all(&b, (const char *)data + 1, size - 1, data[0] % 16 + 1) != rc)
        abort();
    if (a.text.n != b.text.n || a.n_file != b.n_file || a.text.n > size + (size_t)a.n_file * 16)
        abort();
    for (int i = 0; i < a.n_file; i++)
        if (a.bytes[i] != b.bytes[i])
            abort();
    sieve_reset(&a);
    sieve_reset(&b);
    return 0;
}
