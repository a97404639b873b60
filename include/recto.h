/* recto: turn pages into text with DeepSeek-OCR-2.  The public API; the only installed header.
 *
 * The walk of a page:   recto_open -> recto_submit -> recto_poll ... -> recto_event_reset -> recto_close
 *
 * Every function may be called from any thread, except that a handle must not be used while or after it is closed.
 * Functions return 0 or a negative code (RECTO_ERRORS); recto_last_error() is the sentence for the human, per thread.
 * Strings are UTF-8.  A struct that may grow starts with `size`, filled by its _init function: set fields after it. */
#ifndef RECTO_H
#define RECTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RECTO_VERSION "0.1.0"

/* ---- errors: code, number, printed name, what it means --------------------------------------------------------------- */
#define RECTO_ERRORS(X)                                               \
    X(EAGAIN, -1, "E_AGAIN", "busy now, try again later")             \
    X(ENOSPC, -2, "E_NO_SPACE", "no room in a pool, try again later") \
    X(EUSAGE, -3, "E_USAGE", "the call or option is wrong")           \
    X(ENOTFOUND, -4, "E_NOT_FOUND", "no such file")                   \
    X(EREAD, -5, "E_READ", "cannot read")                             \
    X(EEMPTY, -6, "E_EMPTY", "nothing in it")                         \
    X(EKIND, -7, "E_KIND", "not a kind of file that can be read")     \
    X(EURL, -8, "E_URL", "addresses are not fetched")                 \
    X(EPASSWORD, -9, "E_PASSWORD", "needs a password")                \
    X(EDAMAGED, -10, "E_DAMAGED", "damaged")                          \
    X(ETRUNCATED, -11, "E_TRUNCATED", "cut short")                    \
    X(ETOOLARGE, -12, "E_TOO_LARGE", "over a limit")                  \
    X(ERENDER, -13, "E_RENDER", "a page could not be drawn")          \
    X(EPAGERANGE, -14, "E_RANGE", "no such page")                     \
    X(EOUTPUT, -15, "E_OUTPUT", "cannot write")                       \
    X(EMODEL, -16, "E_MODEL", "the model's files are wrong")          \
    X(EDEVICE, -17, "E_DEVICE", "the device failed or is missing")    \
    X(EINTERNAL, -18, "E_INTERNAL", "a bug: please report it")        \
    X(ECANCELED, -19, "E_CANCELED", "cancelled")                      \
    X(ENOMEM, -20, "E_NO_MEMORY", "not enough memory")                \
    X(EFORMAT, -21, "E_FORMAT", "not in the expected format")         \
    X(ESHAPE, -22, "E_SHAPE", "sizes do not fit together")            \
    X(EVERIFY, -23, "E_VERIFY", "differs from the reference")         \
    X(EDEADLINE, -24, "E_DEADLINE", "not done in time")

enum recto_error {
#define X(id, value, name, what) RECTO_##id = value,
    RECTO_ERRORS(X)
#undef X
};

const char *recto_error_name(int code); /* "E_KIND"; "OK" for 0 */
const char *recto_error_text(int code); /* what the code means in general */
const char *recto_last_error(void);     /* the sentence of this thread's last failure */

/* ---- settings of an engine ------------------------------------------------------------------------------------------- */
enum recto_log_level { RECTO_LOG_DEBUG, RECTO_LOG_INFO, RECTO_LOG_WARN, RECTO_LOG_ERROR };
typedef void recto_log_fn(void *ctx, enum recto_log_level level, const char *line);

