#include "manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* --- reading ---------------------------------------------------------------------------------- */
static bool take_file(struct manifest *m, const json_t *line, int number)
{
    const char *output = json_string_value(json_object_get(line, "output")),
               *digest = json_string_value(json_object_get(line, "identity"));
    const json_t *statuses = json_object_get(line, "statuses");

    if (!output || !digest)
        return true;
    if (m->n_file % 64 == 0) {
        void *grown = realloc(m->file, (size_t)(m->n_file + 64) * sizeof *m->file);
        if (!grown)
            return false;
        m->file = grown;
    }
    struct manifest_file *f = &m->file[m->n_file++];
    *f = (struct manifest_file){strdup(output), strdup(digest), number, {0}};
    for (int s = 0; s < N_STATUS; s++) {
        json_int_t n = json_integer_value(
            json_object_get(statuses, recto_status_name((enum recto_status)s)));
        f->n_status[s] = n > 0 && n < 1000000 ? (int)n : 0;
    }
    return f->output && f->digest;
}

static int by_output(const void *a, const void *b)
{
    const struct manifest_file *x = a, *y = b;
    int c = strcmp(x->output, y->output);

    return c ? c : x->line - y->line;
}

static void keep_last(struct manifest *m)
{
    int kept = 0;

    if (m->n_file > 0)
        qsort(m->file, (size_t)m->n_file, sizeof *m->file, by_output);
    for (int i = 0; i < m->n_file; i++) {
        if (i + 1 < m->n_file && strcmp(m->file[i].output, m->file[i + 1].output) == 0) {
            free(m->file[i].output);
            free(m->file[i].digest);
        } else
            m->file[kept++] = m->file[i];
    }
    m->n_file = kept;
}

/* Lines that are no JSON (torn by a kill) say nothing. */
static int read_lines(struct manifest *m)
{
    FILE *f = fopen(m->path, "re");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    bool good = true;

    for (int number = 0; f && good && (n = getline(&line, &cap, f)) > 0; number++) {
        json_t *v = json_loadb(line, (size_t)n, 0, NULL);
        const char *type = json_string_value(json_object_get(v, "type"));
        if (type && strcmp(type, "file") == 0)
            good = take_file(m, v, number);
        json_decref(v);
    }
    free(line);
    if (f)
        fclose(f);
    keep_last(m);
    return good ? 0 : -1;
}

const struct manifest_file *manifest_find(const struct manifest *m, const char *output,
                                          const char *digest)
{
    int low = 0, high = m->n_file;

    while (low < high) {
        int mid = (low + high) / 2, c = strcmp(m->file[mid].output, output);
        if (c == 0)
            return strcmp(m->file[mid].digest, digest) == 0 ? &m->file[mid] : NULL;
        if (c < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */
/* A line of its own, also behind one that a kill has torn; then given back. */
static int append(const struct manifest *m, char *line, size_t n)
{
    ssize_t done = m->fd < 0 ? (ssize_t)n : write(m->fd, line, n);

    free(line);
    if (done >= 0 && done < (ssize_t)n)
        errno = ENOSPC;
    return done == (ssize_t)n ? 0 : -1;
}

/* After a kill the last line may be torn: the next one starts on a line of its own. */
static int end_torn_line(const struct manifest *m)
{
    off_t end = lseek(m->fd, 0, SEEK_END);
    char last = '\n';

    if (end > 0 && pread(m->fd, &last, 1, end - 1) != 1)
        return -1;
    return last == '\n' || write(m->fd, "\n", 1) == 1 ? 0 : -1;
}

int manifest_open(struct manifest *m, const char *dir, bool reads)
{
    size_t n = strlen(dir);

    *m = (struct manifest){.fd = -1};
    if (asprintf(&m->path, "%s%srecto-run.jsonl", dir, n && dir[n - 1] == '/' ? "" : "/") < 0)
        return -1;
    m->fd = open(m->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (m->fd < 0 || end_torn_line(m) < 0)
        return -1;
    return reads ? read_lines(m) : 0;
}

void manifest_close(struct manifest *m)
{
    for (int i = 0; i < m->n_file; i++) {
        free(m->file[i].output);
        free(m->file[i].digest);
    }
    free(m->file);
    free(m->path);
    if (m->fd >= 0) {
        fdatasync(m->fd);
        close(m->fd);
    }
    *m = (struct manifest){.fd = -1};
}

int manifest_run(const struct manifest *m, const struct identity_run *run, int n_file)
{
    struct utsname u = {0};
    char *line = NULL, when[32];
    time_t now = time(NULL);
    struct tm tm;
    size_t n;
    FILE *f = json_line_open(&line, &n);

    uname(&u);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
    fprintf(f, "{\"type\":\"run\",\"created\":\"%s\",%s,\"machine\":", when, run->text);
    json_put_string(f, u.nodename);
    fprintf(f, ",\"system\":\"%s %s %s\",\"threads\":%d,\"features\":", u.sysname, u.release,
            u.machine, run->info.threads);
    json_put_string(f, recto_features());
    fprintf(f, ",\"settings\":%s,\"files\":%d}\n", run->settings, n_file);
    fclose(f);
    return append(m, line, n);
}

int manifest_document(const struct manifest *m, const char *input, const char *output,
                      const struct identity *id, const int *n_status)
{
    char *line = NULL;
    size_t n;
    int n_page = 0;
    FILE *f = json_line_open(&line, &n);

    for (int s = 0; s < N_STATUS; s++)
        n_page += n_status[s];
    fputs("{\"type\":\"file\",", f);
    json_put_path(f, input);
    fputs(",\"output\":", f);
    json_put_string(f, output);
    fprintf(f, ",\"identity\":\"%s\",\"pages\":%d,\"statuses\":", id->digest, n_page);
    json_put_statuses(f, n_status);
    fputs("}\n", f);
    fclose(f);
    return append(m, line, n);
}

int manifest_end(const struct manifest *m, int exit, const int *n_status, long long n_token,
                 double seconds)
{
    char *line = NULL;
    size_t n;
    int n_page = 0;
    FILE *f = json_line_open(&line, &n);

    for (int s = 0; s < N_STATUS; s++)
        n_page += n_status[s];
    fprintf(f, "{\"type\":\"end\",\"exit\":%d,\"pages\":%d,\"statuses\":", exit, n_page);
    json_put_statuses(f, n_status);
    fprintf(f, ",\"tokens\":%lld,\"seconds\":%.2f}\n", n_token, seconds);
    fclose(f);
    return append(m, line, n);
}
