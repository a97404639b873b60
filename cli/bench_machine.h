/* The machine that a benchmark ran on. */
#ifndef RECTO_CLI_BENCH_MACHINE_H
#define RECTO_CLI_BENCH_MACHINE_H

#include <stdio.h>

struct machine {
    char processor[128], system[160];
    int n_processor; /* that this process may use */
    double mhz;      /* of the first, now; 0 unknown */
    double
        load; /* programs that wanted to run, mean of the last minute; this one's own work counts too */
};

void machine_look(struct machine *m);
void machine_print(const struct machine *m);
/* ,"machine":{...} */
void machine_json(const struct machine *m, FILE *out);

#endif
