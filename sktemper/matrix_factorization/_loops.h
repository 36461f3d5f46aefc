/* Ratings, for one floating type: y = global mean + own bias + other bias + u . v.
 *
 * A table has the moments of the Gaussian posteriors of all items or of some users, one row
 * for each posterior, see `factor_gaussians.h`.  There are no zeros before E[z], and zeros up
 * to a multiple of SIMD_BYTES after the last entry. */

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
