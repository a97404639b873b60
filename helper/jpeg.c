/* JPEG by libjpeg-turbo, with the defaults Pillow uses too (slow integer DCT, smooth chroma
 * upsampling).
 *
 * The library reports errors by a callback that must not return: it jumps back to the one setjmp in
 * decode_jpeg.  A file that is cut short is given an end marker, as the library's own file reader
 * does; the rows that were complete by then are found out from the first warning that comes after
 * it. Source: libjpeg-turbo libjpeg.txt ("Error handling", "Data source managers", "Progressive
 * JPEG support"). */
#include "helper/decode.h"

#include "base/err.h"
#include "base/mem.h"
#include "helper/exif.h"
#include "helper/raster.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
#include <jerror.h>

#define SCANS_MAX \
    500 /* honest files have about 10; each further one costs a pass over the picture */
#define MESSAGES_MAX 100 /* more warnings than this do not get more interesting */

struct job {
    struct jpeg_error_mgr errors; /* first: the library hands back a pointer to it */
    struct jpeg_progress_mgr progress;
    struct jpeg_source_mgr source;
    struct jpeg_decompress_struct jpeg;
    jmp_buf bail;
    const struct decode_request *q;
    struct raster raster;
    int code;         /* why bail was taken */
    bool is_started;  /* rows may have come out */
    bool is_past_end; /* the file has ended before its end marker */
    bool is_corrupt;
    int cut_row; /* rows that were complete when data ran out; -1: it did not */
};

static struct job *job_of(j_common_ptr c)
{
    return (struct job *)c->err;
}

static _Noreturn void bail(struct job *job, int code)
{
    job->code = code;
    longjmp(job->bail, 1);
}

static int code_of(int message)
{
    switch (message) {
    case JERR_OUT_OF_MEMORY:
    case JERR_WIDTH_OVERFLOW:
    case JERR_NO_BACKING_STORE:
        return RECTO_ETOOLARGE;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_SOF_UNSUPPORTED:
    case JERR_CONVERSION_NOTIMPL:
        return RECTO_EKIND;
    default:
        return RECTO_EDAMAGED;
    }
}

static void on_error(j_common_ptr c)
{
    char text[JMSG_LENGTH_MAX];
    int code = code_of(c->err->msg_code);

    c->err->format_message(c, text);
    if (code == RECTO_ETOOLARGE)
        err(code, "the JPEG needs more memory than the decoder may use (--max-pixels)");
    else
        err(code, code == RECTO_EKIND ? "a variety of JPEG that cannot be read: %s" : "damaged: %s",
            text);
    bail(job_of(c), code);
}

/* Progressive: whether all of the luminance has come, be it coarse. */
static bool has_luma(const struct jpeg_decompress_struct *j)
{
    for (int k = 0; k < DCTSIZE2; k++)
        if (!j->coef_bits || j->coef_bits[0][k] < 0)
            return false;
    return true;
}

/* Rows of the file that are complete although the data of the current scan ends here.
 * One scan: what has been given out. Several: if this scan is the first to bring some of the
 * luminance, the rows it has reached; if all luminance was there before, every row; if more was
 * still to come, none. */
static int complete_rows(struct job *job)
{
    struct jpeg_decompress_struct *j = &job->jpeg;
    bool is_luma = j->comps_in_scan > 0 && j->cur_comp_info[0] == &j->comp_info[0];
    int reached = (int)(j->input_iMCU_row * (unsigned)j->max_v_samp_factor * DCTSIZE);

    reached = MIN(reached, (int)j->image_height);
    if (!jpeg_has_multiple_scans(j))
        return (int)(j->output_scanline * (uint64_t)j->image_height / MAX(j->output_height, 1u));
    if (!j->progressive_mode)
        return is_luma ? reached : (int)j->image_height;
    if (!has_luma(j))
        return 0;
    return is_luma && j->Ah == 0 ? reached : (int)j->image_height;
}

static void on_message(j_common_ptr c, int level)
{
    struct job *job = job_of(c);

    if (level >= 0)
        return;
    if (!job->is_past_end)
        job->is_corrupt = true;
    else if (job->is_started && job->cut_row < 0)
        job->cut_row = complete_rows(job);
    if (++c->err->num_warnings > MESSAGES_MAX && !job->is_started)
        bail(job, err(RECTO_EDAMAGED, "damaged: the JPEG's header is full of faults"));
}

