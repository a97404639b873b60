#include "result/place.h"

#include "base/mem.h"

bool place_of_page(struct place *f, const struct recto_page *p)
{
    const double *c = p->crop_pt;
    bool is_on_its_side = p->turn_pt == 90 || p->turn_pt == 270;

    *f = (struct place){
        c[0], c[1], c[2], c[3], .turn = p->turn_pt, .width = p->width, .height = p->height};
    f->w = is_on_its_side ? c[3] - c[1] : c[2] - c[0];
    f->h = is_on_its_side ? c[2] - c[0] : c[3] - c[1];
    return f->w > 0 && f->h > 0 && f->width > 0 && f->height > 0;
}

struct point place_at(const struct place *f, double x_px, double y_px)
{
    double u = x_px * f->w / f->width, v = y_px * f->h / f->height;

    switch (f->turn) {
    case 90:
        return (struct point){f->x0 + v, f->y0 + u};
    case 180:
        return (struct point){f->x1 - u, f->y0 + v};
    case 270:
        return (struct point){f->x1 - v, f->y1 - u};
    default:
        return (struct point){f->x0 + u, f->y1 - v};
    }
}

struct place place_turned(const struct place *f, int degrees)
{
    struct place t = *f;

    t.turn = (f->turn + degrees) % 360;
    if (degrees % 180) {
        t.w = f->h, t.h = f->w;
        t.width = f->height, t.height = f->width;
    }
    return t;
}

struct box_pt place_box(const struct place *f, struct recto_box px)
{
    struct point a = place_at(f, px.x1, px.y1), b = place_at(f, px.x2, px.y2);

    return (struct box_pt){MIN(a.x, b.x), MIN(a.y, b.y), MAX(a.x, b.x), MAX(a.y, b.y)};
}
