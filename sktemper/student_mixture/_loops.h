/* Integrals over the scale u of a row, by the trapezoidal rule for s = log u.  The integrand is
 *
 *     exp(half (1 + s - u)) v^width prod_d (1 + v squares_d)^-exponent,
 *
 * where v = 1 / (1 / kappa + 1 / u) is the precision of a row whose mean is uncertain, and
 * `law` has width (half of the number of features), half, exponent and kappa.  It has a mode
 * near u = 1 if the uncertainty of the mean explains the row, and one near 0 if its scale does.
 * The slope of its logarithm is at most half + width, and negative where half (u - 1) is larger
 * than width, so that nodes are left out only if they are negligible. */

/* Number of nodes that are computed together; their distance, in standard deviations of the
 * narrowest integrand, and at most; and the logarithm of a negligible share. */
#define NODES 16
#define STEP 0.65
#define LARGEST_STEP 0.3
#define NO_TERM -28.0
/* Below this |s|, a series of exp(s) - 1 - s is used. */
#define NEAR_MODE 0.01

/* Adds the integrand at nodes from s on to `sum`, relative to exp(top).  Returns the logarithm
 * at node `end`, relative to the largest one so far. */
static double NAME(add_terms)(const double *law, intptr_t n_factors, const double *squares,
                              double s, double step, intptr_t end, double *top, double *sum)
{
    double v[NODES], logs[NODES], largest = *top, added = 0;
    VECTORISE
    for (intptr_t j = 0; j < NODES; j++) {
        const double at = s + (double)j * step, u = exp_f64(at), past = 1 + u / law[3];
        const double near = at * at * (1 / 2. + at * (1 / 6. + at * (1 / 24. + at / 120)));
        const double rise = at < NEAR_MODE && at > -NEAR_MODE ? near : u - 1 - at;
        v[j] = u / past;
        logs[j] = law[0] * (at - log_f64(past)) - law[1] * rise;
    }
    for (intptr_t d = 0; d < n_factors; d++) {
        VECTORISE
        for (intptr_t j = 0; j < NODES; j++) { /* log(1 + x), with its rounding error */
            const double x = v[j] * squares[d], y = 1 + x;
            logs[j] -= law[2] * (log_f64(y) + (x - (y - 1)) / y);
        }
    }
    for (intptr_t j = 0; j < NODES; j++)
        largest = logs[j] > largest ? logs[j] : largest;
    VECTORISE_REDUCTION(+ : added)
    for (intptr_t j = 0; j < NODES; j++)
        added += exp_f64(logs[j] - largest);
    *sum = *sum * exp(*top - largest) + added;
    *top = largest;
    return logs[end] - largest;
}

/* Returns s <= 0 below which the integrand only rises.  If kappa is infinite, its slope is
 * half (1 - u) + width - exponent sum_d (u squares_d / (1 + u squares_d)).  It is at least that
 * of equal squares, of which a quadratic equation has the root; and so is the slope for any
 * kappa, where u < 1. */
static double NAME(first_node)(const double *law, intptr_t n_factors, const double *squares)
{
    const double half = law[1], most = half + law[0], n = (double)n_factors;
    double mean = 0;
    for (intptr_t d = 0; d < n_factors; d++)
        mean += squares[d] / n;
    const double linear = mean * (most - law[2] * n) - half;
    const double root = hypot(linear, 2 * sqrt(half * mean) * sqrt(most));
    const double u =
        linear < 0 ? 2 * most / (root - linear) : (root + linear) / (2 * half * mean);
    return u < 1 ? log(u) : 0;
}

/* Writes the logarithms of the integrals of rows.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(log_integrals)(intptr_t n_rows, intptr_t n_factors, const double *law,
                             const double *squares, const volatile int *stop, double *logs)
{
    const double most = law[0] + law[1], narrow = STEP / sqrt(most);
    const double step = narrow < LARGEST_STEP ? narrow : LARGEST_STEP;
    for (intptr_t i = 0; i < n_rows && !*stop; i++, squares += n_factors) {
        const double first = NAME(first_node)(law, n_factors, squares);
        double top = -HUGE_VAL, sum = 0, s = first, end;
        NAME(add_terms)(law, n_factors, squares, 0, step, 0, &top, &sum);
        sum = 0;
        do {
            end = NAME(add_terms)(law, n_factors, squares, s, step, NODES - 1, &top, &sum);
            s += NODES * step;
            if (end < NO_TERM)
                s += floor((NO_TERM - end) / (most * step)) * step;
        } while (end >= NO_TERM || law[1] * (exp(s) - 1) <= law[0]);
        s = first;
        do {
            s -= NODES * step;
            end = NAME(add_terms)(law, n_factors, squares, s, step, 0, &top, &sum);
        } while (end >= NO_TERM);
        logs[i] = top + log(sum * step);
    }
    return *stop ? -1 : 0;
}
