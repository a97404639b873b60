#include "fonts.h"

#include "base/err.h"
#include "base/file.h"

#include <fontconfig/fontconfig.h>
#include <sha2.h>

static FcPattern *find(const char *family, int weight)
{
    FcPattern *want = FcPatternBuild(NULL, FC_FAMILY, FcTypeString, family, FC_WEIGHT,
                                     FcTypeInteger, weight, NULL);
    FcPattern *found;
    FcResult result;

    FcConfigSubstitute(NULL, want, FcMatchPattern);
    FcDefaultSubstitute(want);
    found = FcFontMatch(NULL, want, &result);
    FcPatternDestroy(want);
    return found;
}

static bool is_of(const FcPattern *p, const char *family)
{
    FcChar8 *name;

    for (int i = 0; FcPatternGetString(p, FC_FAMILY, i, &name) == FcResultMatch; i++)
        if (FcStrCmpIgnoreCase(name, (const FcChar8 *)family) == 0)
            return true;
    return false;
}

static const char *base_name(const FcChar8 *file)
{
    const char *slash = strrchr((const char *)file, '/');

    return slash ? slash + 1 : (const char *)file;
}

/* Collections hold the faces of several families, and are large: what was hashed before is not again. */
static int hash_file(const json_t *list, const FcChar8 *file, char hex[SHA256_DIGEST_STRING_LENGTH])
{
    const json_t *face;
    struct file_map map;
    size_t i;

    json_array_foreach(list, i, face)
    {
        if (strcmp(json_string_value(json_object_get(face, "file")), base_name(file)) == 0) {
            memcpy(hex, json_string_value(json_object_get(face, "sha256")),
                   SHA256_DIGEST_STRING_LENGTH);
            return 0;
        }
    }
    TRY(file_map_open(&map, (const char *)file));
    SHA256Data(map.data, map.len, hex);
    file_map_close(&map);
    return 0;
}

static int add_face(json_t *list, const char *family, int weight)
{
    FcPattern *p = find(family, weight);
    FcChar8 *file, *style;
    char hex[SHA256_DIGEST_STRING_LENGTH];
    int rc;

    if (!p || !is_of(p, family) || FcPatternGetString(p, FC_FILE, 0, &file) != FcResultMatch ||
        FcPatternGetString(p, FC_STYLE, 0, &style) != FcResultMatch)
        rc = err(RECTO_ENOTFOUND, "font %s is not installed; run scripts/setup test", family);
    else
        rc = hash_file(list, file, hex);
    if (rc == 0)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "family", family, "style",
                                              (const char *)style, "file", base_name(file),
                                              "sha256", hex));
    if (p)
        FcPatternDestroy(p);
    return rc;
}

int fonts_add(json_t *list, const char *family)
{
    TRY(add_face(list, family, FC_WEIGHT_REGULAR));
    return add_face(list, family, FC_WEIGHT_BOLD);
}
