#include "engine/image_cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int n_dropped;
static void *last_dropped;

static void drop(void *ctx, void *rows)
{
    n_dropped++;
    last_dropped = rows;
}

static struct kv_key key_of(uint64_t i)
{
    return (struct kv_key){i, i * 7};
}

static char rows[8];

static void least_recently_used_goes_first(void **state)
{
    struct image_cache c;
    struct image_entry *a, *b;

    n_dropped = 0;
    image_cache_init(&c, 200, drop, NULL);
    a = image_add(&c, key_of(1), &rows[1], 100);
    b = image_add(&c, key_of(2), &rows[2], 100);
    image_put(&c, a);
    image_put(&c, b);
    assert_ptr_equal(image_get(&c, key_of(1)), a); /* used again: 2 is now the oldest */
    image_put(&c, a);
    image_put(&c, image_add(&c, key_of(3), &rows[3], 100));
    assert_int_equal(n_dropped, 1);
    assert_ptr_equal(last_dropped, &rows[2]);
    assert_null(image_get(&c, key_of(2)));
    assert_int_equal(c.n_hit, 1);
    assert_int_equal(c.n_miss, 1);
    image_cache_reset(&c);
    assert_int_equal(n_dropped, 3);
}

static void what_is_in_use_stays(void **state)
{
    struct image_cache c;
    struct image_entry *a, *b;

    n_dropped = 0;
    image_cache_init(&c, 50, drop, NULL);
    a = image_add(&c, key_of(1), &rows[1], 100); /* over the limit, but in use */
    assert_int_equal(n_dropped, 0);
    assert_ptr_equal(image_get(&c, key_of(1)), a);
    image_put(&c, a);
    assert_int_equal(n_dropped, 0);
    image_put(&c, a);
    assert_int_equal(n_dropped, 1);
    a = image_add(&c, key_of(4), &rows[4], 10);
    b = image_add(&c, key_of(4), &rows[5],
                  10); /* computed twice: the second is not listed and goes with its user */
    image_put(&c, b);
    assert_ptr_equal(last_dropped, &rows[5]);
    image_put(&c, a);
    assert_ptr_equal(image_get(&c, key_of(4)), a);
    image_put(&c, a);
    image_put(&c,
              image_add(&c, (struct kv_key){0}, &rows[6], 10)); /* unknown content is never found */
    assert_ptr_equal(last_dropped, &rows[6]);
    image_cache_reset(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_recently_used_goes_first),
        cmocka_unit_test(what_is_in_use_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
