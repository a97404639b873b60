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

/* Storage of list items and of what is worked out here. */
struct serve {
    struct server_settings set;
    char item[5][SERVER_LIST_MAX][256];
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
                 {OPT_CORS_ORIGIN, &v->set.cors_origin},
                 {OPT_FETCH_ALLOW, &v->set.fetch_allow}};
    int rc = 0;

    for (size_t i = 0; i < sizeof lists / sizeof *lists && rc == 0; i++)
        rc = list_from(o, lists[i].k, lists[i].list, v->item[i]);
    return rc;
}

/* $XDG_STATE_HOME/recto, ~/.local/state/recto; a service says it by STATE_DIRECTORY (systemd). */
static const char *data_from(const struct options *o, char out[1024])
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

    server_settings_init(s);
    engine_from(o, &s->engine);
    numbers_from(o, s);
    s->admin = opt_text(o, OPT_ADMIN);
    s->keys = opt_text(o, OPT_KEYS);
    s->no_auth = opt_flag(o, OPT_NO_AUTH);
    s->base_path = opt_text(o, OPT_BASE_PATH) ? opt_text(o, OPT_BASE_PATH) : s->base_path;
    s->web = !web || strcmp(web, "on") == 0;
    s->data = data_from(o, v->data);
    s->log = say_serve;
    return lists_from(o, v);
}

int cmd_serve(const struct options *o)
{
    struct serve *v = calloc(1, sizeof *v);
    char error[1024] = "";
    int rc = v ? serve_from(o, v) : EXIT_BUG;

    if (rc == 0 && !v->set.engine.model_dir)
        announce_default_model();
    if (rc == 0) {
        rc = server_run(&v->set, error, sizeof error);
        if (rc < 0) {
            say(SAY_ERROR, "%s (%s)", error, recto_error_name(rc));
            rc = exit_of_error(rc);
        }
    }
    free(v);
    return rc;
}
