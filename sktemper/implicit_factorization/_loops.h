/* Implicit feedback, for one floating type.
 *
 * A table has the moments of the Gaussian posteriors of all items or of some users.  It is
 * divided into panels, one after the other.  A row of a panel has PANEL moments of one
 * posterior.  The first panels have the packed lower triangle of E[x x^T], and the remaining
 * panels have E[x].  Both are padded with zeros to whole panels.  Sums over pairs have the
 * same layout.  One panel is summed at a time, because a panel fits into the cache of a core,
 * and a whole table does not. */
#include "gaussian_lanes.h"

#define PANEL (PANEL_BYTES / (intptr_t)sizeof(REAL))
/* Number of pairs that are added at once, and largest number in one partial sum, because the
 * rounding error of a sum grows with the number of its terms. */
#define AT_ONCE 4
#define MOST_ADDED 512

#ifdef VECTOR_BYTES
#define VECTOR NAME(panel_vector)
typedef REAL VECTOR __attribute__((vector_size(VECTOR_BYTES), may_alias));
#else
#define VECTOR REAL
#endif
#define N_VECTORS ((int)(PANEL_BYTES / sizeof(VECTOR)))

/* Computes the sum of factor times row over some pairs.  Writes the sum to `out` if `first` is
 * set, and adds it to `out` otherwise. */
static inline void NAME(add_pairs)(intptr_t n_pairs, const int32_t *restrict others,
                                   const REAL *restrict factors,
                                   const REAL *restrict panel, int first,
                                   REAL *restrict out)
{
    const VECTOR *restrict rows = (const VECTOR *)panel;
    VECTOR *restrict to = (VECTOR *)out;
    const VECTOR zero = {0};
    VECTOR sums[N_VECTORS];
    intptr_t k = 0;
    UNROLLED
    for (int i = 0; i < N_VECTORS; i++)
        sums[i] = zero;
    for (; k + AT_ONCE <= n_pairs; k += AT_ONCE) {
        const VECTOR *restrict a = rows + (intptr_t)others[k] * N_VECTORS;
        const VECTOR *restrict b = rows + (intptr_t)others[k + 1] * N_VECTORS;
        const VECTOR *restrict c = rows + (intptr_t)others[k + 2] * N_VECTORS;
        const VECTOR *restrict d = rows + (intptr_t)others[k + 3] * N_VECTORS;
        const REAL fa = factors[k], fb = factors[k + 1];
        const REAL fc = factors[k + 2], fd = factors[k + 3];
        UNROLLED
        for (int i = 0; i < N_VECTORS; i++)
            sums[i] += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
    }
    for (; k < n_pairs; k++) {
        const VECTOR *restrict a = rows + (intptr_t)others[k] * N_VECTORS;
        const REAL fa = factors[k];
        UNROLLED
        for (int i = 0; i < N_VECTORS; i++)
            sums[i] += fa * a[i];
    }
    UNROLLED
    for (int i = 0; i < N_VECTORS; i++) {
        if (first)
            to[i] = sums[i];
        else
            to[i] += sums[i];
    }
}

/* Writes the sums over the pairs of each row.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(pair_sums)(pairs_block *block)
{
    const intptr_t n_rows = block->n_rows, n_others = block->n_others;
    for (intptr_t p = 0; p < block->n_panels; p++) {
        const REAL *panel = (const REAL *)block->table + p * n_others * PANEL;
        const REAL *factors = p < block->n_square_panels ? block->square_factors
                                                         : block->linear_factors;
        REAL *sums = (REAL *)block->sums + p * n_rows * PANEL;
        for (intptr_t row = 0; row < n_rows; row++) {
            const intptr_t start = block->starts[row], end = block->starts[row + 1];
            intptr_t next = start;
            do {
                const intptr_t left = end - next;
                const intptr_t n = left < MOST_ADDED ? left : MOST_ADDED;
                if (*block->stop)
                    return -1;
                NAME(add_pairs)(n, block->others + next, factors + next, panel,
                                next == start, sums + row * PANEL);
                next += n;
            } while (next < end);
        }
    }
    return 0;
}

/* total += factor part.  Row r of the part is added to row `places[r]` of the total, or to
 * row r if `places` is NULL. */
LOOP int NAME(add_sums)(intptr_t n_panels, intptr_t n_rows, intptr_t n_part,
                        const int32_t *places, double factor,
                        const REAL *restrict part, REAL *restrict total,
                        const volatile int *stop)
{
    const REAL by = (REAL)factor;
    for (intptr_t p = 0; p < n_panels; p++) {
        if (*stop)
            return -1;
        for (intptr_t r = 0; r < n_part; r++) {
            const REAL *restrict from = part + (p * n_part + r) * PANEL;
            REAL *restrict to = total + (p * n_rows + (places ? places[r] : r)) * PANEL;
            VECTORISE
            for (intptr_t i = 0; i < PANEL; i++)
                to[i] += by * from[i];
        }
    }
    return 0;
}

/* Computes the natural parameters of some rows from their transposed sums in `b`. */
static void NAME(natural_lanes)(const gaussians_block *block, const double *scales,
                                const double *b, double *a, double *m)
{
    const intptr_t d = block->rank, n_square = block->n_square_panels * PANEL;
    const double *prior = block->prior, *shared = block->shared, *from = b;
    for (intptr_t i = 0; i < d; i++)
        for (intptr_t j = 0; j <= i; j++, from += LANES) {
            const double base = *prior++, more = shared ? *shared++ : 0;
            double *restrict to = a + element_place(i, j);
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                to[lane] = base + scales[lane] * (more + from[lane]);
        }
    for (intptr_t i = 0; i < d; i++) {
        const double *restrict sums = b + (n_square + i) * LANES;
        double *restrict to = m + i * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            to[lane] = prior[i] + scales[lane] * sums[lane];
    }
}

