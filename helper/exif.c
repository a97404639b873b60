#include "helper/exif.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TAG_ORIENTATION     0x0112
#define TAG_X_RESOLUTION    0x011A
#define TAG_Y_RESOLUTION    0x011B
#define TAG_RESOLUTION_UNIT 0x0128
#define TYPE_SHORT          3
#define TYPE_RATIONAL       5
#define ENTRY_BYTES         12
#define DPI_MAX             100000

struct tiff {
    const unsigned char *p;
    size_t n;
    bool is_big; /* byte order "MM" */
};

/* Reads outside the block give 0, which is no valid value of anything we look for. */
static uint32_t get(const struct tiff *t, size_t at, int bytes)
{
    uint32_t v = 0;

    if (at > t->n || t->n - at < (size_t)bytes)
        return 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint32_t)t->p[at + (size_t)i] << (8 * (t->is_big ? bytes - 1 - i : i));
    return v;
}

/* A rational in the unit of the directory, as dots per inch. */
static int resolution(const struct tiff *t, uint32_t at, bool is_metric)
{
    uint32_t num = get(t, at, 4), den = at <= t->n ? get(t, (size_t)at + 4, 4) : 0;
    double dpi = den ? (double)num / den * (is_metric ? 2.54 : 1) : 0;

    return dpi >= 1 && dpi <= DPI_MAX ? (int)(dpi + 0.5) : 0;
}

static void read_directory(const struct tiff *t, size_t at, struct exif *e)
{
    uint32_t n = get(t, at, 2), unit = 2, x_at = 0, y_at = 0;

    for (uint32_t i = 0; i < n; i++) {
        size_t entry = at + 2 + (size_t)i * ENTRY_BYTES;
        uint32_t tag = get(t, entry, 2), type = get(t, entry + 2, 2);
        bool is_one = get(t, entry + 4, 4) == 1;

        if (tag == TAG_ORIENTATION && type == TYPE_SHORT && is_one) {
            uint32_t v = get(t, entry + 8, 2);

            e->orientation = v >= 1 && v <= 8 ? (int)v : 1;
        } else if (tag == TAG_RESOLUTION_UNIT && type == TYPE_SHORT && is_one) {
            unit = get(t, entry + 8, 2);
        } else if (tag == TAG_X_RESOLUTION && type == TYPE_RATIONAL && is_one) {
            x_at = get(t, entry + 8, 4);
        } else if (tag == TAG_Y_RESOLUTION && type == TYPE_RATIONAL && is_one) {
            y_at = get(t, entry + 8, 4);
        }
    }
    if (x_at && y_at && (unit == 2 || unit == 3)) {
        e->dpi_x = resolution(t, x_at, unit == 3);
        e->dpi_y = resolution(t, y_at, unit == 3);
    }
}

struct exif exif_read(const unsigned char *p, size_t n)
{
    struct exif e = {.orientation = 1};
    struct tiff t;
    uint32_t first;

    if (n >= 6 && memcmp(p, "Exif\0\0", 6) == 0)
        p += 6, n -= 6;
    if (n < 8 || (memcmp(p, "II*\0", 4) != 0 && memcmp(p, "MM\0*", 4) != 0))
        return e;
    t = (struct tiff){.p = p, .n = n, .is_big = p[0] == 'M'};
    first = get(&t, 4, 4);
    if (first >= 8 && first < n)
        read_directory(&t, first, &e);
    return e;
}
