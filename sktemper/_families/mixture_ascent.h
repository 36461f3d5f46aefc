/* Parts of an ascent that all mixtures share: the distribution of the weights, and the end of
 * an ascent.  An ascent is a number of steps of coordinate ascent in one call.  Everything is
 * in float64, and is compiled once. */
#ifndef SKTEMPER_MIXTURE_ASCENT_H
#define SKTEMPER_MIXTURE_ASCENT_H

/* Ends of an ascent, `status` of the caller. */
enum { ASCENT_DONE, ASCENT_STOPPED, ASCENT_GIVEN_UP, ASCENT_CONVERGED, ASCENT_ILL_DEFINED,
       ASCENT_NOT_FINITE };
/* Flags of steps: the bound is computed; only the bound is computed; the ascent is not given
 * up in this step. */
enum { ASCENT_WATCHED = 1, ASCENT_BOUND_ONLY = 2, ASCENT_KEEPS_ON = 4 };

static inline double ascent_log_gamma(double x)
{
    double known;
    log_gamma_f64(1, &x, &known);
    return x < 1e15 ? known : (x - 0.5) * log(x) - x + 0.91893853320467274178;
}

static inline double log_beta(double a, double b)
{
    return ascent_log_gamma(a) + ascent_log_gamma(b) - ascent_log_gamma(a + b);
}

/* Computes E log of the two parts of each stick, or of the weights of a Dirichlet
 * distribution, and E log of the weights.  Parameters are the exponents, see `_dirichlet.py`. */
static void expect_weights(int sticks, intptr_t K, const double *parameters, double *logs,
                           double *log_weights)
{
    if (sticks) {
        double behind = 0;
        for (intptr_t k = 0; k < K; k++) {
            const double a = parameters[2 * k] + 1, b = parameters[2 * k + 1] + 1;
            const double total = digamma_one_f64(a + b);
            logs[2 * k] = digamma_one_f64(a) - total;
            logs[2 * k + 1] = digamma_one_f64(b) - total;
            log_weights[k] = logs[2 * k] + behind;
            behind += logs[2 * k + 1];
        }
        return;
    }
    double sum = 0;
    for (intptr_t k = 0; k < K; k++)
        sum += parameters[k] + 1;
    const double total = digamma_one_f64(sum);
    for (intptr_t k = 0; k < K; k++)
        log_weights[k] = logs[k] = digamma_one_f64(parameters[k] + 1) - total;
}

/* E log p - E log q of the weights. */
static double bound_weights(int sticks, intptr_t K, double concentration,
                            const double *parameters, const double *logs)
{
    const double prior = concentration - 1;
    double bound = 0;
    if (sticks) {
        const double log_prior = log_beta(1, prior + 1);
        for (intptr_t k = 0; k < K; k++) {
            const double a = parameters[2 * k], b = parameters[2 * k + 1];
            bound += (prior - b) * logs[2 * k + 1] - a * logs[2 * k] - log_prior
                     + log_beta(a + 1, b + 1);
        }
        return bound;
    }
    double sum = 0;
    for (intptr_t k = 0; k < K; k++) {
        bound += (prior - parameters[k]) * logs[k]
                 + ascent_log_gamma(parameters[k] + 1) - ascent_log_gamma(prior + 1);
        sum += parameters[k] + 1;
    }
    return bound + ascent_log_gamma(K * (prior + 1)) - ascent_log_gamma(sum);
}

/* parameters = power * prior + scale * the terms of the components' numbers of rows */
static void target_weights(int sticks, intptr_t K, double concentration, double power,
                           double scale, const double *counts, double *parameters)
{
    double behind = 0;
    for (intptr_t k = K; k-- > 0;) {
        const double prior = power * (concentration - 1);
        if (sticks) {
            parameters[2 * k] = scale * counts[k];
            parameters[2 * k + 1] = prior + scale * behind;
            behind += counts[k];
        } else
            parameters[k] = prior + scale * counts[k];
    }
}

static int weights_are_valid(int sticks, intptr_t K, const double *parameters)
{
    for (intptr_t k = 0; k < (sticks ? 2 * K : K); k++)
        if (!(parameters[k] > -1))
            return 0;
    return 1;
}

/* Returns whether an ascent is given up, see `Ascent.run`. */
static int ascent_is_given_up(const double *limits, double before, double now, double n_left)
{
    const double gain = now - before, deficit = limits[0] - now;
    if (gain < limits[3])
        return 1;
    if (!(n_left > 1))
        return 0;
    return (fabs(deficit) < limits[1] && fabs(gain) < limits[2])
           || deficit > n_left * (gain > 0 ? gain : 0);
}
#endif
