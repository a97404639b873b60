/* PDF through poppler in the sandbox: every sample as samples/LICENCES.md says, and what goes
 * wrong. */
#include "page_files.h"

#include "base/mem.h"
#include "page/document.h"
#include "hang.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct page_source *source(void)
{
    if (access("/usr/bin/pdftoppm", X_OK) != 0)
        skip();
    return open_source(HELPER, 0, 60000);
}

static int open_doc(struct page_doc *d, struct page_source *s, const char *path,
                    const char *password)
{
    return page_doc_open(d, s, &(struct recto_input){.path = path, .password = password});
}

/* A document from bytes, in a buffer of the test. */
static int open_bytes(struct page_doc *d, struct page_source *s, const struct buf *b)
{
    return page_doc_open(d, s, &(struct recto_input){.name = "bytes", .data = b->p, .len = b->n});
}

/* ---- the samples ---- */

static const struct sample {
    const char *file, *password;
    int n_page;
    int w[4], h[4]; /* of each page, at dpi auto */
    int rc;         /* of opening */
} samples[] = {
    {"cardinal.pdf", NULL, 4, {1780, 2304, 1780, 2304}, {2304, 1780, 2304, 1780}, 0},
    {"skew.pdf", NULL, 1, {1780}, {2304}, 0},
    {"rotated_skew.pdf", NULL, 1, {1780}, {2304}, 0}, /* /Rotate honoured: portrait */
    {"ccitt.pdf", NULL, 1, {1780}, {2304}, 0},
    {"jbig2.pdf", NULL, 1, {1780}, {2304}, 0},
    {"encrypted_empty_user.pdf", NULL, 1, {1780}, {2304}, 0},
    {"encrypted_user.pdf", NULL, 0, {0}, {0}, RECTO_EPASSWORD},
    {"encrypted_user.pdf", "wrong", 0, {0}, {0}, RECTO_EPASSWORD},
    {"encrypted_user.pdf", "recto", 1, {1780}, {2304}, 0},
    {"encrypted_empty_user.pdf", "owner-recto", 1, {1780}, {2304}, 0},
    {"blank.pdf", NULL, 1, {1780}, {2304}, 0},
    {"no_contents.pdf", NULL, 1, {1536}, {1536}, 0},
    {"invalid.pdf", NULL, 0, {0}, {0}, RECTO_EDAMAGED},
    {"enormous.pdf", NULL, 1, {1536}, {1536}, 0},
    {"hugemono.pdf", NULL, 1, {1536}, {1536}, 0},
    {"cmyk.pdf", NULL, 1, {900}, {900}, 0},
    {"francais.pdf", NULL, 1, {900}, {900}, 0},
    {"acroform.pdf", NULL, 1, {1667}, {300}, 0},
    {"truetype_font_nomapping.pdf", NULL, 1, {1780}, {2304}, 0},
    {"lichtenstein.pdf", NULL, 1, {1536}, {1536}, 0},
    {"lincoln_letter.pdf", NULL, 1, {1867}, {2304}, 0},
};

static int darkest(const struct recto_image *im)
{
    int least = 255;

    for (size_t i = 0; i < (size_t)im->width * (size_t)im->height * 3; i++)
        least = MIN(least, im->rgb[i]);
    return least;
}

static void check_pages(struct page_source *s, const struct sample *want, const struct page_doc *d)
{
    bool is_empty = strcmp(want->file, "blank.pdf") == 0 ||
                    strcmp(want->file, "no_contents.pdf") == 0;

    assert_int_equal(d->n_page, want->n_page);
    for (int i = 0; i < want->n_page; i++) {
        struct page_note note;
        struct recto_image im;

        if (page_doc_draw(d, s, i + 1, &im, &note) < 0)
            fail_msg("%s", err_text());
        if (im.width != want->w[i] || im.height != want->h[i])
            fail_msg("%s page %d: %d x %d, expected %d x %d", want->file, i + 1, im.width,
                     im.height, want->w[i], want->h[i]);
        assert_string_equal(note.kind, "PDF");
        assert_int_equal(darkest(&im) == 255, is_empty);
        page_note_reset(&note);
        recto_image_reset(&im);
    }
}

static void every_sample(void **state)
{
    struct page_source *s = source();

    for (size_t i = 0; i < COUNT(samples); i++) {
        const struct sample *want = &samples[i];
        char path[512];
        struct page_doc d;
        int rc;

        snprintf(path, sizeof path, SAMPLES "%s", want->file);
        rc = open_doc(&d, s, path, want->password);
        if (rc != want->rc)
            fail_msg("%s: %s \"%s\", expected %s", want->file, recto_error_name(rc), err_text(),
                     recto_error_name(want->rc));
        if (rc == 0)
            check_pages(s, want, &d);
        page_doc_close(&d);
    }
    page_source_close(s);
}

