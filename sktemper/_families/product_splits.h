/* The best split in two of a component that is a product of conjugate families. */
#ifndef SKTEMPER_PRODUCT_SPLITS_H
#define SKTEMPER_PRODUCT_SPLITS_H

/* The product of a row of a matrix, dense or with the entries of `b`, and a vector. */
static double row_times(const product_block *b, const double *matrix, intptr_t width,
                        intptr_t i, const double *restrict vector)
{
    double sum = 0;
    if (!b->starts)
        return weighted_sum_f64(width, matrix + i * width, vector);
    for (intptr_t e = b->starts[i]; e < b->starts[i + 1]; e++)
        sum += matrix[e] * vector[b->columns[e]];
    return sum;
}

/* sums += factor * a row of a matrix */
static void add_row(const product_block *b, const double *matrix, intptr_t width, intptr_t i,
                    double factor, double *restrict sums)
{
    if (b->starts) {
        for (intptr_t e = b->starts[i]; e < b->starts[i + 1]; e++)
            sums[b->columns[e]] += factor * matrix[e];
        return;
    }
    const double *restrict row = matrix + i * width;
    VECTORISE
    for (intptr_t m = 0; m < width; m++)
        sums[m] += factor * row[m];
}

/* Replaces two of the axes by principal axes of the samples, and divides the samples along all
 * axes. */
static void divide_samples(const product_split_block *s)
{
    const product_block *b = &s->product;
    const intptr_t n = b->n_samples, C = s->n_coordinates;
    double *mean = s->scratch, *next = mean + C, total = 0, means[SPLITS];
    memset(mean, 0, (size_t)C * sizeof(double));
    for (intptr_t i = 0; i < n; i++) {
        total += b->row_weight[i];
        add_row(b, s->coordinates, C, i, b->row_weight[i], mean);
    }
    for (intptr_t c = 0; c < C; c++)
        mean[c] /= total;
    for (int repeat = 0; repeat < SPLIT_POWER_ITERATIONS; repeat++) {
        memset(next, 0, (size_t)(2 * C) * sizeof(double));
        for (intptr_t a = 0; a < 2; a++) {
            const double *axis = s->axes + a * C, middle = weighted_sum_f64(C, mean, axis);
            double sum = 0;
            for (intptr_t i = 0; i < n; i++) {
                const double value = row_times(b, s->coordinates, C, i, axis) - middle;
                sum += b->row_weight[i] * value;
                add_row(b, s->coordinates, C, i, b->row_weight[i] * value, next + a * C);
            }
            for (intptr_t c = 0; c < C; c++)
                next[a * C + c] -= mean[c] * sum;
        }
        memcpy(s->axes, next, (size_t)(C > 1 ? 2 * C : C) * sizeof(double));
        orthonormalise(C, s->axes, s->axes + C);
    }
    for (intptr_t a = 0; a < SPLITS; a++) {
        double *shares = s->shares + a * n;
        means[a] = weighted_sum_f64(C, mean, s->axes + a * C);
        for (intptr_t i = 0; i < n; i++)
            shares[i] = row_times(b, s->coordinates, C, i, s->axes + a * C) > means[a];
    }
}

/* Computes the statistics that a split moves; returns the number of samples. */
static double moved_by_split(const product_split_block *s, const double *shares,
                             double *statistics)
{
    const product_block *b = &s->product;
    double count = 0;
    memset(statistics, 0, (size_t)b->n_natural * sizeof(double));
    for (intptr_t i = 0; i < b->n_samples; i++) {
        const double factor = b->row_weight[i] * shares[i];
        if (!(factor > 0))
            continue;
        count += factor;
        add_row(b, b->moments, b->n_natural, i, factor, statistics);
    }
    return count;
}

/* Computes the evidence of a split without its entropy, and the difference of E u between the
 * parts; returns the evidence. */
