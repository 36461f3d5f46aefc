/* Samples with gaps, in float64: `gapped_rows` of them at a time are completed given
 * each component.  `_gaps.py` has the formulas.  Samples of the same number of gaps, which are
 * sorted, stand in GAP_LANES lanes, so that all lanes take the same way and the bits of a sample
 * do not depend on the others.  Arrays of samples have the shape (n_components, ASCENT_ROWS), and
 * completed samples have (n_components, n_features, MOMENT_ROWS). */
#ifndef SKTEMPER_GAPS_H
#define SKTEMPER_GAPS_H

enum { GAP_LANES = SIMD_BYTES / sizeof(double) };

/* y = matrix x in all lanes, or for a lower triangle; writes whole groups of TILE entries. */
static void multiply_lanes(intptr_t d, int is_lower, const double *matrix,
                           const gaussian_vector *x, gaussian_vector *y)
{
    const gaussian_vector zero = {0};
    for (intptr_t i = 0; i < d; i += TILE)
        for (int part = 0; part < PARTS; part++) {
            const intptr_t end = is_lower && i + TILE < d ? i + TILE : d;
            gaussian_vector sums[TILE];
            for (int r = 0; r < TILE; r++)
                sums[r] = zero;
            for (intptr_t j = 0; j < end; j++)
                UNROLLED
                for (int r = 0; r < TILE; r++)
                    sums[r] += matrix[(i + r < d ? i + r : d - 1) * d + j] * x[j * PARTS + part];
            for (int r = 0; r < TILE; r++)
                y[(i + r) * PARTS + part] = sums[r];
        }
}

/* Computes the expected precisions. */
static void begin_gaps(const ascent_block *b)
{
    const intptr_t D = b->n_features, size = b->n_factors;
    memset(b->precisions, 0, (size_t)(b->n_matrices * size) * sizeof(double));
    for (intptr_t k = 0; k < b->n_matrices; k++) {
        const double *factors = b->now.factors + k * size, nu = b->now.freedom[k];
        double *own = b->precisions + k * size;
        if (b->is_full)
            add_scale(b, nu, factors, own);
        for (intptr_t i = 0; i < D; i++)
            for (intptr_t j = 0; j < i && b->is_full; j++)
                own[j * D + i] = own[i * D + j];
        for (intptr_t d = 0; d < D && !b->is_full; d++)
            own[d] = nu * (factors[d] * factors[d]);
    }
}

/* Completes n samples of the same number of gaps, from sample i on, or draws their missing values
 * with `noise`; `at` is the first of their places.  If a precision of missing values is
 * not positive definite, its log determinant is NAN. */
