/* For tests of checkpoints: a folder that goes away, and safetensors files made from the text of
 * their header. */
#ifndef TESTS_CKPT_FILE_H
#define TESTS_CKPT_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char temp_dir[64];

static inline int temp_setup(void **state)
{
    (void)state;
    strcpy(temp_dir, "/tmp/recto-test-XXXXXX");
    return mkdtemp(temp_dir) ? 0 : -1;
}

static inline void temp_empty(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;

    while (d && (e = readdir(d))) {
        char *name = file_join(path, e->d_name);

        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && unlink(name) != 0) {
            temp_empty(name);
            rmdir(name);
        }
        free(name);
    }
    if (d)
        closedir(d);
}

static inline int temp_teardown(void **state)
{
    (void)state;
    temp_empty(temp_dir);
    return rmdir(temp_dir);
}

/* Path in the folder, valid until the next but three. */
static inline const char *temp_path(const char *name)
{
    static char ring[4][160];
    static int at;
    char *p = ring[at++ & 3];

    snprintf(p, sizeof ring[0], "%s/%s", temp_dir, name);
    return p;
}

static inline void put_bytes(const char *name, const void *p, size_t n)
{
    assert_int_equal(file_write(temp_path(name), (str){p, n}), 0);
}

/* header_len < 0: that of the text. Behind the header come n_data bytes 0, 1, 2, ... */
static inline void put_safetensors(const char *name, const char *header, int64_t header_len,
                                   size_t n_data)
{
    struct buf b = {0};
    uint64_t len = header_len < 0 ? strlen(header) : (uint64_t)header_len;

    for (int i = 0; i < 8; i++)
        buf_char(&b, (char)(len >> 8 * i));
    buf_text(&b, header);
    for (size_t i = 0; i < n_data; i++)
        buf_char(&b, (char)i);
    put_bytes(name, b.p, b.n);
    buf_reset(&b);
}

#endif
