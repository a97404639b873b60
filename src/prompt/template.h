/* A page's prompt as token ids: BOS, the text before <image>, one image id per visual row, the text
 * after.
 *
 * Built as the model was trained ("plain" template): no roles, no separators, nothing behind the
 * text. The texts before and after <image> are encoded apart, so no token spans the image. White
 * space at both ends of the prompt is dropped as Python's str.strip does it: a trailing space would
 * be one more token that the model never saw there.
 * Sources: deepseek-ai/DeepSeek-OCR-2, README.md, config.py and conversation.py;
 * modeling_deepseekocr2.py, infer(). */
#ifndef RECTO_PROMPT_TEMPLATE_H
#define RECTO_PROMPT_TEMPLATE_H

#include "prompt/tokenizer.h"
#include "recto.h"

#define PROMPT_IMAGE "<image>"

/* With a prompt of its own, task and phrase do not matter: markers in the prompt count, and without
 * "<image>" it is put in front, with a newline. */
struct prompt_ask {
    enum recto_task task;
    const char *phrase; /* for RECTO_TASK_LOCATE: what to find; markers in it are plain text */
    const char *prompt; /* NULL: the task's text */
    int32_t image_id;   /* image_token_id of config.json; -1: the id of "<image>" */
    int n_visual;       /* rows of the image: 257 + 144 a tile for the released model */
};

struct prompt {
    int32_t *id; /* owned */
    int n;
    int slot; /* id[slot .. slot + n_visual) stand for the image */
    int n_visual;
};

/* RECTO_EUSAGE: an empty prompt, two "<image>" in it, no phrase for locate, an unknown task;
 * RECTO_EMODEL: the tokenizer lacks BOS or "<image>", or see tokenizer_encode. *out is to be given
 * to prompt_reset in any case. */
int prompt_build(struct prompt *out, const struct tokenizer *t, const struct prompt_ask *ask);
void prompt_reset(struct prompt *p);

/* RECTO_EUSAGE unless at least one new token fits behind the prompt in a context of that many. */
int prompt_check_length(const struct prompt *p, int context);

#endif
