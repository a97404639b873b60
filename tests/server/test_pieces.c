/* The parts of the HTTP side that need no server: multipart, the sieve, routes, addresses, rates, names of hosts. */
#include "check.h"
#include "limit.h"
#include "listen.h"
#include "multipart.h"
#include "route.h"
#include "sieve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- multipart ------------------------------------------------------------------------------------------------------- */
static int on_begin(void *ctx, const struct multipart_part *p)
{
    text_fmt(ctx, "<%s|%s>", p->name, p->filename);
    return 0;
}

static int on_content(void *ctx, const char *bytes, size_t n)
{
    text_add(ctx, bytes, n);
    return 0;
}

static int on_end(void *ctx)
{
    text_str(ctx, "</>");
    return 0;
}

/* What comes out of a body in pieces of `cut` bytes, with "!" behind it when it is refused. */
static char *parts_of(const char *body, size_t n, size_t cut)
{
    struct text out = {0};
    struct multipart_calls calls = {on_begin, on_content, on_end, &out};
    struct multipart m;
    int rc = multipart_begin(&m, "multipart/form-data; boundary=\"b\"", &calls);

    for (size_t i = 0; rc == 0 && i < n; i += cut)
        rc = multipart_push(&m, body + i, n - i < cut ? n - i : cut);
    if (rc == 0)
        rc = multipart_finish(&m);
    if (rc < 0) {
        assert_non_null(m.error);
        text_char(&out, '!');
    }
    multipart_reset(&m);
    return text_take(&out);
}

static void test_multipart(void **state)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        {"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\nxyz\r\n--b--",
         "<file|a.pdf>xyz</>"},
        {"preamble\r\n--b\r\n\r\nxyz\r\n--b--\r\nepilogue", "<|>xyz</>"},
        {"--b\r\n\r\na\r\n--b \t\r\n\r\nc\r\n--b--", "<|>a</><|>c</>"},
        {"--b\r\n\r\n\r\n--b--", "<|></>"},
        {"--b\r\n\r\na\r\n-b\r\n--\r\n--b--", "<|>a\r\n-b\r\n--</>"},
        {"--b\r\nContent-Disposition: form-data; name=\"a\\\"b\\\\\"\r\nX: y\r\n\r\n1\r\n--b--",
         "<a\"b\\|>1</>"},
        {"--b\r\ncontent-disposition: form-data; filename=\"f\"; name=\"n\"\r\n\r\n1\r\n--b--",
         "<n|f>1</>"},
        {"--b\r\n\r\nabc", "<|>abc!"},
        {"--b\r\n\r\nabc\r\n--bx\r\n", "<|>abc</>!"},
        {"", "!"},
        {"--c\r\n\r\nabc\r\n--c--", "!"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t cut = 1; cut < 90; cut += cut < 8 ? 1 : 27) {
            char *got = parts_of(cases[i].body, strlen(cases[i].body), cut);
            /* a body that ends early: its last bytes may be held back */
            if (!strchr(cases[i].want, '!'))
                assert_string_equal(got, cases[i].want);
            else
                assert_int_equal(got[strlen(got) - 1], '!');
            free(got);
        }
}

static void test_boundaries(void **state)
{
    static const char *const bad[] = {
        "multipart/form-data", "multipart/form-data; boundary=", "text/plain; boundary=x",
        "multipart/form-data; boundary=\"a\rb\"", "multipart/form-data; boundary=\"x \""};
    struct multipart_calls calls = {on_begin, on_content, on_end, NULL};
    struct multipart m;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(multipart_begin(&m, bad[i], &calls), -1);
        multipart_reset(&m);
    }
    assert_int_equal(
        multipart_begin(&m, "multipart/form-data; charset=x; boundary=a'b; y=z", &calls), 0);
    assert_string_equal(m.delimiter, "\r\n--a'b");
    multipart_reset(&m);
}

/* ---- the sieve ------------------------------------------------------------------------------------------------------- */
static void sieves(const char *json, const char *want, const char *file, size_t cut)
{
    struct sieve s;
    char bytes[64] = "";

    sieve_begin(&s, "/tmp");
    for (size_t i = 0, n = strlen(json); i < n; i += cut)
        assert_int_equal(sieve_push(&s, json + i, n - i < cut ? n - i : cut), 0);
    assert_string_equal(s.text.p, want);
    assert_int_equal(s.n_file, file != NULL);
    if (file) {
        assert_int_equal(pread(s.fd[0], bytes, sizeof bytes, 0), (ssize_t)strlen(file));
        assert_string_equal(bytes, file);
        assert_int_equal(s.bytes[0], (int64_t)strlen(file));
    }
    sieve_reset(&s);
}

static void test_sieve(void **state)
{
    for (size_t cut = 1; cut < 60; cut += cut < 6 ? 1 : 17) {
        sieves("{\"a\":\"data:image/png;base64,aGVsbG8=\",\"b\":1}", "{\"a\":\"\\u00010\",\"b\":1}",
               "hello", cut);
        sieves("[\"data:;base64,aGVsbG8\"]", "[\"\\u00010\"]", "hello", cut);
        sieves("[\"DATA:x;BASE64,Pz8\\/Pz8_\"]", "[\"\\u00010\"]", "\?\?\?\?\?\?", cut);
        sieves("[\"data:image/png,plain\"]", "[\"data:image/png,plain\"]", NULL, cut);
        sieves("[\"data:\", \"dat\", \"\", \"x\\\"data:;base64,AAAA\"]",
               "[\"data:\", \"dat\", \"\", \"x\\\"data:;base64,AAAA\"]", NULL, cut);
        sieves("{\"k\\\\\":\"v\"}", "{\"k\\\\\":\"v\"}", NULL, cut);
    }
}

