/* Steps of mixtures whose samples have gaps: MOMENT_ROWS samples at a time are completed given
 * each component.  `_gaps.py` has the formulas, and its methods are the reference. */

/* Computes the expected precisions L and their roots R, both of them symmetric or diagonal. */
static void NAME(begin_gaps)(const ascent_block *b)
{
    const intptr_t D = b->n_features;
    for (intptr_t k = 0; k < b->n_matrices; k++) {
        const double *factors = b->now.factors + k * b->n_factors, nu = b->now.freedom[k];
        double *root = b->roots + k * b->n_factors, *own = b->precisions + k * b->n_factors;
        memset(own, 0, (size_t)b->n_factors * sizeof(double));
        for (intptr_t e = 0; e < b->n_factors; e++)
            root[e] = sqrt(nu) * factors[e];
        for (intptr_t d = 0; d < D && !b->is_full; d++)
            own[d] = root[d] * root[d];
        if (b->is_full)
            add_scale(b, nu, factors, own);
        for (intptr_t i = 0; i < D && b->is_full; i++)
            for (intptr_t j = 0; j < i; j++)
                own[j * D + i] = own[i * D + j];
    }
}

/* Completes n samples given component k: writes shifts, distances and log determinants. */
static int NAME(complete_samples)(const ascent_block *b, intptr_t k, intptr_t first, intptr_t n)
{
    const intptr_t D = b->n_features, at = b->is_common ? 0 : k * b->n_factors;
    const double *mean = b->now.means + k * D, *precision = b->precisions + at;
    const double *rows = (const double *)b->samples + first * D;
    double *shifts = b->completed + k * MOMENT_ROWS * D;
    double *squares = b->distances + 2 * k * MOMENT_ROWS, *logs = squares + MOMENT_ROWS;
    if (b->is_full) {
        const intptr_t stride = b->most_missing * (b->most_missing + 1) / 2;
        gapped_block block = {0};
        block.n_rows = n;
        block.n_features = D;
        block.rows = rows;
        block.starts = b->starts + first;
        block.columns = b->columns;
        block.mean = mean;
        block.precision = precision;
        block.root = b->roots + at;
        block.stop = b->steps.stop;
        block.scratch = b->lanes;
        block.shifts = shifts;
        block.stride = stride;
        block.covariances = b->only_bound ? 0 : b->covariances + k * MOMENT_ROWS * stride;
        block.squares = squares;
        block.log_determinants = logs;
        const intptr_t n_bad = NAME(complete_rows)(&block);
        for (intptr_t i = 0; i < n && n_bad > 0; i++)
            squares[i] = NAN; /* the bound, which is not finite, ends the ascent */
        return n_bad < 0 ? -1 : 0;
    }
    for (intptr_t d = 0; d < D; d++)
        b->vector[d] = log(precision[d]);
    for (intptr_t i = 0; i < n; i++, rows += D, shifts += D) {
        double square = 0;
        logs[i] = 0;
        VECTORISE_REDUCTION(+ : square)
        for (intptr_t d = 0; d < D; d++) {
            const double shift = rows[d] == rows[d] ? rows[d] - mean[d] : 0;
            shifts[d] = shift;
            square += shift * shift * precision[d];
        }
        squares[i] = square;
        for (intptr_t at_gap = b->starts[first + i]; at_gap < b->starts[first + i + 1]; at_gap++)
            logs[i] += b->vector[b->columns[at_gap]];
    }
    return *b->steps.stop ? -1 : 0;
}

/* Adds the expected moments of n samples given component k to the statistics.  `shares` are
 * multiplied by the weights of the samples; `power` is not part of a common covariance. */