struct recto_settings {
    size_t size;
    const char *
        model_dir; /* folder with config.json, *.safetensors, tokenizer.json; NULL: the mini model beside recto */
    const char *device;    /* "cpu"; "cuda", "cuda:1", "cuda:0,1", "cuda:all" */
    const char *precision; /* "auto" (bf16 products where the CPU has them), "bf16", "fp32" */
    const char *
        cpu_kernels; /* "auto", or at most this: "c", "avx2", "avx512", "avx512vnni", "avx512bf16", "amx" */
    const char *router; /* "fp32" (default) or "bf16", as the published runs had it */
    int threads;        /* 0: as many as the process may use */
    int kv_block_tok;   /* tokens in a KV block: 16, 32 or 64; 0: the backend's choice */
    int64_t
        kv_tok; /* tokens the KV pool holds in all; 0: max_running pages of full length, within memory */
    int max_running;         /* pages decoded at once; default 8 */
    int interactive_reserve; /* of max_running, places that only interactive pages may take; default 0 */
    int chunk_tok;           /* prompt tokens per step; default 512 */
    bool
        no_reuse; /* forget images and prompts at once: no image cache, no shared blocks (benchmarks) */
    int64_t image_cache_bytes; /* visual rows kept for images seen before; default 256 MB */
    int max_waiting; /* documents accepted but not opened before submit says RECTO_EAGAIN; default 64 */
    int page_workers;    /* threads that decode and resize pages; 0: 1 or 2 by cores */
    const char *helper;  /* the program recto-decode; NULL: beside the running program */
    bool sandbox_strict; /* refuse to decode without seccomp and Landlock, instead of one warning */
    int64_t
        max_pixels; /* declared pixels of an image; default 1.5 G (over 64 M it is reduced while decoded) */
    recto_log_fn *log; /* NULL: silent */
    void *log_ctx;
    enum recto_log_level log_least;
    const char *weights; /* "auto" or "bf16": as stored; "int8", "int4": the decoder's matrices are
                            quantised when they are loaded */
    const char *
        parallel; /* several devices (device "cuda:0,1"): "tp=N" one model cut over N, "replicas=N" N whole ones,
                             "tp=NxM" M models of N; "auto" (default): src/devices.h */
};
void recto_settings_init(struct recto_settings *s);

/* ---- what to do with a page ------------------------------------------------------------------------------------------ */
enum recto_task {
    RECTO_TASK_MARKDOWN, /* <|grounding|>Convert the document to markdown. */
    RECTO_TASK_TEXT,     /* Free OCR. */
    RECTO_TASK_OCR,      /* <|grounding|>OCR this image. */
    RECTO_TASK_FIGURE,   /* Parse the figure. */
    RECTO_TASK_DESCRIBE, /* Describe this image in detail. */
    RECTO_TASK_LOCATE,   /* Locate <|ref|>phrase<|/ref|> in the image. */
};

/* Imitate one of the model's official scripts: its guard (20/90, 20/50, 40/90), its way with pictures (Pillow's: transparency
 * dropped, grey of 16 bits cut at 255; orientations 1 to 8, none, or 3, 6 and 8), PDFs at 144 dpi ("pdf"); read once, as they
 * lie, blank or not.  What its files hold is the writers' part (recto_write_options.official). */
enum recto_official {
    RECTO_OFFICIAL_NO,
    RECTO_OFFICIAL_IMAGE,
    RECTO_OFFICIAL_PDF,
    RECTO_OFFICIAL_EVAL
};
enum { RECTO_OFFICIAL_PDF_DPI = 144 }; /* run_dpsk_ocr2_pdf.py */

enum recto_class { RECTO_CLASS_INTERACTIVE, RECTO_CLASS_NORMAL, RECTO_CLASS_BATCH };

/* The text that a page of a PDF brings along. It is trusted when it has 200 letters or more, 1 % or less of its characters are
 * U+FFFD or of private use, and each font says what its codes mean (a ToUnicode map or a standard encoding). */
enum recto_text_layer {
    RECTO_LAYER_IGNORE, /* read the page */
    RECTO_LAYER_PREFER, /* take the layer if it is trusted (recto_page.is_layer); else warn, and read the page */
    RECTO_LAYER_COMPARE, /* read the page, and keep the layer beside it (recto_page.layer) */
};

