/* A connection to SQLite: statements are prepared once and kept, and the first failure stays until it is asked for.
 *
 *     db_query(db, "SELECT a, b FROM t WHERE id=?1 AND n>?2", "si", id, (int64_t)5);
 *     while (db_row(db))
 *         use(db_int(db, 0), db_text(db, 1));
 *     if ((rc = db_end(db)) < 0) ...
 *
 * One statement at a time, or nested ones, the inner ended first. A connection belongs to one thread at a time. */
#ifndef RECTO_SERVER_DB_H
#define RECTO_SERVER_DB_H

#include "fault.h"

#include <sqlite3.h>

enum { DB_NESTED = 4 };

struct db {
    sqlite3 *conn;
    struct db_kept *kept; /* prepared statements */
    sqlite3_stmt *open[DB_NESTED];
    int n_open;
    int rc; /* SQLite's first failure since db_end found none open */
};

/* may_write: else changes are refused. JOBS_STORE. db_close in any case. */
int db_open(struct db *db, const char *path, bool may_write);
void db_close(struct db *db);

/* sql: a literal (its address is its name). types: a letter per ?1, ?2, ...: 'i' int64_t, 's' const char * (NULL: null), 'd'
 * double, 'z' int64_t of which 0 is null. */
void db_query(struct db *db, const char *sql, const char *types, ...);
bool db_row(struct db *db);
int db_end(struct db *db); /* 0, or the failure as JOBS_STORE or JOBS_STORAGE_FULL */
/* A statement without rows, from query to end. */
int db_do(struct db *db, const char *sql, const char *types, ...);
int64_t db_changes(const struct db *db); /* rows that the last statement changed */
/* The first column of the first row; `otherwise` when there is none. A failure stays for the next db_end. */
int64_t db_one(struct db *db, const char *sql, int64_t otherwise, const char *types, ...);

/* Columns of the row; null: 0 and NULL. Text is valid until the next row. */
int64_t db_int(const struct db *db, int column);
double db_real(const struct db *db, int column);
const char *db_text(const struct db *db, int column);
char *db_copy(const struct db *db, int column); /* strdup, NULL for null */

/* The failure of a plain sqlite3 call. */
int db_fault(const struct db *db, int rc, const char *doing);

#endif
