/* Instruction sets, and tests whether this machine has them.  A new instruction set needs a
 * name in SIMD_EACH_ISA, a function simd_has_<name> here, and a header in `isa/`. */
#ifndef SKTEMPER_DISPATCH_H
#define SKTEMPER_DISPATCH_H

#include <string.h>

/* Instruction sets of the target, the fastest first. */
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define SIMD_EACH_ISA(X) X(avx512) X(avx2) X(baseline)

static inline int simd_has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static inline int simd_has_avx512(void)
{
#if defined(SIMD_EMULATE_AVX512) && !defined(__clang__)
    return simd_has_avx2();
#else
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
           && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
#endif
}
#else
#define SIMD_EACH_ISA(X) X(baseline)
#endif

static inline int simd_has_baseline(void) { return 1; }

/* Returns the instruction set with the name `wanted`, or the fastest for "".  Returns NULL if
 * the name is unknown or this machine does not have the instruction set. */
static inline const char *simd_choose(const char *wanted)
{
#define CHOOSE(isa)                                                                    \
    if ((wanted[0] == '\0' || strcmp(wanted, #isa) == 0) && simd_has_##isa())          \
        return #isa;
    SIMD_EACH_ISA(CHOOSE)
#undef CHOOSE
    return 0;
}

#endif
