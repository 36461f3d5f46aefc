/* Special functions and sums that the loops of all models may use, for one floating
 * type.  The including file defines REAL, BITS, SUFFIX and the constants of that type.
 * Loops have no branches, so that compilers can vectorise them.  Compilers may change the
 * order of a sum only if VECTORISE_REDUCTION precedes its loop. */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define NAME(x) JOIN(x, SUFFIX)

static inline REAL NAME(from_bits)(BITS bits)
{
    union { BITS bits; REAL value; } pun;
    pun.bits = bits;
    return pun.value;
}

static inline BITS NAME(to_bits)(REAL value)
{
    union { BITS bits; REAL value; } pun;
    pun.value = value;
    return pun.bits;
}

/* exp(x) with a relative error of less than 2 eps.  The result is at least the smallest normal
 * number.  DEFINE_EXP and DEFINE_LOG are macros, because the same text is also compiled
 * between UNFUSED and FUSED. */
#define DEFINE_EXP(name)                                                              \
    static inline REAL NAME(name)(REAL x)                                             \
    {                                                                                 \
        x = x < NAME(EXP_MIN) ? NAME(EXP_MIN) : x;                                    \
        x = x > NAME(EXP_MAX) ? NAME(EXP_MAX) : x;                                    \
        REAL shifted = x * (REAL)1.4426950408889634074 + ROUNDER;                     \
        REAL n = shifted - ROUNDER;                                                   \
        REAL r = x - n * NAME(LN2_HIGH);                                              \
        r = r - n * NAME(LN2_LOW);                                                    \
        REAL y = NAME(EXP_POLYNOMIAL)(r);                                             \
        return y * NAME(from_bits)((NAME(to_bits)(shifted) + NAME(EXPONENT_BIAS))     \
                                   << NAME(MANTISSA_BITS));                           \
    }

/* log(x) = e log 2 + log m for normal x > 0, where x = 2^e m, m is near 1, and
 * log m = 2 atanh((m-1)/(m+1)). */
#define DEFINE_LOG(name)                                                              \
    static inline REAL NAME(name)(REAL x)                                             \
    {                                                                                 \
        const BITS bias = NAME(EXPONENT_BIAS) + 1;                                    \
        BITS bits = NAME(to_bits)(x) - NAME(SQRT_HALF_BITS);                          \
        BITS exponent = ((bits >> NAME(MANTISSA_BITS)) + bias) & (2 * bias - 1);      \
        bits = (bits & (((BITS)1 << NAME(MANTISSA_BITS)) - 1)) + NAME(SQRT_HALF_BITS);\
        REAL m = NAME(from_bits)(bits);                                               \
        REAL e = NAME(from_bits)(exponent | INTEGER_MAGIC_BITS)                       \
                 - (INTEGER_MAGIC + (REAL)bias);                                      \
        REAL s = (m - 1) / (m + 1);                                                   \
        REAL q = s * s;                                                               \
        REAL log_m = 2 * (s + s * q * NAME(ATANH_POLYNOMIAL)(q));                     \
        return e * NAME(LN2_HIGH) + (e * NAME(LN2_LOW) + log_m);                      \
    }

DEFINE_EXP(exp)
DEFINE_LOG(log)

/* `exp` and `log` with products that are rounded before they are added. */
UNFUSED
DEFINE_EXP(unfused_exp)
DEFINE_LOG(unfused_log)
FUSED

/* A uniform number, at least 0 and less than 1, from 64 random bits. */
static inline REAL NAME(uniform)(uint64_t bits)
{
    return (REAL)(INTEGER)(bits >> (63 - NAME(MANTISSA_BITS))) / (2 * INTEGER_MAGIC);
}

