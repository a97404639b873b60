#include "result/json_out.h"

#include "result/clean.h"

/* Reals are rounded to 2 to 4 decimals before; ten digits print them as they are. */
#define DUMP (JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(10))

json_t *json_out_text(str s)
{
    json_t *v = json_stringn(s.n ? s.p : "", s.n);
    struct buf b = {0};

    if (v)
        return v;
    clean_add(&b, s, 0);
    v = json_stringn(b.p, b.n);
    buf_reset(&b);
    return v;
}

static int add_chunk(const char *p, size_t n, void *out)
{
    buf_add(out, p, n);
    return 0;
}

void json_out_dump(struct buf *out, json_t *value)
{
    json_dump_callback(value, add_chunk, out, DUMP);
    json_decref(value);
}
