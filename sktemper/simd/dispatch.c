/* Which table this machine runs. */
#include <string.h>
#include "simd.h"

#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#define HAVE_X86_TABLES 1
#endif

const simd_table *simd_choose(const char *name)
{
    const simd_table *usable[3];
    int n = 0;
#ifdef HAVE_X86_TABLES
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        usable[n++] = &simd_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        usable[n++] = &simd_avx2;
#endif
    usable[n++] = &simd_baseline;
    for (int i = 0; i < n; i++)
        if (name == 0 || name[0] == '\0' || strcmp(name, usable[i]->name) == 0)
            return usable[i];
    return 0;
}
