/* A folder with pages/ and truth/. */
#include "set.h"

#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of one file, before it is cut into pages. */
struct truths {
    char *md, *txt, *html;
    json_t *json; /* the array of its pages; NULL: none */
    int n_page;
};

/* ---- names ----------------------------------------------------------------------------------- */

static char *stem_of(const char *name)
{
    const char *dot = strrchr(name, '.');

    return eval_string("%.*s", dot && dot != name ? (int)(dot - name) : (int)strlen(name), name);
}

static bool is_page_file(const char *path)
{
    char head[1024];
    FILE *f = fopen(path, "rbe");
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;

    if (f)
        fclose(f);
    return n > 0 && recto_kind(head, n);
}

/* A stem, and the file of pages/ that has it (NULL: only a truth has). */
struct file {
    char *stem, *path;
};

struct files {
    struct file *at;
    int n, cap;
};

static void files_add(struct files *l, char *stem, char *path)
{
    if (l->n == l->cap)
        l->at = eval_grow(l->at, (size_t)(l->cap = 2 * l->cap + 64), sizeof *l->at);
    l->at[l->n++] = (struct file){stem, path};
}

static void files_reset(struct files *l)
{
    for (int i = 0; i < l->n; i++) {
        free(l->at[i].stem);
        free(l->at[i].path);
    }
    free(l->at);
}

static int by_stem(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    int order = strcmp(x->stem, y->stem);

    return order ? order : !x->path - !y->path; /* a file before its truths */
}

static int list_pages(struct eval_set *s, struct files *l, struct eval_fault *f)
{
    char *dir = eval_string("%s/pages", s->path);
    struct names names = {0};
    int rc = eval_is_dir(dir) ? names_list(&names, dir, f) : 0;

    for (int i = 0; i < names.n; i++) {
        char *path = eval_string("%s/%s", dir, names.name[i]);

        if (is_page_file(path))
            files_add(l, stem_of(names.name[i]), path);
        else {
            s->n_unknown++;
            free(path);
        }
    }
    names_reset(&names);
    free(dir);
    return rc;
}

static int list_truths(struct eval_set *s, struct files *l, struct eval_fault *f)
{
    static const char *const endings[] = {".txt", ".md", ".json", ".html"};
    char *dir = eval_string("%s/truth", s->path);
    struct names names = {0};
    int rc = eval_is_dir(dir) ? names_list(&names, dir, f) : 0;

    for (int i = 0; i < names.n; i++) {
        const char *dot = strrchr(names.name[i], '.');

        for (size_t k = 0; dot && k < sizeof endings / sizeof *endings; k++)
            if (strcmp(dot, endings[k]) == 0)
                files_add(l, stem_of(names.name[i]), NULL);
    }
    names_reset(&names);
    free(dir);
    return rc;
}

/* Each stem once; two files with the same one cannot be told apart. */
static int join_stems(struct files *l, struct eval_fault *f)
{
    int n = 0;

    if (l->n > 0)
        qsort(l->at, (size_t)l->n, sizeof *l->at, by_stem);
    for (int i = 0; i < l->n; i++) {
        if (n == 0 || strcmp(l->at[n - 1].stem, l->at[i].stem) != 0) {
            struct file one = l->at[i];

            l->at[i] = (struct file){0};
            l->at[n++] = one;
            continue;
        }
        if (l->at[i].path)
            return eval_fail(f, RECTO_EUSAGE, "%s and %s would have the same truth; rename one",
                             l->at[n - 1].path, l->at[i].path);
        free(l->at[i].stem);
        l->at[i] = (struct file){0};
    }
    l->n = n;
    return 0;
}

/* ---- truth ----------------------------------------------------------------------------------- */

/* A file of truth/, or NULL; its name and bytes go into the hash. */
static char *load(struct eval_set *s, const char *stem, const char *ending)
{
    char *path = eval_string("%s/truth/%s%s", s->path, stem, ending);
    size_t n;
    char *text = eval_read_file(path, &n);

    if (text) {
        SHA256_Update(&s->hash, (const void *)stem, strlen(stem) + 1);
        SHA256_Update(&s->hash, (const void *)ending, strlen(ending) + 1);
        SHA256_Update(&s->hash, (const void *)text, n);
    }
    free(path);
    return text;
}

