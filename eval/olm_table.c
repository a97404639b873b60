#include "olm_table.h"

#include "olm_text.h"

#include <stdlib.h>
#include <string.h>

#include <libxml/HTMLparser.h>

enum { COLS = 1000, SPAN = 1000 };

static bool is_named(const xmlNode *x, const char *name)
{
    return x->type == XML_ELEMENT_NODE && strcasecmp((const char *)x->name, name) == 0;
}

static const xmlNode *find_table(const xmlNode *x)
{
    for (; x; x = x->next) {
        const xmlNode *inside = is_named(x, "table") ? x : find_table(x->children);

        if (inside)
            return inside;
    }
    return NULL;
}

static int span_of(const xmlNode *x, const char *name)
{
    xmlChar *value = xmlGetProp((xmlNode *)x, (const xmlChar *)name);
    int n = value ? atoi((const char *)value) : 1;

    xmlFree(value);
    return n < 1 ? 1 : n > SPAN ? SPAN : n;
}

/* Where the next cells go: for each column how many rows below are taken by a cell above. */
struct placer {
    struct olm_table table;
    int left[COLS], row, col;
};

static void add_cell(struct placer *p, const xmlNode *x)
{
    xmlChar *content = xmlNodeGetContent((xmlNode *)x);

    while (p->col < COLS && p->left[p->col] > 0)
        p->col++;
    if (p->col < COLS) {
        struct olm_cell c = {p->row,
                             p->col,
                             span_of(x, "rowspan"),
                             span_of(x, "colspan"),
                             is_named(x, "th"),
                             olm_fold(content ? (const char *)content : "")};

        for (int k = 0; k < c.colspan && p->col < COLS; k++)
            p->left[p->col++] = c.rowspan;
        p->table.cell = eval_grow(p->table.cell, (size_t)p->table.n + 1, sizeof c);
        p->table.cell[p->table.n++] = c;
    }
    xmlFree(content);
}

static void add_rows(struct placer *p, const xmlNode *x)
{
    for (x = x->children; x; x = x->next) {
        if (!is_named(x, "tr")) {
            if (x->type == XML_ELEMENT_NODE && !is_named(x, "table")) /* thead, tbody, tfoot */
                add_rows(p, x);
            continue;
        }
        p->col = 0;
        for (const xmlNode *c = x->children; c; c = c->next)
            if (is_named(c, "td") || is_named(c, "th"))
                add_cell(p, c);
        for (int k = 0; k < COLS; k++)
            p->left[k] -= p->left[k] > 0;
        p->row++;
    }
}

struct olm_table olm_table_of(const char *html)
{
    struct placer p = {0};
    htmlDocPtr doc = htmlReadMemory(html, (int)strlen(html), NULL, "UTF-8",
                                    HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                        HTML_PARSE_NONET);
    const xmlNode *table = doc ? find_table(xmlDocGetRootElement(doc)) : NULL;

    if (table)
        add_rows(&p, table);
    xmlFreeDoc(doc);
    return p.table;
}

void olm_table_reset(struct olm_table *t)
{
    for (int i = 0; i < t->n; i++)
        eval_text_reset(&t->cell[i].text);
    free(t->cell);
    *t = (struct olm_table){0};
}

bool olm_is_at(const struct olm_cell *a, enum olm_side side, const struct olm_cell *b)
{
    bool same_cols = a->col < b->col + b->colspan && b->col < a->col + a->colspan;
    bool same_rows = a->row < b->row + b->rowspan && b->row < a->row + a->rowspan;

    switch (side) {
    case OLM_UP:
        return same_cols && b->row + b->rowspan == a->row;
    case OLM_DOWN:
        return same_cols && a->row + a->rowspan == b->row;
    case OLM_LEFT:
        return same_rows && b->col + b->colspan == a->col;
    case OLM_RIGHT:
        return same_rows && a->col + a->colspan == b->col;
    case OLM_TOP_HEADING:
        return same_cols && b->row < a->row && (b->row == 0 || b->is_header);
    default:
        return same_rows && b->col < a->col && (b->col == 0 || b->is_header);
    }
}
