#include "pen.h"

#include <math.h>

PangoContext *pen_context(void)
{
    PangoContext *c = pango_font_map_create_context(pango_cairo_font_map_get_default());
    cairo_font_options_t *o = cairo_font_options_create();

    cairo_font_options_set_antialias(o, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(o, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(o, CAIRO_HINT_METRICS_OFF);
    pango_cairo_context_set_font_options(c, o);
    cairo_font_options_destroy(o);
    pango_cairo_context_set_resolution(c, 72); /* so that a point of Pango is a unit of cairo */
    pango_context_set_round_glyph_positions(c, FALSE);
    return c;
}

PangoLayout *pen_layout(const struct pen *p, const struct face *f, const char *text, double width)
{
    PangoLayout *l = pango_layout_new(p->context);
    PangoFontDescription *d = pango_font_description_new();

    pango_font_description_set_family_static(d, f->family);
    pango_font_description_set_absolute_size(d, f->size * PANGO_SCALE);
    pango_font_description_set_weight(d, f->is_bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
    pango_layout_set_font_description(l, d);
    pango_font_description_free(d);
    if (width > 0)
        pango_layout_set_width(l, (int)(width * PANGO_SCALE));
    pango_layout_set_wrap(l, PANGO_WRAP_WORD_CHAR);
    pango_layout_set_justify(l, f->is_justified);
    pango_layout_set_alignment(l, f->is_centred ? PANGO_ALIGN_CENTER
                                  : f->is_right ? PANGO_ALIGN_RIGHT
                                                : PANGO_ALIGN_LEFT);
    pango_layout_set_line_spacing(l, (float)(f->leading > 0 ? f->leading : 1.35) / 1.2f);
    if (f->is_markup)
        pango_layout_set_markup(l, text, -1);
    else
        pango_layout_set_text(l, text, -1);
    return l;
}

double pen_height(PangoLayout *layout)
{
    int h;

    pango_layout_get_size(layout, NULL, &h);
    return (double)h / PANGO_SCALE;
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* Handwriting-like: every glyph on its own, a little off its place and its angle. */
static void draw_run(struct pen *p, const PangoGlyphItem *run, double *x, double y, double size)
{
    for (int i = 0; i < run->glyphs->num_glyphs; i++) {
        PangoGlyphInfo *g = &run->glyphs->glyphs[i];
        int cluster = 0;
        PangoGlyphString one = {.num_glyphs = 1, .glyphs = g, .log_clusters = &cluster};

        cairo_save(p->cr);
        cairo_translate(p->cr, *x + rng_wobble(p->rng) * size * p->jitter * 0.6,
                        y + rng_wobble(p->rng) * size * p->jitter);
        cairo_rotate(p->cr, rng_wobble(p->rng) * p->jitter);
        cairo_move_to(p->cr, 0, 0);
        pango_cairo_show_glyph_string(p->cr, run->item->analysis.font, &one);
        cairo_restore(p->cr);
        *x += (double)g->geometry.width / PANGO_SCALE;
    }
}

static double size_of(PangoLayout *layout)
{
    const PangoFontDescription *d = pango_layout_get_font_description(layout);

    return (double)pango_font_description_get_size(d) / PANGO_SCALE;
}

static void draw_line(struct pen *p, PangoLayoutIter *it, double x, double y)
{
    PangoLayoutLine *line = pango_layout_iter_get_line_readonly(it);
    PangoRectangle logical;

    pango_layout_iter_get_line_extents(it, NULL, &logical);
    x += (double)logical.x / PANGO_SCALE;
    y += (double)pango_layout_iter_get_baseline(it) / PANGO_SCALE;
    if (p->jitter <= 0) {
        cairo_move_to(p->cr, x, y);
        pango_cairo_show_layout_line(p->cr, line);
        return;
    }
    double size = size_of(pango_layout_iter_get_layout(it));
    for (GSList *run = line->runs; run; run = run->next)
        draw_run(p, run->data, &x, y, size);
}

void pen_draw(struct pen *p, PangoLayout *layout, double x, double y, struct sheet_block *b)
{
    const char *text = pango_layout_get_text(layout);
    PangoLayoutIter *it = pango_layout_get_iter(layout);
    double loose = p->jitter * size_of(layout);

    do {
        const PangoLayoutLine *line = pango_layout_iter_get_line_readonly(it);
        PangoRectangle ink;

        pango_layout_iter_get_line_extents(it, &ink, NULL);
        draw_line(p, it, x, y);
        struct area a = {x + (double)ink.x / PANGO_SCALE - loose,
                         y + (double)ink.y / PANGO_SCALE - loose, 0, 0};
        a.x2 = a.x1 + (double)ink.width / PANGO_SCALE + 2 * loose;
        a.y2 = a.y1 + (double)ink.height / PANGO_SCALE + 2 * loose;
        if (ink.width > 0)
            sheet_add_line(b, (str){text + line->start_index, (size_t)line->length}, a);
    } while (pango_layout_iter_next_line(it));
    pango_layout_iter_free(it);
}

bool pen_text(struct pen *p, const struct face *f, enum recto_block_kind kind, const char *label,
              int level, const char *text, const char *read, const char *plain)
{
    PangoLayout *l = pen_layout(p, f, text, p->width);
    double h = pen_height(l);
    bool fits = p->y + h <= p->bottom;

    if (fits) {
        struct sheet_block *b = sheet_add(p->sheet, kind, label, read ? read : text, plain);

        b->level = level;
        pen_draw(p, l, p->x, p->y, b);
        p->y += h;
    }
    g_object_unref(l);
    return fits;
}

void pen_skip(struct pen *p, double points)
{
    p->y += points;
}

/* ---- a chart, a formula ---------------------------------------------------------------------- */

static void draw_chart(struct pen *p, double x, double y, double w, double h)
{
    int n = rng_in(p->rng, 4, 11);
    bool is_bars = rng_below(p->rng, 2);

    cairo_set_line_width(p->cr, 1);
    cairo_rectangle(p->cr, x, y, w, h);
    cairo_stroke(p->cr);
    cairo_move_to(p->cr, x, y + h);
    for (int i = 0; i < n; i++) {
        double top = y + h * (0.1 + 0.8 * fabs(rng_wobble(p->rng))), at = x + w * (i + 0.5) / n;

        if (is_bars) {
            cairo_rectangle(p->cr, at - w * 0.3 / n, top, w * 0.6 / n, y + h - top);
            cairo_fill(p->cr);
        } else
            cairo_line_to(p->cr, at, top);
    }
    cairo_stroke(p->cr);
}

bool pen_figure(struct pen *p, double height)
{
    struct area a = {p->x, p->y, p->x + p->width, p->y + height};

    if (a.y2 > p->bottom)
        return false;
    draw_chart(p, a.x1, a.y1, p->width, height);
    sheet_add(p->sheet, RECTO_BLOCK_FIGURE, "image", "", NULL)->ink = a;
    p->y = a.y2;
    return true;
}

bool pen_equation(struct pen *p, const char *family, double size)
{
    static const struct {
        const char *markup, *tex;
    } formulas[] = {
        {"<i>y</i> = #<i>x</i><sup>2</sup> + <i>b</i>", "y = # x^{2} + b"},
        {"<i>E</i> = <i>m</i> <i>c</i><sup>2</sup> + #", "E = m c^{2} + #"},
        {"<i>a</i><sup>2</sup> + <i>b</i><sup>2</sup> = <i>c</i><sup>2</sup> − #",
         "a^{2} + b^{2} = c^{2} - #"},
        {"<i>v</i><sub>1</sub> = #<i>t</i> + <i>v</i><sub>0</sub>", "v_{1} = # t + v_{0}"},
        {"<i>α</i> + <i>β</i> = # − <i>γ</i>", "\\alpha + \\beta = # - \\gamma"},
        {"<i>P</i> ≤ #<i>Q</i><sup>3</sup>", "P \\leq # Q^{3}"},
    };
    int k = rng_below(p->rng, (int)COUNT(formulas));
    char n[16], markup[256] = "", plain[128] = "", tex[160];

    snprintf(n, sizeof n, "%d", rng_in(p->rng, 2, 99));
    const char *m = strchr(formulas[k].markup, '#'), *t = strchr(formulas[k].tex, '#');
    snprintf(markup, sizeof markup, "%.*s%s%s", (int)(m - formulas[k].markup), formulas[k].markup,
             n, m + 1);
    snprintf(plain, sizeof plain, "%.*s%s%s", (int)(t - formulas[k].tex), formulas[k].tex, n,
             t + 1);
    snprintf(tex, sizeof tex, "\\[ %s \\]", plain);
    return pen_text(
        p, &(struct face){.family = family, .size = size, .is_centred = true, .is_markup = true},
        RECTO_BLOCK_EQUATION, "equation", 0, markup, tex, plain);
}
