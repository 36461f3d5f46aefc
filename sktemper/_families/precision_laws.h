/* Laws of the precisions of Gaussians, see `WishartPrecision`: their Gamma functions and the terms
 * of lower bounds.  Everything is in float64, and is compiled once. */
#ifndef SKTEMPER_PRECISION_LAWS_H
#define SKTEMPER_PRECISION_LAWS_H

#include "mixture_ascent.h"

enum { WISHART, GAMMAS, GAMMA };

/* Computes E log |precision| of the identity, and the logarithms of Gamma functions of the
 * normaliser, for n degrees of freedom.  Either result may be NULL.  `halves` and `values` are
 * scratch memory of n D numbers. */
static void law_values(int law, intptr_t D, intptr_t n, const double *freedom, double *halves,
                       double *values, double *expected, double *gammas)
{
    const intptr_t width = law == WISHART ? D : 1;
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t d = 0; d < width; d++)
            halves[i * width + d] =
                0.5 * (law == GAMMA ? D * freedom[i] : freedom[i] - (double)d);
    if (expected) {
        digamma_f64(n * width, halves, values);
        for (intptr_t i = 0; i < n; i++) {
            double sum = 0;
            for (intptr_t d = 0; d < width; d++)
                sum += values[i * width + d];
            expected[i] = law == WISHART  ? sum + D * LOG_TWO
                          : law == GAMMAS ? D * (sum + LOG_TWO)
                                          : D * (sum - log(0.5 * D));
        }
    }
    if (gammas) {
        log_gamma_f64(n * width, halves, values);
        for (intptr_t i = 0; i < n; i++) {
            double sum = 0;
            for (intptr_t d = 0; d < width; d++)
                sum += log_gamma_of_any(halves[i * width + d], values[i * width + d]);
            const double half = halves[i * width];
            gammas[i] = law == WISHART  ? sum + 0.5 * D * LOG_TWO * freedom[i]
                        : law == GAMMAS ? D * (sum + half * LOG_TWO)
                                        : sum - half * log(0.5 * D);
        }
    }
}

/* Computes terms of n distributions: E log |precision|, the logarithm of the density's normaliser
 * without the factor |precision|, and the expected log density of samples at distance 0 from the
 * mean.  `gammas` is scratch memory of n numbers. */
static void law_terms(int law, intptr_t d, intptr_t n, const double *precision,
                      const double *freedom, const double *log_determinants, double *halves,
                      double *values, double *gammas, double *log_precisions,
                      double *log_normalisers, double *log_densities)
{
    const double D = (double)d;
    const double constant = law == WISHART ? 0.25 * D * (D - 1) * log(M_PI) : 0;
    law_values(law, d, n, freedom, halves, values, log_precisions, gammas);
    for (intptr_t k = 0; k < n; k++) {
        const double log_determinant = log_determinants[k];
        log_precisions[k] += log_determinant;
        log_normalisers[k] = 0.5 * D * (log(precision[k]) - LOG_TWO_PI)
                             - 0.5 * freedom[k] * log_determinant - gammas[k] - constant;
        log_densities[k] = 0.5 * (log_precisions[k] - D * (LOG_TWO_PI + 1 / precision[k]));
    }
}
#endif
