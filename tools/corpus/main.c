/* recto-corpus: pages whose truth is known exactly, made from a seed. The same seed, programs and fonts give
 * the same bytes. */
#include "base/clock.h"
#include "base/err.h"
#include "job.h"
#include "tools/args.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "recto-corpus [options] -o DIR\n"
    "    --seed N        default 1\n"
    "    --kind KIND     technical, tables, handwriting (-like: a script, jittered), scans, mini (what the\n"
    "                    mini model reads), cells (365 equal cells), mixed (the first four by turns; default)\n"
    "    --n N           pages; default 12\n"
    "    --lang LIST     of en,fr,de,ru,zh,ja; default all, by turns\n"
    "    --as FORM       png, pdf (a file for each page), book (one PDF); default png\n"
    "    --dpi N         of rasters, 50 to 600; default 150, for mini 72\n"
    "    --spoil LIST    what happens to each page: show-through,blur0.7,blur1.5,dpi100,noise8,noise16,\n"
    "                    threshold,jpeg30,skew-1,skew1,skew-3,skew3, or none;\n"
    "                    default: scans get one or two at random, other kinds none\n"
    "    --level LEVEL   clean, worn (one or two of these at random, lightly) or poor (those and one more, hard,\n"
    "                    some as 1 bit): the same pages at three degrees of wear\n";

/* The part of a list up to its next comma; list moves behind it. */
static str next_item(const char **list)
{
    size_t n = strcspn(*list, ",");
    str item = {*list, n};

    *list += n + ((*list)[n] == ',');
    return item;
}

static int parse_langs(struct job *j, const char *list)
{
    for (j->n_lang = 0; *list;) {
        str code = next_item(&list);
        const struct lexicon *l = lexicon_find(code);

        if (!l || j->n_lang == (int)(sizeof j->lang / sizeof *j->lang))
            return err(RECTO_EUSAGE, "--lang: '%.*s' is not one of en, fr, de, ru, zh, ja",
                       (int)code.n, code.p);
        j->lang[j->n_lang++] = l;
    }
    return j->n_lang ? 0 : err(RECTO_EUSAGE, "--lang: no language");
}

static int parse_spoils(struct job *j, const char *list)
{
    j->is_auto = false;
    if (strcmp(list, "none") == 0)
        return 0;
    while (*list) {
        str name = next_item(&list);
        int i = 0;

        while (i < N_SPOIL && !str_eq(name, str_of(spoil_name(i))))
            i++;
        if (i == N_SPOIL)
            return err(RECTO_EUSAGE, "--spoil: there is no '%.*s'", (int)name.n, name.p);
        j->spoils |= 1u << i;
    }
    return 0;
}

static int parse_level(struct job *j, const char *name)
{
    for (int i = LEVEL_CLEAN; i < N_LEVEL; i++)
        if (strcmp(name, level_names[i]) == 0) {
            j->level = (enum level)i;
            return 0;
        }
    return err(RECTO_EUSAGE, "--level %s: expected clean, worn or poor", name);
}

static int parse_form(struct job *j, const char *name)
{
    static const char *const forms[] = {"png", "pdf", "book"};

    for (int i = 0; i < 3; i++)
        if (strcmp(name, forms[i]) == 0) {
            j->form = (enum form)i;
            return 0;
        }
    return err(RECTO_EUSAGE, "--as %s: expected png, pdf or book", name);
}

static int parse_option(struct job *j, int option, const char *value)
{
    long long n;

    switch (option) {
    case 's':
        TRY(args_number("seed", value, 0, INT64_MAX, &n));
        j->seed = (uint64_t)n;
        return 0;
    case 'k':
        j->kind = value;
        return kind_of_page(value, 1) ? 0 : err(RECTO_EUSAGE, "--kind: there is no '%s'", value);
    case 'n':
        TRY(args_number("n", value, 1, 99999, &n));
        j->n = (int)n;
        return 0;
    case 'l':
        return parse_langs(j, value);
    case 'a':
        return parse_form(j, value);
    case 'd':
        TRY(args_number("dpi", value, 50, 600, &n));
        j->dpi = (double)n;
        return 0;
    case 'p':
        return parse_spoils(j, value);
    case 'v':
        return parse_level(j, value);
    case 'o':
        j->dir = value;
        return 0;
    default:
        return err(RECTO_EUSAGE, "unknown option, or one without its value");
    }
}

static int parse(struct job *j, int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},  {"kind", required_argument, NULL, 'k'},
        {"n", required_argument, NULL, 'n'},     {"lang", required_argument, NULL, 'l'},
        {"as", required_argument, NULL, 'a'},    {"dpi", required_argument, NULL, 'd'},
        {"spoil", required_argument, NULL, 'p'}, {"level", required_argument, NULL, 'v'},
        {"out", required_argument, NULL, 'o'},   {NULL, 0, NULL, 0},
    };
    int option;

    *j = (struct job){.seed = 1, .kind = "mixed", .n = 12, .is_auto = true};
    parse_langs(j, "en,fr,de,ru,zh,ja");
    opterr = 0;
    while ((option = getopt_long(argc, argv, "o:", options, NULL)) != -1)
        TRY(parse_option(j, option, optarg));
    if (optind < argc || !j->dir)
        return err(RECTO_EUSAGE, "expected -o DIR and nothing else");
    if (j->level && !j->is_auto)
        return err(RECTO_EUSAGE, "--level chooses what --spoil says: give one of them");
    if (j->dpi == 0)
        j->dpi = strcmp(j->kind, "mini") == 0 ? 72 : 150;
    return 0;
}

int main(int argc, char **argv)
{
    struct job j;
    int64_t start = clock_ns();
    int rc = parse(&j, argc, argv);

    if (rc < 0) {
        fprintf(stderr, "recto-corpus: %s\n%s", recto_last_error(), usage);
        return 2;
    }
    j.context = pen_context();
    rc = corpus_write(&j);
    if (rc < 0)
        fprintf(stderr, "recto-corpus: %s (%s)\n", recto_last_error(), recto_error_name(rc));
    else
        printf("%d pages in %.1f s: %s\n", j.n, clock_ms_since(start) / 1e3, j.dir);
    g_object_unref(j.context);
    return rc < 0;
}
