/* Pages with the truth about them.
 *
 *   folder         pages/NAME.png|jpg|pdf|...  and any of truth/NAME.txt, .md, .json (recto-layout-1), .html (tables)
 *   OmniDocBench   a JSON array of pages with page_info and layout_dets; the images in a folder of their own
 *   olmOCR-bench   a folder with pdfs/ and *.jsonl, a test a line
 *
 * A file of several pages is as many cases as its truth has pages: parted by form feeds in .txt, by recto's own
 * <!-- page N --> in .md, and as listed in .json. */
#ifndef RECTO_EVAL_SET_H
#define RECTO_EVAL_SET_H

#include "files.h"
#include "recto.h"

#include <jansson.h>
#include <sha256.h>

enum eval_layout { EVAL_FOLDER, EVAL_OMNIDOC, EVAL_OLMOCR };
const char *eval_layout_name(enum eval_layout l); /* "folder", "OmniDocBench", "olmOCR-bench" */

/* What a page may be grouped by. */
enum eval_group { EVAL_KIND, EVAL_LANG, EVAL_LEVEL, N_EVAL_GROUP };
const char *eval_group_name(enum eval_group g); /* "kind", "language", "level" */

struct eval_case {
    char *
        name; /* of the page, unique: the file's without its ending; with -p0002 behind it if that has more pages */
    char *stem;                /* of the file */
    char *file;                /* NULL: not there, so it can be scored but not read */
    int page;                  /* of the file, from 1 */
    int n_page;                /* that the file has by its truth */
    char *group[N_EVAL_GROUP]; /* NULL: not said */
    char *md, *txt;            /* its text; NULL: no such truth */
    char *tables; /* HTML of its tables, one behind the other; NULL: not known (md may have some) */
    struct recto_page *layout; /* its blocks and their boxes; NULL: not known */
    const json_t
        *more; /* OmniDocBench: the page; olmOCR-bench: an array of its tests. Owned by the set */
};

struct eval_set {
    enum eval_layout layout;
    char *path;
    struct eval_case *at;
    int n, cap;
    char truth_sha256[65];
    json_t *root;    /* what `more` points into */
    int n_unknown;   /* files in pages/ that are of no kind recto reads */
    SHA256_CTX hash; /* while it is opened: of all that scores depend on */
};

/* Which layout a path has is seen from what is there. images: where OmniDocBench's images are; NULL: in images/ beside the
 * JSON. limit: at most so many pages, the first; 0: all. 0, or a code with *f; eval_set_close after either. */
int eval_set_open(struct eval_set *s, const char *path, const char *images, int limit,
                  struct eval_fault *f);
void eval_set_close(struct eval_set *s);
/* SHA-256, in hex, over the bytes of the pages' files, in order; "" when one of them is missing. */
void eval_set_hash_files(const struct eval_set *s, char hex[65]);

/* Page `number` of a text in recto's md format, whose pages are parted by <!-- page N --> on lines of their own; NULL when it
 * has no such page. A new string. */
char *eval_md_page(const char *md, int number);

/* ---- for the readers of layouts ------------------------------------------------------------------ */

struct eval_case *set_add(struct eval_set *s, char *name); /* takes name */
int set_open_folder(struct eval_set *s, struct eval_fault *f);
int set_open_omnidoc(struct eval_set *s, const char *images, struct eval_fault *f);
int set_open_olmocr(struct eval_set *s, struct eval_fault *f);
#endif
