/* The scripted device: everything as with a model, but for what it says. */
#include "scripted.h"

#include "base/clock.h"

static struct recto_options options(void)
{
    struct recto_options o;

    recto_options_init(&o);
    return o;
}

/* Read a small picture by a script of one entry. */
static struct recto_page *read_by(const char *entry, const struct recto_options *o)
{
    struct picture p = picture_of_lines(600, 600, 12);
    struct buf script = {0};
    struct recto *r;
    struct recto_page *page;

    buf_fmt(&script, "{'pages':[%s]}", entry);
    r = scripted_open(script.p);
    page = scripted_read(r, "one.ppm", &p, o);
    recto_close(r);
    buf_reset(&script);
    buf_reset(&p.ppm);
    return page;
}

static void reads_what_is_written(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by(
        "{'text':'<|ref|>title<|/ref|><|det|>[[10, 20, 500, 60]]<|/det|>\\n# Page {page} of "
        "{document}','logp':-0.5}",
        &o);

    assert_int_equal(p->status, RECTO_PAGE_OK);
    assert_int_equal(p->finish, RECTO_FINISH_EOS);
    assert_int_equal(p->n_block, 1);
    assert_int_equal(p->block[0].kind, RECTO_BLOCK_TITLE);
    assert_string_equal(p->block[0].text, "Page 1 of one.ppm");
    assert_int_equal(p->block[0].box[0].y2, 60);
    assert_true(p->n_token > 5 && p->n_prompt > p->n_visual && p->n_visual > 0);
    assert_true(p->conf > 0.606 && p->conf < 0.607);
    assert_int_equal(p->n_intervention, 0);
    scripted_free(p);
}

static void repeats_and_ends(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by("{'text':'a ','repeat':'xy','times':3,'tail':' z'}", &o);

    assert_string_equal(p->block[0].text, "a xyxyxy z");
    scripted_free(p);
}

static void repeats_for_ever(void **state)
{
    struct recto_options o = options();
    struct recto_page *p;

    o.guard_n = -1;
    p = read_by("{'text':'start ','repeat':'again and '}", &o);
    assert_int_equal(p->finish, RECTO_FINISH_LOOP);
    assert_int_equal(p->status, RECTO_PAGE_LOOP);
    scripted_free(p);
}

/* What the guard forbids is replaced, and counted. */
static void guard_works_on_it(void **state)
{
    struct recto_options o = options();
    struct recto_page *p;

    o.guard_n = 5;
    o.guard_w = 50;
    p = read_by("{'repeat':'a','times':8}", &o);
    assert_int_equal(p->n_token, 8);
    assert_true(p->n_intervention > 0);
    assert_string_equal(p->block[0].text, "aaaaa0aa");
    scripted_free(p);
}

static void runs_on_to_the_limit(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by("{'text':'From here: ','end':'on'}", &o);

    assert_int_equal(p->finish, RECTO_FINISH_LENGTH);
    assert_true(p->n_token > 5000);
    assert_int_equal(p->n_intervention, 0);
    assert_non_null(strstr(p->block[0].text, "From here: 1 2 3 4 5 6 7 8 9 10 11"));
    scripted_free(p);
}

static void fails_as_told(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by("{'text':'abc','end':'fail'}", &o);

    assert_int_equal(p->status, RECTO_PAGE_ERROR);
    assert_int_equal(p->error, RECTO_EDEVICE);
    assert_non_null(strstr(p->error_text, "script lets this page fail"));
    scripted_free(p);
}

/* No entry, no reading: nothing is made up. */
static void nothing_scripted(void **state)
{
    struct recto_options o = options();
    struct recto_page *p = read_by("{'document':'two.ppm','text':'abc'}", &o);

    assert_int_equal(p->status, RECTO_PAGE_ERROR);
    assert_non_null(strstr(p->error_text, "nothing for one.ppm page 1"));
    scripted_free(p);
}

static void refused(const char *script, const char *text)
{
    struct recto_settings s;
    struct recto *r;

    recto_settings_init(&s);
    assert_int_equal(scripted_try(&r, script, &s), RECTO_EFORMAT);
    if (!strstr(recto_last_error(), text))
        fail_msg("'%s' should contain '%s'", recto_last_error(), text);
}

static void wrong_scripts(void **state)
{
    refused("[]", "pages is missing");
    refused("{'pages':[{'txt':'a'}]}", "pages[0]: no key 'txt'");
    refused("{'pages':[{'text':1}]}", "pages[0]: text: expected a string");
    refused("{'pages':[{'text':'a'},{'end':'never'}]}", "pages[1].end: expected eos");
    refused("{'pages':[{'logp':1}]}", "logp");
}

