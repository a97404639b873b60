#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGES_MAX = 1000000, LINE_MAX_ = 1 << 28, SYNC_S = 2 };

struct work_page {
    off_t at;
    size_t n; /* 0: unknown, or only noted */
    int number;
    bool is_known;
    enum recto_status status;
};

/* --- the table -------------------------------------------------------------------------------- */
/* Make room for `n` pages; those are the document's. */
static int set_pages(struct work *w, int n)
{
    if (n <= w->n_page)
        return 0;
    struct work_page *page = realloc(w->page, (size_t)n * sizeof *page);
    if (!page)
        return -1;
    memset(page + w->n_page, 0, (size_t)(n - w->n_page) * sizeof *page);
    w->page = page;
    w->n_page = n;
    return 0;
}

static void know(struct work *w, int index, struct work_page page)
{
    w->n_known += page.is_known - w->page[index].is_known;
    w->page[index] = page;
}

/* --- reading what an earlier run has left ------------------------------------------------------- */
static bool status_of(const char *name, enum recto_status *status)
{
    for (int s = 0; s <= RECTO_PAGE_CANCELLED; s++)
        if (strcmp(name, recto_status_name((enum recto_status)s)) == 0) {
            *status = (enum recto_status)s;
            return true;
        }
    return false;
}

/* The page object in a whole line without its newline; false if it is none of ours. */
static bool find_object(const char *line, size_t n, int *index, int *n_page, char status[16],
                        size_t *at)
{
    int head = 0;

    if (sscanf(line, "{\"index\":%d,\"pages\":%d,\"status\":\"%15[a-z]\",\"page\":%n", index,
               n_page, status, &head) != 3 ||
        head <= 0 || strlen(line) != n)
        return false;
    *at = (size_t)head;
    return *n_page > 0 && *n_page <= PAGES_MAX && *index >= 0 && *index < *n_page && n > *at + 1 &&
           line[n - 1] == '}';
}

static bool is_final(enum recto_status s)
{
    return s != RECTO_PAGE_ERROR && s != RECTO_PAGE_LOOP && s != RECTO_PAGE_LENGTH &&
           s != RECTO_PAGE_CANCELLED;
}

static bool take_line(struct work *w, const char *line, size_t n)
{
    struct work_page page = {0};
    struct recto_page p;
    int index, n_page;
    char name[16];
    size_t at;

    if (!find_object(line, n, &index, &n_page, name, &at) || !status_of(name, &page.status) ||
        (w->n_page && n_page != w->n_page))
        return false;
    page.n = n - 1 - at;
    page.at = w->size + (off_t)at;
    page.is_known = true;
    if (recto_page_from_json(line + at, page.n, &p) < 0)
        return false;
    page.number = p.number;
    bool is_same = p.status == page.status;
    recto_page_reset(&p);
    if (!is_same)
        return false;
    if (!is_final(page.status))
        return true; /* to be tried once more */
    if (set_pages(w, n_page) < 0)
        return false;
    know(w, index, page);
    return true;
}

/* Read up to the first line that is not whole; w->size is where that begins. */
static bool load(struct work *w, const char *identity)
{
    int fd = dup(w->fd);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    bool is_first = true, is_ours = false;

    while (f && (n = getline(&line, &cap, f)) > 0 && line[n - 1] == '\n') {
        line[n - 1] = 0;
        if (is_first)
            is_ours = strcmp(line, identity) == 0;
        if (is_first ? !is_ours : !take_line(w, line, (size_t)n - 1))
            break;
        is_first = false;
        w->size += n;
    }
    free(line);
    if (f)
        fclose(f);
    return is_ours;
}

/* --- writing ---------------------------------------------------------------------------------- */
/* One write, so that a line is there or is the torn last one; what a full disk took of it goes again. */
static int append(struct work *w, const char *line, size_t n)
{
    ssize_t done;

    do
        done = pwrite(w->fd, line, n, w->size);
    while (done < 0 && errno == EINTR);
    if (done == (ssize_t)n) {
        w->size += done;
        w->is_dirty = true;
        return 0;
    }
    int why = done < 0 ? errno : ENOSPC;
    if (ftruncate(w->fd, w->size) < 0)
        why = errno;
    errno = why;
    return -1;
}

int work_put(struct work *w, const struct recto_page *p)
{
    const char *status = recto_status_name(p->status);
    int n_page = p->n_index > 0 ? p->n_index : 1;
    char *object = NULL, *line = NULL;
    size_t n_object;

    if (p->index < 0 || p->index >= n_page) {
        errno = EINVAL;
        return -1;
    }
    if (recto_page_to_json(p, &object, &n_object) < 0 || set_pages(w, n_page) < 0) {
        recto_free(object);
        return -1;
    }
    int n = asprintf(&line, "{\"index\":%d,\"pages\":%d,\"status\":\"%s\",\"page\":%s}\n", p->index,
                     n_page, status, object);
    recto_free(object);
    if (n < 0)
        return -1;
    struct work_page page = {.at = w->size + n - 2 - (off_t)n_object,
                             .n = n_object,
                             .number = p->number,
                             .is_known = true,
                             .status = p->status};
    int rc = append(w, line, (size_t)n);
    free(line);
    if (rc == 0)
        know(w, p->index, page);
    return rc;
}

