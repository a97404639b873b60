#include "identity.h"

#include "json_text.h"

#include <fcntl.h>
#include <sha256.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where results go, how fast they come, what is said meanwhile; and what the identity names otherwise (pages, model,
 * device). Secrets do not change a text either. */
static const enum option without_effect[] = {
    OPT_OUT,
    OPT_FORMAT,
    OPT_STREAM,
    OPT_FORCE,
    OPT_RESUME,
    OPT_STRICT,
    OPT_FAIL_FAST,
    OPT_PAGES,
    OPT_PASSWORD,
    OPT_PASSWORD_FILE,
    OPT_RECURSIVE,
    OPT_FROM,
    OPT_FROM0,
    OPT_JSON_LINES,
    OPT_ORDER,
    OPT_DRY_RUN,
    OPT_MODEL,
    OPT_DEVICE,
    OPT_PARALLEL, /* ranks are in the identity itself: they change the order of sums; replicas do not */
    OPT_THREADS,
    OPT_PRECISION,
    OPT_KERNELS,
    OPT_BATCH,
    OPT_CHUNK,
    OPT_KV_TOKENS,
    OPT_JOBS,
    OPT_HELPER,
    OPT_SANDBOX,
    OPT_PROGRESS,
    OPT_QUIET,
    OPT_VERBOSE,
    OPT_LOG,
    OPT_CONFIG,
    OPT_MAX_PIXELS,
    OPT_MAX_BYTES,
    /* of evaluations: they choose what is read and scored; that is in the identity otherwise */
    OPT_PRED,
    OPT_IMAGES,
    OPT_EXPORT,
    OPT_NORM,
    OPT_LIMIT,
    OPT_COMPARE,
    /* of writers: they change files, not what a page was read as */
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
};

static bool has_effect(enum option k)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (without_effect[i] == k)
            return false;
    return true;
}

static char *settings_of(const struct options *o)
{
    char *text = NULL;
    size_t n;
    FILE *f = json_line_open(&text, &n);
    bool is_first = true;

    fputc('{', f);
    for (int k = 0; k < N_OPT; k++)
        if (opt_given(o, (enum option)k) && has_effect((enum option)k)) {
            fprintf(f, "%s\"%s\":", is_first ? "" : ",", option_table[k].name);
            json_put_string(f, opt_text(o, (enum option)k));
            is_first = false;
        }
    fputc('}', f);
    fclose(f);
    return text;
}

int identity_run_make(struct identity_run *r, const struct recto *engine, const struct options *o)
{
    *r = (struct identity_run){.settings = settings_of(o)};
    char ranks[32] = "";

    recto_get_info(engine, &r->info);
    if (r->info.n_rank > 1)
        snprintf(ranks, sizeof ranks, ",\"ranks\":%d", r->info.n_rank);
    int rc = recto_model_hash(engine, r->model);
    if (rc == 0 && asprintf(&r->text,
                            "\"version\":\"%s\",\"model\":\"%s\",\"backend\":\"%s\",\"precision\":"
                            "\"%s\",\"kernels\":\"%s\"%s",
                            RECTO_VERSION, r->model, r->info.backend, r->info.precision,
                            r->info.kernels, ranks) < 0)
        abort();
    return rc;
}

void identity_run_reset(struct identity_run *r)
{
    free(r->text);
    free(r->settings);
    *r = (struct identity_run){0};
}

/* Hash and kind of the file; its size and time are those of this moment. */
static void look_at_file(struct identity *id, const char *path, struct stat *st)
{
    static char chunk[1 << 16];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = 0;
    SHA256_CTX ctx;
    bool is_first = true;

    *st = (struct stat){0};
    if (fd < 0)
        return;
    SHA256_Init(&ctx);
    if (fstat(fd, st) == 0 && S_ISREG(st->st_mode))
        while ((n = read(fd, chunk, sizeof chunk)) > 0) {
            const char *kind = is_first ? recto_kind(chunk, (size_t)n) : NULL;
            if (kind)
                snprintf(id->kind, sizeof id->kind, "%s", kind);
            is_first = false;
            SHA256_Update(&ctx, (const void *)chunk, (size_t)n);
        }
    if (n == 0 && !is_first)
        SHA256_End(&ctx, id->sha256);
    close(fd);
}

void identity_make(struct identity *id, const struct identity_run *r, const struct recto_input *in)
{
    struct stat st;
    size_t n;

    *id = (struct identity){0};
    look_at_file(id, in->path, &st);
    bool is_named = strcmp(in->name, "-") !=
                    0; /* what came through a pipe has no time of its own */
    FILE *f = json_line_open(&id->line, &n);
    fprintf(f, "{\"recto-work\":1,%s,\"size\":%lld,\"mtime\":\"%lld.%09ld\",\"sha256\":\"%s\",",
            r->text, (long long)st.st_size, is_named ? (long long)st.st_mtim.tv_sec : 0,
            is_named ? st.st_mtim.tv_nsec : 0, id->sha256);
    fputs("\"pages\":", f);
    json_put_string(f, in->pages ? in->pages : "all");
    fprintf(f, ",\"settings\":%s}", r->settings);
    fclose(f);
    SHA256Data((const void *)id->line, n, id->digest);
}

void identity_reset(struct identity *id)
{
    free(id->line);
    *id = (struct identity){0};
}
