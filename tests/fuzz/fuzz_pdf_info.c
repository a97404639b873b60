/* What pdfinfo printed, read: any bytes as its output and its complaints (parted by a 0xFF). */
#include "page/pdf_info.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, 0xFF, size) : NULL;
    str out = {(const char *)data, cut ? (size_t)(cut - data) : size};
    str complaint = {cut ? (const char *)cut + 1 : "", cut ? size - out.n - 1 : 0};
    struct pdf p = {.fd = -1};
    int last = 0;

    if (pdf_info_read(&p, out, complaint) == 0)
        for (int i = 0; i < p.n_page; i++)
            if (p.page[i].drawn && p.page[i].drawn != ++last)
                abort();
    free(p.page);
    if (strlen(pdf_first_error(complaint)) > 159)
        abort();
    return 0;
}
