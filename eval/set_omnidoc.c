/* OmniDocBench: a JSON array of pages; the images in a folder. */
#include "omni.h"
#include "set.h"

#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *page_string(const json_t *page, const char *key)
{
    return json_string_value(json_object_get(json_object_get(page, "page_info"), key));
}

static const char *attribute(const json_t *page, const char *key)
{
    const json_t *info = json_object_get(page, "page_info");

    return json_string_value(json_object_get(json_object_get(info, "page_attribute"), key));
}

/* As the official script calls its results: the base name without .jpg or .png. */
static char *name_of(const char *image)
{
    const char *slash = strrchr(image, '/'), *base = slash ? slash + 1 : image;
    size_t n = strlen(base);
    bool is_picture = n > 4 &&
                      (strcmp(base + n - 4, ".jpg") == 0 || strcmp(base + n - 4, ".png") == 0);

    return eval_string("%.*s", (int)(is_picture ? n - 4 : n), base);
}

static char *image_of(const char *dir, const char *image)
{
    const char *slash = strrchr(image, '/');
    char *path = eval_string("%s/%s", dir, image);

    if (!eval_is_file(path)) {
        free(path);
        path = eval_string("%s/%s", dir, slash ? slash + 1 : image);
    }
    if (eval_is_file(path))
        return path;
    free(path);
    return NULL;
}

static int add_page(struct eval_set *s, const json_t *page, size_t i, const char *dir,
                    struct eval_fault *f)
{
    const char *image = page_string(page, "image_path"), *kind = attribute(page, "data_source"),
               *lang = attribute(page, "language");

    if (!image || !json_is_array(json_object_get(page, "layout_dets")))
        return eval_fail(
            f, RECTO_EFORMAT,
            "%s: page %zu has no page_info.image_path or no layout_dets; expected the JSON of OmniDocBench",
            s->path, i + 1);
    struct eval_case *c = set_add(s, name_of(image));
    c->stem = eval_copy(c->name);
    c->file = image_of(dir, image);
    c->group[EVAL_KIND] = eval_copy(kind);
    c->group[EVAL_LANG] = eval_copy(lang);
    c->more = page;
    c->md = omni_truth_md(page);
    return 0;
}

int set_open_omnidoc(struct eval_set *s, const char *images, struct eval_fault *f)
{
    const char *slash = strrchr(s->path, '/');
    char *dir = images ? eval_copy(images)
                       : eval_string("%.*simages", slash ? (int)(slash + 1 - s->path) : 0, s->path);
    size_t n, i;
    char *text = eval_read_file(s->path, &n);
    json_error_t why;
    const json_t *page;
    int rc = 0;

    s->root = text ? json_loadb(text, n, 0, &why) : NULL;
    if (!text)
        rc = eval_fail(f, RECTO_EREAD, "cannot read %s: %s", s->path, strerror(errno));
    else if (!json_is_array(s->root))
        rc = eval_fail(f, RECTO_EFORMAT, "%s: %s", s->path,
                       s->root ? "no array; expected the JSON of OmniDocBench" : why.text);
    else
        SHA256_Update(&s->hash, (const void *)text, n);
    json_array_foreach(s->root, i, page)
    {
        if (rc == 0)
            rc = add_page(s, page, i, dir, f);
    }
    free(text);
    free(dir);
    return rc;
}
