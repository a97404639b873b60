/* A page of a PDF that brings its text along (page/layer.h; recto_options.text_layer). */
#ifndef RECTO_OWN_TEXT_H
#define RECTO_OWN_TEXT_H

#include "walk.h"

/* Look at the layer if that is asked for and the page is not blank. Afterwards j->page->is_layer says that the page is done: its
 * blocks are the layer's. A layer that is not trusted, or cannot be had, is a warning; then the page is read as any other. */
void own_text_look(struct job *j);

#endif
