#include "bench_machine.h"

#include "json_text.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* The value behind "key\t: " in /proc/cpuinfo, of the first processor. */
static void cpuinfo(const char *key, char *value, size_t n)
{
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];

    value[0] = '\0';
    while (f && !value[0] && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');

        if (colon && strncmp(line, key, strlen(key)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(value, n, "%s", colon[1] == ' ' ? colon + 2 : colon + 1);
        }
    }
    if (f)
        fclose(f);
}

void machine_look(struct machine *m)
{
    struct utsname u;
    cpu_set_t mine;
    char mhz[32];

    *m = (struct machine){0};
    cpuinfo("model name", m->processor, sizeof m->processor);
    cpuinfo("cpu MHz", mhz, sizeof mhz);
    m->mhz = strtod(mhz, NULL);
    if (sched_getaffinity(0, sizeof mine, &mine) == 0)
        m->n_processor = CPU_COUNT(&mine);
    if (getloadavg(&m->load, 1) != 1)
        m->load = -1;
    if (uname(&u) == 0)
        snprintf(m->system, sizeof m->system, "%.40s %.80s", u.sysname, u.release);
}

void machine_print(const struct machine *m)
{
    printf("machine: %d processors of %s", m->n_processor, m->processor[0] ? m->processor : "-");
    if (m->mhz > 0)
        printf(" at %.0f MHz", m->mhz);
    printf(", load %.2f before the first round; %s\n", m->load, m->system);
}

void machine_json(const struct machine *m, FILE *out)
{
    fputs(",\"machine\":{\"processor\":", out);
    json_put_string(out, m->processor);
    fprintf(out, ",\"processors\":%d,\"mhz\":%.0f,\"load\":%.2f,\"system\":", m->n_processor,
            m->mhz, m->load);
    json_put_string(out, m->system);
    fputs("}", out);
}
