/* The helper as a process: its sandbox holds, and whatever happens to it costs one page at most. */
#include "page_files.h"

#include "base/clock.h"
#include "base/decode_proto.h"
#include "base/log.h"
#include "base/mem.h"
#include "hang.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- the sandbox, tried from inside ---- */

/* Run the helper with these arguments, its streams on /dev/null; returns the wait status. */
static int run_helper(const char *const *arg)
{
    char *argv[10] = {(char *)"recto-decode"};
    int status, n = 1;
    pid_t pid;

    while (arg[n - 1]) {
        argv[n] = (char *)arg[n - 1];
        n++;
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open("/dev/null", O_RDWR);

        dup2(fd, 0);
        dup2(fd, 1);
        dup2(fd, 2);
        execv(HELPER, argv);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

#define RUN(...) run_helper((const char *const[]){__VA_ARGS__, NULL})

static bool has(const char *what)
{
    int fd[2], status;
    struct decode_hello hello;
    unsigned char bytes[DECODE_HELLO_BYTES];
    pid_t pid;

    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        dup2(open("/dev/null", O_RDONLY), 0);
        dup2(fd[1], 1);
        execl(HELPER, "recto-decode", (char *)NULL);
        _exit(99);
    }
    close(fd[1]);
    assert_int_equal(read(fd[0], bytes, sizeof bytes), sizeof bytes);
    close(fd[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(decode_hello_unpack(&hello, bytes), 0);
    return !(hello.flags & (strcmp(what, "seccomp") == 0 ? DECODE_NO_SECCOMP : DECODE_NO_LANDLOCK));
}

static void killed_for(const char *probe)
{
    int status = RUN("--probe", probe);

    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
        fail_msg("--probe %s ended with status %#x, expected SIGSYS", probe, status);
}

static void seccomp_kills(void **state)
{
    if (!has("seccomp"))
        skip();
    killed_for("open");
    killed_for("socket");
    killed_for("exec");
    killed_for("code");
    /* The probe itself works: without the filter nothing stops the mapping of code. */
    assert_int_equal(RUN("--without", "seccomp", "--probe", "code"), 1 << 8);
}

/* Without seccomp the other layers still hold: Landlock against exec, the limit of descriptors
 * against open and socket. */
static void other_layers_hold(void **state)
{
    assert_int_equal(RUN("--without", "seccomp", "--probe", "open"), 0);
    assert_int_equal(RUN("--without", "seccomp", "--probe", "socket"), 0);
    if (!has("landlock"))
        skip();
    assert_int_equal(RUN("--without", "seccomp", "--probe", "exec"), 0);
    assert_int_not_equal(RUN("--without", "seccomp", "--without", "landlock", "--probe", "exec"),
                         0);
}

static void memory_is_limited(void **state)
{
    if (INSTRUMENTED) /* a sanitizer's shadow needs terabytes of address space, so there the limit
                         is off */
        skip();
    assert_int_equal(RUN("--probe", "memory"), 0);
    assert_int_equal(RUN("--memory-mib", "100000", "--probe", "memory"), 1 << 8);
}

static void time_is_limited(void **state)
{
    int64_t start = clock_ns();
    int status = RUN("--cpu-s", "1", "--probe", "cpu");

    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXCPU);
    assert_true(clock_ms_since(start) < 60000);
}

static void arguments(void **state)
{
    assert_int_equal(RUN("--nonsense"), 2 << 8);
    assert_int_equal(RUN("--cpu-s", "0"), 2 << 8);
    assert_int_equal(RUN("--cpu-s"), 2 << 8);
    assert_int_equal(RUN("--without", "everything"), 2 << 8);
    assert_int_equal(RUN("--probe", "nothing"), 2 << 8);
    /* Strict: the process ends by itself when a layer is missing. */
    assert_int_equal(RUN("--strict", "--without", "seccomp"), 3 << 8);
    assert_int_equal(RUN("--strict", "--without", "landlock"), 3 << 8);
}

/* ---- the client ---- */

static str page_bytes(void)
{
    static struct buf b;

    if (!b.n)
        b = load(FIXTURES "rgb.jpg");
    return buf_view(&b);
}

static void reads(struct page_source *s)
{
    struct recto_image im;
    str p = page_bytes();

    if (page_decode(s, NULL, p.p, p.n, &im, NULL) < 0)
        fail_msg("%s", err_text());
    assert_int_equal(im.width, 96);
    free(im.rgb);
}

static void await_death(pid_t pid)
{
    siginfo_t info;

    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void one_process_serves_many_pages(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 0);
    pid_t pid;

    assert_int_equal(page_source_helper(s), 0); /* nothing is started before it is needed */
    reads(s);
    pid = page_source_helper(s);
    for (int k = 0; k < 20; k++) {
        reads(s);
        decode_fails(s, STR("hello"), RECTO_EKIND, "text");
    }
    assert_int_equal(page_source_helper(s), pid);
    page_source_close(s);
    assert_int_equal(kill(pid, 0), -1);
}

static void killed_between_pages(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 0);
    pid_t pid;

    reads(s);
    pid = page_source_helper(s);
    assert_int_equal(kill(pid, SIGKILL), 0);
    await_death(pid);
    reads(s);
    assert_int_not_equal(page_source_helper(s), pid);
    page_source_close(s);
}

static void *kill_soon(void *arg)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    kill(*(pid_t *)arg, SIGKILL);
    return NULL;
}