static void test_sieve_refuses(void **state)
{
    static const char *const bad[] = {"[\"data:;base64,@\"]", "[\"data:;base64,A\"]",
                                      "[\"data:;base64,AA=A\"]", "[\"data:;base64,AA===\"]",
                                      "[\"data:;base64,AA\\n\"]"};
    struct sieve s;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sieve_begin(&s, "/tmp");
        assert_int_equal(sieve_push(&s, bad[i], strlen(bad[i])), -1);
        assert_non_null(s.error);
        assert_false(s.is_full);
        sieve_reset(&s);
    }
    sieve_begin(&s, "/nonexistent");
    assert_int_equal(sieve_push(&s, "[\"data:;base64,AAAA\"]", 21), -1);
    assert_true(s.is_full);
    sieve_reset(&s);
}

static void test_sieve_bounds(void **state)
{
    static const char one[] = "\"data:;base64,AAAA\",";
    static char block[1 << 20];
    struct sieve s;
    int rc = 0;

    sieve_begin(&s, "/tmp");
    for (int i = 0; i < SIEVE_FILES && rc == 0; i++)
        rc = sieve_push(&s, one, sizeof one - 1);
    assert_int_equal(rc, 0);
    assert_int_equal(sieve_push(&s, one, sizeof one - 1), -1);
    sieve_reset(&s);
    memset(block, ' ', sizeof block);
    sieve_begin(&s, "/tmp");
    for (int i = 0; i < 4; i++)
        assert_int_equal(sieve_push(&s, block, sizeof block), 0);
    assert_int_equal(sieve_push(&s, " ", 1), -1);
    sieve_reset(&s);
}

/* ---- routes and addresses -------------------------------------------------------------------------------------------- */
static void test_routes(void **state)
{
    char param[4][ROUTE_PARAM_MAX], allow[64];

    assert_true(
        route_fits("/v1/jobs/{job}/pages/{page}.{format}", "/v1/jobs/j/pages/12.md", param, 4));
    assert_string_equal(param[0], "j");
    assert_string_equal(param[1], "12");
    assert_string_equal(param[2], "md");
    assert_false(route_fits("/v1/jobs/{job}", "/v1/jobs/", param, 4));
    assert_false(route_fits("/v1/jobs/{job}", "/v1/jobs/a/b", param, 4));
    assert_false(route_fits("/a/{b}/c", "/a/b", param, 4));
    assert_non_null(route_find("HEAD", "/healthz", param, 4, allow));
    assert_null(route_find("PUT", "/v1/jobs", param, 4, allow));
    assert_string_equal(allow, "POST, GET");
    assert_null(route_find("GET", "/v1/nothing/here", param, 4, allow));
    assert_string_equal(allow, "");
}

static void test_addresses(void **state)
{
    assert_true(address_in("127.9.9.9", "127.0.0.0/8"));
    assert_false(address_in("128.0.0.1", "127.0.0.0/8"));
    assert_true(address_in("10.1.2.3", "10.1.2.3"));
    assert_true(address_in("::1", "::1/128"));
    assert_false(address_in("::1", "0.0.0.0/0"));
    assert_false(address_in("nonsense", "0.0.0.0/0"));
    assert_true(address_in("unix", "unix"));
    assert_false(address_in("127.0.0.1", "127.0.0.0/99"));
    assert_true(listen_is_local("127.0.0.1:80"));
    assert_true(listen_is_local("[::1]:80"));
    assert_true(listen_is_local("localhost:80"));
    assert_true(listen_is_local("unix:/x"));
    assert_false(listen_is_local("0.0.0.0:80"));
    assert_false(listen_is_local("[::]:80"));
    assert_false(listen_is_local("127.0.0.1.example:80"));
}

static void test_hosts(void **state)
{
    static const struct server_list names = {{"ocr.example"}, 1};
    static const char
        *const good[] = {"localhost", "LOCALHOST:8080",   "127.0.0.1:1",    "192.0.2.7",
                         "[::1]",     "[2001:db8::1]:80", "Ocr.Example:443"},
               *const bad[] = {
                   "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "",   "[::1",
                   "[evil]",       "ocr.example@evil",       "localhost:80x",          ":80"};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!host_is_known(&names, good[i]))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (host_is_known(&names, bad[i]))
            fail_msg("%s", bad[i]);
}

static void test_rates(void **state)
{
    struct limit *l = limit_open();
    struct limit_state s;

    for (int i = 0; i < 3; i++)
        assert_true(limit_take(l, "a", 10, 3, &s));
    assert_int_equal(s.remaining, 0);
    assert_false(limit_take(l, "a", 10, 3, &s));
    assert_in_range(s.retry_ms, 1, 101);
    assert_true(limit_take(l, "b", 10, 3, &s));
    assert_true(limit_take(l, "a", 0, 3, &s));
    usleep(120000);
    assert_true(limit_take(l, "a", 10, 3, &s));
    limit_close(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_multipart),    cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_sieve),        cmocka_unit_test(test_sieve_refuses),
        cmocka_unit_test(test_sieve_bounds), cmocka_unit_test(test_routes),
        cmocka_unit_test(test_addresses),    cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
