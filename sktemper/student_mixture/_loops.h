/* Integrals over the scale u of a row, by the trapezoidal rule for s = log u.  The integrand is
 *
 *     exp(half (1 + s - u)) v^width prod_d (1 + v squares_d)^-exponent,
 *
 * where v = 1 / (1 / kappa + 1 / u) is the precision of a row whose mean is uncertain, and
 * `law` has width (half of the number of features), half, exponent and kappa.  It has a mode
 * near u = 1 if the uncertainty of the mean explains the row, and one near 0 if its scale does.
 * The slope of its logarithm is at most most = half + width, and negative where half (u - 1) is
 * larger than width.  The squares of column d begin at `squares + d * stride`. */

/* Rows whose integrals are computed together; the logarithm of a negligible share; and a number
 * far from overflow, and its logarithm. */
#define ROWS (SIMD_BYTES / 4)
#define NO_TERM -21.0
#define LARGE 1e140
#define LOG_OF_LARGE log(LARGE)
/* Below this |s|, a series of exp(s) - 1 - s is used. */
#define NEAR_MODE 0.01

/* The numbers of a law and most, and the squares of ROWS rows; products of `is_large` ones may
 * overflow. */
typedef struct {
    double width, half, exponent, kappa, most;
    intptr_t n_factors, stride;
    const double *squares;
    int is_large;
} NAME(integrand);

/* Returns the mode u of the integrand of equal squares if kappa is infinite, the root of a
 * quadratic equation: its slope is half (1 - u) + width - exponent n u mean / (1 + u mean).
 * Below it, and below 1, the integrand of any squares only rises: its slope is at least that of
 * equal squares, and so is the slope for any kappa, where u < 1. */
static inline double NAME(mode)(const NAME(integrand) *f, double mean)
{
    const double some = mean > 1e-100 ? mean : 1e-100;
    const double linear = f->most - f->exponent * (double)f->n_factors - f->half / some;
    const double root = sqrt(linear * linear + 4 * f->half * f->most / some);
    return linear < 0 ? 2 * f->most / (some * (root - linear)) : (root + linear) / (2 * f->half);
}

/* Multiplies 1 + product by 1 + v square of some columns; the sums have positive terms only. */
ALWAYS_INLINE void NAME(multiply)(int n_factors, const NAME(integrand) *f, intptr_t first,
                                  const double *restrict v, double *restrict product)
{
    const double *restrict squares = f->squares + first * f->stride;
    VECTORISE
    for (intptr_t i = 0; i < ROWS; i++) {
        double all = product[i];
        UNROLLED
        for (int d = 0; d < n_factors; d++) {
            const double x = v[i] * squares[d * f->stride + i];
            all += x + all * x;
        }
        product[i] = all;
    }
}

/* Writes the terms of the logarithms at u factor, beside half (1 + s - u) + width s.  A
 * product becomes a term before it could overflow. */
static void NAME(write_terms)(const NAME(integrand) *f, const double *u, double factor,
                              double *terms)
{
    const double spread = 1 / f->kappa;
    double v[ROWS], product[ROWS] = {0};
    VECTORISE
    for (intptr_t i = 0; i < ROWS; i++) {
        const double past = 1 + u[i] * factor * spread;
        v[i] = u[i] * factor / past;
        terms[i] = -f->width * log_f64(past);
    }
    for (intptr_t d = 0, n = 0; d < f->n_factors; d += n) {
        n = f->is_large || d + 4 > f->n_factors ? 1 : 4;
        if (n == 4)
            NAME(multiply)(4, f, d, v, product);
        else
            NAME(multiply)(1, f, d, v, product);
        const double most = d + n == f->n_factors ? 0 : LARGE;
        if (most && !f->is_large)
            continue;
        double falls[ROWS];
        VECTORISE
        for (intptr_t i = 0; i < ROWS; i++)
            falls[i] = f->exponent * NAME(log_1p)(product[i]);
        VECTORISE
        for (intptr_t i = 0; i < ROWS; i++) {
            terms[i] -= product[i] > most ? falls[i] : 0;
            product[i] = product[i] > most ? 0 : product[i];
        }
    }
}

/* Writes the logarithms of the integrals of ROWS rows.  Nodes have the distance `step` from the
 * modes u, upwards and then downwards.  The integrand falls from u = 1 + width / half on.  It is
 * concave up to there if the exponent times the sum of v square / (1 + v square) is at most
 * width + half kappa.  A row that is negligible at a node has no further ones if the integrand
 * falls, and else leaves out those that must be negligible, too. */
