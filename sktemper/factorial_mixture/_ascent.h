/* Ascent of a factorial mixture: several steps of coordinate ascent on all samples in one call,
 * see `mixture_ascent.h`.  The methods of `FactorialMixtureModel` are the reference. */
#ifndef SKTEMPER_FACTORIAL_ASCENT_H
#define SKTEMPER_FACTORIAL_ASCENT_H

enum { LEARNS_NOISE = 1, LEARNS_INCLUSION = 2 };
/* Rows of a product, and a stride of which few multiples have the same place in a cache. */
enum { ROWS_OF_SUM = 2048, STRIDE_OF_SUM = ROWS_OF_SUM + 8 };

/* Results of local steps on `ROWS_OF_SUM` samples. */
typedef struct {
    void *nu;                            /* (n_samples, n_features) */
    double *fits, *scores, *entropies, *bounds;
} factorial_local;

/* Scratch memory of an ascent.  Each section has the parts from `bound` on of its own. */
typedef struct {
    double *root, *inverse, *means, *next_precision, *next_means, *next_inclusion, *heat;
    double next_noise;
    void *nu, *filters, *gram, *offsets, *prior_logits, *panels;
    double *bound, *residual, *n_samples, *n_sweeps, *second, *cross;
    double *weighted, *wide, *part;
    factorial_local warm, fresh;
    void *products, *sweeps, *panels_of_rows;
} factorial_room;

/* An ascent, for the functions of `mixture_methods`. */
typedef struct {
    factorial_block *block;
    factorial_room room;
    intptr_t n_begun;
    const double *powers;                /* of the local step, and whether it has no sums */
    int only_bound, is_warm;
} factorial_run;

static void room_of_local(double **end, intptr_t N, intptr_t K, factorial_local *local)
{
    local->nu = room_for(end, N * K);
    local->fits = room_for(end, N);
    local->scores = room_for(end, N);
    local->entropies = room_for(end, N);
    local->bounds = room_for(end, N);
}

/* Divides the memory of a section, from `end` on, and returns the end of it. */
static double *divide_factorial_section(const factorial_block *b, double *end,
                                        factorial_room *room)
{
    const intptr_t N = b->n_samples, K = b->n_features, D = b->n_dimensions;
    const intptr_t n = N < ROWS_OF_SUM ? N : ROWS_OF_SUM, width = PRODUCT_BYTES / 4;
    room->bound = room_for(&end, 1);
    room->residual = room_for(&end, 1);
    room->n_samples = room_for(&end, 1);
    room->n_sweeps = room_for(&end, 1);
    room->second = room_for(&end, K * K);
    room->cross = room_for(&end, K * D);
    room->weighted = room_for(&end, K * STRIDE_OF_SUM);
    room->wide = room_for(&end, n * D);
    room->part = room_for(&end, K * D);
    room_of_local(&end, n, K, &room->warm);
    room_of_local(&end, n, K, &room->fresh);
    room->products = room_for(&end, n * K);
    room->sweeps = room_for(&end, 4 * K * BINARY_BYTES / (intptr_t)sizeof(double));
    room->panels_of_rows = room_for(&end, n * ((D + width - 1) / width * width));
    return end;
}

/* Divides the scratch memory, and returns the end of it. */
static double *divide_factorial_room(const factorial_block *b, factorial_room *room)
{
    const intptr_t K = b->n_features, D = b->n_dimensions, width = PRODUCT_BYTES / 4;
    double *end = b->scratch;
    room->root = room_for(&end, K * K);
    room->inverse = room_for(&end, K * K);
    room->means = room_for(&end, K * D);
    room->next_precision = room_for(&end, K * K);
    room->next_means = room_for(&end, K * D);
    room->next_inclusion = room_for(&end, K);
    room->heat = room_for(&end, 1);
    room->nu = room_for(&end, b->keeps_local ? b->n_samples * K : 0);
    room->filters = room_for(&end, K * D);
    room->gram = room_for(&end, K * K);
    room->offsets = room_for(&end, K);
    room->prior_logits = room_for(&end, K);
    room->panels = room_for(&end, D * ((K + width - 1) / width * width));
    return divide_factorial_section(b, end, room);
}

