#include "page/tool.h"

#include "base/err.h"
#include "base/mem.h"
#include "page/patience.h"
#include "page/spawn.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHUNK  65536
#define NAP_NS 1000000

/* Take what is there; false at the end of the stream. */
static bool take(int fd, struct buf *b, size_t most)
{
    static _Thread_local char chunk[CHUNK];
    ssize_t n = read(fd, chunk, sizeof chunk);

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (b->n < most)
        buf_add(b, chunk, MIN((size_t)n, most - b->n));
    return n > 0;
}

/* Until both streams end (true), or a limit is hit (false, and r->end says which). */
static bool listen_to(struct tool_result *r, const struct tool_ask *a, int fd[2],
                      struct patience *w)
{
    struct pollfd p[2] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLIN}};

    while (p[0].fd >= 0 || p[1].fd >= 0) {
        int n = patience_poll(w, p, 2);

        if (n < 0) {
            r->end = TOOL_LATE;
            return false;
        }
        if (n == 0)
            continue;
        if (p[0].revents && !take(p[0].fd, &r->out, a->max_out + 1))
            p[0].fd = -1;
        if (p[1].revents && !take(p[1].fd, &r->complaint, TOOL_COMPLAINT_MAX))
            p[1].fd = -1;
        if (r->out.n > a->max_out) {
            r->end = TOOL_TOO_MUCH;
            return false;
        }
    }
    return true;
}

/* It has closed its streams, so it is about to end; if not, it is made to. */
static void await_end(struct tool_result *r, pid_t pid, bool was_quiet, struct patience *w)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    pid_t ended = 0;
    int status = 0;

    for (; was_quiet && (ended = waitpid(pid, &status, WNOHANG)) == 0 && w->left_ns > 0;
         w->left_ns -= NAP_NS)
        nanosleep(&nap, NULL);
    if (ended == 0) {
        r->end = was_quiet ? TOOL_LATE : r->end;
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        return;
    }
    r->end = WIFSIGNALED(status) ? TOOL_KILLED : TOOL_EXITED;
    r->status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static int cannot_start(const char *path, int e)
{
    return err(RECTO_ERENDER,
               "page could not be drawn: the decoder %s cannot be started: %s; it belongs beside "
               "recto, or name it with --helper",
               path, strerror(e));
}

int tool_run(struct tool_result *r, const struct tool_ask *a)
{
    struct patience w = patience_of(a->timeout_ms);
    int out[2], complaint[2], e, both[2];
    pid_t pid;

    *r = (struct tool_result){0};
    if ((e = spawn_pipe(out)))
        return cannot_start(a->argv[0], e);
    if ((e = spawn_pipe(complaint))) {
        close(out[0]);
        close(out[1]);
        return cannot_start(a->argv[0], e);
    }
    e = spawn_program(&pid, a->argv, (int[]){a->input, out[1], complaint[1]}, 3);
    close(out[1]);
    close(complaint[1]);
    if (e == 0) {
        both[0] = out[0], both[1] = complaint[0];
        if (a->expect) {
            r->out.p = mem_big(a->expect + 1);
            r->out.cap = r->out.p ? a->expect + 1 : 0;
        }
        await_end(r, pid, listen_to(r, a, both, &w), &w);
    }
    close(out[0]);
    close(complaint[0]);
    return e ? cannot_start(a->argv[0], e) : 0;
}

void tool_reset(struct tool_result *r)
{
    buf_reset(&r->out);
    buf_reset(&r->complaint);
}
