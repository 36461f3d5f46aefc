/* Responsibilities of Gaussian components for samples, for one floating type.  A panel of
 * samples, one in each lane, is processed at a time.  Means are subtracted before squares
 * are computed, so that no digits are lost for samples far from the origin. */
#include "sktemper/_families/wishart.h"

#include "_panels.h"

/* total += p^2 for p = F z, for the rows i to i + 3 of the triangle F. */
static inline void NAME(add_four_rows)(intptr_t i, const REAL *restrict a,
                                       const REAL *restrict z, VECTOR *restrict total)
{
    const REAL *restrict b = a + i + 1, *restrict c = b + i + 2, *restrict d = c + i + 3;
    VECTOR p[VECTORS] = ZEROS, q[VECTORS] = ZEROS, r[VECTORS] = ZEROS, s[VECTORS] = ZEROS;
    for (intptr_t j = 0; j <= i; j++) {
        const REAL *restrict zj = z + j * LANES;
        EACH {
            const VECTOR own = AT(zj, v);
            p[v] += a[j] * own;
            q[v] += b[j] * own;
            r[v] += c[j] * own;
            s[v] += d[j] * own;
        }
    }
    z += (i + 1) * LANES;
    EACH {
        const VECTOR second = AT(z, v), third = AT(z + LANES, v);
        q[v] += b[i + 1] * second;
        r[v] += c[i + 1] * second;
        s[v] += d[i + 1] * second;
        r[v] += c[i + 2] * third;
        s[v] += d[i + 2] * third;
        s[v] += d[i + 3] * AT(z + 2 * LANES, v);
        total[v] += p[v] * p[v];
        total[v] += q[v] * q[v];
        total[v] += r[v] * r[v];
        total[v] += s[v] * s[v];
    }
}

/* distances[lane] = |F (x - mean)|^2 for a lower triangular F with packed rows.  z is scratch
 * memory. */
static inline void NAME(triangular_distances)(intptr_t n_features,
                                              const REAL *restrict factor,
                                              const REAL *restrict mean,
                                              const REAL *restrict x, REAL *restrict z,
                                              REAL *restrict distances)
{
    VECTOR total[VECTORS] = ZEROS;
    intptr_t i = 0;
    for (intptr_t d = 0; d < n_features; d++)
        EACH AT(z + d * LANES, v) = AT(x + d * LANES, v) - mean[d];
    for (; i + 4 <= n_features; i += 4) {
        NAME(add_four_rows)(i, factor, z, total);
        factor += 4 * i + 10;
    }
    for (; i < n_features; i++) {
        VECTOR p[VECTORS] = ZEROS;
        for (intptr_t j = 0; j <= i; j++)
            EACH p[v] += factor[j] * AT(z + j * LANES, v);
        factor += i + 1;
        EACH total[v] += p[v] * p[v];
    }
    EACH AT(distances, v) = total[v];
}

/* distances[lane] = |f x - shift|^2, element by element. */
static inline void NAME(diagonal_distances)(intptr_t n_features,
                                            const REAL *restrict factor,
                                            const REAL *restrict shift,
                                            const REAL *restrict x,
                                            REAL *restrict distances)
{
    VECTOR total[VECTORS] = ZEROS;
    for (intptr_t j = 0; j < n_features; j++) {
        EACH {
            const VECTOR y = factor[j] * AT(x + j * LANES, v) - shift[j];
            total[v] += y * y;
        }
    }
    EACH AT(distances, v) = total[v];
}

/* Replaces the log densities of a panel by responsibilities, and computes the bounds and
 * scores of its samples. */
