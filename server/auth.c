#include "auth.h"

#include "clock.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRONG_MAX = 10, WRONG_MS = 60000, WATCHED = 256, LINE_MAX_BYTES = 1024 };

struct entry {
    struct auth_key key;
    char hash[65];
};

/* An address that has sent wrong keys. */
struct guess {
    char address[64];
    int n;
    int64_t since_ms;
};

struct auth {
    pthread_mutex_t lock;
    const char *path;
    struct entry *entry;
    int n_entry;
    struct guess guess[WATCHED];
};

void auth_hash(const char *text, char hex[65])
{
    SHA256Data((const uint8_t *)text, strlen(text), hex);
}

/* n letters of base32 from the kernel. */
static void random_letters(char *out, int n)
{
    static const char digit[] = "abcdefghijklmnopqrstuvwxyz234567";
    unsigned char random[64];

    if (getrandom(random, (size_t)n, 0) != n)
        abort(); /* cannot happen for so few bytes */
    for (int i = 0; i < n; i++)
        out[i] = digit[random[i] & 31];
    out[n] = 0;
}

void auth_token(const char *prefix, char out[48])
{
    char letters[25];

    random_letters(letters, 24);
    snprintf(out, 48, "%.16s%s", prefix, letters);
}

static bool is_name(const char *s)
{
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

    return n > 0 && n < KEY_NAME_MAX && s[n] == 0;
}

/* ---- the file -------------------------------------------------------------------------------------------------------- */
static bool read_limit(struct auth_key *k, const char *word)
{
    const struct {
        const char *name;
        int64_t *out;
    } limits[] = {{"pages-day=", &k->pages_day}, {"jobs=", &k->jobs}, {"bytes=", &k->bytes}};
    char *end;

    if (strncmp(word, "rate=", 5) == 0) {
        k->rate = strtod(word + 5, &end);
        return *end == 0 && end != word + 5 && k->rate >= 0;
    }
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        size_t n = strlen(limits[i].name);
        if (strncmp(word, limits[i].name, n) != 0)
            continue;
        *limits[i].out = strtoll(word + n, &end, 10);
        return *end == 0 && end != word + n && *limits[i].out >= 0;
    }
    return false;
}

static bool read_line(struct entry *e, char *line)
{
    char *rest, *name = strtok_r(line, " \t\r\n", &rest), *role = strtok_r(NULL, " \t\r\n", &rest),
                *hash = strtok_r(NULL, " \t\r\n", &rest), *word;

    *e = (struct entry){.key.rate = -1};
    if (!name || !role || !hash || !is_name(name) || strlen(hash) != 64 ||
        strspn(hash, "0123456789abcdef") != 64)
        return false;
    strcpy(e->key.name, name);
    strcpy(e->hash, hash);
    e->key.is_admin = strcmp(role, "admin") == 0;
    if (!e->key.is_admin && strcmp(role, "user") != 0)
        return false;
    while ((word = strtok_r(NULL, " \t\r\n", &rest)))
        if (!read_limit(&e->key, word))
            return false;
    return true;
}

static int read_lines(FILE *f, const char *path, struct entry **out, int *n_out, char *error,
                      size_t n)
{
    char line[LINE_MAX_BYTES];
    int number = 0;

    while (fgets(line, sizeof line, f)) {
        number++;
        if (line[strspn(line, " \t\r\n")] == 0 || line[0] == '#')
            continue;
        *out = realloc(*out, (size_t)(*n_out + 1) * sizeof **out);
        if (!*out || !strchr(line, '\n') || !read_line(&(*out)[*n_out], line)) {
            snprintf(error, n,
                     "%s line %d: not NAME ROLE SHA256 [rate=R] [pages-day=N] [jobs=N] [bytes=N]; "
                     "recto key new writes such lines",
                     path, number);
            return -1;
        }
        ++*n_out;
    }
    return 0;
}

static int read_file(const char *path, struct entry **out, int *n_out, char *error, size_t n)
{
    FILE *f = fopen(path, "re");
    struct stat st;
    int rc = -1;

    *out = NULL;
    *n_out = 0;
    if (!f || fstat(fileno(f), &st) < 0)
        snprintf(error, n, "%s: %s; recto key new NAME --keys %s makes it", path, strerror(errno),
                 path);
    else if (st.st_mode & 037)
        snprintf(error, n, "%s: others can read or write it; run: chmod 600 %s", path, path);
    else
        rc = read_lines(f, path, out, n_out, error, n);
    if (rc < 0) {
        free(*out);
        *out = NULL;
    }
    if (f)
        fclose(f);
    return rc;
}

int auth_reread(struct auth *a, char *error, size_t n)
{
    struct entry *fresh, *old;
    int n_fresh;

    if (!a->path)
        return 0;
    if (read_file(a->path, &fresh, &n_fresh, error, n) < 0)
        return -1;
    pthread_mutex_lock(&a->lock);
    old = a->entry;
    a->entry = fresh;
    a->n_entry = n_fresh;
    pthread_mutex_unlock(&a->lock);
    free(old);
    return 0;
}

