/* Keeps streams alive: a comment line each 15 s, so that no proxy takes silence for death. */
#ifndef RECTO_SERVER_PINGER_H
#define RECTO_SERVER_PINGER_H

struct pinger;
struct stream;

enum { PING_S = 15 };

struct pinger *pinger_open(void);
void pinger_close(struct pinger *p);
/* s stays its writer's, who removes it before letting go of it. */
void pinger_add(struct pinger *p, struct stream *s);
void pinger_remove(struct pinger *p, struct stream *s);

#endif
