/* Sources: qpdf/qpdf-c.h of libqpdf 11; ISO 32000-1, 12.7.2 (SigFlags), 12.8.4 (Perms), 14.3.3 (document information). */
#include "helper/pdfout/file.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define PRODUCER    "recto " RECTO_VERSION
#define FIELDS_DEEP 16
#define FIELDS_MAX  20000

int file_check(struct out_file *f)
{
    char text[200];
    const char *detail;

    if (!qpdf_has_error(f->q))
        return 0;
    detail = qpdf_get_error_message_detail(f->q, qpdf_get_error(f->q));
    snprintf(text, sizeof text, "%s", detail ? detail : "");
    for (char *c = text; *c; c++)
        *c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
    return err(RECTO_EDAMAGED, "damaged: %s", text);
}

qpdf_oh file_object(struct out_file *f, int number)
{
    return qpdf_get_object_by_id(f->q, number, 0);
}

void file_release(struct out_file *f)
{
    qpdf_oh_release_all(f->q);
}

void file_stream_set(struct out_file *f, qpdf_oh stream, str bytes)
{
    uLongf n = compressBound(bytes.n);
    unsigned char *p = mem_alloc(n);

    compress2(p, &n, (const unsigned char *)bytes.p, bytes.n, Z_BEST_COMPRESSION);
    qpdf_oh_replace_stream_data(f->q, stream, p, n, qpdf_oh_new_name(f->q, "/FlateDecode"),
                                qpdf_oh_new_null(f->q));
    free(p);
}

qpdf_oh file_stream(struct out_file *f, str bytes)
{
    qpdf_oh stream = qpdf_oh_new_stream(f->q);

    file_stream_set(f, stream, bytes);
    return stream;
}

/* ---- signatures -------------------------------------------------------------------------------- */

static bool is_signed_field(struct out_file *f, qpdf_oh field)
{
    return qpdf_oh_is_name_and_equals(f->q, qpdf_oh_get_key_if_dict(f->q, field, "/FT"), "/Sig") &&
           qpdf_oh_is_dictionary(f->q, qpdf_oh_get_key_if_dict(f->q, field, "/V"));
}

static bool has_signed_field(struct out_file *f, qpdf_oh fields, int depth, int *n_seen)
{
    int n = qpdf_oh_is_array(f->q, fields) ? qpdf_oh_get_array_n_items(f->q, fields) : 0;

    for (int i = 0; i < n && depth < FIELDS_DEEP && ++*n_seen < FIELDS_MAX; i++) {
        qpdf_oh field = qpdf_oh_get_array_item(f->q, fields, i);

        if (is_signed_field(f, field) ||
            has_signed_field(f, qpdf_oh_get_key_if_dict(f->q, field, "/Kids"), depth + 1, n_seen))
            return true;
    }
    return false;
}

/* By its flag, by a right that a signature grants, or by a field that holds one. */
static bool is_signed(struct out_file *f)
{
    qpdf_oh root = qpdf_get_root(f->q);
    qpdf_oh form = qpdf_oh_get_key_if_dict(f->q, root, "/AcroForm");
    int flags = 0, n_seen = 0;

    qpdf_oh_get_value_as_int(f->q, qpdf_oh_get_key_if_dict(f->q, form, "/SigFlags"), &flags);
    return (flags & 1) ||
           qpdf_oh_is_dictionary(f->q, qpdf_oh_get_key_if_dict(f->q, root, "/Perms")) ||
           has_signed_field(f, qpdf_oh_get_key_if_dict(f->q, form, "/Fields"), 0, &n_seen);
}

/* ---- open -------------------------------------------------------------------------------------- */

/* libqpdf and poppler must mean the same page by a number. */
static int match_pages(struct out_file *f, const struct pdf_head *head)
{
    int n = qpdf_get_num_pages(f->q);

    TRY(file_check(f));
    f->by_drawn = n != (int)head->b;
    if (f->by_drawn && n != (int)head->c)
        return err(RECTO_EDAMAGED,
                   "damaged: %d pages are found where %u were read; repair the file first", n,
                   (unsigned)head->b);
    return 0;
}

