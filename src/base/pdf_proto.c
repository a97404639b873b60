#include "base/pdf_proto.h"

#include "base/err.h"
#include "base/wire.h"

#define HEAD_MAGIC 0x31504452u /* "RDP1" */
#define SIDE_MAX   100000
#define MILLI      1000.0 /* points are sent as thousandths */
#define MILLI_MAX  2000000000u

void pdf_head_pack(unsigned char out[PDF_HEAD_BYTES], const struct pdf_head *h)
{
    wire_put32(&out, HEAD_MAGIC ^ (uint32_t)h->what);
    wire_put32(&out, h->a);
    wire_put32(&out, h->b);
    wire_put32(&out, h->c);
    wire_put64(&out, h->n);
}

int pdf_head_unpack(struct pdf_head *h, const unsigned char in[PDF_HEAD_BYTES])
{
    uint32_t what = wire_get32(&in) ^ HEAD_MAGIC;

    if (what < PDF_OPEN || what >= PDF_RECORDS)
        return err(RECTO_EFORMAT, "record %u is unknown", (unsigned)what);
    *h = (struct pdf_head){.what = (enum pdf_record)what};
    h->a = wire_get32(&in);
    h->b = wire_get32(&in);
    h->c = wire_get32(&in);
    h->n = wire_get64(&in);
    if (h->n > PDF_PAYLOAD_MAX)
        return err(RECTO_EFORMAT, "a record of %llu bytes", (unsigned long long)h->n);
    if (what == PDF_OPEN && (h->a & ~(uint32_t)PDF_OPEN_FLAGS))
        return err(RECTO_EFORMAT, "flags %x are unknown", (unsigned)h->a);
    return 0;
}

void pdf_picture_pack(unsigned char out[PDF_PICTURE_BYTES], const struct pdf_picture *p)
{
    const uint32_t value[] = {(uint32_t)p->kind,
                              (uint32_t)p->width,
                              (uint32_t)p->height,
                              (uint32_t)p->orientation,
                              (uint32_t)p->components,
                              p->is_inverted,
                              (uint32_t)(p->w_pt * MILLI + 0.5),
                              (uint32_t)(p->h_pt * MILLI + 0.5),
                              0};

    for (unsigned i = 0; i < PDF_PICTURE_BYTES / 4; i++)
        wire_put32(&out, value[i]);
}

static bool is_within(uint32_t v, uint32_t lo, uint32_t hi)
{
    return v >= lo && v <= hi;
}

int pdf_picture_unpack(struct pdf_picture *p, const unsigned char in[PDF_PICTURE_BYTES])
{
    uint32_t v[PDF_PICTURE_BYTES / 4];

    for (unsigned i = 0; i < PDF_PICTURE_BYTES / 4; i++)
        v[i] = wire_get32(&in);
    if (!is_within(v[0], PDF_JPEG, PDF_PICTURE_KINDS - 1) || !is_within(v[3], 1, 8) || v[5] > 1)
        return err(RECTO_EFORMAT, "a picture of kind %u, orientation %u", (unsigned)v[0],
                   (unsigned)v[3]);
    if (!is_within(v[1], 1, SIDE_MAX) || !is_within(v[2], 1, SIDE_MAX) ||
        !is_within(v[6], 1, MILLI_MAX) || !is_within(v[7], 1, MILLI_MAX))
        return err(RECTO_EFORMAT, "a picture of %u x %u pixels", (unsigned)v[1], (unsigned)v[2]);
    if (v[0] == PDF_JPEG && v[4] != 1 && v[4] != 3 && v[4] != 4)
        return err(RECTO_EFORMAT, "a JPEG of %u components", (unsigned)v[4]);
    *p = (struct pdf_picture){.kind = (enum pdf_picture_kind)v[0],
                              .width = (int)v[1],
                              .height = (int)v[2],
                              .orientation = (int)v[3],
                              .components = (int)v[4],
                              .is_inverted = v[5],
                              .w_pt = v[6] / MILLI,
                              .h_pt = v[7] / MILLI};
    return 0;
}
