/* recto-corpus: the same seed gives the same bytes, and its truth is true: recto's writers make the same
 * texts of the same blocks, ink is where the boxes say and nowhere else, the words of a PDF are those of
 * the truth. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "recto.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/test_corpus.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

/* Run a shell command in the folder; its output is thrown away. */
static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    struct buf command = {0};
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_fmt(&command, "cd '%s' && PATH='%s':$PATH && { %s; } >/dev/null", dir, BIN_DIR, text);
    int rc = system(command.p);
    buf_reset(&command);
    return rc;
}

static struct buf load(const char *path)
{
    char whole[512];
    struct buf b = {0};

    snprintf(whole, sizeof whole, "%s/%s", dir, path);
    if (file_read(&b, whole, (size_t)64 << 20) < 0)
        fail_msg("%s", recto_last_error());
    return b;
}

/* Call back with the name, without its ending, of each truth in corpus/truth. */
static int each_truth(const char *corpus, void (*check)(const char *corpus, const char *name))
{
    char path[128];
    struct dirent **entry;
    int n, n_checked = 0;

    snprintf(path, sizeof path, "%s/%s/truth", dir, corpus);
    n = scandir(path, &entry, NULL, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        char *dot = strstr(entry[i]->d_name, ".json");

        if (dot) {
            *dot = '\0';
            check(corpus, entry[i]->d_name);
            n_checked++;
        }
        free(entry[i]);
    }
    free(entry);
    return n_checked;
}

/* ---- seeds ----------------------------------------------------------------------------------- */

static void same_seed_same_bytes(void **state)
{
    assert_int_equal(run("recto-corpus --n 4 --dpi 60 --seed 7 -o one"), 0);
    assert_int_equal(run("recto-corpus --n 4 --dpi 60 --seed 7 -o two"), 0);
    assert_int_equal(run("diff -r one two"), 0);
    assert_int_equal(run("recto-corpus --n 1 --lang en --dpi 60 --seed 8 -o three"), 0);
    assert_int_not_equal(
        run("cmp three/truth/00001-technical-en.txt one/truth/00001-technical-en.txt"), 0);
    assert_int_equal(run("recto-corpus --n 4 --lang en,de --as book --seed 7 -o four"), 0);
    assert_int_equal(run("recto-corpus --n 4 --lang en,de --as book --seed 7 -o five"), 0);
    assert_int_equal(run("diff -r four five"), 0);
    /* the first page of a longer run is that of a shorter one */
    assert_int_equal(run("recto-corpus --n 1 --lang en --dpi 60 --seed 7 -o six"), 0);
    assert_int_equal(run("cmp six/pages/00001-technical-en.png one/pages/00001-technical-en.png"),
                     0);
}

static void wrong_calls(void **state)
{
    static const char *const calls[] = {"",
                                        "-o x --kind letters",
                                        "-o x --n 0",
                                        "-o x --lang en,xx",
                                        "-o x --spoil fire",
                                        "-o x --as docx",
                                        "-o x --level bad",
                                        "-o x --level poor --spoil none",
                                        "-o x y"};

    for (size_t i = 0; i < COUNT(calls); i++)
        if (run("recto-corpus %s 2>err; [ $? -eq 2 ] && grep -q -- '--seed N' err", calls[i]) != 0)
            fail_msg("recto-corpus %s: expected a usage error", calls[i]);
    assert_int_not_equal(run("recto-corpus --n 1 -o /dev/null/x 2>err"), 0);
}

/* The same texts at every level, other pixels, and no page better at the worse one. */
static void levels(void **state)
{
    static const char *const names[] = {"clean", "worn", "poor"};

    for (int i = 0; i < 3; i++)
        assert_int_equal(run("recto-corpus --kind mini --n 6 --level %s -o %s", names[i], names[i]),
                         0);
    assert_int_equal(run("diff -r -x '*.json' clean/truth worn/truth"), 0);
    assert_int_equal(run("diff -r -x '*.json' clean/truth poor/truth"), 0);
    assert_int_equal(run("grep -c '\"spoils\":\\[\\]' clean/index.jsonl | grep -qx 6"), 0);
    assert_int_equal(run("! grep '\"spoils\":\\[\\]' worn/index.jsonl poor/index.jsonl"), 0);
    assert_int_equal(run("grep -q '\"level\":\"poor\"' poor/truth/00001-mini-en.json"), 0);
    assert_int_equal(run("grep -q '\"level\":\"worn\"' worn/index.jsonl"), 0);
    assert_int_not_equal(run("cmp worn/pages/00001-mini-en.* poor/pages/00001-mini-en.*"), 0);
    assert_int_equal(run("recto-corpus --kind mini --n 6 --level poor -o again"), 0);
    assert_int_equal(run("diff -r poor again"), 0);
}