static void on_output(j_common_ptr c)
{
}

static void on_progress(j_common_ptr c)
{
    struct job *job = job_of(c);

    if (job->jpeg.input_scan_number > SCANS_MAX)
        bail(job, err(RECTO_ETOOLARGE, "the JPEG has more than %d scans", SCANS_MAX));
}

static void source_nothing(j_decompress_ptr j)
{
}

/* Only called when the bytes, all of which were given at the start, are used up. */
static boolean source_fill(j_decompress_ptr j)
{
    static const JOCTET end[2] = {0xFF, JPEG_EOI};

    job_of((j_common_ptr)j)->is_past_end = true;
    j->src->next_input_byte = end;
    j->src->bytes_in_buffer = sizeof end;
    return TRUE;
}

static void source_skip(j_decompress_ptr j, long n)
{
    if (n <= 0)
        return;
    if ((size_t)n > j->src->bytes_in_buffer) {
        source_fill(j);
        return;
    }
    j->src->next_input_byte += n;
    j->src->bytes_in_buffer -= (size_t)n;
}

static void job_open(struct job *job, struct file_bytes file)
{
    struct jpeg_decompress_struct *j = &job->jpeg;

    j->err = jpeg_std_error(&job->errors);
    job->errors.error_exit = on_error;
    job->errors.emit_message = on_message;
    job->errors.output_message = on_output;
    jpeg_create_decompress(j);
    job->progress.progress_monitor = on_progress;
    j->progress = &job->progress;
    job->source = (struct jpeg_source_mgr){.next_input_byte = file.p,
                                           .bytes_in_buffer = file.n,
                                           .init_source = source_nothing,
                                           .fill_input_buffer = source_fill,
                                           .skip_input_data = source_skip,
                                           .resync_to_restart = jpeg_resync_to_restart,
                                           .term_source = source_nothing};
    j->src = &job->source;
    jpeg_save_markers(j, JPEG_APP0 + 1, 0xFFFF); /* EXIF */
    jpeg_save_markers(j, JPEG_APP0 + 2, 16);     /* colour profile: only whether there is one */
}

static void read_density(const struct jpeg_decompress_struct *j, struct decode_answer *out)
{
    double unit = !j->saw_JFIF_marker    ? 0
                  : j->density_unit == 1 ? 1
                  : j->density_unit == 2 ? 2.54
                                         : 0;

    out->dpi_x = (int)(j->X_density * unit + 0.5);
    out->dpi_y = (int)(j->Y_density * unit + 0.5);
}

static void read_markers(const struct jpeg_decompress_struct *j, struct decode_answer *out)
{
    bool has_exif = false;

    read_density(j, out);
    for (jpeg_saved_marker_ptr m = j->marker_list; m; m = m->next) {
        if (m->marker == JPEG_APP0 + 2 && m->data_length >= 12 &&
            memcmp(m->data, "ICC_PROFILE", 12) == 0)
            out->flags |= DECODE_ICC;
        if (m->marker == JPEG_APP0 + 1 && m->data_length >= 6 && !has_exif &&
            memcmp(m->data, "Exif\0\0", 6) == 0) {
            struct exif e = exif_read(m->data, m->data_length);

            has_exif = true;
            out->orientation = e.orientation;
            if (e.dpi_x && e.dpi_y)
                out->dpi_x = e.dpi_x, out->dpi_y = e.dpi_y;
        }
    }
}

/* Let the decoder itself reduce by 2, 4 or 8 when the picture is too large; the raster does the
 * rest. */
static void choose_scale(struct job *job)
{
    struct jpeg_decompress_struct *j = &job->jpeg;
    int f = raster_factor((int)j->image_width, (int)j->image_height, job->q->keep_pixels);

    j->out_color_space = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK
                             ? JCS_CMYK
                             : JCS_RGB;
    j->scale_num = 1;
    j->scale_denom = f >= 8 ? 8 : f >= 4 ? 4 : f >= 2 ? 2 : 1;
}

/* Four inks to RGB: n = 255 - K, c = n - round(C n / 255).  Adobe's files store 255 - ink. */
static void cmyk_to_rgb(unsigned char *out, const unsigned char *in, int n, bool is_inverted)
{
    unsigned flip = is_inverted ? 255 : 0;

    for (int i = 0; i < n; i++, in += 4, out += 3) {
        unsigned white = 255 - (in[3] ^ flip);

        for (int c = 0; c < 3; c++)
            out[c] = (unsigned char)(white - ((in[c] ^ flip) * white + 127) / 255);
    }
}

