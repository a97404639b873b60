#include "cli.h"
#include "progress.h"

#include <stdio.h>

static void print_line(void *ctx, const char *line)
{
    puts(line);
}

static int inspect_model(const struct recto_settings *s)
{
    int rc = recto_inspect_model(s, print_line, NULL);
    if (rc == 0)
        return EXIT_FINE;
    int exit = report_failure(rc);
    return exit == EXIT_INPUT ? EXIT_MODEL : exit;
}

/* All images are tried; the exit code is that of recto read: 4 if none could be read, 3 if some
 * could not. */
static int inspect_images(const struct recto_settings *s, const struct options *o)
{
    int n_bad = 0, worst = EXIT_FINE;

    for (int i = 0; i < o->n_input; i++) {
        int rc = recto_inspect_image(s, o->input[i], print_line, NULL);
        fflush(stdout);
        if (rc == 0)
            continue;
        int exit = report_failure(rc);
        if (exit != EXIT_INPUT)
            worst = exit;
        n_bad++;
    }
    if (worst != EXIT_FINE || n_bad == 0)
        return worst;
    return n_bad == o->n_input ? EXIT_INPUT : EXIT_PAGES;
}

int cmd_inspect(const struct options *o)
{
    struct recto_settings s;

    settings_from(o, &s);
    if (!s.model_dir)
        announce_default_model();
    int rc = o->n_input == 0 ? inspect_model(&s) : inspect_images(&s, o);
    if (fflush(stdout) != 0 && rc == EXIT_FINE)
        rc = EXIT_OUTPUT;
    return rc;
}