void work_note(struct work *w, const struct recto_page *p)
{
    struct work_page page = {.number = p->number, .is_known = true, .status = p->status};

    if (set_pages(w, p->n_index > 0 ? p->n_index : 1) == 0 && p->index < w->n_page)
        know(w, p->index, page);
}

int work_sync(struct work *w, double now)
{
    if (!w->is_dirty || !w->path || now < w->synced_at + SYNC_S)
        return 0;
    w->synced_at = now;
    w->is_dirty = false;
    return fdatasync(w->fd);
}

/* --- open and close --------------------------------------------------------------------------- */
static int open_unnamed(struct work *w)
{
    const char *dir = getenv("TMPDIR");
    char *path = NULL;

    if (asprintf(&path, "%s/recto-XXXXXX", dir && *dir ? dir : "/tmp") < 0)
        return -1;
    w->fd = mkostemp(path, O_CLOEXEC);
    if (w->fd >= 0)
        unlink(path);
    free(path);
    return w->fd < 0 ? -1 : 0;
}

/* Open and lock; again if another run has removed the file in between. */
static int open_locked(struct work *w)
{
    for (int i = 0; i < 10; i++) {
        struct stat mine, there;

        w->fd = open(w->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (w->fd < 0 || flock(w->fd, LOCK_EX | LOCK_NB) < 0 || fstat(w->fd, &mine) < 0)
            return -1;
        if (stat(w->path, &there) == 0 && there.st_ino == mine.st_ino &&
            there.st_dev == mine.st_dev) {
            w->was_there = mine.st_size > 0;
            return 0;
        }
        close(w->fd);
    }
    errno = EWOULDBLOCK;
    return -1;
}

int work_open(struct work *w, const char *path, const char *identity, bool resume)
{
    char *line = NULL;

    *w = (struct work){.fd = -1, .path = path ? strdup(path) : NULL};
    if (!path)
        return open_unnamed(w);
    if (!w->path || open_locked(w) < 0)
        return -1;
    bool goes_on = w->was_there && load(w, identity);
    w->was_other = w->was_there && !goes_on;
    if (!goes_on || !resume) {
        w->size = 0;
        w->n_page = w->n_known = 0;
    }
    if (ftruncate(w->fd, w->size) < 0)
        return -1;
    if (w->size > 0)
        return 0;
    int n = asprintf(&line, "%s\n", identity);
    int rc = n < 0 ? -1 : append(w, line, (size_t)n);
    free(line);
    return rc;
}

int work_end(struct work *w, bool remove)
{
    if (!w->path || w->fd < 0)
        return 0;
    return remove ? unlink(w->path) : fdatasync(w->fd);
}

void work_close(struct work *w)
{
    if (w->fd >= 0)
        close(w->fd);
    free(w->path);
    free(w->page);
    *w = (struct work){.fd = -1};
}

int work_is_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return -1;
    int rc = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return rc;
}

/* --- pages ------------------------------------------------------------------------------------ */
bool work_has(const struct work *w, int index, enum recto_status *status)
{
    if (index < 0 || index >= w->n_page || !w->page[index].is_known)
        return false;
    *status = w->page[index].status;
    return true;
}

static int read_back(const struct work *w, const struct work_page *page, struct recto_page *p)
{
    char *json = malloc(page->n + 1);
    int rc = -1;

    if (json && pread(w->fd, json, page->n, page->at) == (ssize_t)page->n) {
        rc = recto_page_from_json(json, page->n, p) < 0 ? -1 : 0;
        errno = EBADMSG;
    }
    free(json);
    return rc;
}

int work_get(const struct work *w, int index, struct recto_page *p)
{
    const struct work_page *page = &w->page[index];

    *p = (struct recto_page){.number = page->number, .status = page->status};
    if (page->n > 0 && read_back(w, page, p) < 0)
        return -1;
    if (page->status == RECTO_PAGE_CANCELLED)
        p->error = RECTO_ECANCELED;
    p->index = index;
    p->n_index = w->n_page;
    return 0;
}

bool *work_known(const struct work *w)
{
    bool *known = w->n_known > 0 ? calloc((size_t)w->n_page, sizeof *known) : NULL;

    for (int i = 0; known && i < w->n_page; i++)
        known[i] = w->page[i].is_known;
    return known;
}
