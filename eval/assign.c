#include "assign.h"

#include "text.h"

#include <math.h>
#include <stdlib.h>

/* Columns and rows count from 1; 0 is nobody. */
struct state {
    const double *cost;
    int n_row, n_col;
    bool is_turned; /* rows are the caller's columns: there must be no more rows than columns */
    double *row_price, *col_price, *slack;
    int *row_of, *from; /* of columns */
    bool *is_seen;
};

static double cost_at(const struct state *s, int row, int col)
{
    double c = s->is_turned ? s->cost[(size_t)(col - 1) * (size_t)s->n_row + (size_t)(row - 1)]
                            : s->cost[(size_t)(row - 1) * (size_t)s->n_col + (size_t)(col - 1)];

    return c - s->row_price[row] - s->col_price[col];
}

/* The unseen column that is cheapest to reach after looking from that of `col`; *least is what it costs. */
static int look_from(struct state *s, int col, double *least)
{
    int best = 0;

    *least = INFINITY;
    for (int j = 1; j <= s->n_col; j++) {
        if (s->is_seen[j])
            continue;
        double c = cost_at(s, s->row_of[col], j);

        if (c < s->slack[j]) {
            s->slack[j] = c;
            s->from[j] = col;
        }
        if (s->slack[j] < *least) {
            *least = s->slack[j];
            best = j;
        }
    }
    return best;
}

static void add_row(struct state *s, int row)
{
    int col = 0;

    s->row_of[0] = row;
    for (int j = 0; j <= s->n_col; j++) {
        s->slack[j] = INFINITY;
        s->is_seen[j] = false;
    }
    do {
        double least;

        s->is_seen[col] = true;
        int next = look_from(s, col, &least);
        for (int j = 0; j <= s->n_col; j++) {
            if (s->is_seen[j]) {
                s->row_price[s->row_of[j]] += least;
                s->col_price[j] -= least;
            } else
                s->slack[j] -= least;
        }
        col = next;
    } while (s->row_of[col]);
    for (int before; col; col = before) {
        before = s->from[col];
        s->row_of[col] = s->row_of[before];
    }
}

void eval_assign(const double *cost, int n_row, int n_col, int *mate)
{
    bool turned = n_row > n_col;
    int rows = turned ? n_col : n_row, cols = turned ? n_row : n_col;
    size_t n = (size_t)cols + 1;
    struct state s = {.cost = cost, .n_row = rows, .n_col = cols, .is_turned = turned};

    s.row_price = eval_alloc((size_t)rows + 1, sizeof *s.row_price);
    s.col_price = eval_alloc(n, sizeof *s.col_price);
    s.slack = eval_alloc(n, sizeof *s.slack);
    s.row_of = eval_alloc(n, sizeof *s.row_of);
    s.from = eval_alloc(n, sizeof *s.from);
    s.is_seen = eval_alloc(n, sizeof *s.is_seen);
    for (int i = 1; i <= rows; i++)
        add_row(&s, i);
    for (int i = 0; i < n_row; i++)
        mate[i] = -1;
    for (int j = 1; j <= cols; j++) {
        if (s.row_of[j] && turned)
            mate[j - 1] = s.row_of[j] - 1;
        else if (s.row_of[j])
            mate[s.row_of[j] - 1] = j - 1;
    }
    free(s.row_price);
    free(s.col_price);
    free(s.slack);
    free(s.row_of);
    free(s.from);
    free(s.is_seen);
}
