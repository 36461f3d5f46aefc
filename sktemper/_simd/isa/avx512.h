/* AVX-512, with its whole registers. */
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <math.h>
#include <stdint.h>
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma"))), \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")
#endif
#define VECTOR_BYTES 64
#define ISA avx512
#include "both_types.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
