/* Every option of the program, once: its flag, its environment variable, its line in the
 * configuration file, its help.
 *
 *   --max-tokens 500     RECTO_MAX_TOKENS=500     max-tokens = 500
 *
 * An argument wins over the environment, the environment over the file.  Values are checked
 * against their type and range wherever they come from, and a complaint names the place.  The
 * file is INI: keys before any section hold for all commands, those in [read], [inspect] or
 * [verify] for that command; it is --config FILE, RECTO_CONFIG, or
 * $XDG_CONFIG_HOME/recto/recto.ini (~/.config/recto/recto.ini), which need not exist. */
#ifndef RECTO_CLI_OPTIONS_H
#define RECTO_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

enum option {
    OPT_OUT,
    OPT_FORMAT,
    OPT_TASK,
    OPT_PROMPT,
    OPT_MAX_TOKENS,
    OPT_GUARD,
    OPT_TEMPERATURE,
    OPT_TOP_P,
    OPT_SEED,
    OPT_STREAM,
    OPT_FORCE,
    OPT_RESUME,
    OPT_STRICT,
    OPT_FAIL_FAST,
    OPT_PAGES,
    OPT_FRAMES,
    OPT_TEXT_LAYER,
    OPT_DPI,
    OPT_PASSWORD,
    OPT_PASSWORD_FILE,
    OPT_NO_ANNOTS,
    OPT_STRICT_INPUT,
    OPT_OFFICIAL,
    OPT_MATH,
    OPT_TABLES,
    OPT_PAGE_BREAK,
    OPT_KEEP_FURNITURE,
    OPT_DEHYPHENATE,
    OPT_EMBED,
    OPT_CSV_FILL,
    OPT_CSV_SAFE,
    OPT_JSON_AS,
    OPT_OLD_TEXT,
    OPT_PDF_MATH,
    OPT_BREAK_SIGNATURE,
    OPT_RECURSIVE,
    OPT_FROM,
    OPT_FROM0,
    OPT_NO_BLANK_CHECK,
    OPT_RETRIES,
    OPT_ROTATE,
    OPT_JSON_LINES,
    OPT_ORDER,
    OPT_DRY_RUN,
    OPT_GOLDEN,
    OPT_CASE,
    OPT_PREPROCESS,
    OPT_TOKENIZER,
    OPT_SCHEME,
    OPT_CONCURRENCY,
    OPT_ROUNDS,
    OPT_WARM_UP,
    OPT_FIXED_OUTPUT,
    OPT_RATE,
    OPT_PRED,
    OPT_IMAGES,
    OPT_EXPORT,
    OPT_NORM,
    OPT_LIMIT,
    OPT_COMPARE,
    OPT_JSON,
    OPT_PLOT,
    OPT_MODEL,
    OPT_DEVICE,
    OPT_PARALLEL,
    OPT_THREADS,
    OPT_PRECISION,
    OPT_WEIGHTS,
    OPT_ROUTER,
    OPT_CACHE,
    OPT_KERNELS,
    OPT_BATCH,
    OPT_CHUNK,
    OPT_KV_TOKENS,
    OPT_JOBS,
    OPT_HELPER,
    OPT_SANDBOX,
    OPT_MAX_PIXELS,
    OPT_MAX_BYTES,
    OPT_PROGRESS,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_LOG,
    OPT_LISTEN,
    OPT_ADMIN,
    OPT_DATA,
    OPT_KEYS,
    OPT_NO_AUTH,
    OPT_HOST_NAME,
    OPT_BASE_PATH,
    OPT_TRUSTED_PROXY,
    OPT_CORS_ORIGIN,
    OPT_MAX_CONNS,
    OPT_MAX_CONNS_IP,
    OPT_MAX_JSON,
    OPT_MAX_UPLOAD,
    OPT_MAX_PAGES,
    OPT_MAX_QUEUED_PAGES,
    OPT_MAX_SEQS,
    OPT_PAGE_WORKERS,
    OPT_AHEAD_PAGES,
    OPT_INTERACTIVE_RESERVE,
    OPT_SERVE_RATE,
    OPT_BURST,
    OPT_REQUEST_TIMEOUT,
    OPT_RETAIN,
    OPT_DISK_MIN,
    OPT_IMAGE_CACHE,
    OPT_DRAIN_GRACE,
    OPT_DRAIN_TIMEOUT,
    OPT_WEB,
    OPT_LOG_LEVEL,
    OPT_LOG_FORMAT,
    OPT_PRINT_CONFIG,
    OPT_CHECK,
    OPT_ROLE,
    OPT_PAGES_DAY,
    OPT_KEY_JOBS,
    OPT_KEY_BYTES,
    OPT_CONFIG,
    N_OPT,
};

