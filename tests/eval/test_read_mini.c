/* Pages read by the mini model and scored: two of samples/, and pages made by recto-corpus. */
#include "recto.h"
#include "score.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct recto *engine;

static int open_engine(void **state)
{
    struct recto_settings s;

    recto_settings_init(&s);
    s.model_dir = SOURCE_DIR "/models/mini";
    s.helper = BIN_DIR "/recto-decode";
    return recto_open(&engine, &s);
}

static int close_engine(void **state)
{
    recto_close(engine);
    return 0;
}

/* The text of a picture; free with recto_free. */
static char *read_text(const char *path)
{
    struct recto_options o;
    struct recto_event ev;
    uint64_t request;
    char *text = NULL;
    size_t n;

    recto_options_init(&o);
    o.task = RECTO_TASK_TEXT;
    assert_int_equal(recto_submit(engine, &(struct recto_input){.path = path}, &o, &request), 0);
    for (bool done = false; !done;) {
        assert_int_equal(recto_poll(engine, &ev, 600000), 1);
        if (ev.kind == RECTO_EVENT_PAGE) {
            const struct recto_page *page = ev.page;

            assert_int_equal(recto_write("md", &page, 1, &text, &n), 0);
        }
        done = ev.kind == RECTO_EVENT_DONE;
        recto_event_reset(&ev);
    }
    assert_non_null(text);
    return text;
}

/* A one may be typed as l. */
static void l_for_1(char *s)
{
    for (; *s; s++)
        if (*s == '1')
            *s = 'l';
}

/* A typed page of 1-bit dots, far from what the model was trained on. Measured: 7 %. */
static void typewriter(void **state)
{
    char truth[] =
        "Linzensoep à la Waterman\n\n4 ons linzen\n3 liter water\n3 uien\nbloem, boter\n2 kopjes melk\n"
        "laurier, kruidnagel, kerrie, zout\n\nDe linzen wassen en in 1 liter kokend water 1 dag laten "
        "weken. 2 liter water bij de linzen voegen, zonder het water waarin ze geweekt zijn af te gieten. "
        "De helft van de uien bakken met laurier en kruidnagel. Alle uien, kerrie en zout bij de linzen "
        "voegen. Alles aan de kook brengen. Van de bloem met boter en melk een papje maken en verder "
        "afmaken met de soep. Als de linzen gaar zijn is de soep klaar.";
    char *text = read_text(SOURCE_DIR "/samples/typewriter.png");
    double cer;

    l_for_1(truth);
    l_for_1(text);
    cer = eval_cer(truth, text, EVAL_N1);
    print_message("typewriter.png: CER %.4f\n", cer);
    assert_true(cer < 0.10);
    recto_free(text);
}

static void crom(void **state)
{
    char *text = read_text(SOURCE_DIR "/samples/crom.png");
    double cer = eval_cer("Covfefe is a perfectly cromulent word.", text, EVAL_N1);

    print_message("crom.png: CER %.4f\n", cer);
    assert_true(cer == 0);
    recto_free(text);
}

/* Pages made by recto-corpus in the style the model knows; their truth is exact. Measured: 0.2 %. */
static void generated(void **state)
{
    static const char *const names[] = {"00001-mini-en", "00002-mini-en", "00003-mini-en",
                                        "00004-mini-en"};
    struct eval_errors all = {0};
    char dir[] = "/tmp/test_read_mini.XXXXXX", command[512];

    if (access(BIN_DIR "/recto-corpus", X_OK) != 0)
        skip(); /* built without Pango */
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command, BIN_DIR "/recto-corpus --kind mini --n 4 -o %s >/dev/null",
             dir);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[256], truth[4096];

        snprintf(path, sizeof path, "%s/truth/%s.md", dir, names[i]);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t n = fread(truth, 1, sizeof truth - 1, f);
        truth[n] = '\0';
        fclose(f);
        snprintf(path, sizeof path, "%s/pages/%s.png", dir, names[i]);
        char *text = read_text(path);
        struct eval_text a = eval_text_of(truth, strlen(truth), EVAL_N1);
        struct eval_text b = eval_text_of(text, strlen(text), EVAL_N1);
        struct eval_errors e = eval_char_errors(&a, &b);
        all.edits += e.edits;
        all.ref += e.ref;
        eval_text_reset(&a);
        eval_text_reset(&b);
        recto_free(text);
    }
    print_message("generated pages: %zu edits in %zu characters, CER %.4f\n", all.edits, all.ref,
                  eval_rate(all));
    assert_true(all.ref > 500 && eval_rate(all) < 0.02);
    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typewriter),
        cmocka_unit_test(crom),
        cmocka_unit_test(generated),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
