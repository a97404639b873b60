/* Files: mapped, read whole, or written so that the final name holds all or nothing. Errors name the path. */
#ifndef RECTO_BASE_FILE_H
#define RECTO_BASE_FILE_H

#include "base/str.h"

struct file_map {
    const unsigned char *data; /* NULL for an empty file */
    size_t len;
    int fd;
};

/* Map a regular file read-only. RECTO_ENOTFOUND, RECTO_EREAD. */
int file_map_open(struct file_map *m, const char *path);
void file_map_close(struct file_map *m);
/* Tell the kernel that these mapped bytes will not be read again (they may be: it only costs a read). */
void file_map_drop(const struct file_map *m, const void *from, size_t bytes);

/* Append the file's bytes to out; more than max_bytes: RECTO_ETOOLARGE. */
int file_read(struct buf *out, const char *path, size_t max_bytes);
/* Write beside the target under a temporary name, fsync, rename. RECTO_EOUTPUT; the old file stays on failure. */
int file_write(const char *path, str content);
/* file_write of what another file holds. */
int file_copy(const char *to, const char *from, size_t max_bytes);

bool file_exists(const char *path);
bool file_is_dir(const char *path);
/* dir + "/" + name into a new string owned by the caller. */
char *file_join(const char *dir, const char *name);
/* Directory of the running program, symbolic links resolved; NULL if /proc cannot tell. Owned by the caller. */
char *file_program_dir(void);

#endif