static void passwords(void **state)
{
    struct page_source *s = source();
    struct page_doc d;

    assert_int_equal(open_doc(&d, s, SAMPLES "encrypted_empty_user.pdf", NULL), 0);
    assert_int_equal(d.n_warning, 1);
    assert_string_equal(d.warning[0], "encrypted, empty user password");
    page_doc_close(&d);
    assert_int_equal(open_doc(&d, s, SAMPLES "encrypted_user.pdf", NULL), RECTO_EPASSWORD);
    assert_non_null(strstr(err_text(), "needs a password (--password-file)"));
    page_doc_close(&d);
    assert_int_equal(open_doc(&d, s, SAMPLES "encrypted_user.pdf", "x"), RECTO_EPASSWORD);
    assert_non_null(strstr(err_text(), "wrong password"));
    page_doc_close(&d);
    page_source_close(s);
}

/* A folder with recto-pdf, and a recto-decode that writes down its arguments. */
static void listening_helper(char *dir, char *program)
{
    struct buf b = {0};
    char other[64];

    strcpy(dir, "/tmp/recto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(program, 64, "%s/recto-decode", dir);
    snprintf(other, sizeof other, "%s/recto-pdf", dir);
    buf_fmt(&b, "#!/bin/sh\necho \"$@\" >>%s/log\nexec '%s' \"$@\"\n", dir, HELPER);
    assert_int_equal(file_write(program, buf_view(&b)), 0);
    assert_int_equal(chmod(program, 0700), 0);
    assert_int_equal(symlink(BIN_DIR "/recto-pdf", other), 0);
    buf_reset(&b);
}

/* No program is given the password where others could see it, and the page is drawn. */
static void passwords_stay_unseen(void **state)
{
    static const char *const file[] = {"recto-decode", "recto-pdf", "log"};
    char dir[32], program[64], path[64];
    struct page_source *s;
    struct recto_image im;
    struct page_doc d;
    struct buf log;

    page_source_close(source());
    listening_helper(dir, program);
    s = open_source(program, 0, 0);
    assert_int_equal(open_doc(&d, s, SAMPLES "encrypted_user.pdf", "recto"), 0);
    assert_true(d.pdf.is_decrypted);
    assert_int_equal(page_doc_draw(&d, s, 1, &im, NULL), 0);
    assert_int_not_equal(darkest(&im), 255);
    recto_image_reset(&im);
    page_doc_close(&d);
    page_source_close(s);
    snprintf(path, sizeof path, "%s/log", dir);
    log = load(path);
    assert_non_null(strstr(log.p, "--pdf-draw 1"));
    assert_null(strstr(log.p, "recto"));
    buf_reset(&log);
    for (size_t i = 0; i < COUNT(file); i++) {
        snprintf(path, sizeof path, "%s/%s", dir, file[i]);
        unlink(path);
    }
    rmdir(dir);
}

/* ---- made documents ---- */

struct maker {
    struct buf b;
    size_t at[16];
    int n;
};

static void object(struct maker *m, const char *body)
{
    m->at[m->n++] = m->b.n;
    buf_fmt(&m->b, "%d 0 obj\n%s\nendobj\n", m->n, body);
}

static struct buf finish(struct maker *m)
{
    size_t table = m->b.n;

    buf_fmt(&m->b, "xref\n0 %d\n0000000000 65535 f \n", m->n + 1);
    for (int i = 0; i < m->n; i++)
        buf_fmt(&m->b, "%010zu 00000 n \n", m->at[i]);
    buf_fmt(&m->b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%zu\n%%%%EOF\n", m->n + 1, table);
    return m->b;
}

/* Pages of 100 x 200, 200 x 200 ... points; `kids` may name any of 3 0 R ... */
static struct buf make(const char *kids, int count, int n_page)
{
    struct maker m = {0};
    char body[256];

    buf_text(&m.b, "%PDF-1.4\n");
    object(&m, "<</Type/Catalog/Pages 2 0 R>>");
    snprintf(body, sizeof body, "<</Type/Pages/Kids[%s]/Count %d>>", kids, count);
    object(&m, body);
    for (int i = 1; i <= n_page; i++) {
        snprintf(body, sizeof body, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 %d 200]>>", i * 100);
        object(&m, body);
    }
    return finish(&m);
}

static void page_is(const struct page_doc *d, struct page_source *s, int page, int w)
{
    struct recto_image im;

    if (page_doc_draw(d, s, page, &im, NULL) < 0)
        fail_msg("%s", err_text());
    assert_int_equal(im.width, w);
    recto_image_reset(&im);
}

/* A page that is not there keeps its number; those behind it too. */
static void missing_pages(void **state)
{
    struct page_source *s = source();
    struct buf b = make("3 0 R 99 0 R 4 0 R 98 0 R 97 0 R 5 0 R", 6, 3);
    struct recto_image im;
    struct page_doc d;

    assert_int_equal(open_bytes(&d, s, &b), 0);
    d.look.dpi = 72;
    assert_int_equal(d.n_page, 6);
    page_is(&d, s, 1, 100);
    page_is(&d, s, 3, 200);
    page_is(&d, s, 6, 300);
    for (int page = 2; page < 6; page += page == 2 ? 2 : 1) {
        assert_int_equal(page_doc_draw(&d, s, page, &im, NULL), RECTO_EDAMAGED);
        assert_true(strncmp(err_text(), "bytes:", 6) == 0);
    }
    assert_int_equal(page_doc_draw(&d, s, 7, &im, NULL), RECTO_EPAGERANGE);
    assert_int_equal(page_doc_draw(&d, s, 0, &im, NULL), RECTO_EPAGERANGE);
    page_doc_close(&d);
    buf_reset(&b);
    page_source_close(s);
}

static void no_pages_and_repairs(void **state)
{
    struct page_source *s = source();
    struct buf none = make("", 0, 0), good = make("3 0 R", 1, 1);
    struct page_doc d;
    char *xref;

    assert_int_equal(open_bytes(&d, s, &none), RECTO_EEMPTY);
    assert_string_equal(err_text(), "bytes: has no pages");
    page_doc_close(&d);
    assert_int_equal(open_bytes(&d, s, &good), 0);
    assert_int_equal(d.n_warning, 0);
    page_doc_close(&d);
    xref = strstr(good.p, "xref");
    memcpy(xref, "XREF", 4);
    assert_int_equal(open_bytes(&d, s, &good), 0);
    assert_int_equal(d.n_warning, 1);
    assert_string_equal(d.warning[0], "repaired");
    page_doc_close(&d);
    assert_int_equal(
        page_doc_open(&d, s, &(struct recto_input){.data = good.p, .len = good.n, .strict = true}),
        RECTO_EDAMAGED);
    page_doc_close(&d);
    buf_reset(&none);
    buf_reset(&good);
    page_source_close(s);
}

/* Every prefix of a document, and one with bytes turned over: an answer, and soon. */
static void damaged(void **state)
{
    struct page_source *s = source();
    struct buf good = make("3 0 R 4 0 R", 2, 2);

    for (size_t i = 16; i < good.n; i += 41) {
        struct buf b = {0};
        struct page_doc d;
        struct recto_image im;

        buf_add(&b, good.p, good.n);
        if (i & 1)
            b.n = i;
        else
            b.p[i] ^= 0x15;
        if (open_bytes(&d, s, &b) == 0)
            for (int page = 1; page <= MIN(d.n_page, 3); page++)
                if (page_doc_draw(&d, s, page, &im, NULL) == 0)
                    recto_image_reset(&im);
        page_doc_close(&d);
        buf_reset(&b);
    }
    buf_reset(&good);
    page_source_close(s);
}

static void annotations(void **state)
{
    struct page_source *s = source();
    struct recto_image with, without;
    struct page_doc d;

    assert_int_equal(open_doc(&d, s, SAMPLES "acroform.pdf", NULL), 0);
    assert_int_equal(page_doc_draw(&d, s, 1, &with, NULL), 0);
    d.look.hides_annots = true;
    assert_int_equal(page_doc_draw(&d, s, 1, &without, NULL), 0);
    assert_memory_not_equal(with.rgb, without.rgb, (size_t)with.width * (size_t)with.height * 3);
    recto_image_reset(&with);
    recto_image_reset(&without);
    page_doc_close(&d);
    page_source_close(s);
}

static void not_documents(void **state)
{
    struct page_source *s = source();
    struct page_doc d;

    assert_int_equal(open_doc(&d, s, "/nowhere/x.pdf", NULL), RECTO_ENOTFOUND);
    page_doc_close(&d);
    assert_int_equal(open_doc(&d, s, "https://example.org/x.pdf", NULL), RECTO_EURL);
    page_doc_close(&d);
    assert_int_equal(open_doc(&d, s, "/dev/null", NULL), RECTO_EKIND);
    page_doc_close(&d);
    assert_int_equal(open_doc(&d, s, "/", NULL), RECTO_EREAD);
    page_doc_close(&d);
    assert_true(pdf_is("junk %PDF-1.4", 13));
    assert_true(pdf_is("%PDF-", 5));
    assert_false(pdf_is("PK\x03\x04 %PDF-1.4", 13));
    assert_false(pdf_is("%PD", 3));
    assert_false(pdf_is("", 0));
    page_source_close(s);
}

/* ---- the sandbox of the second profile, tried from inside ---- */

static int run_helper(const char *const *arg)
{
    char *argv[12] = {(char *)"recto-decode", (char *)"--pdf-info"};
    int status, n = 2;
    pid_t pid;

    while (arg[n - 2]) {
        argv[n] = (char *)arg[n - 2];
        n++;
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int fd = open("/dev/null", O_RDWR);

        for (int i = 0; i < 3; i++)
            dup2(fd, i);
        execv(HELPER, argv);
        _exit(99);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

#define RUN(...) run_helper((const char *const[]){__VA_ARGS__, NULL})

/* 3: strict, and a layer is missing. What passes has them all, and fails for the empty file. */
static bool has_all_layers(void)
{
    return RUN("--strict") == 1 << 8;
}

static void sandbox_holds(void **state)
{
    page_source_close(source());
    if (!has_all_layers())
        skip();
    assert_int_equal(RUN("--probe", "open"), 0);
    assert_int_equal(RUN("--probe", "write"), 0);
    assert_int_equal(RUN("--probe", "exec"), 0);
    assert_int_equal(RUN("--probe", "code"), 0);
    assert_true(WIFSIGNALED(RUN("--probe", "socket")));
    assert_true(WIFSIGNALED(RUN("--probe", "fork")));
    /* The probes themselves work: with neither layer they go through. */
    assert_int_equal(RUN("--without", "seccomp", "--without", "landlock", "--probe", "open"),
                     1 << 8);
    assert_int_equal(RUN("--without", "seccomp", "--without", "landlock", "--probe", "exec"),
                     1 << 8);
    assert_int_equal(RUN("--without", "seccomp", "--probe", "socket"), 1 << 8);
    assert_int_equal(RUN("--without", "seccomp", "--probe", "code"), 1 << 8);
    /* Each of the two alone. */
    assert_int_equal(RUN("--without", "seccomp", "--probe", "open"), 0);
    assert_int_equal(RUN("--without", "seccomp", "--probe", "exec"), 0);
    assert_int_equal(RUN("--without", "landlock", "--probe", "exec"), 0);
    assert_int_equal(RUN("--strict", "--without", "seccomp"), 3 << 8);
    assert_int_equal(RUN("--strict", "--without", "landlock"), 3 << 8);
}

static void sandbox_limits_memory_and_time(void **state)
{
    int status;

    page_source_close(source());
    if (!INSTRUMENTED)
        assert_int_equal(RUN("--probe", "memory"), 0);
    status = RUN("--cpu-s", "1", "--probe", "cpu");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXCPU);
}

static void opening_fails(const char *body, const struct page_source_options *o, int code,
                          const char *text)
{
    struct page_source_options mine = *o;
    struct buf b = make("3 0 R", 1, 1);
    struct page_source *s;
    struct page_doc d;
    char path[64];

    helper_script(path, body);
    mine.helper = path;
    assert_int_equal(page_source_open_with(&s, &mine), 0);
    assert_int_equal(open_bytes(&d, s, &b), code);
    if (!strstr(err_text(), text))
        fail_msg("\"%s\", expected \"%s\"", err_text(), text);
    page_doc_close(&d);
    page_source_close(s);
    buf_reset(&b);
    unlink(path);
}

/* Who computes too long has used up its time; who sleeps is waited for, but not for ever. */
static void time_of_a_program(void **state)
{
    page_source_close(source());
    opening_fails("exec '" HELPER "' \"$@\" --probe cpu", &(struct page_source_options){.cpu_s = 1},
                  RECTO_ETOOLARGE, "more time than the decoder may use");
    opening_fails("kill -STOP $$", &(struct page_source_options){.timeout_ms = 400}, RECTO_ERENDER,
                  "took too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample),          cmocka_unit_test(passwords),
        cmocka_unit_test(passwords_stay_unseen), cmocka_unit_test(missing_pages),
        cmocka_unit_test(no_pages_and_repairs),  cmocka_unit_test(damaged),
        cmocka_unit_test(annotations),           cmocka_unit_test(not_documents),
        cmocka_unit_test(sandbox_holds),         cmocka_unit_test(sandbox_limits_memory_and_time),
        cmocka_unit_test(time_of_a_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
