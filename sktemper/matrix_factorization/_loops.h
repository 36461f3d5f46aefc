/* Ratings, for one floating type: y = global mean + own bias + other bias + u . v.
 *
 * What the ratings of one side need of the Gaussian posteriors of the other stands in a
 * table, a row each.  With E = rank + biases and x = (v, bias), z = (v, 1) it holds, in
 * this order,
 *     E[v v^T]   the packed rows of its lower triangle,
 *     E[z]       E entries,
 *     E[z bias]  E entries, the last one E[bias],
 *     E[bias^2]
 * the last two only with biases, and zeros up to a whole number of SIMD_BYTES. */

#include "gaussian_lanes.h"

/* Ratings whose rows of the table are added at once, and after how many sums go on in
 * float64. */
#define AT_ONCE 4
#define MOST_ADDED 256

/* sums += factor row, weighted += factor y (its span), for AT_ONCE ratings. */
static inline void NAME(add_ratings)(intptr_t width, intptr_t from, intptr_t span,
                                     const REAL *const rows[AT_ONCE],
                                     const REAL factors[AT_ONCE], const REAL y[AT_ONCE],
                                     REAL *restrict sums, REAL *restrict weighted)
{
    const REAL *restrict a = rows[0], *restrict b = rows[1];
    const REAL *restrict c = rows[2], *restrict d = rows[3];
    const REAL fa = factors[0], fb = factors[1], fc = factors[2], fd = factors[3];
    VECTORISE
    for (intptr_t i = 0; i < width; i++)
        sums[i] += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
    a += from, b += from, c += from, d += from;
    const REAL ya = y[0], yb = y[1], yc = y[2], yd = y[3];
    VECTORISE
    for (intptr_t i = 0; i < span; i++)
        weighted[i] += (ya * a[i] + yb * b[i]) + (yc * c[i] + yd * d[i]);
}

/* Adds what ratings tell of their rows to sums; 0, or -1 when told to stop. */
LOOP int NAME(rating_sums)(ratings_block *block)
{
    const intptr_t d = block->rank, biases = block->biases, E = d + biases;
    const intptr_t n_own = E * (E + 1) / 2, width = block->width;
    const intptr_t from = d * (d + 1) / 2, span = biases ? 2 * E : E;
    const intptr_t stride = n_own + E + 2;
    const REAL *restrict table = block->table;
    const REAL *values = block->values, *factors = block->factors;
    REAL *restrict sums = block->scratch, *restrict weighted = sums + width;
    for (intptr_t row = 0; row < block->n_rows; row++) {
        double *restrict out = block->sums + row * stride;
        intptr_t next = block->starts[row];
        const intptr_t end = block->starts[row + 1];
        while (next < end) {
            if (*block->stop)
                return -1;
            const intptr_t last = next + MOST_ADDED < end ? next + MOST_ADDED : end;
            double squares = 0, total = 0;
            memset(sums, 0, (size_t)(width + span) * sizeof(REAL));
            for (; next < last; next += AT_ONCE) {
                const REAL *rows[AT_ONCE];
                REAL f[AT_ONCE], y[AT_ONCE];
                for (int i = 0; i < AT_ONCE; i++) {
                    const intptr_t j = next + i;
                    const intptr_t k = j < last ? j : next; /* a factor of 0 */
                    const REAL value = values[k];
                    const REAL factor = j < last ? (factors ? factors[k] : 1) : 0;
                    rows[i] = table + block->others[k] * width;
                    f[i] = factor;
                    y[i] = factor * value;
                    squares += (double)y[i] * value;
                    total += factor;
                }
                NAME(add_ratings)(width, from, span, (const REAL *const *)rows, f, y,
                                  sums, weighted);
            }
            VECTORISE
            for (intptr_t i = 0; i < n_own; i++)
                out[i] += (double)sums[i];
            double *restrict linear = out + n_own;
            if (biases) {
                VECTORISE
                for (intptr_t i = 0; i < E; i++)
                    linear[i] += (double)weighted[i] - (double)sums[n_own + i];
                squares += (double)sums[n_own + E] - 2 * (double)weighted[2 * E - 1];
            } else {
                VECTORISE
                for (intptr_t i = 0; i < E; i++)
                    linear[i] += (double)weighted[i];
            }
            linear[E] += squares;
            linear[E + 1] += total;
        }
    }
    return 0;
}

