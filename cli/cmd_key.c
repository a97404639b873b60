/* recto key: keys of the server's API. */
#include "auth.h"
#include "cli.h"
#include "progress.h"

#include <stdio.h>
#include <string.h>

static int make_key(const struct options *o, const char *path, const char *name)
{
    const char *role = opt_text(o, OPT_ROLE);
    struct auth_key who = {.is_admin = role && strcmp(role, "admin") == 0,
                           .rate = opt_real(o, OPT_SERVE_RATE, -1),
                           .pages_day = opt_int(o, OPT_PAGES_DAY, 0),
                           .jobs = opt_int(o, OPT_KEY_JOBS, 0),
                           .bytes = opt_size(o, OPT_KEY_BYTES, 0)};
    char key[KEY_BYTES + 1], error[1024];

    snprintf(who.name, sizeof who.name, "%s", name);
    if (strlen(name) >= sizeof who.name) {
        say(SAY_ERROR, "'%.60s...' is longer than %zu bytes; choose a shorter name", name,
            sizeof who.name - 1);
        return EXIT_USAGE;
    }
    if (auth_new_key(path, &who, key, error, sizeof error) < 0) {
        say(SAY_ERROR, "%s", error);
        return EXIT_USAGE;
    }
    puts(key);
    say(SAY_INFO,
        "this is the only time that the key is shown; %s keeps its SHA-256. A running server "
        "takes it up after SIGHUP",
        path);
    return fflush(stdout) == 0 ? EXIT_FINE : EXIT_OUTPUT;
}

int cmd_key(const struct options *o)
{
    const char *path = opt_text(o, OPT_KEYS);

    if (o->n_input != 2 || strcmp(o->input[0], "new") != 0) {
        say(SAY_ERROR, "usage: recto key new NAME --keys FILE");
        return EXIT_USAGE;
    }
    if (!path) {
        say(SAY_ERROR, "--keys FILE says where keys are kept; recto serve needs the same");
        return EXIT_USAGE;
    }
    return make_key(o, path, o->input[1]);
}
