#include "cli.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>

static enum recto_log_level log_least(void)
{
    return say_hears(SAY_DEBUG) ? RECTO_LOG_INFO : RECTO_LOG_WARN;
}

static const char *or_else(const char *value, const char *fallback)
{
    return value ? value : fallback;
}

void settings_from(const struct options *o, struct recto_settings *s)
{
    const char *sandbox = opt_text(o, OPT_SANDBOX);

    recto_settings_init(s);
    s->model_dir = opt_text(o, OPT_MODEL);
    s->device = or_else(opt_text(o, OPT_DEVICE), s->device);
    s->parallel = or_else(opt_text(o, OPT_PARALLEL), s->parallel);
    s->precision = or_else(opt_text(o, OPT_PRECISION), s->precision);
    s->cpu_kernels = or_else(opt_text(o, OPT_KERNELS), s->cpu_kernels);
    s->weights = or_else(opt_text(o, OPT_WEIGHTS), s->weights);
    s->router = or_else(opt_text(o, OPT_ROUTER), s->router);
    s->threads = (int)opt_int(o, OPT_THREADS, s->threads);
    s->kv_tok = opt_int(o, OPT_KV_TOKENS, s->kv_tok);
    s->max_running = (int)opt_int(o, OPT_BATCH, s->max_running);
    s->chunk_tok = (int)opt_int(o, OPT_CHUNK, s->chunk_tok);
    s->page_workers = (int)opt_int(o, OPT_JOBS, s->page_workers);
    s->helper = or_else(opt_text(o, OPT_HELPER), s->helper);
    s->sandbox_strict = sandbox ? strcmp(sandbox, "strict") == 0 : s->sandbox_strict;
    s->max_pixels = opt_int(o, OPT_MAX_PIXELS, s->max_pixels);
    s->log = say_log;
    s->log_least = log_least();
}

int guard_from(const struct options *o, int *n, int *w)
{
    const char *text = opt_text(o, OPT_GUARD);
    char *end;

    *n = *w = 0;
    if (!text)
        return 0;
    if (strcmp(text, "off") == 0) {
        *n = -1;
        return 0;
    }
    long size = strtol(text, &end, 10), window = -1;
    bool good = end != text && size >= 1 && size <= 1000 && *end == '/';
    if (good && strcmp(end + 1, "all") != 0) {
        const char *from = end + 1;
        window = strtol(from, &end, 10);
        good = end != from && *end == 0 && window >= size && window <= 1000000;
    }
    if (!good) {
        say(SAY_ERROR, "%s: '%.60s' is not N/W (N at most W, as in 20/90), N/all or off",
            opt_origin(o, OPT_GUARD), text);
        return EXIT_USAGE;
    }
    *n = (int)size;
    *w = (int)window;
    return 0;
}

static int task_from(const struct options *o, struct recto_options *p)
{
    const char *task = opt_text(o, OPT_TASK);

    if (!task || recto_task_parse(task, &p->task, &p->phrase) == 0)
        return 0;
    say(SAY_ERROR,
        "%s: '%.60s' is not a task; there are markdown, text, ocr, figure, describe, locate=PHRASE",
        opt_origin(o, OPT_TASK), task);
    return EXIT_USAGE;
}

static enum recto_text_layer text_layer_from(const char *text)
{
    if (!text || strcmp(text, "ignore") == 0)
        return RECTO_LAYER_IGNORE;
    return strcmp(text, "prefer") == 0 ? RECTO_LAYER_PREFER : RECTO_LAYER_COMPARE;
}

static int rotate_from(const char *text)
{
    if (!text || strcmp(text, "auto") == 0)
        return RECTO_ROTATE_AUTO;
    return strcmp(text, "off") == 0 ? 0 : atoi(text);
}

/* The options are a choice of these names, in the order of enum recto_official. */
static enum recto_official official_from(const char *script)
{
    static const char *const names[] = {"image", "pdf", "eval"};

    for (size_t i = 0; script && i < sizeof names / sizeof *names; i++)
        if (strcmp(script, names[i]) == 0)
            return (enum recto_official)(i + 1);
    return RECTO_OFFICIAL_NO;
}

int page_options_from(const struct options *o, struct recto_options *p)
{
    recto_options_init(p);
    p->official = official_from(opt_text(o, OPT_OFFICIAL));
    p->prompt = opt_text(o, OPT_PROMPT);
    p->max_tokens = (int)opt_int(o, OPT_MAX_TOKENS, p->max_tokens);
    p->temperature = opt_real(o, OPT_TEMPERATURE, p->temperature);
    p->top_p = opt_real(o, OPT_TOP_P, p->top_p);
    p->seed = (uint64_t)opt_int(o, OPT_SEED, (long long)p->seed);
    p->stream = opt_flag(o, OPT_STREAM);
    p->no_blank_check = opt_flag(o, OPT_NO_BLANK_CHECK);
    p->retries = (int)opt_int(o, OPT_RETRIES, p->stream ? 0 : p->retries);
    p->text_layer = text_layer_from(opt_text(o, OPT_TEXT_LAYER));
    if (opt_text(o, OPT_ROTATE))
        p->rotate = rotate_from(opt_text(o, OPT_ROTATE));
    bool has_other_use = o->mask & FOR_EVAL; /* of the seed: intervals */
    if (p->temperature == 0 && !has_other_use &&
        (opt_given(o, OPT_TOP_P) || opt_given(o, OPT_SEED))) {
        say(SAY_ERROR, "%s has no effect without --temperature above 0",
            opt_origin(o, opt_given(o, OPT_TOP_P) ? OPT_TOP_P : OPT_SEED));
        return EXIT_USAGE;
    }
    int rc = task_from(o, p);
    if (rc == 0 && opt_given(o, OPT_GUARD))
        rc = guard_from(o, &p->guard_n, &p->guard_w);
    recto_options_imitate(p);
    return rc;
}

