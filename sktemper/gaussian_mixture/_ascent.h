/* Ascent of a Gaussian mixture: several steps of coordinate ascent on all samples in one call,
 * with learned priors, lower bounds, and the decision to give up.  Samples are processed by the
 * loops of single local steps.  Everything else is in float64, and is compiled once.  The
 * methods of `GaussianMixtureModel` are the reference of steps, and have the same names. */
#ifndef SKTEMPER_GAUSSIAN_ASCENT_H
#define SKTEMPER_GAUSSIAN_ASCENT_H

#include "sktemper/_families/mixture_ascent.h"

/* Bits of `kind`: whether precisions are full matrices, whether they have several elements, and
 * whether components have one in common. */
enum { FULL_MATRIX = 1, SEVERAL_ELEMENTS = 2, COMMON_MATRIX = 4 };
/* Places of priors, whose last part is the inverse scale, in arrays. */
enum { PRECISION, FREEDOM, COVARIANCE };
enum { LEARNS_PRECISION = 1, LEARNS_FREEDOM = 2, LEARNS_COVARIANCE = 4, LEARNS_SCALES = 8 };

/* Number of rows above which small components count for learned priors, see `update_hyper`. */
#define OCCUPIED_ROWS 1e-3
/* Degrees of freedom of a common covariance minus their lower limit, per row of a component.  The
 * evidence rises with them; here it is D (D + 1) / 400 nats per component below its limit. */
#define COMMON_FREE 100.0
/* There is no line search if the degrees of freedom change by less than this share in a round of
 * learning, and no search at all if the optimum is nearer than this share. */
#define AT_REST 0.01
#define AT_OPTIMUM 0.001
/* Smallest increase of the evidence by a step of a search, in nats; it exceeds rounding errors. */
#define LEAST_RISE 0.01
/* Tolerance of the logarithm of degrees of freedom. */
#define FREE_TOL 1e-10
/* Components whose constants are lower by this number of nats are left out of a block, and
 * included if their responsibilities could exceed exp(-NO_SHARE). */
#define NO_COMPONENT 100.0
#define NO_SHARE 80.0

static void room_of_usual(const ascent_block *b, double **end, intptr_t K, intptr_t n,
                          usual_form *usual)
{
    usual->precision = room_for(end, K);
    usual->means = room_for(end, K * b->n_features);
    usual->inverse = room_for(end, n * b->entries);
    usual->freedom = room_for(end, K);
    usual->factors = room_for(end, n * b->n_factors);
    usual->log_determinants = room_for(end, K);
    usual->log_precisions = room_for(end, K);
    usual->log_normalisers = room_for(end, K);
    usual->log_densities = room_for(end, K);
}

/* Divides the scratch memory of a section, from `end` on, and returns the end of it.  Sums come
 * first, up to `vector`. */
static double *divide_section(ascent_block *b, double *end)
{
    const intptr_t K = b->n_components, D = b->n_features;
    b->bound = room_for(&end, 1);
    b->scaled = b->counts = room_for(&end, K);
    if (b->freedom_of_scales) {
        b->scaled = room_for(&end, K);
        b->of_scales = room_for(&end, 4 * K);
    }
    if (b->freedom_of_scales || b->starts)
        b->total = room_for(&end, b->is_common * b->n_total);
    b->sums = room_for(&end, K * D);
    b->second = room_for(&end, b->n_matrices * b->stored);
    b->vector = room_for(&end, 2 * D);
    if (b->freedom_of_scales || b->starts) {
        b->squares = room_for(&end, ASCENT_ROWS * K);
        b->scales = room_for(&end, ASCENT_ROWS * K);
        b->scaled_shares = room_for(&end, ASCENT_ROWS * K);
        b->log_rates = room_for(&end, ASCENT_ROWS * K);
    }
    if (b->starts) {
        b->precisions = room_for(&end, b->n_matrices * b->n_factors);
        b->gapped_rows = K * b->most_pairs > MANY_PAIRS ? 16 : MOMENT_ROWS;
        b->completed = room_for(&end, MOMENT_ROWS * K * D);
        b->covariances = room_for(&end, b->gapped_rows * K * b->most_pairs);
        b->lanes = room_for(&end, 2 * triangle_entries(D) + 4 * vector_entries(D));
        b->filled = room_for(&end, MOMENT_ROWS * D);
    }
    b->few_constants = room_for(&end, K);
    b->few = room_for(&end, K);
    b->factors = room_for(&end, ASCENT_ROWS);
    b->scores = room_for(&end, ASCENT_ROWS);
    b->moments = room_for(&end, K * (1 + D + D * (D + 1) / 2));
    b->few_means = room_for(&end, K * D);
    b->few_triangles = room_for(&end, K * b->n_factors);
    b->shares = room_for(&end, ASCENT_ROWS * K);
    b->white = room_for(&end, ASCENT_ROWS * D);
    b->panels = room_for(&end, (2 * D + K) * (MIXTURE_BYTES / 8) + K * D
                                   + moments_size_f64(K, D, 1 + D + D * (D + 1) / 2));
    return end;
}

/* Divides the scratch memory, and returns the end of it. */
static double *divide_room(ascent_block *b)
{
    const intptr_t K = b->n_components, D = b->n_features;
    const intptr_t each = b->kind & SEVERAL_ELEMENTS ? D : 1, triangle = D * (D + 1) / 2;
    double *end = b->scratch;
    b->is_full = b->kind & FULL_MATRIX;
    b->is_common = (b->kind & COMMON_MATRIX) != 0;
    b->entries = b->is_full ? D * D : each;
    b->stored = b->is_full ? triangle : each;
    b->natural = 2 + D + b->stored;
    b->n_factors = b->is_full ? D * D : D;
    b->n_matrices = b->is_common ? 1 : K;
    b->n_total = 1 + D + (b->is_full ? triangle : D);
    b->n_moments = b->is_common ? 1 + D : b->n_total;
    b->step = b->is_common ? 0 : b->n_factors;
    b->is_white = b->is_common && b->is_full;
    b->least = b->law == WISHART ? D - 1.0 : 0.0;
    b->shift = b->law == WISHART ? (double)D : b->law == GAMMAS ? 1.0 : 1.0 / D;
    room_of_usual(b, &end, K, b->n_matrices, &b->now);
    room_of_usual(b, &end, K, b->n_matrices, &b->next);
    room_of_usual(b, &end, 1, 1, &b->prior);
    b->present = room_for(&end, COVARIANCE + b->entries);
    b->learnt = room_for(&end, COVARIANCE + b->entries);
    b->best = room_for(&end, COVARIANCE + b->entries);
    b->trial = room_for(&end, COVARIANCE + b->entries);
    if (!b->freedom_of_scales && !b->starts)
        b->total = room_for(&end, b->is_common * b->n_total);
    b->new_weights = room_for(&end, 2 * K);
    b->new_components = room_for(&end, K * b->natural);
    b->logs = room_for(&end, 2 * K);
    b->log_weights = room_for(&end, K);
    b->constants = room_for(&end, K);
    b->halves = room_for(&end, (K + 1) * D);
    b->values = room_for(&end, (K + 1) * D);
    b->more = room_for(&end, 2 * (K + 1));
    b->scatter = room_for(&end, (K + 1) * b->entries);
    b->inverse = room_for(&end, (K + 1) * b->entries);
    b->rows = room_for(&end, K + 1);
    b->dets = room_for(&end, K + 1);
    b->matrices = room_for(&end, 2 * D * D + D);
    b->lanes = room_for(&end, 2 * triangle_entries(D) + vector_entries(D));
    b->used = room_for(&end, K);
    b->means = room_for(&end, K * D);
    b->triangles = room_for(&end, K * b->n_factors);
    b->learned_scales = room_for(&end, K);
    b->is_settled = room_for(&end, K);
    return divide_section(b, end);
}

