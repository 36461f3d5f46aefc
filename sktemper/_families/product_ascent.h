/* Ascent of a mixture whose components are products of conjugate families: several steps of
 * coordinate ascent on all samples in one call, see `mixture_ascent.h`.  Log densities are
 * linear in the moments of a sample, which are dense or sparse.  The methods of `MixtureModel`
 * and of the families are the reference.  Everything is in float64, and is compiled once. */
#ifndef SKTEMPER_PRODUCT_ASCENT_H
#define SKTEMPER_PRODUCT_ASCENT_H

#include "mixture_ascent.h"
#include "products.h"
#include "sktemper/_simd/_blocks.h"

enum { DIRICHLET, GAMMA_RATES, NORMAL_GAMMA };

/* Smaller responsibilities are left out of the sums of moments. */
#define NO_SHARE_ 1e-30

/* Scratch memory of an ascent.  A table has E u of each component in a column.  Each section has
 * the last parts of its own. */
typedef struct {
    double *table, *next, *panels, *arguments, *values;
    double *weights, *components, *logs, *log_weights;
    double prior_normaliser;
    double *bound, *counts, *sums, *turned, *rows, *shares, *largest, *totals;
} product_room;

/* An ascent, for the functions of `mixture_methods`. */
typedef struct {
    const product_block *block;
    product_room room;
    const double *powers;                /* of the local step, and whether it has no sums */
    int only_bound;
} product_run;

/* Divides the memory of a section, from `end` on, and returns the end of it.  Sums come first. */
static double *divide_product_section(const product_block *b, double *end, product_room *room)
{
    const intptr_t K = b->n_components, M = b->n_natural;
    room->bound = room_for(&end, 1);
    room->counts = room_for(&end, K);
    room->sums = room_for(&end, K * M);
    room->turned = room_for(&end, b->starts ? K * M : 0);
    room->rows = room_for(&end, PRODUCT_ROWS * K);
    room->shares = room_for(&end, PRODUCT_ROWS * K);
    room->largest = room_for(&end, PRODUCT_ROWS);
    room->totals = room_for(&end, PRODUCT_ROWS);
    return end;
}

/* Divides the scratch memory, and returns the end of it. */
static double *divide_product_room(const product_block *b, product_room *room)
{
    const intptr_t K = b->n_components, M = b->n_natural;
    const intptr_t width = PRODUCT_BYTES / (intptr_t)sizeof(double);
    double *end = b->scratch;
    room->table = room_for(&end, M * K);
    room->next = room_for(&end, M * K);
    room->panels = room_for(&end, M * ((K + width - 1) / width * width));
    room->arguments = room_for(&end, M + b->n_parts);
    room->values = room_for(&end, M + b->n_parts);
    room->weights = room_for(&end, 2 * K);
    room->components = room_for(&end, K * M);
    room->logs = room_for(&end, 2 * K);
    room->log_weights = room_for(&end, K);
    return divide_product_section(b, end, room);
}

/* -- laws of the parts, see `DirichletFamily`, `GammaFamily` and `NormalGammaFamily` ------- */

/* Number of natural parameters for each option, rate or column of a part of each kind. */
static const intptr_t numbers_of_kind[] = {1, 2, 4};

/* Writes the arguments of the Gamma functions of a component; returns their number, or 0 if its
 * parameters are ill-defined. */
static intptr_t arguments_of(const product_block *b, const double *own, double *arguments)
{
    double *at = arguments;
    for (intptr_t p = 0; p < b->n_parts; p++) {
        const intptr_t n = b->sizes[p];
        int is_valid = 1;
        double total = 0;
        for (intptr_t i = 0; i < n; i++) {
            const double shape = b->kinds[p] == NORMAL_GAMMA ? 0.5 * (own[3 * n + i] + 1)
                                                             : own[i] + 1;
            is_valid &= shape > 0;
            if (b->kinds[p] == GAMMA_RATES)
                is_valid &= own[n + i] > 0;
            if (b->kinds[p] == NORMAL_GAMMA)
                is_valid &= own[i] > 0 && own[2 * n + i] * own[i] > own[n + i] * own[n + i]
                            && own[2 * n + i] * own[i] < HUGE_VAL;
            total += at[i] = shape;
        }
        if (!is_valid || !(total < HUGE_VAL))
            return 0;
        at += n;
        if (b->kinds[p] == DIRICHLET)
            *at++ = total;
        own += numbers_of_kind[b->kinds[p]] * n;
    }
    return at - arguments;
}