struct recto_options {
    size_t size;
    enum recto_class priority; /* default normal; places are shared 8 : 3 : 1 while all wait */
    uint64_t caller, job; /* places are shared fairly over callers, then over a caller's jobs */
    int deadline_ms;      /* from now; a page not done by then ends with RECTO_EDEADLINE; 0: none */
    bool no_loop_check;   /* do not stop a page that goes round */
    bool ignore_eos;      /* go on to max_tokens (benchmarks) */
    enum recto_task task;
    const char *phrase; /* what to locate; its text is never read as markers */
    const char *
        prompt; /* replaces the task's prompt; markers in it count; without "<image>" one is put in front */
    int max_tokens; /* new tokens of a reading at most; 0: up to the context limit */
    int guard_n;    /* n-gram ban: size n; 0: the model's default; -1: off */
    int guard_w; /* its window in tokens; -1: the whole sequence, prompt and image ids included (transformers' rule) */
    double temperature;  /* 0: greedy */
    double top_p;        /* (0, 1]; with temperature > 0 */
    uint64_t seed;       /* with temperature > 0 */
    bool no_blank_check; /* read pages on which there is no ink, too */
    bool whole_view;     /* the global view only: no tiles, whatever a page's size */
    bool
        stream; /* RECTO_EVENT_TEXT while the page is read; it is then read once, whatever comes out */
    bool preview; /* RECTO_EVENT_TEXT of a page's first reading; it may still be read again, so what
                     counts is the page that comes */
    /* A page that went round, was cut short, gave no text or little confidence is read again in other ways, at most so many
     * times (0..RECTO_RETRIES_MAX, default 3); the best reading is kept, and all are listed in recto_page.attempt. */
    int retries;
    enum recto_official official; /* overrides guard, retries, rotate, no_blank_check, and dpi 0 */
    enum recto_text_layer
        text_layer; /* of PDFs, for tasks that want all text; official ignores it */
    int rotate; /* degrees clockwise to turn every page by: 0, 90, 180, 270; RECTO_ROTATE_AUTO (default): find out */
};
#define RECTO_RETRIES_MAX 5
#define RECTO_ROTATE_AUTO (-1)
void recto_options_init(struct recto_options *o);
/* Set what o->official overrides to what that script has; recto_submit does so itself. */
void recto_options_imitate(struct recto_options *o);
/* "markdown", "text", "ocr", "figure", "describe", "locate=PHRASE"; RECTO_EUSAGE otherwise. *phrase points into name. */
int recto_task_parse(const char *name, enum recto_task *task, const char **phrase);

/* ---- what comes out of a page ---------------------------------------------------------------------------------------- */
enum recto_status {
    RECTO_PAGE_OK,
    RECTO_PAGE_BLANK,
    RECTO_PAGE_SUSPECT,
    RECTO_PAGE_LOOP,
    RECTO_PAGE_LENGTH,
    RECTO_PAGE_SKIPPED,
    RECTO_PAGE_ERROR,
    RECTO_PAGE_CANCELLED,
};
const char *recto_status_name(enum recto_status s); /* "ok", "blank", ... */

enum recto_finish { RECTO_FINISH_NONE, RECTO_FINISH_EOS, RECTO_FINISH_LENGTH, RECTO_FINISH_LOOP };
const char *recto_finish_name(enum recto_finish f); /* "none", "eos", "length", "loop" */

enum recto_block_kind {
    RECTO_BLOCK_TEXT,
    RECTO_BLOCK_TITLE,
    RECTO_BLOCK_HEADING,
    RECTO_BLOCK_LIST,
    RECTO_BLOCK_EQUATION,
    RECTO_BLOCK_TABLE,
    RECTO_BLOCK_FIGURE,
    RECTO_BLOCK_CAPTION,
    RECTO_BLOCK_TABLE_CAPTION,
    RECTO_BLOCK_FOOTNOTE,
    RECTO_BLOCK_HEADER,
    RECTO_BLOCK_FOOTER,
    RECTO_BLOCK_PAGE_NUMBER,
    RECTO_BLOCK_CODE,
    RECTO_BLOCK_OTHER,
};
const char *
recto_block_kind_name(enum recto_block_kind k); /* "text", "title", ..., "page_number", ... */

