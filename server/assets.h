/* The files of the web page, inside the program: server/web/dist/ at the time of the build (tools/embed.c makes the table). */
#ifndef RECTO_SERVER_ASSETS_H
#define RECTO_SERVER_ASSETS_H

#include <stddef.h>

struct asset {
    const char *name;                  /* "index.html" */
    const char *type;                  /* media type */
    const char *etag;                  /* with quotes */
    const unsigned char *bytes, *gzip; /* gzip NULL: not smaller */
    size_t n, n_gzip;
};
extern const struct asset assets[];
extern const int n_assets;

#endif