/* root root^T = matrix; returns whether the matrix is not positive definite. */
static int factorial_root(intptr_t K, const double *matrix, double *root)
{
    for (intptr_t i = 0; i < K; i++)
        for (intptr_t j = 0; j <= i; j++) {
            double sum = matrix[i * K + j];
            for (intptr_t l = 0; l < j; l++)
                sum -= root[i * K + l] * root[j * K + l];
            if (i > j)
                root[i * K + j] = sum / root[j * K + j];
            else if (sum > 0 && sum < HUGE_VAL)
                root[i * K + i] = sqrt(sum);
            else
                return 1;
        }
    return 0;
}

/* rows = root^-T root^-1 rows, for n columns */
static void factorial_solve(intptr_t K, intptr_t n, const double *root, double *rows)
{
    for (intptr_t i = 0; i < K; i++) {
        double *restrict own = rows + i * n;
        for (intptr_t j = 0; j < i; j++)
            for (intptr_t d = 0; d < n; d++)
                own[d] -= root[i * K + j] * rows[j * n + d];
        for (intptr_t d = 0; d < n; d++)
            own[d] /= root[i * K + i];
    }
    for (intptr_t i = K; i-- > 0;) {
        double *restrict own = rows + i * n;
        for (intptr_t j = i + 1; j < K; j++)
            for (intptr_t d = 0; d < n; d++)
                own[d] -= root[j * K + i] * rows[j * n + d];
        for (intptr_t d = 0; d < n; d++)
            own[d] /= root[i * K + i];
    }
}

/* Computes means, and the covariance in each dimension, from natural parameters.  Returns
 * `ASCENT_DONE` or an error. */
static int factorial_usual(const factorial_block *b, factorial_room *room,
                           const double *precision, const double *weighted_means)
{
    const intptr_t K = b->n_features, D = b->n_dimensions;
    double sum = 0;
    if (factorial_root(K, precision, room->root))
        return ASCENT_ILL_DEFINED;
    memcpy(room->means, weighted_means, (size_t)(K * D) * sizeof(double));
    factorial_solve(K, D, room->root, room->means);
    memset(room->inverse, 0, (size_t)(K * K) * sizeof(double));
    for (intptr_t k = 0; k < K; k++)
        room->inverse[k * K + k] = b->structured ? 1 : 1 / precision[k * K + k];
    if (b->structured)
        factorial_solve(K, K, room->root, room->inverse);
    for (intptr_t i = 0; i < K * D; i++)
        sum += room->means[i];
    return isfinite(sum) ? ASCENT_DONE : ASCENT_NOT_FINITE;
}

/* E log p - E log q of the components. */
static double factorial_global_bound(void *self)
{
    const factorial_run *run = self;
    const factorial_block *b = run->block;
    const factorial_room *room = &run->room;
    const intptr_t K = b->n_features, D = b->n_dimensions;
    double square = 0, trace = 0, log_determinant = 0;
    for (intptr_t i = 0; i < K * D; i++)
        square += room->means[i] * room->means[i];
    for (intptr_t k = 0; k < K; k++) {
        const double variance = room->inverse[k * K + k];
        trace += variance;
        log_determinant += b->structured ? -2 * log(room->root[k * K + k]) : log(variance);
    }
    const double log_variance = LOG_TWO_PI + log(b->component_variance);
    const double log_prior =
        -0.5 * ((double)(K * D) * log_variance
                + (square + (double)D * trace) / b->component_variance);
    return log_prior
           + 0.5 * ((double)(K * D) * (1 + LOG_TWO_PI) + (double)D * log_determinant);
}

