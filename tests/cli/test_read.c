/* recto read over a fake engine: what the real one does too rarely to wait for. Pages end out of
 * order, repeat themselves, lose the device; the engine is busy; signals arrive. A name says what
 * its page does: "ok.3" ends at the third poll, "kind", "device", "usage", "render" fail with that
 * error, "loop", "length", "suspect" end so, "never" runs until it is cancelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "progress.h"
#include "read.h"

enum { MAX_ARG = 64, MAX_JOB = 64, FAKE_ROOM = 5 };

/* --- the fake engine -------------------------------------------------------------------------- */
struct job {
    char name[64];
    int polls_left; /* -1: runs until cancelled */
    bool is_cancelled, is_done;
    int stage; /* 0: nothing told yet, 1: started, 2: page told */
};

struct recto {
    struct job job[MAX_JOB];
    int n_job, n_running, most_running;
};

static struct recto fake;
static int signal_at_poll, n_poll; /* raise SIGINT at this poll */

void recto_settings_init(struct recto_settings *s)
{
    *s = (struct recto_settings){.size = sizeof *s, .max_running = 8};
}

void recto_options_imitate(struct recto_options *o)
{
}

void recto_options_init(struct recto_options *o)
{
    *o = (struct recto_options){.size = sizeof *o};
}

int recto_task_parse(const char *name, enum recto_task *task, const char **phrase)
{
    return strcmp(name, "text") == 0 ? 0 : RECTO_EUSAGE;
}

const char *recto_last_error(void)
{
    return "";
}

const char *recto_status_name(enum recto_status s)
{
    static const char *const names[] = {"ok",     "blank",   "suspect", "loop",
                                        "length", "skipped", "error",   "cancelled"};
    return names[s];
}

int recto_open(struct recto **out, const struct recto_settings *s)
{
    *out = &fake;
    return s->model_dir && strcmp(s->model_dir, "bad") == 0 ? RECTO_EMODEL : 0;
}

void recto_close(struct recto *r)
{
}

void recto_get_info(const struct recto *r, struct recto_info *info)
{
    *info = (struct recto_info){.is_default_model = false};
}

int recto_submit(struct recto *r, const struct recto_input *in, const struct recto_options *o,
                 uint64_t *request)
{
    struct job *j = &r->job[r->n_job];
    const char *dot = strrchr(in->name, '.');

    if (r->n_running == FAKE_ROOM)
        return RECTO_EAGAIN;
    snprintf(j->name, sizeof j->name, "%s", in->name);
    j->polls_left = strncmp(in->name, "never", 5) == 0 ? -1 : dot ? atoi(dot + 1) : 1;
    *request = 1000 + (uint64_t)r->n_job++;
    r->n_running++;
    if (r->most_running < r->n_running)
        r->most_running = r->n_running;
    return 0;
}

void recto_cancel(struct recto *r, uint64_t request)
{
    r->job[request - 1000].is_cancelled = true;
}

void recto_stop(struct recto *r, uint64_t request)
{
    if (r->job[request - 1000].stage == 0)
        r->job[request - 1000].is_cancelled = true;
}

static void fill_page(const struct job *j, struct recto_page *p)
{
    static const struct {
        const char *name;
        enum recto_status status;
        int error;
    } as[] = {
        {"kind", RECTO_PAGE_ERROR, RECTO_EKIND},
        {"device", RECTO_PAGE_ERROR, RECTO_EDEVICE},
        {"usage", RECTO_PAGE_ERROR, RECTO_EUSAGE},
        {"bug", RECTO_PAGE_ERROR, RECTO_EINTERNAL},
        {"loop", RECTO_PAGE_LOOP, 0},
        {"length", RECTO_PAGE_LENGTH, 0},
        {"suspect", RECTO_PAGE_SUSPECT, 0},
        {"blank", RECTO_PAGE_BLANK, 0},
    };

    *p = (struct recto_page){.number = 1, .n_token = 10};
    for (size_t i = 0; i < sizeof as / sizeof *as; i++)
        if (strncmp(j->name, as[i].name, strlen(as[i].name)) == 0) {
            p->status = as[i].status;
            p->error = as[i].error;
        }
    if (j->is_cancelled)
        p->status = RECTO_PAGE_CANCELLED;
    p->raw = strdup(j->name);
    p->n_raw = strlen(j->name);
    if (p->error && asprintf(&p->error_text, "%s: it failed", j->name) < 0)
        abort();
}

static int tell(struct recto *r, int i, struct recto_event *ev)
{
    struct job *j = &r->job[i];

    *ev = (struct recto_event){.request = 1000 + (uint64_t)i, .number = 1};
    j->stage++;
    if (j->stage == 1 && !j->is_cancelled) {
        ev->kind = RECTO_EVENT_STARTED;
    } else if (j->stage <= 2) {
        j->stage = 2;
        ev->kind = RECTO_EVENT_PAGE;
        ev->page = malloc(sizeof *ev->page);
        fill_page(j, ev->page);
    } else {
        ev->kind = RECTO_EVENT_DONE;
        j->is_done = true;
        r->n_running--;
    }
    return 1;
}

