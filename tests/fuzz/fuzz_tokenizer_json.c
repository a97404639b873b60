/* Any bytes as tokenizer.json, and sound files with a patch. What opens must encode any text and
 * decode it again.
 *
 * Input starting with '{': the file itself. Else: a patch, [offset: 2 bytes] [bytes dropped: 1]
 * [bytes put in: 1] ..., for a small sound file, since a mutated file with 256 byte tokens seldom
 * stays one; what follows is text to encode. */
#include "base/err.h"
#include "prompt/byte_level.h"
#include "prompt/tokenizer.h"

#include <stdio.h>

static struct buf sound;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_byte_tokens(struct buf *out)
{
    int id = 3;

    for (uint32_t code = 0; code < 0x144; code++) {
        if (byte_level_byte(code) < 0)
            continue;
        buf_fmt(out, ",\"%s", code == '"' || code == '\\' ? "\\" : "");
        buf_utf8(out, code);
        buf_fmt(out, "\":%d", id++);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    buf_text(&sound,
             "{\"added_tokens\":[{\"id\":0,\"content\":\"<｜begin▁of▁sentence｜>\"},"
             "{\"id\":300,\"content\":\"<td>\",\"normalized\":false},"
             "{\"id\":301,\"content\":\"<tdx\",\"normalized\":true},"
             "{\"id\":302,\"content\":\"<t\"}],"
             "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[]},"
             "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":["
             "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"\\\\p{N}{1,3}\"},"
             "\"behavior\":\"Isolated\",\"invert\":false},"
             "{\"type\":\"Split\",\"pattern\":{\"Regex\":"
             "\"[^\\r\\n\\\\p{L}]?[\\\\p{L}\\\\p{M}]+|\\\\s*[\\r\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},"
             "\"behavior\":\"Isolated\"},"
             "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]},"
             "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"dropout\":null,"
             "\"vocab\":{\"<｜begin▁of▁sentence｜>\":0,\"aa\":259,\"ab\":260,\"aab\":261,"
             "\"Ġa\":262,\"Ã©\":263");
    write_byte_tokens(&sound);
    buf_text(&sound, "},\"merges\":[\"a b\",[\"a\",\"a\"],[\"a\",\"ab\"],\"Ġ a\",[\"Ã\",\"©\"]]}}");
    struct tokenizer t;
    if (tokenizer_parse(&t, buf_view(&sound), "sound") < 0) {
        fprintf(stderr, "%s\n", err_text());
        __builtin_trap();
    }
    tokenizer_close(&t);
    return 0;
}

static void check_text(const struct tokenizer *t, str text, bool parse_special)
{
    struct ids ids = {0};
    struct buf back = {0};

    if (tokenizer_encode(t, text, parse_special, &ids) == 0) {
        uint32_t code;
        bool is_utf8 = true;

        for (int i = 0; i < ids.n; i++)
            buf_str(&back, tokenizer_piece(t, ids.id[i]));
        for (str s = text; s.n && is_utf8;) {
            int len = utf8_next(s, &code);
            is_utf8 = len > 0;
            s.p += is_utf8 ? len : 0;
            s.n -= is_utf8 ? (size_t)len : 0;
        }
        if (is_utf8 && !str_eq(buf_view(&back), text))
            __builtin_trap();
    } else if (ids.n) {
        __builtin_trap();
    }
    buf_reset(&back);
    ids_reset(&ids);
}

static void check_file(str json, str text)
{
    struct tokenizer t;

    if (tokenizer_parse(&t, json, "fuzz") == 0) {
        check_text(&t, text, false);
        check_text(&t, text, true);
        check_text(&t, STR("aab 1234\r\n  <tdx<td> é\u180e漢字 "), true);
    }
    tokenizer_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str in = {(const char *)data, size};
    struct buf json = {0};

    if (size == 0 || data[0] == '{' || size < 4) {
        check_file(in, in);
        return 0;
    }
    size_t at = ((size_t)data[0] << 8 | data[1]) % sound.n;
    size_t n_drop = data[2] < sound.n - at ? data[2] : sound.n - at, n_put = data[3];
    n_put = n_put < size - 4 ? n_put : size - 4;
    buf_add(&json, sound.p, at);
    buf_add(&json, in.p + 4, n_put);
    buf_add(&json, sound.p + at + n_drop, sound.n - at - n_drop);
    check_file(buf_view(&json), (str){in.p + 4 + n_put, size - 4 - n_put});
    buf_reset(&json);
    return 0;
}