/* Computes rows of a table from covariances `a` and means `m`, and adds them to the total. */
static void NAME(table_lanes)(const gaussians_block *block, const double *weights,
                              const double *a, const double *m, double *rows,
                              double *trace)
{
    const intptr_t d = block->rank, n_packed = d * (d + 1) / 2;
    const intptr_t n_square = block->n_square_panels * PANEL;
    const double *traced = block->traced;
    double *total = block->total, *out = rows;
    for (intptr_t i = 0; i < d; i++) {
        const double *restrict x = m + i * LANES;
        for (intptr_t j = 0; j <= i; j++, out += LANES) {
            const double share = (i == j ? 1 : 2) * *traced++;
            const double *restrict y = m + j * LANES;
            const double *restrict covariance = a + element_place(i, j);
            double *restrict to = out;
            double sum = 0;
            for (intptr_t lane = 0; lane < LANES; lane++) {
                to[lane] = covariance[lane] + x[lane] * y[lane];
                trace[lane] += share * to[lane];
            }
            for (intptr_t lane = 0; lane < LANES; lane++)
                sum += weights[lane] * to[lane];
            *total++ += sum;
        }
    }
    for (intptr_t i = 0; i < d; i++)
        for (intptr_t lane = 0; lane < LANES; lane++)
            total[i] += weights[lane] * m[i * LANES + lane];
    memset(out, 0, (size_t)((n_square - n_packed) * LANES) * sizeof(double));
    out = rows + n_square * LANES;
    memcpy(out, m, (size_t)(d * LANES) * sizeof(double));
    memset(out + d * LANES, 0,
           (size_t)((PANEL - d % PANEL) % PANEL * LANES) * sizeof(double));
}

/* Computes the moments of Gaussians.  Their natural parameters are
 * prior + scales * (sums + shared).  Without a table, only the means are written.  Returns the
 * number of precisions that are not positive definite, or -1 if `stop` is set. */
LOOP intptr_t NAME(gaussians)(gaussians_block *block)
{
    const intptr_t d = block->rank, n_rows = block->n_rows;
    const intptr_t n_panels = block->n_square_panels + (d + PANEL - 1) / PANEL;
    double *a = block->scratch, *m = a + triangle_entries(d);
    double *inverse = m + vector_entries(d);
    double *linear = inverse + vector_entries(d);
    double *b = linear + vector_entries(d); /* transposed rows are before and after it */
    intptr_t n_indefinite = 0;
    for (intptr_t first = block->first; first < block->last; first += LANES) {
        const intptr_t left = block->last - first, n_lanes = left < LANES ? left : LANES;
        double log_determinant[LANES], trace[LANES] = {0}, product[LANES] = {0};
        double weights[LANES], scales[LANES];
        intptr_t own[LANES];
        if (*block->stop)
            return -1;
        for (intptr_t lane = 0; lane < LANES; lane++) {
            /* the last lanes may have no row: they repeat the last row with weight 0 */
            const intptr_t row = first + (lane < n_lanes ? lane : n_lanes - 1);
            const double weight = block->weights ? block->weights[row] : 1;
            own[lane] = row;
            weights[lane] = lane < n_lanes ? weight : 0;
            scales[lane] = block->scales ? block->scales[row] : 1;
        }
        for (intptr_t p = 0; p < n_panels; p++) {
            const REAL *rows[LANES];
            for (intptr_t lane = 0; lane < LANES; lane++)
                rows[lane] = (const REAL *)block->sums + (p * n_rows + own[lane]) * PANEL;
            NAME(into_lanes)(PANEL, rows, b + p * PANEL * LANES);
        }
        NAME(natural_lanes)(block, scales, b, a, m);
        memcpy(linear, b + block->n_square_panels * PANEL * LANES,
               (size_t)(d * LANES) * sizeof(double));
        n_indefinite +=
            solve_lanes(d, n_lanes, !block->table, a, b, m, inverse, log_determinant);
        for (intptr_t lane = 0; lane < n_lanes; lane++)
            for (intptr_t i = 0; i < d; i++)
                block->means[own[lane] * d + i] = m[i * LANES + lane];
        if (!block->table)
            continue;
        NAME(table_lanes)(block, weights, a, m, b, trace);
        for (intptr_t i = 0; i < d * LANES; i++)
            product[i % LANES] += m[i] * linear[i];
        for (intptr_t p = 0; p < n_panels; p++) {
            REAL *rows[LANES];
            for (intptr_t lane = 0; lane < LANES; lane++)
                rows[lane] = (REAL *)block->table + (p * n_rows + own[lane]) * PANEL;
            NAME(from_lanes)(PANEL, b + p * PANEL * LANES, rows);
        }
        for (intptr_t lane = 0; lane < n_lanes; lane++) {
            const intptr_t row = own[lane];
            block->log_determinants[row] = log_determinant[lane];
            block->traces[row] = trace[lane];
            block->products[row] = product[lane];
        }
    }
    return n_indefinite;
}
