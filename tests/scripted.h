/* The whole system over a script: open it, submit pages, take what comes out. The pages are made here. */
#ifndef RECTO_TESTS_SCRIPTED_H
#define RECTO_TESTS_SCRIPTED_H

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "recto.h"
#include "hang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* Open over set->model_dir's configuration and tokenizer, the mini model's if it is NULL; what model says is `script`, JSON with ' for ". */
static inline int scripted_try(struct recto **r, const char *script, struct recto_settings *set)
{
    char path[] = "/tmp/recto-script-XXXXXX", device[64];
    struct buf text = {0};
    int fd = mkstemp(path), rc;

    assert_true(fd >= 0);
    close(fd);
    buf_text(&text, script);
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\'')
            text.p[i] = '"';
    assert_int_equal(file_write(path, buf_view(&text)), 0);
    buf_reset(&text);
    snprintf(device, sizeof device, "script:%s", path);
    if (!set->model_dir)
        set->model_dir = SOURCE_DIR "/models/mini";
    set->helper = BIN_DIR "/recto-decode";
    set->device = device;
    rc = recto_open(r, set);
    set->device = NULL; /* copied; the script is gone */
    unlink(path);
    return rc;
}

static inline struct recto *scripted_open(const char *script)
{
    struct recto_settings s;
    struct recto *r;

    recto_settings_init(&s);
    if (scripted_try(&r, script, &s) < 0)
        fail_msg("%s", recto_last_error());
    return r;
}

/* A binary PPM of w x h white pixels with `n_mark` black squares of 12 x 12 spread over it in rows of at most 40, from
 * (x0, y0) on; owned by the caller. */
struct picture {
    int w, h;
    struct buf ppm;
    unsigned char *rgb; /* in ppm */
};

static inline struct picture picture_new(int w, int h)
{
    struct picture p = {.w = w, .h = h};
    char head[32];
    int n = snprintf(head, sizeof head, "P6 %d %d 255\n", w, h);
    size_t bytes = (size_t)w * (size_t)h * 3;
    char *white = mem_alloc(bytes);

    memset(white, 255, bytes);
    buf_add(&p.ppm, head, (size_t)n);
    buf_add(&p.ppm, white, bytes);
    free(white);
    p.rgb = (unsigned char *)p.ppm.p + n;
    return p;
}

static inline void picture_box(struct picture *p, int x, int y, int w, int h)
{
    for (int row = y; row < y + h; row++)
        memset(p->rgb + ((size_t)row * (size_t)p->w + (size_t)x) * 3, 0, (size_t)w * 3);
}

/* Lines of words, as an upright page has them, with ink in n_line lines. */
static inline struct picture picture_of_lines(int w, int h, int n_line)
{
    struct picture p = picture_new(w, h);
    int pitch = (h - 80) / n_line;

    for (int i = 0; i < n_line; i++)
        for (int x = 40; x + 60 < w; x += 40 + (i * 13 + x) % 30)
            picture_box(&p, x, 40 + i * pitch, 24, pitch / 2);
    return p;
}

static inline uint64_t scripted_submit(struct recto *r, const char *name, const struct picture *p,
                                       const struct recto_options *o)
{
    struct recto_input in = {.name = name, .data = p->ppm.p, .len = p->ppm.n};
    uint64_t id;
    int rc;

    while ((rc = recto_submit(r, &in, o, &id)) == RECTO_EAGAIN)
        usleep(1000);
    assert_int_equal(rc, 0);
    return id;
}

/* The next page that comes, of whatever request; the caller frees it with scripted_free. */
static inline struct recto_page *scripted_next(struct recto *r)
{
    struct recto_page *page = NULL;
    struct recto_event ev;

    while (!page && recto_poll(r, &ev, HANG_MS)) {
        if (ev.kind == RECTO_EVENT_PAGE) {
            page = ev.page;
            ev.page = NULL;
        }
        recto_event_reset(&ev);
    }
    assert_non_null(page);
    return page;
}

static inline void scripted_free(struct recto_page *p)
{
    recto_page_reset(p);
    free(p);
}

/* Submit one picture and wait for it. */
static inline struct recto_page *scripted_read(struct recto *r, const char *name,
                                               const struct picture *p,
                                               const struct recto_options *o)
{
    scripted_submit(r, name, p, o);
    return scripted_next(r);
}

#endif