static void complete_lanes(const ascent_block *b, intptr_t k, intptr_t i, intptr_t n, intptr_t at,
                           const double *noise)
{
    const intptr_t D = b->n_features, n_missing = b->starts[i + 1] - b->starts[i];
    const double *mean = b->now.means + k * D, *precision = b->precisions + k * b->step;
    double *a = b->lanes, *c = a + triangle_entries(D), *v = c + triangle_entries(D);
    double *inverse = v + vector_entries(D), *x = inverse + vector_entries(D);
    double *y = x + vector_entries(D), logs[GAP_LANES], squares[GAP_LANES] = {0};
    double *shifts = b->completed + k * D * MOMENT_ROWS + at;
    const intptr_t *gaps[GAP_LANES];
    for (intptr_t lane = 0; lane < GAP_LANES; lane++) { /* the last lanes repeat a sample */
        const intptr_t own = i + (lane < n ? lane : n - 1);
        const double *row = (const double *)b->samples + b->order[own] * D;
        gaps[lane] = b->columns + b->starts[own];
        for (intptr_t d = 0; d < D; d++)
            x[d * GAP_LANES + lane] = row[d] - b->origin[d] - mean[d];
        for (intptr_t j = 0; j < n_missing; j++)
            x[gaps[lane][j] * GAP_LANES + lane] = 0;
    }
    multiply_lanes(D, 0, precision, (gaussian_vector *)x, (gaussian_vector *)y);
    for (intptr_t lane = 0; lane < GAP_LANES; lane++)
        for (intptr_t j = 0; j < n_missing; j++) {
            const double *row = precision + gaps[lane][j] * D;
            v[j * GAP_LANES + lane] = y[gaps[lane][j] * GAP_LANES + lane];
            for (intptr_t l = 0; l <= j; l++)
                a[element_place(j, l) + lane] = row[gaps[lane][l]];
        }
    solve_lanes(n_missing, n, b->only_bound, a, c, v, inverse, logs);
    for (intptr_t lane = 0; lane < n; lane++) {
        double *covariance = b->covariances + (k * b->gapped_rows + at + lane) * b->most_pairs;
        const double *draws = noise ? noise + b->order[i + lane] * D : 0;
        for (intptr_t j = 0; j < n_missing; j++) {
            double moved = -v[j * GAP_LANES + lane];
            for (intptr_t l = j; draws && l < n_missing; l++)
                moved += c[element_place(l, j) + lane] * draws[gaps[lane][l]];
            x[gaps[lane][j] * GAP_LANES + lane] = moved;
            for (intptr_t l = 0; l <= j && !b->only_bound; l++)
                *covariance++ = a[element_place(j, l) + lane];
        }
    }
    multiply_lanes(D, 1, b->now.factors + k * b->step, (gaussian_vector *)x,
                   (gaussian_vector *)y);
    for (intptr_t d = 0; d < D; d++) {
        for (intptr_t lane = 0; lane < GAP_LANES; lane++)
            squares[lane] += y[d * GAP_LANES + lane] * y[d * GAP_LANES + lane];
        memcpy(shifts + d * MOMENT_ROWS, x + d * GAP_LANES, (size_t)n * sizeof(double));
    }
    for (intptr_t lane = 0; lane < n; lane++) {
        b->log_rates[k * ASCENT_ROWS + at + lane] = logs[lane];
        b->squares[k * ASCENT_ROWS + at + lane] = b->now.freedom[k] * squares[lane];
    }
}

/* Completes n samples, from sample `first` on, if columns are independent. */
static void complete_columns(const ascent_block *b, intptr_t k, intptr_t first, intptr_t n,
                             const double *noise)
{
    const intptr_t D = b->n_features;
    const double *rows = b->samples;
    double *restrict squares = b->squares + k * ASCENT_ROWS;
    double *restrict logs = b->log_rates + k * ASCENT_ROWS;
    memset(squares, 0, (size_t)n * sizeof(double));
    memset(logs, 0, (size_t)n * sizeof(double));
    for (intptr_t d = 0; d < D; d++) {
        const double mean = b->now.means[k * D + d], precision = b->precisions[k * D + d];
        const double log_precision = log(precision), width = sqrt(1 / precision);
        const double origin = b->origin[d];
        double *restrict shifts = b->completed + (k * D + d) * MOMENT_ROWS;
        VECTORISE
        for (intptr_t i = 0; i < n; i++) {
            const double x = rows[b->order[first + i] * D + d];
            shifts[i] = x == x ? x - origin - mean : 0;
            squares[i] += shifts[i] * shifts[i] * precision;
            logs[i] += x == x ? 0 : log_precision;
        }
        for (intptr_t i = 0; noise && i < n; i++) {
            const intptr_t at = b->order[first + i] * D + d;
            shifts[i] += rows[at] == rows[at] ? 0 : noise[at] * width;
        }
    }
}

/* Completes n samples given each component; returns -1 if `stop` is set. */
static int complete_samples(const ascent_block *b, intptr_t first, intptr_t n,
                            const double *noise)
{
    const intptr_t *starts = b->starts + first;
    for (intptr_t k = 0; k < b->n_components; k++) {
        if (!b->is_full)
            complete_columns(b, k, first, n, noise);
        for (intptr_t i = 0, n_lanes = 1; i < n && b->is_full; i += n_lanes, n_lanes = 1) {
            if (*b->steps.stop)
                return -1;
            while (n_lanes < GAP_LANES && i + n_lanes < n
                   && starts[i + n_lanes + 1] - starts[i + n_lanes] == starts[i + 1] - starts[i])
                n_lanes++;
            complete_lanes(b, k, first + i, n_lanes, i, noise);
        }
    }
    return *b->steps.stop ? -1 : 0;
}

