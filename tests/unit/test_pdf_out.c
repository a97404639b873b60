/* recto-pdf through its client: pages of the samples get text, pictures become pages, and what goes wrong. qpdf, pdftotext
 * and pdftoppm judge the files. */
#include "page_files.h"
#include "programs.h"

#include "base/mem.h"
#include "helper/pdfout/content.h"
#include "page/document.h"
#include "page/pdf_out.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define PDF_HELPER BIN_DIR "/recto-pdf"

/* A font of one full-width glyph is enough here: CID 1 is A, 2 is a space. */
static const char unicode[] = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
                              "/CMapName /R def /CMapType 2 def\n"
                              "1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
                              "2 beginbfchar <0001> <0041> <0002> <0020> endbfchar\n"
                              "endcmap end end";
static const char line[] = "BT 3 Tr /Rct 12 Tf 100 Tz 1 0 0 1 72 40 Tm <0001000100020001> Tj ET\n";

static int keep(void *ctx, const void *bytes, size_t n)
{
    buf_add(ctx, bytes, n);
    return 0;
}

/* ---- the document of one test ---- */

struct work {
    struct page_source *source;
    struct page_doc doc;
    struct pdf_out *out;
    struct buf file;
    char path[64];
};

static struct work start(const char *file, const char *password)
{
    struct work w = {.source = open_source(HELPER, 0, 60000)};

    assert_int_equal(
        page_doc_open(&w.doc, w.source, &(struct recto_input){.path = file, .password = password}),
        0);
    snprintf(w.path, sizeof w.path, "/tmp/recto-test-pdf-%d.pdf", (int)getpid());
    return w;
}

static int make(struct work *w, unsigned flags, const char *text)
{
    struct pdf_tool tool = page_source_pdf_tool(w->source);
    int rc = pdf_out_open(&w->out, &w->doc.pdf, &tool, flags);

    for (int i = 1; rc == 0 && i <= w->doc.n_page; i++)
        rc = pdf_out_text(w->out, i, str_of(text));
    if (rc == 0)
        rc = pdf_out_font(w->out, PDF_UNICODE, str_of(unicode));
    if (rc == 0)
        rc = pdf_out_finish(w->out, keep, &w->file);
    pdf_out_close(w->out);
    if (rc == 0)
        assert_int_equal(file_write(w->path, buf_view(&w->file)), 0);
    return rc;
}

static void stop(struct work *w)
{
    unlink(w->path);
    buf_reset(&w->file);
    page_doc_close(&w->doc);
    page_source_close(w->source);
}

/* ---- documents ---- */

/* Each page: sound, with the text, and drawn as before. */
static void each_sample_gets_text(void **state)
{
    static const char *const file[] = {
        "cardinal.pdf", "francais.pdf", "no_contents.pdf", "rotated_skew.pdf",
        "acroform.pdf", "jbig2.pdf",    "hugemono.pdf",    "truetype_font_nomapping.pdf"};

    for (size_t i = 0; i < COUNT(file); i++) {
        char path[128];
        struct work w;
        struct recto_image before, after;
        struct page_doc copy;

        snprintf(path, sizeof path, SAMPLES "%s", file[i]);
        w = start(path, NULL);
        assert_int_equal(make(&w, 0, line), 0);
        assert_true(
            shell_says("qpdf --check %s 2>&1", w.path, "No syntax or stream encoding errors"));
        assert_true(shell_says("pdftotext %s -", w.path, "AA A"));
        assert_int_equal(page_doc_open(&copy, w.source, &(struct recto_input){.path = w.path}), 0);
        assert_int_equal(copy.n_page, w.doc.n_page);
        assert_int_equal(page_doc_draw(&w.doc, w.source, w.doc.n_page, &before, NULL), 0);
        assert_int_equal(page_doc_draw(&copy, w.source, copy.n_page, &after, NULL), 0);
        assert_int_equal(before.width, after.width);
        assert_memory_equal(before.rgb, after.rgb,
                            (size_t)before.width * (size_t)before.height * 3);
        recto_image_reset(&before);
        recto_image_reset(&after);
        page_doc_close(&copy);
        stop(&w);
    }
}

