/* Responsibilities of Gaussian components for samples, for one floating type: a panel
 * of samples at a time, one a lane.  Distances are taken from the means, so that no
 * digits are lost far from the origin. */

/* With 32 registers there is room for the sums of two vectors of samples, which hides
 * the latency of an addition; with 16 there is not. */
#if defined(VECTOR_BYTES) && VECTOR_BYTES == 64
#define LANES (MIXTURE_BYTES / (intptr_t)sizeof(REAL))
#else
#define LANES (SIMD_BYTES / (intptr_t)sizeof(REAL))
#endif

/* distances[lane] = |F z|^2, F lower triangular, its rows packed. */
static inline void NAME(triangular_distances)(intptr_t n_features,
                                              const REAL *restrict factor,
                                              const REAL *restrict z,
                                              REAL *restrict distances)
{
    REAL total[LANES] = {0};
    intptr_t i = 0;
    for (; i + 4 <= n_features; i += 4) {
        const REAL *restrict a = factor, *restrict b = a + i + 1;
        const REAL *restrict c = b + i + 2, *restrict d = c + i + 3;
        factor = d + i + 4;
        REAL p[LANES] = {0}, q[LANES] = {0}, r[LANES] = {0}, s[LANES] = {0};
        for (intptr_t j = 0; j <= i; j++) {
            const REAL *restrict zj = z + j * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++) {
                p[lane] += a[j] * zj[lane];
                q[lane] += b[j] * zj[lane];
                r[lane] += c[j] * zj[lane];
                s[lane] += d[j] * zj[lane];
            }
        }
        const REAL *restrict z1 = z + (i + 1) * LANES;
        const REAL *restrict z2 = z1 + LANES, *restrict z3 = z2 + LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            q[lane] += b[i + 1] * z1[lane];
            r[lane] += c[i + 1] * z1[lane] + c[i + 2] * z2[lane];
            s[lane] += d[i + 1] * z1[lane] + d[i + 2] * z2[lane] + d[i + 3] * z3[lane];
            total[lane] += p[lane] * p[lane] + q[lane] * q[lane] + r[lane] * r[lane]
                           + s[lane] * s[lane];
        }
    }
    for (; i < n_features; i++) {
        REAL p[LANES] = {0};
        for (intptr_t j = 0; j <= i; j++) {
            const REAL *restrict zj = z + j * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                p[lane] += factor[j] * zj[lane];
        }
        factor += i + 1;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            total[lane] += p[lane] * p[lane];
    }
    for (intptr_t lane = 0; lane < LANES; lane++)
        distances[lane] = total[lane];
}

static inline void NAME(diagonal_distances)(intptr_t n_features,
                                            const REAL *restrict factor,
                                            const REAL *restrict z,
                                            REAL *restrict distances)
{
    REAL total[LANES] = {0};
    for (intptr_t j = 0; j < n_features; j++) {
        const REAL scale = factor[j];
        const REAL *restrict zj = z + j * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const REAL y = scale * zj[lane];
            total[lane] += y * y;
        }
    }
    for (intptr_t lane = 0; lane < LANES; lane++)
        distances[lane] = total[lane];
}

/* The responsibilities of a block; 0, or -1 when told to stop. */
LOOP int NAME(mixture_local_step)(mixture_block *block)
{
    const intptr_t D = block->n_features, K = block->n_components, n = block->n_samples;
    const intptr_t factor_size = block->triangular ? D * (D + 1) / 2 : D;
    const REAL *restrict all_x = block->samples, *restrict means = block->means;
    const REAL *restrict factors = block->factors;
    REAL *restrict out = block->responsibilities;
    REAL *restrict x = block->scratch;
    REAL *restrict z = x + D * LANES;
    REAL *restrict logs = z + D * LANES;
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        REAL powers[LANES], top[LANES], sums[LANES] = {0}, scores[LANES] = {0};
        REAL distances[LANES];
        /* lanes behind the last sample repeat it */
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const intptr_t i = first + (lane < width ? lane : width - 1);
            powers[lane] = (REAL)block->powers[block->power_per_sample ? i : 0];
            for (intptr_t d = 0; d < D; d++)
                x[d * LANES + lane] = all_x[i * D + d];
        }
        for (intptr_t k = 0; k < K; k++) {
            if (*block->stop)
                return -1;
            for (intptr_t d = 0; d < D; d++) {
                const REAL mean = means[k * D + d];
                VECTORISE
                for (intptr_t lane = 0; lane < LANES; lane++)
                    z[d * LANES + lane] = x[d * LANES + lane] - mean;
            }
            if (block->triangular)
                NAME(triangular_distances)(D, factors + k * factor_size, z, distances);
            else
                NAME(diagonal_distances)(D, factors + k * factor_size, z, distances);
            /* of what overflowed, NaN among it, only that it is far is known */
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                distances[lane] = distances[lane] < FARTHEST ? distances[lane] : FARTHEST;
            if (block->only_distances) {
                for (intptr_t lane = 0; lane < width; lane++)
                    out[(first + lane) * K + k] = distances[lane];
                continue;
            }
            const REAL constant = (REAL)block->constants[k];
            REAL *restrict log_k = logs + k * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                log_k[lane] = constant - (REAL)0.5 * distances[lane];
        }
        if (block->only_distances)
            continue;
        for (intptr_t lane = 0; lane < LANES; lane++)
            top[lane] = logs[lane];
        for (intptr_t k = 1; k < K; k++) {
            const REAL *restrict log_k = logs + k * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                top[lane] = log_k[lane] > top[lane] ? log_k[lane] : top[lane];
        }
        for (intptr_t k = 0; k < K; k++) {
            REAL *restrict log_k = logs + k * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++) {
                const REAL below = log_k[lane] - top[lane];
                const REAL share = NAME(exp)(powers[lane] * below);
                sums[lane] += share;
                scores[lane] += share * below;
                log_k[lane] = share;
            }
        }
        for (intptr_t lane = 0; lane < width; lane++) {
            const intptr_t i = first + lane;
            block->bounds[i] = (double)powers[lane] * (double)top[lane]
                               + (double)NAME(log)(sums[lane]);
            block->scores[i] = (double)top[lane] + (double)(scores[lane] / sums[lane]);
            const REAL scale = 1 / sums[lane];
            for (intptr_t k = 0; k < K; k++)
                out[i * K + k] = logs[k * LANES + lane] * scale;
        }
    }
    return 0;
}

/* Each row of out: 1, x, and the products x_i x_j for i <= j, or only x_i^2; in
 * float64, as sums of them lose digits. */
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

#undef LANES
