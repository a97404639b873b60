/* The same work for many pages, on a few threads. */
#include "files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MAX = 64 };

struct job {
    atomic_int next;
    int n;
    void (*work)(void *ctx, int i);
    void *ctx;
};

static void *run(void *arg)
{
    struct job *j = arg;

    for (int i; (i = atomic_fetch_add(&j->next, 1)) < j->n;)
        j->work(j->ctx, i);
    return NULL;
}

void eval_each(int n, int threads, void (*work)(void *ctx, int i), void *ctx)
{
    struct job j = {.n = n, .work = work, .ctx = ctx};
    pthread_t thread[THREADS_MAX];
    int n_thread = 0, wanted = threads > 0 ? threads : (int)sysconf(_SC_NPROCESSORS_ONLN);

    wanted = wanted > THREADS_MAX ? THREADS_MAX : wanted;
    while (n_thread < wanted - 1 && n_thread < n - 1 &&
           pthread_create(&thread[n_thread], NULL, run, &j) == 0)
        n_thread++;
    run(&j); /* if there are no further threads, this one does all */
    for (int i = 0; i < n_thread; i++)
        pthread_join(thread[i], NULL);
}
