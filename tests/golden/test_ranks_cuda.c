/* Ranks on GPUs: as many cards as there are, and several ranks on one where they are fewer.  See ranks_same.h.
 *
 * Ranks that share a card can wait for each other for ever in ways that those with cards of their own cannot: a kernel that is loaded at
 * its first use waits for the card, on which another rank's sum waits for this rank; and what was launched early, behind a sum,
 * holds the room that another rank's kernels need.  So both are switched off here; and the step that is run again after a fault, which
 * waited in spite of it, is for cards of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#ifndef RECTO_HAVE_CUDA
int main(void)
{
    printf("this build has no CUDA backend: skipped\n");
    return 77;
}
#else
#include "golden/ranks_same.h"

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ranks),
        cmocka_unit_test(three_ranks),
        cmocka_unit_test(a_fault_costs_no_page),
    };

    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    tested = (struct tested){"cuda", &backend_cuda, backend_cuda.count()};
    if (tested.n_device < 1) {
        printf("no GPU here: skipped\n");
        return 77;
    }
    if (tested.n_device < 3)
        setenv("RECTO_CUDA_NO_OVERLAP", "1", 0);
    printf("%d GPUs\n", tested.n_device);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (tested.n_device == 1) {
        printf("a_fault_costs_no_page wants a card for each rank: left out\n");
        cmocka_set_skip_filter("a_fault_costs_no_page");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#endif
