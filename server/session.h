/* Sessions of the web page: a cookie instead of a key, since EventSource and pictures cannot send headers. */
#ifndef RECTO_SERVER_SESSION_H
#define RECTO_SERVER_SESSION_H

#include "auth.h"

#define SESSION_COOKIE "recto_session"
enum { SESSION_S = 12 * 3600 };

struct server;

/* Whose session is this? False: unknown, over, or its key was removed. */
bool session_find(struct server *s, const char *cookie, struct auth_key *who);

#endif
