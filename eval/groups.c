#include "groups.h"

#include "text.h"

#include <stdlib.h>
#include <string.h>

static char *name_of(const struct eval_case *c, enum eval_group a, enum eval_group b)
{
    if (!c->group[a] || !c->group[b])
        return NULL;
    return a == b ? eval_copy(c->group[a]) : eval_string("%s, %s", c->group[a], c->group[b]);
}

static struct group *find(struct groups *g, const char *name)
{
    for (int i = 0; i < g->n; i++)
        if (strcmp(g->at[i].name, name) == 0)
            return &g->at[i];
    return NULL;
}

static struct group *add(struct groups *g, char *name, int n_page)
{
    g->at = eval_grow(g->at, (size_t)g->n + 1, sizeof *g->at);
    g->at[g->n] = (struct group){name, eval_alloc((size_t)n_page, sizeof(int)), 0};
    return &g->at[g->n++];
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct group *)a)->name, ((const struct group *)b)->name);
}

struct groups groups_by(const struct eval_set *s, enum eval_group a, enum eval_group b)
{
    struct groups g = {
        .title = a == b ? eval_copy(eval_group_name(a))
                        : eval_string("%s and %s", eval_group_name(a), eval_group_name(b))};

    for (int i = 0; i < s->n; i++) {
        char *name = name_of(&s->at[i], a, b);

        if (!name)
            continue;
        struct group *one = find(&g, name);
        if (one)
            free(name);
        else
            one = add(&g, name, s->n);
        one->index[one->n++] = i;
    }
    if (g.n > 0)
        qsort(g.at, (size_t)g.n, sizeof *g.at, by_name);
    return g;
}

void groups_reset(struct groups *g)
{
    for (int i = 0; i < g->n; i++) {
        free(g->at[i].name);
        free(g->at[i].index);
    }
    free(g->at);
    free(g->title);
    *g = (struct groups){0};
}
