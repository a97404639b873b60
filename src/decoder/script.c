#include "decoder/script.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

/* What the stream says at position `at` of the new ids; *id is EOS behind its end. */
static int said_at(const struct script_stream *s, int64_t at, int32_t eos, int32_t *id)
{
    int64_t n_unit = s->n_times < 0 ? INT64_MAX / 2 : (int64_t)s->n_times * s->n_unit;
    const int32_t *from = s->id;

    *id = eos;
    if (at < s->n_head) {
        *id = from[at];
        return 0;
    }
    at -= s->n_head;
    from += s->n_head;
    if (s->n_unit && at < n_unit) {
        *id = from[at % s->n_unit];
        return 0;
    }
    at -= s->n_unit ? n_unit : 0;
    from += s->n_unit;
    if (at < s->n_tail)
        *id = from[at];
    else if (s->end == SCRIPT_FAILS)
        return err(RECTO_EDEVICE, "device: the script lets this page fail");
    else if (s->end == SCRIPT_RUNS_ON)
        *id = s->on[(at - s->n_tail) % s->n_on];
    return 0;
}

static bool is_among(int32_t id, const int32_t *list, int n)
{
    for (int i = 0; i < n; i++)
        if (list[i] == id)
            return true;
    return false;
}

int script_next(const struct script_stream *s, const struct sample_ask *ask,
                struct sampler_scratch *w, struct pick *out)
{
    const int32_t *other = s->id + s->n_head + s->n_unit + s->n_tail;
    int n_ban = sampler_bans(&ask->sampler->guard, ask->id, ask->n_id, ask->n_prompt, w->ban);
    int32_t id;

    TRY(said_at(s, ask->n_id - ask->n_prompt, ask->eos, &id));
    *out = (struct pick){.id = id, .logp = s->logp, .intervened = is_among(id, w->ban, n_ban)};
    for (int i = 0; out->intervened && i < s->n_other; i++)
        if (!is_among(other[i], w->ban, n_ban)) {
            out->id = other[i];
            break;
        }
    return 0;
}

void script_stream_reset(struct script_stream *s)
{
    free(s->id);
    *s = (struct script_stream){0};
}
