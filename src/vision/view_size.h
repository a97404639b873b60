/* The two sizes of view the model knows; both have learned queries and positions. */
#ifndef RECTO_VISION_VIEW_SIZE_H
#define RECTO_VISION_VIEW_SIZE_H

enum view_size { GLOBAL_VIEW, TILE_VIEW, VIEW_SIZES };

/* Side in pixels. Source: config.py of DeepSeek-OCR2-vllm (BASE_SIZE, IMAGE_SIZE). */
static inline int view_px(enum view_size v)
{
    return v == GLOBAL_VIEW ? 1024 : 768;
}

/* What the names of its taps end in. */
static inline const char *view_suffix(enum view_size v)
{
    return v == GLOBAL_VIEW ? "_global" : "_tiles";
}

#endif