enum recto_block_flag {
    RECTO_BLOCK_IMPLICIT = 1 << 0,   /* text without a marker before it */
    RECTO_BLOCK_SWAPPED = 1 << 1,    /* a box had its corners exchanged */
    RECTO_BLOCK_CAPPED = 1 << 2,     /* more boxes or blocks than the limits */
    RECTO_BLOCK_DUPLICATE = 1 << 3,  /* same boxes and text as the block before */
    RECTO_BLOCK_LABEL_LONG = 1 << 4, /* label cut at 64 bytes */
    RECTO_BLOCK_INCOMPLETE = 1 << 5, /* the token limit cut it */
    RECTO_BLOCK_GUARD_IN_TABLE =
        1 << 6, /* a table in which the guard forbade the best id: equal cells may be altered */
};

enum recto_box_error {
    RECTO_BOX_OK,
    RECTO_BOX_SYNTAX,
    RECTO_BOX_ARITY,
    RECTO_BOX_NUMBER,
    RECTO_BOX_RANGE
};
const char *
recto_box_error_name(enum recto_box_error e); /* NULL for RECTO_BOX_OK, else "syntax", ... */

struct recto_box {
    int x1, y1, x2, y2; /* 0..999 over the page as displayed: left, top, right, bottom */
};

struct recto_block {
    int order; /* 0, 1, ... in reading order over blocks with text or a figure; -1: a block with neither */
    enum recto_block_kind kind;
    char *label; /* as the model wrote it */
    int level;   /* of a title or heading: 1..6, else 0 */
    int n_box;
    struct recto_box *box;
    char *det; /* the boxes as the model wrote them, between the det markers; NULL: it wrote none */
    enum recto_box_error
        box_error; /* syntax if the list breaks off, else the first fault of a box in it */
    char *
        text; /* trimmed body, without the # marks of a title or heading; control characters are U+FFFD */
    char *raw; /* body byte for byte; bytes that are not UTF-8 are U+FFFD */
    size_t n_det, n_text, n_raw;
    unsigned flags; /* enum recto_block_flag */
};

struct recto_timing { /* milliseconds */
    double queue, decode_image, preprocess, vision, prefill, decode, post, total;
};

/* One reading of a page. */
struct recto_attempt {
    char rung
        [8]; /* "first"; "turned": as the orientation asks; "table", "wide", "shift", "halves", "text": the ladder's */
    enum recto_finish finish; /* none: it failed, or the page was cancelled meanwhile */
    int n_token;
    double conf;
    bool is_chosen; /* the page is this reading */
};