static void killed_in_a_page(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 0);
    pthread_t t;
    pid_t pid;

    reads(s);
    pid = page_source_helper(s);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(pthread_create(&t, NULL, kill_soon, &pid), 0);
    decode_fails(s, page_bytes(), RECTO_ERENDER,
                 "page could not be drawn: the decoder was ended by signal 9");
    pthread_join(t, NULL);
    assert_int_equal(page_source_helper(s), 0);
    reads(s);
    page_source_close(s);
}

static void hanging(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 300);
    int64_t start;

    reads(s);
    assert_int_equal(kill(page_source_helper(s), SIGSTOP), 0);
    start = clock_ns();
    decode_fails(s, page_bytes(), RECTO_ERENDER, "took too long");
    assert_in_range(clock_ms_since(start), 290, 5000);
    page_source_close(s);
}

static void fails_with(const char *body, int code, const char *text)
{
    char path[64];
    struct page_source *s;

    helper_script(path, body);
    s = open_source(path, 0, 2000);
    decode_fails(s, page_bytes(), code, text);
    assert_int_equal(page_source_helper(s), 0);
    page_source_close(s);
    unlink(path);
}

/* Programs that are not recto-decode, or have been taken over; none may harm us, and SIGPIPE stays
 * at its default. */
static void strangers(void **state)
{
    char greets[128], body[160];

    fails_with("exit 0", RECTO_ERENDER, "does not run as it should");
    fails_with("kill -9 $$", RECTO_ERENDER, "does not run as it should");
    fails_with("printf 'Hello, world'", RECTO_ERENDER, "does not greet");
    fails_with("printf 'RDH1\\377\\0\\0\\0\\0\\0\\0\\0'", RECTO_ERENDER, "another version");
    snprintf(greets, sizeof greets, "exec 2>/dev/null; printf 'RDH1\\%03o\\0\\0\\0\\0\\0\\0\\0'",
             DECODE_VERSION);
    snprintf(body, sizeof body, "%s; exec <&-; sleep 1", greets);
    fails_with(body, RECTO_ERENDER, "");
    snprintf(body, sizeof body, "%s; exec cat", greets);
    fails_with(body, RECTO_ERENDER, "makes no sense");
    fails_with("sleep 10", RECTO_ERENDER, "does not run as it should");
}

static void missing_helper(void **state)
{
    struct page_source *s = open_source("/nowhere/recto-decode", 0, 0);

    assert_int_equal(page_source_start(s), RECTO_ERENDER);
    assert_non_null(strstr(err_text(), "/nowhere/recto-decode"));
    page_source_close(s);
    /* By default it is looked for beside the program, which this test's folder has too. */
    s = open_source(NULL, 0, 0);
    reads(s);
    page_source_close(s);
}