/* Computes the terms of n components from the other parts of their usual form. */
static void add_terms(const ascent_block *b, intptr_t n, usual_form *usual)
{
    law_terms(b->law, b->n_features, n, usual->precision, usual->freedom,
              usual->log_determinants, b->halves, b->values, b->more, usual->log_precisions,
        usual->log_normalisers, usual->log_densities);
}

/* -- matrices in the form of the covariance type, see `Covariance` ----------------------- */

/* Factors, unless NULL, and log |matrix^-1| of n inverse scales; returns whether one is
 * ill-defined. */
static int factors_of(const ascent_block *b, intptr_t n, const double *inverse,
                      double *factors, double *log_determinants)
{
    const intptr_t D = b->n_features, E = b->entries;
    if (b->is_full)
        return inverse_factors_f64(n, D, inverse, factors, log_determinants, b->lanes)
               != 0;
    for (intptr_t k = 0; k < n; k++) {
        const double *own = inverse + k * E;
        double sum = 0;
        for (intptr_t e = 0; e < E; e++) {
            if (!(own[e] > 0 && own[e] < HUGE_VAL))
                return 1;
            sum += log(own[e]);
        }
        log_determinants[k] = -(E == 1 ? D * sum : sum);
        for (intptr_t d = 0; factors && d < D; d++)
            factors[k * D + d] = 1 / sqrt(own[E == 1 ? 0 : d]);
    }
    return 0;
}

/* matrix += factor * v v^T in the type's form */
static void add_outer(const ascent_block *b, double factor, const double *v, double *matrix)
{
    const intptr_t D = b->n_features;
    double sum = 0;
    for (intptr_t i = 0; i < D; i++) {
        if (b->is_full)
            for (intptr_t j = 0; j < D; j++)
                matrix[i * D + j] += factor * v[i] * v[j];
        else if (b->entries == D)
            matrix[i] += factor * (v[i] * v[i]);
        else
            sum += v[i] * v[i];
    }
    if (b->entries < D)
        *matrix += factor * (sum / D);
}

/* v^T scale v for factors of a component */
static double square_of(const ascent_block *b, const double *factors, const double *v)
{
    const intptr_t D = b->n_features;
    double square = 0;
    for (intptr_t i = 0; i < D; i++) {
        double sum = b->is_full ? 0 : factors[i] * v[i];
        for (intptr_t j = 0; b->is_full && j <= i; j++)
            sum += factors[i * D + j] * v[j];
        square += sum * sum;
    }
    return square;
}

/* matrix += factor * the scale of a component; of full matrices, the lower triangle */
static void add_scale(const ascent_block *b, double factor, const double *factors,
                      double *matrix)
{
    const intptr_t D = b->n_features;
    for (intptr_t l = 0; l < D; l++) {
        const double *restrict row = factors + l * D;
        if (!b->is_full)
            matrix[b->entries < D ? 0 : l] += factor * (factors[l] * factors[l]);
        for (intptr_t i = 0; b->is_full && i <= l; i++) {
            const double own = factor * row[i];
            double *restrict to = matrix + i * D;
            for (intptr_t j = 0; j <= i; j++)
                to[j] += own * row[j];
        }
    }
}

/* The sum of the products of the elements of two matrices; of the first full one, the lower
 * triangle is read. */
static double inner_product(const ascent_block *b, const double *one, const double *other)
{
    double sum = 0;
    for (intptr_t e = 0; e < b->entries; e++) {
        const intptr_t i = b->is_full ? e / b->n_features : 0;
        const intptr_t j = b->is_full ? e % b->n_features : 0;
        if (j <= i)
            sum += (j < i ? 2 : 1) * one[e] * other[e];
    }
    return sum;
}

/* -- natural parameters, in the layout of the family -------------------------------------- */

static double *natural_at(const ascent_block *b, double *components, intptr_t k, double **sums,
                          double **second, double **freedom)
{
    const intptr_t K = b->n_components, D = b->n_features;
    if (b->is_common) {
        *sums = components + K + k * D;
        *second = components + K + K * D;
        *freedom = *second + b->stored;
        return components + k;
    }
    components += k * b->natural;
    *sums = components + 1;
    *second = *sums + D;
    *freedom = *second + b->stored;
    return components;
}

/* Computes usual parameters; returns whether natural parameters are ill-defined. */
static int usual_of(const ascent_block *b, double *components, usual_form *usual)
{
    const intptr_t K = b->n_components, D = b->n_features, E = b->entries;
    double *sums, *second, *freedom;
    for (intptr_t k = 0; k < K; k++) {
        const double precision =
            *natural_at(b, components, k, &sums, &second, &freedom);
        double *means = usual->means + k * D;
        usual->precision[k] = precision;
        usual->freedom[k] = *freedom + b->shift;
        if (!(precision > 0) || !(usual->freedom[k] > b->least))
            return 1;
        for (intptr_t d = 0; d < D; d++)
            means[d] = sums[d] / precision;
        double *own = usual->inverse + (b->is_common ? 0 : k * E);
        if (!b->is_common || k == 0) {
            if (b->is_full)
                for (intptr_t i = 0, at = 0; i < D; i++)
                    for (intptr_t j = i; j < D; j++, at++)
                        own[i * D + j] = own[j * D + i] = second[at];
            else
                memcpy(own, second, (size_t)E * sizeof(double));
        }
        add_outer(b, b->is_common ? -precision / K : -precision, means, own);
    }
    if (factors_of(b, b->is_common ? 1 : K, usual->inverse, usual->factors,
                   usual->log_determinants))
        return 1;
    for (intptr_t k = 1; b->is_common && k < K; k++)
        usual->log_determinants[k] = usual->log_determinants[0];
    add_terms(b, K, usual);
    return 0;
}

