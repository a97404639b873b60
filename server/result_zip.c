/* All of a job in one archive. Each format is written to a temporary file first, since its side files come in between. */
#include "result.h"

#include "archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct packing {
    struct archive *zip;
    json_t *files; /* of the manifest */
};

static void note_entry(struct packing *p, const char *name, const char *sha256)
{
    json_object_set_new(p->files, name, json_string(sha256));
}

static int put_side(void *ctx, const char *name, const void *bytes, size_t n)
{
    struct packing *p = ctx;
    char path[128], sha256[65];

    snprintf(path, sizeof path, "document.files/%.90s", name);
    if (json_object_get(p->files, path))
        return 0; /* the same name brings the same bytes */
    archive_begin(p->zip, path, false);
    archive_write(p->zip, bytes, n);
    archive_close(p->zip, sha256);
    note_entry(p, path, sha256);
    return 0;
}

static void copy(struct packing *p, const char *name, int fd)
{
    char block[65536], sha256[65];
    ssize_t n;

    archive_begin(p->zip, name, true);
    for (off_t at = 0; (n = pread(fd, block, sizeof block, at)) > 0; at += n)
        archive_write(p->zip, block, (size_t)n);
    archive_close(p->zip, sha256);
    note_entry(p, name, sha256);
}

static int put_format(struct jobs *j, const struct job_row *job, struct packing *p,
                      const char *format)
{
    char name[32], *tmp;
    int fd;

    TRY(blob_cache_new(&j->blob, job->id, &tmp, &fd));
    unlink(tmp);
    free(tmp);
    bool has_links = strcmp(format, "md") == 0 || strcmp(format, "html") == 0;
    int rc = result_write(j, job, format, fd, has_links ? "document" : NULL,
                          has_links ? put_side : NULL, p);
    snprintf(name, sizeof name, "document.%s", format);
    if (rc == 0)
        copy(p, name, fd);
    close(fd);
    return rc;
}

static void put_manifest(const struct job_row *job, struct packing *p)
{
    char sha256[65];
    json_t *o = json_pack("{sssssssO}", "job", job->id, "name", job->name, "recto", RECTO_VERSION,
                          "sha256", p->files);
    char *text = json_dumps(o, JSON_INDENT(1));

    archive_begin(p->zip, "manifest.json", true);
    archive_write(p->zip, text, strlen(text));
    archive_close(p->zip, sha256);
    free(text);
    json_decref(o);
}

int result_write_zip(struct jobs *j, const struct job_row *job, int fd)
{
    static const char *const format[] = {"md", "html", "txt", "json"};
    struct packing p = {.zip = archive_new(fd), .files = json_object()};
    struct fault_note why;
    int rc = 0;

    for (int i = 0; i < 4 && rc == 0; i++)
        rc = put_format(j, job, &p, format[i]);
    if (rc == 0)
        put_manifest(job, &p);
    fault_save(&why, rc);
    int end = archive_end(p.zip);
    json_decref(p.files);
    return rc < 0 ? fault_load(&why) : end;
}
