#include "cli.h"
#include "progress.h"

#include <stdio.h>

static void print_line(void *ctx, const char *line)
{
    puts(line);
    fflush(stdout); /* a comparison takes seconds; show each line when it is known */
}

static int usage(const char *what)
{
    say(SAY_ERROR, "%s", what);
    return EXIT_USAGE;
}

static int check_usage(const struct options *o)
{
    bool golden = opt_given(o, OPT_GOLDEN), tokenizer = opt_given(o, OPT_TOKENIZER);

    if (!golden && !tokenizer && !opt_given(o, OPT_PREPROCESS))
        return usage("say what to verify: --golden DIR, --preprocess CASES_JSON or "
                     "--tokenizer TOKENIZER_JSON CASES_JSON");
    if (!golden && (opt_given(o, OPT_CASE) || o->source[OPT_GUARD] == SOURCE_ARGUMENT))
        return usage("--case and --guard need --golden DIR");
    if (tokenizer && o->n_input != 1)
        return usage("--tokenizer TOKENIZER_JSON needs one list of cases: "
                     "recto verify --tokenizer tokenizer.json cases.json");
    if (!tokenizer && o->n_input > 0)
        return usage("only --tokenizer takes an operand, its list of cases");
    return 0;
}

/* Print whether one comparison held; returns the exit code so far. */
static int conclude(const char *what, int rc, int exit)
{
    if (rc == 0) {
        printf("%s: holds\n", what);
        return exit;
    }
    fflush(stdout);
    int now = report_failure(rc);
    return exit == EXIT_FINE ? now : exit;
}

int cmd_verify(const struct options *o)
{
    struct recto_settings s;
    int guard_n, guard_w, exit = check_usage(o);

    if (exit || (exit = guard_from(o, &guard_n, &guard_w)))
        return exit;
    settings_from(o, &s);
    if (opt_given(o, OPT_PREPROCESS))
        exit = conclude("preprocess",
                        recto_verify_preprocess(opt_text(o, OPT_PREPROCESS), print_line, NULL),
                        exit);
    if (opt_given(o, OPT_TOKENIZER))
        exit = conclude(
            "tokenizer",
            recto_verify_tokenizer(opt_text(o, OPT_TOKENIZER), o->input[0], print_line, NULL),
            exit);
    if (opt_given(o, OPT_GOLDEN))
        exit = conclude("golden",
                        recto_verify_golden(&s, opt_text(o, OPT_GOLDEN), opt_text(o, OPT_CASE),
                                            guard_n, guard_w, print_line, NULL),
                        exit);
    return fflush(stdout) != 0 && exit == EXIT_FINE ? EXIT_OUTPUT : exit;
}
