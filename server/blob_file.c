#include "blob.h"

#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

static char *path_of(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static char *path_of(const char *fmt, ...)
{
    char *path = NULL;
    va_list ap;

    va_start(ap, fmt);
    int n = vasprintf(&path, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    return path;
}

char *blob_database(const struct blob *b)
{
    return path_of("%s/recto.db", b->data);
}

char *blob_input(const struct blob *b, const char *sha256)
{
    return path_of("%s/blob/%.2s/%s", b->data, sha256, sha256);
}

char *blob_page(const struct blob *b, const char *job, int page, int attempt)
{
    return path_of("%s/job/%s/page/%06d/%d.json", b->data, job, page, attempt);
}

char *blob_edit(const struct blob *b, const char *job, int page, const char *sha256)
{
    return path_of("%s/job/%s/page/%06d/edit-%s.md", b->data, job, page, sha256);
}

char *blob_cached(const struct blob *b, const char *job, const char *name)
{
    return path_of("%s/cache/%s/%s", b->data, job, name);
}

/* ---- folders -------------------------------------------------------------------------------------------------------------------- */
static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) < 0 ? fault_write(path) : 0;

    if (fd >= 0)
        close(fd);
    return rc;
}

static char *parent_of(const char *path)
{
    return strndup(path, (size_t)(strrchr(path, '/') - path));
}

/* The folder and those above it, each flushed into its parent. */
static int make_folder(const char *path)
{
    if (mkdir(path, 0700) < 0) {
        if (errno == EEXIST)
            return 0;
        if (errno != ENOENT || !strchr(path + 1, '/'))
            return fault_write(path);
        char *up = parent_of(path);
        int rc = make_folder(up);
        free(up);
        TRY(rc);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return fault_write(path);
    }
    char *up = parent_of(path);
    int rc = up[0] ? sync_folder(up) : 0;
    free(up);
    return rc;
}

static int make_parent(const char *path)
{
    char *up = parent_of(path);
    int rc = make_folder(up);

    free(up);
    return rc;
}

/* Everything below, and the folder itself. */
static void remove_tree(const char *path)
{
    DIR *d = opendir(path);

    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        char *below = path_of("%s/%s", path, e->d_name);
        if (unlink(below) < 0 && (errno == EISDIR || errno == EPERM))
            remove_tree(below);
        free(below);
    }
    if (d)
        closedir(d);
    rmdir(path);
}

/* ---- open ----------------------------------------------------------------------------------------------------------------------- */
static bool is_network(const char *path)
{
    struct statfs st;
    long type = statfs(path, &st) == 0 ? (long)st.f_type : 0;

    return type == NFS_SUPER_MAGIC || type == SMB_SUPER_MAGIC || type == 0xff534d42 /* CIFS */ ||
           type == 0xfe534d42 /* SMB2 */ || type == CEPH_SUPER_MAGIC || type == AFS_SUPER_MAGIC;
}

/* The lock is the kernel's: it goes with its process, however that ends. The number in the file is for people. */
static int take_lock(struct blob *b)
{
    char *path = path_of("%s/lock", b->data), pid[16] = "";

    b->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(path);
    if (b->lock < 0)
        return fault_write(b->data);
    if (flock(b->lock, LOCK_EX | LOCK_NB) < 0) {
        ssize_t n = pread(b->lock, pid, sizeof pid - 1, 0);
        pid[n > 0 ? n : 0] = 0;
        close(b->lock);
        b->lock = -1;
        return fault(
            JOBS_STORE, NULL,
            "%s is in use by process %d: end that, or choose another directory with --data",
            b->data, atoi(pid));
    }
    int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    if (ftruncate(b->lock, 0) < 0 || pwrite(b->lock, pid, (size_t)n, 0) != n)
        return fault_write(b->data);
    return 0;
}

static int make_all(const struct blob *b)
{
    static const char *const folder[] = {"blob", "job", "cache", "incoming"};

    for (int i = 0; i < 4; i++) {
        char *path = path_of("%s/%s", b->data, folder[i]);
        if (i == 3)
            remove_tree(path);
        int rc = make_folder(path);
        free(path);
        TRY(rc);
    }
    return 0;
}

