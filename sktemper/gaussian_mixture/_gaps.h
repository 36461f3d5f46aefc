/* Rows with missing values given a Gaussian component, in float64; `_gaps.py` has the formulas.
 * The rows of the lanes have the same number of missing values, so that all lanes take the same
 * way, and the bits of a row do not depend on the others. */
#define LANES (SIMD_BYTES / (intptr_t)sizeof(double))

/* This part is compiled once, because it does not depend on REAL. */
#ifndef SKTEMPER_GAPS_H
#define SKTEMPER_GAPS_H
/* Number of rows of a matrix that are multiplied together. */
enum { TOGETHER = 4 };

/* y = matrix x, for a lower triangle if `is_lower`; y has room for TOGETHER more entries. */
static void multiply_lanes(intptr_t d, int is_lower, const double *matrix, const double *x,
                           double *y)
{
    const gaussian_vector zero = {0};
    for (intptr_t part = 0; part < PARTS; part++)
        for (intptr_t i = 0; i < d; i += TOGETHER) {
            const intptr_t end = is_lower && i + TOGETHER < d ? i + TOGETHER : d;
            const double *rows[TOGETHER];
            gaussian_vector sums[TOGETHER];
            for (int r = 0; r < TOGETHER; r++) {
                rows[r] = matrix + (i + r < d ? i + r : d - 1) * d;
                sums[r] = zero;
            }
            for (intptr_t j = 0; j < end; j++) {
                const gaussian_vector own = ((const gaussian_vector *)x)[j * PARTS + part];
                UNROLLED
                for (int r = 0; r < TOGETHER; r++)
                    sums[r] = sums[r] + rows[r][j] * own;
            }
            for (int r = 0; r < TOGETHER; r++)
                ((gaussian_vector *)y)[(i + r) * PARTS + part] = sums[r];
        }
}

/* second += factor * covariance for n missing values: packed upper rows, and a lower triangle of
 * the last column first. */
static inline void add_pairs(intptr_t n, intptr_t d, const intptr_t *gaps, double factor,
                             const double *restrict covariance, double *restrict second)
{
    for (intptr_t i = 0; i < n; i++) {
        double *restrict to = second + gaps[i] * (2 * d - gaps[i] - 1) / 2;
        for (intptr_t j = 0; j <= i; j++)
            to[gaps[j]] += factor * *covariance++;
    }
}
#endif

/* Completes rows, see `gapped_block`.  Returns the number of rows for which the precision of the
 * missing values is not positive definite, or -1 if `stop` is set. */
LOOP intptr_t NAME(complete_rows)(const gapped_block *block)
{
    const intptr_t D = block->n_features, *starts = block->starts;
    const double *mean = block->mean, *precision = block->precision;
    double *a = block->scratch, *b = a + triangle_entries(D);
    double *v = b + triangle_entries(D), *inverse = v + vector_entries(D);
    double *x = inverse + vector_entries(D), *y = x + D * LANES;
    intptr_t n_indefinite = 0, n_lanes = 0;
    for (intptr_t first = 0; first < block->n_rows; first += n_lanes) {
        const intptr_t left = block->n_rows - first;
        const intptr_t n_missing = starts[first + 1] - starts[first];
        const double *rows[LANES];
        double *shifts[LANES], logs[LANES] = {0}, squares[LANES] = {0};
        if (*block->stop)
            return -1;
        n_lanes = 1;
        while (n_lanes < LANES && n_lanes < left
               && starts[first + n_lanes + 1] - starts[first + n_lanes] == n_missing)
            n_lanes++;
        for (intptr_t lane = 0; lane < LANES; lane++) { /* the last lanes repeat a row */
            const intptr_t row = first + (lane < n_lanes ? lane : n_lanes - 1);
            rows[lane] = block->rows + row * D;
            shifts[lane] = block->shifts + row * D;
        }
        into_lanes_f64(D, rows, x);
        for (intptr_t d = 0; d < D; d++)
            for (intptr_t lane = 0; lane < LANES; lane++)
                x[d * LANES + lane] -= mean[d];
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const intptr_t row = first + (lane < n_lanes ? lane : n_lanes - 1);
            const intptr_t *gaps = block->columns + starts[row];
            for (intptr_t i = 0; i < n_missing; i++) {
                double *to = a + lane + tile_place(i / TILE, 0) + i % TILE * TILE * LANES;
                const double *own = precision + gaps[i] * D;
                x[gaps[i] * LANES + lane] = 0;
                for (intptr_t j = 0; j <= i; j += TILE, to += TILE * TILE * LANES)
                    for (intptr_t c = 0; c < TILE && j + c <= i; c++)
                        to[c * LANES] = own[gaps[j + c]];
            }
        }
        if (n_missing > 0) {
            multiply_lanes(D, 0, precision, x, y);
            for (intptr_t lane = 0; lane < LANES; lane++) {
                const intptr_t row = first + (lane < n_lanes ? lane : n_lanes - 1);
                for (intptr_t i = 0; i < n_missing; i++)
                    v[i * LANES + lane] =
                        y[block->columns[starts[row] + i] * LANES + lane];
            }
            n_indefinite += solve_lanes(n_missing, n_lanes, !block->covariances, a, b, v,
                                        inverse, logs);
        }
        for (intptr_t lane = 0; lane < n_lanes; lane++) {
            const intptr_t *gaps = block->columns + starts[first + lane];
            const double *noise = block->noise ? block->noise + (first + lane) * D : 0;
            for (intptr_t i = 0; i < n_missing; i++) {
                double moved = -v[i * LANES + lane];
                for (intptr_t j = i; noise && j < n_missing; j++)
                    moved += b[element_place(j, i) + lane] * noise[gaps[j]];
                x[gaps[i] * LANES + lane] = moved;
            }
            double *own = block->covariances + (first + lane) * block->stride, *to = own;
            for (intptr_t i = 0; block->covariances && i < n_missing; i++)
                for (intptr_t j = 0; j <= i; j++)
                    *to++ = a[element_place(i, j) + lane];
            if (block->weight)
                add_pairs(n_missing, D, gaps, block->weight[first + lane], own,
                          block->second);
        }
        for (intptr_t lane = n_lanes; lane < LANES; lane++) /* the same row again */
            for (intptr_t d = 0; d < D; d++)
                x[d * LANES + lane] = x[d * LANES + n_lanes - 1];
        from_lanes_f64(D, x, shifts);
        if (!block->root)
            continue;
        multiply_lanes(D, 1, block->root, x, y);
        for (intptr_t d = 0; d < D; d++)
            for (intptr_t lane = 0; lane < LANES; lane++)
                squares[lane] += y[d * LANES + lane] * y[d * LANES + lane];
        memcpy(block->squares + first, squares, (size_t)n_lanes * sizeof(double));
        memcpy(block->log_determinants + first, logs, (size_t)n_lanes * sizeof(double));
    }
    return n_indefinite;
}

#undef LANES
