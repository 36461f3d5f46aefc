/* The best split of a component of a Gaussian mixture in two.  `best_split` in
 * `_families/_births.py` is the reference, and has the constants and the reasons. */
#ifndef SKTEMPER_GAUSSIAN_SPLITS_H
#define SKTEMPER_GAUSSIAN_SPLITS_H

#include "sktemper/_families/mixture_splits.h"

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
static void split_statistics(const ascent_block *b, const ascent_room *room,
                             const double *moments, double *statistics)
{
    const intptr_t D = b->n_features;
    const double count = moments[0], *second = moments + 1 + D;
    double *kept = statistics + 1 + D;
    memcpy(statistics, moments, (size_t)(1 + D) * sizeof(double));
    memset(kept, 0, (size_t)room->stored * sizeof(double));
    for (intptr_t e = 0; e < room->n_moments - 1 - D; e++)
        kept[room->stored < D ? 0 : e] += room->stored < D ? second[e] / D : second[e];
    if (room->is_full)
        for (intptr_t i = 0, at = 0; i < D; at += D - i, i++)
            kept[at] += b->added[i] * count;
    else
        for (intptr_t e = 0; e < room->stored; e++)
            kept[e] += b->added[e] * count;
    kept[room->stored] = count;
}

/* Computes the parameters of both parts of some splits, and the evidence without the entropy;
 * returns whether they are ill-defined. */
static int split_evidence(const split_block *s, ascent_block *b, ascent_room *room,
                          intptr_t n_splits, const double *statistics, double *evidence)
{
    const intptr_t size = room->natural;
    double logs[2 * SPLITS];
    for (intptr_t i = 0; i < n_splits; i++) {
        const double *moved = statistics + i * size;
        double *rest = room->components + 2 * i * size;
        for (intptr_t e = 0; e < size; e++) {
            rest[e] = s->prior[e] + (s->whole[e] - moved[e]);
            rest[size + e] = s->prior[e] + moved[e];
        }
        room->counts[2 * i] = s->count_of_whole - moved[0];
        room->counts[2 * i + 1] = moved[0];
    }
    if (log_normalisers_of(b, room, 2 * n_splits, room->components, logs))
        return 1;
    for (intptr_t i = 0; i < n_splits; i++) {
        evidence[i] = 0;
        for (intptr_t k = 2 * i; k < 2 * i + 2; k++) {
            room->weights[k] = b->concentration + room->counts[k] - 1;
            evidence[i] +=
                logs[k] + ascent_log_gamma(b->concentration + room->counts[k]);
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

/* Computes weighted sums of moments of samples. */
static int NAME(split_moments)(const split_block *s, const ascent_room *room,
                               const REAL *samples, const double *origin, int squares,
                               intptr_t n_splits)
{
    const ascent_block *b = &s->ascent;
    const intptr_t D = b->n_features;
    moments_block moments = {0};
    moments.n_samples = b->n_samples;
    moments.n_features = D;
    moments.n_components = n_splits;
    moments.n_moments = 1 + D + (squares ? D : D * (D + 1) / 2);
    moments.squares = squares;
    moments.samples = samples;
    moments.origin = origin;
    moments.shares = s->shares;
    moments.factors = b->row_weight;
    moments.factor_per_sample = 1;
    moments.stop = b->steps.stop;
    moments.scratch = (double *)room->panels;
    moments.out = room->moments;
    return NAME(weighted_moments)(&moments);
}

/* Computes the shares of the next round of `n_splits` splits, from split `first` of the tables
 * on, and their entropies. */
static int NAME(next_shares)(const split_block *s, ascent_room *room, intptr_t first,
                             intptr_t n_splits, double *entropies)
{
    const ascent_block *b = &s->ascent;
    const intptr_t D = b->n_features, size = room->is_full ? room->stored : D;
    const double *constants = room->constants + 2 * first;
    REAL *shares = s->shares;
    mixture_block block = NAME(block_of)(b, room);
    block.n_components = 2 * n_splits;
    block.means = (const REAL *)room->means + 2 * first * D;
    block.factors = (const REAL *)room->triangles + 2 * first * size;
    block.constants = constants;
    block.only_distances = 1;
    memset(entropies, 0, (size_t)n_splits * sizeof(double));
    for (intptr_t start = 0; start < b->n_samples; start += ASCENT_ROWS) {
        const intptr_t left = b->n_samples - start;
        const REAL *restrict squares = room->shares;
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
static intptr_t NAME(large_splits)(const split_block *s, const ascent_room *room, intptr_t n,
                                   double *entropies, double *statistics)
{
    const intptr_t size = room->natural;
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

/* Finds the best split; returns its status, see `_blocks.h`. */
LOOP int NAME(gaussian_split)(split_block *s)
{
    ascent_block *b = &s->ascent;
    const intptr_t D = b->n_features;
    double entropies[SPLITS] = {0}, values[SPLITS], most = -HUGE_VAL;
    ascent_room room;
    intptr_t n = SPLITS, found = SPLIT_NONE;
    divide_room(b, &room);
    REAL *shares = s->shares;
    for (intptr_t i = 0; i < b->n_samples; i++)
        shares[i] = 1;
    memset(room.vector, 0, (size_t)D * sizeof(double));
    if (NAME(split_moments)(s, &room, s->coordinates, room.vector, 0, 1))
        return SPLIT_STOPPED;
    principal_axes(D, room.moments, room.matrices, room.vector, s->axes);
    NAME(split_along)(s, n, room.moments);
    for (int round = 0; round < SPLIT_ROUNDS; round++) {
        double *statistics = s->statistics;
        intptr_t best = 0, first = 0;
        if (NAME(split_moments)(s, &room, b->samples, b->origin, !room.is_full, n))
            return SPLIT_STOPPED;
        for (intptr_t a = 0; a < n; a++)
            split_statistics(b, &room, room.moments + a * room.n_moments,
                             statistics + a * room.natural);
        n = NAME(large_splits)(s, &room, n, entropies, statistics);
        if (n == 0)
            break;
        if (split_evidence(s, b, &room, n, statistics, values)
            || !NAME(ascent_tables)(b, &room, room.weights, &room.now))
            return SPLIT_ILL_DEFINED;
        for (intptr_t a = 0; a < n; a++) {
            values[a] += entropies[a];
            best = values[a] > values[best] ? a : best;
        }
        if (!(values[best] > most + SPLIT_ROUNDING))
            break;
        most = values[best];
        found = SPLIT_FOUND;
        s->entropy = entropies[best];
        memcpy(s->moved, statistics + best * room.natural,
               (size_t)room.natural * sizeof(double));
        for (intptr_t i = 0; i < b->n_samples; i++)
            s->best[i] = shares[i * n + best];
        if (round == SPLIT_ROUNDS_OF_STARTS - 1) {
            first = best;
            n = 1;
        }
        if (round < SPLIT_ROUNDS - 1
            && NAME(next_shares)(s, &room, first, n, entropies))
            return SPLIT_STOPPED;
    }
    return (int)found;
}
