#include "job_page.h"

#include "job_options.h"
#include "page_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int job_find_page(struct jobs *j, const char *owner, const char *id, int page, struct job_row *job,
                  struct page_row *row)
{
    *row = (struct page_row){0};
    TRY(store_job(j->store, owner, id, job));
    return store_page(j->store, job->key, page, row);
}

/* ---- Markdown to blocks ------------------------------------------------------------------------------------------------------------ */
static void add_block(struct recto_page *p, struct recto_block b, const char *text, size_t n)
{
    p->block = realloc(p->block, (size_t)(p->n_block + 1) * sizeof *p->block);
    if (!p->block)
        abort();
    b.order = p->n_block;
    b.flags = RECTO_BLOCK_IMPLICIT;
    b.label = strdup(recto_block_kind_name(b.kind));
    b.text = strndup(text, n);
    b.raw = strndup(text, n);
    if (!b.label || !b.text || !b.raw)
        abort();
    b.n_text = b.n_raw = n;
    p->block[p->n_block++] = b;
}

static bool is_blank_line(const char *line, const char *end)
{
    while (line < end && (*line == ' ' || *line == '\t' || *line == '\r'))
        line++;
    return line == end;
}

/* A paragraph, without its trailing line ends. */
static void add_paragraph(struct recto_page *p, const char *at, const char *end)
{
    struct recto_block b = {.kind = RECTO_BLOCK_TEXT};
    int level = 0;

    while (end > at && (end[-1] == '\n' || end[-1] == '\r'))
        end--;
    while (level < 6 && at + level < end && at[level] == '#')
        level++;
    if (level && at + level < end && at[level] == ' ') {
        b.kind = level == 1 ? RECTO_BLOCK_TITLE : RECTO_BLOCK_HEADING;
        b.level = level;
        at += level + 1;
    } else if (end - at >= 6 && strncmp(at, "<table", 6) == 0)
        b.kind = RECTO_BLOCK_TABLE;
    else if (end - at >= 3 && strncmp(at, "```", 3) == 0)
        b.kind = RECTO_BLOCK_CODE;
    if (end > at)
        add_block(p, b, at, (size_t)(end - at));
}

static void drop_blocks(struct recto_page *p)
{
    for (int i = 0; i < p->n_block; i++) {
        free(p->block[i].label);
        free(p->block[i].box);
        free(p->block[i].det);
        free(p->block[i].text);
        free(p->block[i].raw);
    }
    free(p->block);
    p->block = NULL;
    p->n_block = 0;
}

/* Blank lines part blocks; within a fence of code they do not. */
void page_take_text(struct recto_page *p, const char *text, size_t n)
{
    const char *end = text + n, *from = text;
    bool in_code = false;

    drop_blocks(p);
    for (const char *line = text; line < end;) {
        const char *eol = memchr(line, '\n', (size_t)(end - line)), *next = eol ? eol + 1 : end;
        if (end - line >= 3 && strncmp(line, "```", 3) == 0)
            in_code = !in_code;
        if (!in_code && is_blank_line(line, eol ? eol : end)) {
            add_paragraph(p, from, line);
            from = next;
        }
        line = next;
    }
    add_paragraph(p, from, end);
}

/* ---- loading ---------------------------------------------------------------------------------------------------------------------- */
static void no_reading(const struct page_row *row, struct recto_page *out)
{
    bool has_ended = row->state == PAGE_ENDED;
    const char *text = !has_ended        ? page_state_name(row->state)
                       : row->error_text ? row->error_text
                                         : "not read";

    *out = (struct recto_page){.number = row->page,
                               .status = has_ended ? row->status : RECTO_PAGE_ERROR,
                               .width = row->width,
                               .height = row->height,
                               .error = has_ended ? RECTO_EREAD : RECTO_EAGAIN,
                               .error_text = strdup(text)};
}

int job_page_edit(struct jobs *j, const struct job_row *job, const struct page_row *row,
                  char **text, size_t *n)
{
    char *path = blob_edit(&j->blob, job->id, row->page, row->edited);
    int rc = blob_read(path, text, n);

    free(path);
    return rc;
}

int job_page_load(struct jobs *j, const struct job_row *job, const struct page_row *row,
                  enum page_version version, int attempt, struct recto_page *out)
{
    size_t n;
    char *text;

    if (attempt || row->best)
        TRY(page_file_read(&j->blob, job->id, row->page, attempt ? attempt : row->best, out));
    else
        no_reading(row, out);
    if (version == VERSION_MODEL || attempt || !row->edited[0])
        return 0;
    int rc = job_page_edit(j, job, row, &text, &n);
    if (rc < 0) {
        recto_page_reset(out);
        return rc;
    }
    page_take_text(out, text, n);
    if (out->status == RECTO_PAGE_ERROR || out->status == RECTO_PAGE_CANCELLED)
        out->status = RECTO_PAGE_OK; /* the user has said what is there */
    free(text);
    return 0;
}

int job_document(struct jobs *j, const struct job_row *job, int input, struct recto_document **out)
{
    struct input_row *in;
    int n, rc = store_inputs(j->store, job->key, &in, &n);

    *out = NULL;
    if (rc == 0 && input < n) {
        json_t *options = json_loads(job->options, 0, NULL);
        char *path = blob_input(&j->blob, in[input].sha256), *password = jobs_password(j, job->id);
        struct recto_input from = {.name = in[input].name, .path = path, .password = password};
        from.dpi = (int)options_int(options, "dpi", 0);
        rc = recto_document_open(out, &from, j->set.engine);
        if (rc == RECTO_EPASSWORD)
            rc = fault(JOBS_PASSWORD_REQUIRED, "password",
                       "the password of %s is no longer known: retry a page with it",
                       in[input].name);
        else if (rc < 0)
            rc = fault(JOBS_UNREADABLE, NULL, "%s: %s", in[input].name, recto_last_error());
        if (password)
            explicit_bzero(password, strlen(password));
        free(password);
        free(path);
        json_decref(options);
    } else if (rc == 0)
        rc = fault(JOBS_NOT_FOUND, NULL, "the job has no file %d", input);
    for (int i = 0; i < n; i++)
        input_row_reset(&in[i]);
    free(in);
    return rc;
}
