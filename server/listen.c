#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static int fail(char *error, size_t n, const char *where, const char *why)
{
    snprintf(error, n, "--listen %s: %s", where, why);
    return -1;
}

/* A socket file that nobody listens on any more is in the way of bind. */
static void remove_stale(const struct sockaddr_un *a)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct stat st;

    if (fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof *a) < 0 &&
        errno == ECONNREFUSED && lstat(a->sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
        unlink(a->sun_path);
    if (fd >= 0)
        close(fd);
}

static int listen_unix(const char *where, const char *path, char *error, size_t n)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};

    if (strlen(path) == 0 || strlen(path) >= sizeof a.sun_path)
        return fail(error, n, where, "the path is empty or too long for a socket (107 bytes)");
    strcpy(a.sun_path, path);
    remove_stale(&a);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t old = umask(0117);
    bool is_bound = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    umask(old);
    if (is_bound && listen(fd, BACKLOG) == 0)
        return fd;
    fail(error, n, where, strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* "[::1]:80" or "host:80" into host and port. */
static bool split(const char *where, char host[256], char port[8])
{
    const char *colon = strrchr(where, ':');
    size_t n = colon ? (size_t)(colon - where) : 0;

    if (!colon || n == 0 || n > 255 || strlen(colon + 1) == 0 || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || atoi(colon + 1) > 65535)
        return false;
    bool is_v6 = where[0] == '[' && n > 2 && where[n - 1] == ']';
    snprintf(host, 256, "%.*s", (int)(is_v6 ? n - 2 : n), where + is_v6);
    snprintf(port, 8, "%s", colon + 1);
    return is_v6 || !strchr(host, ':');
}

static int listen_tcp(const struct addrinfo *a)
{
    int one = 1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int listen_on(const char *where, char *error, size_t n, bool *is_usage)
{
    struct addrinfo hint = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list;
    char host[256], port[8];

    *is_usage = false;
    if (strncmp(where, "unix:", 5) == 0)
        return listen_unix(where, where + 5, error, n);
    *is_usage = true;
    if (!split(where, host, port))
        return fail(error, n, where, "not HOST:PORT, [V6]:PORT or unix:PATH, as in 127.0.0.1:8080");
    int rc = getaddrinfo(host, port, &hint, &list);
    if (rc != 0)
        return fail(error, n, where, gai_strerror(rc));
    *is_usage = false;
    int fd = listen_tcp(list);
    if (fd < 0)
        fail(error, n, where, strerror(errno));
    freeaddrinfo(list);
    return fd;
}

bool listen_is_local(const char *where)
{
    char host[256], port[8];

    if (strncmp(where, "unix:", 5) == 0)
        return true;
    if (!split(where, host, port))
        return false;
    return strcmp(host, "localhost") == 0 || address_in(host, "127.0.0.0/8") ||
           address_in(host, "::1");
}

int listen_port(int fd)
{
    struct sockaddr_storage a = {0};
    socklen_t n = sizeof a;

    if (getsockname(fd, (struct sockaddr *)&a, &n) < 0)
        return 0;
    if (a.ss_family == AF_INET)
        return ntohs(((struct sockaddr_in *)&a)->sin_port);
    return a.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&a)->sin6_port) : 0;
}

void address_text(const struct sockaddr *a, char *out, size_t n)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;

    snprintf(out, n, "unix");
    if (a->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, out, (socklen_t)n);
    else if (a->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
        inet_ntop(AF_INET, six->sin6_addr.s6_addr + 12, out, (socklen_t)n);
    else if (a->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &six->sin6_addr, out, (socklen_t)n);
}

bool address_in(const char *address, const char *net)
{
    unsigned char a[16], b[16];
    char base[64];
    const char *slash = strchr(net, '/');
    int family = strchr(net, ':') ? AF_INET6 : AF_INET, bits = family == AF_INET ? 32 : 128;

    if (strcmp(net, "unix") == 0)
        return strcmp(address, "unix") == 0;
    snprintf(base, sizeof base, "%.*s", (int)(slash ? slash - net : (long)strlen(net)), net);
    if (slash)
        bits = atoi(slash + 1);
    if (inet_pton(family, base, b) != 1 || inet_pton(family, address, a) != 1 || bits < 0 ||
        bits > (family == AF_INET ? 32 : 128))
        return false;
    for (int i = 0; i < bits; i++)
        if ((a[i / 8] ^ b[i / 8]) & 0x80 >> i % 8)
            return false;
    return true;
}
