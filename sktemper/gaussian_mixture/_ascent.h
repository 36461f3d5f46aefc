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
enum { LEARNS_PRECISION = 1, LEARNS_FREEDOM = 2, LEARNS_COVARIANCE = 4, LEARNS_SCALES = 8 };

/* Numbers of rows above which components count for learned priors, see `update_hyper`. */
#define USED_ROWS 0.5
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

/* Components in their usual form, see `Usual`. */
typedef struct {
    double *precision, *means, *inverse, *freedom, *factors, *log_determinants;
    double *log_precisions, *log_normalisers, *log_densities;
} usual_form;

/* Learned priors. */
typedef struct {
    double precision, freedom;
    double *covariance;
} learned_form;

/* Scratch memory of an ascent, and its sizes. */
typedef struct {
    int is_full, is_common;              /* bits of `kind` */
    int is_white;                        /* whether the loops read whitened samples */
    intptr_t n_features, entries, stored, natural, n_factors, n_matrices, n_moments;
    intptr_t step;                       /* from the factors of a component to the next */
    intptr_t n_total;                    /* number of moments with second ones */
    double least, shift;
    usual_form now, next, prior;
    learned_form present, learned, best, trial;
    double *counts, *sums, *second, *total;
    double *weights, *components, *logs, *log_weights, *constants;
    double *halves, *values, *more, *scatter, *inverse, *rows, *dets, *matrices, *vector, *lanes;
    /* of mixtures whose samples have scales, see `_scales.h`; otherwise, `scaled` is `counts` */
    double *scaled, *squares, *scales, *scaled_shares, *of_scales, *learned_scales;
    double *used, *few_constants, *few, *factors, *scores, *moments;
    void *means, *triangles, *few_means, *few_triangles, *shares, *white, *panels;
    const double *powers;                /* of the local step, and whether it has no statistics */
    int only_bound;
    double *bound;                       /* weighted sum of the samples' bounds */
} ascent_room;

static void room_of_usual(double **end, intptr_t K, intptr_t D, intptr_t n, usual_form *usual,
                          const ascent_room *room)
{
    usual->precision = room_for(end, K);
    usual->means = room_for(end, K * D);
    usual->inverse = room_for(end, n * room->entries);
    usual->freedom = room_for(end, K);
    usual->factors = room_for(end, n * room->n_factors);
    usual->log_determinants = room_for(end, K);
    usual->log_precisions = room_for(end, K);
    usual->log_normalisers = room_for(end, K);
    usual->log_densities = room_for(end, K);
}

/* Divides the scratch memory of a section, from `end` on, and returns the end of it. */
static double *divide_section(const ascent_block *b, double *end, ascent_room *room)
{
    const intptr_t K = b->n_components, D = b->n_features;
    room->bound = room_for(&end, 1);
    room->counts = room_for(&end, K);
    if (!b->freedom_of_scales)
        room->scaled = room->counts;
    room->sums = room_for(&end, K * D);
    room->second = room_for(&end, room->n_matrices * room->stored);
    room->vector = room_for(&end, 2 * D);
    room->few_constants = room_for(&end, K);
    room->few = room_for(&end, K);
    room->factors = room_for(&end, ASCENT_ROWS);
    room->scores = room_for(&end, ASCENT_ROWS);
    room->moments = room_for(&end, K * (1 + D + D * (D + 1) / 2));
    room->few_means = room_for(&end, K * D);
    room->few_triangles = room_for(&end, K * room->n_factors);
    room->shares = room_for(&end, ASCENT_ROWS * K);
    room->white = room_for(&end, ASCENT_ROWS * D);
    room->panels = room_for(&end, (2 * D + K) * (MIXTURE_BYTES / 8) + K * D
                                      + moments_size_f64(K, D, 1 + D + D * (D + 1) / 2));
    return end;
}

/* Divides the scratch memory, and returns the end of it. */
static double *divide_room(const ascent_block *b, ascent_room *room)
{
    const intptr_t K = b->n_components, D = b->n_features;
    const intptr_t each = b->kind & SEVERAL_ELEMENTS ? D : 1, triangle = D * (D + 1) / 2;
    double *end = b->scratch;
    room->is_full = b->kind & FULL_MATRIX;
    room->is_common = (b->kind & COMMON_MATRIX) != 0;
    room->n_features = D;
    room->entries = room->is_full ? D * D : each;
    room->stored = room->is_full ? triangle : each;
    room->natural = 2 + D + room->stored;
    room->n_factors = room->is_full ? D * D : D;
    room->n_matrices = room->is_common ? 1 : K;
    room->n_total = 1 + D + (room->is_full ? triangle : D);
    room->n_moments = room->is_common ? 1 + D : room->n_total;
    room->step = room->is_common ? 0 : room->n_factors;
    room->is_white = room->is_common && room->is_full;
    room->least = b->law == WISHART ? D - 1.0 : 0.0;
    room->shift = b->law == WISHART ? (double)D : b->law == GAMMAS ? 1.0 : 1.0 / D;
    room_of_usual(&end, K, D, room->n_matrices, &room->now, room);
    room_of_usual(&end, K, D, room->n_matrices, &room->next, room);
    room_of_usual(&end, 1, D, 1, &room->prior, room);
    room->present.covariance = room_for(&end, room->entries);
    room->learned.covariance = room_for(&end, room->entries);
    room->best.covariance = room_for(&end, room->entries);
    room->trial.covariance = room_for(&end, room->entries);
    room->total = room_for(&end, 1 + D + D * (D + 1) / 2);
    room->weights = room_for(&end, 2 * K);
    room->components = room_for(&end, K * room->natural);
    room->logs = room_for(&end, 2 * K);
    room->log_weights = room_for(&end, K);
    room->constants = room_for(&end, K);
    room->halves = room_for(&end, (K + 1) * D);
    room->values = room_for(&end, (K + 1) * D);
    room->more = room_for(&end, 2 * (K + 1));
    room->scatter = room_for(&end, (K + 1) * room->entries);
    room->inverse = room_for(&end, (K + 1) * room->entries);
    room->rows = room_for(&end, K + 1);
    room->dets = room_for(&end, K + 1);
    room->matrices = room_for(&end, 2 * D * D + D);
    room->lanes = room_for(&end, 2 * triangle_entries(D) + vector_entries(D));
    room->used = room_for(&end, K);
    room->means = room_for(&end, K * D);
    room->triangles = room_for(&end, K * room->n_factors);
    if (b->freedom_of_scales) {
        room->scaled = room_for(&end, K);
        room->squares = room_for(&end, ASCENT_ROWS * K);
        room->scales = room_for(&end, ASCENT_ROWS * K);
        room->scaled_shares = room_for(&end, ASCENT_ROWS * K);
        room->of_scales = room_for(&end, 5 * K);
        room->learned_scales = room_for(&end, K);
    }
    return divide_section(b, end, room);
}

