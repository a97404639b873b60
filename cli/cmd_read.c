/* recto read: submit the inputs a window at a time and poll until every document has ended. The window bounds how many
 * documents are open. */
#include "json_lines.h"
#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { POLL_MS = 50, GRACE_S = 10 };

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
    if (strcmp(from->path, "-") == 0)
        in.path = r->stdin_path;
    return in;
}

static bool has_room(const struct run *r)
{
    return !r->exit && !r->stop_at && r->n_submitted < r->plan.n_doc &&
           r->n_submitted - r->n_ended < r->window &&
           (!out_is_in_order(r) || r->n_submitted - r->n_printed < r->window);
}

static void submit_some(struct run *r)
{
    while (has_room(r)) {
        if (r->plan.target[r->n_submitted].in->error)
            read_fault(r, r->n_submitted);
        else if (read_begin(r, r->n_submitted) < 0)
            return;
    }
}

/* First signal: pages that have begun may finish within ten seconds; second: nothing may. */
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

static void show_progress(const struct run *r)
{
    progress_show(&(struct progress){.done = r->n_done_page,
                                     .before = r->n_before,
                                     .total = r->n_all_page,
                                     .retried = r->n_retried,
                                     .loop = r->n_page[RECTO_PAGE_LOOP],
                                     .failed = read_failed(r),
                                     .current = r->current});
}

/* What lies in the work files goes to the disk, also while no page ends. */
static void sync_work(struct run *r)
{
    for (int i = r->n_printed; i < r->n_submitted && !r->exit; i++)
        if (r->doc[i].state == DOC_ACTIVE && work_sync(&r->doc[i].work, progress_seconds()) < 0)
            read_cannot_write(r, r->doc[i].work.path);
}

static void read_all(struct run *r)
{
    for (;;) {
        heed_signals(r);
        submit_some(r);
        if (r->n_ended == r->n_submitted &&
            (r->exit || r->stop_at || r->n_submitted == r->plan.n_doc))
            return;
        show_progress(r);

        struct recto_event ev;
        int rc = recto_poll(r->engine, &ev, POLL_MS);
        if (rc == 1)
            read_take(r, &ev);
        else if (rc < 0) {
            r->exit = report_failure(rc);
            return;
        } else
            sync_work(r);
    }
}

/* --- beginning and end ------------------------------------------------------------------------ */
static const char *reason_of(int exit)
{
    switch (exit) {
    case EXIT_FINE:
        return "all read";
    case EXIT_PAGES:
        return "pages failed";
    case EXIT_INPUT:
        return "no input could be read";
    case EXIT_MODEL:
        return "the model or the device failed";
    case EXIT_OUTPUT:
        return "the output failed";
    case EXIT_INTERRUPTED:
    case EXIT_TERMINATED:
        return "interrupted";
    default:
        return "ended early";
    }
}

static void say_summary(const struct run *r, double seconds, int exit)
{
    char text[256] = "", before[48] = "";
    int n_page = 0, n = 0;

    for (int s = 0; s < N_STATUS; s++) {
        if (r->n_page[s] > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%d %s", n_page ? ", " : "",
                          r->n_page[s], recto_status_name((enum recto_status)s));
        n_page += r->n_page[s];
    }
    if (r->n_before > 0)
        snprintf(before, sizeof before, " (%d from before)", r->n_before);
    seconds = seconds > 0.001 ? seconds : 0.001;
    if (n_page > 0)
        say(SAY_INFO, "%d page%s: %s%s; %.2f s, %.2f pages/s, %.0f tokens/s; %s", n_page,
            n_page > 1 ? "s" : "", text, before, seconds, (n_page - r->n_before) / seconds,
            (double)r->n_token / seconds, reason_of(exit));
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
    return read_failed(r) > 0 || r->n_refused > 0 ? EXIT_PAGES : EXIT_FINE;
}

static int check_stream(const struct run *r)
{
    if (!r->page.stream || (r->plan.n_doc == 1 && r->plan.n_format == 1 && !r->plan.json_lines &&
                            strcmp(r->plan.format[0], "json") != 0))
        return 0;
    say(SAY_ERROR, "--stream prints one input as md, txt or raw; leave it out for more");
    return EXIT_USAGE;
}

static int stdin_failed(int code, const char *why)
{
    say(SAY_ERROR, "standard input: %s (%s)", why, recto_error_name(code));
    return code == RECTO_EOUTPUT ? EXIT_OUTPUT : EXIT_INPUT;
}

static int copy_stdin(int fd, long long most)
{
    static char chunk[1 << 16];
    long long n = 0;
    ssize_t got;

    while ((got = read(STDIN_FILENO, chunk, sizeof chunk)) > 0) {
        n += got;
        if (n > most)
            return stdin_failed(RECTO_ETOOLARGE, "longer than --max-bytes");
        for (ssize_t done = 0, put; done < got; done += put)
            if ((put = write(fd, chunk + done, (size_t)(got - done))) < 0)
                return stdin_failed(RECTO_EOUTPUT, strerror(errno));
    }
    return got == 0 ? 0 : stdin_failed(RECTO_EREAD, strerror(errno));
}

/* Into an unlinked file, so that a document of any size can be read. Done before the engine's threads exist, an interrupt
 * ends the program as usual. */