static void NAME(add_completed)(const ascent_block *b, intptr_t k, intptr_t first, intptr_t n,
                                double power, const double *shares)
{
    const intptr_t D = b->n_features, n_tiles = (D + HIGHEST - 1) / HIGHEST;
    const intptr_t height = ((D + n_tiles - 1) / n_tiles + 1) / 2 * 2, width = n_tiles * height;
    const intptr_t stride = D + 2 * SIZE, most = b->most_missing;
    const double *mean = b->now.means + k * D, *shifts = b->completed + k * MOMENT_ROWS * D;
    const double *precision = b->precisions + (b->is_common ? 0 : k * b->n_factors);
    const double *covariance = b->covariances + k * MOMENT_ROWS * (most * (most + 1) / 2);
    double *second = b->is_common ? b->total + 1 + D : b->second + k * b->stored;
    double *filled = b->filled, *weighted = filled + MOMENT_ROWS * stride;
    double *sums = weighted + MOMENT_ROWS * width;
    const double factor = b->is_common ? 1 : power;
    double *variances = b->vector, *first_moments = variances + D, sum = 0;
    memset(variances, 0, (size_t)(2 * D) * sizeof(double));
    for (intptr_t i = 0; i < n; i++) {
        double *restrict y = filled + i * stride, *restrict own = weighted + i * width;
        b->counts[k] += power * shares[i];
        VECTORISE
        for (intptr_t d = 0; d < D; d++) {
            y[d] = shifts[i * D + d] + mean[d];
            own[d] = shares[i] * y[d];
            first_moments[d] += own[d];
            variances[d] += own[d] * y[d];
        }
        const intptr_t *gaps = b->columns + b->starts[first + i];
        const intptr_t n_missing = b->starts[first + i + 1] - b->starts[first + i];
        if (b->is_full)
            add_pairs(n_missing, D, gaps, factor * shares[i],
                      covariance + i * (most * (most + 1) / 2), second);
        for (intptr_t j = 0; j < n_missing && !b->is_full; j++)
            variances[gaps[j]] += shares[i] / precision[gaps[j]];
    }
    for (intptr_t d = 0; d < D; d++) {
        b->sums[k * D + d] += power * first_moments[d];
        sum += variances[d] / D;
        if (b->stored == D && !b->is_full)
            second[d] += factor * variances[d];
    }
    if (b->stored < D)
        *second += factor * sum;
    if (!b->is_full)
        return;
    NAME(add_moments)(n, n_tiles, height, D, weighted, filled, stride, 1, sums);
    for (intptr_t column = 0; column < D; column += 2 * SIZE)
        for (intptr_t r = 0; r < width; r++, sums += 2 * SIZE)
            for (intptr_t c = column > r ? column : r; c < column + 2 * SIZE && c < D; c++)
                second[r * (2 * D - r - 1) / 2 + c] += factor * sums[c - column];
}

/* The local step of n samples. */
static int NAME(gapped_step)(const ascent_block *b, intptr_t first, intptr_t n)
{
    const intptr_t K = b->n_components;
    const double power = b->powers[2];
    double top[MOMENT_ROWS], total[MOMENT_ROWS] = {0};
    for (intptr_t k = 0; k < K; k++) {
        if (NAME(complete_samples)(b, k, first, n))
            return -1;
        const double *squares = b->distances + 2 * k * MOMENT_ROWS;
        double *logs = b->gapped + k * MOMENT_ROWS;
        for (intptr_t i = 0; i < n; i++) {
            const intptr_t n_missing = b->starts[first + i + 1] - b->starts[first + i];
            logs[i] = b->constants[k] + 0.5 * LOG_TWO_PI * (double)n_missing
                      - 0.5 * (squares[i] + squares[MOMENT_ROWS + i]);
            top[i] = k == 0 || logs[i] > top[i] ? logs[i] : top[i];
        }
    }
    for (intptr_t k = 0; k < K; k++) {
        double *logs = b->gapped + k * MOMENT_ROWS;
        VECTORISE
        for (intptr_t i = 0; i < n; i++) {
            logs[i] = exp_f64(power * (logs[i] - top[i]));
            total[i] += logs[i];
        }
    }
    for (intptr_t i = 0; i < n; i++) {
        b->row_bounds[first + i] = power * top[i] + log(total[i]);
        total[i] = (b->row_weight ? b->row_weight[first + i] : 1) / total[i];
    }
    for (intptr_t k = 0; k < K && !b->only_bound; k++) {
        double *shares = b->gapped + k * MOMENT_ROWS;
        for (intptr_t i = 0; i < n; i++)
            shares[i] *= total[i];
        NAME(add_completed)(b, k, first, n, b->powers[1], shares);
    }
    return 0;
}
