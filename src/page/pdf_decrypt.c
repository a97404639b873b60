#include "page/pdf_decrypt.h"

#include "base/err.h"
#include "page/pdf_out.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static int keep(void *to, const void *bytes, size_t n)
{
    const char *p = bytes;

    while (n) {
        ssize_t done = write(*(const int *)to, p, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return err(RECTO_ENOMEM, "no memory for the document: %s", strerror(errno));
        p += done, n -= (size_t)done;
    }
    return 0;
}

int pdf_decrypt(const struct pdf *p, int *fd)
{
    struct pdf_out *o;
    int rc;

    *fd = memfd_create("recto-document", MFD_CLOEXEC);
    if (*fd < 0)
        return err(RECTO_ENOMEM, "no memory for the document: %s", strerror(errno));
    rc = pdf_out_open(&o, p, &p->tool, PDF_DECRYPT);
    if (rc == 0)
        rc = pdf_out_finish(o, keep, fd);
    pdf_out_close(o);
    if (rc < 0)
        close(*fd);
    return rc;
}