int auth_open(struct auth **out, const char *path, char *error, size_t n)
{
    struct auth *a = *out = server_zero(1, sizeof *a);

    pthread_mutex_init(&a->lock, NULL);
    a->path = path;
    return auth_reread(a, error, n);
}

void auth_close(struct auth *a)
{
    if (!a)
        return;
    pthread_mutex_destroy(&a->lock);
    free(a->entry);
    free(a);
}

bool auth_has_keys(const struct auth *a)
{
    return a->path != NULL;
}

/* ---- checks ---------------------------------------------------------------------------------------------------------- */
/* The same time whatever differs. */
static bool same_hash(const char *a, const char *b)
{
    unsigned char differs = 0;

    for (int i = 0; i < 64; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

/* The address's own place, or the oldest one. The lock is held. */
static struct guess *guess_of(struct auth *a, const char *address, int64_t now)
{
    struct guess *oldest = &a->guess[0];

    for (int i = 0; i < WATCHED; i++) {
        struct guess *g = &a->guess[i];
        if (strcmp(g->address, address) == 0) {
            if (now - g->since_ms > WRONG_MS)
                g->n = 0;
            return g;
        }
        if (g->since_ms < oldest->since_ms)
            oldest = g;
    }
    return oldest;
}

static bool is_shut_out(struct auth *a, const char *address, int64_t now)
{
    const struct guess *g = guess_of(a, address, now);

    return strcmp(g->address, address) == 0 && g->n >= WRONG_MAX;
}

static void count_wrong(struct auth *a, const char *address, int64_t now)
{
    struct guess *g = guess_of(a, address, now);

    if (strcmp(g->address, address) != 0 || g->n == 0) {
        *g = (struct guess){.since_ms = now};
        snprintf(g->address, sizeof g->address, "%s", address);
    }
    if (++g->n == WRONG_MAX)
        g->since_ms = now; /* a minute from here */
}

enum auth_answer auth_check(struct auth *a, const char *key, const char *address,
                            struct auth_key *who)
{
    enum auth_answer answer = AUTH_WRONG;
    int64_t now = clock_ms();
    char hash[65];

    auth_hash(key, hash);
    pthread_mutex_lock(&a->lock);
    if (address && is_shut_out(a, address, now)) {
        answer = AUTH_TOO_OFTEN;
    } else {
        for (int i = 0; i < a->n_entry; i++)
            if (same_hash(a->entry[i].hash, hash)) {
                *who = a->entry[i].key;
                answer = AUTH_FINE;
            }
        if (answer == AUTH_WRONG && address)
            count_wrong(a, address, now);
    }
    pthread_mutex_unlock(&a->lock);
    return answer;
}

bool auth_find(struct auth *a, const char *name, struct auth_key *who)
{
    bool is_found = false;

    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < a->n_entry; i++)
        if (strcmp(a->entry[i].key.name, name) == 0) {
            *who = a->entry[i].key;
            is_found = true;
        }
    pthread_mutex_unlock(&a->lock);
    return is_found;
}

/* ---- new keys -------------------------------------------------------------------------------------------------------- */
static int check_name(const char *path, const char *name, char *error, size_t n)
{
    struct entry *entry;
    int n_entry, rc = 0;

    if (!is_name(name)) {
        snprintf(error, n, "'%.80s' is no name for a key: letters, digits, '.', '_' and '-' only",
                 name);
        return -1;
    }
    if (access(path, F_OK) < 0)
        return 0;
    if (read_file(path, &entry, &n_entry, error, n) < 0)
        return -1;
    for (int i = 0; i < n_entry && rc == 0; i++)
        if (strcmp(entry[i].key.name, name) == 0) {
            snprintf(error, n,
                     "%s has a key named %s already; remove its line, or choose another name", path,
                     name);
            rc = -1;
        }
    free(entry);
    return rc;
}

static void line_of(struct text *line, const struct auth_key *k, const char *hash)
{
    text_fmt(line, "%s %s %s", k->name, k->is_admin ? "admin" : "user", hash);
    if (k->rate >= 0)
        text_fmt(line, " rate=%g", k->rate);
    if (k->pages_day > 0)
        text_fmt(line, " pages-day=%lld", (long long)k->pages_day);
    if (k->jobs > 0)
        text_fmt(line, " jobs=%lld", (long long)k->jobs);
    if (k->bytes > 0)
        text_fmt(line, " bytes=%lld", (long long)k->bytes);
    text_char(line, '\n');
}

int auth_new_key(const char *path, const struct auth_key *who, char key[KEY_BYTES + 1], char *error,
                 size_t n)
{
    struct text line = {0};
    char hash[65];

    if (check_name(path, who->name, error, n) < 0)
        return -1;
    memcpy(key, "rk_", 3);
    random_letters(key + 3, KEY_BYTES - 3);
    auth_hash(key, hash);
    line_of(&line, who, hash);
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    bool is_done = fd >= 0 && write(fd, line.p, line.n) == (ssize_t)line.n && fsync(fd) == 0;
    if (!is_done)
        snprintf(error, n, "%s: cannot be written: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    text_reset(&line);
    return is_done ? 0 : -1;
}
