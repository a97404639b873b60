/* Kinds by their first bytes, never by a file's name. Most are named only to tell the user what the
 * file is. Source of the signatures: file/file magic/Magdir, each format's own specification. */
#include "base/kind.h"

#include "base/str.h"

#include <ctype.h>
#include <strings.h>

/* The first bytes of a file, only read. */
struct head {
    const unsigned char *p;
    size_t n;
};

#define PDF_WINDOW 1024 /* "%PDF-" may be preceded by this much (ISO 32000-1, annex H.3.4.1) */

static const struct {
    size_t at;
    str magic;
    const char *kind;
} signatures[] = {
    {0, STR("\xFF\xD8\xFF"), "JPEG"},
    {0, STR("\x89PNG\r\n\x1A\n"), "PNG"},
    {0, STR("\x89PNG"),
     "PNG"}, /* line ends changed in transport: the PNG reader says what is wrong */
    {0, STR("GIF87a"), "GIF"},
    {0, STR("GIF89a"), "GIF"},
    {8, STR("WEBP"), "WebP"},
    {0, STR("II*\0"), "TIFF"},
    {0, STR("MM\0*"), "TIFF"},
    {0, STR("II+\0"), "BigTIFF"},
    {0, STR("MM\0+"), "BigTIFF"},
    {0, STR("\0\0\0\x0CjP  \r\n\x87\n"), "JPEG 2000"},
    {0, STR("\xFF\x4F\xFF\x51"), "JPEG 2000"},
    {0, STR("\xFF\x0A"), "JPEG XL"},
    {0, STR("\0\0\0\x0CJXL \r\n\x87\n"), "JPEG XL"},
    {4, STR("ftypheic"), "HEIC"},
    {4, STR("ftypheix"), "HEIC"},
    {4, STR("ftypmif1"), "HEIC"},
    {4, STR("ftypavif"), "AVIF"},
    {4, STR("ftyp"), "a video (MP4)"},
    {0, STR("AT&TFORM"), "DjVu"},
    {0, STR("8BPS"), "Photoshop"},
    {0, STR("%!PS"), "PostScript: convert it to PDF"},
    {0, STR("{\\rtf"), "RTF: convert it to PDF"},
    {0, STR("PK\x03\x04"), "ZIP or an office document: convert it to PDF"},
    {0, STR("PK\x05\x06"), "an empty ZIP"},
    {0, STR("\xD0\xCF\x11\xE0"), "an old office document: convert it to PDF"},
    {0, STR("\x1F\x8B"), "gzip"},
    {0,
     STR("\xFD"
         "7zXZ"),
     "xz"},
    {0, STR("7z\xBC\xAF\x27\x1C"), "7-Zip"},
    {0, STR("Rar!"), "RAR"},
    {0,
     STR("\x7F"
         "ELF"),
     "a program (ELF)"},
    {0, STR("BM"), "BMP"},
};

static bool starts_as(struct head f, size_t at, str magic)
{
    return f.n >= at + magic.n && memcmp(f.p + at, magic.p, magic.n) == 0;
}

/* Markup: the first word after white space, in any case. */
static const char *markup(struct head f)
{
    static const struct {
        const char *word, *kind;
    } words[] = {{"<!doctype html", "a web page (HTML)"},
                 {"<html", "a web page (HTML)"},
                 {"<svg", "SVG: convert it to PDF"},
                 {"<?xml", "XML"}};
    size_t i = 0;

    if (f.n >= 3 && memcmp(f.p, "\xEF\xBB\xBF", 3) == 0)
        i = 3;
    while (i < f.n && i < 256 && isspace(f.p[i]))
        i++;
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
        if (f.n - i >= strlen(words[k].word) &&
            strncasecmp((const char *)f.p + i, words[k].word, strlen(words[k].word)) == 0)
            return words[k].kind;
    return NULL;
}

static bool is_text(struct head f)
{
    size_t n = f.n < 512 ? f.n : 512;

    for (size_t i = 0; i < n; i++)
        if (f.p[i] < ' ' && !isspace(f.p[i]))
            return false;
    return n > 0;
}

const char *kind_of(const void *data, size_t n)
{
    struct head f = {data, n};
    str head = {(const char *)f.p, f.n < PDF_WINDOW ? f.n : PDF_WINDOW};
    const char *kind;

    if (f.n == 0)
        return "nothing";
    for (size_t k = 0; k < sizeof signatures / sizeof signatures[0]; k++)
        if (starts_as(f, signatures[k].at, signatures[k].magic))
            return signatures[k].kind;
    if (f.n >= 3 && f.p[0] == 'P' && f.p[1] >= '1' && f.p[1] <= '7' && isspace(f.p[2]))
        return "PNM";
    if (str_find(head, STR("%PDF-"), 0) < head.n)
        return "PDF";
    kind = markup(f);
    if (kind)
        return kind;
    return is_text(f) ? "text" : "unknown data";
}

bool kind_is_read(const char *kind)
{
    static const char *const read[] = {"PDF",  "JPEG",    "PNG", "GIF", "WebP",
                                       "TIFF", "BigTIFF", "BMP", "PNM", "JPEG 2000"};

    for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
        if (strcmp(kind, read[i]) == 0)
            return true;
    return false;
}
