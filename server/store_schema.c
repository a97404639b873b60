/* The tables, and how an older database becomes one of today. Numbers of states and statuses are those of job.h and recto.h;
 * counts is a list of JOB_COUNTS numbers, so that a list of jobs needs no page rows.
 *
 * Start-up does not look at all pages: partial indexes hold those that are queued or in flight. */
#include "store_in.h"

static const char *const first_version =
    "CREATE TABLE meta(k TEXT PRIMARY KEY, v TEXT NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE TABLE job(key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL,"
    " name TEXT NOT NULL, state INTEGER NOT NULL, class INTEGER NOT NULL, options TEXT NOT NULL,"
    " counts TEXT NOT NULL, n_left INTEGER NOT NULL, begun INTEGER NOT NULL DEFAULT 0,"
    " cancelled INTEGER NOT NULL DEFAULT 0, error TEXT, created_ms INTEGER NOT NULL, started_ms INTEGER,"
    " ended_ms INTEGER, expires_ms INTEGER, deadline_ms INTEGER, retain_s INTEGER NOT NULL,"
    " seq INTEGER NOT NULL DEFAULT 0, rev INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL,"
    " inputs TEXT NOT NULL) STRICT;"
    "CREATE INDEX job_owner ON job(owner, key);"
    "CREATE INDEX job_left ON job(owner) WHERE n_left > 0;"
    "CREATE INDEX job_deadline ON job(deadline_ms) WHERE n_left > 0 AND deadline_ms IS NOT NULL;"
    "CREATE INDEX job_expires ON job(expires_ms) WHERE expires_ms IS NOT NULL;"
    "CREATE TABLE input(job INTEGER NOT NULL REFERENCES job(key) ON DELETE CASCADE, idx INTEGER NOT NULL,"
    " name TEXT NOT NULL, media TEXT NOT NULL, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL,"
    " pages INTEGER NOT NULL, PRIMARY KEY(job, idx)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX input_blob ON input(sha256);"
    "CREATE TABLE page(job INTEGER NOT NULL REFERENCES job(key) ON DELETE CASCADE, page INTEGER NOT NULL,"
    " input INTEGER NOT NULL, input_page INTEGER NOT NULL, state INTEGER NOT NULL, status INTEGER,"
    " class INTEGER NOT NULL, n_attempt INTEGER NOT NULL DEFAULT 0, best INTEGER NOT NULL DEFAULT 0,"
    " lost INTEGER NOT NULL DEFAULT 0, settings TEXT, is_replace INTEGER NOT NULL DEFAULT 0,"
    " width INTEGER NOT NULL DEFAULT 0, height INTEGER NOT NULL DEFAULT 0,"
    " rotation INTEGER NOT NULL DEFAULT 0, n_tok INTEGER NOT NULL DEFAULT 0, ms INTEGER NOT NULL DEFAULT 0,"
    " conf REAL NOT NULL DEFAULT 0, min_logp REAL NOT NULL DEFAULT 0, n_text INTEGER NOT NULL DEFAULT 0,"
    " edited TEXT NOT NULL DEFAULT '', error TEXT, error_text TEXT, started_ms INTEGER, ended_ms INTEGER,"
    " PRIMARY KEY(job, page)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX page_queued ON page(job, class, page) WHERE state = 0;"
    "CREATE INDEX page_flight ON page(job, page) WHERE state IN (1, 2);"
    "CREATE TABLE attempt(job INTEGER NOT NULL REFERENCES job(key) ON DELETE CASCADE, page INTEGER NOT NULL,"
    " n INTEGER NOT NULL, status INTEGER NOT NULL, settings TEXT, readings TEXT, tok_image INTEGER,"
    " n_tok INTEGER, conf REAL, min_logp REAL, n_text INTEGER, width INTEGER, height INTEGER,"
    " rotation INTEGER, ms INTEGER, timings TEXT, sha256 TEXT, ended_ms INTEGER NOT NULL,"
    " PRIMARY KEY(job, page, n)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE event(seq INTEGER PRIMARY KEY AUTOINCREMENT, ts_ms INTEGER NOT NULL, owner TEXT NOT NULL,"
    " job TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL) STRICT;"
    "CREATE INDEX event_owner ON event(owner, seq);"
    "CREATE INDEX event_job ON event(job, seq);"
    "CREATE TABLE tombstone(id TEXT PRIMARY KEY, owner TEXT NOT NULL, ts_ms INTEGER NOT NULL) STRICT,"
    " WITHOUT ROWID;"
    "CREATE TABLE idem(owner TEXT NOT NULL, key TEXT NOT NULL, sha256 TEXT NOT NULL, answer TEXT NOT NULL,"
    " expires_ms INTEGER NOT NULL, PRIMARY KEY(owner, key)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE session(token TEXT PRIMARY KEY, owner TEXT NOT NULL, expires_ms INTEGER NOT NULL) STRICT,"
    " WITHOUT ROWID;"
    "CREATE TABLE quota(owner TEXT NOT NULL, day INTEGER NOT NULL, pages INTEGER NOT NULL,"
    " PRIMARY KEY(owner, day)) STRICT, WITHOUT ROWID;"
    "INSERT INTO meta VALUES('version', '1'), ('gone', '0');"; /* gone: events up to it were thinned */

/* step[i] makes version i + 1 of version i. */
static const char *const *const steps[STORE_VERSION] = {&first_version};

static int version_of(struct db *db, int64_t *version)
{
    *version = 0;
    if (!db_one(db, "SELECT count(*) FROM sqlite_master WHERE name='meta'", 0, ""))
        return db->rc == SQLITE_OK ? 0 : db_fault(db, db->rc, "database");
    *version = db_one(db, "SELECT CAST(v AS INTEGER) FROM meta WHERE k='version'", -1, "");
    return *version >= 0 ? 0
                         : fault(JOBS_STORE, NULL, "database: it has no version; is it recto's?");
}

static int run(struct db *db, const char *sql)
{
    int rc = sqlite3_exec(db->conn, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : db_fault(db, rc, "database: bringing its tables up to date");
}

static int bring_up(struct db *db)
{
    int64_t version;

    TRY(version_of(db, &version));
    if (version > STORE_VERSION)
        return fault(
            JOBS_STORE, NULL,
            "database: it has version %lld, this program knows %d: use the newer program that made it",
            (long long)version, (int)STORE_VERSION);
    for (; version < STORE_VERSION; version++) {
        TRY(run(db, *steps[version]));
        TRY(db_do(db, "UPDATE meta SET v=CAST(?1 AS TEXT) WHERE k='version'", "i", version + 1));
    }
    return 0;
}

/* All in one transaction, so that a kill leaves the old version or the new one. */
int schema_bring_up(struct db *db)
{
    TRY(run(db, "BEGIN IMMEDIATE"));
    int rc = bring_up(db);
    if (rc < 0) {
        struct fault_note why;
        fault_save(&why, rc);
        sqlite3_exec(db->conn, "ROLLBACK", NULL, NULL, NULL);
        return fault_load(&why);
    }
    return run(db, "COMMIT");
}
