#include "json_text.h"

#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 character at s, 0 if it is none. */
static int utf8_length(const unsigned char *s)
{
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
            : (s[0] & 0xF0) == 0xE0       ? 3
            : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                          : 0;

    for (int i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90))
        return 0;
    return n;
}

static bool is_utf8(const char *s)
{
    for (int n; *s; s += n)
        if ((n = utf8_length((const unsigned char *)s)) == 0)
            return false;
    return true;
}

void json_put_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (int n; *s; s += n) {
        unsigned char c = (unsigned char)*s;
        n = utf8_length((const unsigned char *)s);
        if (n == 0)
            fputs("\\ufffd", f);
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c == '\n')
            fputs("\\n", f);
        else if (c < 0x20 || c == 0x7F)
            fprintf(f, "\\u%04x", c);
        else
            fwrite(s, 1, (size_t)n, f);
        n = n ? n : 1;
    }
    fputc('"', f);
}

static void put_base64(FILE *f, const char *s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)s;
    size_t n = strlen(s);

    fputc('"', f);
    for (size_t i = 0; i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 | (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? p[i + 2] : 0);
        fputc(digits[v >> 18], f);
        fputc(digits[v >> 12 & 63], f);
        fputc(i + 1 < n ? digits[v >> 6 & 63] : '=', f);
        fputc(i + 2 < n ? digits[v & 63] : '=', f);
    }
    fputc('"', f);
}

void json_put_path(FILE *f, const char *name)
{
    if (is_utf8(name)) {
        fputs("\"file\":", f);
        json_put_string(f, name);
    } else {
        fputs("\"file_bytes\":", f);
        put_base64(f, name);
    }
}

void json_put_statuses(FILE *f, const int *n_status)
{
    bool is_first = true;

    fputc('{', f);
    for (int s = 0; s < N_STATUS; s++)
        if (n_status[s] > 0) {
            fprintf(f, "%s\"%s\":%d", is_first ? "" : ",", recto_status_name((enum recto_status)s),
                    n_status[s]);
            is_first = false;
        }
    fputc('}', f);
}

FILE *json_line_open(char **line, size_t *n)
{
    FILE *f = open_memstream(line, n);

    if (!f)
        abort();
    return f;
}
