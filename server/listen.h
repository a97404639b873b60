/* Addresses as text, and sockets that listen. */
#ifndef RECTO_SERVER_LISTEN_H
#define RECTO_SERVER_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* A listening socket for "127.0.0.1:8080", "[::1]:0", "localhost:80" or "unix:PATH" (mode 0660; a stale socket file is
 * replaced). -1 with a sentence of at most n bytes in error, `*is_usage` telling whether the text is no address. */
int listen_on(const char *where, char *error, size_t n, bool *is_usage);
/* Only this machine can reach it: an address of the loopback net, "localhost", or a unix socket. */
bool listen_is_local(const char *where);
/* The port of a socket, 0 for a unix socket. */
int listen_port(int fd);
/* "127.0.0.1", "::1" (v4-in-v6 as v4), "unix". */
void address_text(const struct sockaddr *a, char *out, size_t n);
/* Does the address lie in "10.0.0.0/8", "::1/128", "192.0.2.7" or, for unix sockets, "unix"? */
bool address_in(const char *address, const char *net);

#endif
