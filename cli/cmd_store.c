/* recto store: look after a data directory that no server holds. */
#include "cli.h"
#include "jobs.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>

static void print_line(void *ctx, const char *line)
{
    puts(line);
}

int cmd_store(const struct options *o)
{
    static const struct {
        const char *name;
        int (*run)(const char *data, recto_line_fn *print, void *ctx);
    } tasks[] = {{"check", jobs_store_check},
                 {"vacuum", jobs_store_vacuum},
                 {"migrate", jobs_store_migrate}};
    char data[1024];

    data_dir_from(o, data);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        if (o->n_input != 1 || strcmp(o->input[0], tasks[i].name) != 0)
            continue;
        int rc = tasks[i].run(data, print_line, NULL);
        if (rc < 0)
            say(SAY_ERROR, "%s", jobs_last_error());
        if (fflush(stdout) != 0)
            return EXIT_OUTPUT;
        return rc < 0 ? EXIT_PAGES : EXIT_FINE;
    }
    say(SAY_ERROR, "usage: recto store check|vacuum|migrate [--data DIR]");
    return EXIT_USAGE;
}
