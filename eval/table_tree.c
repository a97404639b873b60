#include "table_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/HTMLparser.h>

struct builder {
    struct table_tree tree;
    int cap, cap_code;
    bool structure_only;
};

static bool is_element(const xmlNode *x)
{
    return x->type == XML_ELEMENT_NODE;
}

static const xmlNode *find_table(const xmlNode *x)
{
    for (; x; x = x->next) {
        if (is_element(x) && xmlStrEqual(x->name, (const xmlChar *)"table"))
            return x;
        const xmlNode *inside = find_table(x->children);
        if (inside)
            return inside;
    }
    return NULL;
}

static int count_below(const xmlNode *x)
{
    int n = 0;

    for (x = x->children; x; x = x->next)
        if (is_element(x))
            n += 1 + count_below(x);
    return n;
}

/* ---- content of a cell --------------------------------------------------------------------------- */

static void add_code(struct builder *b, struct eval_text *t, int32_t code)
{
    if (t->n == (size_t)b->cap_code)
        t->code = eval_grow(t->code, (size_t)(b->cap_code = 2 * b->cap_code + 64), sizeof *t->code);
    t->code[t->n++] = code;
}

/* A tag as one token: a negative number made of its name (FNV-1a). */
static int32_t tag_code(const xmlChar *name, bool is_end)
{
    uint32_t h = is_end ? 2166136261u : 2166136262u;

    for (; *name; name++)
        h = (h ^ *name) * 16777619u;
    return -(int32_t)(h & 0x3FFFFFFF) - 1;
}

static void add_content(struct builder *b, struct eval_text *t, const xmlNode *x)
{
    for (x = x->children; x; x = x->next) {
        if (is_element(x)) {
            add_code(b, t, tag_code(x->name, false));
            add_content(b, t, x);
            add_code(b, t, tag_code(x->name, true));
        } else if (x->type == XML_TEXT_NODE && x->content) {
            struct eval_text part = eval_text_of((const char *)x->content,
                                                 strlen((const char *)x->content), EVAL_AS_IS);

            for (size_t i = 0; i < part.n; i++)
                add_code(b, t, part.code[i]);
            eval_text_reset(&part);
        }
    }
}

/* ---- nodes --------------------------------------------------------------------------------------- */

static int span_of(xmlNode *x, const char *name)
{
    xmlChar *value = xmlGetProp(x, (const xmlChar *)name);
    int n = value ? atoi((const char *)value) : 1;

    xmlFree(value);
    return n;
}

/* Adds x and what is below it; its index. */
static int add_node(struct builder *b, xmlNode *x)
{
    bool is_cell = xmlStrEqual(x->name, (const xmlChar *)"td");
    struct table_node node = {.colspan = 1, .rowspan = 1, .left = -1, .parent = -1};
    int first_below = b->tree.n;

    snprintf(node.tag, sizeof node.tag, "%s", (const char *)x->name);
    for (xmlNode *c = is_cell ? NULL : x->children; c; c = c->next)
        if (is_element(c)) {
            int at = add_node(b, c);

            if (node.left < 0)
                node.left = b->tree.node[at].left;
        }
    if (is_cell) {
        node.colspan = span_of(x, "colspan");
        node.rowspan = span_of(x, "rowspan");
        b->cap_code = 0;
        if (!b->structure_only)
            add_content(b, &node.content, x);
    }
    if (b->tree.n == b->cap)
        b->tree.node = eval_grow(b->tree.node, (size_t)(b->cap = 2 * b->cap + 64), sizeof node);
    int own = b->tree.n++;
    node.left = node.left < 0 ? own : node.left;
    b->tree.node[own] = node;
    for (int i = first_below; i < own; i++)
        if (b->tree.node[i].parent < 0)
            b->tree.node[i].parent = own;
    return own;
}

struct table_tree table_tree_of(const char *html, bool structure_only)
{
    struct builder b = {.structure_only = structure_only};
    htmlDocPtr doc = htmlReadMemory(html, (int)strlen(html), NULL, "UTF-8",
                                    HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                        HTML_PARSE_NONET);
    const xmlNode *table = doc ? find_table(xmlDocGetRootElement(doc)) : NULL;

    if (table) {
        b.tree.n_below = count_below(table);
        add_node(&b, (xmlNode *)table);
    }
    xmlFreeDoc(doc);
    return b.tree;
}

void table_tree_reset(struct table_tree *t)
{
    for (int i = 0; i < t->n; i++)
        eval_text_reset(&t->node[i].content);
    free(t->node);
    *t = (struct table_tree){0};
}
