/* WebP by libwebp, reduced by the decoder when it is large; of an animation a frame on its
 * canvas. Source: libwebp src/webp/{decode,demux}.h. */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"
#include "helper/exif.h"

#include <stdlib.h>
#include <webp/decode.h>
#include <webp/demux.h>

static int no_memory(int w, int h)
{
    return err(RECTO_ETOOLARGE, "%d x %d needs more memory than the decoder may use", w, h);
}

/* The first n_row rows of RGBA, of a picture that is already reduced. */
static int to_raster(const uint8_t *rgba, int stride, int w, int h, int n_row, bool has_alpha,
                     struct raster *r)
{
    TRY(raster_open(r, w, h, 1, has_alpha ? 4 : 3));
    for (int y = 0; y < n_row; y++) {
        unsigned char *out = raster_next_row(r);
        const uint8_t *in = rgba + (size_t)y * (size_t)stride;

        for (int x = 0; x < w; x++, in += 4, out += r->channels)
            memcpy(out, in, (size_t)r->channels);
        raster_put_row(r);
    }
    return 0;
}

/* Rows until the file ends; *fault says that it ended early. */
static int decode_still(struct file_bytes file, WebPDecoderConfig *c, struct raster *r,
                        const char **fault)
{
    WebPIDecoder *d = WebPIDecode(NULL, 0, c);
    int w = c->options.use_scaling ? c->options.scaled_width : c->input.width;
    int h = c->options.use_scaling ? c->options.scaled_height : c->input.height;
    int last = 0, stride = 0, rc;
    VP8StatusCode status;

    if (!d)
        return no_memory(w, h);
    status = WebPIUpdate(d, file.p, file.n);
    if (status == VP8_STATUS_OUT_OF_MEMORY)
        rc = no_memory(w, h);
    else {
        const uint8_t *rgba = WebPIDecGetRGB(d, &last, NULL, NULL, &stride);

        if (status != VP8_STATUS_OK)
            *fault = status == VP8_STATUS_SUSPENDED ? "the file ends early" : "bad picture data";
        rc = to_raster(rgba, stride, w, h, rgba ? MIN(last, h) : 0, c->input.has_alpha, r);
    }
    WebPIDelete(d);
    WebPFreeDecBuffer(&c->output);
    return rc;
}

/* Draw one frame after the other, each over those before it, up to the one with this number. */
static bool next_frames(WebPAnimDecoder *d, int frame, uint8_t **rgba)
{
    int time;

    for (int i = 0; i <= frame; i++)
        if (!WebPAnimDecoderGetNext(d, rgba, &time))
            return false;
    return true;
}

static int decode_animation(struct file_bytes file, const struct decode_request *q,
                            struct decode_answer *out, struct raster *r)
{
    WebPData data = {file.p, file.n};
    WebPAnimDecoder *d = WebPAnimDecoderNew(&data, NULL);
    WebPAnimInfo info;
    uint8_t *rgba = NULL;
    int rc;

    if (!d || !WebPAnimDecoderGetInfo(d, &info)) {
        WebPAnimDecoderDelete(d);
        return err(RECTO_EDAMAGED, "damaged: the animation cannot be read");
    }
    out->n_frame = (int)MIN(info.frame_count, (uint32_t)DECODE_FRAMES_MAX);
    rc = check_frame(q, out->n_frame);
    if (rc == 0 && !next_frames(d, q->frame, &rgba))
        rc = err(RECTO_ETRUNCATED, "cut short: 0 of %u rows", info.canvas_height);
    if (rc == 0) {
        out->declared_width = (int)info.canvas_width;
        out->declared_height = (int)info.canvas_height;
        rc = to_raster(rgba, (int)info.canvas_width * 4, (int)info.canvas_width,
                       (int)info.canvas_height, (int)info.canvas_height, true, r);
    }
    WebPAnimDecoderDelete(d);
    return rc;
}

int webp_count(struct file_bytes file)
{
    WebPDemuxer *d = WebPDemux(&(WebPData){file.p, file.n});
    uint32_t n = d ? WebPDemuxGetI(d, WEBP_FF_FRAME_COUNT) : 1;

    WebPDemuxDelete(d);
    return (int)MAX(1u, MIN(n, (uint32_t)DECODE_FRAMES_MAX));
}

static void read_extras(struct file_bytes file, struct decode_answer *out)
{
    WebPData data = {file.p, file.n};
    WebPDemuxState state;
    WebPDemuxer *d = WebPDemuxPartial(&data, &state);
    WebPChunkIterator chunk;

    if (!d)
        return;
    if (WebPDemuxGetI(d, WEBP_FF_FORMAT_FLAGS) & ICCP_FLAG)
        out->flags |= DECODE_ICC;
    if (WebPDemuxGetChunk(d, "EXIF", 1, &chunk)) {
        struct exif e = exif_read(chunk.chunk.bytes, chunk.chunk.size);

        out->orientation = e.orientation;
        out->dpi_x = e.dpi_x;
        out->dpi_y = e.dpi_y;
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    WebPDemuxDelete(d);
}

static int decode(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                  WebPDecoderConfig *c, struct raster *r, const char **fault)
{
    int w, h, f;

    if (!WebPInitDecoderConfig(c))
        return err(RECTO_EINTERNAL, "internal: another libwebp than this was built for");
    if (WebPGetFeatures(file.p, file.n, &c->input) != VP8_STATUS_OK)
        return err(RECTO_EDAMAGED, "damaged: the WebP does not start with its header");
    w = out->declared_width = c->input.width;
    h = out->declared_height = c->input.height;
    TRY(check_size((uint64_t)w, (uint64_t)h, q));
    f = out->reduce = raster_factor(w, h, q->keep_pixels);
    if (c->input.has_animation)
        return f > 1 ? err(RECTO_ETOOLARGE, "%d x %d is over the limit of an animation", w, h)
                     : decode_animation(file, q, out, r);
    c->output.colorspace = MODE_RGBA;
    if (f > 1) {
        c->options.use_scaling = 1;
        c->options.scaled_width = (int)div_up(w, f);
        c->options.scaled_height = (int)div_up(h, f);
    }
    return decode_still(file, c, r, fault);
}

int decode_webp(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                unsigned char **rgb)
{
    WebPDecoderConfig c;
    struct raster r = {0};
    const char *fault = NULL;
    int rc = decode(file, q, out, &c, &r, &fault), f;

    if (rc == 0) {
        f = out->reduce;
        read_extras(file, out);
        rc = finish_raster(&r, fault, q, out, rgb);
        out->reduce = f;
        out->rows = MIN(out->rows * f, out->declared_height);
    }
    raster_reset(&r);
    return rc;
}
