/* Steps of Student-t mixtures, whose samples have scales: what they need in addition to the
 * steps of Gaussian mixtures.  The methods of `StudentMixtureModel` are the reference, and
 * arrays of a block of samples have the shape (n_components, ASCENT_ROWS). */

static double log_gamma_constant(double freedom)
{
    return 0.5 * freedom * log(0.5 * freedom) - ascent_log_gamma(0.5 * freedom);
}

/* Replaces log densities of n samples, of which `top` are the largest, by shares. */
static void shares_of_logs(const ascent_block *b, intptr_t n, const double *restrict top,
                           double *restrict bounds)
{
    const intptr_t K = b->n_components;
    double sums[ASCENT_ROWS] = {0};
    for (intptr_t k = 0; k < K; k++) {
        double *restrict shares = b->scaled_shares + k * ASCENT_ROWS;
        VECTORISE
        for (intptr_t i = 0; i < n; i++) {
            shares[i] = exp_f64(shares[i] - top[i]);
            sums[i] += shares[i];
        }
    }
    VECTORISE
    for (intptr_t i = 0; i < n; i++) {
        bounds[i] = top[i] + (sums[i] > 0 ? log_f64(sums[i]) : NAN);
        sums[i] = 1 / sums[i];
    }
    for (intptr_t k = 0; k < K; k++) {
        double *restrict shares = b->scaled_shares + k * ASCENT_ROWS;
        VECTORISE
        for (intptr_t i = 0; i < n; i++)
            shares[i] *= sums[i];
    }
}

/* Computes posteriors of the components and of the scales of n samples, from `squares`: shares,
 * scales E u, and bounds. */
static void scaled_shares(const ascent_block *b, const double *powers, intptr_t n,
                          double *restrict bounds)
{
    const intptr_t K = b->n_components;
    const double D = (double)b->n_features, prior = powers[0], power = powers[2];
    double top[ASCENT_ROWS];
    for (intptr_t i = 0; i < n; i++)
        top[i] = -HUGE_VAL;
    for (intptr_t k = 0; k < K; k++) {
        const double freedom = b->freedom_of_scales[k];
        const double shape = 0.5 * (prior * (freedom - 2) + 2 + power * D);
        const double constant =
            power * (b->constants[k] + 0.5 * D / b->now.precision[k])
            + prior * log_gamma_constant(freedom) + ascent_log_gamma(shape);
        const double *restrict squares = b->squares + k * ASCENT_ROWS;
        double *restrict shares = b->scaled_shares + k * ASCENT_ROWS;
        double *restrict scales = b->scales + k * ASCENT_ROWS;
        double *restrict logs = b->log_rates + k * ASCENT_ROWS;
        VECTORISE
        for (intptr_t i = 0; i < n; i++) {
            const double rate = 0.5 * (prior * freedom + power * squares[i]);
            scales[i] = shape / rate;
            logs[i] = log_f64(rate);
            shares[i] = constant - shape * logs[i];
            top[i] = shares[i] > top[i] ? shares[i] : top[i];
        }
    }
    shares_of_logs(b, n, top, bounds);
}

/* Parts of the local bound that depend on degrees of freedom, without the term of a sample. */
static double scaled_constant(double freedom, double D)
{
    return log_gamma_constant(freedom) + ascent_log_gamma(0.5 * (freedom + D));
}

/* Adds the sums of n samples to `of_scales`, see `sums_of_scales`, beside counts; factors are
 * those of the samples.  After a short step, the rises of neighbours are not needed. */
static void add_scales(const ascent_block *b, intptr_t n, const double *restrict factors)
{
    const double D = (double)b->n_features;
    for (intptr_t k = 0; k < b->n_components; k++) {
        const double freedom = b->freedom_of_scales[k], half = 0.5 * freedom;
        const double shape = half + 0.5 * D, arguments[2] = {half, shape};
        const double others[2] = {fmax(freedom / 2, LEAST_SCALED),
                                  fmin(freedom * 2, MOST_SCALED)};
        const double *restrict squares = b->squares + k * ASCENT_ROWS;
        const double *restrict shares = b->scaled_shares + k * ASCENT_ROWS;
        const double *restrict logs = b->log_rates + k * ASCENT_ROWS; /* of all powers 1 */
        double *of_scales = b->of_scales + 4 * k, bends[2], slope = 0, bend = 0;
        trigamma_f64(2, arguments, bends);
        const double slopes = log(half) + 1 - digamma_one_f64(half) + digamma_one_f64(shape);
        VECTORISE_REDUCTION(+ : slope, bend)
        for (intptr_t i = 0; i < n; i++) {
            const double share = shares[i] * factors[i], rate = half + 0.5 * squares[i];
            const double inverse = 1 / rate;
            slope += share * (slopes - logs[i] - shape * inverse);
            bend += share * (1 / half - bends[0] + bends[1]
                             - (2 * rate - shape) * (inverse * inverse));
        }
        of_scales[0] += slope;
        of_scales[1] += bend;
        for (int j = 0; j < 2 && !b->is_settled[k]; j++) {
            const double other = others[j], other_shape = 0.5 * (other + D);
            const double constant = scaled_constant(other, D) - scaled_constant(freedom, D);
            double rise = 0;
            VECTORISE_REDUCTION(+ : rise)
            for (intptr_t i = 0; i < n; i++)
                rise += shares[i] * factors[i]
                        * (constant + shape * logs[i]
                           - other_shape * log_f64(0.5 * (other + squares[i])));
            of_scales[2 + j] += rise;
        }
    }
}

/* See `learned_freedom`. */
static double learned_freedom(double freedom, const double *of_scales, double scale)
{
    const double half = 0.5 * freedom, most_step = log(SCALE_NEWTON_FACTOR);
    const double slope = half * scale * of_scales[0];
    const double bend = half * half * scale * of_scales[1] + slope;
    const double low = log(LEAST_SCALED / freedom), high = log(MOST_SCALED / freedom);
    double step = bend < 0 ? -slope / bend : slope > 0 ? most_step : -most_step;
    step = fmin(fmax(step, fmax(low, -most_step)), fmin(high, most_step));
    const double candidates[3] = {freedom * exp(step), fmax(freedom / 2, LEAST_SCALED),
                                  fmin(freedom * 2, MOST_SCALED)};
    const double rises[3] = {step * (slope + 0.5 * bend * step), scale * of_scales[2],
                             scale * of_scales[3]};
    double best = freedom, rise = 0;
    for (int i = 0; i < 3; i++)
        if (rises[i] > rise
            && (i == 0 || rises[i] >= 0.5 * slope * log(candidates[i] / freedom))) {
            rise = rises[i];
            best = candidates[i];
        }
    return best;
}