struct recto_page {
    int number; /* 1-based, in the document; 0: the document could not be opened */
    enum recto_status status;
    enum recto_finish finish;
    int width, height; /* pixels, as displayed */
    int rotate; /* degrees clockwise that it was turned by before it was read; boxes are as displayed */
    int n_attempt; /* readings, in order; 0: it was never read */
    struct recto_attempt *attempt;
    int tiles_w, tiles_h;  /* grid of tiles; 1 x 1: global view only */
    int n_visual;          /* visual rows incl. separator */
    int n_prompt, n_token; /* prompt ids incl. visual rows; new ids without EOS */
    int n_intervention;    /* steps at which the guard forbade the best id */
    double conf;           /* exp(mean log-probability of the new ids); 0 when there is none */
    char *raw;             /* the model's text, markers kept, EOS not */
    size_t n_raw;
    int32_t *id; /* the n_token new ids */
    float *logp; /* log-probability of each, before the guard */
    int n_block;
    struct recto_block *block;
    int n_stray; /* markers that belonged to nothing */
    int n_warning;
    char **warning;
    int error; /* code when status is error, with its sentence */
    char *error_text;
    struct recto_timing timing;
    double dpi;                 /* that a page of a PDF was drawn at; 0: an image */
    double width_pt, height_pt; /* size of a page of a PDF in points, as displayed */
    double crop_pt
        [4]; /* x0, y0, x1, y1 of what is displayed, in points of PDF user space; of an image: the page it would
                          be, by its resolution if that is 36..2400 dpi, else 150; all 0: unknown */
    int turn_pt;   /* degrees clockwise that a page of a PDF is displayed turned by (its /Rotate) */
    bool is_layer; /* its text is the PDF's own: raw and blocks without boxes; nothing was read */
    char *layer; /* RECTO_LAYER_COMPARE: the PDF's own text; NULL: it has none, or was not asked */
    size_t n_layer;
    bool layer_trusted;
    int index, n_index; /* which of the request's pages this is, from 0, and how many those are */
};
void recto_page_reset(struct recto_page *p); /* free what it owns */

/* ---- engine ---------------------------------------------------------------------------------------------------------- */
struct recto;
int recto_open(struct recto **out, const struct recto_settings *s);
void recto_close(struct recto *r); /* cancels what runs; NULL is fine */

struct recto_input {
    const char *name; /* for messages; NULL: path */
    const char *path; /* a file, or NULL: the bytes at data, which are copied */
    const void *data;
    size_t len;
    const char
        *pages; /* "1-3,7", "-2", "5-", "odd", "even", "last", "r2" (from the end); NULL: all */
    /* "all" or a list as `pages`: the frames of an animated GIF or WebP are its pages, and these are read, whatever `pages`
     * says; NULL: only the first frame is, with a warning. Other kinds do not look at it. */
    const char *frames;
    int dpi; /* of the pages of a PDF: 36..600, or 0: so that they fill the model's view */
    const char *password; /* of a PDF, when the empty one does not open it */
    bool no_annots;       /* leave out a PDF's notes and form fields */
    bool strict;          /* refuse a document that could only be read after a repair */
    /* [n_skip], copied, for going on with a document: page i of those that `pages` selects is not read and has no event
     * when skip[i]; the others keep number, index and n_index. */
    const bool *skip;
    int n_skip;
};
/* Can a file that starts with these bytes (1024 suffice) be read? NULL: its kind is none of ours; else "PDF", "PNG"... */
const char *recto_kind(const void *head, size_t n);
/* Is this a list of pages, as in `pages`? 0 or RECTO_EPAGERANGE. */
int recto_range_check(const char *pages);

/* Queue a document (an image is a document of one page). *request names it in events; its pages come one by one, in any
 * order, and are drawn only shortly before they can be read. RECTO_EAGAIN when max_waiting documents wait: poll, then try
 * again. Input faults come as RECTO_EVENT_PAGE with status error, not here; those of a whole document as page 0. */
int recto_submit(struct recto *r, const struct recto_input *in, const struct recto_options *o,
                 uint64_t *request);
/* Stop a request soon; its pages end as cancelled. Unknown or finished: no effect. */
void recto_cancel(struct recto *r, uint64_t request);
/* Begin with no further page of a request; those that have begun are read to their end, the others end as cancelled. */
void recto_stop(struct recto *r, uint64_t request);

/* While held, prepared pages wait outside the engine; releasing hands all of them over at once. For benchmarks that leave
 * decoding and resizing out of the clock. */
void recto_hold(struct recto *r, bool held);

enum recto_event_kind {
    RECTO_EVENT_STARTED, /* the page was decoded and waits for the model; page->width, height, tiles are set */
    RECTO_EVENT_TEXT, /* more text of a page (with options.stream or preview): whole UTF-8 characters, markers included */
    RECTO_EVENT_PAGE, /* the page is done: page has everything */
    RECTO_EVENT_DONE, /* no more events of this request */
};

