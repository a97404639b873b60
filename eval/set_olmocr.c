/* olmOCR-bench: pdfs/ and *.jsonl, a test a line: {"pdf":..,"page":..,"id":..,"type":..,...}. */
#include "set.h"

#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const types[] = {"present", "absent", "order",    "table",
                                    "math",    "format", "baseline", "footnote"};

static bool is_known_type(const char *type)
{
    for (size_t i = 0; type && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

/* Tests of all pages so far, by the page's name; the PDFs that have a baseline. */
struct pages {
    json_t *tests, *pdfs;
};

static char *page_name(const char *pdf, int page)
{
    size_t n = strlen(pdf);

    n -= n > 4 && strcmp(pdf + n - 4, ".pdf") == 0 ? 4 : 0;
    return eval_string("%.*s_pg%d", (int)n, pdf, page);
}

/* The test joins those of its page, which becomes a case with the first. Takes test. */
static void add_test(struct eval_set *s, struct pages *p, json_t *test, const char *set)
{
    const char *pdf = json_string_value(json_object_get(test, "pdf"));
    int page = (int)json_integer_value(json_object_get(test, "page"));
    char *name = page_name(pdf, page);
    json_t *list = json_object_get(p->tests, name);

    if (!list) {
        struct eval_case *c = set_add(s, eval_copy(name));

        c->stem = eval_copy(name);
        c->file = eval_string("%s/pdfs/%s", s->path, pdf);
        c->page = page;
        if (!eval_is_file(c->file)) {
            free(c->file);
            c->file = NULL;
        }
        list = json_array();
        json_object_set_new(p->tests, name, list);
        c->more = list;
    }
    if (strcmp(json_string_value(json_object_get(test, "type")), "baseline") == 0)
        json_object_set_new(p->pdfs, pdf, json_true());
    else if (!json_object_get(p->pdfs, pdf))
        json_object_set_new(p->pdfs, pdf, json_false());
    json_object_set_new(test, "set", json_string(set));
    json_array_append_new(list, test);
    free(name);
}

static int add_line(struct eval_set *s, struct pages *p, const char *file, const char *line,
                    size_t n, int number, struct eval_fault *f)
{
    json_error_t why;
    json_t *test = json_loadb(line, n, 0, &why);
    const char *type = json_string_value(json_object_get(test, "type"));
    bool is_whole = json_is_string(json_object_get(test, "pdf")) &&
                    json_integer_value(json_object_get(test, "page")) > 0;

    if (test && is_whole && is_known_type(type)) {
        add_test(s, p, test, file);
        return 0;
    }
    eval_fail(f, RECTO_EFORMAT, "%s/%s:%d: %s", s->path, file, number,
              !test      ? why.text
              : is_whole ? "a test of a type that olmOCR-bench does not have"
                         : "a test needs \"pdf\" and \"page\"");
    json_decref(test);
    return f->code;
}

static int add_file(struct eval_set *s, struct pages *p, const char *file, struct eval_fault *f)
{
    char *path = eval_string("%s/%s", s->path, file), *text;
    size_t n;
    int rc = 0, number = 1;

    text = eval_read_file(path, &n);
    if (!text)
        rc = eval_fail(f, RECTO_EREAD, "cannot read %s: %s", path, strerror(errno));
    else
        SHA256_Update(&s->hash, (const void *)text, n);
    for (const char *line = text; line && *line && rc == 0; number++) {
        size_t len = strcspn(line, "\n");

        if (strspn(line, " \t\r") < len)
            rc = add_line(s, p, file, line, len, number, f);
        line += len + (line[len] == '\n');
    }
    free(text);
    free(path);
    return rc;
}

/* A PDF without a baseline of its own gets one, on its first page. */
static void add_baselines(struct eval_set *s, struct pages *p)
{
    const char *pdf;
    json_t *has;

    json_t *pdfs = json_copy(p->pdfs); /* add_test marks those that have one now */

    json_object_foreach(pdfs, pdf, has)
    {
        char *id = eval_string("%s_baseline", pdf);

        if (json_is_false(has))
            add_test(s, p,
                     json_pack("{sssissss}", "pdf", pdf, "page", 1, "id", id, "type", "baseline"),
                     "baseline");
        free(id);
    }
    json_decref(pdfs);
}

static int by_file(const void *a, const void *b)
{
    const struct eval_case *x = a, *y = b;

    return strcmp(x->name, y->name);
}

int set_open_olmocr(struct eval_set *s, struct eval_fault *f)
{
    struct pages p = {json_object(), json_object()};
    struct names list;
    int rc = names_list(&list, s->path, f);

    s->root = p.tests; /* owns what the cases point to */
    for (int i = 0; i < list.n && rc == 0; i++) {
        size_t n = strlen(list.name[i]);

        if (n > 6 && strcmp(list.name[i] + n - 6, ".jsonl") == 0)
            rc = add_file(s, &p, list.name[i], f);
    }
    if (rc == 0)
        add_baselines(s, &p);
    if (s->n > 0)
        qsort(s->at, (size_t)s->n, sizeof *s->at, by_file);
    json_decref(p.pdfs);
    names_reset(&list);
    return rc;
}