static inline void NAME(shares)(intptr_t n_components, const REAL *restrict powers,
                                REAL *restrict logs, REAL *restrict sums,
                                double *restrict bounds, double *restrict scores)
{
    REAL top[LANES], total[LANES] = {0}, sum[LANES] = {0};
    for (intptr_t lane = 0; lane < LANES; lane++)
        top[lane] = logs[lane];
    for (intptr_t k = 1; k < n_components; k++) {
        const REAL *restrict log_k = logs + k * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            top[lane] = log_k[lane] > top[lane] ? log_k[lane] : top[lane];
    }
    for (intptr_t k = 0; k < n_components; k++) {
        REAL *restrict log_k = logs + k * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const REAL below = log_k[lane] - top[lane];
            const REAL share = NAME(exp)(powers[lane] * below);
            sum[lane] += share;
            total[lane] += share * below;
            log_k[lane] = share;
        }
    }
    VECTORISE
    for (intptr_t lane = 0; lane < LANES; lane++) {
        bounds[lane] = (double)powers[lane] * (double)top[lane]
                       + (double)NAME(log)(sum[lane]);
        scores[lane] = (double)top[lane] + (double)(total[lane] / sum[lane]);
        sums[lane] = 1 / sum[lane];
    }
    for (intptr_t k = 0; k < n_components; k++) {
        REAL *restrict log_k = logs + k * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            log_k[lane] *= sums[lane];
    }
}

/* Computes the squared distances of a panel, or its log densities.  Returns 0, or -1 if
 * `stop` is set. */
static inline int NAME(densities)(const mixture_block *block, const REAL *restrict shifts,
                                  const REAL *restrict x, REAL *restrict z,
                                  REAL *restrict logs)
{
    const intptr_t D = block->n_features;
    const intptr_t factor_size = block->triangular ? D * (D + 1) / 2 : D;
    const REAL *restrict factors = block->factors;
    for (intptr_t k = 0; k < block->n_components; k++) {
        REAL *restrict own = logs + k * LANES;
        if (*block->stop)
            return -1;
        if (block->triangular)
            NAME(triangular_distances)(D, factors + k * factor_size, shifts + k * D, x, z,
                                       own);
        else
            NAME(diagonal_distances)(D, factors + k * factor_size, shifts + k * D, x, own);
        /* distances that overflowed, also to NAN, are replaced by FARTHEST */
        const REAL constant = block->only_distances ? 0 : (REAL)block->constants[k];
        const REAL scale = block->only_distances ? 1 : (REAL)-0.5;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const REAL distance = own[lane] < FARTHEST ? own[lane] : FARTHEST;
            own[lane] = constant + scale * distance;
        }
    }
    return 0;
}

/* Returns the shifts of `densities`: the means, or for diagonals the means times the factors,
 * which are written to `scaled`. */
static inline const REAL *NAME(shifts_of)(const mixture_block *block, REAL *scaled)
{
    const REAL *means = block->means, *factors = block->factors;
    if (block->triangular)
        return means;
    for (intptr_t i = 0; i < block->n_components * block->n_features; i++)
        scaled[i] = (REAL)((double)factors[i] * (double)means[i]);
    return scaled;
}

/* Computes the responsibilities of a block.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(mixture_local_step)(mixture_block *block)
{
    const intptr_t D = block->n_features, K = block->n_components, n = block->n_samples;
    const REAL *restrict samples = block->samples;
    REAL *restrict out = block->responsibilities;
    REAL *restrict x = block->scratch;
    REAL *restrict z = x + D * LANES;
    REAL *restrict logs = z + D * LANES;
    const REAL *shifts = NAME(shifts_of)(block, logs + K * LANES);
    REAL powers[LANES], sums[LANES];
    double bounds[LANES], scores[LANES];
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        NAME(load_panel)(width, D, samples + first * D, x);
        if (NAME(densities)(block, shifts, x, z, logs))
            return -1;
        if (!block->only_distances) {
            for (intptr_t lane = 0; lane < LANES; lane++) {
                const intptr_t i = first + (lane < width ? lane : width - 1);
                powers[lane] = (REAL)block->powers[block->power_per_sample ? i : 0];
            }
            NAME(shares)(K, powers, logs, sums, bounds, scores);
            for (intptr_t lane = 0; lane < width; lane++) {
                block->bounds[first + lane] = bounds[lane];
                block->scores[first + lane] = scores[lane];
            }
        }
        NAME(store_panel)(width, K, logs, out + first * K);
    }
    return 0;
}

/* Exponents above this number would multiply the rounding errors of products. */
#define LARGEST_EXPONENT 1e6

