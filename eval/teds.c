#include "teds.h"

#include "table_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX 40000000.0 /* of the two square tables of the tree distance */

static double min3(double a, double b, double c)
{
    double ab = a < b ? a : b;

    return ab < c ? ab : c;
}

static double rename_cost(const struct table_node *a, const struct table_node *b)
{
    size_t longer = a->content.n > b->content.n ? a->content.n : b->content.n;

    if (strcmp(a->tag, b->tag) != 0 || a->colspan != b->colspan || a->rowspan != b->rowspan)
        return 1;
    return longer ? (double)eval_lev(&a->content, &b->content) / (double)longer : 0;
}

/* ---- the tree distance --------------------------------------------------------------------------- */

/* Zhang, Shasha: Simple fast algorithms for the editing distance between trees and related problems, SIAM J.
 * Computing 18 (1989).  Nodes in postorder; `tree` is the distance of the subtrees below each two, `forest` that of
 * the parts of two subtrees, made anew for each two key roots. */
struct distance {
    const struct table_tree *a, *b;
    double *tree;   /* [a->n][b->n] */
    double *forest; /* [a->n + 1][b->n + 1] */
    float *rename;  /* [a->n][b->n], negative where it is not known yet */
};

static double rename_once(struct distance *d, int i, int j)
{
    float *at = &d->rename[(size_t)i * (size_t)d->b->n + (size_t)j];

    if (*at < 0)
        *at = (float)rename_cost(&d->a->node[i], &d->b->node[j]);
    return *at;
}

static void subtrees(struct distance *d, int i, int j)
{
    int from_i = d->a->node[i].left, from_j = d->b->node[j].left;
    size_t width = (size_t)d->b->n + 1;
    double *f = d->forest;

    f[0] = 0;
    for (int x = from_i; x <= i; x++)
        f[(size_t)(x - from_i + 1) * width] = x - from_i + 1;
    for (int y = from_j; y <= j; y++)
        f[y - from_j + 1] = y - from_j + 1;
    for (int x = from_i; x <= i; x++)
        for (int y = from_j; y <= j; y++) {
            size_t u = (size_t)(x - from_i + 1), v = (size_t)(y - from_j + 1);
            int left_x = d->a->node[x].left, left_y = d->b->node[y].left;
            double *whole = &d->tree[(size_t)x * (size_t)d->b->n + (size_t)y];
            double *at = &f[u * width + v], edit = fmin(at[-1], f[(u - 1) * width + v]) + 1;

            if (left_x == from_i && left_y == from_j)
                *whole = *at = fmin(edit, f[(u - 1) * width + v - 1] + rename_once(d, x, y));
            else
                *at = fmin(edit, f[(size_t)(left_x - from_i) * width + (size_t)(left_y - from_j)] +
                                     *whole);
        }
}

/* A key root is the root, or has a sibling on its left: no later node has the same leftmost leaf. */
static int key_roots(const struct table_tree *t, int *root)
{
    char *is_taken = eval_alloc((size_t)t->n, 1);
    int n = 0;

    for (int i = t->n - 1; i >= 0; i--)
        if (!is_taken[t->node[i].left]) {
            is_taken[t->node[i].left] = 1;
            root[n++] = i;
        }
    free(is_taken);
    for (int i = 0; i < n / 2; i++) {
        int swap = root[i];

        root[i] = root[n - 1 - i];
        root[n - 1 - i] = swap;
    }
    return n;
}

