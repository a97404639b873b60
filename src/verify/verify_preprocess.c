/* recto_verify_preprocess: every view of synthetic pages against the hashes of the official Pillow
 * code. The file: {"cases": [{width, height, tiles_wide, tiles_high, global_sha256, tile_sha256:
 * [...]}, ...], "ratios": [[width, height, tiles_wide, tiles_high], ...]} A case's page has R = 7x
 * + 3y + xy/11, G = x^2/5 + 13y, B = 5 (x xor y), each modulo 256 (whole-number division), so that
 * no picture needs to be stored. */
#include "recto.h"

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "page/view.h"

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>

#define CASES_MAX_BYTES (16 << 20)
#define SIDE_MAX        20000

struct tally {
    recto_line_fn *print;
    void *ctx;
    int n_size, n_size_ok, n_grid, n_grid_ok;
};

static void say(struct tally *t, struct buf *line)
{
    if (t->print)
        t->print(t->ctx, line->p);
    buf_reset(line);
}

static int synthetic_page(struct recto_image *im, int w, int h)
{
    unsigned char *p = malloc((size_t)w * (size_t)h * 3);

    *im = (struct recto_image){.width = w, .height = h, .rgb = p};
    if (!p)
        return err(RECTO_ENOMEM, "no memory for a page of %d x %d", w, h);
    for (int64_t y = 0; y < h; y++) {
        for (int64_t x = 0; x < w; x++) {
            *p++ = (unsigned char)(7 * x + 3 * y + x * y / 11);
            *p++ = (unsigned char)(x * x / 5 + 13 * y);
            *p++ = (unsigned char)(5 * (x ^ y));
        }
    }
    return 0;
}

static bool hash_is(const unsigned char *view, size_t n, str want)
{
    char hex[SHA256_DIGEST_STRING_LENGTH];

    return SHA256Data(view, n, hex) && str_eq(str_of(hex), want);
}

/* Whether the views are those the case names; what differs is appended to line. */
static int compare(const struct page_views *v, const json_t *c, const char *where, bool *same,
                   struct buf *line)
{
    int64_t tiles_w, tiles_h;
    json_t *tile;
    str want;

    TRY(json_int(c, where, "tiles_wide", false, 1, 99, &tiles_w));
    TRY(json_int(c, where, "tiles_high", false, 1, 99, &tiles_h));
    TRY(json_str(c, where, "global_sha256", false, &want));
    TRY(json_get_array(c, where, "tile_sha256", false, &tile));
    buf_fmt(line, ": grid %dx%d", v->tiles_w, v->tiles_h);
    *same = v->tiles_w == tiles_w && v->tiles_h == tiles_h &&
            (size_t)v->n_tile == json_array_size(tile);
    if (!*same)
        buf_fmt(line, ", expected %dx%d with %zu tiles", (int)tiles_w, (int)tiles_h,
                json_array_size(tile));
    if (!hash_is(v->global, VIEW_GLOBAL_BYTES, want)) {
        *same = false;
        buf_text(line, ", global view differs");
    }
    for (size_t t = 0; t < json_array_size(tile) && (int)t < v->n_tile; t++) {
        const char *hex = json_string_value(json_array_get(tile, t));

        if (!hex)
            return err(RECTO_EFORMAT, "%s.tile_sha256[%zu]: expected a string", where, t);
        if (!hash_is(v->tile + t * VIEW_TILE_BYTES, VIEW_TILE_BYTES, str_of(hex))) {
            *same = false;
            buf_fmt(line, ", tile %zu differs", t);
        }
    }
    return 0;
}

static int check_size(struct tally *t, const json_t *c, const char *where)
{
    struct page_views v = {0};
    struct recto_image im = {0};
    struct buf line = {0};
    int64_t w, h;
    bool same = false;
    int rc;

    TRY(json_int(c, where, "width", false, 1, SIDE_MAX, &w));
    TRY(json_int(c, where, "height", false, 1, SIDE_MAX, &h));
    TRY_OUT(synthetic_page(&im, (int)w, (int)h));
    TRY_OUT(views_make(&v, &im, true));
    buf_fmt(&line, "%dx%d", (int)w, (int)h);
    TRY_OUT(compare(&v, c, where, &same, &line));
    buf_text(&line, same ? ": ok" : ": DIFFERS");
    say(t, &line);
    t->n_size++;
    t->n_size_ok += same;
out:
    buf_reset(&line);
    views_reset(&v);
    free(im.rgb);
    return rc;
}

static int check_grid(struct tally *t, const json_t *c, const char *where)
{
    int n[4], tiles_w, tiles_h;

    for (size_t k = 0; k < 4; k++) {
        const json_t *v = json_array_get(c, k);
        json_int_t i = json_integer_value(v);

        if (!json_is_integer(v) || i < 1 || i > 1000000)
            return err(RECTO_EFORMAT, "%s[%zu]: expected a whole number in 1..1000000", where, k);
        n[k] = (int)i;
    }
    view_grid(n[0], n[1], true, &tiles_w, &tiles_h);
    t->n_grid++;
    if (tiles_w == n[2] && tiles_h == n[3]) {
        t->n_grid_ok++;
    } else {
        struct buf line = {0};

        buf_fmt(&line, "%dx%d: grid %dx%d, expected %dx%d: DIFFERS", n[0], n[1], tiles_w, tiles_h,
                n[2], n[3]);
        say(t, &line);
    }
    return 0;
}

static int check_all(struct tally *t, const json_t *root, const char *path, const char *key,
                     int (*check)(struct tally *, const json_t *, const char *))
{
    json_t *list;

    TRY(json_get_array(root, path, key, false, &list));
    for (size_t k = 0; k < json_array_size(list); k++) {
        struct buf where = {0};
        int rc;

        buf_fmt(&where, "%s: %s[%zu]", path, key, k);
        rc = check(t, json_array_get(list, k), where.p);
        buf_reset(&where);
        TRY(rc);
    }
    return 0;
}

int recto_verify_preprocess(const char *cases_json, recto_line_fn *print, void *ctx)
{
    struct tally t = {.print = print, .ctx = ctx};
    struct buf line = {0};
    json_t *root;
    int rc;

    TRY(json_read(&root, cases_json, CASES_MAX_BYTES));
    TRY_OUT(check_all(&t, root, cases_json, "cases", check_size));
    TRY_OUT(check_all(&t, root, cases_json, "ratios", check_grid));
    buf_fmt(&line, "preprocess %d/%d sizes, %d/%d grids", t.n_size_ok, t.n_size, t.n_grid_ok,
            t.n_grid);
    say(&t, &line);
    if (t.n_size_ok < t.n_size || t.n_grid_ok < t.n_grid)
        rc = err(RECTO_EVERIFY, "%s: %d of %d sizes and %d of %d grids differ", cases_json,
                 t.n_size - t.n_size_ok, t.n_size, t.n_grid - t.n_grid_ok, t.n_grid);
    else if (t.n_size + t.n_grid == 0)
        rc = err(RECTO_EVERIFY, "%s: no case in it, so nothing was verified", cases_json);
out:
    json_decref(root);
    return rc;
}
