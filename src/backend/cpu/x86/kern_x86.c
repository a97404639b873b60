/* Which of our kernel sets an x86-64 machine can run. __builtin_cpu_supports also asks the
 * operating system whether it saves the wide registers; AVX512-BF16 and AMX are not in gcc 12's list
 * under names clang 14 knows too. */
#include "backend/cpu/kern.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* CPUID leaf 7, subleaf 1, EAX bit 5 (Intel SDM volume 2A, CPUID) */
static bool has_avx512bf16(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || a < 1)
        return false;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}

/* CPUID leaf 7, EDX bits 22, 24 and 25: AMX-BF16, AMX-TILE, AMX-INT8.  Linux keeps room for the
 * tiles of a process that has asked for it, of all its threads, and has done so since 5.16; older
 * kernels refuse (Documentation/arch/x86/xstate.rst). */
static bool may_use_amx(void)
{
    enum { REQUEST = 0x1023, TILE_DATA = 18, AMX = 1 << 22 | 1 << 24 | 1 << 25 };
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & AMX) == AMX &&
           syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
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
    if (!has_avx512bf16()) /* all that have bf16 have VNNI */
        return ISA_AVX512VNNI;
    return may_use_amx() ? ISA_AMX : ISA_AVX512BF16;
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
    if (isa >= ISA_AMX) {
        cpu_kern_amx(k);
        cpu_quant_amx(k);
    }
}
