#include "set.h"

#include "text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *eval_layout_name(enum eval_layout l)
{
    static const char *const names[] = {"folder", "OmniDocBench", "olmOCR-bench"};

    return names[l];
}

const char *eval_group_name(enum eval_group g)
{
    static const char *const names[] = {"kind", "language", "level"};

    return names[g];
}

struct eval_case *set_add(struct eval_set *s, char *name)
{
    if (s->n == s->cap)
        s->at = eval_grow(s->at, (size_t)(s->cap = 2 * s->cap + 64), sizeof *s->at);
    s->at[s->n] = (struct eval_case){.name = name, .page = 1, .n_page = 1};
    return &s->at[s->n++];
}

static void case_reset(struct eval_case *c)
{
    free(c->name);
    free(c->stem);
    free(c->file);
    free(c->md);
    free(c->txt);
    free(c->tables);
    for (int g = 0; g < N_EVAL_GROUP; g++)
        free(c->group[g]);
    if (c->layout)
        recto_page_reset(c->layout);
    free(c->layout);
}

/* Of several JSONL files in a folder, pdfs/ beside them. */
static bool is_olmocr(const char *path)
{
    char *pdfs = eval_string("%s/pdfs", path);
    struct eval_fault ignored;
    struct names list = {0};
    bool is = eval_is_dir(pdfs) && names_list(&list, path, &ignored) == 0, has = false;

    for (int i = 0; is && i < list.n; i++) {
        size_t n = strlen(list.name[i]);

        has |= n > 6 && strcmp(list.name[i] + n - 6, ".jsonl") == 0;
    }
    names_reset(&list);
    free(pdfs);
    return is && has;
}

static int find_layout(struct eval_set *s, struct eval_fault *f)
{
    char *pages = eval_string("%s/pages", s->path), *truth = eval_string("%s/truth", s->path);
    int rc = 0;

    if (eval_is_file(s->path))
        s->layout = EVAL_OMNIDOC;
    else if (is_olmocr(s->path))
        s->layout = EVAL_OLMOCR;
    else if (eval_is_dir(pages) || eval_is_dir(truth))
        s->layout = EVAL_FOLDER;
    else
        rc = eval_fail(
            f, eval_is_dir(s->path) ? RECTO_EKIND : RECTO_ENOTFOUND,
            "%s is no set of pages: expected a folder with pages/ and truth/, the JSON of OmniDocBench, or the "
            "folder of olmOCR-bench (pdfs/ and *.jsonl)",
            s->path);
    free(pages);
    free(truth);
    return rc;
}

int eval_set_open(struct eval_set *s, const char *path, const char *images, int limit,
                  struct eval_fault *f)
{
    int rc;

    *s = (struct eval_set){.path = eval_copy(path)};
    SHA256_Init(&s->hash);
    rc = find_layout(s, f);
    if (rc == 0)
        rc = s->layout == EVAL_FOLDER    ? set_open_folder(s, f)
             : s->layout == EVAL_OMNIDOC ? set_open_omnidoc(s, images, f)
                                         : set_open_olmocr(s, f);
    SHA256_End(&s->hash, s->truth_sha256);
    while (limit > 0 && s->n > limit)
        case_reset(&s->at[--s->n]);
    if (rc == 0 && s->n == 0)
        rc = eval_fail(f, RECTO_EEMPTY, "%s has no pages", path);
    return rc;
}

void eval_set_close(struct eval_set *s)
{
    for (int i = 0; i < s->n; i++)
        case_reset(&s->at[i]);
    free(s->at);
    free(s->path);
    json_decref(s->root);
    *s = (struct eval_set){0};
}

static bool hash_file(SHA256_CTX *h, const char *path)
{
    static unsigned char chunk[1 << 16];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0)
        SHA256_Update(h, chunk, (size_t)n);
    if (fd >= 0)
        close(fd);
    return n == 0;
}

void eval_set_hash_files(const struct eval_set *s, char hex[65])
{
    bool is_whole = true;
    SHA256_CTX h;

    SHA256_Init(&h);
    for (int i = 0; i < s->n && is_whole; i++) {
        const struct eval_case *c = &s->at[i];

        bool is_same = i > 0 && c->file && s->at[i - 1].file &&
                       strcmp(c->file, s->at[i - 1].file) == 0;

        if (!is_same) /* pages of one file follow each other */
            is_whole = c->file && hash_file(&h, c->file);
    }
    SHA256_End(&h, hex);
    if (!is_whole)
        hex[0] = '\0';
}

/* ---- pages of a Markdown file ---------------------------------------------------------------- */

/* Is a page break at the start of this line, and which page begins with it? 0: none. */
static int break_at(const char *line)
{
    int number = 0, end = 0;

    if (sscanf(line, "<!-- page %d -->%n", &number, &end) < 1 || end == 0)
        return 0;
    return line[end] == '\n' || line[end] == '\0' ? number : 0;
}

char *eval_md_page(const char *md, int number)
{
    const char *from = number == 1 && break_at(md) == 0 ? md : NULL;

    for (const char *line = md; *line;) {
        int n = break_at(line);
        const char *end = strchr(line, '\n');

        if (n > 0 && from)
            return eval_string("%.*s", (int)(line - from), from);
        line = end ? end + 1 : line + strlen(line);
        if (n == number)
            from = line;
    }
    return from ? eval_copy(from) : NULL;
}
