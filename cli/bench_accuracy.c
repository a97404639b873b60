#include "bench_accuracy.h"

#ifdef HAS_EVAL
#include "eval/score.h"
#include "eval/set.h"

#include <stdlib.h>
#include <string.h>

struct accuracy_sum {
    int n_page;
    struct eval_errors chars, chars_ns;
};

struct accuracy_sum *accuracy_open(void)
{
    return calloc(1, sizeof(struct accuracy_sum));
}

/* .../truth/NAME with this ending, of .../pages/NAME.EXT; NULL when it is not there. */
static char *truth_of(const char *file, const char *ending)
{
    const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');
    size_t n = slash ? (size_t)(slash - file) : 0;

    if (n < 5 || strncmp(slash - 5, "pages", 5) != 0 || (n > 5 && slash[-6] != '/'))
        return NULL;
    int n_name = dot && dot > slash ? (int)(dot - slash) : (int)strlen(slash);
    char *path = eval_string("%.*struth%.*s%s", (int)n - 5, file, n_name, slash, ending);
    char *text = eval_read_file(path, NULL);
    free(path);
    return text;
}

static void add(struct eval_errors *sum, struct eval_errors e)
{
    sum->edits += e.edits;
    sum->ref += e.ref;
}

bool accuracy_add(struct accuracy_sum *s, const char *file, int number, const char *text)
{
    char *md = truth_of(file, ".md"), *whole = md ? md : truth_of(file, ".txt");
    char *truth = md ? eval_md_page(md, number) : number == 1 ? eval_copy(whole) : NULL;
    char *read = truth ? eval_read_file(text, NULL) : NULL;

    free(whole);
    if (truth) {
        struct eval_text a = eval_text_of(truth, strlen(truth), EVAL_N1);
        struct eval_text b = eval_text_of(read ? read : "", read ? strlen(read) : 0, EVAL_N1);

        add(&s->chars, eval_char_errors(&a, &b));
        add(&s->chars_ns, eval_char_errors_ns(&a, &b));
        s->n_page++;
        eval_text_reset(&a);
        eval_text_reset(&b);
    }
    bool had_truth = truth;
    free(truth);
    free(read);
    return had_truth;
}

struct accuracy accuracy_close(struct accuracy_sum *s)
{
    struct accuracy a = {0};

    if (s)
        a = (struct accuracy){s->n_page, eval_rate(s->chars), eval_rate(s->chars_ns)};
    free(s);
    return a;
}

#else

#include <stddef.h>

struct accuracy_sum *accuracy_open(void)
{
    return NULL;
}

bool accuracy_add(struct accuracy_sum *s, const char *file, int number, const char *text)
{
    return false;
}

struct accuracy accuracy_close(struct accuracy_sum *s)
{
    return (struct accuracy){0};
}
#endif