static void the_producer_is_named_behind_the_old_one(void **state)
{
    struct work w = start(SAMPLES "francais.pdf", NULL);

    assert_int_equal(make(&w, 0, line), 0);
    assert_true(shell_says("pdfinfo %s", w.path, "recto " RECTO_VERSION));
    assert_int_equal(make(&w, 0, line), 0);
    stop(&w);
}

/* The first copy's text goes when a second one is made, or stays, or keeps new text away. */
static void old_text_is_replaced_kept_or_respected(void **state)
{
    static const char other[] =
        "BT 3 Tr /Rct 12 Tf 100 Tz 1 0 0 1 72 300 Tm <0001000200010001> Tj ET\n";
    static const struct {
        unsigned flags;
        bool has_old, has_new;
    } cases[] = {{0, false, true}, {PDF_OLD_KEEP, true, true}, {PDF_OLD_SKIP, true, false}};
    struct work w = start(SAMPLES "skew.pdf", NULL);

    assert_int_equal(make(&w, 0, line), 0);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct work again = start(w.path, NULL);

        strcat(again.path, "2");
        assert_int_equal(make(&again, cases[i].flags, other), 0);
        assert_true(shell_says("qpdf --check %s 2>&1", again.path, "No syntax"));
        assert_int_equal(shell_says("pdftotext %s -", again.path, "AA A"), cases[i].has_old);
        assert_int_equal(shell_says("pdftotext %s -", again.path, "A AA"), cases[i].has_new);
        stop(&again);
    }
    stop(&w);
}

static void encrypted_documents_need_their_password(void **state)
{
    struct work w = start(SAMPLES "encrypted_empty_user.pdf", NULL);

    assert_int_equal(make(&w, 0, line), RECTO_EPASSWORD);
    assert_non_null(strstr(err_text(), "--password-file"));
    stop(&w);
    w = start(SAMPLES "encrypted_empty_user.pdf", "owner-recto");
    assert_int_equal(make(&w, 0, line), 0);
    assert_true(shell_says("qpdf --check %s 2>&1", w.path, "File is not encrypted"));
    stop(&w);
    w = start(SAMPLES "encrypted_user.pdf", "recto");
    assert_int_equal(make(&w, 0, line), 0);
    assert_true(shell_says("pdftotext %s -", w.path, "AA A"));
    stop(&w);
}

/* An ordinary document whose catalog says that it is signed. */
static void signed_documents_are_refused(void **state)
{
    static const char pdf[] =
        "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R/AcroForm<</SigFlags 3/Fields[]>>>>\nendobj\n"
        "2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n"
        "3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>\nendobj\n"
        "trailer\n<</Root 1 0 R/Size 4>>\nstartxref\n9\n%%EOF\n";
    char path[64];
    struct work w;

    snprintf(path, sizeof path, "/tmp/recto-test-signed-%d.pdf", (int)getpid());
    assert_int_equal(file_write(path, str_of(pdf)), 0);
    w = start(path, NULL);
    assert_int_equal(make(&w, 0, line), RECTO_EUSAGE);
    assert_non_null(strstr(err_text(), "--break-signature"));
    assert_int_equal(make(&w, PDF_BREAK_SIGNATURE, line), 0);
    stop(&w);
    unlink(path);
}

/* ---- the helper ---- */

static void the_sandbox_holds(void **state)
{
    static const struct {
        const char *probe;
        bool is_killed;
    } cases[] = {{"open", true}, {"socket", true}, {"exec", true}, {"fork", true}, {"code", true}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        char command[256];
        int status;

        snprintf(command, sizeof command, "exec " PDF_HELPER " --probe %s </dev/null 2>/dev/null",
                 cases[i].probe);
        status = system(command);
        assert_true(status != 0);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
    }
}

