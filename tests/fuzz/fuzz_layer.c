/* What pdftotext and pdffonts print of a hostile page, parted by the first NUL. The text that is kept is UTF-8 without controls. */
#include "base/mem.h"
#include "page/layer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str all = {(const char *)data, size}, text = {all.p, str_find(all, (str){"", 1}, 0)}, left;
    str fonts = {all.p + text.n, size - text.n};
    struct layer l;
    uint32_t c;

    layer_judge(&l, text, fonts);
    left = buf_view(&l.text);
    for (int n; left.n; left.p += n, left.n -= (size_t)n) {
        n = utf8_next(left, &c);
        if (n <= 0 || (c < ' ' && c != '\n' && c != '\t'))
            abort();
    }
    if (!l.doubt && l.n_letter < LAYER_MIN_LETTERS)
        abort();
    layer_reset(&l);
    return 0;
}