int recto_poll(struct recto *r, struct recto_event *ev, int wait_ms)
{
    if (++n_poll == signal_at_poll)
        raise(SIGINT);
    for (int i = 0; i < r->n_job; i++) {
        struct job *j = &r->job[i];
        if (!j->is_done &&
            (j->stage == 0 || j->stage == 2 || j->is_cancelled || j->polls_left == 0))
            return tell(r, i, ev);
    }
    for (int i = 0; i < r->n_job; i++)
        r->job[i].polls_left -= r->job[i].polls_left > 0;
    return 0;
}

void recto_event_reset(struct recto_event *ev)
{
    if (ev->page) {
        free(ev->page->raw);
        free(ev->page->error_text);
    }
    free(ev->page);
    *ev = (struct recto_event){0};
}

int recto_write(const char *format, const struct recto_page *const *page, int n_page, char **out,
                size_t *n_out)
{
    int n = asprintf(out, "[%s]", page[0]->raw);
    *n_out = (size_t)n;
    return n < 0 ? RECTO_ENOMEM : 0;
}

static const struct recto_format formats[] = {{"md", ".md", true, false, false},
                                              {"txt", ".txt", true, false, false},
                                              {"json", ".json", true, false, false},
                                              {"raw", ".raw.txt", true, false, false}};

const struct recto_format *recto_format_at(int i)
{
    return i < 4 ? &formats[i] : NULL;
}

const struct recto_format *recto_format_find(const char *name)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

const char *recto_kind(const void *head, size_t n)
{
    return NULL;
}

int recto_range_check(const char *pages)
{
    return 0;
}

int recto_page_to_json(const struct recto_page *page, char **text, size_t *n)
{
    int len = asprintf(text, "{\"page\":%d,\"status\":%d,\"raw\":\"%s\"}", page->number,
                       (int)page->status, page->raw ? page->raw : "");
    *n = (size_t)len;
    return len < 0 ? RECTO_ENOMEM : 0;
}

int recto_page_from_json(const char *json, size_t n, struct recto_page *page)
{
    char raw[64] = "";
    int status;

    *page = (struct recto_page){0};
    if (sscanf(json, "{\"page\":%d,\"status\":%d,\"raw\":\"%63[^\"]", &page->number, &status, raw) <
        2)
        return RECTO_EFORMAT;
    page->status = (enum recto_status)status;
    page->raw = strdup(raw);
    page->n_raw = strlen(raw);
    return 0;
}

void recto_page_reset(struct recto_page *p)
{
    free(p->raw);
    *p = (struct recto_page){0};
}

/* A writer that writes [RAW], at once. */
struct recto_writer {
    recto_sink_fn *sink;
    void *ctx;
};

void recto_write_options_init(struct recto_write_options *o)
{
    *o = (struct recto_write_options){.size = sizeof *o};
}

int recto_writer_open(struct recto_writer **out, const char *format,
                      const struct recto_write_options *o, recto_sink_fn *sink, void *ctx)
{
    *out = malloc(sizeof **out);
    **out = (struct recto_writer){sink, ctx};
    return 0;
}

int recto_writer_page(struct recto_writer *w, const struct recto_page *page)
{
    char text[80];
    int n = snprintf(text, sizeof text, "[%s]", page->raw);

    return w->sink(w->ctx, NULL, text, (size_t)n);
}

int recto_writer_close(struct recto_writer *w)
{
    free(w);
    return 0;
}

void recto_writer_abort(struct recto_writer *w)
{
    free(w);
}

int recto_document_open(struct recto_document **out, const struct recto_input *in,
                        const struct recto_settings *s)
{
    return RECTO_EINTERNAL;
}

void recto_document_close(struct recto_document *d)
{
}

int recto_model_hash(const struct recto *r, char hex[65])
{
    memset(hex, '0', 64);
    hex[64] = 0;
    return 0;
}

const char *recto_features(void)
{
    return "fake";
}

int dry_run(const struct run *r, const struct options *o)
{
    return EXIT_BUG;
}

void recto_free(void *p)
{
    free(p);
}

/* --- running it ------------------------------------------------------------------------------- */
static char out[4096], err[4096];

