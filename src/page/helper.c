#include "page/helper.h"

#include "base/decode_proto.h"
#include "base/err.h"
#include "page/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 200 /* for a helper that hung up to be seen dead, with the reason */

static int greet(struct helper *h, const char *path, struct patience *w)
{
    unsigned char bytes[DECODE_HELLO_BYTES];
    struct decode_hello hello;

    if (helper_receive(h, bytes, sizeof bytes, w) < 0)
        return err(RECTO_ERENDER,
                   "page could not be drawn: %s does not run as it should; "
                   "install recto and recto-decode together",
                   path);
    if (decode_hello_unpack(&hello, bytes) < 0) {
        helper_stop(h);
        return err_prefix(RECTO_ERENDER, "page could not be drawn: %s", path);
    }
    h->missing = hello.flags;
    if (hello.flags & DECODE_REFUSED) {
        helper_stop(h);
        return err(RECTO_ERENDER,
                   "page could not be drawn: this system lacks %s%s%s, and the strict "
                   "sandbox was asked for",
                   hello.flags & DECODE_NO_LANDLOCK ? "Landlock" : "",
                   (hello.flags & 3) == 3 ? " and " : "",
                   hello.flags & DECODE_NO_SECCOMP ? "seccomp" : "");
    }
    return 0;
}

int helper_start(struct helper *h, const char *path, bool is_strict, int cpu_s, struct patience *w)
{
    char seconds[16];
    const char *argv[] = {path, "--cpu-s", seconds, is_strict ? "--strict" : NULL, NULL};
    int fd[2], e;

    *h = HELPER_NONE;
    snprintf(seconds, sizeof seconds, "%d", cpu_s);
    e = spawn_stream(fd);
    if (e)
        return err(RECTO_ERENDER, "page could not be drawn: no stream to %s: %s", path,
                   strerror(e));
    e = spawn_program(&h->pid, argv, (int[]){fd[1], fd[1], -1}, 3);
    close(fd[1]);
    if (e) {
        h->pid = 0;
        close(fd[0]);
        return err(RECTO_ERENDER,
                   "page could not be drawn: the decoder %s cannot be started: %s; it "
                   "belongs beside recto, or name it with --helper",
                   path, strerror(e));
    }
    h->fd = fd[0];
    return greet(h, path, w);
}

bool helper_is_alive(const struct helper *h)
{
    siginfo_t info = {0};

    return h->pid && waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0;
}

void helper_stop(struct helper *h)
{
    if (h->fd >= 0)
        close(h->fd);
    if (h->pid) {
        kill(h->pid, SIGKILL);
        while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    *h = HELPER_NONE;
}

/* The helper hung up: say how it ended. */
static int hung_up(struct helper *h)
{
    const struct timespec nap = {.tv_nsec = 2000000};
    int status = 0, sig;
    pid_t ended = 0;

    for (int ms = 0; ms < GRACE_MS && (ended = waitpid(h->pid, &status, WNOHANG)) == 0; ms += 2)
        nanosleep(&nap, NULL);
    if (ended != 0)
        h->pid = 0;
    helper_stop(h);
    if (ended <= 0)
        return err(RECTO_ERENDER, "page could not be drawn: the decoder closed its stream");
    if (!WIFSIGNALED(status))
        return err(RECTO_ERENDER, "page could not be drawn: the decoder ended with status %d",
                   WEXITSTATUS(status));
    sig = WTERMSIG(status);
    if (sig == SIGXCPU)
        return err(RECTO_ETOOLARGE, "the page takes more time than the decoder may use");
    if (sig == SIGSYS)
        return err(RECTO_ERENDER,
                   "page could not be drawn: the decoder tried what its sandbox forbids");
    return err(RECTO_ERENDER, "page could not be drawn: the decoder was ended by signal %d (%s)",
               sig, sigdescr_np(sig) ? sigdescr_np(sig) : "unknown");
}

/* Wait until the stream is ready for `events`. */
static int await(struct helper *h, short events, struct patience *w)
{
    struct pollfd p = {.fd = h->fd, .events = events};
    int n, e;

    do {
        n = patience_poll(w, &p, 1);
    } while (n == 0);
    if (n > 0)
        return 0;
    e = errno;
    helper_stop(h);
    return e == ETIMEDOUT
               ? err(RECTO_ERENDER, "page could not be drawn: the decoder took too long")
               : err(RECTO_ERENDER, "page could not be drawn: waiting failed: %s", strerror(e));
}

static bool is_passing(int e)
{
    return e == EINTR || e == EAGAIN || e == EWOULDBLOCK;
}

int helper_send(struct helper *h, const void *p, size_t n, struct patience *w)
{
    const char *at = p;

    while (n) {
        ssize_t done = send(h->fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (done < 0 && is_passing(errno)) {
            TRY(await(h, POLLOUT, w));
            continue;
        }
        if (done < 0)
            return hung_up(h);
        at += done, n -= (size_t)done;
    }
    return 0;
}

int helper_receive(struct helper *h, void *p, size_t n, struct patience *w)
{
    char *at = p;

    while (n) {
        ssize_t done = recv(h->fd, at, n, MSG_DONTWAIT);

        if (done < 0 && is_passing(errno)) {
            TRY(await(h, POLLIN, w));
            continue;
        }
        if (done <= 0)
            return hung_up(h);
        at += done, n -= (size_t)done;
    }
    return 0;
}