static double tree_distance(const struct table_tree *a, const struct table_tree *b)
{
    size_t n = (size_t)a->n * (size_t)b->n;
    struct distance d = {a, b, eval_alloc(n, sizeof *d.tree),
                         eval_alloc(((size_t)a->n + 1) * ((size_t)b->n + 1), sizeof *d.forest),
                         eval_alloc(n, sizeof *d.rename)};
    int *root_a = eval_alloc((size_t)a->n, sizeof *root_a);
    int *root_b = eval_alloc((size_t)b->n, sizeof *root_b);
    int n_a = key_roots(a, root_a), n_b = key_roots(b, root_b);

    for (size_t i = 0; i < n; i++)
        d.rename[i] = -1;
    for (int i = 0; i < n_a; i++)
        for (int j = 0; j < n_b; j++)
            subtrees(&d, root_a[i], root_b[j]);
    double whole = d.tree[n - 1];
    free(d.tree);
    free(d.forest);
    free(d.rename);
    free(root_a);
    free(root_b);
    return whole;
}

/* ---- tables too large for it ----------------------------------------------------------------------- */

struct rows {
    const struct table_tree *t;
    int *at; /* rows: nodes with tag tr */
    int n;
};

static struct rows rows_of(const struct table_tree *t)
{
    struct rows r = {t, eval_alloc((size_t)t->n, sizeof *r.at), 0};

    for (int i = 0; i < t->n; i++)
        if (strcmp(t->node[i].tag, "tr") == 0)
            r.at[r.n++] = i;
    return r;
}

static int row_size(const struct rows *r, int k)
{
    return r->at[k] - r->t->node[r->at[k]].left + 1;
}

/* Cells of two rows in order: an edit distance with renaming costs. */
static double row_distance(const struct rows *a, int i, const struct rows *b, int j)
{
    int from_a = a->t->node[a->at[i]].left, from_b = b->t->node[b->at[j]].left;
    int n_a = a->at[i] - from_a, n_b = b->at[j] - from_b;
    double *line = eval_alloc((size_t)n_b + 1, sizeof *line), whole;

    for (int y = 0; y <= n_b; y++)
        line[y] = y;
    for (int x = 1; x <= n_a; x++) {
        double corner = line[0];

        line[0] = x;
        for (int y = 1; y <= n_b; y++) {
            double same = corner +
                          rename_cost(&a->t->node[from_a + x - 1], &b->t->node[from_b + y - 1]);

            corner = line[y];
            line[y] = min3(same, line[y] + 1, line[y - 1] + 1);
        }
    }
    whole = line[n_b];
    free(line);
    return whole;
}

/* Rows in order; only rows of about the same place are compared, as tables of this size are the same or not. */
static double rough_distance(const struct table_tree *ta, const struct table_tree *tb)
{
    enum { BAND = 50 };
    struct rows a = rows_of(ta), b = rows_of(tb);
    double *line = eval_alloc((size_t)b.n + 1, sizeof *line), whole;

    for (int y = 1; y <= b.n; y++)
        line[y] = line[y - 1] + row_size(&b, y - 1);
    for (int x = 1; x <= a.n; x++) {
        double corner = line[0];

        line[0] += row_size(&a, x - 1);
        for (int y = 1; y <= b.n; y++) {
            bool is_near = abs(x - y) <= BAND + abs(a.n - b.n);
            double same = is_near ? corner + row_distance(&a, x - 1, &b, y - 1) : INFINITY;

            corner = line[y];
            line[y] = min3(same, line[y] + row_size(&a, x - 1), line[y - 1] + row_size(&b, y - 1));
        }
    }
    whole = line[b.n];
    free(line);
    free(a.at);
    free(b.at);
    return whole;
}

double eval_teds(const char *truth, const char *html, bool structure_only, bool *is_rough)
{
    struct table_tree a = table_tree_of(truth, structure_only);
    struct table_tree b = table_tree_of(html, structure_only);
    bool rough = (double)a.n * b.n > CELLS_MAX;
    double teds = 0;

    if (is_rough)
        *is_rough = rough;
    if (a.n_below > 0 && b.n_below > 0) {
        double d = rough ? rough_distance(&a, &b) : tree_distance(&a, &b);
        teds = 1 - d / (a.n_below > b.n_below ? a.n_below : b.n_below);
    }
    table_tree_reset(&a);
    table_tree_reset(&b);
    return teds;
}
