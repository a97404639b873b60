#include "json_lines.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The lines of one document that wait. */
struct json_doc {
    char **page; /* [n_page] by index; NULL: not come, or printed */
    int n_page, n_printed;
    char *file; /* the last line, once the document has ended */
    int n_status[N_STATUS];
};

/* --- strings ---------------------------------------------------------------------------------- */
/* Length of the UTF-8 character at s, 0 if it is none. */
static int utf8_length(const unsigned char *s)
{
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
            : (s[0] & 0xF0) == 0xE0       ? 3
            : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                          : 0;

    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90))
        return 0;
    return n;
}

static bool is_utf8(const char *s)
{
    for (int n; *s; s += n)
        if ((n = utf8_length((const unsigned char *)s)) == 0)
            return false;
    return true;
}

/* s, which is UTF-8, as a JSON string. */
static void put_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", f);
        else if (c < 0x20 || c == 0x7F)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void put_base64(FILE *f, const char *s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s;
    size_t n = strlen(s);

    fputc('"', f);
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);
        fputc(digits[v >> 18], f);
        fputc(digits[v >> 12 & 63], f);
        fputc(i + 1 < n ? digits[v >> 6 & 63] : '=', f);
        fputc(i + 2 < n ? digits[v & 63] : '=', f);
    }
    fputc('"', f);
}

static void put_file(FILE *f, const char *name)
{
    if (is_utf8(name)) {
        fputs("\"file\":", f);
        put_string(f, name);
    } else {
        fputs("\"file_bytes\":", f);
        put_base64(f, name);
    }
}

/* --- lines ------------------------------------------------------------------------------------ */
static FILE *line_open(char **line, size_t *n)
{
    FILE *f = open_memstream(line, n);

    if (!f)
        abort();
    return f;
}

static char *page_line(const char *name, const struct recto_page *p)
{
    char *line = NULL, *object = NULL, *text = NULL;
    size_t n, n_object = 0, n_text = 0;
    FILE *f = line_open(&line, &n);

    fputs("{\"type\":\"page\",", f);
    put_file(f, name);
    if (recto_write("txt", (const struct recto_page *const[]){p}, 1, &text, &n_text) == 0) {
        fputs(",\"text\":", f);
        put_string(f, text);
    }
    if (recto_page_to_json(p, &object, &n_object) == 0 && n_object > 2)
        fprintf(f, ",%s", object + 1);
    else
        fputc('}', f);
    fputc('\n', f);
    fclose(f);
    recto_free(object);
    recto_free(text);
    return line;
}

static char *file_line(const char *name, const struct json_doc *d)
{
    char *line = NULL;
    size_t n;
    FILE *f = line_open(&line, &n);
    bool is_first = true;
    int n_page = 0;

    for (int s = 0; s < N_STATUS; s++)
        n_page += d->n_status[s];
    fputs("{\"type\":\"file\",", f);
    put_file(f, name);
    fprintf(f, ",\"pages\":%d,\"statuses\":{", n_page);
    for (int s = 0; s < N_STATUS; s++)
        if (d->n_status[s] > 0) {
            fprintf(f, "%s\"%s\":%d", is_first ? "" : ",", recto_status_name(s), d->n_status[s]);
            is_first = false;
        }
    fputs("}}\n", f);
    fclose(f);
    return line;
}

/* Print and forget. */
static void print_line(struct run *r, char **line)
{
    if (*line)
        read_print(r, *line, strlen(*line));
    free(*line);
    *line = NULL;
}

/* What has come of a document, in page order unless as_they_come; true when all is printed. */
static bool print_document(struct run *r, struct json_doc *d)
{
    for (int i = d->n_printed; i < d->n_page; i++) {
        if (d->page[i])
            print_line(r, &d->page[i]);
        else if (!r->json.as_they_come && !d->file)
            break;
        if (i == d->n_printed)
            d->n_printed++;
    }
    if (!d->file)
        return false;
    print_line(r, &d->file);
    return true;
}

static void print_ready(struct run *r)
{
    struct json_lines *j = &r->json;

    while (j->n_printed < j->n_doc && print_document(r, &j->doc[j->n_printed]))
        j->n_printed++;
}

/* --- what happens ----------------------------------------------------------------------------- */
void json_start(struct run *r, int n_doc, bool as_they_come)
{
    char *line = NULL;
    size_t n;

    r->json = (struct json_lines){.is_on = true, .as_they_come = as_they_come, .n_doc = n_doc};
    r->json.doc = calloc((size_t)n_doc, sizeof *r->json.doc);
    if (!r->json.doc)
        abort();
    FILE *f = line_open(&line, &n);
    fprintf(f, "{\"type\":\"start\",\"version\":\"%s\",\"files\":%d}\n", RECTO_VERSION, n_doc);
    fclose(f);
    print_line(r, &line);
}

void json_page(struct run *r, int doc, const struct recto_page *p)
{
    struct json_doc *d = &r->json.doc[doc];
    char *line = page_line(r->plan.target[doc].name, p);

    d->n_status[p->status]++;
    if (r->json.as_they_come) {
        print_line(r, &line);
        return;
    }
    if (p->index >= d->n_page) {
        int n = p->index < p->n_index ? p->n_index : p->index + 1;
        d->page = realloc(d->page, (size_t)n * sizeof *d->page);
        if (!d->page)
            abort();
        memset(d->page + d->n_page, 0, (size_t)(n - d->n_page) * sizeof *d->page);
        d->n_page = n;
    }
    free(d->page[p->index]);
    d->page[p->index] = line;
    print_ready(r);
}

void json_document(struct run *r, int doc)
{
    struct json_doc *d = &r->json.doc[doc];

    d->file = file_line(r->plan.target[doc].name, d);
    if (r->json.as_they_come)
        print_line(r, &d->file);
    else
        print_ready(r);
}

void json_end(struct run *r, int exit, double seconds)
{
    char *line = NULL;
    size_t n;
    int n_page = 0;
    FILE *f = line_open(&line, &n);

    for (int s = 0; s < N_STATUS; s++)
        n_page += r->n_page[s];
    fprintf(f, "{\"type\":\"end\",\"exit\":%d,\"pages\":%d,\"tokens\":%lld,\"seconds\":%.2f}\n",
            exit, n_page, r->n_token, seconds);
    fclose(f);
    print_line(r, &line);
}

void json_reset(struct run *r)
{
    for (int i = 0; r->json.doc && i < r->json.n_doc; i++) {
        struct json_doc *d = &r->json.doc[i];
        for (int k = 0; k < d->n_page; k++)
            free(d->page[k]);
        free(d->page);
        free(d->file);
    }
    free(r->json.doc);
    r->json = (struct json_lines){0};
}