/* Returns the room of a section; the first one has the memory of the ascent itself. */
static ascent_room room_of_section(const ascent_block *b, intptr_t i)
{
    ascent_room room = *(const ascent_room *)b->room;
    if (i > 0)
        divide_section(b, b->sections + (i - 1) * b->section_size, &room);
    return room;
}

/* Computes the terms of n components from the other parts of their usual form. */
static void add_terms(const ascent_block *b, const ascent_room *room, intptr_t n,
                      usual_form *usual)
{
    law_terms(b->law, b->n_features, n, usual->precision, usual->freedom,
              usual->log_determinants, room->halves, room->values, room->more,
              usual->log_precisions, usual->log_normalisers, usual->log_densities);
}

/* -- matrices in the form of the covariance type, see `Covariance` ----------------------- */

/* Factors, unless NULL, and log |matrix^-1| of n inverse scales; returns whether one is
 * ill-defined. */
static int factors_of(const ascent_room *room, intptr_t n, const double *inverse,
                      double *factors, double *log_determinants)
{
    const intptr_t D = room->n_features, E = room->entries;
    if (room->is_full)
        return inverse_factors_f64(n, D, inverse, factors, log_determinants, room->lanes)
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
static void add_outer(const ascent_room *room, double factor, const double *v, double *matrix)
{
    const intptr_t D = room->n_features;
    double sum = 0;
    for (intptr_t i = 0; i < D; i++) {
        if (room->is_full)
            for (intptr_t j = 0; j < D; j++)
                matrix[i * D + j] += factor * v[i] * v[j];
        else if (room->entries == D)
            matrix[i] += factor * (v[i] * v[i]);
        else
            sum += v[i] * v[i];
    }
    if (room->entries < D)
        *matrix += factor * (sum / D);
}

/* v^T scale v for factors of a component */
static double square_of(const ascent_room *room, const double *factors, const double *v)
{
    const intptr_t D = room->n_features;
    double square = 0;
    for (intptr_t i = 0; i < D; i++) {
        double sum = room->is_full ? 0 : factors[i] * v[i];
        for (intptr_t j = 0; room->is_full && j <= i; j++)
            sum += factors[i * D + j] * v[j];
        square += sum * sum;
    }
    return square;
}

/* matrix += factor * the scale of a component; of full matrices, the lower triangle */
static void add_scale(const ascent_room *room, double factor, const double *factors,
                      double *matrix)
{
    const intptr_t D = room->n_features;
    for (intptr_t l = 0; l < D; l++) {
        const double *restrict row = factors + l * D;
        if (!room->is_full)
            matrix[room->entries < D ? 0 : l] += factor * (factors[l] * factors[l]);
        for (intptr_t i = 0; room->is_full && i <= l; i++) {
            const double own = factor * row[i];
            double *restrict to = matrix + i * D;
            for (intptr_t j = 0; j <= i; j++)
                to[j] += own * row[j];
        }
    }
}

/* The sum of the products of the elements of two matrices; of the first full one, the lower
 * triangle is read. */
static double inner_product(const ascent_room *room, const double *one, const double *other)
{
    double sum = 0;
    for (intptr_t e = 0; e < room->entries; e++) {
        const intptr_t i = room->is_full ? e / room->n_features : 0;
        const intptr_t j = room->is_full ? e % room->n_features : 0;
        if (j <= i)
            sum += (j < i ? 2 : 1) * one[e] * other[e];
    }
    return sum;
}

/* -- natural parameters, in the layout of the family -------------------------------------- */

static double *natural_at(const ascent_block *b, const ascent_room *room, double *components,
                          intptr_t k, double **sums, double **second, double **freedom)
{
    const intptr_t K = b->n_components, D = b->n_features;
    if (room->is_common) {
        *sums = components + K + k * D;
        *second = components + K + K * D;
        *freedom = *second + room->stored;
        return components + k;
    }
    components += k * room->natural;
    *sums = components + 1;
    *second = *sums + D;
    *freedom = *second + room->stored;
    return components;
}

/* Computes usual parameters; returns whether natural parameters are ill-defined. */
static int usual_of(const ascent_block *b, const ascent_room *room, double *components,
                    usual_form *usual)
{
    const intptr_t K = b->n_components, D = b->n_features, E = room->entries;
    const int is_full = room->is_full;
    double *sums, *second, *freedom;
    for (intptr_t k = 0; k < K; k++) {
        const double precision =
            *natural_at(b, room, components, k, &sums, &second, &freedom);
        double *means = usual->means + k * D;
        usual->precision[k] = precision;
        usual->freedom[k] = *freedom + room->shift;
        if (!(precision > 0) || !(usual->freedom[k] > room->least))
            return 1;
        for (intptr_t d = 0; d < D; d++)
            means[d] = sums[d] / precision;
        double *own = usual->inverse + (room->is_common ? 0 : k * E);
        if (!room->is_common || k == 0) {
            if (is_full)
                for (intptr_t i = 0, at = 0; i < D; i++)
                    for (intptr_t j = i; j < D; j++, at++)
                        own[i * D + j] = own[j * D + i] = second[at];
            else
                memcpy(own, second, (size_t)E * sizeof(double));
        }
        add_outer(room, room->is_common ? -precision / K : -precision, means, own);
    }
    if (factors_of(room, room->is_common ? 1 : K, usual->inverse, usual->factors,
                   usual->log_determinants))
        return 1;
    for (intptr_t k = 1; room->is_common && k < K; k++)
        usual->log_determinants[k] = usual->log_determinants[0];
    add_terms(b, room, K, usual);
    return 0;
}

/* Computes the usual form of a prior; returns whether it is ill-defined. */
static int usual_prior(const ascent_block *b, ascent_room *room, const learned_form *hyper)
{
    usual_form *prior = &room->prior;
    prior->precision[0] = hyper->precision;
    prior->freedom[0] = hyper->freedom;
    if (!(hyper->precision > 0) || !(hyper->freedom > room->least))
        return 1;
    memcpy(prior->inverse, hyper->covariance, (size_t)room->entries * sizeof(double));
    if (factors_of(room, 1, prior->inverse, prior->factors, prior->log_determinants))
        return 1;
    add_terms(b, room, 1, prior);
    return 0;
}

static void clear_statistics(const ascent_block *b, ascent_room *room)
{
    const size_t K = (size_t)b->n_components, D = (size_t)b->n_features;
    memset(room->counts, 0, K * sizeof(double));
    memset(room->sums, 0, K * D * sizeof(double));
    memset(room->second, 0, (size_t)(room->n_matrices * room->stored) * sizeof(double));
    if (!b->freedom_of_scales)
        return;
    memset(room->scaled, 0, K * sizeof(double));
    memset(room->of_scales, 0, 5 * K * sizeof(double));
    memset(room->total, 0, (1 + D + D * (D + 1) / 2) * sizeof(double));
}

/* components = power * prior + scale * statistics */
static void target_components(const ascent_block *b, const ascent_room *room,
                              const learned_form *hyper, double power, double *components)
{
    const intptr_t K = b->n_components, D = b->n_features;
    const int is_full = room->is_full;
    double *prior = room->matrices, mean_count = 0;
    double *sums, *second, *freedom;
    memcpy(prior, hyper->covariance, (size_t)room->entries * sizeof(double));
    add_outer(room, hyper->precision, b->prior_mean, prior);
    for (intptr_t k = 0; k < K; k++)
        mean_count += room->counts[k] / K;
    for (intptr_t k = 0; k < K; k++) {
        double *own = natural_at(b, room, components, k, &sums, &second, &freedom);
        *own = power * hyper->precision + b->steps.scale * room->scaled[k];
        for (intptr_t d = 0; d < D; d++)
            sums[d] = power * (hyper->precision * b->prior_mean[d])
                      + b->steps.scale * room->sums[k * D + d];
        if (room->is_common && k > 0)
            continue;
        const double *statistics = room->second + k * room->stored;
        if (is_full)
            for (intptr_t i = 0, at = 0; i < D; i++)
                for (intptr_t j = i; j < D; j++, at++)
                    second[at] = power * prior[i * D + j] + b->steps.scale * statistics[at];
        else
            for (intptr_t e = 0; e < room->stored; e++)
                second[e] = power * prior[e] + b->steps.scale * statistics[e];
        *freedom = power * (hyper->freedom - room->shift)
                   + b->steps.scale * (room->is_common ? mean_count : room->counts[k]);
    }
}

/* -- learned priors ------------------------------------------------------------------------ */

static double freedom_slope(const ascent_block *b, const ascent_room *room, double mean_log,
                            int is_learned, double log_free)
{
    const double freedom = room->least + exp(log_free);
    double expected;
    law_values(b->law, b->n_features, 1, &freedom, room->halves, room->values, &expected, 0);
    return mean_log + (is_learned ? b->n_features * log(freedom) : 0) - expected;
}

/* Brent's method, as `scipy.optimize.brentq`. */
static double best_freedom(const ascent_block *b, const ascent_room *room, double mean_log,
                           int is_learned)
{
    double low = log(LEAST_FREE), high = log(MOST_FREE), last = 0;
    double f_low = freedom_slope(b, room, mean_log, is_learned, low);
    double f_high, f_last = 0, step = 0, step_before = 0;
    if (!(f_low > 0))
        return room->least + LEAST_FREE;
    f_high = freedom_slope(b, room, mean_log, is_learned, high);
    if (!(f_high < 0))
        return room->least + MOST_FREE;
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
        if (fabs(step_before) > delta && fabs(f) < fabs(f0)) {
            double move;
            if (x0 == last)
                move = -f * (x - x0) / (f - f0);
            else {
                const double one = (f0 - f) / (x0 - x), other = (f_last - f) / (last - x);
                move = -f * (f_last * other - f0 * one) / (other * one * (f_last - f0));
            }
            const double most = fabs(step_before) < 3 * fabs(half) - delta
                                    ? fabs(step_before)
                                    : 3 * fabs(half) - delta;
            if (2 * fabs(move) < most) {
                step_before = step;
                step = move;
            } else
                step_before = step = half;
        } else
            step_before = step = half;
        x0 = x;
        f0 = f;
        x += fabs(step) > delta ? step : half > 0 ? delta : -delta;
        f = freedom_slope(b, room, mean_log, is_learned, x);
    }
    return room->least + exp(x);
}

