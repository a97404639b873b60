/* recto eval: the pages of the set through the engine. Finished pages go into a work file, so that an interrupted run can go
 * on, and all of them are scored as they come back from it: a run that went on scores what one that did not would. */
#include "eval.h"
#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 50 };

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

/* Pages with the engine. */
struct flight {
    uint64_t *request; /* [set.n], of those that were submitted */
    int *page;         /* index in the set */
    int n_sent, n_done, window;
    int n_retried, n_loop, n_failed;
};

static bool is_known(const struct evaluation *e, int page)
{
    enum recto_status status;

    return work_has(&e->work, page, &status);
}

/* 1 sent, 0 the engine is full, or an exit code negated. */
static int send_page(struct evaluation *e, struct flight *f, int page)
{
    const struct eval_case *c = &e->set.at[page];
    struct recto_input in = e->input;
    char number[16];

    in.path = c->file;
    snprintf(number, sizeof number, "%d", c->page);
    in.pages = c->n_page > 1 || e->set.layout == EVAL_OLMOCR ? number : NULL;
    int rc = recto_submit(e->engine, &in, &e->page, &f->request[f->n_sent]);
    if (rc == RECTO_EAGAIN)
        return 0;
    if (rc < 0)
        return -report_failure(rc);
    f->page[f->n_sent++] = page;
    return 1;
}

/* The page of a request; requests end near the order in which they began. */
static int page_of(const struct flight *f, uint64_t request)
{
    int i = f->n_sent - 1;

    while (i > 0 && f->request[i] != request)
        i--;
    return f->page[i];
}

static int keep(struct evaluation *e, struct flight *f, struct recto_page *p, int page)
{
    if (is_known(
            e,
            page)) /* a file with more pages than its truth: only the one that was asked for counts */
        return EXIT_FINE;
    if (p->status == RECTO_PAGE_ERROR)
        say(SAY_ERROR, "%s: %s (%s)", e->set.at[page].file, p->error_text ? p->error_text : "",
            recto_error_name(p->error));
    p->number = e->set.at[page].page;
    p->index = page;
    p->n_index = e->set.n;
    f->n_retried += p->n_attempt > 1;
    f->n_loop += p->status == RECTO_PAGE_LOOP;
    f->n_failed += p->status == RECTO_PAGE_ERROR;
    if (work_put(&e->work, p) == 0)
        return EXIT_FINE;
    say(SAY_ERROR, "cannot write %s: %s (%s)", e->work.path, strerror(errno),
        recto_error_name(RECTO_EOUTPUT));
    return EXIT_OUTPUT;
}

static int take(struct evaluation *e, struct flight *f, struct recto_event *ev)
{
    int page = page_of(f, ev->request), rc = EXIT_FINE;

    f->n_done += ev->kind == RECTO_EVENT_DONE;
    if (ev->kind == RECTO_EVENT_PAGE && ev->page->status != RECTO_PAGE_CANCELLED)
        rc = keep(e, f, ev->page, page);
    progress_show(&(struct progress){.done = e->n_before + f->n_done,
                                     .before = e->n_before,
                                     .total = e->set.n,
                                     .retried = f->n_retried,
                                     .loop = f->n_loop,
                                     .failed = f->n_failed + f->n_loop,
                                     .current = e->set.at[page].name});
    recto_event_reset(ev);
    return rc;
}

static int read_all(struct evaluation *e, struct flight *f)
{
    int next = 0, rc = EXIT_FINE;

    while (rc == EXIT_FINE && !stop_signal && (next < e->set.n || f->n_done < f->n_sent)) {
        struct recto_event ev;
        int sent = 1;

        while (sent > 0 && next < e->set.n && f->n_sent - f->n_done < f->window) {
            if (!is_known(e, next) && e->set.at[next].file)
                sent = send_page(e, f, next);
            next += sent > 0;
        }
        if (sent < 0)
            return -sent;
        int got = recto_poll(e->engine, &ev, POLL_MS);
        if (got == 1)
            rc = take(e, f, &ev);
        else if (got < 0)
            rc = report_failure(got);
        work_sync(&e->work, progress_seconds());
    }
    return rc != EXIT_FINE || !stop_signal ? rc
           : stop_signal == SIGTERM        ? EXIT_TERMINATED
                                           : EXIT_INTERRUPTED;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int open_engine(struct evaluation *e)
{
    int rc;

    settings_from(e->o, &e->settings);
    rc = recto_open(&e->engine, &e->settings);
    if (rc < 0) {
        rc = report_failure(rc);
        return rc == EXIT_INPUT ? EXIT_MODEL : rc;
    }
    rc = identity_run_make(&e->identity, e->engine, e->o);
    if (rc < 0)
        return report_failure(rc) == EXIT_INPUT ? EXIT_MODEL : EXIT_BUG;
    if (e->identity.info.is_default_model)
        announce_default_model();
    return EXIT_FINE;
}

static int open_work(struct evaluation *e)
{
    char *path = eval_string("%s/eval.recto-work", e->out), *line;
    char files[65];

    eval_set_hash_files(&e->set, files);
    line = eval_string(
        "{\"recto-eval\":1,%s,\"truth\":\"%s\",\"files\":\"%s\",\"pages\":%d,\"settings\":%s}",
        e->identity.text, e->set.truth_sha256, files, e->set.n, e->identity.settings);
    int rc = work_open(&e->work, path, line, opt_flag(e->o, OPT_RESUME));
    if (rc < 0)
        say(SAY_ERROR, "cannot write %s: %s (%s)", path,
            errno == EWOULDBLOCK ? "another run is at work on it" : strerror(errno),
            recto_error_name(RECTO_EOUTPUT));
    else if (e->work.was_other && opt_flag(e->o, OPT_RESUME))
        say(SAY_WARN,
            "warning: %s is of other pages, another model or other options: all is read anew",
            path);
    e->n_before = e->work.n_known;
    free(path);
    free(line);
    return rc < 0 ? EXIT_OUTPUT : EXIT_FINE;
}

static int take_back(struct evaluation *e)
{
    for (int i = 0; i < e->set.n; i++) {
        struct recto_page p;

        if (!is_known(e, i))
            continue;
        if (work_get(&e->work, i, &p) < 0) {
            say(SAY_ERROR, "cannot read %s: %s (%s)", e->work.path, strerror(errno),
                recto_error_name(RECTO_EREAD));
            return EXIT_OUTPUT;
        }
        e->n_status[p.status]++;
        e->n_token += p.n_token;
        eval_pred_take(&e->run.pred[i], &e->set, &p);
    }
    return EXIT_FINE;
}

int eval_read(struct evaluation *e)
{
    size_t n = (size_t)e->set.n;
    struct flight f = {.request = calloc(n, sizeof *f.request), .page = calloc(n, sizeof *f.page)};
    struct sigaction action = {.sa_handler = on_signal};
    int rc = f.request && f.page ? open_engine(e) : EXIT_BUG;

    if (rc == EXIT_FINE)
        rc = open_work(e);
    if (rc == EXIT_FINE) {
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        f.window = 2 * e->settings.max_running;
        progress_start(progress_mode_of(opt_text(e->o, OPT_PROGRESS)), e->set.n);
        rc = read_all(e, &f);
        e->seconds = progress_seconds();
        progress_stop();
    }
    if (rc == EXIT_FINE)
        rc = take_back(e);
    if (rc == EXIT_INTERRUPTED || rc == EXIT_TERMINATED)
        say(SAY_INFO, "interrupted: %d of %d pages are read; --resume reads the others",
            e->work.n_known, e->set.n);
    free(f.request);
    free(f.page);
    return rc;
}