/* Computes the usual form of a prior; returns whether it is ill-defined. */
static int usual_prior(ascent_block *b, const double *hyper)
{
    usual_form *prior = &b->prior;
    prior->precision[0] = hyper[PRECISION];
    prior->freedom[0] = hyper[FREEDOM];
    if (!(hyper[PRECISION] > 0) || !(hyper[FREEDOM] > b->least))
        return 1;
    memcpy(prior->inverse, hyper + COVARIANCE, (size_t)b->entries * sizeof(double));
    if (factors_of(b, 1, prior->inverse, prior->factors, prior->log_determinants))
        return 1;
    add_terms(b, 1, prior);
    return 0;
}

/* components = power * prior + scale * statistics */
static void target_components(const ascent_block *b, const double *hyper, double power,
                              double *components)
{
    const intptr_t K = b->n_components, D = b->n_features;
    double *prior = b->matrices, mean_count = 0;
    double *sums, *second, *freedom;
    memcpy(prior, hyper + COVARIANCE, (size_t)b->entries * sizeof(double));
    add_outer(b, hyper[PRECISION], b->prior_mean, prior);
    for (intptr_t i = 0, at = 0; i < D && b->is_full; i++) /* packs the upper triangle */
        for (intptr_t j = i; j < D; j++)
            prior[at++] = prior[i * D + j];
    for (intptr_t k = 0; k < K; k++)
        mean_count += b->counts[k] / K;
    for (intptr_t k = 0; k < K; k++) {
        double *own = natural_at(b, components, k, &sums, &second, &freedom);
        *own = power * hyper[PRECISION] + b->steps.scale * b->scaled[k];
        for (intptr_t d = 0; d < D; d++)
            sums[d] = power * (hyper[PRECISION] * b->prior_mean[d])
                      + b->steps.scale * b->sums[k * D + d];
        if (b->is_common && k > 0)
            continue;
        const double *statistics = b->second + k * b->stored;
        for (intptr_t e = 0; e < b->stored; e++)
            second[e] = power * prior[e] + b->steps.scale * statistics[e];
        *freedom = power * (hyper[FREEDOM] - b->shift)
                   + b->steps.scale * (b->is_common ? mean_count : b->counts[k]);
    }
}

/* Adds `reg_covar` for each of some samples to the variances of their second moments. */
static void add_noise(const ascent_block *b, double count, double *second)
{
    const intptr_t D = b->n_features;
    for (intptr_t e = 0, at = 0; e < (b->is_full ? D : b->stored); e++) {
        second[at] += count * b->added[e];
        at += b->is_full ? D - e : 1;
    }
}

/* Adds `reg_covar` for each sample to the variances. */
static void end_statistics(const ascent_block *b, double power)
{
    const intptr_t K = b->n_components, D = b->n_features;
    double mean_count = 0;
    for (intptr_t k = 0; k < K; k++)
        mean_count += b->scaled[k] / K;
    if (b->is_common)
        for (intptr_t e = 0; e < b->stored; e++)
            b->second[e] = (b->starts ? 1 : power) * b->total[1 + D + e] / K;
    for (intptr_t k = 0; k < b->n_matrices; k++)
        add_noise(b, b->is_common ? mean_count : b->scaled[k], b->second + k * b->stored);
}

/* -- learned priors ------------------------------------------------------------------------ */

static double freedom_slope(const ascent_block *b, double mean_log, int is_learned,
                            double log_free)
{
    const double freedom = b->least + exp(log_free);
    double expected;
    law_values(b->law, b->n_features, 1, &freedom, b->halves, b->values, &expected, 0);
    return mean_log + (is_learned ? b->n_features * log(freedom) : 0) - expected;
}

/* Brent's method, as `scipy.optimize.brentq`. */
static double best_freedom(const ascent_block *b, double mean_log, int is_learned)
{
    double low = log(LEAST_FREE), high = log(MOST_FREE), last = 0;
    double f_low = freedom_slope(b, mean_log, is_learned, low);
    double f_high, f_last = 0, step = 0, step_before = 0;
    if (!(f_low > 0))
        return b->least + LEAST_FREE;
    f_high = freedom_slope(b, mean_log, is_learned, high);
    if (!(f_high < 0))
        return b->least + MOST_FREE;
    double x0 = low, f0 = f_low, x = high, f = f_high;
    for (int i = 0; i < 100; i++) {
        if (f0 != 0 && f != 0 && (f0 < 0) != (f < 0)) {
            last = x0;
            f_last = f0;
            step_before = step = x - x0;
        }
        if (fabs(f_last) < fabs(f)) {
            x0 = x;
            x = last;
            last = x0;
            f0 = f;
            f = f_last;
            f_last = f0;
        }
        const double delta = (FREE_TOL + 8.881784197001252e-16 * fabs(x)) / 2;
        const double half = (last - x) / 2;
        if (f == 0 || fabs(half) < delta)
            break;
        double move = HUGE_VAL;
        if (fabs(step_before) > delta && fabs(f) < fabs(f0)) {
            const double one = (f0 - f) / (x0 - x), other = (f_last - f) / (last - x);
            move = x0 == last
                       ? -f * (x - x0) / (f - f0)
                       : -f * (f_last * other - f0 * one) / (other * one * (f_last - f0));
        }
        const int is_short =
            2 * fabs(move) < fmin(fabs(step_before), 3 * fabs(half) - delta);
        step_before = is_short ? step : half;
        step = is_short ? move : half;
        x0 = x;
        f0 = f;
        x += fabs(step) > delta ? step : half > 0 ? delta : -delta;
        f = freedom_slope(b, mean_log, is_learned, x);
    }
    return b->least + exp(x);
}

/* The best precision of the means, kappa. */
static double best_precision(const ascent_block *b, const usual_form *usual)
{
    const intptr_t D = b->n_features;
    double spread = 0, n_used = 0;
    for (intptr_t k = 0; k < b->n_components; k++) {
        if (!b->used[k])
            continue;
        for (intptr_t d = 0; d < D; d++)
            b->vector[d] = usual->means[k * D + d] - b->prior_mean[d];
        const double *factors = usual->factors + k * b->step;
        spread += D / usual->precision[k]
                  + usual->freedom[k] * square_of(b, factors, b->vector);
        n_used += 1;
    }
    return n_used * D / spread;
}

/* Removes the correlations of a matrix from data if priors have none. */
static void keep_allowed(const ascent_block *b, double *matrix)
{
    const intptr_t D = b->n_features;
    for (intptr_t e = 0; b->is_diagonal && e < b->entries; e++)
        if (b->entries == D * D && e / D != e % D)
            matrix[e] = 0;
}

/* covariance = the inverse of the mean expected precision of the used components; writes
 * log |covariance^-1|.  Returns whether it is ill-defined. */