static void log_gammas(intptr_t n, const double *x, double *logs)
{
    log_gamma_f64(n, x, logs);
    for (intptr_t i = 0; i < n; i++)
        logs[i] = log_gamma_of_any(x[i], logs[i]);
}

/* The rate of the precision of a normal column. */
static double rate_of_normal(const double *own, intptr_t n, intptr_t i)
{
    return 0.5 * (own[2 * n + i] - own[n + i] * (own[n + i] / own[i]));
}

/* Writes E u of a component into a column of a table; `psi` has the digammas of its arguments.
 * Returns the sum of the numbers. */
static double expect_component(const product_block *b, const double *own, const double *shapes,
                               const double *psi, double *column)
{
    const intptr_t K = b->n_components;
    double sum = 0;
    for (intptr_t p = 0; p < b->n_parts; p++) {
        const intptr_t n = b->sizes[p];
        for (intptr_t i = 0; i < n; i++) {
            double *at = column + i * K;
            if (b->kinds[p] == DIRICHLET)
                *at = psi[i] - psi[n];
            else if (b->kinds[p] == GAMMA_RATES) {
                at[0] = psi[i] - log(own[n + i]);
                at[n * K] = -shapes[i] / own[n + i];
                sum += at[n * K];
            } else {
                const double mean = own[n + i] / own[i], rate = rate_of_normal(own, n, i);
                const double precision = shapes[i] / rate;
                at[0] = -0.5 * (1 / own[i] + mean * mean * precision);
                at[n * K] = mean * precision;
                at[2 * n * K] = -0.5 * precision;
                at[3 * n * K] = 0.5 * (psi[i] - log(rate) - LOG_TWO_PI);
                sum += at[n * K] + at[2 * n * K] + at[3 * n * K];
            }
            sum += *at;
        }
        const intptr_t n_own = numbers_of_kind[b->kinds[p]] * n;
        const intptr_t n_arguments = b->kinds[p] == DIRICHLET ? n + 1 : n;
        own += n_own;
        column += n_own * K;
        shapes += n_arguments;
        psi += n_arguments;
    }
    return sum;
}

/* The log normaliser of a component, or NAN. */
static double log_normaliser_of(const product_block *b, const product_room *room,
                                const double *own)
{
    const intptr_t n_all = arguments_of(b, own, room->arguments);
    const double *shapes = room->arguments, *gammas = room->values;
    double sum = 0;
    if (n_all == 0)
        return NAN;
    log_gammas(n_all, room->arguments, room->values);
    for (intptr_t p = 0; p < b->n_parts; p++) {
        const intptr_t n = b->sizes[p];
        for (intptr_t i = 0; i < n; i++) {
            sum += gammas[i];
            if (b->kinds[p] == GAMMA_RATES)
                sum -= shapes[i] * log(own[n + i]);
            else if (b->kinds[p] == NORMAL_GAMMA)
                sum += 0.5 * (LOG_TWO_PI - log(own[i])) - (shapes[i] - 0.5) * LOG_TWO_PI
                       - shapes[i] * log(rate_of_normal(own, n, i));
        }
        if (b->kinds[p] == DIRICHLET)
            sum -= gammas[n];
        const intptr_t n_arguments = b->kinds[p] == DIRICHLET ? n + 1 : n;
        own += numbers_of_kind[b->kinds[p]] * n;
        shapes += n_arguments;
        gammas += n_arguments;
    }
    return sum;
}

/* -- the parts of a step, see `mixture_methods` -------------------------------------------- */

/* Computes the responsibilities of n samples, before they are divided by their totals, and the
 * bounds of the samples; returns the weighted sum of the bounds. */
