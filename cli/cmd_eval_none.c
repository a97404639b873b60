/* In a build without recto eval (RECTO_EVAL=OFF, as the cuda preset is for machines without packages). */
#include "cli.h"
#include "progress.h"

int cmd_eval(const struct options *o)
{
    say(SAY_ERROR, "this build has no recto eval; configure with -DRECTO_EVAL=ON, which needs "
                   "libxml2-dev and libutf8proc-dev");
    return EXIT_USAGE;
}