static void slurp(int fd, char *text)
{
    ssize_t n = pread(fd, text, sizeof out - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(fd);
}

static int temporary(void)
{
    char path[] = "/tmp/recto-test-read-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

static int read_in_child(char *line)
{
    struct options o;
    char *argv[MAX_ARG];
    int argc = 0;

    for (char *w = strtok(line, " "); w && argc < MAX_ARG; w = strtok(NULL, " "))
        argv[argc++] = w;
    if (options_parse(&o, "read", FOR_READ, argc, argv) < 0)
        return -1;
    say_init(opt_flag(&o, OPT_QUIET) ? SAY_ERROR : SAY_INFO); /* main's part */
    int rc = cmd_read(&o);
    options_reset(&o);
    return fake.most_running <= FAKE_ROOM ? rc : -1;
}

/* Run `recto read LINE` in a child; fills out and err. */
static int run(const char *line)
{
    int fd_out = temporary(), fd_err = temporary(), status;
    char words[1024];

    snprintf(words, sizeof words, "%s", line);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(30); /* a loop that never ends is a failure, not a hang */
        dup2(fd_out, STDOUT_FILENO);
        dup2(fd_err, STDERR_FILENO);
        setenv("RECTO_CONFIG", "/dev/null", 1);
        int code = read_in_child(words);
        _exit(code < 0 ? 99 : code);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    slurp(fd_out, out);
    slurp(fd_err, err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void results_in_input_order(void **state)
{
    assert_int_equal(run("-f txt ok.9 ok.1 ok.5 ok.3"), EXIT_FINE);
    assert_string_equal(out, "[ok.9]\n\f[ok.1]\n\f[ok.5]\n\f[ok.3]\n");
    assert_int_equal(run("-f json ok.2 ok.1"), EXIT_FINE);
    assert_string_equal(out, "[ok.2]\n[ok.1]\n");
    assert_int_equal(run("a--b>.2 ok.1"), EXIT_FINE); /* a name cannot close the comment */
    assert_string_equal(out, "<!-- a_-b_.2 -->\n[a--b>.2]\n\n<!-- ok.1 -->\n[ok.1]\n");
}

static void more_inputs_than_room(void **state)
{
    char line[600] = "-q -f json";
    int n = 0;

    for (int i = 0; i < 40; i++) {
        char word[12];
        snprintf(word, sizeof word, " ok.%d", (i * 7) % 13 + 1);
        strcat(line, word);
    }
    assert_int_equal(run(line), EXIT_FINE);
    assert_string_equal(err, "");
    for (const char *p = out; *p; p++)
        n += *p == '\n';
    assert_int_equal(n, 40);
}

static void exit_codes(void **state)
{
    static const struct {
        const char *line;
        int exit;
        const char *said, *printed;
    } cases[] = {
        {"ok blank", EXIT_FINE, "2 pages: 1 ok, 1 blank;", "[blank]"},
        {"kind", EXIT_INPUT, "recto: kind: it failed (E_KIND)", NULL},
        {"kind kind.2", EXIT_INPUT, "2 pages: 2 error;", NULL},
        {"kind ok", EXIT_PAGES, "recto: kind: it failed (E_KIND)", "[ok]"},
        {"bug", EXIT_PAGES, "recto: bug: it failed (E_INTERNAL)", NULL},
        {"loop ok", EXIT_PAGES, "loop: the model repeated itself; the text ends there (loop)",
         "[loop]"},
        {"length", EXIT_PAGES, "length: the limit of tokens was reached", "[length]"},
        {"suspect", EXIT_FINE, "suspect: the text may be wrong", "[suspect]"},
        {"--strict suspect", EXIT_PAGES, "suspect: the text may be wrong", "[suspect]"},
        {"device never never", EXIT_MODEL, "device: it failed (E_DEVICE)", NULL},
        {"usage ok.9", EXIT_USAGE, "usage: it failed (E_USAGE)", NULL},
        {"--model bad ok", EXIT_MODEL, "(E_MODEL)", NULL},
        {"-o /dev/full ok", EXIT_OUTPUT, "cannot write /dev/full: No space left", NULL},
        {"--task x ok", EXIT_USAGE, "is not a task", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int exit = run(cases[i].line);
        if (exit != cases[i].exit || !strstr(err, cases[i].said))
            fail_msg("%s: exit %d, said '%s'", cases[i].line, exit, err);
        if (cases[i].printed ? !strstr(out, cases[i].printed) : *out != 0)
            fail_msg("%s: printed '%s'", cases[i].line, out);
    }
}

static void interrupted(void **state)
{
    /* What has begun may end; what has not is cancelled; nothing new is submitted. */
    signal_at_poll = 2; /* two pages have started */
    assert_int_equal(run("-f txt ok.4 ok.4 never ok.1 ok.1 ok.1 ok.1 ok.1"), EXIT_INTERRUPTED);
    assert_string_equal(out, "[ok.4]\n\f[ok.4]\n");
    assert_non_null(strstr(err, "stopping"));
    /* Everything was delivered all the same: the signal came too late to matter. */
    signal_at_poll = 1; /* the only page has begun, and may end */
    assert_int_equal(run("ok.1"), EXIT_FINE);
    assert_non_null(strstr(out, "[ok.1]"));
    signal_at_poll = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_in_input_order),
        cmocka_unit_test(more_inputs_than_room),
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
