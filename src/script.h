/* A script: what the model is to say, page by page.  A test instrument, chosen only by naming the device "script:FILE".
 *
 * The whole system runs as with a model: rendering, views, prompt, scheduling, KV accounting, guard and loop detector, parser
 * and writers; only the arithmetic is left out, and the ids come from FILE instead of from logits.  FILE is JSON:
 *
 *     {"pages": [{"document": "a.pdf", "page": 3, "attempt": 2, "rung": "wide", "turn": 90, "text": "...", ...}, ...]}
 *
 * The first entry that fits a reading is taken; a reading that none fits ends its page as an error.  A key that an entry does
 * not have fits anything.  What an entry is for:
 *     document   last part of the input's name        page     number in the document
 *     attempt    1, 2, ... of the readings of a page, probes not counted; 0: a probe
 *     rung       "first", "probe", "table", "wide", "shift", "halves", "text"
 *     turn       degrees clockwise that the page was turned by before it was read: 0, 90, 180, 270
 *     half       of a page read in halves: 1, 2
 *     view       "tiles", or "global" for a reading that has no tiles
 * What it says:
 *     text       tokenised with markers; "{page}", "{document}", "{attempt}", "{rung}", "{turn}", "{half}" are filled in
 *     repeat     a text, `times` times behind it (default: for ever)
 *     tail       text behind that
 *     end        "eos" (default), "on": numbers count up for ever, "fail": the device refuses the step
 *     other      text whose tokens take the place of what the guard forbids, the first allowed one (default "0123456789")
 *     logp       of every token (default -0.1)
 *     token_ms   what a step with this page takes at least (default 0) */
#ifndef RECTO_SCRIPT_H
#define RECTO_SCRIPT_H

#include "decoder/script.h"
#include "prompt/tokenizer.h"

#include <jansson.h>

struct script {
    json_t *root; /* NULL: no script */
    const struct tokenizer *tokenizer;
    struct ids on; /* numbers that count up, more of them than a context */
};

/* Which reading is asked for. */
struct script_ask {
    const char *document;
    int page, attempt;
    const char *rung;
    int turn, half;
    const char *view;
};

/* Is it the name of a scripted device? *file: what stands behind "script:". */
bool script_is_named(const char *device, const char **file);
/* Read and check file. n_context: ids that a page may have. script_close in any case. RECTO_EFORMAT names entry and key. */
int script_open(struct script *s, const char *file, const struct tokenizer *t, int n_context);
void script_close(struct script *s);
/* The stream for a reading; script_stream_reset frees it. Any thread. RECTO_EDEVICE: no entry fits. */
int script_find(const struct script *s, const struct script_ask *ask, struct script_stream *out);

#endif
