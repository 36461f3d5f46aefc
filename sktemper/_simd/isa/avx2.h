/* Loops for AVX2 and FMA, if the compiler can target them in a part of a file. */
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
#include <math.h>
#include <stdint.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define VECTOR_BYTES 32
#define ISA avx2
#include "both_types.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
