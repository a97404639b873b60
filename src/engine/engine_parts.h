/* What the files of the engine share beyond engine.h. Engine thread only. */
#ifndef RECTO_ENGINE_ENGINE_PARTS_H
#define RECTO_ENGINE_ENGINE_PARTS_H

#include "engine/engine.h"

/* q has ended, so or so; err_text is its sentence when rc < 0. It goes home with engine_publish. */
void engine_finish(struct engine *e, struct request *q, int rc, enum recto_finish how);
/* Ended requests go home, counters become what others see. */
void engine_publish(struct engine *e);

/* ---- lost.c: a device that does not come back ---- */
/* After a failed step: is the device gone?  Then the engine has none of its pages any more: those that others can read on are back
 * on the shelf, and the others have ended.  False: it was the step's own fault, or this is the only engine. */
bool engine_lost(struct engine *e);
/* The last engine has lost its device, too: everything that still comes ends with the reason. */
void engine_refuse(struct engine *e);

#endif
