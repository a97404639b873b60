/* One chat call: what was asked (chat_ask.c), its reading (chat.c), its answer (chat_answer.c).
 *
 * A call brings pictures and PDF files; each page is read as a page of its own, all at once, and the texts are joined in order.
 * Everything about a running call is under its lock, but for what leaves it: the client's going away only raises a flag and
 * cancels the requests, from whichever thread hears of it. */
#ifndef RECTO_SERVER_CHAT_H
#define RECTO_SERVER_CHAT_H

#include "app.h"
#include "cli/strip.h"

#include <pthread.h>

enum { CHAT_DOCS = 32, CHAT_PAGES = 32, CHAT_STOPS = 4 };

enum chat_output { CHAT_MARKDOWN, CHAT_RAW, CHAT_LAYOUT };

/* A picture or PDF of the call. */
struct chat_doc {
    int file; /* in the sieve */
    char name[128];
    char password[128];
};

/* What was asked. */
struct chat_ask {
    struct chat_doc doc[CHAT_DOCS];
    int n_doc;
    struct recto_options options;  /* prompt and phrase point into text */
    char *prompt, *phrase, *pages; /* owned; NULL */
    int dpi;
    enum chat_output output;
    bool stream, include_usage;
    char *stop[CHAT_STOPS]; /* owned */
    int n_stop;
    json_t *warnings; /* owned: an array of sentences */
};

/* Read and check the body of q. False after an answer. chat_ask_reset in any case. */
bool chat_ask_read(struct server *s, struct request *q, struct chat_ask *a);
void chat_ask_reset(struct chat_ask *a);

/* ---- a call under way ------------------------------------------------------------------------------------------------ */
/* A page. */
struct chat_sheet {
    int number;       /* 0: not begun */
    struct text text; /* streaming: what has come and was not sent */
    struct strip strip;
    bool is_done, has_text;
    struct recto_page *page; /* NULL until it is done */
};

struct chat;

struct chat_part {
    struct chat *chat;
    _Atomic uint64_t request; /* 0: not submitted */
    int n_sheet;              /* 0: not known yet */
    struct chat_sheet *sheet;
};

struct chat {
    pthread_mutex_t lock;
    struct chat *next; /* server.chats */
    struct server *server;
    struct request *q; /* until it is answered */
    struct chat_ask ask;
    struct sieve files; /* open until all is done: the engine opens them when it gets there */
    struct chat_part part[CHAT_DOCS];
    int n_open; /* requests that go on, and the submitting thread */
    _Atomic bool is_gone;
    enum fault fault; /* of the call as a whole */
    char fault_text[512];
    int64_t retry_ms;
    char id[HTTP_ID_MAX], request_id[HTTP_ID_MAX];
    int64_t created_s, start_ns;
    /* streaming */
    struct stream *stream; /* NULL before the first byte */
    int at_part, at_sheet; /* the page whose text is being sent */
    struct text tail;      /* held back: may begin a stop sequence, or is half a character */
    bool is_stopped;       /* a stop sequence came */
};

/* Take over q and its answer; a's content is moved. */
void chat_start(struct server *s, struct request *q, struct chat_ask *a);

/* Calls under way; cancel all of them. */
int chat_count(struct server *s);
void chat_cancel_all(struct server *s);
/* ctx is a struct chat whose client has gone: cancel its requests. From any thread, under locks of http.c or stream.c: takes
 * none of the call's. */
void chat_gone(void *ctx);

/* ---- chat_answer.c --------------------------------------------------------------------------------------------------- */
#define CHAT_PAGE_SPLIT "\n\n<--- Page Split --->\n\n"
/* The lock is held: answer the client, all pages are done. q or stream is let go. */
void chat_finish(struct chat *c);
/* Send what can be sent of the text so far (ask.stream only). */
void chat_send(struct chat *c);

#endif