/* Learns the noise variance and the inclusion probabilities from the statistics. */
static void factorial_update_hyper(const factorial_block *b, factorial_room *room)
{
    const intptr_t K = b->n_features;
    const double n_samples = *room->n_samples, n_values = n_samples * (double)b->n_dimensions;
    double noise = b->noise;
    if (b->learned & LEARNS_NOISE) {
        noise = n_values > 0 ? *room->residual / n_values : noise;
        noise = noise > b->least_noise ? noise : b->least_noise;
    }
    room->next_noise = noise;
    memcpy(room->next_inclusion, b->inclusion, (size_t)K * sizeof(double));
    if (!(b->learned & LEARNS_INCLUSION))
        return;
    const double least = b->least_inclusion, most = 1 - least;
    for (intptr_t k = 0; k < K; k++) {
        double own = b->inclusion[k];
        if (n_samples > 0)
            own = room->second[k * K + k] / n_samples;
        room->next_inclusion[k] = own < least ? least : own > most ? most : own;
    }
}
#endif

/* Computes the tables of the loops over samples from the parameters. */
static void NAME(factorial_tables)(const factorial_block *b, factorial_room *room)
{
    const intptr_t K = b->n_features, D = b->n_dimensions;
    const double noise = b->noise;
    REAL *filters = room->filters, *gram = room->gram;
    double largest = -HUGE_VAL;
    for (intptr_t i = 0; i < K * D; i++)
        filters[i] = (REAL)(room->means[i] / noise);
    NAME(pack_columns)(D, K, filters, 1, D, room->panels);
    for (intptr_t i = 0; i < K; i++) {
        const double logit = log(b->inclusion[i] / (1 - b->inclusion[i]));
        for (intptr_t j = 0; j <= i; j++) {
            const double *restrict one = room->means + i * D;
            const double *restrict other = room->means + j * D;
            const double product = weighted_sum_f64(D, one, other);
            const double sum = (product + (double)D * room->inverse[i * K + j]) / noise;
            gram[i * K + j] = gram[j * K + i] = (REAL)sum;
            if (i > j)
                continue;
            ((REAL *)room->prior_logits)[i] = (REAL)logit;
            ((REAL *)room->offsets)[i] = (REAL)(logit - 0.5 * sum);
            largest = sum > largest ? sum : largest;
        }
    }
    *room->heat = 0.5 * largest > 1 ? 0.5 * largest : 1;
}

/* Optimises the probabilities of all samples, from `start` or, if it is NULL, from the priors;
 * returns the number of sweeps, or -1. */
static intptr_t NAME(factorial_sweeps)(const factorial_block *b, const factorial_room *room,
                                       double power, int cooled, const REAL *start,
                                       factorial_local *local)
{
    const intptr_t K = b->n_features;
    for (intptr_t i = 0; i < b->n_samples * K; i++)
        ((REAL *)local->nu)[i] = start ? start[i] : (REAL)b->inclusion[i % K];
    const double one = 1, noise = b->noise, D = (double)b->n_dimensions;
    double constant = 0;
    binary_block block = {0};
    block.n_samples = b->n_samples;
    block.n_features = K;
    block.products = room->products;
    block.gram = room->gram;
    block.offsets = room->offsets;
    block.prior_logits = room->prior_logits;
    block.powers = &power;
    block.heats = cooled ? room->heat : &one;
    block.cooling = b->cooling;
    block.tol = b->tol;
    block.max_iter = b->max_iter;
    block.stop = b->steps.stop;
    block.nu = local->nu;
    block.fits = local->fits;
    block.scores = local->scores;
    block.entropies = local->entropies;
    block.scratch = room->sweeps;
    if (NAME(binary_local_step)(&block))
        return -1;
    for (intptr_t k = 0; k < K; k++)
        constant += log1p(-b->inclusion[k]);
    const double normaliser = D * (0.5 * log(2 * M_PI * noise));
    for (intptr_t i = 0; i < b->n_samples; i++) {
        const double square = b->squares[i] / (2 * noise);
        local->fits[i] -= square;
        local->bounds[i] = local->entropies[i]
                           + power * (local->scores[i] - square + constant - normaliser);
    }
    return block.n_iterations;
}

/* Optimises all samples from the priors, and replaces results that are worse.  Returns the
 * number of sweeps, or -1. */