/* The best precision of the means, kappa. */
static double best_precision(const ascent_block *b, const ascent_room *room,
                             const usual_form *usual)
{
    const intptr_t D = b->n_features;
    double spread = 0, n_used = 0;
    for (intptr_t k = 0; k < b->n_components; k++) {
        if (!room->used[k])
            continue;
        for (intptr_t d = 0; d < D; d++)
            room->vector[d] = usual->means[k * D + d] - b->prior_mean[d];
        const double *factors = usual->factors + k * room->step;
        spread += D / usual->precision[k]
                  + usual->freedom[k] * square_of(room, factors, room->vector);
        n_used += 1;
    }
    return n_used * D / spread;
}

/* Removes the correlations of a matrix from data if priors have none. */
static void keep_allowed(const ascent_block *b, const ascent_room *room, double *matrix)
{
    const intptr_t D = b->n_features;
    for (intptr_t e = 0; b->is_diagonal && e < room->entries; e++)
        if (room->entries == D * D && e / D != e % D)
            matrix[e] = 0;
}

/* covariance = the inverse of the mean expected precision of the used components; writes
 * log |covariance^-1|.  Returns whether it is ill-defined. */
static int mean_covariance(const ascent_block *b, const ascent_room *room,
                           const usual_form *usual, double *covariance,
                           double *log_determinant)
{
    const intptr_t K = b->n_components, D = b->n_features, E = room->entries;
    const int is_full = room->is_full;
    double *precision = room->matrices, *factors = precision + D * D, n_used = 0;
    memset(precision, 0, (size_t)E * sizeof(double));
    for (intptr_t k = 0; k < K; k++) {
        if (!room->used[k])
            continue;
        const double nu = usual->freedom[k], *own = usual->factors + k * room->n_factors;
        n_used += 1;
        if (is_full)
            add_scale(room, nu, own, precision);
        for (intptr_t e = 0; !is_full && e < E; e++)
            precision[e] += nu / usual->inverse[k * E + e];
    }
    for (intptr_t e = 0; e < E; e++)
        precision[e] /= n_used;
    keep_allowed(b, room, precision);
    if (factors_of(room, 1, precision, factors, log_determinant))
        return 1;
    *log_determinant = -*log_determinant;
    if (!is_full) {
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

static void copy_learned(const ascent_room *room, const learned_form *from, learned_form *to)
{
    to->precision = from->precision;
    to->freedom = from->freedom;
    memcpy(to->covariance, from->covariance, (size_t)room->entries * sizeof(double));
}

/* The evidence of n components given other priors, up to a constant, after `begin_evidence`.  It
 * needs no natural parameters. */
static double evidence_of_prior(const ascent_block *b, const ascent_room *room, intptr_t n,
                                const learned_form *hyper)
{
    double *gammas = room->more, *freedom = gammas + b->n_components + 1;
    double sum = 0, first = 0;
    for (intptr_t k = 0; k <= n; k++)
        freedom[k] = room->rows[k] + hyper->freedom;
    for (intptr_t e = 0; e < (n + 1) * room->entries; e++)
        room->inverse[e] = room->scatter[e] + hyper->covariance[e % room->entries];
    if (factors_of(room, n + 1, room->inverse, 0, room->dets))
        return -HUGE_VAL;
    law_values(b->law, b->n_features, n + 1, freedom, room->halves, room->values, 0, gammas);
    for (intptr_t k = 0; k <= n; k++) {
        const double own = 0.5 * freedom[k] * room->dets[k] + gammas[k];
        if (k == 0)
            first = own;
        else
            sum += own - first;
    }
    return sum;
}

/* matrix += what another precision of the means changes in the inverse scale of component k,
 * divided by n. */
static void add_shift(const ascent_block *b, const ascent_room *room, const usual_form *usual,
                      intptr_t k, double precision, double n, double *matrix)
{
    const intptr_t D = b->n_features;
    const double kappa = usual->precision[k], old = room->present.precision;
    for (intptr_t d = 0; d < D; d++)
        room->vector[d] = usual->means[k * D + d] - b->prior_mean[d];
    add_outer(room, (precision - old) * kappa / (precision + (kappa - old)) / n, room->vector,
              matrix);
}

/* Computes the prior of a common covariance with the highest evidence: the expectation of the
 * precision is then the best estimate from the samples.  Returns whether it is ill-defined. */
static int common_prior(const ascent_block *b, ascent_room *room, const usual_form *usual)
{
    const intptr_t K = b->n_components, D = b->n_features, E = room->entries;
    const learned_form *old = &room->present;
    learned_form *new = &room->learned;
    const double n_rows = usual->freedom[0] - old->freedom;
    double ignored;
    if (b->learned & LEARNS_FREEDOM)
        new->freedom = room->least + COMMON_FREE * n_rows;
    for (intptr_t e = 0; e < E; e++)
        new->covariance[e] = usual->inverse[e] - old->covariance[e];
    for (intptr_t k = 0; k < K; k++)
        add_shift(b, room, usual, k, new->precision, (double)K, new->covariance);
    for (intptr_t e = 0; e < E; e++)
        new->covariance[e] *= new->freedom / n_rows;
    for (intptr_t i = 0; room->is_full && i < D; i++) /* a difference would grow */
        for (intptr_t j = 0; j < i; j++)
            new->covariance[j * D + i] = new->covariance[i * D + j];
    keep_allowed(b, room, new->covariance);
    return factors_of(room, 1, new->covariance, room->matrices, &ignored);
}

/* Prepares `evidence_of_prior`; returns the number of used components. */
static intptr_t begin_evidence(const ascent_block *b, const ascent_room *room,
                               const learned_form *old, double precision,
                               const usual_form *usual)
{
    const intptr_t E = room->entries;
    intptr_t n = 0;
    room->rows[0] = 0;
    memset(room->scatter, 0, (size_t)E * sizeof(double));
    for (intptr_t k = 0; k < b->n_components; k++) {
        if (!room->used[k])
            continue;
        double *own = room->scatter + ++n * E;
        room->rows[n] = b->freedom_of_scales ? usual->freedom[k] - old->freedom
                                             : usual->precision[k] - old->precision;
        for (intptr_t e = 0; e < E; e++)
            own[e] = usual->inverse[k * E + e] - old->covariance[e];
        add_shift(b, room, usual, k, precision, 1, own);
    }
    return n;
}

/* Replaces the best priors by the trial if its evidence is higher; returns whether it is. */
static int better(const ascent_block *b, ascent_room *room, intptr_t n, double *most)
{
    const double value = evidence_of_prior(b, room, n, &room->trial);
    if (!(value > *most + LEAST_RISE))
        return 0;
    *most = value;
    copy_learned(room, &room->trial, &room->best);
    return 1;
}

/* Replaces `learned`, the priors after a round of learning, by priors of higher evidence.
 *
 * If the prior is equivalent to more samples than a component has, a round moves the priors
 * toward the optimum only by a small and known share of the distance.  Therefore the changes are
 * divided by this share.  A line search follows if the degrees of freedom change fast. */
static void search_priors(const ascent_block *b, ascent_room *room, double mean_rows,
                          const usual_form *usual)
{
    const learned_form *old = &room->present;
    learned_form *new = &room->learned, *best = &room->best, *trial = &room->trial;
    const double share = mean_rows / (mean_rows + new->freedom);
    const intptr_t D = b->n_features;
    const int is_full = room->is_full;
    double largest = 0, rise = 0;
    for (intptr_t d = 0; d < (room->entries == 1 ? 1 : D); d++)
        room->vector[d] = sqrt(new->covariance[is_full ? d * D + d : d] / new->freedom);
    for (intptr_t e = 0; e < room->entries; e++) {
        const double before = old->covariance[e] / old->freedom;
        const double after = new->covariance[e] / new->freedom;
        const double unit = room->vector[is_full ? e / D : e];
        const double other = room->vector[is_full ? e % D : e];
        const double change = fabs((after - before) / share) / (unit * other);
        largest = change > largest ? change : largest;
    }
    const int moves = largest > AT_OPTIMUM;
    if (b->learned & LEARNS_FREEDOM)
        rise = log((new->freedom - room->least) / (old->freedom - room->least));
    const int is_freed = fabs(rise) > AT_OPTIMUM * share;
    if (!(moves || is_freed))
        return;
    const intptr_t n = begin_evidence(b, room, old, new->precision, usual);
    double most = evidence_of_prior(b, room, n, new);
    copy_learned(room, new, best);
    if (moves) {
        copy_learned(room, new, trial);
        for (intptr_t e = 0; e < room->entries; e++) {
            const double before = old->covariance[e] / old->freedom;
            const double after = new->covariance[e] / new->freedom;
            trial->covariance[e] = new->freedom * (before + (after - before) / share);
        }
        better(b, room, n, &most);
    }
    if (is_freed) {
        double changes[3] = {log(4.0), log(1.25), log(0.8)};
        const int n_changes = fabs(rise) > AT_REST ? 3 : 1;
        for (int i = 0; i < 3; i++)
            changes[i] = copysign(changes[i], rise * changes[i]);
        if (n_changes == 1)
            changes[0] = rise / share - rise;
        for (int i = 0; i < n_changes; i++)
            for (int repeat = 0; repeat < 3; repeat++) {
                double free = (best->freedom - room->least) * exp(changes[i]);
                free = free < LEAST_FREE ? LEAST_FREE : free > MOST_FREE ? MOST_FREE : free;
                copy_learned(room, best, trial);
                trial->freedom = room->least + free;
                for (intptr_t e = 0; e < room->entries; e++)
                    trial->covariance[e] *= trial->freedom / best->freedom;
                if (!better(b, room, n, &most))
                    break;
            }
    }
    copy_learned(room, best, new);
}

/* Computes `learned` from the components with more than `least` rows; returns whether they are
 * ill-defined. */
static int learn_priors(const ascent_block *b, ascent_room *room, const usual_form *usual,
                        double least)
{
    const intptr_t K = b->n_components;
    double n_used = 0, mean_rows = 0, mean_log = 0, log_determinant;
    learned_form *new = &room->learned;
    for (intptr_t k = 0; k < K; k++) {
        const double count = b->steps.scale * room->counts[k];
        room->used[k] = count > least;
        n_used += room->used[k];
        mean_rows += room->used[k] * count;
    }
    copy_learned(room, &room->present, new);
    if (b->learned & LEARNS_PRECISION)
        new->precision = best_precision(b, room, usual);
    if (!(b->learned & (LEARNS_FREEDOM | LEARNS_COVARIANCE)))
        return 0;
    const int learns = (b->learned & LEARNS_COVARIANCE) != 0;
    if (learns && room->is_common)
        return common_prior(b, room, usual);
    if (learns ? mean_covariance(b, room, usual, new->covariance, &log_determinant)
               : factors_of(room, 1, new->covariance, room->matrices, &log_determinant))
        return 1;
    if (b->learned & LEARNS_FREEDOM) {
        for (intptr_t k = 0; k < K; k++)
            if (room->used[k])
                mean_log += usual->log_precisions[k] / n_used;
        new->freedom = best_freedom(b, room, mean_log - log_determinant, learns);
    }
    if (!learns)
        return 0;
    for (intptr_t e = 0; e < room->entries; e++)
        new->covariance[e] *= new->freedom;
    search_priors(b, room, mean_rows / n_used, usual);
    return 0;
}

/* The log normaliser of a component. */
static double log_normaliser_at(const ascent_room *room, const usual_form *usual, intptr_t k)
{
    const double constant = 0.5 * (double)room->n_features * LOG_TWO_PI;
    return -usual->log_normalisers[k] - constant * (usual->freedom[k] - room->shift);
}

/* Computes the evidence of all components; returns whether it is ill-defined. */
static int evidence_of_all(const ascent_block *b, ascent_room *room, const learned_form *hyper,
                           usual_form *usual, double *evidence)
{
    target_components(b, room, hyper, 1, room->components);
    if (usual_of(b, room, room->components, usual) || usual_prior(b, room, hyper))
        return 1;
    *evidence = 0;
    for (intptr_t k = 0; k < b->n_components; k++)
        *evidence += log_normaliser_at(room, usual, k)
                     - log_normaliser_at(room, &room->prior, 0);
    return 0;
}

/* Computes the usual form `now` and the log normalisers of n components; returns whether one is
 * ill-defined. */
static int log_normalisers_of(ascent_block *b, ascent_room *room, intptr_t n,
                              double *components, double *logs)
{
    b->n_components = n;
    if (usual_of(b, room, components, &room->now))
        return 1;
    for (intptr_t k = 0; k < n; k++)
        logs[k] = log_normaliser_at(room, &room->now, k);
    return 0;
}

/* Learns the priors from the statistics, and replaces `present` by them.  Components with more
 * than `USED_ROWS` rows count, because smaller ones slow the learning down; if the evidence of
 * all components might fall in a `whole` step, so do those with more than `OCCUPIED_ROWS`.
 * Nothing is learned if fewer than two count, because one component does not show how components
 * differ.  Returns whether priors were learned. */
static int update_hyper(const ascent_block *b, ascent_room *room, int whole)
{
    intptr_t n_used = 0, n_occupied = 0;
    double new, old;
    for (intptr_t k = 0; k < b->n_components; k++) {
        n_used += b->steps.scale * room->counts[k] > USED_ROWS;
        n_occupied += b->steps.scale * room->counts[k] > OCCUPIED_ROWS;
    }
    if (!b->learned || n_used < 2)
        return 0;
    target_components(b, room, &room->present, 1, room->components);
    if (usual_of(b, room, room->components, &room->next)
        || learn_priors(b, room, &room->next, USED_ROWS))
        return 0;
    if (whole && n_used < n_occupied) {
        if (evidence_of_all(b, room, &room->learned, &room->next, &new)
            || evidence_of_all(b, room, &room->present, &room->next, &old))
            return 0;
        /* `next` is the usual form under the present priors again */
        if (new < old && learn_priors(b, room, &room->next, OCCUPIED_ROWS))
            return 0;
    }
    copy_learned(room, &room->learned, &room->present);
    return 1;
}

/* Copies the priors from the arguments of a call, or to them. */
static void load_priors(const ascent_block *b, ascent_room *room)
{
    room->present.precision = b->hyper[0];
    room->present.freedom = b->hyper[1];
    memcpy(room->present.covariance, b->covariance, (size_t)room->entries * sizeof(double));
}

static void store_priors(const ascent_block *b, const ascent_room *room)
{
    b->hyper[0] = room->present.precision;
    b->hyper[1] = room->present.freedom;
    memcpy(b->covariance, room->present.covariance, (size_t)room->entries * sizeof(double));
}

/* Learns the priors from statistics in `components`, of components with `counts` rows.  Returns
 * whether they were learned. */
static int priors_from_statistics(ascent_block *b, const double *counts, int whole)
{
    const intptr_t K = b->n_components, D = b->n_features;
    ascent_room room;
    double *sums, *second, *freedom;
    divide_room(b, &room);
    load_priors(b, &room);
    for (intptr_t k = 0; k < K; k++) {
        room.scaled[k] = *natural_at(b, &room, b->components, k, &sums, &second, &freedom);
        room.counts[k] = counts[k];
        memcpy(room.sums + k * D, sums, (size_t)D * sizeof(double));
        if (k < room.n_matrices)
            memcpy(room.second + k * room.stored, second,
                   (size_t)room.stored * sizeof(double));
    }
    if (!update_hyper(b, &room, whole))
        return 0;
    store_priors(b, &room);
    return 1;
}

/* E log p - E log q of weights and components, or NAN if the prior is ill-defined. */
static double global_bound(const ascent_block *b, ascent_room *room)
{
    const intptr_t K = b->n_components, D = b->n_features;
    const usual_form *q = &room->now, *p = &room->prior;
    double bound =
        bound_weights(b->sticks, K, b->concentration, b->weights, room->logs);
    double *scales = room->matrices; /* the sum of expected precisions */
    if (usual_prior(b, room, &room->present))
        return NAN;
    memset(scales, 0, (size_t)room->entries * sizeof(double));
    for (intptr_t k = 0; k < K; k++) {
        const double *factors = q->factors + k * room->step;
        const double nu = q->freedom[k], log_precision = q->log_precisions[k];
        for (intptr_t d = 0; d < D; d++)
            room->vector[d] = q->means[k * D + d] - b->prior_mean[d];
        add_scale(room, nu, factors, scales);
        bound += p->log_normalisers[0] + 0.5 * (p->freedom[0] - room->shift) * log_precision
                 - 0.5 * p->precision[0]
                       * (D / q->precision[k] + nu * square_of(room, factors, room->vector));
        bound -= q->log_normalisers[k] + 0.5 * (nu - room->shift) * log_precision
                 - 0.5 * D * (1 + nu);
    }
    return bound - 0.5 * inner_product(room, scales, p->inverse);
}
#include "_scales.h"
#endif

/* -- the local step, for one floating type ------------------------------------------------- */

/* Computes the tables of the loops over samples; returns whether all numbers are finite. */
static int NAME(ascent_tables)(const ascent_block *b, ascent_room *room, const double *weights,
                               const usual_form *usual)
{
    const intptr_t K = b->n_components, D = b->n_features;
    REAL *means = room->means, *triangles = room->triangles;
    double sum = 0;
    expect_weights(b->sticks, K, weights, room->logs, room->log_weights);
    for (intptr_t k = 0; k < K; k++) {
        const double root = sqrt(usual->freedom[k]);
        const double *factors = usual->factors + k * room->step;
        sum += room->log_weights[k] + usual->log_densities[k];
        room->constants[k] = room->log_weights[k] + usual->log_densities[k];
        for (intptr_t i = 0; i < D; i++) {
            if (room->is_white) { /* whitened means, and factors of 1 */
                double mean = 0;
                for (intptr_t j = 0; j <= i; j++)
                    mean += usual->means[k * D + j] * (factors[i * D + j] * root);
                means[k * D + i] = (REAL)mean;
                *triangles++ = 1;
                sum += means[k * D + i];
                continue;
            }
            means[k * D + i] = (REAL)(usual->means[k * D + i] + b->origin[i]);
            sum += means[k * D + i];
            if (room->is_full)
                for (intptr_t j = 0; j <= i; j++, triangles++) {
                    *triangles = (REAL)(root * factors[i * D + j]);
                    sum += *triangles;
                }
            else {
                *triangles = (REAL)(root * factors[i]);
                sum += *triangles++;
            }
        }
    }
    return isfinite(sum);
}

/* Writes whitened samples of a tied covariance. */
static void NAME(whiten)(const ascent_block *b, const ascent_room *room, intptr_t n,
                         const REAL *samples, REAL *white)
{
    const intptr_t D = b->n_features;
    const double root = sqrt(room->now.freedom[0]), *factors = room->now.factors;
    double *moved = room->vector;
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

/* Selects components whose constants exceed `least`; returns their number. */
static intptr_t NAME(select_components)(const ascent_block *b, ascent_room *room, double least)
{
    const intptr_t K = b->n_components, D = b->n_features;
    const intptr_t size = room->is_full && !room->is_white ? room->stored : D;
    const REAL *means = room->means, *triangles = room->triangles;
    REAL *few_means = room->few_means, *few_triangles = room->few_triangles;
    intptr_t n = 0;
    for (intptr_t k = 0; k < K; k++) {
        if (!(room->constants[k] > least))
            continue;
        memcpy(few_means + n * D, means + k * D, (size_t)D * sizeof(REAL));
        memcpy(few_triangles + n * size, triangles + k * size, (size_t)size * sizeof(REAL));
        room->few_constants[n] = room->constants[k];
        room->few[n++] = (double)k;
    }
    return n;
}

/* The arguments of the loops over components that do not depend on components and samples. */
static mixture_block NAME(block_of)(const ascent_block *b, ascent_room *room)
{
    mixture_block block = {0};
    block.n_features = b->n_features;
    block.triangular = room->is_full && !room->is_white;
    block.stop = b->steps.stop;
    block.responsibilities = room->shares;
    block.scores = room->scores;
    block.scratch = room->panels;
    return block;
}

/* Sums the first moments of n samples, multiplied by `shares` and a power of the samples. */
static int NAME(sum_moments)(const ascent_block *b, ascent_room *room, intptr_t first,
                             intptr_t n, intptr_t n_components, intptr_t n_moments,
                             double power)
{
    moments_block moments = {0};
    for (intptr_t i = 0; i < (b->row_weight ? n : 1); i++)
        room->factors[i] = b->row_weight ? power * b->row_weight[first + i] : power;
    moments.n_samples = n;
    moments.n_features = b->n_features;
    moments.n_components = n_components;
    moments.n_moments = n_moments;
    moments.squares = !room->is_full;
    moments.samples = (const REAL *)b->samples + first * b->n_features;
    moments.origin = b->origin;
    moments.shares = room->shares;
    moments.factors = room->factors;
    moments.factor_per_sample = b->row_weight != 0;
    moments.stop = b->steps.stop;
    moments.scratch = room->panels;
    moments.out = room->moments;
    return NAME(weighted_moments)(&moments);
}

/* Adds the moments of a block to the statistics. */
static int NAME(add_statistics)(const ascent_block *b, ascent_room *room, intptr_t first,
                                intptr_t n, intptr_t n_few, double power)
{
    const intptr_t D = b->n_features, M = room->n_moments;
    if (NAME(sum_moments)(b, room, first, n, n_few, M, power))
        return -1;
    for (intptr_t s = 0; s < n_few; s++) {
        const intptr_t k = (intptr_t)room->few[s];
        const double *own = room->moments + s * M;
        room->scaled[k] += own[0];
        for (intptr_t d = 0; d < D; d++)
            room->sums[k * D + d] += own[1 + d];
        double *second = room->second + k * room->stored;
        if (room->stored < D)
            for (intptr_t d = 0; d < D; d++)
                *second += own[1 + D + d] / D;
        else if (!room->is_common)
            for (intptr_t e = 0; e < room->stored; e++)
                second[e] += own[1 + D + e];
    }
    return 0;
}

/* Adds `reg_covar` for each sample to the variances. */
static void NAME(end_statistics)(const ascent_block *b, ascent_room *room, double power)
{
    const intptr_t K = b->n_components, D = b->n_features;
    double mean_count = 0;
    for (intptr_t k = 0; k < K; k++)
        mean_count += room->scaled[k] / K;
    if (room->is_common)
        for (intptr_t e = 0; e < room->stored; e++)
            room->second[e] = power * room->total[1 + D + e] / K;
    for (intptr_t k = 0; k < room->n_matrices; k++) {
        double *second = room->second + k * room->stored;
        const double count = room->is_common ? mean_count : room->scaled[k];
        if (room->is_full)
            for (intptr_t i = 0, at = 0; i < D; at += D - i, i++)
                second[at] += count * b->added[i];
        else
            for (intptr_t e = 0; e < room->stored; e++)
                second[e] += count * b->added[e];
    }
}

/* Adds the second moments of n samples with the factors in `shares`, for a tied covariance. */
static int NAME(add_total)(const ascent_block *b, ascent_room *room, intptr_t first, intptr_t n)
{
    if (NAME(sum_moments)(b, room, first, n, 1, room->n_total, 1))
        return -1;
    for (intptr_t m = 0; m < room->n_total; m++)
        room->total[m] += room->moments[m];
    return 0;
}

/* Computes the sums of second moments of all samples, for a tied covariance. */
static int NAME(sum_all)(const ascent_block *b, ascent_room *room)
{
    REAL *shares = room->shares;
    memset(room->total, 0, (size_t)room->n_total * sizeof(double));
    for (intptr_t i = 0; i < ASCENT_ROWS; i++)
        shares[i] = 1;
    for (intptr_t first = 0; first < b->n_samples; first += ASCENT_ROWS) {
        const intptr_t left = b->n_samples - first;
        if (NAME(add_total)(b, room, first, left < ASCENT_ROWS ? left : ASCENT_ROWS))
            return -1;
    }
    return 0;
}

/* See `WithScales.uncertainty`. */
static double NAME(uncertainty)(const ascent_block *b, const ascent_room *room, intptr_t k)
{
    const intptr_t D = b->n_features;
    const double *factors = room->now.factors + k * room->step;
    const int is_full = room->is_full;
    double squares = 0;
    for (intptr_t i = 0; i < D; i++)
        for (intptr_t j = is_full ? 0 : i; j <= i; j++) {
            const double factor = factors[is_full ? i * D + j : i];
            squares += factor * factor * b->added[room->stored < D ? 0 : j];
        }
    return (double)D / room->now.precision[k] + room->now.freedom[k] * squares;
}

/* Replaces the distances of n samples, which have scales, by shares times scales, and computes
 * the bounds of the samples and the sums that need the scales. */
static int NAME(share_scaled)(const ascent_block *b, ascent_room *room, intptr_t first,
                              intptr_t n)
{
    const intptr_t K = b->n_components;
    const double *powers = room->powers;
    double factors[ASCENT_ROWS];
    REAL *shares = room->shares;
    for (intptr_t k = 0; k < K; k++) {
        const double uncertain = NAME(uncertainty)(b, room, k);
        for (intptr_t i = 0; i < n; i++) {
            const double square = (double)shares[i * K + k];
            room->squares[k * ASCENT_ROWS + i] =
                (square < FARTHEST_ROW ? square : FARTHEST_ROW) + uncertain;
        }
    }
    scaled_shares(b, room, powers, n, b->row_bounds + first);
    if (room->only_bound)
        return 0;
    for (intptr_t i = 0; i < n; i++)
        factors[i] = (b->row_weight ? b->row_weight[first + i] : 1) * powers[1];
    if (b->learned & LEARNS_SCALES && powers[1] == 1 && powers[2] == 1)
        add_scales(b, room, n, factors);
    for (intptr_t i = 0; room->is_common && i < n; i++) {
        double sum = 0;
        for (intptr_t at = i; at < K * ASCENT_ROWS; at += ASCENT_ROWS)
            sum += room->scaled_shares[at] * room->scales[at];
        shares[i] = (REAL)sum;
    }
    if (room->is_common && NAME(add_total)(b, room, first, n))
        return -1;
    for (intptr_t k = 0; k < K; k++)
        for (intptr_t i = 0; i < n; i++) {
            const double share = room->scaled_shares[k * ASCENT_ROWS + i];
            room->counts[k] += share * factors[i];
            shares[i * K + k] = (REAL)(share * room->scales[k * ASCENT_ROWS + i]);
        }
    return 0;
}

/* Computes the local step of the samples from `begin` to `end`: statistics, unless
 * `only_bound`, and the bound.  Returns 0, or -1 if `stop` is set. */
static int NAME(section_step)(const ascent_block *b, ascent_room *room, intptr_t begin,
                              intptr_t end)
{
    const intptr_t K = b->n_components, D = b->n_features;
    const int has_scales = b->freedom_of_scales != 0;
    const double *powers = room->powers;
    double least = -HUGE_VAL, excluded = -HUGE_VAL, total = 0;
    intptr_t n_few;
    for (intptr_t k = 0; k < K && !has_scales; k++)
        least = room->constants[k] > least ? room->constants[k] : least;
    least -= NO_COMPONENT / powers[2];
    for (intptr_t k = 0; k < K; k++)
        if (!(room->constants[k] > least) && room->constants[k] > excluded)
            excluded = room->constants[k];
    clear_statistics(b, room);
    n_few = NAME(select_components)(b, room, least);
    if (n_few == 0)
        n_few = NAME(select_components)(b, room, -HUGE_VAL);
    mixture_block block = NAME(block_of)(b, room);
    block.means = room->few_means;
    block.factors = room->few_triangles;
    block.constants = room->few_constants;
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
        if (room->is_white) {
            NAME(whiten)(b, room, n, block.samples, room->white);
            block.samples = room->white;
        }
        if (NAME(mixture_local_step)(&block))
            return -1;
        if (has_scales && NAME(share_scaled)(b, room, first, n))
            return -1;
        for (intptr_t i = 0; i < n; i++)
            lowest = bounds[i] < lowest ? bounds[i] : lowest;
        const int is_far = n_few < K && powers[2] * excluded > lowest - NO_SHARE;
        if (is_far) { /* components that were left out may explain a row */
            block.n_components = NAME(select_components)(b, room, -HUGE_VAL);
            if (NAME(mixture_local_step)(&block))
                return -1;
        }
        for (intptr_t i = 0; i < n; i++)
            total += b->row_weight ? b->row_weight[first + i] * bounds[i] : bounds[i];
        if (!room->only_bound
            && NAME(add_statistics)(b, room, first, n, block.n_components, powers[1]))
            return -1;
        if (is_far)
            n_few = NAME(select_components)(b, room, least);
    }
    *room->bound = total;
    return 0;
}

/* Computes the local step of section i of the samples, which several threads may do. */
LOOP int NAME(gaussian_ascent_section)(ascent_block *b, intptr_t i)
{
    const intptr_t n_blocks = (b->n_samples + ASCENT_ROWS - 1) / ASCENT_ROWS;
    const intptr_t first = n_blocks * i / b->n_sections * ASCENT_ROWS;
    const intptr_t end = n_blocks * (i + 1) / b->n_sections * ASCENT_ROWS;
    ascent_room room = room_of_section(b, i);
    return NAME(section_step)(b, &room, first, end < b->n_samples ? end : b->n_samples);
}

/* Returns the size of the scratch memory. */
LOOP intptr_t NAME(gaussian_ascent_size)(ascent_block *b)
{
    ascent_room room;
    b->scratch = 0;
    const double *end = divide_room(b, &room);
    return (end - (double *)0) + (b->n_sections - 1) * (end - room.bound);
}

/* Returns whether priors were learned, see `priors_from_statistics`. */
LOOP int NAME(gaussian_priors)(ascent_block *b, const double *counts, int whole)
{
    return priors_from_statistics(b, counts, whole);
}

/* An ascent, for the functions of `mixture_methods`. */
typedef struct {
    ascent_block *block;
    ascent_room room;
} NAME(gaussian_run);

static int NAME(gaussian_local_step)(void *self, const double *powers, int only_bound,
                                     double *bound)
{
    NAME(gaussian_run) *run = self;
    ascent_block *b = run->block;
    ascent_room *room = &run->room;
    const intptr_t K = b->n_components, D = b->n_features;
    room->powers = powers;
    room->only_bound = only_bound;
    if (b->n_sections == 1 ? NAME(section_step)(b, room, 0, b->n_samples)
                           : b->share(b->sharing))
        return -1;
    for (intptr_t i = 1; i < b->n_sections; i++) {
        const ascent_room own = room_of_section(b, i);
        *room->bound += *own.bound;
        for (intptr_t k = 0; k < K; k++)
            room->counts[k] += own.counts[k];
        for (intptr_t d = 0; d < K * D; d++)
            room->sums[d] += own.sums[d];
        for (intptr_t e = 0; e < room->n_matrices * room->stored; e++)
            room->second[e] += own.second[e];
    }
    if (!only_bound)
        NAME(end_statistics)(b, room, powers[1]);
    *bound = *room->bound;
    return 0;
}

static double NAME(gaussian_global_bound)(void *self)
{
    NAME(gaussian_run) *run = self;
    return global_bound(run->block, &run->room);
}

static void NAME(gaussian_update_hyper)(void *self)
{
    NAME(gaussian_run) *run = self;
    const ascent_block *b = run->block;
    update_hyper(b, &run->room, 1);
    for (intptr_t k = 0; b->learned & LEARNS_SCALES && k < b->n_components; k++)
        run->room.learned_scales[k] = learned_freedom(
            b->freedom_of_scales[k], run->room.of_scales + 5 * k, b->steps.scale);
}

static int NAME(gaussian_global_step)(void *self, double power)
{
    NAME(gaussian_run) *run = self;
    ascent_block *b = run->block;
    ascent_room *room = &run->room;
    const intptr_t K = b->n_components;
    target_weights(b->sticks, K, b->concentration, power, b->steps.scale, room->counts,
                   room->weights);
    target_components(b, room, &room->present, power, room->components);
    if (!weights_are_valid(b->sticks, K, room->weights)
        || usual_of(b, room, room->components, &room->next))
        return ASCENT_ILL_DEFINED;
    if (!NAME(ascent_tables)(b, room, room->weights, &room->next))
        return ASCENT_NOT_FINITE;
    const usual_form old = room->now;
    room->now = room->next;
    room->next = old;
    memcpy(b->weights, room->weights, (size_t)(b->sticks ? 2 * K : K) * sizeof(double));
    memcpy(b->components, room->components,
           (size_t)(room->is_common ? K * (1 + b->n_features) + room->stored + 1
                                    : K * room->natural) * sizeof(double));
    store_priors(b, room);
    if (b->freedom_of_scales)
        memcpy(b->freedom_of_scales, room->learned_scales, (size_t)K * sizeof(double));
    return ASCENT_DONE;
}

/* Takes steps of coordinate ascent.  Returns the status, see `mixture_ascent.h`. */
LOOP int NAME(gaussian_ascent)(ascent_block *b)
{
    const mixture_methods methods = {
        NAME(gaussian_local_step), NAME(gaussian_global_bound), NAME(gaussian_update_hyper),
        NAME(gaussian_global_step)};
    NAME(gaussian_run) run;
    ascent_room *room = &run.room;
    run.block = b;
    b->sections = divide_room(b, room);
    b->section_size = b->sections - room->bound;
    b->room = room;
    load_priors(b, room);
    if (b->freedom_of_scales)
        memcpy(room->learned_scales, b->freedom_of_scales,
               (size_t)b->n_components * sizeof(double));
    if (usual_of(b, room, b->components, &room->now)
        || !weights_are_valid(b->sticks, b->n_components, b->weights))
        return ASCENT_ILL_DEFINED;
    if (!NAME(ascent_tables)(b, room, b->weights, &room->now))
        return ASCENT_NOT_FINITE;
    if (room->is_common && !b->freedom_of_scales && NAME(sum_all)(b, room))
        return ASCENT_STOPPED;
    return take_steps(&b->steps, &methods, &run);
}
