/* The handlers of the route table (route.c); each is described there. */
#ifndef RECTO_SERVER_API_H
#define RECTO_SERVER_API_H

#include "route.h"

/* api_ops.c */
route_fn ops_health, ops_ready, ops_metrics, ops_stats;
/* api_openai.c */
route_fn openai_models, openai_model, openai_chat;
/* The name, or its alias at the Hub, in "model" members. */
bool openai_is_model(const char *name);
/* page.c */
route_fn page_file;

#endif
