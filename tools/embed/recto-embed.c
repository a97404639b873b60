/* recto-embed OUT.c FILE...: the files as the table of server/assets.h, each beside its gzip when that is smaller.
 * The same files give the same bytes. Used by the build only. */
#include <sha256.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct bytes {
    unsigned char *p;
    size_t n;
};

static void die(const char *what, const char *name)
{
    fprintf(stderr, "recto-embed: %s: %s\n", name, what);
    exit(1);
}

static struct bytes read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct bytes b = {0};

    if (!f || fseek(f, 0, SEEK_END) != 0 || ftell(f) < 0)
        die("cannot be read", path);
    b.n = (size_t)ftell(f);
    rewind(f);
    b.p = malloc(b.n + 1);
    if (!b.p || fread(b.p, 1, b.n, f) != b.n)
        die("cannot be read", path);
    fclose(f);
    return b;
}

/* p is NULL when the file would not shrink. */
static struct bytes squeeze(struct bytes in, const char *path)
{
    z_stream z = {0};
    struct bytes out = {0};

    if (deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        die("zlib does not start", path);
    out.n = deflateBound(&z, in.n);
    out.p = malloc(out.n + 1);
    z.next_in = in.p;
    z.avail_in = (uInt)in.n;
    z.next_out = out.p;
    z.avail_out = (uInt)out.n;
    if (!out.p || deflate(&z, Z_FINISH) != Z_STREAM_END)
        die("cannot be compressed", path);
    out.n = z.total_out;
    deflateEnd(&z);
    if (out.n < in.n)
        return out;
    free(out.p);
    return (struct bytes){0};
}

static const char *type_of(const char *name)
{
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
                                           {".js", "text/javascript; charset=utf-8"},
                                           {".css", "text/css; charset=utf-8"},
                                           {".svg", "image/svg+xml"},
                                           {".png", "image/png"},
                                           {".jpg", "image/jpeg"},
                                           {".ico", "image/x-icon"},
                                           {".json", "application/json"},
                                           {".txt", "text/plain; charset=utf-8"},
                                           {".woff2", "font/woff2"}};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot, types[i][0]) == 0)
            return types[i][1];
    die("no media type is known for its ending", name);
    return NULL;
}

static void put_bytes(FILE *out, const char *kind, int i, struct bytes b)
{
    fprintf(out, "static const unsigned char %s%d[] = {", kind, i);
    for (size_t k = 0; k < b.n; k++)
        fprintf(out, "%s%u,", k % 24 ? "" : "\n", b.p[k]);
    fputs(b.n ? "};\n" : "0};\n", out);
}

struct entry {
    const char *name, *type;
    char etag[24];
    size_t n, n_gzip;
};

static struct entry embed(FILE *out, const char *path, int i)
{
    struct entry e = {.name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path};
    struct bytes plain = read_file(path), gzip = squeeze(plain, path);
    char hex[SHA256_DIGEST_STRING_LENGTH];

    e.type = type_of(e.name);
    snprintf(e.etag, sizeof e.etag, "%.16s", SHA256Data(plain.p, plain.n, hex));
    e.n = plain.n;
    e.n_gzip = gzip.n;
    put_bytes(out, "plain", i, plain);
    if (gzip.p)
        put_bytes(out, "gzip", i, gzip);
    free(plain.p);
    free(gzip.p);
    return e;
}

int main(int argc, char **argv)
{
    FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;
    struct entry *e = calloc((size_t)argc, sizeof *e);
    int n = argc - 2;

    if (!out || !e)
        die("cannot be written", argc > 1 ? argv[1] : "OUT.c is missing");
    fputs("#include \"assets.h\"\n", out);
    for (int i = 0; i < n; i++)
        e[i] = embed(out, argv[i + 2], i);
    fputs("const struct asset assets[] = {\n", out);
    for (int i = 0; i < n; i++) {
        fprintf(out, "{\"%s\", \"%s\", \"\\\"%s\\\"\", plain%d, ", e[i].name, e[i].type, e[i].etag,
                i);
        fprintf(out, e[i].n_gzip ? "gzip%d" : "0 /* %d */", i);
        fprintf(out, ", %zu, %zu},\n", e[i].n, e[i].n_gzip);
    }
    fprintf(out, "{0, 0, 0, 0, 0, 0, 0}};\nconst int n_assets = %d;\n", n);
    free(e);
    return fclose(out) == 0 ? 0 : 1;
}