static int mean_covariance(const ascent_block *b, const usual_form *usual, double *covariance,
                           double *log_determinant)
{
    const intptr_t K = b->n_components, D = b->n_features, E = b->entries;
    double *precision = b->matrices, *factors = precision + D * D, n_used = 0;
    memset(precision, 0, (size_t)E * sizeof(double));
    for (intptr_t k = 0; k < K; k++) {
        if (!b->used[k])
            continue;
        const double nu = usual->freedom[k], *own = usual->factors + k * b->n_factors;
        n_used += 1;
        if (b->is_full)
            add_scale(b, nu, own, precision);
        for (intptr_t e = 0; !b->is_full && e < E; e++)
            precision[e] += nu / usual->inverse[k * E + e];
    }
    for (intptr_t e = 0; e < E; e++)
        precision[e] /= n_used;
    keep_allowed(b, precision);
    if (factors_of(b, 1, precision, factors, log_determinant))
        return 1;
    *log_determinant = -*log_determinant;
    if (!b->is_full) {
        for (intptr_t e = 0; e < E; e++)
            covariance[e] = 1 / precision[e];
        return 0;
    }
    for (intptr_t i = 0; i < D; i++)
        for (intptr_t j = 0; j <= i; j++) {
            double sum = 0;
            for (intptr_t l = i; l < D; l++)
                sum += factors[l * D + i] * factors[l * D + j];
            covariance[i * D + j] = covariance[j * D + i] = sum;
        }
    return 0;
}

static void copy_priors(const ascent_block *b, const double *from, double *to)
{
    memcpy(to, from, (size_t)(COVARIANCE + b->entries) * sizeof(double));
}

/* The evidence of n components given other priors, up to a constant, after `begin_evidence`.  It
 * needs no natural parameters. */
static double evidence_of_prior(const ascent_block *b, intptr_t n, const double *hyper)
{
    double *gammas = b->more, *freedom = gammas + b->n_components + 1;
    double sum = 0, first = 0;
    for (intptr_t k = 0; k <= n; k++)
        freedom[k] = b->rows[k] + hyper[FREEDOM];
    for (intptr_t e = 0; e < (n + 1) * b->entries; e++)
        b->inverse[e] = b->scatter[e] + hyper[COVARIANCE + e % b->entries];
    if (factors_of(b, n + 1, b->inverse, 0, b->dets))
        return -HUGE_VAL;
    law_values(b->law, b->n_features, n + 1, freedom, b->halves, b->values, 0, gammas);
    for (intptr_t k = 0; k <= n; k++) {
        const double own = 0.5 * freedom[k] * b->dets[k] + gammas[k];
        if (k == 0)
            first = own;
        else
            sum += own - first;
    }
    return sum;
}

/* matrix += what another precision of the means changes in the inverse scale of component k,
 * divided by n. */
static void add_shift(const ascent_block *b, const usual_form *usual, intptr_t k,
                      double precision, double n, double *matrix)
{
    const intptr_t D = b->n_features;
    const double kappa = usual->precision[k], old = b->present[PRECISION];
    for (intptr_t d = 0; d < D; d++)
        b->vector[d] = usual->means[k * D + d] - b->prior_mean[d];
    add_outer(b, (precision - old) * kappa / (precision + (kappa - old)) / n, b->vector,
              matrix);
}

/* Computes the prior of a common covariance with the highest evidence: the expectation of the
 * precision is then the best estimate from the samples.  Returns whether it is ill-defined. */
static int common_prior(const ascent_block *b, const usual_form *usual)
{
    const intptr_t K = b->n_components, D = b->n_features, E = b->entries;
    const double *old = b->present;
    double *new = b->learnt;
    const double n_rows = usual->freedom[0] - old[FREEDOM];
    double ignored;
    if (b->learned & LEARNS_FREEDOM)
        new[FREEDOM] = b->least + COMMON_FREE * n_rows;
    for (intptr_t e = 0; e < E; e++)
        new[COVARIANCE + e] = usual->inverse[e] - old[COVARIANCE + e];
    for (intptr_t k = 0; k < K; k++)
        add_shift(b, usual, k, new[PRECISION], (double)K, new + COVARIANCE);
    for (intptr_t e = 0; e < E; e++)
        new[COVARIANCE + e] *= new[FREEDOM] / n_rows;
    for (intptr_t i = 0; b->is_full && i < D; i++) /* a difference would grow */
        for (intptr_t j = 0; j < i; j++)
            new[COVARIANCE + j * D + i] = new[COVARIANCE + i * D + j];
    keep_allowed(b, new + COVARIANCE);
    return factors_of(b, 1, new + COVARIANCE, b->matrices, &ignored);
}

/* Prepares `evidence_of_prior`; returns the number of used components. */
static intptr_t begin_evidence(const ascent_block *b, const usual_form *usual)
{
    const intptr_t E = b->entries;
    const double *old = b->present;
    intptr_t n = 0;
    b->rows[0] = 0;
    memset(b->scatter, 0, (size_t)E * sizeof(double));
    for (intptr_t k = 0; k < b->n_components; k++) {
        if (!b->used[k])
            continue;
        double *own = b->scatter + ++n * E;
        b->rows[n] = b->freedom_of_scales ? usual->freedom[k] - old[FREEDOM]
                                          : usual->precision[k] - old[PRECISION];
        for (intptr_t e = 0; e < E; e++)
            own[e] = usual->inverse[k * E + e] - old[COVARIANCE + e];
        add_shift(b, usual, k, b->learnt[PRECISION], 1, own);
    }
    return n;
}

/* Replaces the best priors by the trial if its evidence is higher; returns whether it is. */
static int better(const ascent_block *b, intptr_t n, double *most)
{
    const double value = evidence_of_prior(b, n, b->trial);
    if (!(value > *most + LEAST_RISE))
        return 0;
    *most = value;
    copy_priors(b, b->trial, b->best);
    return 1;
}

/* Replaces `learned`, the priors after a round of learning, by priors of higher evidence.
 *
 * If the prior is equivalent to more samples than a component has, a round moves the priors
 * toward the optimum only by a small and known share of the distance.  Therefore the changes are
 * divided by this share.  A line search follows if the degrees of freedom change fast. */