struct recto_event {
    enum recto_event_kind kind;
    uint64_t request;
    int number; /* page */
    char *text;
    size_t n_text;
    struct recto_page *page;
};
/* Next event: 1 and *ev filled (give it back with recto_event_reset), 0 when none came within wait_ms (-1: for ever). */
int recto_poll(struct recto *r, struct recto_event *ev, int wait_ms);
void recto_event_reset(struct recto_event *ev);

struct recto_info {
    char model_dir[512];
    char model_name[64]; /* "mini" for the embedded default, else the folder's last name */
    bool is_default_model;
    bool crop_mode;
    char backend[16], precision[16], kernels[32];
    int threads;
    int64_t n_param, weight_bytes; /* parameters; bytes held in memory for them, on all devices */
    int64_t kv_tok, kv_bytes, scratch_bytes;
    double load_ms;
    int guard_n, guard_w;  /* the model's default */
    int context;           /* positions */
    char weights[8];       /* of the decoder's matrices: "bf16" (as stored), "int8", "int4" */
    int n_replica, n_rank; /* whole models; devices that each is cut over */
};
void recto_get_info(const struct recto *r, struct recto_info *info);

/* Which model this is, as 64 hex digits: SHA-256 over the names and sizes of the folder's *.json and *.safetensors files and
 * over what is in them, of large ones a sample (its first megabyte and 64 KB at 64 places, evenly), so that it takes
 * milliseconds. RECTO_EREAD. */
int recto_model_hash(const struct recto *r, char hex[65]);

/* Counters since the engine was opened, and what is inside now. */
struct recto_stats {
    size_t size;                          /* set by the caller to sizeof(struct recto_stats) */
    int64_t n_step, n_row, n_out, n_view; /* steps; rows and new ids in them; views encoded */
    int64_t n_done, n_failed, n_cancelled, n_late; /* pages */
    int64_t n_loop,
        n_intervention; /* pages stopped as loops; steps in which the guard forbade the best id */
    int64_t n_preempted, n_image_hit, n_image_miss,
        n_shared_tok;          /* cache: pages sent back, images found, tokens shared */
    int64_t busy_ns, sched_ns; /* device time of steps; host time around them */
    int n_running, n_waiting, n_block_free, n_block;
    int64_t n_moved, n_lost; /* devices lost; pages that others took over from them */
};
void recto_get_stats(struct recto *r, struct recto_stats *s);

/* What a device (0 .. n_replica * n_rank - 1) reports of itself now, for all programs that use it (an NVIDIA card through
 * NVML); NAN, or -1 for bytes, where it reports nothing, as on the CPU. Cheap enough for ten calls a second. */
struct recto_device_stats {
    double
        utilisation; /* 0..1 of the time in which anything ran, over the device's own sampling period */
    double power_w, temperature_c;
    int64_t memory_used, memory_total; /* bytes */
};
void recto_get_device_stats(struct recto *r, int device, struct recto_device_stats *s);

/* ---- documents without a model --------------------------------------------------------------------------------------- */
struct recto_document;
struct recto_image {
    int width, height;
    unsigned char *rgb; /* row-major, 3 bytes a pixel; owned by the holder of the struct */
};
int recto_document_open(struct recto_document **out, const struct recto_input *in,
                        const struct recto_settings *s);
int recto_document_pages(
    const struct recto_document *d); /* all of them; in->pages does not matter here */
/* Decode page (1-based), orientation applied. recto_image_reset frees it. */
int recto_document_render(struct recto_document *d, int page, struct recto_image *image);
/* The pages that a list (recto_input.pages) selects, in its order; *page: recto_free. RECTO_EPAGERANGE. */
int recto_document_select(const struct recto_document *d, const char *pages, int **page, int *n);
/* What would be read: size, dpi, grid, visual rows, warnings, and status blank or ok by the look before
 * reading. Warnings about the document as a whole come with the first look. */
