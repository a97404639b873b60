#include "pred.h"

#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static char *written(const char *format, const struct recto_page *page)
{
    char *text = NULL, *copy;
    size_t n;

    if (recto_write(format, &page, 1, &text, &n) < 0)
        return eval_copy("");
    copy = eval_copy(text);
    recto_free(text);
    return copy;
}

static int append(void *ctx, const char *side, const void *bytes, size_t n)
{
    if (!side)
        print_bytes(ctx, bytes, n);
    return 0;
}

/* The text of run_dpsk_ocr2_eval_batch.py. */
static char *official(const struct recto_page *page)
{
    struct recto_write_options o;
    struct recto_writer *w;
    struct page_text out = {0};

    recto_write_options_init(&o);
    o.official = "eval";
    print(&out, "%s", "");
    if (recto_writer_open(&w, "mmd", &o, append, &out) == 0) {
        recto_writer_page(w, page);
        recto_writer_close(w);
    }
    return out.p;
}

void eval_pred_take(struct eval_pred *p, const struct eval_set *s, struct recto_page *page)
{
    *p = (struct eval_pred){.is_there = page->status != RECTO_PAGE_ERROR &&
                                        page->status != RECTO_PAGE_CANCELLED,
                            .has_page = true,
                            .page = *page};
    *page = (struct recto_page){0};
    p->md = s->layout == EVAL_OMNIDOC ? official(&p->page) : written("md", &p->page);
    p->txt = written("txt", &p->page);
}

int eval_export(const struct eval_pred *p, const struct eval_case *c, const char *dir,
                struct eval_fault *f)
{
    char *path = eval_string("%s/%s.md", dir, c->name), *text = official(&p->page);
    int rc = eval_write_file(path, text, strlen(text), f);

    free(path);
    free(text);
    return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* DIR/NAME.ENDING, or its page in DIR/STEM.ENDING. NULL: neither is there. */
static char *find(const char *dir, const struct eval_case *c, const char *ending, bool *is_whole)
{
    char *path = eval_string("%s/%s%s", dir, c->name, ending);
    char *text = eval_read_file(path, NULL);

    *is_whole = !text;
    if (!text && c->stem && c->n_page > 1) {
        free(path);
        path = eval_string("%s/%s%s", dir, c->stem, ending);
        text = eval_read_file(path, NULL);
    }
    free(path);
    return text;
}

static char *page_of_md(char *md, const struct eval_case *c)
{
    char *page = md ? eval_md_page(md, c->page) : NULL;

    free(md);
    return page;
}

static char *page_of_txt(char *txt, int number)
{
    const char *at = txt;

    for (; at && number > 1; number--)
        at = (at = strchr(at, '\f')) ? at + 1 : NULL;
    char *page = at ? eval_string("%.*s", (int)strcspn(at, "\f"), at) : NULL;
    free(txt);
    return page;
}

/* The page of its number; of a file with one page that one. */
static const json_t *pick_page(const json_t *pages, int number)
{
    const json_t *page;
    size_t i;

    if (json_array_size(pages) == 1)
        return json_array_get(pages, 0);
    json_array_foreach(pages, i, page)
    {
        if (json_integer_value(json_object_get(page, "page")) == number)
            return page;
    }
    return NULL;
}

static int take_json(struct eval_pred *p, const struct eval_case *c, const char *dir,
                     const char *text, struct eval_fault *f)
{
    json_error_t why;
    json_t *root = json_loads(text, 0, &why);
    const json_t *page = pick_page(json_object_get(root, "pages"), c->page);
    char *object = page ? json_dumps(page, JSON_COMPACT) : NULL;
    int rc = 0;

    if (!root)
        rc = eval_fail(f, RECTO_EFORMAT, "%s/%s.json: %s", dir, c->name, why.text);
    else if (object && recto_page_from_json(object, strlen(object), &p->page) < 0)
        rc = eval_fail(f, RECTO_EFORMAT, "%s/%s.json: %s", dir, c->name, recto_last_error());
    else
        p->has_page = object != NULL;
    free(object);
    json_decref(root);
    return rc;
}

static void load_repeats(struct eval_pred *p, const struct eval_case *c, const char *dir)
{
    for (int k = 1;; k++) {
        char *path = eval_string("%s/%s_repeat%d.md", dir, c->name, k),
             *text = eval_read_file(path, NULL);

        free(path);
        if (!text)
            break;
        p->repeat = eval_grow(p->repeat, (size_t)k, sizeof *p->repeat);
        p->repeat[p->n_repeat++] = text;
    }
    p->is_there = p->n_repeat > 0;
    p->md = p->is_there ? eval_copy(p->repeat[0]) : NULL;
}

int eval_pred_load(struct eval_pred *p, const struct eval_case *c, const char *dir,
                   bool has_repeats, struct eval_fault *f)
{
    bool is_whole;
    int rc = 0;

    *p = (struct eval_pred){0};
    if (has_repeats) {
        load_repeats(p, c, dir);
        return 0;
    }
    p->md = find(dir, c, ".md", &is_whole);
    p->md = is_whole ? page_of_md(p->md, c) : p->md;
    p->txt = find(dir, c, ".txt", &is_whole);
    p->txt = is_whole ? page_of_txt(p->txt, c->page) : p->txt;
    if (!p->md)
        p->md = eval_copy(p->txt);
    p->is_there = p->md;
    char *json = find(dir, c, ".json", &is_whole);
    if (json)
        rc = take_json(p, c, dir, json, f);
    free(json);
    return rc;
}

void eval_pred_reset(struct eval_pred *p)
{
    free(p->md);
    free(p->txt);
    for (int i = 0; i < p->n_repeat; i++)
        free(p->repeat[i]);
    free(p->repeat);
    if (p->has_page)
        recto_page_reset(&p->page);
    *p = (struct eval_pred){0};
}