static void search_priors(const ascent_block *b, double mean_rows, const usual_form *usual)
{
    const double *old = b->present;
    double *new = b->learnt, *best = b->best, *trial = b->trial;
    const double share = mean_rows / (mean_rows + new[FREEDOM]);
    const intptr_t D = b->n_features;
    double largest = 0, rise = 0;
    for (intptr_t d = 0; d < (b->entries == 1 ? 1 : D); d++)
        b->vector[d] = sqrt(new[COVARIANCE + (b->is_full ? d * D + d : d)] / new[FREEDOM]);
    copy_priors(b, new, trial);
    for (intptr_t e = 0; e < b->entries; e++) {
        const double before = old[COVARIANCE + e] / old[FREEDOM];
        const double change = (new[COVARIANCE + e] / new[FREEDOM] - before) / share;
        const double unit = b->vector[b->is_full ? e / D : e];
        const double other = b->vector[b->is_full ? e % D : e];
        largest = fmax(largest, fabs(change) / (unit * other));
        trial[COVARIANCE + e] = new[FREEDOM] * (before + change);
        if (b->is_full) /* extrapolations would amplify differences between triangles */
            trial[COVARIANCE + e % D * D + e / D] = trial[COVARIANCE + e];
    }
    const int moves = largest > AT_OPTIMUM;
    if (b->learned & LEARNS_FREEDOM)
        rise = log((new[FREEDOM] - b->least) / (old[FREEDOM] - b->least));
    const int is_freed = fabs(rise) > AT_OPTIMUM * share;
    if (!(moves || is_freed))
        return;
    const intptr_t n = begin_evidence(b, usual);
    double most = evidence_of_prior(b, n, new);
    copy_priors(b, new, best);
    if (moves)
        better(b, n, &most);
    if (is_freed) {
        const int n_changes = fabs(rise) > AT_REST ? 3 : 1;
        const double first = n_changes == 3 ? log(4.0) : fabs(rise / share - rise);
        const double changes[3] = {first, log(1.25), log(0.8)};
        for (int i = 0; i < n_changes; i++)
            for (int repeat = 0; repeat < 3; repeat++) {
                const double change = copysign(changes[i], rise * changes[i]);
                double free = (best[FREEDOM] - b->least) * exp(change);
                free = free < LEAST_FREE ? LEAST_FREE : free > MOST_FREE ? MOST_FREE : free;
                copy_priors(b, best, trial);
                trial[FREEDOM] = b->least + free;
                for (intptr_t e = 0; e < b->entries; e++)
                    trial[COVARIANCE + e] *= trial[FREEDOM] / best[FREEDOM];
                if (!better(b, n, &most))
                    break;
            }
    }
    copy_priors(b, best, new);
}

/* Computes `learned` from the components with more than `least` rows; returns whether they are
 * ill-defined. */
static int learn_priors(const ascent_block *b, const usual_form *usual, double least)
{
    const intptr_t K = b->n_components;
    double n_used = 0, mean_rows = 0, mean_log = 0, log_determinant;
    double *new = b->learnt;
    for (intptr_t k = 0; k < K; k++) {
        const double count = b->steps.scale * b->counts[k];
        b->used[k] = count > least;
        n_used += b->used[k];
        mean_rows += b->used[k] * count;
    }
    copy_priors(b, b->present, new);
    if (b->learned & LEARNS_PRECISION)
        new[PRECISION] = best_precision(b, usual);
    if (!(b->learned & (LEARNS_FREEDOM | LEARNS_COVARIANCE)))
        return 0;
    const int learns = (b->learned & LEARNS_COVARIANCE) != 0;
    if (learns && b->is_common)
        return common_prior(b, usual);
    if (learns ? mean_covariance(b, usual, new + COVARIANCE, &log_determinant)
        : factors_of(b, 1, new + COVARIANCE, b->matrices, &log_determinant))
        return 1;
    if (b->learned & LEARNS_FREEDOM) {
        for (intptr_t k = 0; k < K; k++)
            if (b->used[k])
                mean_log += usual->log_precisions[k] / n_used;
        new[FREEDOM] = best_freedom(b, mean_log - log_determinant, learns);
    }
    if (!learns)
        return 0;
    for (intptr_t e = 0; e < b->entries; e++)
        new[COVARIANCE + e] *= new[FREEDOM];
    search_priors(b, mean_rows / n_used, usual);
    return 0;
}

/* The log normaliser of a component. */
static double log_normaliser_at(const ascent_block *b, const usual_form *usual, intptr_t k)
{
    const double constant = 0.5 * (double)b->n_features * LOG_TWO_PI;
    return -usual->log_normalisers[k] - constant * (usual->freedom[k] - b->shift);
}

/* Computes the evidence of all components; returns whether it is ill-defined. */
static int evidence_of_all(ascent_block *b, const double *hyper, usual_form *usual,
                           double *evidence)
{
    target_components(b, hyper, 1, b->new_components);
    if (usual_of(b, b->new_components, usual) || usual_prior(b, hyper))
        return 1;
    *evidence = 0;
    for (intptr_t k = 0; k < b->n_components; k++)
        *evidence += log_normaliser_at(b, usual, k)
                     - log_normaliser_at(b, &b->prior, 0);
    return 0;
}

/* Computes the usual form `now` and the log normalisers of n components; returns whether one is
 * ill-defined. */
static int log_normalisers_of(ascent_block *b, intptr_t n, double *components, double *logs)
{
    b->n_components = n;
    if (usual_of(b, components, &b->now))
        return 1;
    for (intptr_t k = 0; k < n; k++)
        logs[k] = log_normaliser_at(b, &b->now, k);
    return 0;
}

/* Learns the priors from the statistics, and replaces `present` by them.  Components with more
 * than `USED_ROWS` rows count, because smaller ones slow the learning down; if the evidence of
 * all components might fall in a `whole` step, so do those with more than `OCCUPIED_ROWS`.
 * Nothing is learned if fewer than two count, because one component does not show how components
 * differ.  Returns whether priors were learned. */
static int update_hyper(ascent_block *b, int whole)
{
    intptr_t n_used = 0, n_occupied = 0;
    double new, old;
    for (intptr_t k = 0; k < b->n_components; k++) {
        n_used += b->steps.scale * b->counts[k] > USED_ROWS;
        n_occupied += b->steps.scale * b->counts[k] > OCCUPIED_ROWS;
    }
    if (!b->learned || n_used < 2)
        return 0;
    target_components(b, b->present, 1, b->new_components);
    if (usual_of(b, b->new_components, &b->next) || learn_priors(b, &b->next, USED_ROWS))
        return 0;
    if (whole && n_used < n_occupied) {
        if (evidence_of_all(b, b->learnt, &b->next, &new)
            || evidence_of_all(b, b->present, &b->next, &old))
            return 0;
        /* `next` is the usual form under the present priors again */
        if (new < old && learn_priors(b, &b->next, OCCUPIED_ROWS))
            return 0;
    }
    copy_priors(b, b->learnt, b->present);
    return 1;
}

