#include "result/xml.h"

#include "result/clean.h"

void xml_put(struct buf *out, str s)
{
    struct buf clean = {0};

    clean_add(&clean, s, CLEAN_CONTROLS);
    for (size_t i = 0; i < clean.n; i++) {
        char c = clean.p[i];

        if (c == '&')
            buf_text(out, "&amp;");
        else if (c == '<')
            buf_text(out, "&lt;");
        else if (c == '>')
            buf_text(out, "&gt;");
        else if (c == '"')
            buf_text(out, "&quot;");
        else
            buf_char(out, c);
    }
    buf_reset(&clean);
}
