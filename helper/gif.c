/* GIF by giflib: a frame, drawn on its canvas over those before it. Source: giflib doc/gif_lib.html; GIF89a
 * specification (CompuServe, 1990) 20 (image descriptor), 23 (graphic control), appendix E
 * (interlace). */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"

#include <gif_lib.h>
#include <stdlib.h>

#define CANVAS_MAX ((int64_t)64 << 20) /* pixels: frame and canvas are held whole */

enum { DISPOSE_TO_CLEAR = 2, DISPOSE_TO_PREVIOUS = 3 };

struct job {
    GifFileType *gif;
    struct file_bytes file;
    size_t at;
    unsigned char *index;       /* [h][w] of the frame */
    int left, top, w, h, n_row; /* n_row: rows that came, in the order of the file */
    int clear;                  /* palette entry that is transparent; -1 */
    int disposal;               /* what becomes of the frame before the next is drawn */
    bool is_interlaced;
    unsigned char *canvas; /* RGBA */
    int canvas_w, canvas_h;
    struct raster raster;
};

static int source_read(GifFileType *g, GifByteType *to, int n)
{
    struct job *job = g->UserData;

    n = (int)MIN((size_t)n, job->file.n - job->at);
    memcpy(to, job->file.p + job->at, (size_t)n);
    job->at += (size_t)n;
    return n;
}

static int no_memory(void)
{
    return err(RECTO_ETOOLARGE, "the GIF needs more memory than the decoder may use");
}

static int damaged(const struct job *job, int code)
{
    const char *why = GifErrorString(job && job->gif ? job->gif->Error : code);

    return err(RECTO_EDAMAGED, "damaged: %s", why ? why : "no picture in the GIF");
}

/* Of a graphic control block: the transparent entry, the way of disposal. */
static void read_control(struct job *job, int code, const GifByteType *block)
{
    if (code != GRAPHICS_EXT_FUNC_CODE || !block || block[0] < 4)
        return;
    job->clear = block[1] & 1 ? block[4] : -1;
    job->disposal = block[1] >> 2 & 7;
}

/* Records up to the next picture; a control block holds for one. */
static int find_picture(struct job *job)
{
    GifRecordType type;
    GifByteType *block;
    int code;

    job->clear = -1;
    job->disposal = 0;
    for (;;) {
        if (DGifGetRecordType(job->gif, &type) == GIF_ERROR || type == TERMINATE_RECORD_TYPE)
            return damaged(job, 0);
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(job->gif) == GIF_ERROR ? damaged(job, 0) : 0;
        if (type != EXTENSION_RECORD_TYPE)
            continue;
        if (DGifGetExtension(job->gif, &code, &block) == GIF_ERROR)
            return damaged(job, 0);
        for (read_control(job, code, block); block;)
            if (DGifGetExtensionNext(job->gif, &block) == GIF_ERROR)
                return damaged(job, 0);
    }
}

/* Row y of the file's order lies at which row of the picture? */
static int interlaced_row(int y, int h)
{
    static const int start[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};

    for (int pass = 0; pass < 4; pass++) {
        int n = h > start[pass] ? (h - start[pass] + step[pass] - 1) / step[pass] : 0;

        if (y < n)
            return start[pass] + y * step[pass];
        y -= n;
    }
    return h - 1;
}

static int read_picture(struct job *job)
{
    const GifImageDesc *d = &job->gif->Image;

    job->left = d->Left, job->top = d->Top;
    job->w = d->Width, job->h = d->Height;
    job->is_interlaced = d->Interlace;
    job->n_row = 0;
    if (job->w < 1 || job->h < 1 || (int64_t)job->w * job->h > CANVAS_MAX)
        return err(RECTO_ETOOLARGE, "a frame of %d x %d is over the limit of GIF", job->w, job->h);
    free(job->index);
    job->index = calloc((size_t)job->w * (size_t)job->h, 1);
    if (!job->index)
        return no_memory();
    for (; job->n_row < job->h; job->n_row++) {
        int y = job->is_interlaced ? interlaced_row(job->n_row, job->h) : job->n_row;

        if (DGifGetLine(job->gif, job->index + (size_t)y * (size_t)job->w, job->w) == GIF_ERROR)
            break;
    }
    return 0;
}

/* ---- the canvas ------------------------------------------------------------------------------ */

static size_t canvas_bytes(const struct job *job)
{
    return (size_t)job->canvas_w * (size_t)job->canvas_h * 4;
}

static int open_canvas(struct job *job)
{
    if ((int64_t)job->canvas_w * job->canvas_h > CANVAS_MAX)
        return err(RECTO_ETOOLARGE, "a canvas of %d x %d is over the limit of GIF", job->canvas_w,
                   job->canvas_h);
    job->canvas = malloc(canvas_bytes(job));
    if (!job->canvas)
        return no_memory();
    for (size_t i = 0; i < canvas_bytes(job); i += 4)
        memcpy(job->canvas + i, "\xff\xff\xff", 4);
    return 0;
}

/* Where a transparent pixel falls on nothing, its colour stays to be seen: Pillow shows it. */
static void paint_pixel(const struct job *job, const ColorMapObject *map, unsigned char *out, int i)
{
    if (i == job->clear && out[3])
        return;
    memset(out, 255, 3);
    out[3] = i == job->clear ? 0 : 255;
    if (map && i < map->ColorCount) {
        out[0] = map->Colors[i].Red;
        out[1] = map->Colors[i].Green;
        out[2] = map->Colors[i].Blue;
    }
}

