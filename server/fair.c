#include "fair.h"

#include <stdlib.h>
#include <string.h>

/* Virtual time is in 1/FINE pages: whole for every weight. */
enum { N_CLASS = 3, FINE = 24 };
static const int weight[N_CLASS] = {8, 3, 1};

struct fair_job {
    struct fair_job *next;
    int64_t job, start; /* virtual time at which its next page begins */
    int n_page;
    bool is_told; /* fair_look_ahead's, of a copy */
};

struct fair_owner {
    struct fair_owner *next;
    char *name;
    int64_t start, now; /* `now`: of its jobs */
    struct fair_job *jobs;
};

struct fair_class {
    int64_t start, now; /* `now`: of its owners */
    struct fair_owner *owners;
};

struct fair {
    int64_t now;
    struct fair_class class[N_CLASS];
};

struct fair *fair_new(void)
{
    struct fair *f = calloc(1, sizeof *f);

    if (!f)
        abort();
    return f;
}

static void free_owner(struct fair_owner *o)
{
    for (struct fair_job *j = o->jobs, *next; j; j = next) {
        next = j->next;
        free(j);
    }
    free(o->name);
    free(o);
}

void fair_free(struct fair *f)
{
    for (int c = 0; f && c < N_CLASS; c++)
        for (struct fair_owner *o = f->class[c].owners, *next; o; o = next) {
            next = o->next;
            free_owner(o);
        }
    free(f);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- finding; lists are in the order of arrival, so that ties go to who came first ---------------------------------------------------- */
static struct fair_owner *owner_at(struct fair_class *c, const char *name)
{
    struct fair_owner **at = &c->owners;

    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at || !((*at)->name = strdup(name)))
            abort();
        (*at)->start = c->now;
    }
    return *at;
}

static struct fair_job *job_at(struct fair_owner *o, int64_t job)
{
    struct fair_job **at = &o->jobs;

    while (*at && (*at)->job != job)
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at)
            abort();
        **at = (struct fair_job){.job = job, .start = o->now};
    }
    return *at;
}

void fair_add(struct fair *f, enum recto_class class, const char *owner, int64_t job, int n_page)
{
    struct fair_class *c = &f->class[class];

    if (n_page <= 0)
        return;
    if (!c->owners)
        c->start = later(c->start, f->now);
    job_at(owner_at(c, owner), job)->n_page += n_page;
}

/* ---- leaving: who has nothing to wait for is forgotten ----------------------------------------------------------------------------------- */
static void drop_from(struct fair_class *c, int64_t job)
{
    for (struct fair_owner **at = &c->owners; *at;) {
        struct fair_owner *o = *at;
        for (struct fair_job **j = &o->jobs; *j;) {
            struct fair_job *gone = *j;
            if (gone->job != job) {
                j = &gone->next;
                continue;
            }
            *j = gone->next;
            free(gone);
        }
        if (o->jobs) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        free_owner(o);
    }
}

void fair_drop(struct fair *f, int64_t job)
{
    for (int c = 0; c < N_CLASS; c++)
        drop_from(&f->class[c], job);
}

/* ---- choosing ------------------------------------------------------------------------------------------------------------------ */
static struct fair_class *first_class(struct fair *f, bool interactive_only)
{
    struct fair_class *best = NULL;

    for (int c = 0; c < (interactive_only ? 1 : N_CLASS); c++)
        if (f->class[c].owners && (!best || f->class[c].start < best->start))
            best = &f->class[c];
    return best;
}

static struct fair_owner *first_owner(const struct fair_class *c)
{
    struct fair_owner *best = c->owners;

    for (struct fair_owner *o = best; o; o = o->next)
        best = o->start < best->start ? o : best;
    return best;
}

static struct fair_job *first_job(const struct fair_owner *o)
{
    struct fair_job *best = o->jobs;

    for (struct fair_job *j = best; j; j = j->next)
        best = j->start < best->start ? j : best;
    return best;
}

bool fair_next(struct fair *f, bool interactive_only, int64_t *job, enum recto_class *class)
{
    struct fair_class *c = first_class(f, interactive_only);

    if (!c)
        return false;
    *job = first_job(first_owner(c))->job;
    *class = (enum recto_class)(c - f->class);
    return true;
}

static struct fair_owner *owner_of(const struct fair_class *c, int64_t job, struct fair_job **j)
{
    for (struct fair_owner *o = c->owners; o; o = o->next)
        for (*j = o->jobs; *j; *j = (*j)->next)
            if ((*j)->job == job)
                return o;
    return NULL;
}

/* Virtual time of a level is the start of whoever is served. */
void fair_served(struct fair *f, enum recto_class class, int64_t job, int n_page, int n_left)
{
    struct fair_class *c = &f->class[class];
    struct fair_job *j;
    struct fair_owner *o = owner_of(c, job, &j);

    if (!o)
        return;
    f->now = c->start;
    c->now = o->start;
    o->now = j->start;
    c->start += (int64_t)n_page * FINE / weight[class];
    o->start += (int64_t)n_page * FINE;
    j->start += (int64_t)n_page * FINE;
    j->n_page = n_left;
    if (n_left <= 0)
        drop_from(c, job);
}

int fair_waiting(const struct fair *f, enum recto_class class, int64_t job)
{
    struct fair_job *j;

    return owner_of(&f->class[class], job, &j) ? j->n_page : 0;
}

/* ---- looking ahead ------------------------------------------------------------------------------------------------------------- */
static struct fair_job *copy_jobs(const struct fair_job *from)
{
    struct fair_job *first = NULL, **end = &first;

    for (; from; from = from->next) {
        struct fair_job *j = *end = malloc(sizeof *j);
        if (!j)
            abort();
        *j = (struct fair_job){.job = from->job, .start = from->start, .n_page = from->n_page};
        end = &j->next;
    }
    return first;
}

static struct fair *copy(const struct fair *f)
{
    struct fair *to = fair_new();

    to->now = f->now;
    for (int c = 0; c < N_CLASS; c++) {
        struct fair_owner **end = &to->class[c].owners;
        to->class[c].start = f->class[c].start;
        to->class[c].now = f->class[c].now;
        for (const struct fair_owner *o = f->class[c].owners; o; o = o->next) {
            struct fair_owner *n = *end = malloc(sizeof *n);
            if (!n || !(*n = *o, n->name = strdup(o->name)))
                abort();
            n->next = NULL;
            n->jobs = copy_jobs(o->jobs);
            end = &n->next;
        }
    }
    return to;
}

void fair_look_ahead(const struct fair *f, int piece, int n_step, fair_ahead_fn *fn, void *ctx)
{
    struct fair *mine = copy(f);
    enum recto_class class;
    int64_t job;
    int n_ahead = 0;

    for (int i = 0; i < n_step && fair_next(mine, false, &job, &class); i++) {
        struct fair_job *j;
        owner_of(&mine->class[class], job, &j);
        int n = j->n_page < piece ? j->n_page : piece;
        if (!j->is_told)
            fn(ctx, job, n_ahead);
        j->is_told = true;
        n_ahead += n;
        fair_served(mine, class, job, n, j->n_page - n);
    }
    fair_free(mine);
}
