#include "cli.h"
#include "progress.h"

#include <stdio.h>

static void print_line(void *ctx, const char *line)
{
    puts(line);
}

int cmd_quantize(const struct options *o)
{
    const char *out = opt_text(o, OPT_OUT), *scheme = opt_text(o, OPT_SCHEME);
    int rc;

    if (o->n_input != 1 || !out) {
        say(SAY_ERROR, "expected: recto quantize MODEL -o OUT --scheme int8");
        return EXIT_USAGE;
    }
    rc = recto_quantize(o->input[0], out, scheme ? scheme : "int8", (int)opt_int(o, OPT_THREADS, 0),
                        print_line, NULL);
    if (rc < 0)
        return report_failure(rc);
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}