/* E log p - E log q of weights and components, or NAN if the prior is ill-defined. */
static double global_bound(void *self)
{
    ascent_block *b = self;
    const intptr_t K = b->n_components, D = b->n_features;
    const usual_form *q = &b->now, *p = &b->prior;
    double bound =
        bound_weights(b->sticks, K, b->concentration, b->weights, b->logs);
    double *scales = b->matrices; /* the sum of expected precisions */
    if (usual_prior(b, b->present))
        return NAN;
    memset(scales, 0, (size_t)b->entries * sizeof(double));
    for (intptr_t k = 0; k < K; k++) {
        const double *factors = q->factors + k * b->step;
        const double nu = q->freedom[k], log_precision = q->log_precisions[k];
        for (intptr_t d = 0; d < D; d++)
            b->vector[d] = q->means[k * D + d] - b->prior_mean[d];
        add_scale(b, nu, factors, scales);
        bound += p->log_normalisers[0] + 0.5 * (p->freedom[0] - b->shift) * log_precision
                 - 0.5 * p->precision[0]
                       * (D / q->precision[k] + nu * square_of(b, factors, b->vector));
        bound -= q->log_normalisers[k] + 0.5 * (nu - b->shift) * log_precision
                 - 0.5 * D * (1 + nu);
    }
    return bound - 0.5 * inner_product(b, scales, p->inverse);
}
/* See `GaussianFamily.squares_of_noise`. */
static double noise_of(const ascent_block *b, const usual_form *usual, intptr_t k)
{
    const intptr_t D = b->n_features;
    const double *factors = usual->factors + k * b->step;
    double squares = 0;
    for (intptr_t i = 0; i < D; i++)
        for (intptr_t j = b->is_full ? 0 : i; j <= i; j++) {
            const double factor = factors[b->is_full ? i * D + j : i];
            squares += factor * factor * b->added[b->stored < D ? 0 : j];
        }
    return usual->freedom[k] * squares;
}

/* See `WithScales.uncertainty`. */
static double uncertainty(const ascent_block *b, intptr_t k)
{
    return (double)b->n_features / b->now.precision[k] + noise_of(b, &b->now, k);
}

#include "_scales.h"

/* Learns the priors, and the degrees of freedom of scales. */
static void learn_in_step(void *self)
{
    ascent_block *b = self;
    update_hyper(b, 1);
    for (intptr_t k = 0; b->learned & LEARNS_SCALES && k < b->n_components; k++) {
        const double freedom = b->freedom_of_scales[k], *of_scales = b->of_scales + 4 * k;
        const double best = b->steps.scale * b->counts[k] > USED_ROWS
                                ? learned_freedom(freedom, of_scales, b->steps.scale) : freedom;
        b->learned_scales[k] = best;
        b->is_settled[k] = 2 * fabs(log(best / freedom)) < log(SCALE_NEWTON_FACTOR);
    }
}
#endif

/* -- the local step, for one floating type ------------------------------------------------- */

/* Computes the tables of the loops over samples; returns whether all numbers are finite. */
static int NAME(ascent_tables)(const ascent_block *b, const double *weights,
                               const usual_form *usual)
{
    const intptr_t K = b->n_components, D = b->n_features;
    REAL *means = b->means, *triangles = b->triangles;
    double sum = 0;
    expect_weights(b->sticks, K, weights, b->logs, b->log_weights);
    for (intptr_t k = 0; k < K; k++) {
        const double root = sqrt(usual->freedom[k]);
        const double *factors = usual->factors + k * b->step;
        sum += b->log_weights[k] + usual->log_densities[k];
        b->constants[k] = b->log_weights[k] + usual->log_densities[k]
                          - (b->is_noisy ? 0.5 * noise_of(b, usual, k) : 0);
        for (intptr_t i = 0; i < D; i++) {
            double mean = b->is_white ? 0 : usual->means[k * D + i] + b->origin[i];
            if (b->is_white) { /* whitened means, and factors of 1 */
                for (intptr_t j = 0; j <= i; j++)
                    mean += usual->means[k * D + j] * (factors[i * D + j] * root);
                *triangles++ = 1;
            }
            for (intptr_t j = b->is_full ? 0 : i; j <= i && !b->is_white; j++)
                sum += *triangles++ = (REAL)(root * factors[b->is_full ? i * D + j : i]);
            sum += means[k * D + i] = (REAL)mean;
        }
    }
    return isfinite(sum);
}

/* Writes whitened samples of a tied covariance. */
static void NAME(whiten)(const ascent_block *b, intptr_t n, const REAL *samples, REAL *white)
{
    const intptr_t D = b->n_features;
    const double root = sqrt(b->now.freedom[0]), *factors = b->now.factors;
    double *moved = b->vector;
    for (intptr_t i = 0; i < n; i++, samples += D, white += D) {
        for (intptr_t d = 0; d < D; d++)
            moved[d] = (double)samples[d] - b->origin[d];
        for (intptr_t d = 0; d < D; d++) {
            double sum = 0;
            for (intptr_t j = 0; j <= d; j++)
                sum += moved[j] * (factors[d * D + j] * root);
            white[d] = (REAL)sum;
        }
    }
}

/* Selects components whose constants exceed `least`, or all if it is NAN; returns their number. */
static intptr_t NAME(select_components)(const ascent_block *b, double least)
{
    const intptr_t K = b->n_components, D = b->n_features;
    const intptr_t size = b->is_full && !b->is_white ? b->stored : D;
    const REAL *means = b->means, *triangles = b->triangles;
    REAL *few_means = b->few_means, *few_triangles = b->few_triangles;
    intptr_t n = 0;
    for (intptr_t k = 0; k < K; k++) {
        if (b->constants[k] <= least)
            continue;
        memcpy(few_means + n * D, means + k * D, (size_t)D * sizeof(REAL));
        memcpy(few_triangles + n * size, triangles + k * size, (size_t)size * sizeof(REAL));
        b->few_constants[n] = b->constants[k];
        b->few[n++] = (double)k;
    }
    return n;
}

/* The arguments of the loops over components that do not depend on components and samples. */
static mixture_block NAME(block_of)(const ascent_block *b)
{
    mixture_block block = {0};
    block.n_features = b->n_features;
    block.triangular = b->is_full && !b->is_white;
    block.stop = b->steps.stop;
    block.responsibilities = b->shares;
    block.scores = b->scores;
    block.scratch = b->panels;
    return block;
}

/* The arguments of weighted sums of moments of samples. */
static moments_block NAME(moments_of)(const ascent_block *b, const REAL *shares, intptr_t n,
                                      intptr_t n_components, intptr_t n_moments)
{
    moments_block moments = {0};
    moments.n_samples = n;
    moments.n_features = b->n_features;
    moments.n_components = n_components;
    moments.n_moments = n_moments;
    moments.squares = !b->is_full;
    moments.samples = b->samples;
    moments.origin = b->origin;
    moments.shares = shares;
    moments.factors = b->row_weight;
    moments.factor_per_sample = b->row_weight != 0;
    moments.stop = b->steps.stop;
    moments.scratch = b->panels;
    moments.out = b->moments;
    return moments;
}

