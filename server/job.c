#include "job.h"

#include <string.h>

const char *page_state_name(enum page_state s)
{
    static const char *const name[PAGE_STATES] = {"queued", "rendering", "reading", "ended"};

    return name[s];
}

const char *job_state_name(enum job_state s)
{
    static const char *const name[JOB_STATES] = {"queued", "running", "done", "failed",
                                                 "cancelled"};

    return name[s];
}

int job_state_of_name(const char *name)
{
    for (int s = 0; s < JOB_STATES; s++)
        if (strcmp(name, job_state_name((enum job_state)s)) == 0)
            return s;
    return -1;
}

enum {
    NO = -1,
    QUEUED = PAGE_QUEUED,
    RENDER = PAGE_RENDERING,
    READ = PAGE_READING,
    END = PAGE_ENDED
};

int page_step(enum page_state from, enum page_step step)
{
    /* claim, start, end, cancel, back, retry. A page whose document cannot be opened ends without having been started. */
    static const signed char to[PAGE_STATES][PAGE_STEPS] = {
        [PAGE_QUEUED] = {RENDER, NO, NO, END, NO, NO},
        [PAGE_RENDERING] = {NO, READ, END, NO, QUEUED, NO},
        [PAGE_READING] = {NO, NO, END, NO, QUEUED, NO},
        [PAGE_ENDED] = {NO, NO, NO, NO, NO, QUEUED},
    };

    return to[from][step];
}

int job_count_of(enum page_state s, enum recto_status status)
{
    return s < PAGE_ENDED ? (int)s : PAGE_ENDED + (int)status;
}

const char *job_count_name(int i)
{
    return i < PAGE_ENDED ? page_state_name((enum page_state)i)
                          : recto_status_name((enum recto_status)(i - PAGE_ENDED));
}

static int ended(const int count[JOB_COUNTS], enum recto_status s)
{
    return count[PAGE_ENDED + (int)s];
}

int job_left(const int count[JOB_COUNTS])
{
    return count[PAGE_QUEUED] + count[PAGE_RENDERING] + count[PAGE_READING];
}

int job_total(const int count[JOB_COUNTS])
{
    int n = 0;

    for (int i = 0; i < JOB_COUNTS; i++)
        n += count[i];
    return n;
}

int job_attention(const int count[JOB_COUNTS])
{
    return ended(count, RECTO_PAGE_SUSPECT) + ended(count, RECTO_PAGE_LOOP) +
           ended(count, RECTO_PAGE_LENGTH) + ended(count, RECTO_PAGE_ERROR);
}

enum job_state job_state_of(const int count[JOB_COUNTS], bool has_begun, bool is_cancelled)
{
    int n_cancelled = ended(count, RECTO_PAGE_CANCELLED);

    if (job_left(count) > 0)
        return has_begun ? JOB_RUNNING : JOB_QUEUED;
    if (is_cancelled || (n_cancelled > 0 && n_cancelled == job_total(count)))
        return JOB_CANCELLED;
    return ended(count, RECTO_PAGE_ERROR) + n_cancelled == job_total(count) ? JOB_FAILED : JOB_DONE;
}

/* How much a reading is worth; readings of equal worth are compared further. */
static int worth(enum recto_status s)
{
    switch (s) {
    case RECTO_PAGE_OK:
    case RECTO_PAGE_BLANK:
        return 4;
    case RECTO_PAGE_SUSPECT:
        return 3;
    case RECTO_PAGE_LOOP:
    case RECTO_PAGE_LENGTH:
        return 2;
    case RECTO_PAGE_SKIPPED:
        return 1;
    case RECTO_PAGE_ERROR:
    case RECTO_PAGE_CANCELLED:
        break;
    }
    return 0;
}

bool reading_is_better(const struct reading_rank *is, const struct reading_rank *was)
{
    int a = worth(is->status), b = worth(was->status);

    if (a != b)
        return a > b;
    return a == 2 ? is->n_text > was->n_text : is->conf > was->conf;
}
