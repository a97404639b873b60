/* Who may call, in this order: Host, origin, key, right, rate. Each answers q on a fault, and is false then. */
#ifndef RECTO_SERVER_CHECK_H
#define RECTO_SERVER_CHECK_H

#include "app.h"

/* Fill call.address and is_https; X-Forwarded-For and -Proto are believed from trusted proxies only. */
void check_address(const struct server *s, struct request *q);
bool check_host(const struct server *s, struct request *q);
/* Answers an OPTIONS call of a listed origin, and adds the headers that let its page read other answers. */
bool check_origin(const struct server *s, struct request *q);
/* The key from Authorization or, for the page, from the session's cookie; the route's right; for cookies that write, where
 * the call comes from. */
bool check_key(struct server *s, struct request *q);
bool check_rate(struct server *s, struct request *q);

/* May this host name or address be called (a Host header)? Names of the loopback net and addresses are always fine: only
 * names can be rebound to another machine. */
bool host_is_known(const struct server_list *names, const char *host);

#endif
