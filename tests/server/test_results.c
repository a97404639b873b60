/* What comes out of a job: the formats, one page, pictures, edits. */
#include "desk_room.h"

#define FIGURE "<|ref|>image<|/ref|><|det|>[[100, 100, 800, 800]]<|/det|>\\n"
#define TITLE  "<|ref|>title<|/ref|><|det|>[[0, 0, 900, 90]]<|/det|>\\n# R & D\\n\\n"

static const char *const script = "{'pages': [{'page': 1, 'text': '" TITLE FIGURE
                                  "'}, {'page': 3, 'end': 'fail', 'text': 'x'},"
                                  " {'text': 'page {page} <script>'}]}";

static char *body_text(struct jobs_body *b)
{
    char *text = mem_zero(1, (size_t)b->size + 1);

    assert_int_equal(pread(b->fd, text, (size_t)b->size, 0), b->size);
    jobs_body_reset(b);
    return text;
}

static char *result(struct room *m, const char *id, const char *format)
{
    struct jobs_body b;

    if (jobs_result(m->jobs, "", id, format, false, &b) < 0)
        fail_msg("%s: %s", format, jobs_last_error());
    return body_text(&b);
}

static void open_with_job(struct room *m, char id[40])
{
    room_open(m, script);
    room_add(m, "", 4, "{'retry':{'max_retries':0},'rotate':0}", id);
    json_t *job = room_wait(m, id);
    assert_int_equal(count_of(job, "error"), 1);
    assert_int_equal(count_of(job, "ok"), 3);
    json_decref(job);
}

static void formats_hold_every_page(void **state)
{
    struct jobs_body b;
    struct room m;
    char id[40];

    open_with_job(&m, id);
    char *md = result(&m, id, "md");
    assert_non_null(strstr(md, "# R & D"));
    assert_non_null(strstr(md, "page 2 "));
    assert_non_null(strstr(md, "<!-- page 3: "));
    assert_non_null(strstr(md, "page 4 "));
    free(md);
    char *html = result(&m, id, "html");
    assert_non_null(strstr(html, "R &amp; D"));
    assert_null(strstr(html, "<script>"));
    assert_non_null(strstr(html, "data:image/"));
    free(html);
    char *text = result(&m, id, "json");
    json_t *json = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(json, "pages")), 4);
    assert_string_equal(text_of(json_array_get(json_object_get(json, "pages"), 2), "status"),
                        "error");
    json_decref(json);
    free(text);
    text = result(&m, id, "jsonl");
    assert_int_equal(text[strlen(text) - 1], '\n');
    free(text);
    text = result(&m, id, "pdf");
    assert_memory_equal(text, "%PDF-", 5);
    free(text);
    assert_int_equal(jobs_result(m.jobs, "", id, "doc", false, &b), JOBS_INVALID_VALUE);
    assert_int_equal(jobs_result(m.jobs, "x", id, "md", false, &b), JOBS_NOT_FOUND);
    room_close(&m);
}

/* Read by Python's zipfile, which checks every checksum. */
static void the_archive_is_whole(void **state)
{
    static const char *const look =
        "python3 -c 'import zipfile,json,hashlib,sys; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None;"
        " m=json.loads(z.read(\"manifest.json\"))[\"sha256\"];"
        " assert all(hashlib.sha256(z.read(n)).hexdigest()==h for n,h in m.items());"
        " assert sorted(z.namelist())==sorted([*m,\"manifest.json\"]);"
        " assert any(n.startswith(\"document.files/p0001-f1\") for n in m), m;"
        " assert b\"document.files/p0001-f1\" in z.read(\"document.md\")' /proc/self/fd/9 9<%s";
    struct jobs_body a, b;
    struct room m;
    char id[40], command[1200], path[300];

    open_with_job(&m, id);
    if (jobs_result(m.jobs, "", id, "zip", false, &a) < 0)
        fail_msg("%s", jobs_last_error());
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), a.fd);
    snprintf(command, sizeof command, look, path);
    assert_int_equal(system(command), 0);
    assert_int_equal(jobs_result(m.jobs, "", id, "zip", false, &b), 0);
    assert_string_equal(a.etag, b.etag);
    assert_string_equal(a.name, "scan.zip");
    jobs_body_reset(&a);
    jobs_body_reset(&b);
    room_close(&m);
}

