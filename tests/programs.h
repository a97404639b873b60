/* What other programs say of files that were made here. */
#ifndef RECTO_TESTS_PROGRAMS_H
#define RECTO_TESTS_PROGRAMS_H

#include "base/file.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* Write a file under /tmp; the path is valid until the second next call. unlink it. */
static inline char *keep_file(const struct buf *b, const char *name)
{
    static char path[2][96];
    static int k;

    snprintf(path[k ^= 1], sizeof path[k], "/tmp/recto-test-%d-%s", (int)getpid(), name);
    assert_int_equal(file_write(path[k], buf_view(b)), 0);
    return path[k];
}

/* What a command prints; %s in it is `path`. Its exit status in *status, unless NULL. */
static inline struct buf shell(const char *fmt, const char *path, int *status)
{
    char command[4096], some[4096];
    struct buf b = {0};
    FILE *p;
    int ended;

    snprintf(command, sizeof command, fmt, path);
    p = popen(command, "r");
    assert_non_null(p);
    for (size_t n; (n = fread(some, 1, sizeof some, p)) > 0;)
        buf_add(&b, some, n);
    ended = pclose(p);
    if (status)
        *status = ended;
    buf_add(&b, "", 0);
    return b;
}

/* Does it succeed, and print `what`? */
static inline bool shell_says(const char *fmt, const char *path, const char *what)
{
    int status;
    struct buf b = shell(fmt, path, &status);
    bool is_there = status == 0 && strstr(b.p, what);

    buf_reset(&b);
    return is_there;
}

static inline void expect_sound_pdf(const char *path)
{
    struct buf b = shell("qpdf --check %s 2>&1", path, NULL);

    if (!strstr(b.p, "No syntax or stream encoding errors"))
        fail_msg("%s", b.p);
    buf_reset(&b);
}

#endif