static void records_out_of_place_are_refused(void **state)
{
    struct page_source *s = open_source(HELPER, 0, 60000);
    struct pdf_tool tool = page_source_pdf_tool(s);
    struct pdf_picture p = {
        .kind = PDF_PNG, .width = 1, .height = 1, .orientation = 1, .w_pt = 1, .h_pt = 1};
    struct buf file = {0};
    struct pdf_out *o;
    int rc;

    assert_int_equal(pdf_out_open(&o, NULL, &tool, 0), 0);
    rc = pdf_out_picture(o, &p, STR("no PNG"));
    if (rc == 0)
        rc = pdf_out_finish(o, keep, &file);
    assert_int_equal(rc, RECTO_EFORMAT);
    pdf_out_close(o);
    buf_reset(&file);
    tool.helper = "/nonexistent/recto-decode";
    assert_int_equal(pdf_out_open(&o, NULL, &tool, 0), RECTO_ERENDER);
    assert_null(o);
    page_source_close(s);
}

/* ---- content streams ---- */

static void content_is_understood(void **state)
{
    static const struct {
        const char *in, *out;
        int n_invisible, n_open, n_early;
    } cases[] = {
        {"BT 3 Tr /F 1 Tf (a) Tj ET", "BT 3 Tr /F 1 Tf  ET", 1, 0, 0},
        {"BT 3 Tr (a) Tj 0 Tr (b) Tj ET", "BT 3 Tr (a) Tj 0 Tr (b) Tj ET", 0, 0, 0},
        {"3 Tr BT (a) Tj ET", "3 Tr BT  ET", 1, 0, 0},               /* the mode lasts */
        {"q 3 Tr Q BT (a) Tj ET", "q 3 Tr Q BT (a) Tj ET", 0, 0, 0}, /* until Q */
        {"BT 3 Tr [(a) -9 <00ff> (\\)])] TJ ET", "BT 3 Tr  ET", 1, 0, 0},
        {"BT 3 Tr 1 2 (x) \" ET", "BT 3 Tr 1 Tw 2 Tc  ET", 1, 0, 0},
        {"BT 3 Tr ((a) 3 Tr) ' ET", "BT 3 Tr  ET", 1, 0, 0},
        {"% BT 3 Tr (a) Tj ET\nq q", "% BT 3 Tr (a) Tj ET\nq q", 0, 2, 0},
        {"Q Q q", "Q Q q", 0, 1, 2},
        {"BI /W 1 ID q Q q\xff EI\xff q EI Q", "BI /W 1 ID q Q q\xff EI\xff q EI Q", 0, 0, 1},
        {"/q /Q <</a (q)>> BDC EMC", "/q /Q <</a (q)>> BDC EMC", 0, 0, 0},
        {"BT 3 Tr (a) Tj", "BT 3 Tr (a) Tj", 0, 0, 0}, /* never ends: left alone */
        {"BT 3 Tr (a", "BT 3 Tr (a", 0, 0, 0},
        {"BT 3 Tr Tj ET", "BT 3 Tr Tj ET", 0, 0, 0},
        {"[[<<", "[[<<", 0, 0, 0},
        {"", "", 0, 0, 0},
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct content_look look;
        struct buf out = {0};

        content_look(&look, str_of(cases[i].in), &out);
        assert_true(str_eq(buf_view(&out), str_of(cases[i].out)));
        assert_int_equal(look.n_invisible, cases[i].n_invisible);
        assert_int_equal(look.n_open, cases[i].n_open);
        assert_int_equal(look.n_early, cases[i].n_early);
        buf_reset(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_understood),
        cmocka_unit_test(each_sample_gets_text),
        cmocka_unit_test(the_producer_is_named_behind_the_old_one),
        cmocka_unit_test(old_text_is_replaced_kept_or_respected),
        cmocka_unit_test(encrypted_documents_need_their_password),
        cmocka_unit_test(signed_documents_are_refused),
        cmocka_unit_test(the_sandbox_holds),
        cmocka_unit_test(records_out_of_place_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