enum {
    FOR_READ = 1,
    FOR_INSPECT = 2,
    FOR_VERIFY = 4,
    FOR_BENCH = 8,
    FOR_QUANTIZE = 16,
    FOR_SERVE = 32,
    FOR_KEY = 64,
    FOR_STORE = 128,
    FOR_EVAL = 256,
    FOR_ALL = 511
};

enum option_type {
    TYPE_FLAG,   /* yes or no; as an argument alone it means yes */
    TYPE_INT,    /* min..max */
    TYPE_REAL,   /* min..max */
    TYPE_CHOICE, /* one of `values`, parted by | */
    TYPE_TEXT,   /* `values` says what, in the help */
    TYPE_PAIR, /* two words, NAME DIR; as one word, and so in the environment and the file, NAME=DIR */
    TYPE_LIST, /* as TYPE_TEXT, and may be given again: all of them count; in a variable, with commas between */
    TYPE_SIZE, /* min..max bytes: 512MiB, 5GiB, 100 KB, 1000000 */
    TYPE_TIME, /* min..max seconds: 300, 300s, 5m, 2h, 7d */
};

struct option_def {
    const char *name; /* without dashes */
    char letter;      /* 0: none */
    enum option_type type;
    unsigned mask; /* FOR_...: the commands that know it */
    const char *values;
    double min, max;
    const char *help; /* with the default in it */
};
extern const struct option_def option_table[N_OPT];

enum option_source { SOURCE_NONE, SOURCE_ARGUMENT, SOURCE_ENVIRONMENT, SOURCE_FILE };

struct options {
    unsigned mask;            /* the command's */
    const char *command;      /* its name */
    const char *value[N_OPT]; /* NULL: not given; items of a list parted by line breaks */
    enum option_source source[N_OPT];
    char *owned[N_OPT]; /* those from the file, and lists */
    char config[1024];  /* the file read, "" if none */
    const char **input; /* operands, in order */
    int n_input;
    bool wants_help;
    char error[512]; /* why options_parse failed, one sentence */
};

/* Read arguments (argv[0] is the first after the command's name), environment and file.  0, or
 * -1 with o->error set. o points into argv and the environment.  options_reset takes o back
 * after either. */
int options_parse(struct options *o, const char *command, unsigned mask, int argc, char **argv);
void options_reset(struct options *o);

bool opt_given(const struct options *o, enum option k);
/* The value as text, or NULL if it was not given; likewise with a fallback for the typed ones. */
const char *opt_text(const struct options *o, enum option k);
bool opt_flag(const struct options *o, enum option k);
long long opt_int(const struct options *o, enum option k, long long fallback);
/* Bytes of a TYPE_SIZE, seconds of a TYPE_TIME. */
long long opt_size(const struct options *o, enum option k, long long fallback);
/* The i-th of a TYPE_LIST in a buffer of n bytes; NULL past the last. */
const char *opt_item(const struct options *o, enum option k, int i, char *out, size_t n);
double opt_real(const struct options *o, enum option k, double fallback);
/* "--guard", "RECTO_GUARD" or "guard in FILE": where the value came from, for messages. In a
 * static buffer. */
const char *opt_origin(const struct options *o, enum option k);

/* The table's rows for a command, as help. */
void options_help(FILE *out, unsigned mask);

/* Used by options.c and config.c only: set k from a place if it has no value yet, or from a
 * later argument; -1 with o->error. */
int options_set(struct options *o, enum option k, const char *value, enum option_source source);
/* Index or -1. Commands may have options of the same name that mean different things: mask says whose is wanted; if it has
 * none, another's is found. */
int options_find(unsigned mask, const char *name, size_t n);
int options_fail(struct options *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fill what is still unset from the configuration file. */
int config_read(struct options *o);

#endif
