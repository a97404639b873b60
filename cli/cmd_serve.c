/* recto serve: options into settings; the server does the rest. */
#include "cli.h"
#include "progress.h"
#include "server.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the server says is for whoever runs it: INFO is printed. */
static void say_serve(void *ctx, enum recto_log_level level, const char *line)
{
    static const enum say_level as[] = {SAY_DEBUG, SAY_INFO, SAY_WARN, SAY_ERROR};

    say(as[level], "%s", line);
}

/* --log-level: what say prints. */
static void set_log_level(const struct options *o)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    const char *level = opt_text(o, OPT_LOG_LEVEL);

    for (int i = 0; level && i < 4; i++)
        if (strcmp(level, names[i]) == 0)
            say_init((enum say_level)i);
    say_as_json(opt_text(o, OPT_LOG_FORMAT) && strcmp(opt_text(o, OPT_LOG_FORMAT), "json") == 0);
}

/* Storage of list items and of what is worked out here. */
struct serve {
    struct server_settings set;
    char item[4][SERVER_LIST_MAX][256];
    char data[1024];
};

static int list_from(const struct options *o, enum option k, struct server_list *list,
                     char item[SERVER_LIST_MAX][256])
{
    if (!opt_given(o, k))
        return 0;
    list->n = 0;
    for (int i = 0; opt_item(o, k, i, item[i], 256); i++) {
        if (i == SERVER_LIST_MAX - 1) {
            say(SAY_ERROR, "%s: given more than %d times", opt_origin(o, k), i);
            return EXIT_USAGE;
        }
        list->item[list->n++] = item[i];
    }
    return 0;
}

static int lists_from(const struct options *o, struct serve *v)
{
    const struct {
        enum option k;
        struct server_list *list;
    } lists[] = {{OPT_LISTEN, &v->set.listen},
                 {OPT_HOST_NAME, &v->set.host_name},
                 {OPT_TRUSTED_PROXY, &v->set.trusted_proxy},
                 {OPT_CORS_ORIGIN, &v->set.cors_origin}};
    int rc = 0;

    for (size_t i = 0; i < sizeof lists / sizeof *lists && rc == 0; i++)
        rc = list_from(o, lists[i].k, lists[i].list, v->item[i]);
    return rc;
}

static void numbers_from(const struct options *o, struct server_settings *s)
{
    s->max_conns = (int)opt_int(o, OPT_MAX_CONNS, s->max_conns);
    s->max_conns_ip = (int)opt_int(o, OPT_MAX_CONNS_IP, s->max_conns_ip);
    s->max_json = opt_size(o, OPT_MAX_JSON, s->max_json);
    s->max_upload = opt_size(o, OPT_MAX_UPLOAD, s->max_upload);
    s->max_pages = (int)opt_int(o, OPT_MAX_PAGES, s->max_pages);
    s->max_queued_pages = opt_int(o, OPT_MAX_QUEUED_PAGES, s->max_queued_pages);
    s->rate = opt_real(o, OPT_SERVE_RATE, s->rate);
    s->burst = (int)opt_int(o, OPT_BURST, s->burst);
    s->request_timeout_s = (int)opt_size(o, OPT_REQUEST_TIMEOUT, s->request_timeout_s);
    s->retain_s = opt_size(o, OPT_RETAIN, s->retain_s);
    s->disk_min = opt_size(o, OPT_DISK_MIN, s->disk_min);
    s->image_cache = opt_size(o, OPT_IMAGE_CACHE, s->image_cache);
    s->ahead_pages = (int)opt_int(o, OPT_AHEAD_PAGES, s->ahead_pages);
    s->drain_grace_s = (int)opt_size(o, OPT_DRAIN_GRACE, s->drain_grace_s);
    s->drain_timeout_s = (int)opt_size(o, OPT_DRAIN_TIMEOUT, s->drain_timeout_s);
}

static void engine_from(const struct options *o, struct recto_settings *e)
{
    settings_from(o, e);
    e->max_running = (int)opt_int(o, OPT_MAX_SEQS, e->max_running);
    e->page_workers = (int)opt_int(o, OPT_PAGE_WORKERS, e->page_workers);
    e->interactive_reserve = (int)opt_int(o, OPT_INTERACTIVE_RESERVE,
                                          e->max_running >= 20 ? e->max_running / 10 : 1);
    if (e->interactive_reserve >= e->max_running)
        e->interactive_reserve = e->max_running - 1;
    if (!opt_given(o, OPT_MAX_PIXELS))
        e->max_pixels = 400000000;
}

static int serve_from(const struct options *o, struct serve *v)
{
    struct server_settings *s = &v->set;
    const char *web = opt_text(o, OPT_WEB);

    set_log_level(o);
    server_settings_init(s);
    engine_from(o, &s->engine);
    numbers_from(o, s);
    s->admin = opt_text(o, OPT_ADMIN);
    s->keys = opt_text(o, OPT_KEYS);
    s->no_auth = opt_flag(o, OPT_NO_AUTH);
    s->base_path = opt_text(o, OPT_BASE_PATH) ? opt_text(o, OPT_BASE_PATH) : s->base_path;
    s->web = !web || strcmp(web, "on") == 0;
    s->data = data_dir_from(o, v->data);
    s->log = say_serve;
    return lists_from(o, v);
}

/* Every option with its value and where that came from. */
static void print_config(const struct options *o)
{
    char item[256];

    for (int k = 0; k < N_OPT; k++) {
        const struct option_def *d = &option_table[k];
        if (!(d->mask & FOR_SERVE))
            continue;
        if (!opt_given(o, k)) {
            const char *from = strrchr(d->help, '(');
            printf("# %s: default %s\n", d->name, from ? from : "(no)");
            continue;
        }
        for (int i = 0; opt_item(o, k, i, item, sizeof item); i++)
            printf("%s = %s    # %s\n", d->name, item, opt_origin(o, k));
    }
}

/* --check: as serving begins, without serving. */
static int check(const struct serve *v)
{
    char error[1024] = "";
    int rc = server_check(&v->set, error, sizeof error);

    if (rc < 0)
        say(SAY_ERROR, "%s (%s)", error, recto_error_name(rc));
    else
        say(SAY_INFO, "model, keys, store and sandbox are fine");
    return rc < 0 ? EXIT_BUG : EXIT_FINE;
}

static int run(const struct serve *v)
{
    char error[1024] = "";
    int rc = server_run(&v->set, error, sizeof error);

    if (rc >= 0)
        return rc;
    say(SAY_ERROR, "%s (%s)", error, recto_error_name(rc));
    return exit_of_error(rc);
}

int cmd_serve(const struct options *o)
{
    struct serve *v = calloc(1, sizeof *v);
    int rc = v ? serve_from(o, v) : EXIT_BUG;

    if (rc == 0 && o->n_input > 0) {
        say(SAY_ERROR, "recto serve takes no operands, and '%.60s' is one", o->input[0]);
        rc = EXIT_USAGE;
    }
    if (rc == 0 && opt_flag(o, OPT_PRINT_CONFIG)) {
        print_config(o);
        rc = fflush(stdout) == 0 ? EXIT_FINE : EXIT_OUTPUT;
    } else if (rc == 0) {
        if (!v->set.engine.model_dir)
            announce_default_model();
        rc = opt_flag(o, OPT_CHECK) ? check(v) : run(v);
    }
    free(v);
    return rc;
}