int recto_document_look(struct recto_document *d, int page, struct recto_page *look);
void recto_document_close(struct recto_document *d);
void recto_image_reset(struct recto_image *image);

typedef void recto_line_fn(void *ctx, const char *line);

/* ---- writers ---------------------------------------------------------------------------------------------------------
 * A document in a format, page by page and in order, into the caller's hands:
 *
 *   recto_writer_open -> recto_writer_page ... -> recto_writer_close
 *
 * The same pages, options and document give the same bytes. A page with status error is an empty page, marked where the
 * format can. A writer belongs to one thread at a time. */
struct recto_format {
    const char *name;      /* "md" */
    const char *extension; /* ".md": the main file is STEM.EXT; NULL: it has side files only */
    bool is_text;          /* fit for a terminal */
    bool has_side_files;   /* with options.stem it writes files into STEM.files/ */
    bool uses_pixels; /* with options.doc it looks at the pages: cuts figures out, places lines */
};
const struct recto_format *recto_format_at(int i); /* all of them, in order; NULL past the last */
const struct recto_format *recto_format_find(const char *name); /* NULL: no such format */

/* What the writer is to know and to do. Everything is borrowed until recto_writer_close. */
struct recto_write_options {
    size_t size;
    /* Draws a page again when its pixels are needed, once for all writers of one document that are at the same page; they
     * belong to one thread at a time. Opened with the dpi the pages were read at. NULL: there are no pixels, so figures are
     * left out and lines are placed by guess. */
    struct recto_document *doc;
    const char *name; /* of the source, for people: "report.pdf"; NULL: unknown */
    const char *stem; /* of links: STEM.files/p0001-f1.jpg; NULL: no side files, no links to them */
    /* Facts of the source, the program and the run, for json. NULL, -1: unknown. dpi, guard and rotate are spelled as
     * options are; a dpi of digits becomes a number. */
    const char *created;                     /* RFC 3339 */
    const char *source_kind, *source_sha256; /* "PDF", hex */
    int n_pages;                             /* of the source */
    const char *model_sha256, *backend, *precision;
    const char *task, *prompt, *dpi, *guard, *rotate;
    int max_tokens, retries;
    /* How to write. */
    const char *math;       /* md: "dollar", $x$ and $$ (default); "tex", \( \) and \[ \] stay */
    const char *tables;     /* md: "html" (default); "pipe" where a table has no spans */
    const char *page_break; /* md: NULL: <!-- page 2 -->; "": only a blank line */
    const char
        *old_text; /* pdf: invisible text that is there: "replace" (default), "keep", "skip-page" */
    const char *pdf_math; /* pdf: "tex" (default), "skip" */
    bool break_signature; /* pdf: of a signed document too */
    const char *official; /* mmd, raw: "image" (default), "pdf", "eval": the script imitated */
    bool keep_furniture;  /* md, txt, html: headers, footers and page numbers too */
    bool dehyphenate;     /* md, txt, html: join words parted at line ends */
    bool csv_fill;        /* csv: repeat a cell's text over all that it spans */
    bool csv_safe;        /* csv: ' before what a spreadsheet would run as a formula */
    bool embed;           /* html: figures inside the file, as data: addresses */
    /* Told what could not be written as asked, a sentence a call; NULL: nobody is. */
    recto_line_fn *warn;
    void *warn_ctx;
    /* json: "recto" (default), docs/recto-layout-1.schema.json; "mineru", its content list; "docling", a DoclingDocument. The
     * latter two link figures, as md does. */
    const char *json_as;
};
void recto_write_options_init(struct recto_write_options *o);

/* Takes what a writer makes: side NULL: the next n bytes of the main file; else a whole side file of that name, which
 * belongs into STEM.files/ ("p0001-f1.jpg"; the same name brings the same bytes again). 0, or a negative code with
 * which the writer then ends. */