static int load_json(struct eval_set *s, const char *stem, struct truths *t, struct eval_fault *f)
{
    char *text = load(s, stem, ".json");
    json_error_t why;
    json_t *root = text ? json_loads(text, 0, &why) : NULL;

    if (text && !json_is_array(json_object_get(root, "pages")))
        eval_fail(f, RECTO_EFORMAT, "%s/truth/%s.json: %s", s->path, stem,
                  root ? "no array \"pages\"; expected recto-layout-1" : why.text);
    else if (text)
        t->json = json_incref(json_object_get(root, "pages"));
    json_decref(root);
    free(text);
    return text && !t->json ? f->code : 0;
}

static int count_pages(const struct truths *t)
{
    int n = t->json ? (int)json_array_size(t->json) : 1, n_txt = 1, n_md = 1;

    for (const char *p = t->txt; p && (p = strchr(p, '\f')); p++)
        n_txt++;
    for (char *page; t->md && (page = eval_md_page(t->md, n_md + 1)); free(page))
        n_md++;
    n = n > n_txt ? n : n_txt;
    return n > n_md ? n : n_md;
}

static char *txt_page(const char *txt, int number)
{
    for (; txt && number > 1; number--)
        txt = (txt = strchr(txt, '\f')) ? txt + 1 : NULL;
    return txt ? eval_string("%.*s", (int)strcspn(txt, "\f"), txt) : NULL;
}

static int take_layout(struct eval_case *c, const json_t *page, struct eval_fault *f)
{
    static const char *const keys[] = {"kind", "lang", "level"};
    char *text = json_dumps(page, JSON_COMPACT);
    int rc;

    c->layout = eval_alloc(1, sizeof *c->layout);
    rc = recto_page_from_json(text ? text : "", text ? strlen(text) : 0, c->layout);
    if (rc < 0)
        eval_fail(f, rc, "truth of page %s: %s", c->name, recto_last_error());
    for (int g = 0; g < N_EVAL_GROUP; g++)
        c->group[g] = eval_copy(json_string_value(json_object_get(page, keys[g])));
    free(text);
    return rc;
}

static int add_page(struct eval_set *s, const struct file *file, const struct truths *t, int number,
                    struct eval_fault *f)
{
    struct eval_case *c = set_add(s, t->n_page > 1 ? eval_string("%s-p%04d", file->stem, number)
                                                   : eval_copy(file->stem));

    c->stem = eval_copy(file->stem);
    c->file = eval_copy(file->path);
    c->page = number;
    c->n_page = t->n_page;
    c->md = t->md ? eval_md_page(t->md, number) : NULL;
    c->txt = txt_page(t->txt, number);
    if (t->html && t->n_page == 1)
        c->tables = eval_copy(t->html);
    const json_t *page = json_array_get(t->json, (size_t)number - 1);
    return page ? take_layout(c, page, f) : 0;
}

static int add_file(struct eval_set *s, const struct file *file, struct eval_fault *f)
{
    struct truths t = {.md = load(s, file->stem, ".md"),
                       .txt = load(s, file->stem, ".txt"),
                       .html = load(s, file->stem, ".html")};
    int rc = load_json(s, file->stem, &t, f);

    t.n_page = count_pages(&t);
    for (int i = 1; i <= t.n_page && rc == 0; i++)
        rc = add_page(s, file, &t, i, f);
    free(t.md);
    free(t.txt);
    free(t.html);
    json_decref(t.json);
    return rc;
}

int set_open_folder(struct eval_set *s, struct eval_fault *f)
{
    struct files list = {0};
    int rc = list_pages(s, &list, f);

    if (rc == 0)
        rc = list_truths(s, &list, f);
    if (rc == 0)
        rc = join_stems(&list, f);
    for (int i = 0; i < list.n && rc == 0; i++)
        rc = add_file(s, &list.at[i], f);
    files_reset(&list);
    return rc;
}
