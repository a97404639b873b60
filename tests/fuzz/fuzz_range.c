/* Page ranges: any text, any number of pages. What is selected is within the document, once each. */
#include "base/mem.h"
#include "page/range.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int n_page = size ? data[0] * 7 + 1 : 1, *page, n, is_past;
    char *text = mem_strndup((const char *)data + (size > 0), size ? size - 1 : 0);
    unsigned char *seen = mem_zero((size_t)n_page + 1, 1);

    if (range_select(text, n_page, &page, &n, &is_past) == 0) {
        if (n < 1 || n > n_page || range_check(text) < 0)
            abort();
        for (int i = 0; i < n; i++)
            if (page[i] < 1 || page[i] > n_page || seen[page[i]]++)
                abort();
        free(page);
    } else if (page)
        abort();
    free(seen);
    free(text);
    return 0;
}
