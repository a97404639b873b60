/* Bytes on their way to one client, written by any thread as they come to be.
 *
 * Two sides hold a stream, the writer and the connection; it is freed when both have let go.  A client that takes too
 * little is cut off: a stream keeps at most `cap` bytes, and a write that does not fit ends it. */
#ifndef RECTO_SERVER_STREAM_H
#define RECTO_SERVER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;
struct MHD_Connection;

/* A stream of at most cap waiting bytes; the caller is the writer. */
struct stream *stream_open(size_t cap);
/* All n bytes or none: 0, or -1 when the client is gone or has been cut off. */
int stream_write(struct stream *s, const void *bytes, size_t n);
/* Nothing more comes. The writer still holds s. */
void stream_end(struct stream *s);
/* The writer lets go (ends it too). NULL is fine. */
void stream_release(struct stream *s);
/* Call fn once when the client is gone or was cut off, from whichever thread finds out; it must not block, nor touch s. Ends
 * with stream_release. */
void stream_on_gone(struct stream *s, void (*fn)(void *ctx), void *ctx);
/* Bytes that wait. */
size_t stream_waiting(struct stream *s);
/* The client is gone or was cut off. */
bool stream_is_gone(struct stream *s);
/* It was cut off because the client took too little; to say so from outside: stream_mark_slow, then stream_cut. */
bool stream_is_slow(struct stream *s);
void stream_mark_slow(struct stream *s);
/* Milliseconds for which bytes have waited without any being taken; 0: none wait. */
int64_t stream_stalled_ms(struct stream *s);

/* ---- http.c and answer.c only: the connection's side ------------------------------------------------------------------------------ */
struct MHD_Response;
/* Another holder: the answer that will be sent from s, the table of connections. */
void stream_hold(struct stream *s);
void stream_let_go(struct stream *s);
/* A response that sends s over connection c; takes over a hold. */
struct MHD_Response *stream_response(struct stream *s, struct MHD_Connection *c);
/* The client went away; the writer's next write says so. Wakes the connection. */
void stream_cut(struct stream *s);

#endif