static double evidence_of_split(const product_split_block *s, const product_room *room,
                                double count, const double *statistics, double *difference)
{
    const product_block *b = &s->product;
    const intptr_t M = b->n_natural;
    double evidence = 0;
    for (intptr_t part = 0; part < 2; part++) {
        const double n = part ? count : s->count_of_whole - count;
        for (intptr_t m = 0; m < M; m++)
            room->components[m] =
                b->prior[m] + (part ? statistics[m] : s->whole[m] - statistics[m]);
        evidence += log_normaliser_of(b, room, room->components)
                    + ascent_log_gamma(b->concentration + n);
        if (isnan(evidence))
            return -HUGE_VAL;
        const intptr_t n_all = arguments_of(b, room->components, room->arguments);
        digamma_f64(n_all, room->arguments, room->values);
        expect_component(b, room->components, room->arguments, room->values,
                         room->table + part);
    }
    for (intptr_t m = 0; m < M; m++)
        difference[m] = room->table[2 * m + 1] - room->table[2 * m];
    return evidence;
}

/* Computes the next shares of a split; returns the increase of the entropy. */
static double next_shares_of(const product_split_block *s, double count,
                             const double *difference, double *shares)
{
    const product_block *b = &s->product;
    const double constant = digamma_one_f64(b->concentration + count)
                            - digamma_one_f64(b->concentration + s->count_of_whole - count);
    double entropy = 0;
    for (intptr_t i = 0; i < b->n_samples; i++) {
        const double log_ratio =
            constant + row_times(b, b->moments, b->n_natural, i, difference);
        const double size = fabs(log_ratio) < 700 ? fabs(log_ratio) : 700;
        const double ratio = exp_f64(-size), least = ratio / (1 + ratio);
        shares[i] = log_ratio > 0 ? 1 - least : least;
        entropy += b->row_weight[i] * (log_f64(1 + ratio) + size * least);
    }
    return entropy;
}

#endif

/* Finds the best split; returns whether there is one. */
LOOP int NAME(product_split)(product_split_block *s)
{
    product_block *b = &s->product;
    const intptr_t M = b->n_natural, n = b->n_samples;
    double *end = s->scratch + 3 * s->n_coordinates, most = -HUGE_VAL;
    double *differences, *statistics, counts[SPLITS], entropies[SPLITS] = {0};
    product_room room = {0};
    intptr_t splits[SPLITS] = {0, 1, 2}, n_splits = SPLITS;
    int found = 0;
    b->n_components = 2;
    room.table = room_for(&end, 2 * M);
    room.components = room_for(&end, M);
    room.arguments = room_for(&end, M + b->n_parts);
    room.values = room_for(&end, M + b->n_parts);
    differences = room_for(&end, SPLITS * M);
    statistics = room_for(&end, SPLITS * M);
    divide_samples(s);
    for (int round = 0; round < SPLIT_ROUNDS; round++) {
        double highest = -HUGE_VAL;
        intptr_t n_large = 0, best = -1;
        for (intptr_t at = 0; at < n_splits; at++) {
            const intptr_t a = splits[at];
            counts[a] = moved_by_split(s, s->shares + a * n, statistics + a * M);
            const double rest = s->count_of_whole - counts[a];
            if (!((counts[a] < rest ? counts[a] : rest) >= SPLIT_LEAST_COUNT))
                continue;
            splits[n_large++] = a;
            const double value =
                entropies[a]
                + evidence_of_split(s, &room, counts[a], statistics + a * M,
                                    differences + a * M);
            if (value > highest) {
                highest = value;
                best = a;
            }
        }
        n_splits = n_large;
        if (best < 0 || !(highest > most + SPLIT_ROUNDING))
            break;
        most = highest;
        found = 1;
        s->entropy = entropies[best];
        s->count = counts[best];
        memcpy(s->moved, statistics + best * M, (size_t)M * sizeof(double));
        memcpy(s->best, s->shares + best * n, (size_t)n * sizeof(double));
        if (round == SPLIT_ROUNDS_OF_STARTS - 1) {
            splits[0] = best;
            n_splits = 1;
        }
        for (intptr_t at = 0; at < n_splits && round < SPLIT_ROUNDS - 1; at++) {
            const intptr_t a = splits[at];
            entropies[a] =
                next_shares_of(s, counts[a], differences + a * M, s->shares + a * n);
        }
    }
    return found;
}
