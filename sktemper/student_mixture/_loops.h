/* Integrals over the scale u of a row, by the trapezoidal rule for s = log u.  The integrand is
 *
 *     exp(half (1 + s - u)) v^width prod_d (1 + v squares_d)^-exponent,
 *
 * where v = 1 / (1 / kappa + 1 / u) is the precision of a row whose mean is uncertain.  It has a
 * mode near u = 1 if the uncertainty of the mean explains the row, and one near 0 if its scale
 * does.  The slope of its logarithm is at most half + width, and negative where half (u - 1) is
 * larger than width, so that nodes are left out only if they are negligible. */

/* Number of nodes that are computed together; their distance, in standard deviations of the
 * narrowest integrand, and at most; and the logarithm of a negligible share. */
#define NODES 16
#define STEP 0.65
#define LARGEST_STEP 0.3
#define NO_TERM -28.0
/* Below this |s|, a series of exp(s) - 1 - s is used. */
#define NEAR_MODE 0.1

/* Computes the logarithms of the integrand at nodes from s on, and returns the largest one. */
static double NAME(log_terms)(const scales_block *b, const double *squares, double s, double step,
                              double *restrict logs)
{
    double v[NODES], top = -HUGE_VAL;
    VECTORISE
    for (intptr_t j = 0; j < NODES; j++) {
        const double at = s + (double)j * step, u = exp_f64(at), past = 1 + u / b->kappa;
        const double series =
            at * at * (1 / 2. + at * (1 / 6. + at * (1 / 24. + at * (1 / 120. + at * (1 / 720.
            + at * (1 / 5040. + at / 40320))))));
        const double rise = at < NEAR_MODE && at > -NEAR_MODE ? series : u - 1 - at;
        v[j] = u / past;
        logs[j] = b->width * (at - log_f64(past)) - b->half * rise;
    }
    for (intptr_t d = 0; d < b->n_factors; d++) {
        VECTORISE
        for (intptr_t j = 0; j < NODES; j++) { /* log(1 + x), and its rounding error */
            const double x = v[j] * squares[d], y = 1 + x;
            logs[j] -= b->exponent * (log_f64(y) + (x - (y - 1)) / y);
        }
    }
    for (intptr_t j = 0; j < NODES; j++)
        top = logs[j] > top ? logs[j] : top;
    return top;
}

/* Returns s <= 0 below which the integrand only rises.  If kappa is infinite, its slope is
 * half (1 - u) + width - exponent sum_d (u squares_d / (1 + u squares_d)).  It is at least that
 * of equal squares, of which a quadratic equation has the root; and so is the slope for any
 * kappa, where u < 1. */
static double NAME(first_node)(const scales_block *b, const double *squares)
{
    const double half = b->half, most = half + b->width, n = (double)b->n_factors;
    double mean = 0;
    for (intptr_t d = 0; d < b->n_factors; d++)
        mean += squares[d] / n;
    const double linear = mean * (most - b->exponent * n) - half;
    const double root = hypot(linear, 2 * sqrt(half * mean) * sqrt(most));
    const double u =
        linear < 0 ? 2 * most / (root - linear) : (root + linear) / (2 * half * mean);
    return u < 1 ? log(u) : 0;
}

/* Adds terms to a sum, which is relative to exp(top). */
static void NAME(add_terms)(const double *restrict logs, double largest, double *top, double *sum)
{
    double added = 0;
    if (largest > *top) {
        *sum *= exp_f64(*top - largest);
        *top = largest;
    }
    VECTORISE_REDUCTION(+ : added)
    for (intptr_t j = 0; j < NODES; j++)
        added += exp_f64(logs[j] - *top);
    *sum += added;
}

static double NAME(log_integral)(const scales_block *b, const double *squares)
{
    const double most = b->half + b->width, narrow = STEP / sqrt(most);
    const double step = narrow < LARGEST_STEP ? narrow : LARGEST_STEP;
    const double first = NAME(first_node)(b, squares);
    double logs[NODES], sum = 0, s = first, largest, lack;
    double top = NAME(log_terms)(b, squares, 0, step, logs);
    for (;;) {
        largest = NAME(log_terms)(b, squares, s, step, logs);
        NAME(add_terms)(logs, largest, &top, &sum);
        lack = top + NO_TERM - logs[NODES - 1];
        s += NODES * step;
        if (!(lack <= 0 || b->half * (exp(s) - 1) <= b->width))
            break;
        s += lack > 0 ? floor(lack / (most * step)) * step : 0;
    }
    s = first;
    do {
        s -= NODES * step;
        largest = NAME(log_terms)(b, squares, s, step, logs);
        NAME(add_terms)(logs, largest, &top, &sum);
    } while (logs[0] >= top + NO_TERM);
    return top + log(sum * step);
}

/* Writes the logarithms of the integrals of rows.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(log_integrals)(const scales_block *b)
{
    for (intptr_t i = 0; i < b->n_rows; i++) {
        if (*b->stop)
            return -1;
        b->logs[i] = NAME(log_integral)(b, b->squares + i * b->n_factors);
    }
    return 0;
}
#undef NODES
#undef STEP
#undef LARGEST_STEP
#undef NO_TERM
#undef NEAR_MODE