static void read_rows(struct job *job)
{
    struct jpeg_decompress_struct *j = &job->jpeg;
    JSAMPARRAY ink = NULL;

    if (j->out_color_space == JCS_CMYK)
        ink = j->mem->alloc_sarray((j_common_ptr)j, JPOOL_IMAGE, j->output_width * 4, 1);
    while (j->output_scanline < j->output_height) {
        JSAMPROW row = raster_next_row(&job->raster);

        jpeg_read_scanlines(j, ink ? ink : &row, 1);
        /* One scan only: what comes after the cut is filling. */
        if (job->cut_row >= 0 && !jpeg_has_multiple_scans(j))
            return;
        if (ink)
            cmyk_to_rgb(row, ink[0], (int)j->output_width, j->saw_Adobe_marker);
        raster_put_row(&job->raster);
    }
}

static void decode(struct job *job, struct decode_answer *out)
{
    struct jpeg_decompress_struct *j = &job->jpeg;
    int rc;

    jpeg_read_header(j, TRUE);
    rc = check_size(j->image_width, j->image_height, job->q);
    if (rc < 0)
        bail(job, rc);
    read_markers(j, out);
    out->declared_width = (int)j->image_width;
    out->declared_height = (int)j->image_height;
    choose_scale(job);
    job->is_started = true;
    jpeg_start_decompress(j);
    rc = raster_open(
        &job->raster, (int)j->output_width, (int)j->output_height,
        raster_factor((int)j->output_width, (int)j->output_height, job->q->keep_pixels), 3);
    if (rc < 0)
        bail(job, rc);
    out->reduce = (int)j->scale_denom * job->raster.f;
    read_rows(job);
    /* Cut between two scans: no scan was short of data, but some may be missing. */
    if (job->is_past_end && job->cut_row < 0 && j->progressive_mode && !has_luma(j))
        job->cut_row = 0;
}

/* Count the rows, grey out the rest, and judge whether what there is can be read. */
static int finish(struct job *job, struct decode_answer *out, unsigned char **rgb)
{
    struct raster *r = &job->raster;

    out->rows = job->cut_row >= 0 ? job->cut_row : out->declared_height;
    if (out->rows < out->declared_height) {
        if (2 * (int64_t)out->rows < out->declared_height)
            return err(RECTO_ETRUNCATED, "cut short: %d of %d rows", out->rows,
                       out->declared_height);
        r->n_row = MIN(r->n_row, (int)((int64_t)out->rows * r->in_h / out->declared_height));
        raster_fill_rest(r);
    }
    if (job->cut_row >= 0)
        out->flags |= DECODE_TRUNCATED;
    else if (job->is_corrupt)
        out->flags |= DECODE_CORRUPT;
    out->width = r->w;
    out->height = r->h;
    out->n_rgb = (uint64_t)r->w * (uint64_t)r->h * 3;
    *rgb = r->px;
    r->px = NULL;
    return 0;
}

/* A fault that the library cannot pass. In the middle of the picture: as if the file had ended
 * there. Where the file has ended: it is cut short and nothing else. */
static int forgive(struct job *job, const struct decode_answer *out)
{
    if (job->raster.n_row > 0)
        job->cut_row = (int)((int64_t)job->raster.n_row * out->declared_height / job->raster.in_h);
    else if (job->is_past_end && job->is_started)
        job->cut_row = 0;
    else if (job->is_past_end)
        return err(RECTO_ETRUNCATED, "cut short: the file ends inside its header");
    else
        return RECTO_EDAMAGED;
    return 0;
}

int decode_jpeg(struct file_bytes file, const struct decode_request *q, struct decode_answer *out,
                unsigned char **rgb)
{
    struct job *job = mem_zero(1, sizeof *job);
    int rc;

    job->q = q;
    job->cut_row = -1;
    if (setjmp(job->bail) == 0) {
        job_open(job, file);
        decode(job, out);
    }
    rc = job->code == RECTO_EDAMAGED ? forgive(job, out) : job->code;
    if (rc == 0)
        rc = finish(job, out, rgb);
    jpeg_destroy_decompress(&job->jpeg);
    raster_reset(&job->raster);
    free(job);
    return rc;
}