/* A row of the frame, of those that lie on the canvas. */
static void paint_row(struct job *job, int y)
{
    const ColorMapObject *map = job->gif->Image.ColorMap ? job->gif->Image.ColorMap
                                                         : job->gif->SColorMap;
    const unsigned char *in = job->index + (size_t)y * (size_t)job->w;
    int n = MIN(job->w, job->canvas_w - job->left);
    unsigned char *out = job->canvas +
                         4 * ((size_t)(job->top + y) * (size_t)job->canvas_w + (size_t)job->left);

    for (int x = 0; x < n; x++)
        paint_pixel(job, map, out + 4 * x, in[x]);
}

static void clear_row(struct job *job, int y)
{
    int n = MIN(job->w, job->canvas_w - job->left);
    unsigned char *out = job->canvas +
                         4 * ((size_t)(job->top + y) * (size_t)job->canvas_w + (size_t)job->left);

    for (int x = 0; x < n; x++)
        memcpy(out + 4 * x, "\xff\xff\xff", 4);
}

/* The frame's rows; those of an interlaced one that did not come have entry 0. */
static void each_row(struct job *job, void (*what)(struct job *job, int y))
{
    int n = job->is_interlaced ? job->h : job->n_row;

    if (job->left < job->canvas_w)
        for (int y = 0; y < MIN(n, job->canvas_h - job->top); y++)
            what(job, y);
}

/* One of the frames before the one that is asked for: drawn, and disposed of. */
static int pass_picture(struct job *job)
{
    TRY(find_picture(job));
    TRY(read_picture(job));
    if (job->n_row < job->h)
        return err(RECTO_ETRUNCATED, "cut short: in a frame before it");
    if (job->disposal == DISPOSE_TO_PREVIOUS)
        return 0; /* as if it had never been drawn */
    each_row(job, job->disposal == DISPOSE_TO_CLEAR ? clear_row : paint_row);
    return 0;
}

/* Pictures in the file, by walking over its blocks; what is damaged ends the count. */
int gif_count(struct file_bytes f)
{
    size_t at = 13;
    int n = 0;

    if (f.n > 10 && f.p[10] & 0x80)
        at += 3u << ((f.p[10] & 7) + 1);
    while (at < f.n && n < DECODE_FRAMES_MAX) {
        unsigned char type = f.p[at++];

        if (type == 0x21)
            at += 1; /* label; then sub-blocks */
        else if (type == 0x2C && at + 9 < f.n) {
            n++;
            at += 9 + (f.p[at + 8] & 0x80 ? 3u << ((f.p[at + 8] & 7) + 1) : 0) + 1;
        } else
            break;
        while (at < f.n && f.p[at])
            at += 1u + f.p[at];
        at++;
    }
    return MAX(n, 1);
}

/* The frame that is asked for, and what of its rows came: on the empty canvas they end the picture,
 * unless they are interlaced; over another frame they leave that frame to be seen. */
static int last_picture(struct job *job, int frame, int *last, struct decode_answer *out)
{
    bool has_ground;

    TRY(find_picture(job));
    TRY(read_picture(job));
    has_ground = frame > 0 || job->is_interlaced;
    each_row(job, paint_row);
    *last = job->canvas_h;
    if (job->n_row == job->h)
        return 0;
    if (!has_ground) {
        *last = MIN(job->top + job->n_row, job->canvas_h);
        return 0;
    }
    out->flags |= DECODE_CORRUPT;
    return 2 * job->n_row < job->h
               ? err(RECTO_ETRUNCATED, "cut short: %d of %d rows", job->n_row, job->h)
               : 0;
}

static void put_canvas(struct job *job, int n_row)
{
    size_t bytes = (size_t)job->canvas_w * 4;

    for (int y = 0; y < n_row; y++) {
        memcpy(raster_next_row(&job->raster), job->canvas + (size_t)y * bytes, bytes);
        raster_put_row(&job->raster);
    }
}

static int decode(struct job *job, const struct decode_request *q, struct decode_answer *out)
{
    int code = 0, w, h, last;

    job->gif = DGifOpen(job, source_read, &code);
    if (!job->gif)
        return damaged(NULL, code);
    w = job->canvas_w = out->declared_width = job->gif->SWidth;
    h = job->canvas_h = out->declared_height = job->gif->SHeight;
    TRY(check_size((uint64_t)w, (uint64_t)h, q));
    out->n_frame = gif_count(job->file);
    TRY(check_frame(q, out->n_frame));
    TRY(open_canvas(job));
    for (int i = 0; i < q->frame; i++)
        TRY(pass_picture(job));
    TRY(last_picture(job, q->frame, &last, out));
    TRY(raster_open(&job->raster, w, h, raster_factor(w, h, q->keep_pixels), 4));
    put_canvas(job, last);
    return 0;
}

int decode_gif(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb)
{
    struct job job = {.file = file};
    int rc = decode(&job, q, out), code;

    if (rc == 0)
        rc = finish_raster(&job.raster, "the file ends early", q, out, rgb);
    if (job.gif)
        DGifCloseFile(job.gif, &code);
    free(job.index);
    free(job.canvas);
    raster_reset(&job.raster);
    return rc;
}