static intptr_t NAME(factorial_restart)(const factorial_block *b, factorial_room *room,
                                        double power)
{
    const intptr_t N = b->n_samples, K = b->n_features;
    factorial_local *warm = &room->warm, *fresh = &room->fresh;
    const intptr_t n_sweeps = NAME(factorial_sweeps)(b, room, power, 1, NULL, fresh);
    for (intptr_t i = 0; n_sweeps >= 0 && i < N; i++)
        if (fresh->bounds[i] > warm->bounds[i]) {
            memcpy((REAL *)warm->nu + i * K, (REAL *)fresh->nu + i * K,
                   (size_t)K * sizeof(REAL));
            warm->fits[i] = fresh->fits[i];
            warm->bounds[i] = fresh->bounds[i];
        }
    return n_sweeps;
}

/* Adds the statistics of samples, which are in float64 for float samples,
 * too, because the solution for the means multiplies errors by the condition number of
 * `second`. */
static void NAME(add_factorial_rows)(const factorial_block *b, factorial_room *room,
                                     double power)
{
    const intptr_t n = b->n_samples, K = b->n_features, D = b->n_dimensions;
    const REAL *restrict samples = b->samples;
    for (intptr_t i = 0; i < n; i++) {
        const double factor = b->row_weight ? power * b->row_weight[i] : power;
        const REAL *restrict own = (const REAL *)room->warm.nu + i * K;
        *room->n_samples += factor;
        *room->residual += factor * (-2 * b->noise * room->warm.fits[i]);
        for (intptr_t k = 0; k < K; k++) {
            const double on = factor * (double)own[k];
            double *restrict second = room->second + k * K;
            room->weighted[k * STRIDE_OF_SUM + i] = on;
            for (intptr_t j = 0; j < k; j++)
                second[j] += on * (double)own[j];
            second[k] += on;
        }
    }
    for (intptr_t i = 0; i < n * D; i++)
        room->wide[i] = (double)samples[i];
    pack_columns_f64(n, D, room->wide, D, 1, room->panels_of_rows);
    product_f64(K, n, D, room->weighted, STRIDE_OF_SUM, room->panels_of_rows, room->part);
    for (intptr_t i = 0; i < K * D; i++)
        room->cross[i] += room->part[i];
}

/* Takes local steps on samples; returns whether they were stopped. */
static int NAME(factorial_rows)(const factorial_run *run, const factorial_block *b,
                                factorial_room *room)
{
    const intptr_t N = b->n_samples, K = b->n_features, D = b->n_dimensions;
    const double power = run->powers[2];
    const int is_warm = run->is_warm, cools = b->cooling > 1;
    factorial_local *warm = &room->warm;
    intptr_t more = 0;
    NAME(product)(N, D, K, b->samples, D, room->panels, room->products);
    const intptr_t n_sweeps = NAME(factorial_sweeps)(b, room, power, cools && !is_warm,
                                                     is_warm ? b->nu : NULL, warm);
    if (n_sweeps >= 0 && is_warm && cools)
        more = NAME(factorial_restart)(b, room, power);
    if (n_sweeps < 0 || more < 0)
        return 1;
    *room->n_sweeps += (double)(n_sweeps + more);
    for (intptr_t i = 0; i < N; i++) {
        b->row_bounds[i] = warm->bounds[i];
        *room->bound += b->row_weight ? b->row_weight[i] * warm->bounds[i] : warm->bounds[i];
    }
    if (b->keeps_local)
        memcpy(room->nu, warm->nu, (size_t)(N * K) * sizeof(REAL));
    if (!run->only_bound)
        NAME(add_factorial_rows)(b, room, run->powers[1]);
    return 0;
}

/* Takes the local steps of section i; returns whether they were stopped. */
LOOP int NAME(factorial_section)(const void *self, intptr_t i)
{
    const factorial_block *b = self;
    const factorial_run *run = b->run;
    const intptr_t N = b->n_samples, K = b->n_features, n = b->steps.n_sections;
    const intptr_t n_parts = (N + ROWS_OF_SUM - 1) / ROWS_OF_SUM;
    factorial_room room = run->room;
    factorial_block own = *b;
    divide_factorial_section(b, room.bound + i * b->steps.section_size, &room);
    for (intptr_t part = n_parts * i / n; part < n_parts * (i + 1) / n; part++) {
        const intptr_t first = part * ROWS_OF_SUM;
        own.n_samples = N - first < ROWS_OF_SUM ? N - first : ROWS_OF_SUM;
        own.samples = (const REAL *)b->samples + first * b->n_dimensions;
        own.squares = b->squares + first;
        own.row_weight = b->row_weight ? b->row_weight + first : NULL;
        own.nu = (REAL *)b->nu + first * K;
        own.row_bounds = b->row_bounds + first;
        room.nu = (REAL *)run->room.nu + first * K;
        if (NAME(factorial_rows)(run, &own, &room))
            return 1;
    }
    return 0;
}