/* The first line of a file, without its end. */
static int read_password(const char *path, char **password)
{
    FILE *f = fopen(path, "re");
    size_t cap = 0;
    ssize_t n = f ? getline(password, &cap, f) : -1;

    if (!f || n < 0) {
        say(SAY_ERROR, "%s: no password can be read from it (%s)", path,
            recto_error_name(RECTO_EREAD));
        if (f)
            fclose(f);
        return EXIT_INPUT;
    }
    fclose(f);
    (*password)[strcspn(*password, "\r\n")] = 0;
    return 0;
}

static int dpi_from(const struct options *o, int *dpi)
{
    const char *text = opt_text(o, OPT_DPI);
    char *end;

    *dpi = 0;
    if (!text && official_from(opt_text(o, OPT_OFFICIAL)) == RECTO_OFFICIAL_PDF)
        *dpi = RECTO_OFFICIAL_PDF_DPI;
    if (!text || strcmp(text, "auto") == 0)
        return 0;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < 36 || n > 600) {
        say(SAY_ERROR, "%s: '%.60s' is not auto or a number from 36 to 600", opt_origin(o, OPT_DPI),
            text);
        return EXIT_USAGE;
    }
    *dpi = (int)n;
    return 0;
}

int input_options_from(const struct options *o, struct recto_input *in, char **password)
{
    const char *secret = opt_text(o, OPT_PASSWORD);
    int rc = dpi_from(o, &in->dpi);

    in->pages = opt_text(o, OPT_PAGES);
    in->frames = opt_text(o, OPT_FRAMES);
    in->no_annots = opt_flag(o, OPT_NO_ANNOTS);
    in->strict = opt_flag(o, OPT_STRICT_INPUT);
    if (rc == 0 && opt_text(o, OPT_PASSWORD_FILE))
        rc = read_password(opt_text(o, OPT_PASSWORD_FILE), password);
    else if (secret || (secret = getenv("RECTO_PDF_PASSWORD")))
        *password = strdup(secret);
    in->password = *password;
    return rc;
}

void write_options_from(const struct options *o, struct recto_write_options *w)
{
    const char *page_break = opt_text(o, OPT_PAGE_BREAK);

    recto_write_options_init(w);
    w->math = opt_text(o, OPT_MATH);
    w->tables = opt_text(o, OPT_TABLES);
    w->official = opt_text(o, OPT_OFFICIAL);
    w->page_break = page_break && strcmp(page_break, "none") == 0 ? "" : page_break;
    w->keep_furniture = opt_flag(o, OPT_KEEP_FURNITURE);
    w->dehyphenate = opt_flag(o, OPT_DEHYPHENATE);
    w->embed = opt_flag(o, OPT_EMBED);
    w->csv_fill = opt_flag(o, OPT_CSV_FILL);
    w->csv_safe = opt_flag(o, OPT_CSV_SAFE);
    w->json_as = opt_text(o, OPT_JSON_AS);
    w->old_text = opt_text(o, OPT_OLD_TEXT);
    w->pdf_math = opt_text(o, OPT_PDF_MATH);
    w->break_signature = opt_flag(o, OPT_BREAK_SIGNATURE);
}

/* $XDG_STATE_HOME/recto, ~/.local/state/recto; systemd says it by STATE_DIRECTORY. */
const char *data_dir_from(const struct options *o, char out[1024])
{
    const char *given = opt_text(o, OPT_DATA), *service = getenv("STATE_DIRECTORY"),
               *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (given || service)
        snprintf(out, 1024, "%s", given ? given : service);
    else if (xdg && *xdg == '/')
        snprintf(out, 1024, "%s/recto", xdg);
    else
        snprintf(out, 1024, "%s/.local/state/recto", home ? home : "");
    return out;
}

bool is_input_error(int code)
{
    static const int input[] = {RECTO_ENOTFOUND, RECTO_EREAD,     RECTO_EEMPTY,    RECTO_EKIND,
                                RECTO_EURL,      RECTO_EPASSWORD, RECTO_EDAMAGED,  RECTO_ETRUNCATED,
                                RECTO_ETOOLARGE, RECTO_ERENDER,   RECTO_EPAGERANGE};

    for (size_t i = 0; i < sizeof input / sizeof *input; i++)
        if (input[i] == code)
            return true;
    return false;
}

int exit_of_error(int code)
{
    switch (code) {
    case RECTO_EUSAGE:
        return EXIT_USAGE;
    case RECTO_EOUTPUT:
        return EXIT_OUTPUT;
    case RECTO_EVERIFY:
        return EXIT_PAGES;
    case RECTO_EMODEL:
    case RECTO_EDEVICE:
    case RECTO_ENOMEM:
        return EXIT_MODEL;
    }
    return is_input_error(code) || code == RECTO_EFORMAT ? EXIT_INPUT : EXIT_BUG;
}

int report_failure(int code)
{
    const char *sentence = recto_last_error();
    say(SAY_ERROR, "%s (%s)", *sentence ? sentence : recto_error_text(code),
        recto_error_name(code));
    return exit_of_error(code);
}

void announce_default_model(void)
{
    say(SAY_INFO,
        "no --model given: the small demonstration model 'mini' reads (large, clean English "
        "print only). For real pages give --model DIR, a folder with the files of "
        "deepseek-ai/DeepSeek-OCR-2 from huggingface.co");
}