/* c[0] + c[1] x + c[2] x^2 + ... */
static inline REAL NAME(polynomial)(int degree, const REAL *c, REAL x)
{
    REAL sum = c[degree];
    for (int i = degree - 1; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* exp(digamma(x)) exp(shift), without a logarithm; `shift` is R of another x. */
static inline REAL NAME(exp_digamma_one)(REAL x, REAL shift)
{
    const NAME(digamma_parts) d = NAME(digamma_parts_of)(x);
    const int degree = (int)(sizeof(NAME(H)) / sizeof(REAL)) - 1;
    return d.z * (1 + d.s * NAME(polynomial)(degree, NAME(H), d.s)) * NAME(exp)(shift - d.R);
}

static inline REAL NAME(digamma_one)(REAL x)
{
    const NAME(digamma_parts) d = NAME(digamma_parts_of)(x);
    const int degree = (int)(sizeof(NAME(L)) / sizeof(REAL)) - 1;
    return NAME(log)(d.z) + d.s * NAME(polynomial)(degree, NAME(L), d.s) - d.R;
}

/* out = digamma(x) */
LOOP void NAME(digamma)(intptr_t n, const REAL *x, REAL *out)
{
    VECTORISE
    for (intptr_t i = 0; i < n; i++)
        out[i] = NAME(digamma_one)(x[i]);
}

/* Stirling's series of log Gamma(1 / r), beyond (1 / r - 1/2) log(1 / r) - 1 / r + log(2 pi) / 2. */
static inline double NAME(stirling)(double r)
{
    const double s = r * r;
    return r * (1. / 12 - s * (1. / 360 - s * (1. / 1260 - s * (
        1. / 1680 - s * (1. / 1188 - s * (691. / 360360 - s / 156))))));
}

/* The product x (x + 1) ... (x + 6), by which Gamma(x + 7) is larger than Gamma(x). */
static inline double NAME(seven_steps)(double x)
{
    return x * (x + 1) * (x + 2) * (x + 3) * (x + 4) * (x + 5) * (x + 6);
}

/* out = log Gamma(x) for 0 < x < 1e40: Stirling's series at x + 7, minus the logarithm of the
 * product of the steps. */
LOOP void NAME(log_gamma)(intptr_t n, const REAL *restrict x, double *restrict out)
{
    VECTORISE
    for (intptr_t i = 0; i < n; i++) {
        const double y = x[i], z = y + 7;
        out[i] = (z - 0.5) * log_f64(z) - z + 0.91893853320467274178 + NAME(stirling)(1 / z)
                 - log_f64(NAME(seven_steps)(y));
    }
}

/* log(1 + x) for x > -1, with the rounding error of the sum. */
static inline double NAME(log_1p)(double x)
{
    const double y = 1 + x;
    return log_f64(y) + (x - (y - 1)) / y;
}

/* out = log Gamma(x + m) - log Gamma(x) for 1e-40 < x < 1e40 and 0 <= m < 1e40, accurate even
 * for a large x, by differences of the terms of `log_gamma`. */
LOOP void NAME(log_rising)(intptr_t n, const REAL *restrict x, const REAL *restrict m,
                           double *restrict out)
{
    VECTORISE
    for (intptr_t i = 0; i < n; i++) {
        const double y = x[i], more = m[i], z = y + 7, end = z + more;
        const double steps = NAME(seven_steps)(y + more) / NAME(seven_steps)(y);
        out[i] = (z - 0.5) * NAME(log_1p)(more / z) + more * (log_f64(end) - 1)
                 + NAME(stirling)(1 / end) - NAME(stirling)(1 / z) - log_f64(steps);
    }
}

/* out = trigamma(x) for x > 0: eight steps of the recurrence as one fraction, plus Stirling's
 * series at x + 8.  For x of at least 1e15, only the series is used, because x + 8 rounds to
 * x, and the powers in the fraction could overflow. */
LOOP void NAME(trigamma)(intptr_t n, const REAL *restrict x, double *restrict out)
{
    VECTORISE
    for (intptr_t i = 0; i < n; i++) {
        const double far = x[i];
        double y = far < 1e15 ? far : 1e15, above = 0, below = 1;
        for (int step = 0; step < 8; step++, y += 1) {
            above = above * (y * y) + below;
            below *= y * y;
        }
        y = far < 1e15 ? y : far;
        above = far < 1e15 ? above : 0;
        const double r = 1 / y, s = r * r;
        const double series = s * r * (1. / 6 - s * (1. / 30 - s * (1. / 42 - s * (
            1. / 30 - s * (5. / 66 - s * (691. / 2730 - s * 7 / 6))))));
        out[i] = above / below + r + 0.5 * s + series;
    }
}

/* out = exp(b x) */
LOOP void NAME(exp_scaled)(intptr_t n, const REAL *x, double b, REAL *out)
{
    const REAL power = (REAL)b;
    VECTORISE
    for (intptr_t i = 0; i < n; i++)
        out[i] = NAME(exp)(power * x[i]);
}

static inline REAL NAME(largest)(intptr_t n, const REAL *restrict x)
{
    REAL top = x[0];
    VECTORISE_REDUCTION(max : top)
    for (intptr_t i = 0; i < n; i++)
        top = x[i] > top ? x[i] : top;
    return top;
}

static inline REAL NAME(weighted_sum)(intptr_t n, const REAL *restrict weights,
                                      const REAL *restrict x)
{
    REAL sum = 0;
    VECTORISE_REDUCTION(+ : sum)
    for (intptr_t i = 0; i < n; i++)
        sum += weights[i] * x[i];
    return sum;
}

/* out = exp(b digamma(x) - shift) for x up to `top`.  The shift is chosen so that max(out) neither
 * overflows nor underflows.  Returns the shift. */
LOOP double NAME(exp_digamma)(intptr_t n, REAL top, const REAL *restrict x, double b,
                              REAL *restrict out)
{
    if (b == 1.0) {
        const REAL shift = NAME(digamma_parts_of)(top).R;
        VECTORISE
        for (intptr_t i = 0; i < n; i++)
            out[i] = NAME(exp_digamma_one)(x[i], shift);
        return -(double)shift;
    }
    const REAL power = (REAL)b;
    const REAL shift = NAME(digamma_one)(top);
    VECTORISE
    for (intptr_t i = 0; i < n; i++)
        out[i] = NAME(exp)(power * (NAME(digamma_one)(x[i]) - shift));
    return (double)power * (double)shift;
}