static void an_edit_counts_until_it_is_taken_back(void **state)
{
    static const char *const mine = "# Mine\n\nsecond paragraph\n";
    struct jobs_body b;
    struct room m;
    char id[40], etag[80], old[80];

    open_with_job(&m, id);
    assert_int_equal(jobs_page_result(m.jobs, "", id, 2, "md", false, 0, &b), 0);
    strcpy(old, b.etag);
    jobs_body_reset(&b);
    assert_int_equal(jobs_edit(m.jobs, "", id, 2, old, mine, strlen(mine), etag), 0);
    assert_string_not_equal(old, etag);
    assert_int_equal(jobs_edit(m.jobs, "", id, 2, old, "x", 1, etag), JOBS_EDIT_CONFLICT);
    assert_int_equal(jobs_edit(m.jobs, "", id, 2, NULL, "\xff", 1, etag), JOBS_INVALID_VALUE);
    assert_int_equal(jobs_page_result(m.jobs, "", id, 2, "md", false, 0, &b), 0);
    char *text = body_text(&b);
    assert_string_equal(text, mine);
    free(text);
    assert_int_equal(jobs_page_result(m.jobs, "", id, 2, "md", true, 0, &b), 0);
    text = body_text(&b);
    assert_non_null(strstr(text, "page 2"));
    free(text);
    text = result(&m, id, "md");
    assert_non_null(strstr(text, "# Mine"));
    assert_null(strstr(text, "page 2 <s"));
    free(text);
    json_t *row = room_page(&m, id, 2);
    assert_true(json_is_true(json_object_get(row, "edited")));
    json_decref(row);
    assert_int_equal(jobs_edit(m.jobs, "", id, 2, NULL, "", 0, etag), 0);
    assert_string_equal(etag, old);
    text = result(&m, id, "md");
    assert_null(strstr(text, "# Mine"));
    free(text);
    room_close(&m);
}

static void pictures_of_a_page(void **state)
{
    struct jobs_body b;
    struct room m;
    char id[40];

    open_with_job(&m, id);
    for (int width = 0; width <= 160; width += 160) {
        assert_int_equal(jobs_page_image(m.jobs, "", id, 2, width, &b), 0);
        char *jpeg = body_text(&b);
        assert_memory_equal(jpeg, "\xff\xd8\xff", 3);
        free(jpeg);
    }
    assert_int_equal(jobs_page_overlay(m.jobs, "", id, 1, &b), 0);
    assert_string_equal(b.media_type, "image/jpeg");
    jobs_body_reset(&b);
    assert_int_equal(jobs_page_crop(m.jobs, "", id, 1, 1, &b), 0);
    assert_true(b.size > 100);
    jobs_body_reset(&b);
    assert_int_equal(jobs_page_crop(m.jobs, "", id, 1, 2, &b), JOBS_NOT_FOUND);
    assert_int_equal(jobs_page_image(m.jobs, "", id, 2, 77, &b), JOBS_INVALID_VALUE);
    assert_int_equal(jobs_page_image(m.jobs, "", id, 9, 0, &b), JOBS_NOT_FOUND);
    assert_int_equal(jobs_page_overlay(m.jobs, "", id, 3, &b), JOBS_NOT_FOUND);
    room_close(&m);
}

static void inputs_come_back_as_they_were(void **state)
{
    struct buf tiff = tiff_of_pages(4);
    struct jobs_body b;
    struct room m;
    char id[40];

    open_with_job(&m, id);
    assert_int_equal(jobs_input(m.jobs, "", id, 0, &b), 0);
    assert_int_equal(b.size, tiff.n);
    assert_string_equal(b.name, "scan.tif");
    char *bytes = body_text(&b);
    assert_memory_equal(bytes, tiff.p, tiff.n);
    free(bytes);
    assert_int_equal(jobs_input(m.jobs, "", id, 1, &b), JOBS_NOT_FOUND);
    buf_reset(&tiff);
    room_close(&m);
}

static void an_unfinished_job_gives_what_it_has(void **state)
{
    struct jobs_body b;
    struct room m;
    char id[40];

    room_open(
        &m,
        "{'pages': [{'page': 1, 'text': 'first'}, {'text': 'x', 'end': 'on', 'token_ms': 50}]}");
    room_add(&m, "", 3, NULL, id);
    for (int i = 0; i < 1000; i++) {
        json_t *row = room_page(&m, id, 1);
        bool is_there = int_of(row, "best") == 1;
        json_decref(row);
        if (is_there)
            break;
        usleep(10000);
    }
    assert_int_equal(jobs_result(m.jobs, "", id, "md", false, &b), JOBS_JOB_NOT_FINISHED);
    assert_int_equal(jobs_page_result(m.jobs, "", id, 2, "md", false, 0, &b),
                     JOBS_JOB_NOT_FINISHED);
    assert_int_equal(jobs_result(m.jobs, "", id, "md", true, &b), 0);
    char *text = body_text(&b);
    assert_non_null(strstr(text, "first"));
    assert_non_null(strstr(text, "<!-- page 3: "));
    free(text);
    room_close(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_hold_every_page),
        cmocka_unit_test(the_archive_is_whole),
        cmocka_unit_test(an_edit_counts_until_it_is_taken_back),
        cmocka_unit_test(pictures_of_a_page),
        cmocka_unit_test(inputs_come_back_as_they_were),
        cmocka_unit_test(an_unfinished_job_gives_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
