/* The best split of a component of a Gaussian mixture in two.  `best_split` in
 * `_families/_births.py` is the reference, and has the constants and the reasons. */
#ifndef SKTEMPER_GAUSSIAN_SPLITS_H
#define SKTEMPER_GAUSSIAN_SPLITS_H


/* Replaces two of the vectors `axes` by the principal axes of a covariance.  `moments` are the
 * sums of 1, x and x_i x_j. */
static void principal_axes(intptr_t D, const double *moments, double *covariance,
                           double *next, double *axes)
{
    const double total = moments[0], *sums = moments + 1, *second = sums + D;
    for (intptr_t i = 0; i < D; i++)
        for (intptr_t j = i; j < D; j++, second++)
            covariance[i * D + j] = covariance[j * D + i] =
                *second - sums[i] * sums[j] / total;
    for (int repeat = 0; repeat < SPLIT_POWER_ITERATIONS; repeat++) {
        for (intptr_t i = 0; i < 2 * D; i++) {
            const double *row = covariance + i % D * D, *axis = axes + i / D * D;
            next[i] = 0;
            for (intptr_t j = 0; j < D; j++)
                next[i] += row[j] * axis[j];
        }
        memcpy(axes, next, (size_t)(D > 1 ? 2 * D : D) * sizeof(double));
        orthonormalise(D, axes, axes + D);
    }
}

/* Converts sums of moments to statistics, in the layout of natural parameters. */
static void split_statistics(const ascent_block *b, const double *moments, double *statistics)
{
    const intptr_t D = b->n_features;
    const double count = moments[0], *second = moments + 1 + D;
    double *kept = statistics + 1 + D;
    memcpy(statistics, moments, (size_t)(1 + D) * sizeof(double));
    memset(kept, 0, (size_t)b->stored * sizeof(double));
    for (intptr_t e = 0; e < b->n_moments - 1 - D; e++)
        kept[b->stored < D ? 0 : e] += b->stored < D ? second[e] / D : second[e];
    add_noise(b, count, kept);
    kept[b->stored] = count;
}

/* Computes the parameters of both parts of some splits, and the evidence without the entropy;
 * returns whether they are ill-defined. */
static int split_evidence(split_block *s, intptr_t n_splits, const double *statistics,
                          double *evidence)
{
    ascent_block *b = &s->ascent;
    const intptr_t size = b->natural;
    double logs[2 * SPLITS];
    for (intptr_t i = 0; i < n_splits; i++) {
        const double *moved = statistics + i * size;
        double *rest = b->new_components + 2 * i * size;
        for (intptr_t e = 0; e < size; e++) {
            rest[e] = s->prior[e] + (s->whole[e] - moved[e]);
            rest[size + e] = s->prior[e] + moved[e];
        }
        b->counts[2 * i] = s->count_of_whole - moved[0];
        b->counts[2 * i + 1] = moved[0];
    }
    if (log_normalisers_of(b, 2 * n_splits, b->new_components, logs))
        return 1;
    for (intptr_t i = 0; i < n_splits; i++) {
        evidence[i] = 0;
        for (intptr_t k = 2 * i; k < 2 * i + 2; k++) {
            b->new_weights[k] = b->concentration + b->counts[k] - 1;
            evidence[i] +=
                logs[k] + ascent_log_gamma(b->concentration + b->counts[k]);
        }
    }
    return 0;
}
#endif

/* shares = whether samples are moved by each of the splits along `axes` */
static void NAME(split_along)(const split_block *s, intptr_t n_axes, const double *moments)
{
    const ascent_block *b = &s->ascent;
    const intptr_t D = b->n_features;
    const REAL *row = s->coordinates;
    REAL *shares = s->shares;
    double means[SPLITS] = {0};
    for (intptr_t a = 0; a < n_axes; a++)
        for (intptr_t d = 0; d < D; d++)
            means[a] += s->axes[a * D + d] * moments[1 + d] / moments[0];
    for (intptr_t i = 0; i < b->n_samples; i++, row += D, shares += n_axes)
        for (intptr_t a = 0; a < n_axes; a++) {
            double value = 0;
            for (intptr_t d = 0; d < D; d++)
                value += s->axes[a * D + d] * row[d];
            shares[a] = value > means[a];
        }
}

/* Computes weighted sums of the statistics' moments of samples, or of all moments of their
 * coordinates. */
static int NAME(split_moments)(const split_block *s, int of_coordinates, intptr_t n_splits)
{
    const ascent_block *b = &s->ascent;
    const intptr_t D = b->n_features, n_all = 1 + D + D * (D + 1) / 2;
    moments_block moments = NAME(moments_of)(b, s->shares, b->n_samples, n_splits,
                                             of_coordinates ? n_all : b->n_moments);
    if (of_coordinates) {
        memset(b->vector, 0, (size_t)D * sizeof(double));
        moments.samples = s->coordinates;
        moments.origin = b->vector;
        moments.squares = 0;
    }
    return NAME(weighted_moments)(&moments);
}

/* Computes the shares of the next round of `n_splits` splits, from split `first` of the tables
 * on, and their entropies. */
