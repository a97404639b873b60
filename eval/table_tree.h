/* A table of HTML as the tree that TEDS compares (teds.h), its nodes in postorder. */
#ifndef RECTO_EVAL_TABLE_TREE_H
#define RECTO_EVAL_TABLE_TREE_H

#include "text.h"

struct table_node {
    char tag[16]; /* lower case; longer names are cut */
    int colspan, rowspan;
    struct eval_text content; /* of a td: characters, and negative numbers for tags */
    int left;                 /* index of the leftmost leaf below it, or its own */
    int parent;               /* index; -1: the table */
};

struct table_tree {
    struct table_node *node; /* the table is the last */
    int n;
    int n_below; /* elements below <table>, those in cells among them; 0: no table, or an empty one */
};

/* The first table in an HTML text. HTML is read as browsers read it (libxml2): nothing is an error. */
struct table_tree table_tree_of(const char *html, bool structure_only);
void table_tree_reset(struct table_tree *t);

#endif
