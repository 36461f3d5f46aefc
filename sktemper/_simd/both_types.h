/* Compiles the shared functions and a model's loops in both floating types, for the
 * instruction set named ISA. */
#include <math.h>
#include <stdint.h>
#include <string.h>

/* LOOP is the start of a function that kernels call through the table of loops, and
 * ALWAYS_INLINE that of a function with short loops, which are unrolled at each call.
 * UNROLLED precedes a short loop that is unrolled completely, so that its arrays stay in
 * registers.  Between UNFUSED and FUSED, products are rounded before they are added, even if
 * the instruction set has fused operations.  If sums have a fixed order, the bits are the same
 * for all instruction sets. */
#if defined(__GNUC__) || defined(__clang__)
#define PRAGMA(...) _Pragma(#__VA_ARGS__)
#define VECTORISE PRAGMA(omp simd)
#define VECTORISE_REDUCTION(...) PRAGMA(omp simd reduction(__VA_ARGS__))
#define LOOP static __attribute__((unused))
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define PREFETCH(address) __builtin_prefetch(address)
#ifdef __clang__
#define UNROLLED PRAGMA(unroll)
#define UNFUSED PRAGMA(STDC FP_CONTRACT OFF)
#define FUSED PRAGMA(STDC FP_CONTRACT DEFAULT)
/* This warning is disabled because a loop that cannot be vectorised is only slower. */
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#define UNROLLED PRAGMA(GCC unroll 16)
#define UNFUSED PRAGMA(GCC push_options) PRAGMA(GCC optimize("fp-contract=off"))
#define FUSED PRAGMA(GCC pop_options)
#endif
#else /* Microsoft's compiler */
#define restrict __restrict
#define VECTORISE
#define VECTORISE_REDUCTION(...)
#define LOOP static
#define ALWAYS_INLINE static inline
#define PREFETCH(address) (void)(address)
#define UNROLLED
#define UNFUSED __pragma(fp_contract(off))
#define FUSED __pragma(fp_contract(on))
#endif

#define FIRST_CACHE (40 * 1024)
#ifdef VECTOR_BYTES
/* Defines a type of vectors that may be loaded from any array of its elements; without vectors,
 * it is that of the elements. */
#define VECTOR_TYPE(name, element, bytes) \
    typedef element name                  \
        __attribute__((vector_size(bytes), aligned(sizeof(element)), may_alias))
#ifdef __clang__
#define SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define INDEX(x) __typeof__(((x) == (x))[0]) /* an integer of the size of an element */
#define SHUFFLE(x, y, ...) \
    __builtin_shuffle(x, y, (INDEX(x) __attribute__((vector_size(sizeof(x))))){__VA_ARGS__})
#endif
/* Every second index from i on, for vectors of this number of bytes and elements of a type. */
#define STEPS_16_f64(i) i, i + 2
#define STEPS_32_f64(i) STEPS_16_f64(i), STEPS_16_f64(i + 4)
#define STEPS_64_f64(i) STEPS_32_f64(i), STEPS_32_f64(i + 8)
#define STEPS_16_f32(i) STEPS_32_f64(i)
#define STEPS_32_f32(i) STEPS_64_f64(i)
#define STEPS_64_f32(i) STEPS_64_f64(i), STEPS_64_f64(i + 16)
#define STEPS(bytes, type, i) JOIN(JOIN(STEPS, bytes), type)(i)
/* Transposes an array of n vectors of n elements.  The index of an element consists of the bits
 * of its vector followed by the bits of its place.  Each round rotates these bits by one, until
 * vectors and places are exchanged. */
#define TRANSPOSE(vector, bytes, type, v)                                             \
    for (int n = (int)(sizeof(v) / sizeof(vector)), left = n; left > 1; left /= 2) {  \
        vector next[sizeof(v) / sizeof(vector)];                                      \
        for (int i = 0; i < n / 2; i++) {                                             \
            next[i] = SHUFFLE(v[2 * i], v[2 * i + 1], STEPS(bytes, type, 0));         \
            next[i + n / 2] = SHUFFLE(v[2 * i], v[2 * i + 1], STEPS(bytes, type, 1)); \
        }                                                                             \
        for (int i = 0; i < n; i++)                                                   \
            v[i] = next[i];                                                           \
    }