/* logs[lane] = log densities of a panel under component k, whose density is a product over the
 * features.  To save logarithms, mantissas are multiplied, and exponents are added. */
static inline void NAME(product_logs)(const predictive_block *block, intptr_t k,
                                      const double *restrict z, double *restrict logs)
{
    const intptr_t D = block->mixture.n_features;
    const double *centre = block->centres + k * D, *factor = block->factors + k * D;
    const double constant = block->mixture.constants[k], scale = block->scales[k];
    const double exponent = block->exponents[k];
    if (exponent > LARGEST_EXPONENT) {
        for (intptr_t lane = 0; lane < LANES; lane++)
            logs[lane] = constant;
        for (intptr_t d = 0; d < D; d++)
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++) {
                const double moved = factor[d] * (z[d * LANES + lane] - centre[d]);
                const double square = moved * moved < 1e250 ? moved * moved : 1e250;
                logs[lane] -= exponent * NAME(log_1p)(scale * square);
            }
        return;
    }
    double products[LANES];
    int64_t powers[LANES];
    for (intptr_t lane = 0; lane < LANES; lane++) {
        products[lane] = 1;
        powers[lane] = 0;
    }
    for (intptr_t d = 0; d < D; d++) {
        const double *restrict own = z + d * LANES;
        const double centre_d = centre[d], factor_d = factor[d];
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const double moved = factor_d * (own[lane] - centre_d);
            const double square = moved * moved < 1e250 ? moved * moved : 1e250;
            const uint64_t bits = to_bits_f64(products[lane] * (1 + scale * square));
            powers[lane] += (int64_t)(bits >> 52) - 1023;
            products[lane] = from_bits_f64((bits & UINT64_C(0xfffffffffffff))
                                           | UINT64_C(0x3ff0000000000000));
        }
    }
    VECTORISE
    for (intptr_t lane = 0; lane < LANES; lane++) {
        const double power = (double)powers[lane];
        logs[lane] = constant
                     - exponent * (log_f64(products[lane]) + power * M_LN2);
    }
}

/* scores[lane] = the logarithm of the sum of the exponentials of K rows of logs. */
static inline void NAME(log_sums)(intptr_t K, const double *restrict logs,
                                  double *restrict scores)
{
    double top[LANES], sums[LANES] = {0};
    for (intptr_t lane = 0; lane < LANES; lane++)
        top[lane] = logs[lane];
    for (intptr_t k = 1; k < K; k++) {
        const double *restrict own = logs + k * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            top[lane] = own[lane] > top[lane] ? own[lane] : top[lane];
    }
    for (intptr_t k = 0; k < K; k++) {
        const double *restrict own = logs + k * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            sums[lane] += exp_f64(own[lane] - top[lane]);
    }
    VECTORISE
    for (intptr_t lane = 0; lane < LANES; lane++)
        scores[lane] = top[lane] + log_f64(sums[lane]);
}

/* Computes the logarithms of the predictive densities of a mixture.  Returns 0, or -1 if `stop`
 * is set. */
LOOP int NAME(mixture_predictive)(predictive_block *predictive)
{
    const mixture_block *block = &predictive->mixture;
    const intptr_t D = block->n_features, K = block->n_components, n = block->n_samples;
    const REAL *restrict samples = block->samples;
    const double *origin = predictive->origin;
    REAL *restrict x = block->scratch;
    REAL *restrict z = x + D * LANES;
    REAL *restrict distances = z + D * LANES;
    const REAL *shifts = NAME(shifts_of)(block, distances + K * LANES);
    double *moved = predictive->logs, *logs = moved + D * LANES;
    double scores[LANES];
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        NAME(load_panel)(width, D, samples + first * D, x);
        if (origin) {
            for (intptr_t i = 0; i < D * LANES; i++)
                moved[i] = (double)x[i] - origin[i / LANES];
            for (intptr_t k = 0; k < K; k++) {
                if (*block->stop)
                    return -1;
                NAME(product_logs)(predictive, k, moved, logs + k * LANES);
            }
        } else {
            if (NAME(densities)(block, shifts, x, z, distances))
                return -1;
            for (intptr_t k = 0; k < K; k++) {
                const double constant = block->constants[k], scale = predictive->scales[k];
                const double exponent = predictive->exponents[k];
                VECTORISE
                for (intptr_t i = k * LANES; i < (k + 1) * LANES; i++)
                    logs[i] = constant - exponent * NAME(log_1p)(scale * (double)distances[i]);
            }
        }
        NAME(log_sums)(K, logs, scores);
        memcpy(block->scores + first, scores, (size_t)width * sizeof(double));
    }
    return 0;
}