static int read_stdin(struct run *r, const struct options *o)
{
    struct work spool;

    if (work_open(&spool, NULL, NULL, false) < 0)
        return stdin_failed(RECTO_EOUTPUT, strerror(errno));
    r->stdin_fd = spool.fd;
    if (asprintf(&r->stdin_path, "/proc/self/fd/%d", r->stdin_fd) < 0)
        return EXIT_BUG;
    return copy_stdin(r->stdin_fd, opt_int(o, OPT_MAX_BYTES, 1LL << 32));
}

static int open_engine(struct run *r, const struct options *o)
{
    int rc = recto_open(&r->engine, &r->settings);
    if (rc < 0) {
        int exit = report_failure(rc);
        return exit == EXIT_INPUT ? EXIT_MODEL
                                  : exit; /* the only files read so far are the model's */
    }
    rc = identity_run_make(&r->identity, r->engine, o);
    if (rc < 0)
        return report_failure(rc) == EXIT_INPUT ? EXIT_MODEL : EXIT_BUG;
    if (r->identity.info.is_default_model)
        announce_default_model();
    r->window = 2 * r->settings.max_running;
    return 0;
}

/* Every document of the window has files open. */
static void raise_file_limit(void)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        setrlimit(RLIMIT_NOFILE, &l);
    }
}

static int open_manifest(struct run *r)
{
    if (!r->plan.dir)
        return 0;
    if (manifest_open(&r->manifest, r->plan.dir, r->resumes) == 0 &&
        manifest_run(&r->manifest, &r->identity, r->plan.n_doc) == 0)
        return 0;
    say(SAY_ERROR, "cannot write %s: %s (%s)", r->manifest.path, strerror(errno),
        recto_error_name(RECTO_EOUTPUT));
    return EXIT_OUTPUT;
}

/* What the JSON says of the run. */
static void fill_facts(struct run *r, const struct options *o)
{
    const time_t now = time(NULL);
    struct recto_write_options *w = &r->write;
    struct tm tm;

    strftime(r->created, sizeof r->created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    w->created = r->created;
    w->model_sha256 = r->identity.model;
    w->backend = r->identity.info.backend;
    w->precision = r->identity.info.precision;
    w->task = opt_text(o, OPT_TASK) ? opt_text(o, OPT_TASK) : "markdown";
    w->prompt = opt_text(o, OPT_PROMPT);
    snprintf(r->dpi, sizeof r->dpi, "%d", r->input.dpi);
    w->dpi = r->input.dpi ? r->dpi : "auto";
    w->guard = r->guard;
    w->rotate = r->page.rotate == RECTO_ROTATE_AUTO ? "auto"
                : r->page.rotate == 0               ? "off"
                                                    : opt_text(o, OPT_ROTATE);
    w->max_tokens = r->page.max_tokens > 0 ? r->page.max_tokens : -1;
    w->retries = r->page.retries;
    if (opt_text(o, OPT_GUARD) && !r->page.official)
        snprintf(r->guard, sizeof r->guard, "%s", opt_text(o, OPT_GUARD));
    else
        snprintf(r->guard, sizeof r->guard, "%d/%d",
                 r->page.guard_n ? r->page.guard_n : r->identity.info.guard_n,
                 r->page.guard_n ? r->page.guard_w : r->identity.info.guard_w);
}

static int prepare(struct run *r, const struct options *o)
{
    settings_from(o, &r->settings);
    write_options_from(o, &r->write);
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
    r->fails_fast = opt_flag(o, OPT_FAIL_FAST);
    r->resumes = opt_flag(o, OPT_RESUME);
    r->n_all_page = r->plan.n_doc;
    r->doc = calloc((size_t)r->plan.n_doc, sizeof *r->doc);
    if (!r->doc)
        return EXIT_BUG;
    for (int i = 0; i < r->plan.n_doc && rc == 0 && !r->stdin_path; i++)
        if (strcmp(r->plan.target[i].name, "-") == 0)
            rc = read_stdin(r, o);
    if (rc || opt_flag(o, OPT_DRY_RUN))
        return rc;
    raise_file_limit();
    rc = open_engine(r, o);
    if (rc == 0)
        fill_facts(r, o);
    return rc ? rc : open_manifest(r);
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
    int rc = r->exit == EXIT_PIPE ? EXIT_PIPE : exit_of_run(r);
    if (rc != EXIT_PIPE)
        say_summary(r, seconds, rc);
    if (r->json.is_on)
        json_end(r, rc, seconds);
    if (manifest_end(&r->manifest, rc, r->n_page, r->n_token, seconds) < 0 && !rc) {
        read_cannot_write(r, r->manifest.path);
        rc = r->exit;
    }
    return rc;
}

static void reset(struct run *r)
{
    for (int i = 0; r->doc && i < r->plan.n_doc; i++)
        out_release(r, i);
    free(r->doc);
    recto_close(r->engine);
    if (r->stdin_path)
        close(r->stdin_fd);
    free(r->stdin_path);
    if (r->password)
        explicit_bzero(r->password, strlen(r->password));
    free(r->password);
    manifest_close(&r->manifest);
    identity_run_reset(&r->identity);
    plan_reset(&r->plan);
}

int cmd_read(const struct options *o)
{
    struct run r = {.manifest.fd = -1};
    int rc;

    signal(SIGPIPE, SIG_IGN); /* put_text sees EPIPE, */
    signal(SIGXFSZ, SIG_IGN); /* and whoever writes a file EFBIG */
    rc = prepare(&r, o);
    if (rc == 0)
        rc = opt_flag(o, OPT_DRY_RUN) ? dry_run(&r, o) : read_documents(&r, o);
    reset(&r);
    return rc;
}
