#include "db.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Another process may hold the database for so long before a call fails. */
enum { BUSY_MS = 5000 };

struct db_kept {
    struct db_kept *next;
    const char *sql;
    sqlite3_stmt *stmt;
};

int db_fault(const struct db *db, int rc, const char *doing)
{
    const char *why = db->conn ? sqlite3_errmsg(db->conn) : sqlite3_errstr(rc);

    if (rc == SQLITE_FULL || (rc & 0xff) == SQLITE_FULL)
        return fault(JOBS_STORAGE_FULL, NULL, "%s: the disk is full; free some space and try again",
                     doing);
    if ((rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_LOCKED)
        return fault(JOBS_STORE, NULL,
                     "%s: another process holds the database; end it or wait, and try again",
                     doing);
    return fault(JOBS_STORE, NULL, "%s: %s (SQLite %d); see whether the disk is full or broken",
                 doing, why, rc);
}

/* synchronous=FULL: a commit is on the disk when it returns. The log is kept short, so that its file is. What a statement has to
 * remember until it is through stays in memory: nothing is written outside the data directory. */
static const char *const write_pragmas =
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
    "PRAGMA journal_size_limit=16777216; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF";
static const char *const read_pragmas =
    "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA trusted_schema=OFF";

int db_open(struct db *db, const char *path, bool may_write)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (may_write ? SQLITE_OPEN_CREATE : 0);
    int rc;

    *db = (struct db){0};
    rc = sqlite3_open_v2(path, &db->conn, flags, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(db->conn, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db->conn, may_write ? write_pragmas : read_pragmas, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_fault(db, rc, path);
}

void db_close(struct db *db)
{
    for (struct db_kept *k = db->kept, *next; k; k = next) {
        next = k->next;
        sqlite3_finalize(k->stmt);
        free(k);
    }
    sqlite3_close(db->conn);
    *db = (struct db){0};
}

static void latch(struct db *db, int rc)
{
    if (db->rc == SQLITE_OK)
        db->rc = rc;
}

/* The statement of that text, not in use by an outer query. */
static sqlite3_stmt *take(struct db *db, const char *sql)
{
    struct db_kept *k = db->kept;

    while (k && (k->sql != sql || sqlite3_stmt_busy(k->stmt)))
        k = k->next;
    if (k)
        return k->stmt;
    k = calloc(1, sizeof *k);
    if (!k)
        abort();
    int rc = sqlite3_prepare_v3(db->conn, sql, -1, SQLITE_PREPARE_PERSISTENT, &k->stmt, NULL);
    if (rc != SQLITE_OK) {
        latch(db, rc);
        free(k);
        return NULL;
    }
    k->sql = sql;
    k->next = db->kept;
    db->kept = k;
    return k->stmt;
}

static void bind_all(struct db *db, sqlite3_stmt *stmt, const char *types, va_list ap)
{
    for (int i = 1; types[i - 1]; i++) {
        int rc = SQLITE_OK;

        switch (types[i - 1]) {
        case 's': {
            const char *text = va_arg(ap, const char *);
            rc = text ? sqlite3_bind_text(stmt, i, text, -1, SQLITE_TRANSIENT)
                      : sqlite3_bind_null(stmt, i);
            break;
        }
        case 'd':
            rc = sqlite3_bind_double(stmt, i, va_arg(ap, double));
            break;
        case 'i':
            rc = sqlite3_bind_int64(stmt, i, va_arg(ap, int64_t));
            break;
        default: {
            int64_t v = va_arg(ap, int64_t);
            rc = v ? sqlite3_bind_int64(stmt, i, v) : sqlite3_bind_null(stmt, i);
        }
        }
        if (rc != SQLITE_OK)
            latch(db, rc);
    }
}

static void query(struct db *db, const char *sql, const char *types, va_list ap)
{
    assert(db->n_open < DB_NESTED);
    if (db->n_open == 0)
        db->rc = SQLITE_OK;
    sqlite3_stmt *stmt = take(db, sql);
    db->open[db->n_open++] = stmt;
    if (stmt)
        bind_all(db, stmt, types, ap);
}

void db_query(struct db *db, const char *sql, const char *types, ...)
{
    va_list ap;

    va_start(ap, types);
    query(db, sql, types, ap);
    va_end(ap);
}

static sqlite3_stmt *top(const struct db *db)
{
    assert(db->n_open > 0);
    return db->open[db->n_open - 1];
}

bool db_row(struct db *db)
{
    sqlite3_stmt *stmt = top(db);

    if (!stmt || db->rc != SQLITE_OK)
        return false;
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        latch(db, rc);
    return rc == SQLITE_ROW;
}

int db_end(struct db *db)
{
    sqlite3_stmt *stmt = top(db);
    int rc = db->rc == SQLITE_OK ? 0 : db_fault(db, db->rc, "database");

    if (stmt) {
        sqlite3_reset(stmt);
        sqlite3_clear_bindings(stmt);
    }
    db->n_open--;
    return rc;
}

int db_do(struct db *db, const char *sql, const char *types, ...)
{
    va_list ap;

    va_start(ap, types);
    query(db, sql, types, ap);
    va_end(ap);
    while (db_row(db))
        ;
    return db_end(db);
}

int64_t db_changes(const struct db *db)
{
    return sqlite3_changes64(db->conn);
}

int64_t db_one(struct db *db, const char *sql, int64_t otherwise, const char *types, ...)
{
    va_list ap;

    va_start(ap, types);
    query(db, sql, types, ap);
    va_end(ap);
    int64_t v = db_row(db) ? db_int(db, 0) : otherwise;
    db_end(db);
    return v;
}

int64_t db_int(const struct db *db, int column)
{
    return sqlite3_column_int64(top(db), column);
}

double db_real(const struct db *db, int column)
{
    return sqlite3_column_double(top(db), column);
}

const char *db_text(const struct db *db, int column)
{
    return (const char *)sqlite3_column_text(top(db), column);
}

char *db_copy(const struct db *db, int column)
{
    const char *text = db_text(db, column);

    return text ? strdup(text) : NULL;
}