static int NAME(next_shares)(const split_block *s, intptr_t first, intptr_t n_splits,
                             double *entropies)
{
    const ascent_block *b = &s->ascent;
    const intptr_t D = b->n_features, size = b->is_full ? b->stored : D;
    const double *constants = b->constants + 2 * first;
    REAL *shares = s->shares;
    mixture_block block = NAME(block_of)(b);
    block.n_components = 2 * n_splits;
    block.means = (const REAL *)b->means + 2 * first * D;
    block.factors = (const REAL *)b->triangles + 2 * first * size;
    block.constants = constants;
    block.only_distances = 1;
    memset(entropies, 0, (size_t)n_splits * sizeof(double));
    for (intptr_t start = 0; start < b->n_samples; start += ASCENT_ROWS) {
        const intptr_t left = b->n_samples - start;
        const REAL *restrict squares = b->shares;
        double entropy_of_row[ASCENT_ROWS];
        block.n_samples = left < ASCENT_ROWS ? left : ASCENT_ROWS;
        block.samples = (const REAL *)b->samples + start * D;
        if (NAME(mixture_local_step)(&block))
            return -1;
        for (intptr_t a = 0; a < n_splits; a++) {
            const double constant = constants[2 * a + 1] - constants[2 * a];
            VECTORISE
            for (intptr_t i = 0; i < block.n_samples; i++) {
                const REAL *restrict own = squares + (i * n_splits + a) * 2;
                const double log_ratio = constant - 0.5 * ((double)own[1] - (double)own[0]);
                const double size_of_log = fabs(log_ratio) < 700 ? fabs(log_ratio) : 700;
                const double ratio = exp_f64(-size_of_log), least = ratio / (1 + ratio);
                shares[(start + i) * n_splits + a] = (REAL)(log_ratio > 0 ? 1 - least : least);
                entropy_of_row[i] = log_f64(1 + ratio) + size_of_log * least;
            }
            for (intptr_t i = 0; i < block.n_samples; i++)
                entropies[a] += b->row_weight[start + i] * entropy_of_row[i];
        }
    }
    return 0;
}

/* Removes splits of which a part has too few samples; returns the number of the others. */
static intptr_t NAME(large_splits)(const split_block *s, intptr_t n, double *entropies,
                                   double *statistics)
{
    const intptr_t size = s->ascent.natural;
    intptr_t kept[SPLITS], n_kept = 0;
    for (intptr_t a = 0; a < n; a++) {
        const double count = statistics[a * size], rest = s->count_of_whole - count;
        if (!((count < rest ? count : rest) >= SPLIT_LEAST_COUNT))
            continue;
        memmove(statistics + n_kept * size, statistics + a * size,
                (size_t)size * sizeof(double));
        entropies[n_kept] = entropies[a];
        kept[n_kept++] = a;
    }
    REAL *shares = s->shares;
    for (intptr_t i = 0; n_kept < n && i < s->ascent.n_samples; i++)
        for (intptr_t a = 0; a < n_kept; a++)
            shares[i * n_kept + a] = shares[i * n + kept[a]];
    return n_kept;
}

/* Finds the best split; returns the status, `ASCENT_GIVEN_UP` if there is none. */
LOOP int NAME(gaussian_split)(split_block *s)
{
    ascent_block *b = &s->ascent;
    const intptr_t D = b->n_features;
    double entropies[SPLITS] = {0}, values[SPLITS], most = -HUGE_VAL;
    intptr_t n = SPLITS;
    int status = ASCENT_GIVEN_UP;
    divide_room(b);
    REAL *shares = s->shares;
    for (intptr_t i = 0; i < b->n_samples; i++)
        shares[i] = 1;
    if (NAME(split_moments)(s, 1, 1))
        return ASCENT_STOPPED;
    principal_axes(D, b->moments, b->matrices, b->vector, s->axes);
    NAME(split_along)(s, n, b->moments);
    for (int round = 0; round < SPLIT_ROUNDS; round++) {
        double *statistics = s->statistics;
        intptr_t best = 0, first = 0;
        if (NAME(split_moments)(s, 0, n))
            return ASCENT_STOPPED;
        for (intptr_t a = 0; a < n; a++)
            split_statistics(b, b->moments + a * b->n_moments, statistics + a * b->natural);
        n = NAME(large_splits)(s, n, entropies, statistics);
        if (n == 0)
            break;
        if (split_evidence(s, n, statistics, values)
            || !NAME(ascent_tables)(b, b->new_weights, &b->now))
            return ASCENT_ILL_DEFINED;
        for (intptr_t a = 0; a < n; a++) {
            values[a] += entropies[a];
            best = values[a] > values[best] ? a : best;
        }
        if (!(values[best] > most + SPLIT_ROUNDING))
            break;
        most = values[best];
        status = ASCENT_DONE;
        s->entropy = entropies[best];
        memcpy(s->moved, statistics + best * b->natural, (size_t)b->natural * sizeof(double));
        for (intptr_t i = 0; i < b->n_samples; i++)
            s->best[i] = shares[i * n + best];
        if (round == SPLIT_ROUNDS_OF_STARTS - 1) {
            first = best;
            n = 1;
        }
        if (round < SPLIT_ROUNDS - 1 && NAME(next_shares)(s, first, n, entropies))
            return ASCENT_STOPPED;
    }
    return status;
}