/* Sums the first moments of n samples, multiplied by `shares` and a power of the samples. */
static int NAME(sum_moments)(const ascent_block *b, intptr_t first, intptr_t n,
                             intptr_t n_components, intptr_t n_moments, double power)
{
    moments_block moments = NAME(moments_of)(b, b->shares, n, n_components, n_moments);
    for (intptr_t i = 0; i < (b->row_weight ? n : 1); i++)
        b->factors[i] = b->row_weight ? power * b->row_weight[first + i] : power;
    moments.samples = (const REAL *)b->samples + first * b->n_features;
    moments.factors = b->factors;
    return NAME(weighted_moments)(&moments);
}

/* Adds the moments of a block to the statistics. */
static int NAME(add_statistics)(const ascent_block *b, intptr_t first, intptr_t n,
                                intptr_t n_few, double power)
{
    const intptr_t D = b->n_features, M = b->n_moments;
    if (NAME(sum_moments)(b, first, n, n_few, M, power))
        return -1;
    for (intptr_t s = 0; s < n_few; s++) {
        const intptr_t k = (intptr_t)b->few[s];
        const double *own = b->moments + s * M;
        b->scaled[k] += own[0];
        for (intptr_t d = 0; d < D; d++)
            b->sums[k * D + d] += own[1 + d];
        double *second = b->second + k * b->stored;
        if (b->stored < D)
            for (intptr_t d = 0; d < D; d++)
                *second += own[1 + D + d] / D;
        else if (!b->is_common)
            for (intptr_t e = 0; e < b->stored; e++)
                second[e] += own[1 + D + e];
    }
    return 0;
}

/* Adds the second moments of n samples with the factors in `shares`, for a tied covariance. */
static int NAME(add_total)(const ascent_block *b, intptr_t first, intptr_t n)
{
    if (NAME(sum_moments)(b, first, n, 1, b->n_total, 1))
        return -1;
    for (intptr_t m = 0; m < b->n_total; m++)
        b->total[m] += b->moments[m];
    return 0;
}

/* Computes the sums of second moments of all samples, for a tied covariance. */
static int NAME(sum_all)(const ascent_block *b)
{
    REAL *shares = b->shares;
    memset(b->total, 0, (size_t)b->n_total * sizeof(double));
    for (intptr_t i = 0; i < ASCENT_ROWS; i++)
        shares[i] = 1;
    for (intptr_t first = 0; first < b->n_samples; first += ASCENT_ROWS) {
        const intptr_t left = b->n_samples - first;
        if (NAME(add_total)(b, first, left < ASCENT_ROWS ? left : ASCENT_ROWS))
            return -1;
    }
    return 0;
}

/* Replaces the distances of n samples, which have scales, by shares times scales, and computes
 * the bounds of the samples and the sums that need the scales. */
static int NAME(share_scaled)(const ascent_block *b, intptr_t first, intptr_t n)
{
    const intptr_t K = b->n_components;
    const double *powers = b->powers;
    double factors[ASCENT_ROWS];
    REAL *shares = b->shares;
    for (intptr_t k = 0; k < K; k++) {
        const double uncertain = uncertainty(b, k);
        for (intptr_t i = 0; i < n; i++) {
            const double square = (double)shares[i * K + k];
            b->squares[k * ASCENT_ROWS + i] =
                (square < FARTHEST_ROW ? square : FARTHEST_ROW) + uncertain;
        }
    }
    scaled_shares(b, powers, n, b->row_bounds + first);
    if (b->only_bound)
        return 0;
    for (intptr_t i = 0; i < n; i++)
        factors[i] = (b->row_weight ? b->row_weight[first + i] : 1) * powers[1];
    if (b->learned & LEARNS_SCALES && powers[0] == 1 && powers[1] == 1 && powers[2] == 1)
        add_scales(b, n, factors);
    for (intptr_t i = 0; b->is_common && i < n; i++) {
        double sum = 0;
        for (intptr_t at = i; at < K * ASCENT_ROWS; at += ASCENT_ROWS)
            sum += b->scaled_shares[at] * b->scales[at];
        shares[i] = (REAL)sum;
    }
    if (b->is_common && NAME(add_total)(b, first, n))
        return -1;
    for (intptr_t k = 0; k < K; k++) {
        const double *restrict own = b->scaled_shares + k * ASCENT_ROWS;
        const double *restrict scales = b->scales + k * ASCENT_ROWS;
        b->counts[k] += weighted_sum_f64(n, own, factors);
        for (intptr_t i = 0; i < n; i++)
            shares[i * K + k] = (REAL)(own[i] * scales[i]);
    }
    return 0;
}

#include "_gaps.h"

/* Computes the local step of a section of the samples, which several threads may do: statistics,
 * unless `only_bound`, and the bound.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(gaussian_ascent_section)(const void *self, intptr_t section)
{
    const ascent_block *ascent = self;
    ascent_block own = *ascent;
    const ascent_block *b = &own;
    const intptr_t n_blocks = (b->n_samples + ASCENT_ROWS - 1) / ASCENT_ROWS;
    const intptr_t begin = n_blocks * section / b->steps.n_sections * ASCENT_ROWS;
    const intptr_t next = n_blocks * (section + 1) / b->steps.n_sections * ASCENT_ROWS;
    const intptr_t end = next < b->n_samples ? next : b->n_samples;
    divide_section(&own, ascent->bound + section * b->steps.section_size);
    const intptr_t K = b->n_components, D = b->n_features;
    const int has_scales = b->freedom_of_scales != 0;
    const double *powers = b->powers;
    double least = -HUGE_VAL, excluded = -HUGE_VAL, total = 0;
    intptr_t n_few;
    for (intptr_t k = 0; k < K && !has_scales; k++)
        least = b->constants[k] > least ? b->constants[k] : least;
    least -= NO_COMPONENT / powers[2];
    for (intptr_t k = 0; k < K; k++)
        if (!(b->constants[k] > least) && b->constants[k] > excluded)
            excluded = b->constants[k];
    memset(b->bound, 0, (size_t)(b->vector - b->bound) * sizeof(double));
    if (b->starts)
        begin_gaps(b);
    for (intptr_t first = begin; b->starts && first < end; first += b->gapped_rows)
        if (gapped_step(b, first, end - first < b->gapped_rows ? end - first : b->gapped_rows))
            return -1;
    if (b->starts)
        return 0;
    n_few = NAME(select_components)(b, least);
    mixture_block block = NAME(block_of)(b);
    block.means = b->few_means;
    block.factors = b->few_triangles;
    block.constants = b->few_constants;
    block.powers = powers + 2;
    block.only_distances = has_scales;
    for (intptr_t first = begin; first < end; first += ASCENT_ROWS) {
        const intptr_t left = end - first;
        const intptr_t n = left < ASCENT_ROWS ? left : ASCENT_ROWS;
        double *restrict bounds = b->row_bounds + first, lowest = HUGE_VAL;
        block.n_samples = n;
        block.n_components = n_few;
        block.bounds = bounds;
        block.samples = (const REAL *)b->samples + first * D;
        if (b->is_white) {
            NAME(whiten)(b, n, block.samples, b->white);
            block.samples = b->white;
        }
        if (NAME(mixture_local_step)(&block))
            return -1;
        if (has_scales && NAME(share_scaled)(b, first, n))
            return -1;
        for (intptr_t i = 0; i < n; i++)
            lowest = bounds[i] < lowest ? bounds[i] : lowest;
        const int is_far = n_few < K && powers[2] * excluded > lowest - NO_SHARE;
        if (is_far) { /* components that were left out may explain a row */
            block.n_components = NAME(select_components)(b, -HUGE_VAL);
            if (NAME(mixture_local_step)(&block))
                return -1;
        }
        for (intptr_t i = 0; i < n; i++)
            total += b->row_weight ? b->row_weight[first + i] * bounds[i] : bounds[i];
        if (!b->only_bound && NAME(add_statistics)(b, first, n, block.n_components, powers[1]))
            return -1;
        if (is_far)
            n_few = NAME(select_components)(b, least);
    }
    *b->bound = total;
    return 0;
}

