/* Who calls: API keys, sessions of the page.
 *
 * A key is "rk_" and 38 letters of base32: 190 bits from the kernel.  The file of keys holds one line a key,
 *
 *     NAME ROLE SHA256 [rate=R] [pages-day=N] [jobs=N] [bytes=N]
 *
 * and never the key itself; lines that are empty or begin with # are skipped.  It must not be readable by others. Hashes are
 * compared in constant time.  Ten wrong keys from one address within a minute: that address is told 429 for a minute. */
#ifndef RECTO_SERVER_AUTH_H
#define RECTO_SERVER_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    KEY_BYTES = 41,
    KEY_NAME_MAX = 64,
    AUTH_OWNER_MAX = 128
}; /* bytes of a key without its NUL; of a name with it */

struct auth_key {
    char name[KEY_NAME_MAX]; /* the owner of what its calls make */
    bool is_admin;
    double rate;                    /* calls a second; < 0: as the server has it */
    int64_t pages_day, jobs, bytes; /* 0: no limit */
};

struct auth;

/* path NULL: there are no keys, and everybody is the owner "". -1 with a sentence in error[n]: unreadable, too open, a line
 * that is none. */
int auth_open(struct auth **out, const char *path, char *error, size_t n);
void auth_close(struct auth *a);
/* Read the file again; on failure the keys stay as they are. */
int auth_reread(struct auth *a, char *error, size_t n);
bool auth_has_keys(const struct auth *a);

enum auth_answer { AUTH_FINE, AUTH_WRONG, AUTH_TOO_OFTEN };
/* Is this a key ("rk_...")? *who: a copy. address: for counting wrong ones; NULL: do not count. */
enum auth_answer auth_check(struct auth *a, const char *key, const char *address,
                            struct auth_key *who);
/* The key of that name, if it is still there. */
bool auth_find(struct auth *a, const char *name, struct auth_key *who);
/* SHA-256 of a text as 64 hex digits. */
void auth_hash(const char *text, char hex[65]);
/* 24 random letters of base32 behind a prefix of at most 16 bytes; out: 41 bytes at least. */
void auth_token(const char *prefix, char out[48]);

/* ---- recto key ------------------------------------------------------------------------------------------------------- */
/* Make a key, append its line to the file (made with mode 0600). key: shown once, kept nowhere. -1 with a sentence: the name
 * is taken or odd (letters, digits, . _ - only), the file cannot be written. */
int auth_new_key(const char *path, const struct auth_key *who, char key[KEY_BYTES + 1], char *error,
                 size_t n);

#endif