static void says_what_it_is(void **state)
{
    struct recto *r = scripted_open("{'pages':[]}");
    struct recto_info info;

    recto_get_info(r, &info);
    assert_string_equal(info.backend, "script");
    assert_string_equal(info.kernels, "none: text is scripted");
    assert_false(info.is_default_model);
    assert_non_null(strstr(recto_features(), "for tests: sim, script"));
    recto_close(r);
}

/* The mini model, which has no tiles, as a model that has: all its files but for one word of config.json. */
static void make_tiled(const char *dir)
{
    static const char *const same[] = {"generation_config.json", "model.safetensors",
                                       "tokenizer.json", "tokenizer_config.json"};
    char from[300], to[300];
    struct buf config = {0};
    char *word;

    for (size_t i = 0; i < COUNT(same); i++) {
        snprintf(from, sizeof from, SOURCE_DIR "/models/mini/%s", same[i]);
        snprintf(to, sizeof to, "%s/%s", dir, same[i]);
        assert_int_equal(symlink(from, to), 0);
    }
    assert_int_equal(file_read(&config, SOURCE_DIR "/models/mini/config.json", 1 << 20), 0);
    buf_text(&config, "");
    word = strstr(config.p, "\"crop_mode\": false");
    assert_non_null(word);
    memcpy(word, "\"crop_mode\":  true", 18);
    snprintf(to, sizeof to, "%s/config.json", dir);
    assert_int_equal(file_write(to, buf_view(&config)), 0);
    buf_reset(&config);
}

static void remove_tiled(const char *dir)
{
    char command[300];

    snprintf(command, sizeof command, "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

/* A page over 768 x 768 has tiles, unless only its global view is asked for. */
static void whole_view_has_no_tiles(void **state)
{
    char dir[] = "/tmp/recto-tiled-XXXXXX";
    struct picture picture = picture_of_lines(1000, 1000, 12);
    struct recto_options o = options();
    struct recto_settings set;
    struct recto_page *tiled, *whole;
    struct recto *r;

    assert_non_null(mkdtemp(dir));
    make_tiled(dir);
    recto_settings_init(&set);
    set.model_dir = dir;
    if (scripted_try(&r,
                     "{'pages':[{'view':'global','text':'whole'},{'view':'tiles','text':'tiled'}]}",
                     &set) < 0)
        fail_msg("%s", recto_last_error());
    tiled = scripted_read(r, "a.ppm", &picture, &o);
    o.whole_view = true;
    whole = scripted_read(r, "a.ppm", &picture, &o);
    assert_string_equal(tiled->block[0].text, "tiled");
    assert_string_equal(whole->block[0].text, "whole");
    assert_true(tiled->tiles_w * tiled->tiles_h > 1);
    assert_int_equal(whole->tiles_w * whole->tiles_h, 1);
    assert_int_equal(whole->n_visual, 257);
    assert_true(tiled->n_visual > whole->n_visual);
    scripted_free(tiled);
    scripted_free(whole);
    recto_close(r);
    buf_reset(&picture.ppm);
    remove_tiled(dir);
}

/* Many pages at once, each with its own text; the arithmetic costs nothing. */
static void many_pages(void **state)
{
    enum { PAGES = 400 };
    struct recto *r = scripted_open(
        "{'pages':[{'text':'{document} ','repeat':'and word {document}, ','times':20}]}");
    struct picture p = picture_of_lines(200, 200, 4);
    struct recto_options o = options();
    int64_t start = clock_ns(), n_tok = 0;
    char name[32];

    o.guard_n = -1;
    o.no_loop_check = o.no_blank_check = true;
    for (int i = 0, done = 0; done < PAGES;) {
        for (; i < PAGES && i < done + 32; i++) {
            snprintf(name, sizeof name, "d%d", i);
            scripted_submit(r, name, &p, &o);
        }
        struct recto_page *page = scripted_next(r);

        assert_int_equal(page->status, RECTO_PAGE_OK);
        assert_memory_equal(page->block[0].text, "d", 1);
        n_tok += page->n_token;
        scripted_free(page);
        done++;
    }
    print_message("%d pages, %lld ids in %.2f s\n", PAGES, (long long)n_tok,
                  clock_ms_since(start) / 1e3);
    recto_close(r);
    buf_reset(&p.ppm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_written),
        cmocka_unit_test(repeats_and_ends),
        cmocka_unit_test(repeats_for_ever),
        cmocka_unit_test(guard_works_on_it),
        cmocka_unit_test(runs_on_to_the_limit),
        cmocka_unit_test(fails_as_told),
        cmocka_unit_test(nothing_scripted),
        cmocka_unit_test(wrong_scripts),
        cmocka_unit_test(says_what_it_is),
        cmocka_unit_test(whole_view_has_no_tiles),
        cmocka_unit_test(many_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