/* Finds the nearest centre of each sample.  `halves` are half of the squared lengths of the
 * centres, and `x` has room for a panel.  If `sums` is not NULL, the weights of samples, and
 * samples times their weights, are added to the row of their centre in it. */
LOOP void NAME(nearest_centres)(intptr_t n, intptr_t n_features, intptr_t n_centres,
                                const REAL *restrict samples, const double *restrict weight,
                                const REAL *restrict centres, const REAL *restrict halves,
                                REAL *restrict x, intptr_t *restrict labels,
                                double *restrict sums)
{
    const intptr_t D = n_features;
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        REAL best[LANES], nearest[LANES], score[LANES];
        NAME(load_panel)(width, D, samples + first * D, x);
        for (intptr_t k = 0; k < n_centres; k++) {
            const REAL *restrict centre = centres + k * D;
            VECTOR total[VECTORS] = ZEROS;
            for (intptr_t d = 0; d < D; d++)
                EACH total[v] += centre[d] * AT(x + d * LANES, v);
            EACH AT(score, v) = total[v] - halves[k];
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++) {
                const int is_nearer = k == 0 || score[lane] > best[lane];
                best[lane] = is_nearer ? score[lane] : best[lane];
                nearest[lane] = is_nearer ? (REAL)k : nearest[lane];
            }
        }
        for (intptr_t lane = 0; lane < width; lane++) {
            const intptr_t i = first + lane, k = labels[i] = (intptr_t)nearest[lane];
            double *restrict own = sums ? sums + k * (D + 1) : NULL;
            if (own)
                own[0] += weight[i];
            for (intptr_t d = 0; own && d < D; d++)
                own[1 + d] += weight[i] * (double)samples[i * D + d];
        }
    }
}

/* Computes the squared distance of each sample to its nearest centre, if one of `n_drawn` samples
 * becomes another centre, and its weighted sum for each of them.  `nearest` are the present
 * squared distances, and `x` has room for a panel. */
LOOP void NAME(distances_to_seeds)(intptr_t n, intptr_t n_features, intptr_t n_drawn,
                                   const REAL *restrict samples, const double *restrict weight,
                                   const intptr_t *restrict drawn,
                                   const double *restrict nearest, REAL *restrict x,
                                   double *restrict distances, double *restrict sums)
{
    const intptr_t D = n_features;
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        REAL square[LANES];
        NAME(load_panel)(width, D, samples + first * D, x);
        for (intptr_t k = 0; k < n_drawn; k++) {
            const REAL *restrict centre = samples + drawn[k] * D;
            double *restrict own = distances + k * n + first, sum = 0;
            VECTOR total[VECTORS] = ZEROS;
            for (intptr_t d = 0; d < D; d++)
                EACH {
                    const VECTOR difference = AT(x + d * LANES, v) - centre[d];
                    total[v] += difference * difference;
                }
            EACH AT(square, v) = total[v];
            VECTORISE_REDUCTION(+ : sum)
            for (intptr_t lane = 0; lane < width; lane++) {
                const double now = nearest[first + lane];
                own[lane] = square[lane] < now ? square[lane] : now;
                sum += weight[first + lane] * own[lane];
            }
            sums[k] += sum;
        }
    }
}

#include "_moments.h"

#include "_ascent.h"

#include "_splits.h"

#include "_merges.h"

#undef LANES