static int NAME(factorial_local_step)(void *self, const double *powers, int only_bound,
                                      double *bound)
{
    factorial_run *run = self;
    factorial_block *b = run->block;
    factorial_room *room = &run->room;
    const intptr_t K = b->n_features, n_sums = room->weighted - room->bound;
    run->powers = powers;
    run->only_bound = only_bound;
    run->is_warm = b->keeps_local && b->has_local;
    NAME(factorial_tables)(b, room);
    for (intptr_t i = 0; i < b->steps.n_sections; i++)
        memset(room->bound + i * b->steps.section_size, 0, (size_t)n_sums * sizeof(double));
    if (b->steps.share ? b->steps.share(b->steps.sharing) : NAME(factorial_section)(b, 0))
        return 1;
    add_sections(&b->steps, n_sums, room->bound);
    for (intptr_t k = 0; k < K; k++)
        for (intptr_t j = 0; j < k; j++)
            room->second[j * K + k] = room->second[k * K + j];
    b->iterations[run->n_begun++] = *room->n_sweeps / (double)b->n_samples;
    *bound = *room->bound;
    return 0;
}

static int NAME(factorial_global_step)(void *self, double power)
{
    factorial_run *run = self;
    factorial_block *b = run->block;
    factorial_room *room = &run->room;
    const intptr_t K = b->n_features, D = b->n_dimensions;
    factorial_update_hyper(b, room);
    const double factor = b->steps.scale / room->next_noise;
    for (intptr_t i = 0; i < K * K; i++)
        room->next_precision[i] = factor * room->second[i];
    for (intptr_t k = 0; k < K; k++)
        room->next_precision[k * K + k] += power / b->component_variance;
    for (intptr_t i = 0; i < K * D; i++)
        room->next_means[i] = factor * room->cross[i];
    const int status = factorial_usual(b, room, room->next_precision, room->next_means);
    if (status != ASCENT_DONE)
        return status;
    memcpy(b->precision, room->next_precision, (size_t)(K * K) * sizeof(double));
    memcpy(b->weighted_means, room->next_means, (size_t)(K * D) * sizeof(double));
    memcpy(b->inclusion, room->next_inclusion, (size_t)K * sizeof(double));
    b->noise = room->next_noise;
    if (b->keeps_local) {
        memcpy(b->nu, room->nu, (size_t)(b->n_samples * K) * sizeof(REAL));
        b->has_local = 1;
    }
    return ASCENT_DONE;
}

/* Returns the size of the scratch memory. */
LOOP intptr_t NAME(factorial_ascent_size)(factorial_block *b)
{
    factorial_room room;
    b->scratch = 0;
    const double *end = divide_factorial_room(b, &room);
    return (end - (double *)0) + (b->steps.n_sections - 1) * (end - room.bound);
}

/* Takes steps of coordinate ascent.  Returns the status, see `mixture_ascent.h`. */
LOOP int NAME(factorial_ascent)(factorial_block *b)
{
    const mixture_methods methods = {NAME(factorial_local_step), factorial_global_bound, 0,
                                     NAME(factorial_global_step)};
    factorial_run run;
    run.block = b;
    run.n_begun = 0;
    b->run = &run;
    b->steps.section_size = divide_factorial_room(b, &run.room) - run.room.bound;
    const int status = factorial_usual(b, &run.room, b->precision, b->weighted_means);
    if (status != ASCENT_DONE)
        return status;
    return take_steps(&b->steps, &methods, &run);
}
