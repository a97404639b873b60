#include "result/pixels.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>

void pixels_reset(struct pixels *x)
{
    recto_image_reset(&x->image);
    free(x->error_text);
    x->error_text = NULL;
    x->error = x->number = 0;
}

int pixels_get(struct pixels *x, int number, const struct recto_image **image)
{
    *image = NULL;
    if (x->number != number) {
        pixels_reset(x);
        x->number = number;
        x->error = x->draw(x->ctx, number, &x->image);
        x->error_text = x->error < 0 ? mem_strdup(err_text()) : NULL;
    }
    if (x->error < 0)
        return err(x->error, "%s", x->error_text);
    *image = &x->image;
    return 0;
}
