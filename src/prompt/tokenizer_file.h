/* What a tokenizer.json holds, checked and put into the tables of struct tokenizer. Only
 * tokenizer.c calls these. */
#ifndef RECTO_PROMPT_TOKENIZER_FILE_H
#define RECTO_PROMPT_TOKENIZER_FILE_H

#include "prompt/tokenizer.h"

/* Fill a zeroed t. Errors as tokenizer_open; t must be closed in any case. */
int tokenizer_file_read(struct tokenizer *t, str json, const char *name);

/* Set t->bos and t->eos from the tokenizer_config.json beside the file at path; without one t stays
 * as it is. RECTO_EFORMAT; RECTO_EMODEL: it names a token that the vocabulary lacks. */
int tokenizer_config_read(struct tokenizer *t, const char *path);

#endif
