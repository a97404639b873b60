/* Which of our kernel sets an x86-64 machine can run. __builtin_cpu_supports also asks the
 * operating system whether it saves the wide registers; only AVX512-BF16 is not in gcc 12's list
 * under a name clang 14 knows too. */
#include "backend/cpu/kern.h"

#include <cpuid.h>

/* CPUID leaf 7, subleaf 1, EAX bit 5 (Intel SDM volume 2A, CPUID) */
static bool has_avx512bf16(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || a < 1)
        return false;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}

enum cpu_isa cpu_isa_x86(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return ISA_C;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
        return ISA_AVX2;
    if (!__builtin_cpu_supports("avx512vnni"))
        return ISA_AVX512;
    return has_avx512bf16() ? ISA_AVX512BF16 : ISA_AVX512VNNI; /* all that have bf16 have VNNI */
}

void cpu_kern_init_x86(struct cpu_kern *k, enum cpu_isa isa)
{
    if (isa >= ISA_AVX2)
        cpu_kern_avx2(k);
    if (isa >= ISA_AVX2)
        cpu_quant_avx2(k);
    if (isa >= ISA_AVX512)
        cpu_kern_avx512(k);
    if (isa >= ISA_AVX512VNNI)
        cpu_quant_vnni(k);
    if (isa >= ISA_AVX512BF16)
        cpu_kern_avx512bf16(k);
}