/* E[f] and E[f^2] of each rating's f = u . v + biases; 0, or -1 when told to stop. */
LOOP int NAME(rating_moments)(ratings_block *block, const REAL *restrict own_table)
{
    const intptr_t d = block->rank, biases = block->biases, E = d + biases;
    const intptr_t width = block->width, n_products = d * (d + 1) / 2;
    const REAL *restrict table = block->table;
    for (intptr_t row = 0; row < block->n_rows; row++) {
        const REAL *restrict u = own_table
                                 + (block->own_rows ? block->own_rows[row] : row) * width;
        for (intptr_t n = block->starts[row]; n < block->starts[row + 1]; n++) {
            if (*block->stop)
                return -1;
            const REAL *restrict v = table + block->others[n] * width;
            double twice = 0, once = 0, mean = 0;
            VECTORISE_REDUCTION(+ : twice)
            for (intptr_t i = 0; i < n_products; i++)
                twice += (double)u[i] * v[i];
            for (intptr_t i = 0, at = 0; i < d; at += ++i + 1)
                once += (double)u[at] * v[at];
            const REAL *restrict u1 = u + n_products, *restrict v1 = v + n_products;
            for (intptr_t i = 0; i < d; i++)
                mean += (double)u1[i] * v1[i];
            double square = 2 * twice - once;
            if (biases) {
                const REAL *restrict ub = u1 + E, *restrict vb = v1 + E;
                double mixed = (double)ub[d] * vb[d];
                for (intptr_t i = 0; i < d; i++)
                    mixed += (double)ub[i] * v1[i] + (double)u1[i] * vb[i];
                square += 2 * mixed + (double)ub[E] + (double)vb[E];
                mean += (double)ub[d] + vb[d];
            }
            block->means[n] = mean;
            block->squares[n] = square;
        }
    }
    return 0;
}

/* The Gaussians whose natural parameters, precision and precision times mean, are those
 * of the prior and `scales` times sums: a lane each.  Returns how many are indefinite, or
 * -1 when told to stop. */
LOOP intptr_t NAME(gaussians)(gaussians_block *block)
{
    const intptr_t d = block->rank, biases = block->biases, E = d + biases;
    const intptr_t n_own = E * (E + 1) / 2, width = block->width;
    const double *restrict prior = block->prior;
    double *restrict a = block->scratch;
    double *restrict b = a + n_own * LANES;
    double *restrict m = b + n_own * LANES;
    double *restrict inverse = m + E * LANES;
    intptr_t n_indefinite = 0;
    for (intptr_t first = 0; first < block->n_rows; first += LANES) {
        const intptr_t n = block->n_rows - first;
        const intptr_t n_lanes = n < LANES ? n : LANES;
        double log_determinant[LANES], trace[LANES] = {0};
        if (*block->stop)
            return -1;
        for (intptr_t lane = 0; lane < LANES; lane++) {
            /* lanes behind the last row repeat it */
            const intptr_t row = first + (lane < n_lanes ? lane : n_lanes - 1);
            const double *restrict sums = block->sums + row * block->stride;
            const double scale = block->scales[row];
            for (intptr_t i = 0; i < n_own; i++)
                a[i * LANES + lane] = prior[i] + scale * sums[i];
            for (intptr_t i = 0; i < E; i++)
                m[i * LANES + lane] = prior[n_own + i] + scale * sums[n_own + i];
        }
        n_indefinite += NAME(solve_lanes)(E, n_lanes, a, b, m, inverse, log_determinant);
        for (intptr_t i = 0; i < E; i++)
            for (intptr_t j = 0; j <= i; j++) {
                const double share = (i == j ? 1 : 2) * prior[AT(i, j) / LANES];
                const double *restrict x = m + i * LANES, *restrict y = m + j * LANES;
                const double *restrict covariance = a + AT(i, j);
                VECTORISE
                for (intptr_t lane = 0; lane < LANES; lane++)
                    trace[lane] += share * (covariance[lane] + x[lane] * y[lane]);
            }
        for (intptr_t lane = 0; lane < n_lanes; lane++) {
            const intptr_t row = first + lane;
            REAL *restrict out = (REAL *)block->table + row * width;
            double *restrict mean = block->means + row * E;
            block->log_determinants[row] = log_determinant[lane];
            block->prior_traces[row] = trace[lane];
            for (intptr_t i = 0; i < E; i++)
                mean[i] = m[i * LANES + lane];
            if (block->covariances)
                for (intptr_t i = 0; i < n_own; i++)
                    block->covariances[row * n_own + i] = a[i * LANES + lane];
            if (!out)
                continue;
            intptr_t at = 0;
            for (intptr_t i = 0; i < d; i++)
                for (intptr_t j = 0; j <= i; j++)
                    out[at++] = (REAL)(a[AT(i, j) + lane] + mean[i] * mean[j]);
            for (intptr_t i = 0; i < d; i++)
                out[at++] = (REAL)mean[i];
            if (biases) {
                out[at++] = 1;
                for (intptr_t j = 0; j < d; j++)
                    out[at++] = (REAL)(a[AT(d, j) + lane] + mean[d] * mean[j]);
                out[at++] = (REAL)mean[d];
                out[at++] = (REAL)(a[AT(d, d) + lane] + mean[d] * mean[d]);
            }
            for (; at < width; at++)
                out[at] = 0;
        }
    }
    return n_indefinite;
}

#undef LANES
#undef AT
#undef UPPER
#undef TILE
#undef TILE_SUMS
#undef AT_ONCE
#undef MOST_ADDED
