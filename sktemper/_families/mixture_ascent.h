/* Parts of an ascent that all mixtures share: the distribution of the weights, the loop of steps,
 * and axes along which components are split, see `best_split` in `_births.py`.  An ascent is a number of steps of coordinate ascent in one call.  Everything is in
 * float64, and is compiled once. */
#ifndef SKTEMPER_MIXTURE_ASCENT_H
#define SKTEMPER_MIXTURE_ASCENT_H

#include "sktemper/_families/_blocks.h"

#define LOG_TWO M_LN2
#define LOG_TWO_PI 1.83787706640934548356

/* Ends of an ascent, `status` of the caller. */
enum { ASCENT_DONE, ASCENT_STOPPED, ASCENT_GIVEN_UP, ASCENT_CONVERGED, ASCENT_ILL_DEFINED,
       ASCENT_NOT_FINITE };
/* Flags of steps: the bound is computed; only the bound is computed; the ascent is not given
 * up in this step. */
enum { ASCENT_WATCHED = 1, ASCENT_BOUND_ONLY = 2, ASCENT_KEEPS_ON = 4 };

/* Takes memory for n numbers. */
static double *room_for(double **end, intptr_t n)
{
    double *start = *end;
    *end += (n + 7) / 8 * 8;
    return start;
}

/* log Gamma(x) for x > 0.  For x >= 1e15, this is Stirling's series without terms in 1 / x,
 * which are smaller than the rounding error.  For smaller x, the result is `known`. */
static inline double log_gamma_of_any(double x, double known)
{
    return x < 1e15 ? known : (x - 0.5) * log(x) - x + 0.5 * LOG_TWO_PI;
}

static inline double ascent_log_gamma(double x)
{
    double known;
    log_gamma_f64(1, &x, &known);
    return log_gamma_of_any(x, known);
}

static inline double log_beta(double a, double b)
{
    return ascent_log_gamma(a) + ascent_log_gamma(b) - ascent_log_gamma(a + b);
}

/* Computes E log of the two parts of each stick, or of the weights of a Dirichlet
 * distribution, and E log of the weights.  Parameters are the exponents, see `_dirichlet.py`. */
static inline void expect_weights(int sticks, intptr_t K, const double *parameters, double *logs,
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
static inline double bound_weights(int sticks, intptr_t K, double concentration,
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
static inline void target_weights(int sticks, intptr_t K, double concentration, double power,
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

static inline int weights_are_valid(int sticks, intptr_t K, const double *parameters)
{
    for (intptr_t k = 0; k < (sticks ? 2 * K : K); k++)
        if (!(parameters[k] > -1))
            return 0;
    return 1;
}

/* The functions in which mixtures differ.  `self` is the parameters, priors and samples. */
typedef struct {
    /* Local steps on all samples, given three powers: computes the weighted sum of the samples'
     * bounds, and, unless `only_bound`, statistics.  Returns whether it was stopped. */
    int (*local_step)(void *self, const double *powers, int only_bound, double *bound);
    /* E log p - E log q of the parameters. */
    double (*global_bound)(void *self);
    /* Learns priors from the statistics; NULL if there is nothing to learn. */
    void (*update_hyper)(void *self);
    /* Computes new parameters from the statistics, given the power of the prior, and prepares
     * them for local steps.  Returns `ASCENT_DONE`, or an error and keeps the parameters. */
    int (*global_step)(void *self, double power);
} mixture_methods;

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

/* Adds n sums of each section to those of the first section. */
static inline void add_sections(const mixture_steps *s, intptr_t n, double *sums)
{
    for (intptr_t i = 1; i < s->n_sections; i++)
        for (intptr_t m = 0; m < n; m++)
            sums[m] += sums[i * s->section_size + m];
}

/* Takes steps of coordinate ascent.  A step is taken completely or not at all.  Returns the
 * status. */
static int take_steps(mixture_steps *s, const mixture_methods *methods, void *self)
{
    for (intptr_t t = 0; t < s->n_steps; t++) {
        const double *powers = s->powers + 3 * t;
        const int flags = s->flags[t];
        double local, now = NAN;
        if (*s->stop || methods->local_step(self, powers, flags & ASCENT_BOUND_ONLY, &local))
            return ASCENT_STOPPED;
        if (!isfinite(local))
            return ASCENT_NOT_FINITE;
        if (flags & ASCENT_WATCHED)
            now = s->scale * local + methods->global_bound(self);
        s->local_bounds[t] = local;
        s->lower_bounds[t] = now;
        if (flags & ASCENT_BOUND_ONLY)
            return ASCENT_DONE;
        if (!(flags & ASCENT_KEEPS_ON) && !isnan(now - s->before)
            && ascent_is_given_up(s->limits, s->before, now, (double)(s->n_left - t)))
            return ASCENT_GIVEN_UP;
        if (methods->update_hyper && powers[0] == 1 && powers[1] == 1 && powers[2] == 1)
            methods->update_hyper(self);
        const int status = methods->global_step(self, powers[0]);
        if (status != ASCENT_DONE)
            return status;
        s->n_done = t + 1;
        const double change = now - s->before;
        s->before = now;
        if (fabs(change) < s->limits[4])
            return ASCENT_CONVERGED;
    }
    return ASCENT_DONE;
}

/* Makes the vectors a and b orthonormal, with the signs of Householder reflections. */
static void orthonormalise(intptr_t D, double *restrict a, double *restrict b)
{
    double norm = 0, both = 0, rest = 0, square = 0;
    for (intptr_t d = 0; d < D; d++) {
        norm += a[d] * a[d];
        both += a[d] * b[d];
    }
    norm = a[0] > 0 ? -sqrt(norm) : sqrt(norm);
    if (norm == 0 || D == 1) {
        a[0] = 1;
        return;
    }
    /* the second element of the reflected b */
    const double place = a[0] - norm;
    rest = b[1] + a[1] * (b[0] + (both - a[0] * b[0]) / place) / norm;
    both /= norm;
    for (intptr_t d = 0; d < D; d++) {
        a[d] /= norm;
        b[d] -= both * a[d];
        square += b[d] * b[d];
    }
    const double length = (rest > 0) == (D > 2) ? -sqrt(square) : sqrt(square);
    for (intptr_t d = 0; d < D && length != 0; d++)
        b[d] /= length;
}
#endif