static double responsibilities_of(const product_run *run, intptr_t first, intptr_t n,
                                  double power)
{
    const product_block *b = run->block;
    const product_room *room = &run->room;
    const intptr_t K = b->n_components, M = b->n_natural;
    double *restrict totals = room->totals, *restrict largest = room->largest, sum = 0;
    double *restrict bounds = b->row_bounds + first;
    if (b->starts)
        sparse_times_f64(n, K, b->starts + first, b->columns, b->moments, room->table,
                         room->rows);
    else
        product_f64(n, M, K, b->moments + first * M, M, room->panels, room->rows);
    for (intptr_t i = 0; i < n; i++) {
        largest[i] = -HUGE_VAL;
        totals[i] = 0;
    }
    for (intptr_t k = 0; k < K; k++) {
        double *restrict own = room->shares + k * PRODUCT_ROWS;
        const double *restrict logs = room->rows + k, log_weight = room->log_weights[k];
        for (intptr_t i = 0; i < n; i++)
            own[i] = logs[i * K];
        VECTORISE
        for (intptr_t i = 0; i < n; i++) {
            own[i] = power * (own[i] + log_weight);
            largest[i] = own[i] > largest[i] ? own[i] : largest[i];
        }
    }
    for (intptr_t k = 0; k < K; k++) {
        double *restrict own = room->shares + k * PRODUCT_ROWS;
        VECTORISE
        for (intptr_t i = 0; i < n; i++) {
            own[i] = exp_f64(own[i] - largest[i]);
            totals[i] += own[i];
        }
    }
    VECTORISE
    for (intptr_t i = 0; i < n; i++)
        bounds[i] = largest[i] + log_f64(totals[i]);
    for (intptr_t i = 0; i < n; i++) {
        bounds[i] += b->log_base ? power * b->log_base[first + i] : 0;
        sum += b->row_weight ? b->row_weight[first + i] * bounds[i] : bounds[i];
    }
    return sum;
}

/* sums += the moments of n samples times their responsibilities */
static void add_moments(const product_run *run, intptr_t first, intptr_t n, double power)
{
    const product_block *b = run->block;
    const product_room *room = &run->room;
    const intptr_t K = b->n_components, M = b->n_natural;
    double *restrict factors = room->totals, *restrict rows = room->rows;
    for (intptr_t i = 0; i < n; i++)
        factors[i] =
            (b->row_weight ? power * b->row_weight[first + i] : power) / factors[i];
    for (intptr_t k = 0; k < K; k++) {
        double *restrict own = room->shares + k * PRODUCT_ROWS, count = 0;
        VECTORISE_REDUCTION(+ : count)
        for (intptr_t i = 0; i < n; i++) {
            own[i] *= factors[i];
            count += own[i];
        }
        room->counts[k] += count;
        for (intptr_t i = 0; b->starts && i < n; i++)
            rows[i * K + k] = own[i];
    }
    if (b->starts) {
        add_sparse_sums_f64(n, K, b->starts + first, b->columns, b->moments, rows,
                            room->turned);
        return;
    }
    for (intptr_t i = 0; i < n; i += 4) {
        const intptr_t n_own = n - i < 4 ? n - i : 4;
        const double *restrict moments[4];
        for (intptr_t r = 0; r < 4; r++)
            moments[r] = b->moments + (first + i + (r < n_own ? r : 0)) * M;
        for (intptr_t k = 0; k < K; k++) {
            double *restrict sums = room->sums + k * M, own[4] = {0}, most = 0;
            for (intptr_t r = 0; r < n_own; r++) {
                own[r] = room->shares[k * PRODUCT_ROWS + i + r];
                most = own[r] > most ? own[r] : most;
            }
            if (most < NO_SHARE_)
                continue;
            VECTORISE
            for (intptr_t m = 0; m < M; m++)
                sums[m] += own[0] * moments[0][m] + own[1] * moments[1][m]
                           + own[2] * moments[2][m] + own[3] * moments[3][m];
        }
    }
}

/* Adds the bounds and moments of the samples of a block; returns whether it was stopped. */
static int add_samples(const product_run *run)
{
    const product_block *b = run->block;
    for (intptr_t first = 0; first < b->n_samples; first += PRODUCT_ROWS) {
        const intptr_t left = b->n_samples - first;
        const intptr_t n = left < PRODUCT_ROWS ? left : PRODUCT_ROWS;
        if (*b->steps.stop)
            return -1;
        *run->room.bound += responsibilities_of(run, first, n, run->powers[2]);
        if (!run->only_bound)
            add_moments(run, first, n, run->powers[1]);
    }
    return 0;
}

static int product_local_step(void *self, const double *powers, int only_bound, double *bound)
{
    product_run *run = self;
    const product_block *b = run->block;
    const product_room *room = &run->room;
    const intptr_t K = b->n_components, M = b->n_natural, n_sums = room->rows - room->bound;
    run->powers = powers;
    run->only_bound = only_bound;
    for (intptr_t i = 0; i < b->steps.n_sections; i++)
        memset(room->bound + i * b->steps.section_size, 0, (size_t)n_sums * sizeof(double));
    if (b->steps.share ? b->steps.share(b->steps.sharing) : add_samples(run))
        return -1;
    add_sections(&b->steps, n_sums, room->bound);
    *bound = *room->bound;
    for (intptr_t m = 0; b->starts && m < M; m++)
        for (intptr_t k = 0; k < K; k++)
            room->sums[k * M + m] = room->turned[m * K + k];
    return 0;
}