static void count_line(void *ctx, enum recto_log_level level, const char *line)
{
    int *n = ctx;

    if (level == RECTO_LOG_WARN && strstr(line, "sandbox=partial missing=landlock,seccomp"))
        ++*n;
}

static void half_a_sandbox(void **state)
{
    struct page_source_options o = {.is_strict = true};
    struct page_source *s;
    char path[64];
    int n_warning = 0;

    helper_script(path, "exec '" HELPER "' --without landlock --without seccomp \"$@\"");
    log_set(count_line, &n_warning, RECTO_LOG_WARN);
    for (int k = 0; k < 3; k++) { /* one warning however many sources there are */
        s = open_source(path, 0, 0);
        reads(s);
        page_source_close(s);
    }
    log_set(NULL, NULL, RECTO_LOG_WARN);
    assert_int_equal(n_warning, 1);

    o.helper = path;
    assert_int_equal(page_source_open_with(&s, &o), 0);
    decode_fails(s, page_bytes(), RECTO_ERENDER, "lacks Landlock and seccomp");
    page_source_close(s);
    unlink(path);
    if (has("seccomp") && has("landlock")) {
        o.helper = HELPER;
        assert_int_equal(page_source_open_with(&s, &o), 0);
        reads(s);
        page_source_close(s);
    }
}

/* A helper that has used a third of its time says so with its last answer, and a fresh one takes
 * the next page. */
static void retires(void **state)
{
    struct buf b = load(SAMPLES "baiona_alpha.png");
    struct page_source *s;
    char path[64];
    bool has_retired = false;

    helper_script(path, "exec '" HELPER "' \"$@\" --cpu-s 1");
    s = open_source(path, 0, 0);
    for (int k = 0; k < 1000 && !has_retired; k++) {
        struct recto_image im = decode_ok(s, &b, NULL);

        has_retired = page_source_helper(s) == 0;
        free(im.rgb);
    }
    assert_true(has_retired);
    reads(s);
    page_source_close(s);
    unlink(path);
    buf_reset(&b);
}

/* Another process, with a source whose helper answers after 0.5 s and which waits for 1.5 s at most. */
static void read_slowly(const char *path)
{
    struct page_source *s = open_source(path, 0, 1500);
    struct recto_image im;
    str p = page_bytes();
    int rc = page_decode(s, NULL, p.p, p.n, &im, NULL);

    _exit(rc == 0 && im.width == 96 ? 0 : 1);
}

/* Time in which we are stopped is not the helper's. */
static void stopped_ourselves(void **state)
{
    char path[64];
    int status;
    pid_t pid;

    helper_script(path, "sleep 0.5; exec '" HELPER "' \"$@\"");
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        read_slowly(path);
    nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    unlink(path);
}

static void no_descriptor_is_inherited(void **state)
{
    char path[64];
    struct page_source *s;
    int fd = open("/dev/null", O_RDONLY); /* no O_CLOEXEC: a plain exec would hand it on */

    assert_true(fd > 2);
    helper_script(path, "for i in 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$i ] && exit 1; done\n"
                        "[ $(env | grep -c RECTO_SECRET) = 0 ] || exit 1\n"
                        "exec '" HELPER "'");
    setenv("RECTO_SECRET", "key", 1);
    /* The shell opens its script on 10 or higher; below that is only what was inherited. */
    s = open_source(path, 0, 0);
    reads(s);
    page_source_close(s);
    unsetenv("RECTO_SECRET");
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seccomp_kills),
        cmocka_unit_test(other_layers_hold),
        cmocka_unit_test(memory_is_limited),
        cmocka_unit_test(time_is_limited),
        cmocka_unit_test(arguments),
        cmocka_unit_test(one_process_serves_many_pages),
        cmocka_unit_test(killed_between_pages),
        cmocka_unit_test(killed_in_a_page),
        cmocka_unit_test(hanging),
        cmocka_unit_test(stopped_ourselves),
        cmocka_unit_test(strangers),
        cmocka_unit_test(missing_helper),
        cmocka_unit_test(half_a_sandbox),
        cmocka_unit_test(retires),
        cmocka_unit_test(no_descriptor_is_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