/* Returns the size of the scratch memory. */
LOOP intptr_t NAME(gaussian_ascent_size)(ascent_block *b)
{
    b->scratch = 0;
    const double *end = divide_room(b);
    return (end - (double *)0) + (b->steps.n_sections - 1) * (end - b->bound);
}

/* Completes samples with gaps given components, whose usual form the caller sets.  Writes squared
 * distances and log determinants, (2, n_samples, n_components).  `noise` of the shape of the
 * samples, or NULL, draws missing values.  Unless `shares`, (n_samples, n_components), are
 * NULL, completed samples times their shares are added to `rows`, and their moments to `sums`. */
LOOP int NAME(gaussian_gaps)(ascent_block *b, const double *shares, const double *noise,
                             double *distances, double *rows, double *sums)
{
    const intptr_t K = b->n_components, D = b->n_features, size = b->n_samples;
    const usual_form given = b->now;
    divide_room(b);
    b->now = given;
    b->only_bound = !shares;
    b->counts = sums;
    b->sums = sums + K;
    b->second = b->sums + K * D;
    b->total = b->second - 1 - D;
    begin_gaps(b);
    for (intptr_t first = 0; first < size; first += b->gapped_rows) {
        const intptr_t n = size - first < b->gapped_rows ? size - first : b->gapped_rows;
        if (complete_samples(b, first, n, noise))
            return -1;
        for (intptr_t k = 0; k < K; k++)
            for (intptr_t i = 0, at = k * ASCENT_ROWS; i < n; i++, at++) {
                const intptr_t to = b->order[first + i] * K + k;
                distances[to] = b->squares[at];
                distances[size * K + to] = b->log_rates[at];
                b->scaled_shares[at] = shares ? shares[to] : 0;
            }
        if (shares)
            add_completed(b, first, n, 1, rows);
    }
    return 0;
}

/* Learns the priors from statistics in `components`, of components with `counts` rows.  Returns
 * whether they were learned. */
LOOP int NAME(gaussian_priors)(ascent_block *b, const double *counts, int whole)
{
    const intptr_t K = b->n_components, D = b->n_features;
    double *sums, *second, *freedom;
    divide_room(b);
    copy_priors(b, b->hyper, b->present);
    for (intptr_t k = 0; k < K; k++) {
        b->scaled[k] = *natural_at(b, b->components, k, &sums, &second, &freedom);
        b->counts[k] = counts[k];
        memcpy(b->sums + k * D, sums, (size_t)D * sizeof(double));
        if (k < b->n_matrices)
            memcpy(b->second + k * b->stored, second, (size_t)b->stored * sizeof(double));
    }
    if (!update_hyper(b, whole))
        return 0;
    copy_priors(b, b->present, b->hyper);
    return 1;
}


static int NAME(gaussian_local_step)(void *self, const double *powers, int only_bound,
                                     double *bound)
{
    ascent_block *b = self;
    b->powers = powers;
    b->only_bound = only_bound;
    if (b->steps.share ? b->steps.share(b->steps.sharing)
                       : NAME(gaussian_ascent_section)(b, 0))
        return -1;
    add_sections(&b->steps, b->vector - b->bound, b->bound);
    if (!only_bound)
        end_statistics(b, powers[1]);
    *bound = *b->bound;
    return 0;
}

static int NAME(gaussian_global_step)(void *self, double power)
{
    ascent_block *b = self;
    const intptr_t K = b->n_components;
    target_weights(b->sticks, K, b->concentration, power, b->steps.scale, b->counts,
                   b->new_weights);
    target_components(b, b->present, power, b->new_components);
    if (!weights_are_valid(b->sticks, K, b->new_weights)
        || usual_of(b, b->new_components, &b->next))
        return ASCENT_ILL_DEFINED;
    if (!NAME(ascent_tables)(b, b->new_weights, &b->next))
        return ASCENT_NOT_FINITE;
    const usual_form old = b->now;
    b->now = b->next;
    b->next = old;
    memcpy(b->weights, b->new_weights, (size_t)(b->sticks ? 2 * K : K) * sizeof(double));
    memcpy(b->components, b->new_components,
           (size_t)(b->is_common ? K * (1 + b->n_features) + b->stored + 1 : K * b->natural)
               * sizeof(double));
    copy_priors(b, b->present, b->hyper);
    if (b->freedom_of_scales)
        memcpy(b->freedom_of_scales, b->learned_scales, (size_t)K * sizeof(double));
    return ASCENT_DONE;
}

/* Takes steps of coordinate ascent.  Returns the status, see `mixture_ascent.h`. */
LOOP int NAME(gaussian_ascent)(ascent_block *b)
{
    const mixture_methods methods = {NAME(gaussian_local_step), global_bound, learn_in_step,
                                     NAME(gaussian_global_step)};
    const double *end = divide_room(b);
    b->steps.section_size = end - b->bound;
    copy_priors(b, b->hyper, b->present);
    for (intptr_t k = 0; b->freedom_of_scales && k < b->n_components; k++) {
        b->learned_scales[k] = b->freedom_of_scales[k];
        b->is_settled[k] = 0;
    }
    if (usual_of(b, b->components, &b->now)
        || !weights_are_valid(b->sticks, b->n_components, b->weights))
        return ASCENT_ILL_DEFINED;
    if (!NAME(ascent_tables)(b, b->weights, &b->now))
        return ASCENT_NOT_FINITE;
    if (b->is_common && !b->freedom_of_scales && !b->starts && NAME(sum_all)(b))
        return ASCENT_STOPPED;
    return take_steps(&b->steps, &methods, b);
}
