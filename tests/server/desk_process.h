/* A desk in a process of its own, and the client of its events.
 *
 * The process is the test's own program, called with "desk". It prints each event as a line; the test reads the lines as a client of
 * the event stream would, and after a kill goes on where it was. Commands come on its standard input, a line each: "upload". */
#ifndef RECTO_TESTS_DESK_PROCESS_H
#define RECTO_TESTS_DESK_PROCESS_H

#include "desk_room.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { PAGES_MAX = 200 };

static const char *const desk_script =
    "{'pages': [{'text': 'a few words of page {page}', 'token_ms': 4}]}";

/* ---- the process with the desk -------------------------------------------------------------------------------------------------------- */
struct teller {
    pthread_mutex_t lock;
    uint64_t last; /* told */
    bool is_live;  /* events that come are told; before, only those of the log */
    int poison;    /* page whose beginning kills this process; 0: none */
};

static inline void tell(struct teller *t, const struct jobs_event *ev)
{
    json_t *body = json_loads(ev->body, 0, NULL);
    const char *state = text_of(body, "state"), *status = text_of(body, "status");
    int page = (int)int_of(body, "page");

    t->last = ev->seq;
    printf("%llu %s %d %s %s %d\n", (unsigned long long)ev->seq, ev->type, page,
           state ? state : "-", status ? status : "-", (int)int_of(body, "attempt"));
    fflush(stdout);
    if (t->poison && page == t->poison && strcmp(state, "rendering") == 0)
        raise(SIGKILL);
    json_decref(body);
}

/* What comes before the log was read to its end is found there. */
static inline void hear_live(void *ctx, const struct jobs_event *ev)
{
    struct teller *t = ctx;

    pthread_mutex_lock(&t->lock);
    if (t->is_live && ev->seq > t->last)
        tell(t, ev);
    pthread_mutex_unlock(&t->lock);
}

static inline void hear_log(void *ctx, const struct jobs_event *ev)
{
    tell(ctx, ev);
}

static inline int read_log(struct room *m, struct teller *t)
{
    uint64_t last, was;
    bool is_gone;

    do {
        was = t->last;
        if (jobs_events(m->jobs, NULL, NULL, t->last, 100, hear_log, t, &is_gone, &last) < 0 ||
            is_gone)
            return 1;
    } while (t->last != was);
    return 0;
}

static inline bool has_job(struct room *m)
{
    struct jobs_query q = {0};
    json_t *list;

    assert_int_equal(jobs_list(m->jobs, NULL, &q, &list), 0);
    bool is_there = json_array_size(json_object_get(list, "data")) > 0;
    json_decref(list);
    return is_there;
}

/* Says with which code an upload ended: "upload storage_full". */
static inline void try_upload(struct room *m, struct teller *t)
{
    struct buf tiff = tiff_of_pages(1);
    json_t *job;
    int rc = room_try(m, "", "one.tif", buf_view(&tiff), "{'rotate':0}", &job);

    pthread_mutex_lock(&t->lock);
    printf("upload %s\n", jobs_error_code(rc));
    fflush(stdout);
    pthread_mutex_unlock(&t->lock);
    json_decref(job);
    buf_reset(&tiff);
}

static inline int run_desk(const char *data, uint64_t after, int poison, int n_page)
{
    struct teller t = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = after, .poison = poison};
    struct jobs_watch *w;
    struct room m = {0};
    char id[40], line[8];

    snprintf(m.data, sizeof m.data, "%s", data);
    room_open_engine(&m, desk_script);
    room_open_jobs(&m);
    jobs_watch(m.jobs, hear_live, &t, &w);
    if (!has_job(&m))
        room_add(&m, "", n_page, "{'rotate':0}", id);
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++) { /* the rest while nothing new is told */
        if (i == 1)
            pthread_mutex_lock(&t.lock);
        rc = read_log(&m, &t);
        t.is_live = i == 1;
        if (i == 1)
            pthread_mutex_unlock(&t.lock);
    }
    while (rc == 0 && fgets(line, sizeof line, stdin)) /* until the test lets go */
        if (strcmp(line, "upload\n") == 0)
            try_upload(&m, &t);
    jobs_unwatch(w);
    room_close_jobs(&m);
    room_close_engine(&m);
    return rc;
}

