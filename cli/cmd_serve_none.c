/* In a build without the server (RECTO_SERVER=OFF, as the cuda preset is for machines without packages). */
#include "cli.h"
#include "progress.h"

static int none(void)
{
    say(SAY_ERROR, "this build has no server; configure with -DRECTO_SERVER=ON, which needs "
                   "libmicrohttpd-dev and libsqlite3-dev");
    return EXIT_USAGE;
}

int cmd_serve(const struct options *o)
{
    return none();
}

int cmd_key(const struct options *o)
{
    return none();
}

int cmd_store(const struct options *o)
{
    return none();
}
