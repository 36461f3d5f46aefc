/* Gaussian posteriors of users or items of a factorization, for one floating type.  Include it
 * after `wishart.h`, which includes `gaussian_lanes.h`.
 *
 * With E = rank + biases, x = (v, bias) and z = (v, 1), a table has for each Gaussian, in this
 * order,
 *     E[v v^T]   the packed rows of its lower triangle,
 *     E[z]       E entries, from `at_mean` on,
 *     E[z bias]  E entries, the last one E[bias],
 *     E[bias^2],
 * and zeros between them and after them.  Without biases, there is neither E[z bias] nor
 * E[bias^2].  A table and the sums consist of panels, one after the other.  A row of a panel
 * has some of the entries of one Gaussian. */
#define LANES (SIMD_BYTES / (intptr_t)sizeof(double))

/* Computes natural parameters from the transposed sums in `b`. */
ALWAYS_INLINE void NAME(natural_lanes)(const gaussians_block *block, const double *scales,
                                       const double *b, double *a, double *m)
{
    const intptr_t E = block->rank + block->biases;
    const double *prior = block->prior, *shared = block->shared;
    const double *restrict from = b;
    for (intptr_t i = 0; i < E; i++)
        for (intptr_t j = 0; j <= i; j++, from += LANES) {
            const double base = *prior++, more = shared ? *shared++ : 0;
            double *restrict to = a + element_place(i, j);
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                to[lane] = base + scales[lane] * (more + from[lane]);
        }
    for (intptr_t i = 0; i < E; i++) {
        const double *restrict sums = b + (block->at_linear + i) * LANES;
        double *restrict to = m + i * LANES;
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            to[lane] = prior[i] + scales[lane] * sums[lane];
    }
}

/* Computes rows of a table from covariances `a` and means `m`, and the traces, and adds them to
 * the total. */
ALWAYS_INLINE void NAME(table_lanes)(const gaussians_block *block, const double *weights,
                                     const double *a, const double *m, double *rows,
                                     double *trace)
{
    const intptr_t d = block->rank, biases = block->biases, E = d + biases;
    const intptr_t at = block->at_mean, n_products = d * (d + 1) / 2;
    const size_t entry = LANES * sizeof(double);
    const double *traced = block->traced;
    double *total = block->total, *out = rows, *mixed = rows + (at + E) * LANES;
    for (intptr_t i = 0; i < E; i++) {
        const double *restrict x = m + i * LANES;
        if (i == d)
            out = mixed;
        for (intptr_t j = 0; j <= i; j++, out += LANES) {
            const double share = (i == j ? 1 : 2) * *traced++;
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
    for (intptr_t i = 0; total && i < n_products; i++, total++) {
        double sum = 0;
        for (intptr_t lane = 0; lane < LANES; lane++)
            sum += weights[lane] * rows[i * LANES + lane];
        *total += sum;
    }
    for (intptr_t i = 0; total && i < d; i++)
        for (intptr_t lane = 0; lane < LANES; lane++)
            total[i] += weights[lane] * m[i * LANES + lane];
    memset(rows + n_products * LANES, 0, (size_t)(at - n_products) * entry);
    memcpy(rows + at * LANES, m, (size_t)d * entry);
    intptr_t n_written = at + E;
    if (biases) {
        memcpy(mixed + d * LANES, m + d * LANES, entry);
        for (intptr_t lane = 0; lane < LANES; lane++)
            rows[(at + d) * LANES + lane] = 1;
        n_written += E + 1;
    }
    memset(rows + n_written * LANES, 0,
           (size_t)(block->n_panels * block->panel - n_written) * entry);
}

/* Computes Gaussians, one in each lane.  Their natural parameters are
 * prior + scales * (sums + shared).  Without a table, only the means are written.  Returns the
 * number of precisions that are not positive definite, or -1 if `stop` is set. */
LOOP intptr_t NAME(gaussians)(gaussians_block *block)
{
    const intptr_t E = block->rank + block->biases, n_rows = block->n_rows;
    const double *prior = block->prior + E * (E + 1) / 2;
    double *a = block->scratch, *m = a + triangle_entries(E);
    double *inverse = m + vector_entries(E);
    double *linear = inverse + vector_entries(E);
    double *b = linear + vector_entries(E); /* transposed rows are before and after it */
    intptr_t n_indefinite = 0;
    for (intptr_t first = block->first; first < block->last; first += LANES) {
        const intptr_t left = block->last - first, n_lanes = left < LANES ? left : LANES;
        double log_determinant[LANES], weights[LANES], scales[LANES];
        double trace[LANES] = {0}, product[LANES] = {0}, prior_product[LANES] = {0};
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
        for (intptr_t p = 0; p < block->n_sums; p++) {
            const intptr_t n = block->sums_panel;
            const double *wide[LANES];
            const REAL *rows[LANES];
            for (intptr_t lane = 0; lane < LANES; lane++) {
                wide[lane] = (const double *)block->sums + (p * n_rows + own[lane]) * n;
                rows[lane] = (const REAL *)block->sums + (p * n_rows + own[lane]) * n;
            }
            if (block->has_wide_sums)
                into_lanes_f64(n, wide, b + p * n * LANES);
            else
                NAME(into_lanes)(n, rows, b + p * n * LANES);
        }
        NAME(natural_lanes)(block, scales, b, a, m);
        memcpy(linear, b + block->at_linear * LANES, (size_t)(E * LANES) * sizeof(double));
        n_indefinite +=
            solve_lanes(E, n_lanes, !block->table, a, b, m, inverse, log_determinant);
        for (intptr_t lane = 0; lane < n_lanes; lane++)
            for (intptr_t i = 0; i < E; i++)
                block->means[own[lane] * E + i] = m[i * LANES + lane];
        if (!block->table)
            continue;
        NAME(table_lanes)(block, weights, a, m, b, trace);
        for (intptr_t i = 0; i < E; i++) {
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                product[lane] += m[i * LANES + lane] * linear[i * LANES + lane];
        }
        for (intptr_t i = 0; i < E; i++)
            for (intptr_t lane = 0; lane < LANES; lane++)
                prior_product[lane] += prior[i] * m[i * LANES + lane];
        for (intptr_t p = 0; p < block->n_panels; p++) {
            const intptr_t n = block->panel;
            REAL *rows[LANES];
            for (intptr_t lane = 0; lane < LANES; lane++)
                rows[lane] = (REAL *)block->table + (p * n_rows + own[lane]) * n;
            NAME(from_lanes)(n, b + p * n * LANES, rows);
        }
        for (intptr_t lane = 0; lane < n_lanes; lane++) {
            double *scalars = block->scalars + own[lane];
            scalars[0] = log_determinant[lane];
            scalars[n_rows] = trace[lane];
            scalars[2 * n_rows] = product[lane];
            scalars[3 * n_rows] = prior_product[lane];
            if (!block->covariances)
                continue;
            double *to = block->covariances + own[lane] * (E * (E + 1) / 2);
            for (intptr_t i = 0; i < E; i++)
                for (intptr_t j = 0; j <= i; j++)
                    *to++ = a[element_place(i, j) + lane];
        }
    }
    return n_indefinite;
}

#undef LANES
