/* GIF by giflib: the first frame, drawn on its canvas. Source: giflib doc/gif_lib.html; GIF89a
 * specification (CompuServe, 1990) 20 (image descriptor), 23 (graphic control), appendix E
 * (interlace). */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"

#include <gif_lib.h>
#include <stdlib.h>

#define CANVAS_MAX ((int64_t)64 << 20) /* pixels: the frame is held whole */

struct job {
    GifFileType *gif;
    struct file_bytes file;
    size_t at;
    unsigned char *index;       /* [h][w] of the frame */
    int left, top, w, h, n_row; /* n_row: rows that came, in the order of the file */
    int clear;                  /* palette entry that is transparent; -1 */
    bool is_interlaced;
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

static int damaged(const struct job *job, int code)
{
    const char *why = GifErrorString(job && job->gif ? job->gif->Error : code);

    return err(RECTO_EDAMAGED, "damaged: %s", why ? why : "no picture in the GIF");
}

/* Of a graphic control block: the transparent entry. */
static void read_control(struct job *job, int code, const GifByteType *block)
{
    if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] >= 4)
        job->clear = block[1] & 1 ? block[4] : -1;
}

/* Records up to the first picture. */
static int find_picture(struct job *job)
{
    GifRecordType type;
    GifByteType *block;
    int code;

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
    if (job->w < 1 || job->h < 1 || (int64_t)job->w * job->h > CANVAS_MAX)
        return err(RECTO_ETOOLARGE, "a frame of %d x %d is over the limit of GIF", job->w, job->h);
    job->index = calloc((size_t)job->w * (size_t)job->h, 1);
    if (!job->index)
        return err(RECTO_ETOOLARGE, "the GIF needs more memory than the decoder may use");
    for (; job->n_row < job->h; job->n_row++) {
        int y = job->is_interlaced ? interlaced_row(job->n_row, job->h) : job->n_row;

        if (DGifGetLine(job->gif, job->index + (size_t)y * (size_t)job->w, job->w) == GIF_ERROR)
            break;
    }
    return 0;
}

static void put_row(struct job *job, int y)
{
    const ColorMapObject *map = job->gif->Image.ColorMap ? job->gif->Image.ColorMap
                                                         : job->gif->SColorMap;
    unsigned char *out = raster_next_row(&job->raster);
    bool is_in = y >= job->top && y < job->top + job->h;
    const unsigned char *in = job->index + (is_in ? (size_t)(y - job->top) * (size_t)job->w : 0);

    for (int x = 0; x < job->raster.in_w; x++, out += 4) {
        int i = is_in && x >= job->left && x < job->left + job->w ? in[x - job->left] : -1;

        memset(out, 255, 3);
        out[3] = i >= 0 && i != job->clear ? 255 : 0;
        if (i >= 0 && map && i < map->ColorCount) {
            out[0] = map->Colors[i].Red;
            out[1] = map->Colors[i].Green;
            out[2] = map->Colors[i].Blue;
        }
    }
    raster_put_row(&job->raster);
}

/* Pictures in the file, by walking over its blocks; what is damaged ends the count. */
static int count_frames(struct file_bytes f)
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

static int decode(struct job *job, const struct decode_request *q, struct decode_answer *out)
{
    int code = 0, w, h, last;

    job->gif = DGifOpen(job, source_read, &code);
    if (!job->gif)
        return damaged(NULL, code);
    w = out->declared_width = job->gif->SWidth;
    h = out->declared_height = job->gif->SHeight;
    TRY(check_size((uint64_t)w, (uint64_t)h, q));
    TRY(find_picture(job));
    TRY(read_picture(job));
    out->n_frame = count_frames(job->file);
    TRY(raster_open(&job->raster, w, h, raster_factor(w, h, q->keep_pixels), 4));
    /* Interlaced rows that are missing lie between those that came; others end the picture. */
    last = job->n_row == job->h || job->is_interlaced ? h : MIN(job->top + job->n_row, h);
    if (job->is_interlaced && job->n_row < job->h)
        out->flags |= DECODE_CORRUPT;
    if (job->is_interlaced && 2 * job->n_row < job->h)
        return err(RECTO_ETRUNCATED, "cut short: %d of %d rows", job->n_row, job->h);
    for (int y = 0; y < last; y++)
        put_row(job, y);
    return 0;
}

int decode_gif(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
               unsigned char **rgb)
{
    struct job job = {.file = file, .clear = -1};
    int rc = decode(&job, q, out), code;

    if (rc == 0)
        rc = finish_raster(&job.raster, "the file ends early", q, out, rgb);
    if (job.gif)
        DGifCloseFile(job.gif, &code);
    free(job.index);
    raster_reset(&job.raster);
    return rc;
}