static double product_global_bound(void *self)
{
    const product_run *run = self;
    const product_block *b = run->block;
    const product_room *room = &run->room;
    const intptr_t K = b->n_components, M = b->n_natural;
    double bound = bound_weights(b->sticks, K, b->concentration, b->weights, room->logs);
    for (intptr_t k = 0; k < K; k++) {
        const double *own = b->components + k * M;
        bound += log_normaliser_of(b, room, own) - room->prior_normaliser;
        for (intptr_t m = 0; m < M; m++)
            bound += (b->prior[m] - own[m]) * room->table[m * K + k];
    }
    return bound;
}

/* Computes the values of parameters for local steps; returns a status of an ascent. */
static int prepare_product(product_run *run, const double *weights, const double *components,
                           double *table)
{
    const product_block *b = run->block;
    const product_room *room = &run->room;
    const intptr_t K = b->n_components, M = b->n_natural;
    double sum = 0;
    if (!weights_are_valid(b->sticks, K, weights))
        return ASCENT_ILL_DEFINED;
    expect_weights(b->sticks, K, weights, room->logs, room->log_weights);
    for (intptr_t k = 0; k < K; k++) {
        const double *own = components + k * M;
        const intptr_t n = arguments_of(b, own, room->arguments);
        if (n == 0)
            return ASCENT_ILL_DEFINED;
        digamma_f64(n, room->arguments, room->values);
        sum += expect_component(b, own, room->arguments, room->values, table + k);
        sum += room->log_weights[k];
    }
    for (intptr_t k = 0; k < (b->sticks ? 2 * K : K); k++)
        sum += weights[k];
    if (!b->starts)
        pack_columns_f64(M, K, table, K, 1, room->panels);
    return isfinite(sum) ? ASCENT_DONE : ASCENT_NOT_FINITE;
}

static int product_global_step(void *self, double power)
{
    product_run *run = self;
    const product_block *b = run->block;
    product_room *room = &run->room;
    const intptr_t K = b->n_components, M = b->n_natural;
    const double scale = b->steps.scale;
    target_weights(b->sticks, K, b->concentration, power, scale, room->counts, room->weights);
    for (intptr_t k = 0; k < K; k++)
        for (intptr_t m = 0; m < M; m++)
            room->components[k * M + m] = power * b->prior[m] + scale * room->sums[k * M + m];
    const int status = prepare_product(run, room->weights, room->components, room->next);
    if (status != ASCENT_DONE)
        return status;
    double *table = room->table;
    room->table = room->next;
    room->next = table;
    memcpy(b->weights, room->weights, (size_t)(b->sticks ? 2 * K : K) * sizeof(double));
    memcpy(b->components, room->components, (size_t)(K * M) * sizeof(double));
    return ASCENT_DONE;
}

#endif

/* Returns the size of the scratch memory. */
LOOP intptr_t NAME(product_ascent_size)(product_block *b)
{
    product_room room;
    b->scratch = 0;
    const double *end = divide_product_room(b, &room);
    return (end - (double *)0) + (b->steps.n_sections - 1) * (end - room.bound);
}

/* Adds the samples of a block to section i.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(product_section)(const product_block *b, intptr_t i)
{
    product_run own = *(const product_run *)b->run;
    divide_product_section(b, own.room.bound + i * b->steps.section_size, &own.room);
    own.block = b;
    return add_samples(&own);
}

/* Takes steps of coordinate ascent.  Returns the status, see `mixture_ascent.h`. */
LOOP int NAME(product_ascent)(product_block *b)
{
    const mixture_methods methods = {product_local_step, product_global_bound, 0,
                                     product_global_step};
    product_run run;
    run.block = b;
    b->run = &run;
    const double *end = divide_product_room(b, &run.room);
    b->steps.section_size = end - run.room.bound;
    run.room.prior_normaliser = log_normaliser_of(b, &run.room, b->prior);
    const int status = prepare_product(&run, b->weights, b->components, run.room.table);
    return status == ASCENT_DONE ? take_steps(&b->steps, &methods, &run) : status;
}
