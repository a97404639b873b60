/* Every file of samples/ against tests/samples.tsv: kind, pages, raster, grid, rotation, blank or not,
 * warnings, errors, exit codes. No model is needed. */
#include "recto.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SAMPLES SOURCE_DIR "/samples/"

enum column {
    FILE_NAME,
    KIND,
    PASSWORD,
    PAGE,
    PAGES,
    RASTER,
    DPI,
    GRID,
    ROWS,
    ROTATE,
    STATUS,
    WARNING,
    CODE,
    EXIT,
    N_COLUMN
};

struct row {
    char text[512];
    const char *is[N_COLUMN]; /* "-" where there is nothing */
};

static struct row row[64];
static int n_row;
static char model[64]; /* a folder with the released model's config.json, which sets the grid */

static void cut(struct row *r)
{
    char *rest = r->text;

    rest[strcspn(rest, "\n")] = '\0';
    for (int c = 0; c < N_COLUMN; c++) {
        r->is[c] = strsep(&rest, "\t");
        assert_non_null(r->is[c]);
    }
    assert_null(rest);
}

static int start(void **state)
{
    char command[512];
    FILE *f = fopen(TEST_DIR "/samples.tsv", "r");

    if (!f)
        return -1;
    while (n_row < 64 && fgets(row[n_row].text, sizeof row[n_row].text, f))
        if (row[n_row].text[0] != '#')
            cut(&row[n_row++]);
    fclose(f);
    snprintf(model, sizeof model, "/tmp/test_samples.XXXXXX");
    if (!mkdtemp(model))
        return -1;
    snprintf(command, sizeof command, "cp '%s/fixtures/config_released.json' '%s/config.json'",
             TEST_DIR, model);
    return system(command);
}

static int stop(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r '%s'", model);
    return system(command);
}

static bool has(const struct row *r, enum column c)
{
    return strcmp(r->is[c], "-") != 0;
}

static void path_of(const struct row *r, char path[512])
{
    snprintf(path, 512, SAMPLES "%s", r->is[FILE_NAME]);
}

static void equal(const struct row *r, enum column c, const char *got)
{
    if (strcmp(got, r->is[c]) != 0)
        fail_msg("%s page %s: '%s', expected '%s'", r->is[FILE_NAME], r->is[PAGE], got, r->is[c]);
}

/* ---- the library ------------------------------------------------------------------------------- */

static void kinds(void **state)
{
    for (int i = 0; i < n_row; i++) {
        char path[512], head[1024];

        path_of(&row[i], path);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        size_t n = fread(head, 1, sizeof head, f);
        fclose(f);
        const char *kind = recto_kind(head, n);
        equal(&row[i], KIND, kind ? kind : "-");
    }
}

static int open_row(const struct row *r, struct recto_document **d)
{
    struct recto_settings s;
    struct recto_input in = {.password = has(r, PASSWORD) ? r->is[PASSWORD] : NULL};
    char path[512];

    recto_settings_init(&s);
    s.helper = BIN_DIR "/recto-decode";
    s.model_dir = model;
    path_of(r, path);
    in.path = path;
    return recto_document_open(d, &in, &s);
}

static void check_look(const struct row *r, struct recto_document *d)
{
    struct recto_page p;
    char got[64];
    int number = atoi(r->is[PAGE]);

    if (recto_document_look(d, number, &p) < 0)
        fail_msg("%s page %d: %s", r->is[FILE_NAME], number, recto_last_error());
    snprintf(got, sizeof got, "%dx%d", p.width, p.height);
    equal(r, RASTER, got);
    snprintf(got, sizeof got, p.dpi > 0 ? "%.1f" : "-", p.dpi);
    equal(r, DPI, got);
    snprintf(got, sizeof got, "%dx%d", p.tiles_w, p.tiles_h);
    equal(r, GRID, got);
    snprintf(got, sizeof got, "%d", p.n_visual);
    equal(r, ROWS, got);
    equal(r, STATUS, recto_status_name(p.status));
    assert_int_equal(p.n_warning, has(r, WARNING));
    if (p.n_warning)
        equal(r, WARNING, p.warning[0]);
    recto_page_reset(&p);
}

/* A PDF that cannot be read fails when it is opened, a picture when it is looked at. */
static void fails(const struct row *r, struct recto_document *d, int rc)
{
    struct recto_page p;

    if (rc == 0)
        rc = recto_document_look(d, 1, &p);
    equal(r, CODE, rc < 0 ? recto_error_name(rc) : "-");
}

