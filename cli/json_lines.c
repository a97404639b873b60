#include "json_lines.h"

#include "json_text.h"

#include <stdlib.h>
#include <string.h>

/* Print and forget. */
static void print_line(struct run *r, FILE *f, char **line, const size_t *n)
{
    fclose(f);
    read_print(r, *line, *n);
    free(*line);
}

void json_start(struct run *r, int n_doc, bool as_they_come)
{
    char *line = NULL;
    size_t n;
    FILE *f = json_line_open(&line, &n);

    r->json = (struct json_lines){.is_on = true, .as_they_come = as_they_come};
    fprintf(f, "{\"type\":\"start\",\"version\":\"%s\",\"files\":%d}\n", RECTO_VERSION, n_doc);
    print_line(r, f, &line, &n);
}

void json_page(struct run *r, int doc, const struct recto_page *p)
{
    char *line = NULL, *object = NULL, *text = NULL;
    size_t n, n_object = 0, n_text = 0;
    FILE *f = json_line_open(&line, &n);

    fputs("{\"type\":\"page\",", f);
    json_put_path(f, r->plan.target[doc].name);
    if (recto_write("txt", (const struct recto_page *const[]){p}, 1, &text, &n_text) == 0) {
        fputs(",\"text\":", f);
        json_put_string(f, text);
    }
    if (recto_page_to_json(p, &object, &n_object) == 0 && n_object > 2)
        fprintf(f, ",%s", object + 1);
    else
        fputc('}', f);
    fputc('\n', f);
    recto_free(object);
    recto_free(text);
    print_line(r, f, &line, &n);
}

void json_document(struct run *r, int doc)
{
    const struct doc *d = &r->doc[doc];
    char *line = NULL;
    size_t n;
    int n_page = 0;
    FILE *f = json_line_open(&line, &n);

    for (int s = 0; s < N_STATUS; s++)
        n_page += d->n_status[s];
    fputs("{\"type\":\"file\",", f);
    json_put_path(f, r->plan.target[doc].name);
    fprintf(f, ",\"pages\":%d,\"statuses\":", n_page);
    json_put_statuses(f, d->n_status);
    fputs(d->is_done_before ? ",\"done_before\":true}\n" : "}\n", f);
    print_line(r, f, &line, &n);
}

void json_end(struct run *r, int exit, double seconds)
{
    char *line = NULL;
    size_t n;
    int n_page = 0;
    FILE *f = json_line_open(&line, &n);

    for (int s = 0; s < N_STATUS; s++)
        n_page += r->n_page[s];
    fprintf(f, "{\"type\":\"end\",\"exit\":%d,\"pages\":%d,\"tokens\":%lld,\"seconds\":%.2f}\n",
            exit, n_page, r->n_token, seconds);
    print_line(r, f, &line, &n);
}
