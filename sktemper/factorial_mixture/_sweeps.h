/* One sweep over the binary features of a panel of samples, with one sample in each lane.
 * It computes the logit of each feature given the other features, and then its probability.
 *
 * Samples with missing values have their own grams: upper triangles, row by row.  In a
 * panel, each entry of the gram and each probability has one value in each lane. */

/* Number of probabilities of at least 1/2 whose product is not subnormal. */
#define FACTORS 64
/* Returns the index of the diagonal element of row k in an upper triangle of order n. */
static inline intptr_t NAME(triangle)(intptr_t n, intptr_t k)
{
    return k * (2 * n - k + 1) / 2;
}

/* Number of vectors of a panel.  Several vectors hide the latencies of sums and divisions.
 * The number is smaller if samples have their own grams, and 1 if these grams do not fit
 * into a cache. */
#ifdef VECTOR_BYTES
#define PARTS (BINARY_BYTES / SIMD_BYTES)
#define OWN_PARTS (OWN_BYTES / SIMD_BYTES)
#define FEW_PARTS 1
#define VECTOR NAME(sample_vector)
#define WORDS NAME(sample_words)
typedef REAL VECTOR __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef INTEGER WORDS __attribute__((vector_size(VECTOR_BYTES), may_alias));
#define WHERE(condition) ((WORDS)(condition))
#else
#define PARTS (SIMD_BYTES / (int)sizeof(REAL))
#define OWN_PARTS PARTS
#define FEW_PARTS PARTS
#define VECTOR REAL
#define WORDS INTEGER
#define WHERE(condition) (-(INTEGER)(condition))
#endif
#define WIDTH ((int)(sizeof(VECTOR) / sizeof(REAL)))
#define LANES (PARTS * WIDTH)
#define FEW_LANES (FEW_PARTS * WIDTH)

/* Returns the bits of the values of all lanes. */
ALWAYS_INLINE WORDS NAME(to_words)(VECTOR x)
{
#ifdef VECTOR_BYTES
    return (WORDS)x;
#else
    return (WORDS)NAME(to_bits)(x);
#endif
}

/* Returns the values of all lanes from their bits. */
ALWAYS_INLINE VECTOR NAME(to_reals)(WORDS words)
{
#ifdef VECTOR_BYTES
    return (VECTOR)words;
#else
    return NAME(from_bits)((BITS)words);
#endif
}

/* All bits except the sign bit.  The order of absolute values is the order of these bits. */
#define SIZE_BITS ((INTEGER)(~(BITS)0 >> 1))

/* Coefficients of 2^f for -1/2 <= f <= 1/2, by Chebyshev interpolation with a relative
 * error below eps / 5.  If |x| exceeds FARTHEST_POWER, the probability 1 / (1 + 2^x) is
 * rounded to 0 or 1. */
#if NAME(MANTISSA_BITS) == 52
#define FARTHEST_POWER 1000.0
static const double NAME(power_of_two)[] = {
    4.455817908336064493e-10, 7.074194297288521006e-9, 1.01780570877339411e-7,
    1.321543253591237617e-6,  1.525273384155677259e-5, 1.540353046372435421e-4,
    1.33335581464064707e-3,   9.618129107587256668e-3, 5.550410866482162704e-2,
    .2402265069591015957,     .6931471805599453093,    1.0};
#else
#define FARTHEST_POWER 120.0f
static const float NAME(power_of_two)[] = {1.54614447e-4f, 1.340042818e-3f,
                                           9.618056679e-3f, 5.550327227e-2f,
                                           .2402265092f, .6931472067f, 1.0f};
#endif
#define DEGREE ((int)(sizeof(NAME(power_of_two)) / sizeof(REAL)) - 1)

