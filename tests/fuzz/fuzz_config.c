/* config.json and generation_config.json of hostile bytes. What is accepted must survive writing
 * and reading again, in both layouts, and its tensors must have sizes of at least 1. */
#include "tensor/inventory.h"

#include "base/err.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int check_item(void *ctx, const struct inventory_item *it)
{
    struct native_name native;

    assert(it->count >= 1 && it->rank >= 1 && it->rank <= TENSOR_RANK);
    assert(names_to_native(it->name, &native) == 0);
    return ++*(int *)ctx > 100000 ? -1 : 0; /* layers x experts may be a million */
}

static void round_trip(const struct model_config *c, enum config_layout layout)
{
    struct buf first = {0}, second = {0};
    struct model_config again;

    config_write(c, layout, "bfloat16", &first);
    int rc = config_parse(&again, buf_view(&first), "written");
    assert(rc == 0);
    config_write(&again, layout, "bfloat16", &second);
    assert(str_eq(buf_view(&first), buf_view(&second)));
    buf_reset(&first);
    buf_reset(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct model_config c;
    str text = {(const char *)data, n};
    int count = 0, rc = config_parse(&c, text, "config.json");

    assert(rc == 0 || (rc == RECTO_EMODEL && err_text()[0]));
    if (rc == 0) {
        inventory_each(&c, check_item, &count);
        round_trip(&c, CONFIG_ORIGINAL);
        round_trip(&c, CONFIG_NATIVE);
    }
    config_released(&c);
    rc = config_parse_guard(&c, text, "generation_config.json");
    assert(rc == RECTO_EMODEL || (rc == 0 && (c.guard_n >= 1 || c.guard_n == -1)));
    return 0;
}
