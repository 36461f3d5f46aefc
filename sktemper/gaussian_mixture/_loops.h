/* Responsibilities of Gaussian components for samples, for one floating type.  A panel of
 * samples, one in each lane, is processed at a time.  Means are subtracted before squares
 * are computed, so that no digits are lost for samples far from the origin. */
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

/* Computes the responsibilities of a block.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(mixture_local_step)(mixture_block *block)
{
    const intptr_t D = block->n_features, K = block->n_components, n = block->n_samples;
    const REAL *restrict samples = block->samples, *restrict means = block->means;
    const REAL *restrict factors = block->factors, *shifts = means; /* or `scaled` */
    REAL *restrict out = block->responsibilities;
    REAL *restrict x = block->scratch;
    REAL *restrict z = x + D * LANES;
    REAL *restrict logs = z + D * LANES;
    REAL *restrict scaled = logs + K * LANES;
    REAL powers[LANES], sums[LANES];
    double bounds[LANES], scores[LANES];
    if (!block->triangular) {
        for (intptr_t i = 0; i < K * D; i++)
            scaled[i] = (REAL)((double)factors[i] * (double)means[i]);
        shifts = scaled;
    }
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

/* Writes 1, x, and the products x_i x_j for i <= j, or only x_i^2, into each row of `out`, in
 * float64, because sums of these moments lose digits. */
LOOP void NAME(moments)(intptr_t n, intptr_t n_features, int triangular,
                          const REAL *restrict x, const double *restrict origin,
                          double *restrict out)
{
    for (intptr_t i = 0; i < n; i++) {
        const REAL *restrict row = x + i * n_features;
        double *restrict own = out + 1;
        out[0] = 1;
        VECTORISE
        for (intptr_t d = 0; d < n_features; d++)
            own[d] = (double)row[d] - origin[d];
        double *restrict products = own + n_features;
        if (triangular)
            for (intptr_t d = 0; d < n_features; d++) {
                const double factor = own[d];
                VECTORISE
                for (intptr_t e = d; e < n_features; e++)
                    products[e - d] = factor * own[e];
                products += n_features - d;
            }
        else {
            VECTORISE
            for (intptr_t d = 0; d < n_features; d++)
                products[d] = own[d] * own[d];
            products += n_features;
        }
        out = products;
    }
}

#include "_moments.h"

#undef VECTOR
#undef WIDTH
#undef VECTORS
#undef LANES
#undef AT
#undef ZEROS
#undef EACH