static void looks(void **state)
{
    if (access("/usr/bin/pdftoppm", X_OK) != 0)
        skip();
    for (int i = 0; i < n_row; i++) {
        struct recto_document *d = NULL;
        char pages[16];
        int rc = open_row(&row[i], &d);

        if (has(&row[i], CODE))
            fails(&row[i], d, rc);
        else {
            assert_int_equal(rc, 0);
            snprintf(pages, sizeof pages, "%d", recto_document_pages(d));
            equal(&row[i], PAGES, pages);
            check_look(&row[i], d);
        }
        recto_document_close(d);
    }
}

/* ---- the program, pdfinfo, the folder ------------------------------------------------------------ */

/* Where the program has something of its own to say; to draw every page a second time would take long. */
static bool says_something(const struct row *r)
{
    return has(r, CODE) || has(r, WARNING) || strcmp(r->is[STATUS], "blank") == 0 ||
           strcmp(r->is[FILE_NAME], "crom.png") == 0 ||
           strcmp(r->is[FILE_NAME], "acroform.pdf") == 0;
}

static void exits(void **state)
{
    if (access("/usr/bin/pdftoppm", X_OK) != 0)
        skip();
    for (int i = 0; i < n_row; i++) {
        char command[1024], got[16];

        if (!says_something(&row[i]))
            continue;
        snprintf(command, sizeof command,
                 "%s/recto read --dry-run --model '%s' %s %s '" SAMPLES "%s' >%s/out 2>%s/err",
                 BIN_DIR, model, has(&row[i], PASSWORD) ? "--password" : "",
                 has(&row[i], PASSWORD) ? row[i].is[PASSWORD] : "", row[i].is[FILE_NAME], model,
                 model);
        snprintf(got, sizeof got, "%d", WEXITSTATUS(system(command)));
        equal(&row[i], EXIT, got);
        snprintf(command, sizeof command, "grep -qF '(%s)' %s/err", row[i].is[CODE], model);
        assert_int_equal(has(&row[i], CODE) ? system(command) : 0, 0);
        snprintf(command, sizeof command, "grep -qF ':1: warning: %s' %s/err", row[i].is[WARNING],
                 model);
        assert_int_equal(has(&row[i], WARNING) ? system(command) : 0, 0);
        snprintf(command, sizeof command, "[ $(wc -l <%s/out) -eq %d ]", model,
                 atoi(row[i].is[PAGES]));
        assert_int_equal(system(command), 0);
    }
}

static void rotations(void **state)
{
    if (access("/usr/bin/pdfinfo", X_OK) != 0)
        skip();
    for (int i = 0; i < n_row; i++) {
        char command[1024];

        if (!has(&row[i], ROTATE))
            continue;
        snprintf(command, sizeof command,
                 "pdfinfo %s %s -f %s -l %s '" SAMPLES
                 "%s' 2>/dev/null | grep -qE '^Page +%s rot: +%s$'",
                 has(&row[i], PASSWORD) ? "-upw" : "",
                 has(&row[i], PASSWORD) ? row[i].is[PASSWORD] : "", row[i].is[PAGE],
                 row[i].is[PAGE], row[i].is[FILE_NAME], row[i].is[PAGE], row[i].is[ROTATE]);
        /* pdfinfo takes an owner's password by another option */
        if (strstr(row[i].is[PASSWORD], "owner") == NULL && system(command) != 0)
            fail_msg("%s page %s: /Rotate is not %s", row[i].is[FILE_NAME], row[i].is[PAGE],
                     row[i].is[ROTATE]);
    }
}

static void every_file_is_listed(void **state)
{
    DIR *dir = opendir(SAMPLES);
    int n_file = 0;

    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        int i = 0;

        if (e->d_name[0] == '.')
            continue;
        while (i < n_row && strcmp(row[i].is[FILE_NAME], e->d_name) != 0)
            i++;
        if (i == n_row)
            fail_msg("%s has no row in tests/samples.tsv", e->d_name);
        n_file++;
    }
    closedir(dir);
    assert_true(n_file > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_is_listed),
        cmocka_unit_test(kinds),
        cmocka_unit_test(looks),
        cmocka_unit_test(exits),
        cmocka_unit_test(rotations),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
