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
/* session.c */
route_fn session_post, session_delete;
/* api_jobs.c */
route_fn jobs_post, jobs_list_get, jobs_get_one, jobs_delete_one, jobs_patch, jobs_cancel_post,
    jobs_retry_post;
route_fn jobs_pages_get, jobs_keep_post, jobs_text_put, jobs_result_get, jobs_page_get,
    jobs_image_get;
route_fn jobs_overlay_get, jobs_crop_get, jobs_input_get, jobs_quota_get;
/* api_events.c */
route_fn events_get;
/* openapi.c */
route_fn openapi_get, layout_schema_get;
/* page.c */
route_fn page_file;

#endif
