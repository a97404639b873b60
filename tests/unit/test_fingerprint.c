/* A model's fingerprint: names, sizes and contents count, other files do not. */
#include "base/file.h"
#include "base/mem.h"
#include "fingerprint.h"
#include "recto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/recto-test-fingerprint-XXXXXX";

static void put(const char *name, const char *text, size_t size)
{
    char *path = file_join(dir, name);
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    fputs(text, f);
    fflush(f);
    assert_int_equal(ftruncate(fileno(f), (off_t)size), 0);
    fclose(f);
    free(path);
}

static void poke(const char *name, long at)
{
    char *path = file_join(dir, name);
    FILE *f = fopen(path, "r+b");

    assert_non_null(f);
    fseek(f, at, SEEK_SET);
    fputc('x', f);
    fclose(f);
    free(path);
}

static char last[FINGERPRINT_HEX];

static void assert_changes(bool changes)
{
    char now[FINGERPRINT_HEX];

    assert_int_equal(fingerprint_of_model(dir, now), 0);
    assert_int_equal(strlen(now), 64);
    assert_int_equal(strcmp(now, last) != 0, changes);
    memcpy(last, now, sizeof now);
}

static void what_counts(void **state)
{
    const long size = 20L << 20;

    put("config.json", "{}", 2);
    put("model.safetensors", "weights", (size_t)size);
    assert_changes(true);
    assert_changes(false);
    put("README.md", "text", 4);
    assert_changes(false);
    poke("config.json", 0);
    assert_changes(true);
    poke("model.safetensors", (1 << 20) - 1); /* the header */
    assert_changes(true);
    poke("model.safetensors", size / 64 * 63 + 1000); /* within a sample */
    assert_changes(true);
    put("tokenizer.json", "{}", 2);
    assert_changes(true);
}

static void no_folder(void **state)
{
    char hex[FINGERPRINT_HEX];

    assert_int_equal(fingerprint_of_model("/nowhere", hex), RECTO_EREAD);
}

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    static const char *const names[] = {"config.json", "model.safetensors", "README.md",
                                        "tokenizer.json"};

    for (size_t i = 0; i < COUNT(names); i++) {
        char *path = file_join(dir, names[i]);

        unlink(path);
        free(path);
    }
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_counts),
        cmocka_unit_test(no_folder),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
