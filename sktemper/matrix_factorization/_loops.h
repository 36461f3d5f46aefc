/* Ratings, for one floating type: y = global mean + own bias + other bias + u . v.
 *
 * A table has the moments of the Gaussian posteriors of all items or of some users, one row
 * for each posterior.  With E = rank + biases, x = (v, bias) and z = (v, 1), a row has, in
 * this order,
 *     E[v v^T]   the packed rows of its lower triangle,
 *     E[z]       E entries,
 *     E[z bias]  E entries, the last one E[bias],
 *     E[bias^2],
 * followed by zeros up to a multiple of SIMD_BYTES.  Without biases, a row has neither
 * E[z bias] nor E[bias^2]. */

#include "gaussian_lanes.h"
#include "_sums.h"

/* Writes E[f] and E[f^2] for f = u . v + biases of each rating.  Returns 0, or -1 if `stop`
 * is set. */
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

/* out += x y. */
static inline void NAME(add_products)(intptr_t n, const double *restrict x,
                                      const double *restrict y, double *restrict out)
{
    for (intptr_t i = 0; i < n; i++) {
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            out[lane] += x[i * LANES + lane] * y[i * LANES + lane];
    }
}

/* Computes the rows of a table from covariances `a` and means `m`, and the traces. */
static inline void NAME(table_lanes)(intptr_t d, intptr_t biases, intptr_t width,
                                     const double *prior, const double *a,
                                     const double *m, double *rows, double *trace)
{
    const intptr_t E = d + biases, n_products = d * (d + 1) / 2;
    double *out = rows, *mixed = rows + (n_products + E) * LANES;
    for (intptr_t i = 0; i < E; i++) {
        const double *restrict x = m + i * LANES;
        if (i == d)
            out = mixed;
        for (intptr_t j = 0; j <= i; j++, out += LANES, prior++) {
            const double share = (i == j ? 1 : 2) * *prior;
            const double *restrict y = m + j * LANES;
            const double *restrict covariance = a + element_place(i, j);
            double *restrict to = i == d && j == d ? out + LANES : out;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++) {
                const double square = covariance[lane] + x[lane] * y[lane];
                to[lane] = square;
                trace[lane] += share * square;
            }
        }
    }
    memcpy(rows + n_products * LANES, m, (size_t)(d * LANES) * sizeof(double));
    intptr_t n_written = n_products + E;
    if (biases) {
        memcpy(mixed + d * LANES, m + d * LANES, LANES * sizeof(double));
        for (intptr_t lane = 0; lane < LANES; lane++)
            rows[(n_products + d) * LANES + lane] = 1;
        n_written += E + 1;
    }
    memset(rows + n_written * LANES, 0,
           (size_t)((width - n_written) * LANES) * sizeof(double));
}

/* Writes the results of some rows, one from each lane. */
static void NAME(write_lanes)(const gaussians_block *block, intptr_t first,
                              intptr_t n_lanes, const double *a, const double *m,
                              const double *table)
{
    const intptr_t E = block->rank + block->biases, n_own = E * (E + 1) / 2;
    REAL *rows[LANES];
    for (intptr_t lane = 0; lane < LANES; lane++) {
        /* the last lanes may have no row: they repeat the last row */
        const intptr_t row = first + (lane < n_lanes ? lane : n_lanes - 1);
        rows[lane] = (REAL *)block->table + row * block->width;
        for (intptr_t i = 0; i < E; i++)
            block->means[row * E + i] = m[i * LANES + lane];
        if (!block->covariances)
            continue;
        double *to = block->covariances + row * n_own;
        for (intptr_t i = 0; i < E; i++)
            for (intptr_t j = 0; j <= i; j++)
                *to++ = a[element_place(i, j) + lane];
    }
    NAME(from_lanes)(block->width, table, (REAL *const *)rows);
}

/* Computes Gaussians, one in each lane.  Their natural parameters are those of the prior plus
 * `scales` times sums.  Returns the number of precisions that are not positive definite, or
 * -1 if `stop` is set. */
LOOP intptr_t NAME(gaussians)(gaussians_block *block)
{
    const intptr_t d = block->rank, E = d + block->biases, n_own = E * (E + 1) / 2;
    const intptr_t n_natural = n_own + E;
    const double *prior = block->prior;
    double *a = block->scratch, *m = a + triangle_entries(E);
    double *inverse = m + vector_entries(E);
    double *linear = inverse + vector_entries(E);
    double *b = linear + vector_entries(E); /* transposed rows are before and after it */
    intptr_t n_indefinite = 0;
    for (intptr_t first = 0; first < block->n_rows; first += LANES) {
        const intptr_t n = block->n_rows - first;
        const intptr_t n_lanes = n < LANES ? n : LANES;
        const double *rows[LANES];
        double scales[LANES], log_determinant[LANES];
        double trace[LANES] = {0}, product[LANES] = {0}, prior_product[LANES] = {0};
        if (*block->stop)
            return -1;
        for (intptr_t lane = 0; lane < LANES; lane++) {
            /* the last lanes may have no row: they repeat the last row */
            const intptr_t row = first + (lane < n_lanes ? lane : n_lanes - 1);
            rows[lane] = block->sums + row * block->stride;
            scales[lane] = block->scales[row];
        }
        into_lanes_f64(n_natural, rows, b); /* the sums are in float64 */
        const double *from = b, *base = prior;
        for (intptr_t i = 0; i <= E; i++)
            for (intptr_t j = 0; j < (i < E ? i + 1 : E); j++, from += LANES, base++) {
                double *restrict to = i < E ? a + element_place(i, j) : m + j * LANES;
                const double at_least = *base;
                VECTORISE
                for (intptr_t lane = 0; lane < LANES; lane++)
                    to[lane] = at_least + scales[lane] * from[lane];
            }
        memcpy(linear, b + n_own * LANES, (size_t)(E * LANES) * sizeof(double));
        n_indefinite += solve_lanes(E, n_lanes, 0, a, b, m, inverse, log_determinant);
        NAME(table_lanes)(d, block->biases, block->width, prior, a, m, b, trace);
        NAME(add_products)(E, m, linear, product);
        for (intptr_t i = 0; i < E; i++)
            for (intptr_t lane = 0; lane < LANES; lane++)
                prior_product[lane] += prior[n_own + i] * m[i * LANES + lane];
        for (intptr_t lane = 0; lane < n_lanes; lane++) {
            const intptr_t row = first + lane;
            block->log_determinants[row] = log_determinant[lane];
            block->prior_traces[row] = trace[lane];
            block->products[row] = product[lane];
            block->prior_products[row] = prior_product[lane];
        }
        NAME(write_lanes)(block, first, n_lanes, a, m, b);
    }
    return n_indefinite;
}