/* Adds n completed samples, times their shares, to `rows` unless NULL, and their expected moments
 * to the statistics. */
static void add_completed(const ascent_block *b, intptr_t first, intptr_t n, double power,
                          double *rows)
{
    const intptr_t D = b->n_features, part = b->stored < D ? D : 1;
    for (intptr_t k = 0; k < b->n_components; k++) {
        const double *mean = b->now.means + k * D, *precision = b->precisions + k * b->step;
        double *restrict y = b->completed + k * D * MOMENT_ROWS, *restrict weighted = b->filled;
        double *restrict shares = b->scaled_shares + k * ASCENT_ROWS;
        double *second = b->is_common ? b->total + 1 + D : b->second + k * b->stored, *to = second;
        for (intptr_t i = 0; i < n; i++) {
            const intptr_t *gap = b->columns + b->starts[first + i], *before = gap;
            const intptr_t *end = b->columns + b->starts[first + i + 1];
            const double *covariance = b->covariances + (k * b->gapped_rows + i) * b->most_pairs;
            shares[i] *= power * (b->row_weight ? b->row_weight[b->order[first + i]] : 1);
            b->counts[k] += shares[i];
            for (; gap < end && !b->is_full; gap++)
                second[part > 1 ? 0 : *gap] += shares[i] / precision[*gap] / (double)part;
            for (; gap < end; gap++)
                for (const intptr_t *other = before; other <= gap; other++)
                    second[*gap * (2 * D - *gap - 1) / 2 + *other] += shares[i] * *covariance++;
        }
        for (intptr_t d = 0; d < D; d++) {
            double sum = 0;
            VECTORISE_REDUCTION(+ : sum)
            for (intptr_t i = 0; i < n; i++) {
                y[d * MOMENT_ROWS + i] += mean[d];
                weighted[d * MOMENT_ROWS + i] = shares[i] * y[d * MOMENT_ROWS + i];
                sum += weighted[d * MOMENT_ROWS + i];
            }
            b->sums[k * D + d] += sum;
            for (intptr_t i = 0; rows && i < n; i++)
                rows[b->order[first + i] * D + d] += weighted[d * MOMENT_ROWS + i];
        }
        for (intptr_t d = 0; d < D; d++)
            for (intptr_t c = d; c < (b->is_full ? D : d + 1); c++) {
                double sum = 0;
                VECTORISE_REDUCTION(+ : sum)
                for (intptr_t i = 0; i < n; i++)
                    sum += weighted[d * MOMENT_ROWS + i] * y[c * MOMENT_ROWS + i];
                *to += sum / (double)part;
                to += part == 1;
            }
    }
}

/* The local step of n samples; returns -1 if `stop` is set. */
static int gapped_step(const ascent_block *b, intptr_t first, intptr_t n)
{
    double top[ASCENT_ROWS], bounds[ASCENT_ROWS];
    if (complete_samples(b, first, n, 0))
        return -1;
    for (intptr_t k = 0; k < b->n_components; k++) {
        double *logs = b->scaled_shares + k * ASCENT_ROWS;
        const double *squares = b->squares + k * ASCENT_ROWS;
        const double *log_determinants = b->log_rates + k * ASCENT_ROWS;
        for (intptr_t i = 0; i < n; i++) {
            const double n_missing = (double)(b->starts[first + i + 1] - b->starts[first + i]);
            const double twice = LOG_TWO_PI * n_missing - (squares[i] + log_determinants[i]);
            logs[i] = b->powers[2] * (b->constants[k] + 0.5 * twice);
            top[i] = k == 0 || logs[i] > top[i] ? logs[i] : top[i];
        }
    }
    shares_of_logs(b, n, top, bounds);
    for (intptr_t i = 0; i < n; i++) {
        const intptr_t row = b->order[first + i];
        b->row_bounds[row] = bounds[i];
        *b->bound += (b->row_weight ? b->row_weight[row] : 1) * bounds[i];
    }
    if (!b->only_bound)
        add_completed(b, first, n, b->powers[1], 0);
    return 0;
}
#endif
