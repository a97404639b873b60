/* Text -> token ids and back: byte-level byte pair encoding as a Hugging Face tokenizer.json
 * describes it.
 *
 *     text --added tokens--> texts between them --presplit--> pieces --bpe--> ids
 *
 * Taken from the file: vocabulary, merges (as "a b" or ["a", "b"]), added tokens, split patterns.
 * What DeepSeek-OCR-2's file does not use is refused with a sentence and not half done:
 * normalisers, other pre-tokenizers, dropout, byte fallback, unknown tokens, ignore_merges, added
 * tokens with lstrip, rstrip or single_word. The post-processor is not read: BOS comes from
 * template.h only.
 *
 * An open tokenizer is only read, so any number of threads may use it. No id is a constant here;
 * they come from the file (the released model's <image> is 128815, the mini model's 280). */
#ifndef RECTO_PROMPT_TOKENIZER_H
#define RECTO_PROMPT_TOKENIZER_H

#include "prompt/added.h"
#include "prompt/bpe.h"
#include "prompt/ids.h"
#include "prompt/presplit.h"
#include "prompt/vocab.h"

#define TOKENIZER_MAX_FILE (64 << 20) /* bytes of a tokenizer.json; the released one has 10 MB */
#define TOKENIZER_MAX_REST (4 << 20)  /* of it outside vocabulary and merges; released: 0.2 MB */
#define TOKENIZER_MAX_TEXT \
    (4 << 20) /* bytes that tokenizer_encode takes; the context is 8192 tokens */

struct tokenizer {
    struct vocab vocab;
    struct bpe bpe;
    struct added added[2]; /* [0] "normalized": false, cut out first; [1] the others */
    struct presplit presplit;
    int32_t bos, eos; /* -1: the file has none */
};

/* Read path; bos_token and eos_token are named by tokenizer_config.json in the same folder, else
 * (no such file or key) they are "<｜begin▁of▁sentence｜>" and "<｜end▁of▁sentence｜>". About 90 ms for
 * the released file. RECTO_ENOTFOUND, RECTO_EREAD, RECTO_ETOOLARGE; RECTO_EFORMAT: broken;
 * RECTO_EMODEL: sound, but of a kind that is not supported, or without BOS or EOS. Sentences name
 * file and key. */
int tokenizer_open(struct tokenizer *t, const char *path);
/* As tokenizer_open, from memory and without a tokenizer_config.json; name is for messages. bos and
 * eos may be -1. */
int tokenizer_parse(struct tokenizer *t, str json, const char *name);
void tokenizer_close(struct tokenizer *t);

/* Append the ids of text, without BOS.
 * parse_special: added tokens in the text ("<image>", "<|ref|>" ...) become their ids; else they
 * are text like any other. Text that is not UTF-8 is encoded as if each invalid sequence were
 * U+FFFD (Unicode's maximal subparts), as Rust and Python programs do before they call their
 * tokenizer.
 * RECTO_ETOOLARGE: over TOKENIZER_MAX_TEXT; RECTO_EMODEL: a hostile split pattern. On failure
 * nothing is appended. */
int tokenizer_encode(const struct tokenizer *t, str text, bool parse_special, struct ids *out);

/* The id of the token that reads exactly `text` when decoded, added tokens first; -1 if there is
 * none. */
int32_t tokenizer_id(const struct tokenizer *t, str text);

/* Highest id with text, + 1 (released: 128827; the model has more rows than that). */
static inline int tokenizer_n_vocab(const struct tokenizer *t)
{
    return t->vocab.n;
}

/* The bytes an id decodes to, perhaps not whole characters; added tokens read as written. Empty: an
 * id without text, or out of range. Belongs to t. */
static inline str tokenizer_piece(const struct tokenizer *t, int32_t id)
{
    return vocab_piece(&t->vocab, id);
}

/* The pieces of ids 0 .. n_vocab - 1, for result/detok.h.  Belongs to t. */
static inline const str *tokenizer_pieces(const struct tokenizer *t)
{
    return t->vocab.piece;
}

#endif