#else
#define VECTOR_TYPE(name, element, bytes) typedef element name
#define TRANSPOSE(vector, bytes, type, v) (void)(v)
#endif

/* Random numbers: splitmix64 (Steele, Lea and Flood 2014), with a stream for each sample. */
#define RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += RANDOM_STEP;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_stream(uint64_t seed, uint64_t number)
{
    uint64_t state = seed + number * UINT64_C(0xd1342543de82ef95);
    return next_random(&state);
}

/* digamma(x) = log z + s L(s) - R, where s = 1 / z^2 and z is x plus a shift.  R is the sum
 * 1 / x + 1 / (x + 1) + ... that the recurrence digamma(x) = digamma(x + 1) - 1 / x adds for the
 * shift, written as a rational function, and L is a polynomial.
 * exp digamma(x) = z (1 + s H(s)) exp(-R), where H is another polynomial. */
typedef struct { double z, s, R; } digamma_parts_f64;
typedef struct { float z, s, R; } digamma_parts_f32;

/* The elements of two vectors with even and with odd indices, and sums of adjacent elements.
 * These are macros, because each header defines other types of vectors. */
#define EVENS(x, y) SHUFFLE(x, y, STEPS(VECTOR_BYTES, SUFFIX, 0))
#define ODDS(x, y) SHUFFLE(x, y, STEPS(VECTOR_BYTES, SUFFIX, 1))
#define ADD_NEIGHBOURS(x, y) (EVENS(x, y) + ODDS(x, y))
/* x in lanes in which a mask, of -1 and 0, is true, and y in other lanes. */
#define SELECTED(mask, x, y) (((x) & (mask)) | ((y) & ~(mask)))

/* Constants of each type, such as NAME(EXP_MIN).  EXP_POLYNOMIAL and ATANH_POLYNOMIAL must
 * remain macros.  They are expanded in the code between UNFUSED and FUSED, which UNFUSED does
 * apply to; in a function that is defined elsewhere, compilers may use fused operations. */
#define TINY_MASS NAME(TINY_MASS)
#define NEGLIGIBLE NAME(NEGLIGIBLE)
#define FARTHEST NAME(FARTHEST)
#define ATANH(i) (REAL)(1.0 / (2 * (i) + 1))
/* 2^MANTISSA_BITS, to which integers are added to convert them; its bits; and a number such
 * that x + ROUNDER - ROUNDER is x, rounded to an integer. */
#define INTEGER_MAGIC ((REAL)((BITS)1 << NAME(MANTISSA_BITS)))
#define INTEGER_MAGIC_BITS                                                             \
    ((BITS)(NAME(EXPONENT_BIAS) + NAME(MANTISSA_BITS)) << NAME(MANTISSA_BITS))
#define ROUNDER (INTEGER_MAGIC + INTEGER_MAGIC / 2)

/* ---- float64 ------------------------------------------------------------------ */
#define REAL double
#define BITS uint64_t
#define INTEGER int64_t
#define SUFFIX f64
#define MANTISSA_BITS_f64 52
#define EXPONENT_BIAS_f64 1023
#define SQRT_HALF_BITS_f64 UINT64_C(0x3fe6a09e667f3bcd)
#define EXP_MIN_f64 -708.0
#define EXP_MAX_f64 709.0
#define LN2_HIGH_f64 6.93147180369123816490e-01
#define LN2_LOW_f64 1.90821492927058770002e-10
#define TINY_MASS_f64 1e-280
#define NEGLIGIBLE_f64 1e-9
#define FARTHEST_f64 1e250
#define EXP_POLYNOMIAL_f64(r)                                                             \
    (1 + r * (1 + r * (1. / 2 + r * (1. / 6 + r * (1. / 24 + r * (1. / 120 + r *      \
    (1. / 720 + r * (1. / 5040 + r * (1. / 40320 + r * (1. / 362880 + r * (1. /       \
    3628800 + r * (1. / 39916800 + r * (1. / 479001600 + r * (1. /                    \
    6227020800))))))))))))))