static void NAME(integrals)(NAME(integrand) f, double *logs)
{
    const double falls = 1 + f.width / f.half, v = falls / (1 + falls / f.kappa);
    const double step = 0.87 / sqrt(f.most + 4), n = (double)f.n_factors;
    double mean[ROWS] = {0}, shares[ROWS] = {0}, sum[ROWS] = {0}, peak[ROWS] = {0};
    double top[ROWS] = {0}, u[ROWS], terms[ROWS], base[ROWS], largest = 0;
    for (intptr_t d = 0; d < f.n_factors; d++) {
        VECTORISE_REDUCTION(max : largest)
        for (intptr_t i = 0; i < ROWS; i++) {
            const double square = f.squares[d * f.stride + i], x = v * square;
            mean[i] += square / n;
            shares[i] += f.exponent * x / (1 + x);
            largest = square > largest ? square : largest;
        }
    }
    f.is_large = n * log(1 + largest * (falls + LOG_OF_LARGE / f.half)) > LOG_OF_LARGE;
    VECTORISE
    for (intptr_t i = 0; i < ROWS; i++)
        u[i] = NAME(mode)(&f, mean[i]);
    NAME(write_terms)(&f, u, 1, base);
    for (int is_down = 0; is_down < 2; is_down++) {
        const double skipped = is_down ? 0 : 1 / (f.most * step);
        double next[ROWS] = {0}, end[ROWS], soonest = 0;
        VECTORISE
        for (intptr_t i = 0; i < ROWS; i++) {
            const int is_concave = shares[i] <= f.width + f.half * f.kappa;
            const double most = is_concave ? 0 : log_f64(falls / u[i]) / step;
            end[i] = is_down ? log_f64(u[i]) / step : most;
        }
        while (soonest < HUGE_VAL) {
            const double j = soonest, s = (is_down ? -1 - j : j) * step, factor = exp(s);
            NAME(write_terms)(&f, u, factor, terms);
            largest = 0;
            VECTORISE_REDUCTION(max : largest)
            for (intptr_t i = 0; i < ROWS; i++) {
                const double log = f.most * s - f.half * u[i] * (factor - 1)
                                   + (terms[i] - base[i]);
                terms[i] = next[i] <= j ? log : -HUGE_VAL;
                peak[i] = terms[i] > peak[i] ? terms[i] : peak[i];
                largest = terms[i] - top[i] > largest ? terms[i] - top[i] : largest;
            }
            for (intptr_t i = 0; i < ROWS && largest > LOG_OF_LARGE; i++) {
                const double rise = terms[i] - top[i] > LOG_OF_LARGE ? terms[i] - top[i] : 0;
                sum[i] *= exp(-rise);
                top[i] += rise;
            }
            VECTORISE
            for (intptr_t i = 0; i < ROWS; i++)
                sum[i] += exp_f64(terms[i] - top[i]);
            soonest = HUGE_VAL;
            VECTORISE_REDUCTION(min : soonest)
            for (intptr_t i = 0; i < ROWS; i++) {
                const double below = peak[i] + NO_TERM - terms[i];
                const double other = j + 1 + floor(below * skipped);
                const double later = other < end[i] ? other : HUGE_VAL;
                const double own = below <= 0 ? j + 1 : later; /* not NAN */
                next[i] = next[i] > j ? next[i] : own;
                soonest = next[i] < soonest ? next[i] : soonest;
            }
        }
    }
    VECTORISE
    for (intptr_t i = 0; i < ROWS; i++) {
        const double s = log_f64(u[i]);
        const double near = s * s * (1 / 2. + s * (1 / 6. + s * (1 / 24. + s / 120)));
        const double rise = s < NEAR_MODE && s > -NEAR_MODE ? near : u[i] - 1 - s;
        logs[i] = f.width * s - f.half * rise + base[i] + top[i] + log_f64(sum[i] * step);
    }
}

/* Writes the logarithms of the integrals of rows, divided by that of the density of the scale.
 * `squares` have a multiple of ROWS rows.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(log_integrals)(intptr_t n_rows, intptr_t n_factors, intptr_t stride,
                             const double *law, const double *squares,
                             const volatile int *stop, double *logs)
{
    const NAME(integrand) scale = {0, law[1], 0, law[3], law[1], 0, 0, squares, 0};
    double constant[ROWS], found[ROWS];
    NAME(integrals)(scale, constant);
    for (intptr_t i = 0; i < n_rows && !*stop; i++) {
        if (i % ROWS == 0) {
            const NAME(integrand) f = {law[0], law[1], law[2], law[3], law[0] + law[1],
                                       n_factors, stride, squares + i, 0};
            NAME(integrals)(f, found);
        }
        logs[i] = found[i % ROWS] - constant[0];
    }
    return *stop ? -1 : 0;
}
