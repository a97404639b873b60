/* The text of pages while they are read: what there is so far, and who follows it. Nothing of this is stored. */
#include "desk.h"

#include <stdlib.h>
#include <string.h>

/* A page that is being read; under the text lock. */
struct live_text {
    struct live_text *next;
    char id[ID_BYTES];
    int page, attempt;
    char *text;
    size_t n, cap;
};

static struct live_text **live_at(struct jobs *j, const char *id, int page)
{
    struct live_text **at = &j->live_text;

    while (*at && (strcmp((*at)->id, id) != 0 || (*at)->page != page))
        at = &(*at)->next;
    return at;
}

static void append(struct live_text *l, const char *text, size_t n)
{
    if (l->n + n > l->cap) {
        l->cap = 2 * (l->n + n);
        l->text = realloc(l->text, l->cap);
        if (!l->text)
            abort();
    }
    memcpy(l->text + l->n, text, n);
    l->n += n;
}

void preview_add(struct jobs *j, const char *id, int page, int attempt, const char *text, size_t n)
{
    pthread_mutex_lock(&j->text_lock);
    struct live_text **at = live_at(j, id, page), *l = *at;
    if (!l) {
        l = *at = calloc(1, sizeof *l);
        if (!l)
            abort();
        strcpy(l->id, id);
        l->page = page;
        l->attempt = attempt;
    }
    size_t offset = l->n;
    append(l, text, n);
    for (const struct jobs_watch *w = j->text_watch; w; w = w->next)
        if (w->page == page && strcmp(w->id, id) == 0)
            w->text_fn(w->ctx, id, page, attempt, offset, text, n);
    pthread_mutex_unlock(&j->text_lock);
}

void preview_end(struct jobs *j, const char *id, int page)
{
    pthread_mutex_lock(&j->text_lock);
    struct live_text **at = live_at(j, id, page), *l = *at;
    if (l) {
        *at = l->next;
        free(l->text);
        free(l);
    }
    pthread_mutex_unlock(&j->text_lock);
}

void preview_end_all(struct jobs *j)
{
    pthread_mutex_lock(&j->text_lock);
    for (struct live_text *l = j->live_text, *next; l; l = next) {
        next = l->next;
        free(l->text);
        free(l);
    }
    j->live_text = NULL;
    pthread_mutex_unlock(&j->text_lock);
}

int jobs_watch_text(struct jobs *j, const char *owner, const char *id, int page, jobs_text_fn *fn,
                    void *ctx, struct jobs_watch **out)
{
    struct job_row job;
    int rc = store_job(j->store, owner, id, &job);

    *out = NULL;
    job_row_reset(&job);
    TRY(rc);
    struct jobs_watch *w = calloc(1, sizeof *w);
    if (!w)
        abort();
    *w = (struct jobs_watch){.jobs = j, .text_fn = fn, .ctx = ctx, .page = page};
    strcpy(w->id, id);
    pthread_mutex_lock(&j->text_lock);
    w->next = j->text_watch;
    j->text_watch = w;
    const struct live_text *l = *live_at(j, id, page);
    if (l)
        fn(ctx, id, page, l->attempt, 0, l->text, l->n);
    pthread_mutex_unlock(&j->text_lock);
    *out = w;
    return 0;
}
