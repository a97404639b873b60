#include "progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { REDRAW_MS = 100, PLAIN_MS = 10000 };

/* stderr is one per process, and so is this. */
static struct {
    pthread_mutex_t lock;
    enum say_level most;
    enum progress_mode mode;
    bool is_drawn; /* a progress line stands on the terminal */
    int total_docs;
    int64_t start_ms, drawn_ms;
    FILE *log; /* NULL: none */
    bool as_json;
} term = {.lock = PTHREAD_MUTEX_INITIALIZER, .most = SAY_INFO};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Replace what a terminal would obey: C0, DEL and, in UTF-8, C1. */
static void defuse(char *s)
{
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
        if (p[0] == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0)
            p[0] = p[1] = '?';
    }
}

static void erase_line(void)
{
    if (term.is_drawn)
        fputs("\r\033[K", stderr);
    term.is_drawn = false;
}

void say_init(enum say_level most)
{
    term.most = most;
}

bool say_hears(enum say_level level)
{
    return say_prints(level) || term.log;
}

bool say_prints(enum say_level level)
{
    return level <= term.most;
}

int say_log_open(const char *path)
{
    term.log = fopen(path, "ae");
    return term.log ? 0 : -1;
}

static const char *const level_name[] = {"error", "warn", "info", "debug"};

/* 2025-01-31T12:00:00.123Z */
static void time_text(char out[64])
{
    struct timespec now;
    struct tm tm;
    char when[40];

    clock_gettime(CLOCK_REALTIME, &now);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
    snprintf(out, 64, "%s.%03ldZ", when, now.tv_nsec / 1000000);
}

/* time=2025-01-31T12:00:00.123Z level=warn TEXT; the lock is held. */
static void log_line(enum say_level level, const char *line)
{
    char when[64];

    if (!term.log)
        return;
    time_text(when);
    fprintf(term.log, "time=%s level=%s %s\n", when, level_name[level], line);
    fflush(term.log);
}

void say_as_json(bool is_so)
{
    term.as_json = is_so;
}

/* Control characters are gone already (defuse); the lock is held. */
static void print_json(enum say_level level, const char *line)
{
    char when[64];

    time_text(when);
    fprintf(stderr, "{\"time\":\"%s\",\"level\":\"%s\",\"message\":\"", when, level_name[level]);
    for (const char *p = line; *p; p++) {
        if (*p == '"' || *p == '\\')
            fputc('\\', stderr);
        fputc(*p, stderr);
    }
    fputs("\"}\n", stderr);
}

void say(enum say_level level, const char *fmt, ...)
{
    char line[2048];
    va_list args;

    if (!say_prints(level) && !term.log)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    defuse(line);
    pthread_mutex_lock(&term.lock);
    if (say_prints(level)) {
        erase_line();
        if (term.as_json)
            print_json(level, line);
        else
            fprintf(stderr, "recto: %s\n", line);
        fflush(stderr);
    }
    log_line(level, line);
    pthread_mutex_unlock(&term.lock);
}

void say_log(void *ctx, enum recto_log_level level, const char *line)
{
    static const enum say_level as[] = {[RECTO_LOG_DEBUG] = SAY_DEBUG,
                                        [RECTO_LOG_INFO] = SAY_DEBUG,
                                        [RECTO_LOG_WARN] = SAY_WARN,
                                        [RECTO_LOG_ERROR] = SAY_ERROR};
    say(as[level], "%s", line);
}

enum progress_mode progress_mode_of(const char *name)
{
    if (!say_prints(SAY_INFO) || (name && strcmp(name, "none") == 0))
        return PROGRESS_NONE;
    if (name && strcmp(name, "plain") == 0)
        return PROGRESS_PLAIN;
    return isatty(STDERR_FILENO) ? PROGRESS_LINE : PROGRESS_PLAIN;
}

void progress_start(enum progress_mode mode, int total_docs)
{
    term.mode = mode;
    term.total_docs = total_docs;
    term.start_ms = now_ms();
    term.drawn_ms = mode == PROGRESS_PLAIN ? term.start_ms
                                           : 0; /* plain: first line after ten seconds */
}

double progress_seconds(void)
{
    return (double)(now_ms() - term.start_ms) / 1000;
}

/* Cut s to the width of the terminal, at the start of a character: a wrapped line could not be
 * redrawn. */
static void fit(char *s)
{
    struct winsize w;
    size_t n = ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col - 1u : 79;

    if (strlen(s) <= n)
        return;
    while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80)
        n--;
    s[n] = 0;
}

/* [ 37/120 pages | 2 retried | 1 loop | 3 failed | 8.4 p/s | eta 0:10 ] report.pdf p.12 */
static void draw_line(const struct progress *p, double rate, double eta)
{
    char line[700];
    int n = snprintf(line, sizeof line, "[ %d/%d pages", p->done, p->total);
    const struct {
        int n;
        const char *what;
    } part[] = {{p->retried, "retried"}, {p->loop, "loop"}, {p->failed - p->loop, "failed"}};

    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].n > 0)
            n += snprintf(line + n, sizeof line - (size_t)n, " | %d %s", part[i].n, part[i].what);
    n += snprintf(line + n, sizeof line - (size_t)n, " | %.1f p/s", rate);
    if (eta >= 0)
        n += snprintf(line + n, sizeof line - (size_t)n, " | eta %d:%02d", (int)eta / 60,
                      (int)eta % 60);
    snprintf(line + n, sizeof line - (size_t)n, " ] %s", p->current);
    defuse(line);
    fit(line);
    fprintf(stderr, "\r%s\033[K", line);
    term.is_drawn = true;
}

void progress_show(const struct progress *p)
{
    int64_t now = now_ms();

    if (term.mode == PROGRESS_NONE ||
        now - term.drawn_ms < (term.mode == PROGRESS_LINE ? REDRAW_MS : PLAIN_MS))
        return;
    term.drawn_ms = now;

    double seconds = (double)(now - term.start_ms) / 1000;
    int done = p->done - p->before;
    double rate = seconds > 0 ? done / seconds : 0;
    double eta = done > 0 ? seconds / done * (p->total - p->done) : -1;
    if (term.mode == PROGRESS_PLAIN) {
        say(SAY_INFO, "time=%.0f done=%d total=%d rate=%.1f retried=%d failed=%d", seconds, p->done,
            p->total, rate, p->retried, p->failed);
        return;
    }
    pthread_mutex_lock(&term.lock);
    draw_line(p, rate, eta);
    fflush(stderr);
    pthread_mutex_unlock(&term.lock);
}

void progress_document(const char *name, int n_page, const char *status)
{
    if (term.mode != PROGRESS_PLAIN || term.total_docs < 2)
        return;
    if (n_page > 1)
        say(SAY_INFO, "%s: %d pages, %s", name, n_page, status);
    else
        say(SAY_INFO, "%s: %s", name, status);
}

void progress_clear(void)
{
    pthread_mutex_lock(&term.lock);
    erase_line();
    fflush(stderr);
    pthread_mutex_unlock(&term.lock);
}

void progress_stop(void)
{
    progress_clear();
    term.mode = PROGRESS_NONE;
}