static inline bool desk_is_asked(int argc, char **argv)
{
    return argc == 6 && strcmp(argv[1], "desk") == 0;
}

static inline int desk_process(char **argv)
{
    return run_desk(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]), atoi(argv[5]));
}

/* ---- the client -------------------------------------------------------------------------------------------------------------------------- */
struct client {
    char data[64];
    uint64_t last;
    int n_page, poison;
    int n_ended[PAGES_MAX + 1], n_lost[PAGES_MAX + 1], attempt[PAGES_MAX + 1];
    char job_state[16];
    pid_t pid;
    FILE *events;
    int hold;            /* the desk's standard input: it ends when that is closed */
    char uploaded[40];   /* how the last upload ended */
    const char *preload; /* a library for the desk, or NULL */
};

static inline void start(struct client *c)
{
    char after[24], poison[12], n_page[12];
    int out[2], in[2];

    snprintf(after, sizeof after, "%llu", (unsigned long long)c->last);
    snprintf(poison, sizeof poison, "%d", c->poison);
    snprintf(n_page, sizeof n_page, "%d", c->n_page);
    assert_int_equal(pipe(out) + pipe(in), 0);
    c->pid = fork();
    assert_true(c->pid >= 0); /* stop() kills it: -1 would be everybody */
    if (c->pid == 0) {
        dup2(out[1], 1);
        dup2(in[0], 0);
        close(out[0]);
        close(in[1]);
        if (c->preload)
            setenv("LD_PRELOAD", c->preload, 1);
        execl("/proc/self/exe", "desk-process", "desk", c->data, after, poison, n_page,
              (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    close(in[0]);
    c->hold = in[1];
    c->events = fdopen(out[0], "r");
}

static inline void stop(struct client *c, bool by_force)
{
    int status;

    if (by_force)
        kill(c->pid, SIGKILL);
    close(c->hold);
    fclose(c->events);
    waitpid(c->pid, &status, 0);
    if (!by_force)
        assert_int_equal(status, 0);
}

/* One more event; false: the desk has died. Every event has the number behind the last one's. A line that the kill has cut
 * was not received. */
static inline bool next_event(struct client *c)
{
    char line[200], type[16], state[16], status[16];
    unsigned long long seq;
    int page, attempt;

    if (!fgets(line, sizeof line, c->events) || line[strlen(line) - 1] != '\n')
        return false;
    if (sscanf(line, "upload %39s", c->uploaded) == 1)
        return true;
    assert_int_equal(
        sscanf(line, "%llu %15s %d %15s %15s %d", &seq, type, &page, state, status, &attempt), 6);
    assert_int_equal(seq, c->last + 1);
    c->last = seq;
    if (strcmp(type, "job") == 0)
        snprintf(c->job_state, sizeof c->job_state, "%s", state);
    if (strcmp(type, "page") == 0 && strcmp(state, "ended") == 0) {
        c->n_ended[page]++;
        c->n_lost[page] += strcmp(status, "error") == 0;
        c->attempt[page] = attempt;
    }
    return true;
}

static inline void print_line(void *ctx, const char *line)
{
    (void)ctx;
    print_error("%s\n", line);
}

static inline void new_data(struct client *c)
{
    strcpy(c->data, "/tmp/recto-room-XXXXXX");
    assert_non_null(mkdtemp(c->data));
}

static inline void end_data(struct client *c)
{
    assert_int_equal(jobs_store_check(c->data, print_line, NULL), 0);
    nftw(c->data, room_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
