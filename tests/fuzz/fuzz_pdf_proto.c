/* Any bytes as records to recto-pdf: what is accepted packs into the same bytes. */
#include "base/pdf_proto.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char in[PDF_PICTURE_BYTES] = {0}, out[PDF_PICTURE_BYTES];
    struct pdf_picture p, again;
    struct pdf_head h;

    memcpy(in, data, size < sizeof in ? size : sizeof in);
    if (pdf_head_unpack(&h, in) == 0) {
        pdf_head_pack(out, &h);
        assert(memcmp(in, out, PDF_HEAD_BYTES) == 0);
    }
    if (pdf_picture_unpack(&p, in) == 0) {
        pdf_picture_pack(out, &p);
        assert(pdf_picture_unpack(&again, out) == 0);
        assert(p.w_pt == again.w_pt && p.width == again.width && p.kind == again.kind);
    }
    return 0;
}