#define ATANH_POLYNOMIAL_f64(q)                                                           \
    (ATANH(1) + q * (ATANH(2) + q * (ATANH(3) + q * (ATANH(4) + q * (ATANH(5) + q *   \
    (ATANH(6) + q * (ATANH(7) + q * (ATANH(8) + q * (ATANH(9) + q *                   \
    (ATANH(10)))))))))))

/* z = x + 7/2 and R = 1 / x + 1 / (x + 1) + 1 / (x + 2) + 1 / (x + 3).  For x above 1e70, R is
 * computed at 1e70, because fourth powers of x would overflow; such an R is less than a
 * rounding error of log z. */
static inline digamma_parts_f64 digamma_parts_of_f64(double x)
{
    const double z = x + 3.5, s = 1 / (z * z);
    const double below = x < 1e70 ? x : 1e70, q = below * (below + 3);
    const digamma_parts_f64 parts = {z, s, (2 * below + 3) * (2 * q + 2) / (q * (q + 2))};
    return parts;
}

static const double H_f64[9] = {
    .041666666666664035, -.006423611105866687, .003552481169841459,
    -.0039533302103197, .007349862115424968, -.020144907289977067,
    .06803092871724054, -.2085027681962477, .3620696420720628};
static const double L_f64[9] = {
    .041666666666664014, -.007291666661383572, .0038442442743033146,
    -.004133885685173978, .007545680400671916, -.020488541093819066,
    .06887335352610442, -.21063612797207523, .3654174718748715};
#include "functions.h"
#include SIMD_LOOPS
#undef REAL
#undef BITS
#undef INTEGER
#undef SUFFIX

/* ---- float32 ------------------------------------------------------------------ */
#define REAL float
#define BITS uint32_t
#define INTEGER int32_t
#define SUFFIX f32
#define MANTISSA_BITS_f32 23
#define EXPONENT_BIAS_f32 127
#define SQRT_HALF_BITS_f32 0x3f3504f3u
#define EXP_MIN_f32 -87.0f
#define EXP_MAX_f32 88.0f
#define LN2_HIGH_f32 6.9314575195e-01f
#define LN2_LOW_f32 1.4286067653e-06f
#define TINY_MASS_f32 1e-30f
#define NEGLIGIBLE_f32 1e-6f
#define FARTHEST_f32 1e30f
#define EXP_POLYNOMIAL_f32(r)                                                             \
    (1 + r * (1 + r * (1.f / 2 + r * (1.f / 6 + r * (1.f / 24 + r * (1.f / 120 + r    \
    * (1.f / 720 + r * (1.f / 5040))))))))
#define ATANH_POLYNOMIAL_f32(q)                                                           \
    (ATANH(1) + q * (ATANH(2) + q * (ATANH(3) + q * (ATANH(4) + q * (ATANH(5))))))

/* z = x + 3/2 and R = 1 / x + 1 / (x + 1). */
static inline digamma_parts_f32 digamma_parts_of_f32(float x)
{
    const float z = x + 1.5f, s = 1 / (z * z);
    const digamma_parts_f32 parts = {z, s, (2 * x + 1) / (x * (x + 1))};
    return parts;
}

static const float H_f32[5] = {.041666591823998234f, -.0064150159250128715f,
                               .0033806485957630283f, -.0025798542631326284f,
                               .0013055349626598844f};
static const float L_f32[5] = {.04166658961366231f, -.007282819228632366f,
                               .003667523890033048f, -.0027240075659475207f,
                               .001363865527486858f};
#include "functions.h"
#include SIMD_LOOPS

#define STRING_(x) #x
#define STRING(x) STRING_(x)

const simd_table SIMD_TABLE(ISA) = {STRING(ISA), SIMD_ALL_LOOPS};
