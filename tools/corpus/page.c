#include "job.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>

#define PI 3.14159265358979323846

/* Streams of random numbers of a page: what is on it, what happens to it, what is on its back. */
enum { STREAM_FRONT, STREAM_SPOIL, STREAM_BACK, STREAM_PLAN, N_STREAM };

static struct rng stream(const struct job *j, int number, int which)
{
    return rng_of(j->seed, (uint64_t)number * N_STREAM + (uint64_t)which);
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* One or two of the things that happen to paper, each in one of its strengths. */
static unsigned random_spoils(struct rng *r)
{
    static const unsigned groups[][4] = {
        {SPOIL_SHOW, SPOIL_SHOW, SPOIL_SHOW, SPOIL_SHOW},
        {SPOIL_BLUR07, SPOIL_BLUR15, SPOIL_BLUR07, SPOIL_BLUR15},
        {SPOIL_DPI100, SPOIL_DPI100, SPOIL_DPI100, SPOIL_DPI100},
        {SPOIL_NOISE8, SPOIL_NOISE16, SPOIL_NOISE8, SPOIL_NOISE16},
        {SPOIL_BITS1, SPOIL_BITS1, SPOIL_BITS1, SPOIL_BITS1},
        {SPOIL_JPEG30, SPOIL_JPEG30, SPOIL_JPEG30, SPOIL_JPEG30},
        {SPOIL_SKEW_1, SPOIL_SKEW1, SPOIL_SKEW_3, SPOIL_SKEW3},
    };
    int n = (int)COUNT(groups), a = rng_below(r, n), b = (a + rng_below(r, n)) % n;

    return groups[a][rng_below(r, 4)] | (b == a ? 0 : groups[b][rng_below(r, 4)]);
}

const char *const level_names[N_LEVEL] = {NULL, "clean", "worn", "poor"};

/* What time and machines do to a page at a level: one or two things lightly; or these and one more, hard. So poor pages have
 * all that the worn ones have. The numbers come from a seed of their own: the page itself is the same at every level. */
static unsigned level_spoils(const struct job *j, int number)
{
    struct rng r = rng_of(j->seed ^ 0x6C6576656C, (uint64_t)number);
    bool is_left = rng_below(&r, 2);
    const unsigned things[][2] = {
        {SPOIL_SHOW, SPOIL_SHOW},
        {SPOIL_BLUR07, SPOIL_BLUR15},
        {SPOIL_NOISE8, SPOIL_NOISE16},
        {SPOIL_JPEG30, SPOIL_JPEG30},
        {SPOIL_DPI100, SPOIL_DPI100},
        {is_left ? SPOIL_SKEW_1 : SPOIL_SKEW1, is_left ? SPOIL_SKEW_3 : SPOIL_SKEW3},
    };
    int order[COUNT(things)], n = rng_in(&r, 1, 2) + (j->level == LEVEL_POOR);
    unsigned spoils = 0;

    for (int i = 0; i < (int)COUNT(things); i++) {
        int k = rng_below(&r, i + 1);

        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < n && j->level >= LEVEL_WORN; i++)
        spoils |= things[order[i]][j->level == LEVEL_POOR];
    if (j->level == LEVEL_POOR && rng_below(&r, 4) == 0)
        spoils |= SPOIL_BITS1;
    return spoils;
}

void page_plan(struct page *p, const struct job *j, int number)
{
    struct rng r = stream(j, number, STREAM_PLAN);
    int i = number - 1;

    *p = (struct page){.number = number, .kind = kind_of_page(j->kind, number)};
    /* i / 12: kinds go round by four and languages by six, so that every pair comes */
    p->lang = p->kind->is_english ? &lexicons[0] : j->lang[(i + i / 12) % j->n_lang];
    p->spoils = j->level                              ? level_spoils(j, number)
                : !j->is_auto                         ? j->spoils
                : strcmp(p->kind->name, "scans") == 0 ? random_spoils(&r)
                                                      : 0;
    p->is_picture = p->kind->is_picture || p->spoils & ~(unsigned)(SPOIL_SKEW_1 | SPOIL_SKEW1 |
                                                                   SPOIL_SKEW_3 | SPOIL_SKEW3);
    snprintf(p->name, sizeof p->name, "%05d-%s-%s", number, p->kind->name, p->lang->code);
    p->sheet = (struct sheet){
        .kind = p->kind->name, .lang = p->lang->code, .level = level_names[j->level]};
    p->kind->size(&r, &p->sheet.width, &p->sheet.height);
}

void page_reset(struct page *p)
{
    sheet_reset(&p->sheet);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_side(const struct page *p, const struct job *j, cairo_t *cr, struct sheet *sheet,
                      int which)
{
    struct rng r = stream(j, p->number, which);
    struct pen pen = {.cr = cr, .context = j->context, .sheet = sheet, .rng = &r};
    double angle = spoil_angle(p->spoils) * PI / 180;

    cairo_save(cr);
    cairo_translate(cr, sheet->width / 2, sheet->height / 2);
    cairo_rotate(cr, angle);
    cairo_translate(cr, -sheet->width / 2, -sheet->height / 2);
    p->kind->draw(&pen, p->lang, p->number);
    cairo_restore(cr);
    if (angle != 0)
        sheet_turn(sheet, angle);
}

void page_draw(struct page *p, const struct job *j, cairo_t *cr)
{
    draw_side(p, j, cr, &p->sheet, STREAM_FRONT);
}

static struct raster to_raster(cairo_surface_t *s)
{
    struct raster r = raster_new(cairo_image_surface_get_width(s),
                                 cairo_image_surface_get_height(s));
    const unsigned char *data = cairo_image_surface_get_data(s);
    unsigned char *to = r.px;

    for (int y = 0; y < r.height; y++) {
        const unsigned char *row = data + (size_t)y * (size_t)cairo_image_surface_get_stride(s);

        for (int x = 0; x < r.width; x++, to += 3) {
            uint32_t v; /* 0x00RRGGBB in the order of the machine */

            memcpy(&v, row + (size_t)x * 4, 4);
            to[0] = (unsigned char)(v >> 16);
            to[1] = (unsigned char)(v >> 8);
            to[2] = (unsigned char)v;
        }
    }
    return r;
}

static struct raster raster_side(const struct page *p, const struct job *j, struct sheet *sheet,
                                 int which)
{
    double scale = j->dpi / 72;
    cairo_surface_t *s = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)lround(sheet->width * scale), (int)lround(sheet->height * scale));
    cairo_t *cr = cairo_create(s);

    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    cairo_set_source_rgb(cr, 0, 0, 0);
    cairo_scale(cr, scale, scale);
    draw_side(p, j, cr, sheet, which);
    cairo_surface_flush(s);
    struct raster r = to_raster(s);
    cairo_destroy(cr);
    cairo_surface_destroy(s);
    return r;
}

struct raster page_raster(struct page *p, const struct job *j)
{
    struct raster r = raster_side(p, j, &p->sheet, STREAM_FRONT), back = {0};
    struct rng spoil = stream(j, p->number, STREAM_SPOIL);

    if (p->spoils & SPOIL_SHOW) {
        struct sheet other = {.width = p->sheet.width, .height = p->sheet.height};

        back = raster_side(p, j, &other, STREAM_BACK);
        sheet_reset(&other);
    }
    if (p->kind->is_picture)
        raster_paper(&r, &spoil, strcmp(p->kind->name, "handwriting") == 0);
    raster_spoil(&r, p->spoils, &spoil, j->dpi, back.px ? &back : NULL);
    raster_reset(&back);
    return r;
}