int blob_open(struct blob *b, const char *data)
{
    *b = (struct blob){.lock = -1};
    b->data = data[0] == '/' ? strdup(data) : path_of("./%s", data);
    for (size_t n = strlen(b->data); n > 1 && b->data[n - 1] == '/'; n--)
        b->data[n - 1] = 0;
    TRY(make_folder(b->data));
    if (is_network(b->data))
        return fault(
            JOBS_STORE, NULL,
            "%s lies on a network file system, on which SQLite cannot work: choose a local directory with --data",
            b->data);
    TRY(take_lock(b));
    return make_all(b);
}

void blob_close(struct blob *b)
{
    if (b->lock >= 0)
        close(b->lock);
    free(b->data);
    *b = (struct blob){.lock = -1};
}

/* ---- whole files ---------------------------------------------------------------------------------------------------------------- */
static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int open_beside(const char *path, char **tmp)
{
    *tmp = path_of("%s.tmp-XXXXXX", path);
    return mkostemp(*tmp, O_CLOEXEC);
}

int blob_write(const char *path, const void *bytes, size_t n)
{
    char *tmp;

    TRY(make_parent(path));
    int fd = open_beside(path, &tmp);
    int rc = fd < 0 || write_all(fd, bytes, n) < 0 || fsync(fd) < 0 ? fault_write(path) : 0;
    if (fd >= 0)
        close(fd);
    if (rc == 0 && rename(tmp, path) < 0)
        rc = fault_write(path);
    if (rc < 0 && fd >= 0)
        unlink(tmp);
    free(tmp);
    TRY(rc);
    char *up = parent_of(path);
    rc = sync_folder(up);
    free(up);
    return rc;
}

int blob_read(const char *path, char **bytes, size_t *n)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;

    *bytes = NULL;
    *n = 0;
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (fd >= 0)
            close(fd);
        return fault(JOBS_NOT_FOUND, NULL, "%s: %s", path, strerror(errno));
    }
    *bytes = malloc((size_t)st.st_size + 1);
    if (!*bytes)
        abort();
    while (*n < (size_t)st.st_size) {
        ssize_t got = read(fd, *bytes + *n, (size_t)st.st_size - *n);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        *n += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    (*bytes)[*n] = 0;
    return 0;
}

int blob_incoming(const struct blob *b, char **path, int *fd)
{
    *path = path_of("%s/incoming/XXXXXX", b->data);
    *fd = mkostemp(*path, O_CLOEXEC);
    if (*fd >= 0)
        return 0;
    int rc = fault_write(*path);
    free(*path);
    *path = NULL;
    return rc;
}

int blob_accept(const struct blob *b, const char *incoming, const char *sha256)
{
    char *path = blob_input(b, sha256), *up = parent_of(path);
    int rc = make_parent(path), fd = open(incoming, O_RDONLY | O_CLOEXEC);

    if (rc == 0 && (fd < 0 || fsync(fd) < 0 || rename(incoming, path) < 0))
        rc = fault_write(path);
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        rc = sync_folder(up);
    free(path);
    free(up);
    return rc;
}

/* ---- what is derived: no need to be on the disk after a power cut, so nothing is flushed --------------------------------------------- */
int blob_cache_new(const struct blob *b, const char *job, char **tmp, int *fd)
{
    char *path = blob_cached(b, job, "new");
    int rc = make_parent(path);

    *tmp = NULL;
    *fd = -1;
    if (rc == 0) {
        *fd = open_beside(path, tmp);
        rc = *fd < 0 ? fault_write(path) : 0;
    }
    free(path);
    return rc;
}

int blob_cache_put(const char *tmp, const char *path)
{
    return rename(tmp, path) < 0 ? fault_write(path) : 0;
}

void blob_remove_cached(const struct blob *b, const char *job)
{
    char *path = path_of("%s/cache/%s", b->data, job);

    remove_tree(path);
    free(path);
}

void blob_remove_job(const struct blob *b, const char *job)
{
    char *path = path_of("%s/job/%s", b->data, job);

    remove_tree(path);
    free(path);
    blob_remove_cached(b, job);
}

int64_t blob_free_bytes(const struct blob *b)
{
    struct statvfs st;

    return statvfs(b->data, &st) == 0 ? (int64_t)st.f_bavail * (int64_t)st.f_frsize : -1;
}