/* ---- truth against recto's own writers --------------------------------------------------------- */

/* The truth has no links to pictures: their place in the page is in the JSON only. */
static void drop_links(struct buf *md)
{
    for (char *at; md->n && (at = strstr(md->p, "![")) != NULL;) {
        char *end = strstr(at, "\n\n");
        size_t n = end ? (size_t)(end + 2 - at) : strlen(at);

        memmove(at, at + n, md->n - (size_t)(at - md->p) - n + 1);
        md->n -= n;
    }
}

static void same_text(const char *corpus, const char *name, const char *format,
                      const struct recto_page *page)
{
    char path[160], *text;
    size_t n;

    snprintf(path, sizeof path, "%s/truth/%s.%s", corpus, name, format);
    struct buf want = load(path), got = {0};
    assert_int_equal(recto_write(format, &page, 1, &text, &n), 0);
    buf_add(&got, text, n);
    drop_links(&got);
    if (!str_eq(buf_view(&got), buf_view(&want)))
        fail_msg("%s: recto writes\n%s\nthe truth is\n%s", path, got.p, want.p);
    recto_free(text);
    buf_reset(&got);
    buf_reset(&want);
}

static void writers_agree_on(const char *corpus, const char *name)
{
    char path[160];
    struct recto_page page;

    snprintf(path, sizeof path, "%s/truth/%s.json", corpus, name);
    struct buf json = load(path);
    if (recto_page_from_json(json.p, json.n, &page) < 0)
        fail_msg("%s: %s", path, recto_last_error());
    assert_true(page.n_block > 0);
    same_text(corpus, name, "md", &page);
    same_text(corpus, name, "txt", &page);
    recto_page_reset(&page);
    buf_reset(&json);
}

static void writers_agree(void **state)
{
    assert_int_equal(run("recto-corpus --n 24 --as pdf --seed 3 --dpi 50 --spoil none -o texts"),
                     0);
    assert_int_equal(each_truth("texts", writers_agree_on), 24);
}

/* ---- boxes against pixels ---------------------------------------------------------------------- */

struct ink {
    struct recto_image image;
    bool is_turned; /* boxes are wider than their ink */
    unsigned char *is_boxed;
};

static bool is_dark(const struct recto_image *im, int x, int y)
{
    return im->rgb[((size_t)y * (size_t)im->width + (size_t)x) * 3] < 128;
}

/* Every edge of a box touches ink: it has some within three pixels of it, inside. */
static void check_edges(const struct recto_image *im, const int box[4], const char *text)
{
    int x1 = box[2], y1 = box[3], x2 = box[0], y2 = box[1];

    for (int y = MAX(box[1], 0); y < MIN(box[3], im->height); y++)
        for (int x = MAX(box[0], 0); x < MIN(box[2], im->width); x++)
            if (is_dark(im, x, y)) {
                x1 = MIN(x1, x);
                y1 = MIN(y1, y);
                x2 = MAX(x2, x + 1);
                y2 = MAX(y2, y + 1);
            }
    if (x1 - box[0] > 3 || y1 - box[1] > 3 || box[2] - x2 > 3 || box[3] - y2 > 3)
        fail_msg("'%s': box %d,%d-%d,%d, ink %d,%d-%d,%d", text, box[0], box[1], box[2], box[3], x1,
                 y1, x2, y2);
}

static void mark(struct ink *k, const int box[4])
{
    for (int y = MAX(box[1], 0); y < MIN(box[3], k->image.height); y++)
        for (int x = MAX(box[0], 0); x < MIN(box[2], k->image.width); x++)
            k->is_boxed[(size_t)y * (size_t)k->image.width + (size_t)x] = 1;
}

static void check_line(struct ink *k, json_t *line)
{
    const char *text;
    int box[4];

    assert_int_equal(json_unpack(line, "{s:s, s:[iiii]}", "text", &text, "box_px", &box[0], &box[1],
                                 &box[2], &box[3]),
                     0);
    if (!k->is_turned && strlen(text) > 2) /* a dot or a comma alone is not dark at this size */
        check_edges(&k->image, box, text);
    mark(k, box);
}

