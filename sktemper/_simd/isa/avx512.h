/* Loops for AVX-512, with vectors of 64 bytes.  SIMD_EMULATE_AVX512 keeps this size and
 * compiles the loops to AVX2, so that they can be tested on machines without AVX-512. */
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <math.h>
#include <stdint.h>
#if defined(SIMD_EMULATE_AVX512) && !defined(__clang__)
#pragma GCC target("avx2,fma")
#elif defined(__clang__)
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