/* p = 1 / (1 + 2^x) */
ALWAYS_INLINE void NAME(binary_probabilities)(const int parts, const VECTOR *restrict x,
                                              VECTOR *restrict p)
{
    VECTOR f[PARTS], scale[PARTS];
    for (int i = 0; i < parts; i++)
        f[i] = x[i] - ((x[i] + ROUNDER) - ROUNDER);
    for (int i = 0; i < parts; i++) {
        const WORDS words = NAME(to_words)(x[i]), size = words & SIZE_BITS;
        const WORDS farthest = (words & 0) + (INTEGER)NAME(to_bits)(FARTHEST_POWER);
        const WORDS infinite = (words & 0) + (INTEGER)NAME(to_bits)((REAL)INFINITY);
        const WORDS near = WHERE(size < farthest);
        const WORDS nearest = SELECTED(near, size, farthest);
        const VECTOR shifted =
            NAME(to_reals)(nearest | (words & ~SIZE_BITS)) + ROUNDER;
        /* f is set to 0 if x is too large for ROUNDER, but NAN stays NAN */
        f[i] = NAME(to_reals)(NAME(to_words)(f[i]) & (near | WHERE(size > infinite)));
        const WORDS exponent = NAME(to_words)(shifted) + NAME(EXPONENT_BIAS);
        scale[i] = NAME(to_reals)(exponent << NAME(MANTISSA_BITS));
    }
    for (int i = 0; i < parts; i++)
        p[i] = f[i] * NAME(power_of_two)[0] + NAME(power_of_two)[1];
    for (int n = 2; n <= DEGREE; n++)
        for (int i = 0; i < parts; i++)
            p[i] = p[i] * f[i] + NAME(power_of_two)[n];
    for (int i = 0; i < parts; i++)
        p[i] = 1 / (1 + scale[i] * p[i]);
}

/* Results of a sweep for each lane: the score, and the bits of the largest change. */
typedef struct {
    VECTOR scores[PARTS];
    WORDS changes[PARTS];
} NAME(binary_results);

/* Computes the new probabilities of a feature from x = slope * (before + after), where
 * `before` is the product minus the terms of previous features, and `after` has the terms
 * of later features.  The score uses only `before`, so that it has each pair of features
 * once. */
ALWAYS_INLINE void NAME(binary_update)(const int parts, const VECTOR *restrict slopes,
                                       const VECTOR *restrict before,
                                       VECTOR *restrict after,
                                       VECTOR *restrict nu, VECTOR *restrict exponents,
                                       NAME(binary_results) *restrict results)
{
    VECTOR p[PARTS];
    for (int i = 0; i < parts; i++)
        after[i] = slopes[i] * (before[i] + after[i]);
    NAME(binary_probabilities)(parts, after, p);
    for (int i = 0; i < parts; i++) {
        const WORDS change = NAME(to_words)(p[i] - nu[i]) & SIZE_BITS;
        const WORDS largest = results->changes[i];
        results->changes[i] = SELECTED(WHERE(change > largest), change, largest);
        results->scores[i] += p[i] * before[i];
        exponents[i] = after[i];
        nu[i] = p[i];
    }
}

/* Makes one sweep over the features of a panel, and writes x into `exponents`.  The gram is a
 * symmetric matrix, or, if samples have their own, a triangle with each entry in all lanes.  The
 * term of feature k - 1, which was computed last, is added last, so that the sum of the other
 * terms need not wait for it. */
ALWAYS_INLINE void NAME(binary_sweep)(const int own, const int parts, intptr_t n_features,
                                      const void *gram, const VECTOR *restrict products,
                                      const VECTOR *restrict slopes, VECTOR *restrict nu,
                                      VECTOR *restrict exponents,
                                      NAME(binary_results) *restrict results)
{
    memset(results, 0, sizeof(*results));
    for (intptr_t k = 0; k < n_features; k++) {
        const REAL *restrict row = (const REAL *)gram + k * n_features;
        const VECTOR *restrict later =
            (const VECTOR *)gram + NAME(triangle)(n_features, k) * parts;
        const VECTOR *restrict earlier = (const VECTOR *)gram + k * parts;
        VECTOR before[PARTS], after[PARTS];
        for (int i = 0; i < parts; i++)
            after[i] = NAME(to_reals)(NAME(to_words)(products[i]) & 0);
        for (intptr_t j = k + 1; j < n_features; j++)
            for (int i = 0; i < parts; i++)
                after[i] -= own ? later[(j - k) * parts + i] * nu[j * parts + i]
                                : row[j] * nu[j * parts + i];
        for (int i = 0; i < parts; i++)
            before[i] = products[k * parts + i];
        for (intptr_t j = 0; j < k; j++) {
            for (int i = 0; i < parts; i++)
                before[i] -=
                    own ? earlier[i] * nu[j * parts + i] : row[j] * nu[j * parts + i];
            earlier += (n_features - j - 1) * parts;
        }
        NAME(binary_update)(parts, slopes, before, after, nu + k * parts,
                            exponents + k * parts, results);
    }
}