static int open_document(struct out_file *f, const unsigned char *document, size_t n,
                         const struct pdf_head *head, const char *password)
{
    QPDF_ERROR_CODE rc = qpdf_read_memory(f->q, "document", (const char *)document, n, password);

    if ((rc & QPDF_ERRORS) && qpdf_get_error_code(f->q, qpdf_get_error(f->q)) == qpdf_e_password)
        return err(RECTO_EPASSWORD,
                   *password ? "wrong password" : "needs a password (--password-file)");
    if (rc & QPDF_ERRORS)
        return err(RECTO_EDAMAGED, "damaged: libqpdf cannot read it");
    if (f->flags & PDF_DECRYPT)
        return 0;
    if (qpdf_is_encrypted(f->q) && !*password)
        return err(RECTO_EPASSWORD, "is encrypted, and its searchable copy would not be: to allow "
                                    "that give its password (--password-file)");
    if (is_signed(f) && !(f->flags & PDF_BREAK_SIGNATURE))
        return err(RECTO_EUSAGE, "is signed, and adding text breaks the signature: to allow that "
                                 "use --break-signature");
    return match_pages(f, head);
}

int file_open(struct out_file *f, const unsigned char *document, size_t n,
              const struct pdf_head *head, const char *password)
{
    *f = (struct out_file){.q = qpdf_init(), .flags = head->a};
    qpdf_silence_errors(f->q);
    qpdf_set_suppress_warnings(f->q, QPDF_TRUE);
    if (document)
        TRY(open_document(f, document, n, head, password));
    else if (qpdf_empty_pdf(f->q) & QPDF_ERRORS)
        return file_check(f);
    if (!(f->flags & PDF_DECRYPT))
        TRY(font_add(f));
    file_release(f);
    return file_check(f);
}

/* ---- write ------------------------------------------------------------------------------------- */

/* ours behind what is there, once. */
static void add_producer(struct out_file *f)
{
    qpdf_oh trailer = qpdf_get_trailer(f->q), info = qpdf_oh_get_key(f->q, trailer, "/Info");
    struct buf text = {0};
    qpdf_oh old;

    if (!qpdf_oh_is_dictionary(f->q, info)) {
        info = qpdf_make_indirect_object(f->q, qpdf_oh_new_dictionary(f->q));
        qpdf_oh_replace_key(f->q, trailer, "/Info", info);
    }
    old = qpdf_oh_get_key(f->q, info, "/Producer");
    if (qpdf_oh_is_string(f->q, old))
        buf_text(&text, qpdf_oh_get_utf8_value(f->q, old));
    if (!str_ends(buf_view(&text), STR(PRODUCER))) {
        buf_fmt(&text, "%s" PRODUCER, text.n ? "; " : "");
        qpdf_oh_replace_key(f->q, info, "/Producer",
                            qpdf_oh_new_binary_unicode_string(f->q, text.p, text.n));
    }
    buf_reset(&text);
}

int file_write_out(struct out_file *f)
{
    if (!(f->flags & PDF_DECRYPT))
        add_producer(f);
    file_release(f);
    TRY(file_check(f));
    if (qpdf_init_write(f->q, NULL) & QPDF_ERRORS)
        return file_check(f);
    qpdf_set_object_stream_mode(f->q,
                                (f->flags & PDF_HAS_DOCUMENT) ? qpdf_o_preserve : qpdf_o_generate);
    qpdf_set_stream_data_mode(f->q, qpdf_s_preserve);
    qpdf_set_preserve_encryption(f->q, QPDF_FALSE);
    if (!(f->flags & PDF_DECRYPT))
        qpdf_set_minimum_pdf_version(f->q, "1.5");
    qpdf_set_deterministic_ID(f->q, QPDF_TRUE);
    if (qpdf_write(f->q) & QPDF_ERRORS)
        return file_check(f);
    return fflush(stdout) ? err(RECTO_EOUTPUT, "cannot write the file") : 0;
}

void file_close(struct out_file *f)
{
    if (f->q)
        qpdf_cleanup(&f->q);
    *f = (struct out_file){0};
}
