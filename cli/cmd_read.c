/* recto read: submit the inputs a window at a time and poll until every document has ended.
 *
 * The window bounds what is in memory: finished texts wait only for earlier documents inside it. */
#include "json_lines.h"
#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_MS = 50, GRACE_S = 10 };
enum { MAX_STDIN = 1 << 28 };

static volatile sig_atomic_t n_signal, first_signal;

static void on_signal(int number)
{
    if (n_signal++ == 0)
        first_signal = number;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* --- the loop --------------------------------------------------------------------------------- */
struct recto_input read_input(const struct run *r, int doc)
{
    const struct input *from = r->plan.target[doc].in;
    struct recto_input in = r->input;

    in.name = in.path = from->path;
    if (from->pages)
        in.pages = from->pages;
    if (strcmp(from->path, "-") == 0) {
        in.path = NULL;
        in.data = r->stdin_bytes;
        in.len = r->n_stdin;
    }
    return in;
}

static int submit(struct run *r, int doc)
{
    struct recto_input in = read_input(r, doc);

    return recto_submit(r->engine, &in, &r->page, &r->doc[doc].request);
}

static bool has_room(const struct run *r)
{
    return !r->exit && !r->stop_at && r->n_submitted < r->plan.n_doc &&
           r->n_submitted - r->n_ended < r->window &&
           ((!r->plan.to_stdout && !r->json.is_on) || r->n_submitted - r->n_printed < r->window);
}

static void submit_some(struct run *r)
{
    while (has_room(r)) {
        if (r->plan.target[r->n_submitted].in->error) {
            read_fault(r, r->n_submitted++);
            continue;
        }
        int rc = submit(r, r->n_submitted);
        if (rc == RECTO_EAGAIN)
            return;
        if (rc < 0) {
            read_end(r, report_failure(rc));
            return;
        }
        r->doc[r->n_submitted++].state = DOC_ACTIVE;
    }
}

/* First signal: what has begun may finish within ten seconds; second: nothing may. */
static void heed_signals(struct run *r)
{
    double now = progress_seconds();

    if (n_signal == 0)
        return;
    if (r->stop_at == 0) {
        r->stop_at = now + GRACE_S;
        say(SAY_INFO, "stopping: pages already begun may finish (again to stop at once)");
        read_cancel(r, false);
    }
    if (n_signal > 1 || now >= r->stop_at)
        read_end(r, first_signal == SIGTERM ? EXIT_TERMINATED : EXIT_INTERRUPTED);
}

static void read_all(struct run *r)
{
    for (;;) {
        heed_signals(r);
        submit_some(r);
        if (r->n_ended == r->n_submitted &&
            (r->exit || r->stop_at || r->n_submitted == r->plan.n_doc))
            return;
        int last = r->n_submitted > 0 ? r->n_submitted - 1 : 0;
        progress_show(r->n_done_page, r->n_all_page, read_failed(r), r->plan.target[last].name);

        struct recto_event ev;
        int rc = recto_poll(r->engine, &ev, POLL_MS);
        if (rc == 1)
            read_take(r, &ev);
        else if (rc < 0) {
            r->exit = report_failure(rc);
            return;
        }
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */
static void say_summary(const struct run *r, double seconds)
{
    char text[256] = "";
    int n_page = 0, n = 0;

    for (int s = 0; s < N_STATUS; s++) {
        if (r->n_page[s] > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%d %s", n_page ? ", " : "",
                          r->n_page[s], recto_status_name(s));
        n_page += r->n_page[s];
    }
    seconds = seconds > 0.001 ? seconds : 0.001;
    if (n_page > 0)
        say(SAY_INFO, "%d page%s: %s; %.2f s, %.2f pages/s, %.0f tokens/s", n_page,
            n_page > 1 ? "s" : "", text, seconds, n_page / seconds, (double)r->n_token / seconds);
}

static int exit_of_run(const struct run *r)
{
    bool is_whole = r->n_ended == r->plan.n_doc && r->n_page[RECTO_PAGE_CANCELLED] == 0;

    if (n_signal > 0 && !is_whole)
        return first_signal == SIGTERM ? EXIT_TERMINATED : EXIT_INTERRUPTED;
    if (r->exit)
        return r->exit;
    if (r->n_unread == r->plan.n_doc)
        return EXIT_INPUT;
    return read_failed(r) > 0 ? EXIT_PAGES : EXIT_FINE;
}

static int check_stream(const struct run *r)
{
    if (!r->page.stream || (r->plan.n_doc == 1 && r->plan.n_format == 1 && !r->plan.json_lines &&
                            strcmp(r->plan.format[0], "json") != 0))
        return 0;
    say(SAY_ERROR, "--stream prints one input as md, txt or raw; leave it out for more");
    return EXIT_USAGE;
}

/* Read here, before the engine's threads exist, an interrupt ends the program as usual. */
static int read_stdin(struct run *r)
{
    size_t cap = 0;
    ssize_t got = 1;

    for (; got > 0 && r->n_stdin < MAX_STDIN; r->n_stdin += (size_t)got) {
        if (cap - r->n_stdin < 65536) {
            cap = cap * 2 + 65536;
            char *grown = realloc(r->stdin_bytes, cap);
            if (!grown)
                return EXIT_BUG;
            r->stdin_bytes = grown;
        }
        got = read(STDIN_FILENO, r->stdin_bytes + r->n_stdin, cap - r->n_stdin);
        if (got < 0) {
            say(SAY_ERROR, "standard input: %s (%s)", strerror(errno),
                recto_error_name(RECTO_EREAD));
            return EXIT_INPUT;
        }
    }
    if (got == 0)
        return 0;
    say(SAY_ERROR, "standard input: longer than 256 MiB (%s)", recto_error_name(RECTO_ETOOLARGE));
    return EXIT_INPUT;
}

static int open_engine(struct run *r, const struct options *o)
{
    struct recto_settings s;
    struct recto_info info;

    settings_from(o, &s);
    int rc = recto_open(&r->engine, &s);
    if (rc < 0) {
        int exit = report_failure(rc);
        return exit == EXIT_INPUT ? EXIT_MODEL
                                  : exit; /* the only files read so far are the model's */
    }
    recto_get_info(r->engine, &info);
    if (info.is_default_model)
        announce_default_model();
    r->window = 2 * s.max_running;
    return 0;
}

static int prepare(struct run *r, const struct options *o)
{
    int rc = page_options_from(o, &r->page);
    if (rc == 0)
        rc = input_options_from(o, &r->input, &r->password);
    if (rc == 0)
        rc = plan_make(&r->plan, o);
    if (rc == 0)
        rc = check_stream(r);
    if (rc)
        return rc;
    r->is_strict = opt_flag(o, OPT_STRICT);
    r->n_all_page = r->plan.n_doc;
    r->doc = calloc((size_t)r->plan.n_doc, sizeof *r->doc);
    if (!r->doc)
        return EXIT_BUG;
    for (int i = 0; i < r->plan.n_doc && rc == 0 && !r->stdin_bytes; i++)
        if (strcmp(r->plan.target[i].name, "-") == 0)
            rc = read_stdin(r);
    return rc || opt_flag(o, OPT_DRY_RUN) ? rc : open_engine(r, o);
}

static int read_documents(struct run *r, const struct options *o)
{
    const char *order = opt_text(o, OPT_ORDER);

    catch_signals();
    progress_start(progress_mode_of(opt_text(o, OPT_PROGRESS)), r->plan.n_doc);
    if (r->plan.json_lines)
        json_start(r, r->plan.n_doc, order && strcmp(order, "finish") == 0);
    read_all(r);
    double seconds = progress_seconds();
    progress_stop();
    if (r->exit != EXIT_PIPE)
        say_summary(r, seconds);
    int rc = exit_of_run(r);
    if (r->json.is_on)
        json_end(r, rc, seconds);
    return r->exit ? r->exit : rc;
}

int cmd_read(const struct options *o)
{
    struct run r = {0};
    int rc;

    signal(SIGPIPE, SIG_IGN); /* put_text sees EPIPE */
    rc = prepare(&r, o);
    if (rc == 0)
        rc = opt_flag(o, OPT_DRY_RUN) ? dry_run(&r, o) : read_documents(&r, o);
    recto_close(r.engine);
    for (int i = 0; r.doc && i < r.plan.n_doc; i++)
        recto_free(r.doc[i].text);
    free(r.doc);
    free(r.stdin_bytes);
    if (r.password)
        explicit_bzero(r.password, strlen(r.password));
    free(r.password);
    json_reset(&r);
    plan_reset(&r.plan);
    return rc;
}