static void check_block(struct ink *k, json_t *block)
{
    json_t *line;
    const char *kind;
    size_t i;
    int x1, y1, x2, y2;

    assert_int_equal(
        json_unpack(block, "{s:s, s:[[iiii]]}", "kind", &kind, "boxes_999", &x1, &y1, &x2, &y2), 0);
    int w = k->image.width, h = k->image.height;
    int px[4] = {x1 * w / 999 - 3, y1 * h / 999 - 3, x2 * w / 999 + 4, y2 * h / 999 + 4};
    json_array_foreach(json_object_get(block, "lines"), i, line)
    {
        check_line(k, line);
        json_t *box = json_object_get(line, "box_px");
        assert_true(json_integer_value(json_array_get(box, 0)) >= px[0]);
        assert_true(json_integer_value(json_array_get(box, 3)) <= px[3]);
    }
    assert_true(i > 0 || strcmp(kind, "figure") == 0);
    mark(k, px);
}

static void boxes_hold_on(const char *corpus, const char *name)
{
    char path[256];
    struct recto_document *d;
    struct recto_settings s;
    struct ink k = {.is_turned = strcmp(corpus, "turned") == 0};
    json_t *root, *block;
    size_t i, n_out = 0;

    recto_settings_init(&s);
    s.helper = BIN_DIR "/recto-decode";
    snprintf(path, sizeof path, "%s/%s/pages/%s.png", dir, corpus, name);
    assert_int_equal(recto_document_open(&d, &(struct recto_input){.path = path}, &s), 0);
    assert_int_equal(recto_document_render(d, 1, &k.image), 0);
    k.is_boxed = mem_zero((size_t)k.image.width * (size_t)k.image.height, 1);
    snprintf(path, sizeof path, "%s/%s/truth/%s.json", dir, corpus, name);
    assert_int_equal(json_read(&root, path, 1 << 24), 0);
    json_t *page = json_array_get(json_object_get(root, "pages"), 0);
    json_array_foreach(json_object_get(page, "blocks"), i, block) check_block(&k, block);
    for (int y = 0; y < k.image.height; y++)
        for (int x = 0; x < k.image.width; x++)
            n_out += is_dark(&k.image, x, y) &&
                     !k.is_boxed[(size_t)y * (size_t)k.image.width + (size_t)x];
    if (n_out > 0)
        fail_msg("%s: %zu dark pixels outside all boxes", name, n_out);
    json_decref(root);
    free(k.is_boxed);
    recto_image_reset(&k.image);
    recto_document_close(d);
}

static void boxes_hold(void **state)
{
    assert_int_equal(run("recto-corpus --kind technical --n 3 --lang en,ru --seed 5 -o boxes"), 0);
    assert_int_equal(run("recto-corpus --kind tables --n 3 --lang fr,ja --seed 5 -o boxes"), 0);
    assert_int_equal(each_truth("boxes", boxes_hold_on), 6);
    assert_int_equal(run("recto-corpus --kind technical --n 1 --lang de --spoil skew3 -o turned"),
                     0);
    assert_int_equal(each_truth("turned", boxes_hold_on), 1);
}

/* ---- a PDF's words, a table of equal cells ------------------------------------------------------ */

static void words_of_a_pdf(void **state)
{
    assert_int_equal(run("recto-corpus --kind mini --as book --n 40 -o book"), 0);
    assert_int_equal(run("pdftotext -raw book/pages/book.pdf - | tr -s ' \\n\\f\\t' '\\n' >got"),
                     0);
    assert_int_equal(run("tr -s ' \\n\\f\\t' '\\n' <book/truth/book.txt >want"), 0);
    assert_int_equal(run("diff got want >&2"), 0);
    assert_int_equal(run("[ $(grep -c '<!-- page' book/truth/book.md) -eq 39 ]"), 0);
    assert_int_equal(run("[ $(wc -l <book/index.jsonl) -eq 41 ]"), 0);
}

static void equal_cells(void **state)
{
    assert_int_equal(run("recto-corpus --kind cells --n 1 -o cells"), 0);
    assert_int_equal(run("[ $(grep -o '<td>0</td>' cells/truth/*.html | wc -l) -eq 365 ]"), 0);
    assert_int_equal(run("[ $(grep -o '<tr>' cells/truth/*.html | wc -l) -eq 73 ]"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_bytes),
        cmocka_unit_test(wrong_calls),
        cmocka_unit_test(levels),
        cmocka_unit_test(writers_agree),
        cmocka_unit_test(boxes_hold),
        cmocka_unit_test(words_of_a_pdf),
        cmocka_unit_test(equal_cells),
    };

    return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