typedef int recto_sink_fn(void *ctx, const char *side, const void *bytes, size_t n);

struct recto_writer;
/* RECTO_EUSAGE: no such format, or an option with a value that is none. */
int recto_writer_open(struct recto_writer **out, const char *format,
                      const struct recto_write_options *o, recto_sink_fn *sink, void *ctx);
/* The next page. The first failure stays: later calls return it too. A page that cannot be drawn again is no failure. */
int recto_writer_page(struct recto_writer *w, const struct recto_page *page);
/* Write the end and free; NULL is fine. After a failure only the second. */
int recto_writer_close(struct recto_writer *w);
/* Free, without an end: what was written is not to be kept. NULL is fine. */
void recto_writer_abort(struct recto_writer *w);

/* Pages, in order, in a text format with all options at their defaults; a new NUL-terminated string in *out
 * (recto_free). RECTO_EUSAGE: no such format. */
int recto_write(const char *format, const struct recto_page *const *page, int n_page, char **out,
                size_t *n_out);
/* One page object of "json", on one line; and its inverse. RECTO_EFORMAT. */
int recto_page_to_json(const struct recto_page *page, char **out, size_t *n_out);
int recto_page_from_json(const char *json, size_t n, struct recto_page *page);
void recto_free(void *p);

/* ---- inspect and verify: tables, line by line ------------------------------------------------------------------------ */
int recto_inspect_model(const struct recto_settings *s, recto_line_fn *print, void *ctx);
int recto_inspect_image(const struct recto_settings *s, const char *path, recto_line_fn *print,
                        void *ctx);
/* Cases NAME.png + NAME.safetensors in dir; one case, or all when name is NULL. Every tap within 1e-5 relative L2, logits
 * within 1e-4, all ids equal: 0, else RECTO_EVERIFY. guard_n, guard_w as in recto_options (0: the plain greedy ids and the
 * whole-sequence n = 3 ids both). */
int recto_verify_golden(const struct recto_settings *s, const char *dir, const char *name,
                        int guard_n, int guard_w, recto_line_fn *print, void *ctx);
int recto_verify_preprocess(const char *cases_json, recto_line_fn *print, void *ctx);
int recto_verify_tokenizer(const char *tokenizer_json, const char *cases_json, recto_line_fn *print,
                           void *ctx);

/* Write a model folder's copy in `out` (made if missing, without weights so far), the decoder's matrices as "int8" or "int4";
 * vision, router, norms and embeddings as they are. A folder that recto_open opens, on the CPU. RECTO_EUSAGE: another
 * scheme, or weights in `out`; RECTO_EMODEL, RECTO_EOUTPUT. */
int recto_quantize(const char *model_dir, const char *out, const char *scheme, int threads,
                   recto_line_fn *print, void *ctx);

/* Time vision, prefill and decode of a model on random input, each beside the peaks of the machine measured in the same run;
 * part: "vision", "prefill", "decode", or NULL for all; median of `rounds` (decode: five times as many). `took` is told each
 * stage's figures besides the lines for people (NULL: nobody is). RECTO_EUSAGE: no such part, or a device that does not measure
 * its peaks. */
struct recto_stage {
    const char *part, *name, *unit; /* "decode", "1 page, empty cache", "tok/s"; static */
    double median_ms, least_ms, most_ms, rate; /* rate: of the median, in unit */
    double
        peak_share; /* of what the machine can do at most, 0..1: of its products, or of its memory for decode */
};
typedef void recto_stage_fn(void *ctx, const struct recto_stage *stage);
int recto_bench_stages(const struct recto_settings *s, const char *part, int rounds,
                       recto_line_fn *print, recto_stage_fn *took, void *ctx);

/* What this build and this CPU can do, one line: "cpu: c avx2 avx512 avx512bf16; cuda: no; helper: jpeg png" */
const char *recto_features(void);

#ifdef __cplusplus
}
#endif
#endif
