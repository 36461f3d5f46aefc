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
 * far from overflow. */
#define ROWS (SIMD_BYTES / 2)
#define NO_TERM -21.0
#define LARGE 1e140
/* Below this |s|, a series of exp(s) - 1 - s is used. */
#define NEAR_MODE 0.01

/* Returns the mode u of the integrand of equal squares if kappa is infinite, the root of a
 * quadratic equation: its slope is half (1 - u) + width - exponent n u mean / (1 + u mean).
 * Below it, and below 1, the integrand of any squares only rises: its slope is at least that of
 * equal squares, and so is the slope for any kappa, where u < 1. */
static inline double NAME(mode)(const double *law, intptr_t n_factors, double mean)
{
    const double most = law[0] + law[1], some = mean > 1e-100 ? mean : 1e-100;
    const double linear = most - law[2] * (double)n_factors - law[1] / some;
    const double root = sqrt(linear * linear + 4 * law[1] * most / some);
    return linear < 0 ? 2 * most / (some * (root - linear)) : (root + linear) / (2 * law[1]);
}

/* Writes the terms of the logarithms at u factor, beside half (1 + s - u) + width s.  A product
 * of 1 + v squares, less 1, has positive terms; it is a term itself before it could overflow. */
static void NAME(write_terms)(const double *law, intptr_t n_factors, intptr_t stride,
                              const double *squares, const double *u, double factor,
                              double *terms)
{
    double v[ROWS], product[ROWS] = {0}, falls[ROWS];
    const double spread = 1 / law[3];
    VECTORISE
    for (intptr_t i = 0; i < ROWS; i++) {
        const double past = 1 + u[i] * factor * spread;
        v[i] = u[i] * factor / past;
        terms[i] = -law[0] * log_f64(past);
    }
    for (intptr_t d = 0; d < n_factors; d++) {
        double largest = 0;
        const double most = d + 1 < n_factors ? LARGE : 0;
        VECTORISE_REDUCTION(max : largest)
        for (intptr_t i = 0; i < ROWS; i++) {
            const double x = v[i] * squares[d * stride + i];
            product[i] += x + product[i] * x;
            largest = product[i] > largest ? product[i] : largest;
        }
        if (largest <= most)
            continue;
        VECTORISE
        for (intptr_t i = 0; i < ROWS; i++)
            falls[i] = law[2] * NAME(log_1p)(product[i]);
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
static void NAME(integrals)(const double *law, intptr_t n_factors, intptr_t stride,
                            const double *squares, double *logs)
{
    const double most = law[0] + law[1], step = 0.87 / sqrt(most + 4);
    const double falls = 1 + law[0] / law[1], v = falls / (1 + falls / law[3]);
    double mean[ROWS] = {0}, shares[ROWS] = {0}, sum[ROWS] = {0}, top[ROWS] = {0};
    double u[ROWS], terms[ROWS], base[ROWS], end[ROWS];
    for (intptr_t d = 0; d < n_factors; d++) {
        VECTORISE
        for (intptr_t i = 0; i < ROWS; i++) {
            const double square = squares[d * stride + i], x = v * square;
            mean[i] += square / (double)n_factors;
            shares[i] += law[2] * x / (1 + x);
        }
    }
    VECTORISE
    for (intptr_t i = 0; i < ROWS; i++) {
        u[i] = NAME(mode)(law, n_factors, mean[i]);
        end[i] = shares[i] <= law[0] + law[1] * law[3] ? 0 : log_f64(falls / u[i]) / step;
    }
    NAME(write_terms)(law, n_factors, stride, squares, u, 1, base);
    for (int is_down = 0; is_down < 2; is_down++) {
        const double skipped = is_down ? 0 : 1 / (most * step);
        double next[ROWS] = {0}, soonest = 0;
        while (soonest < HUGE_VAL) {
            const double j = soonest, s = (is_down ? -1 - j : j) * step, factor = exp(s);
            NAME(write_terms)(law, n_factors, stride, squares, u, factor, terms);
            double rise = 0;
            VECTORISE_REDUCTION(max : rise)
            for (intptr_t i = 0; i < ROWS; i++) {
                const double log =
                    most * s - law[1] * u[i] * (factor - 1) + (terms[i] - base[i]) - top[i];
                terms[i] = next[i] <= j ? log : -HUGE_VAL;
                rise = terms[i] > rise ? terms[i] : rise;
            }
            for (intptr_t i = 0; i < ROWS && rise > 0; i++) {
                const double own = terms[i] > 0 ? terms[i] : 0;
                sum[i] *= exp_f64(-own);
                terms[i] -= own;
                top[i] += own;
            }
            VECTORISE
            for (intptr_t i = 0; i < ROWS; i++) {
                sum[i] += exp_f64(terms[i]);
                terms[i] = NO_TERM - terms[i];
            }
            soonest = HUGE_VAL;
            VECTORISE_REDUCTION(min : soonest)
            for (intptr_t i = 0; i < ROWS; i++) {
                const double other = j + 1 + floor(terms[i] * skipped);
                const double later = other < end[i] ? other : HUGE_VAL;
                const double own = terms[i] <= 0 ? j + 1 : later; /* not NAN */
                next[i] = next[i] > j ? next[i] : own;
                soonest = next[i] < soonest ? next[i] : soonest;
            }
        }
        VECTORISE
        for (intptr_t i = 0; i < ROWS; i++)
            end[i] = log_f64(u[i]) / step;
    }
    VECTORISE
    for (intptr_t i = 0; i < ROWS; i++) {
        const double s = log_f64(u[i]);
        const double near = s * s * (1 / 2. + s * (1 / 6. + s * (1 / 24. + s / 120)));
        const double rise = s < NEAR_MODE && s > -NEAR_MODE ? near : u[i] - 1 - s;
        logs[i] = law[0] * s - law[1] * rise + base[i] + top[i] + log_f64(sum[i] * step);
    }
}

/* Writes the logarithms of the integrals of rows, divided by that of the density of the scale.
 * `squares` have a multiple of ROWS rows.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(log_integrals)(intptr_t n_rows, intptr_t n_factors, intptr_t stride,
                             const double *law, const double *squares,
                             const volatile int *stop, double *logs)
{
    const double half = law[1], z = half + 7;
    /* log Gamma(half) + half - half log(half), by Stirling's series after seven steps */
    const double constant = half * NAME(log_1p)(7 / half) + 6.5 * log(z) - 7
                            + 0.91893853320467274178 + NAME(stirling)(1 / z)
                            - log(NAME(seven_steps)(half));
    double found[ROWS];
    for (intptr_t i = 0; i < n_rows && !*stop; i++) {
        if (i % ROWS == 0)
            NAME(integrals)(law, n_factors, stride, squares + i, found);
        logs[i] = found[i % ROWS] - constant;
    }
    return *stop ? -1 : 0;
}
