/* The model as OpenAI's clients ask for it. */
#include "api.h"
#include "app.h"
#include "chat.h"

#include <string.h>

static const char model_id[] = "deepseek-ocr-2", model_alias[] = "deepseek-ai/DeepSeek-OCR-2";

bool openai_is_model(const char *name)
{
    return strcmp(name, model_id) == 0 || strcmp(name, model_alias) == 0;
}

static json_t *model_json(const struct server *s)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:{s:i, s:[s,s,s,s,s,s], s:s, s:s, s:b}}", "id",
                     model_id, "object", "model", "created", (json_int_t)(s->start_ms / 1000),
                     "owned_by", "deepseek-ai", "recto", "context", s->info.context, "modes",
                     "markdown", "text", "ocr", "locate", "figure", "describe", "weights",
                     s->info.weights, "name", s->info.model_name, "is_default",
                     s->info.is_default_model);
}

enum run_result openai_models(struct server *s, struct request *q)
{
    if (!app_is_loading(s, q))
        answer_json(q, 200, json_pack("{s:s, s:[o]}", "object", "list", "data", model_json(s)));
    return RUN_DONE;
}

enum run_result openai_model(struct server *s, struct request *q)
{
    const char *name = call_of(q)->param[0];

    if (app_is_loading(s, q))
        return RUN_DONE;
    if (openai_is_model(name))
        answer_json(q, 200, model_json(s));
    else
        answer_fault(q, FAULT_model_not_found, "model", "there is no model '%s' here, only %s",
                     name, model_id);
    return RUN_DONE;
}

enum run_result openai_chat(struct server *s, struct request *q)
{
    struct chat_ask a;

    if (!chat_ask_read(s, q, &a)) {
        chat_ask_reset(&a);
        return RUN_DONE;
    }
    chat_start(s, q, &a);
    return RUN_LATER;
}
