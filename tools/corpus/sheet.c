#include "sheet.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

void area_join(struct area *a, struct area b)
{
    a->x1 = MIN(a->x1, b.x1);
    a->y1 = MIN(a->y1, b.y1);
    a->x2 = MAX(a->x2, b.x2);
    a->y2 = MAX(a->y2, b.y2);
}

struct sheet_block *sheet_add(struct sheet *s, enum recto_block_kind kind, const char *label,
                              const char *text, const char *plain)
{
    s->block = mem_grow(s->block, (size_t)s->n_block + 1, sizeof *s->block);
    s->block[s->n_block] = (struct sheet_block){.kind = kind,
                                                .label = label,
                                                .text = mem_strdup(text),
                                                .plain = mem_strdup(plain ? plain : text),
                                                .ink = NO_AREA};
    return &s->block[s->n_block++];
}

void sheet_add_line(struct sheet_block *b, str text, struct area ink)
{
    str t = str_trim(text);

    area_join(&b->ink, ink);
    if (t.n == 0)
        return;
    b->line = mem_grow(b->line, (size_t)b->n_line + 1, sizeof *b->line);
    b->line[b->n_line++] = (struct sheet_line){mem_strndup(t.p, t.n), ink};
}

void sheet_reset(struct sheet *s)
{
    for (int i = 0; i < s->n_block; i++) {
        struct sheet_block *b = &s->block[i];

        for (int k = 0; k < b->n_line; k++)
            free(b->line[k].text);
        free(b->line);
        free(b->text);
        free(b->plain);
    }
    free(s->block);
    *s = (struct sheet){0};
}

static void turn_area(struct area *a, double angle, double cx, double cy)
{
    const double x[4] = {a->x1, a->x2, a->x2, a->x1}, y[4] = {a->y1, a->y1, a->y2, a->y2};
    double c = cos(angle), s = sin(angle);

    *a = NO_AREA;
    for (int i = 0; i < 4; i++) {
        double u = x[i] - cx, v = y[i] - cy, p = cx + c * u - s * v, q = cy + s * u + c * v;

        area_join(a, (struct area){p, q, p, q});
    }
}

void sheet_turn(struct sheet *s, double angle)
{
    for (int i = 0; i < s->n_block; i++) {
        struct sheet_block *b = &s->block[i];

        turn_area(&b->ink, angle, s->width / 2, s->height / 2);
        for (int k = 0; k < b->n_line; k++)
            turn_area(&b->line[k].ink, angle, s->width / 2, s->height / 2);
    }
}
