/* Binary latent features of samples, for one floating type: coordinate sweeps over
 * their mean-field probabilities, a panel of samples at a time, one a lane.  A sample
 * that has converged leaves its lane to the next one; no lane reads another, so that no
 * sample depends on its neighbours.
 *
 * Samples that miss values have a gram each: its upper triangle, row by row.  In a panel
 * each entry of it is one of the lanes, as the probabilities are. */

#ifdef VECTOR_BYTES
#define INLINE ALWAYS_INLINE
#else
#define INLINE static inline
#endif

/* Where row k of an upper triangle begins, at its diagonal. */
#define TRIANGLE(n, k) ((k) * (2 * (n) - (k) + 1) / 2)

/* As many vectors as hide the latency of a sum, and as fit into registers. */
#ifdef VECTOR_BYTES
#define PARTS (BINARY_BYTES / SIMD_BYTES)
#define LANES (PARTS * VECTOR_BYTES / (intptr_t)sizeof(REAL))
#define FEW_LANES (VECTOR_BYTES / (intptr_t)sizeof(REAL))
#else
#define LANES (SIMD_BYTES / (intptr_t)sizeof(REAL))
#define FEW_LANES LANES
#endif
/* The most bytes of the grams of a panel that is not made narrower: of many features
 * they are read from a far cache. */
#define MOST_GRAM_BYTES ((intptr_t)5 << 17)

/* fields = start - sum_{j != k} row[j] nu[j] of a panel's lanes.  The newest term, that
 * of k - 1, is the last, so that the others do not wait for it. */
#ifdef VECTOR_BYTES
#define VECTOR NAME(sample_vector)
typedef REAL VECTOR
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

static inline void NAME(binary_fields)(intptr_t n_features, intptr_t k,
                                       const REAL *restrict row, const REAL *restrict nu,
                                       const REAL *restrict start, REAL *restrict fields)
{
    const VECTOR *all = (const VECTOR *)nu;
    VECTOR sums[PARTS];
    for (int i = 0; i < PARTS; i++)
        sums[i] = ((const VECTOR *)start)[i];
    for (intptr_t j = k + 1; j < n_features; j++)
        for (int i = 0; i < PARTS; i++)
            sums[i] -= row[j] * all[j * PARTS + i];
    for (intptr_t j = 0; j < k; j++)
        for (int i = 0; i < PARTS; i++)
            sums[i] -= row[j] * all[j * PARTS + i];
    for (int i = 0; i < PARTS; i++)
        ((VECTOR *)fields)[i] = sums[i];
}

/* The same where each lane has a gram of its own. */
static inline void NAME(binary_own_fields)(intptr_t n_features, intptr_t k,
                                           const REAL *restrict grams,
                                           const REAL *restrict nu,
                                           const REAL *restrict start,
                                           REAL *restrict fields)
{
    const VECTOR *all = (const VECTOR *)nu;
    const VECTOR *row = (const VECTOR *)(grams + TRIANGLE(n_features, k) * LANES);
    const VECTOR *column = (const VECTOR *)(grams + k * LANES);
    VECTOR sums[PARTS];
    for (int i = 0; i < PARTS; i++)
        sums[i] = ((const VECTOR *)start)[i];
    for (intptr_t j = k + 1; j < n_features; j++)
        for (int i = 0; i < PARTS; i++)
            sums[i] -= row[(j - k) * PARTS + i] * all[j * PARTS + i];
    for (intptr_t j = 0; j < k; j++) {
        for (int i = 0; i < PARTS; i++)
            sums[i] -= column[i] * all[j * PARTS + i];
        column += (n_features - j - 1) * PARTS;
    }
    for (int i = 0; i < PARTS; i++)
        ((VECTOR *)fields)[i] = sums[i];
}

/* The same, in one vector a feature, where nu of the features up to k has been taken
 * from `start` already.  Terms are added up in turns: a lone sum would wait. */
static inline void NAME(binary_few_fields)(intptr_t n_later, const REAL *restrict grams,
                                           const REAL *restrict nu,
                                           const REAL *restrict start,
                                           REAL *restrict fields)
{
    const VECTOR *row = (const VECTOR *)grams, *all = (const VECTOR *)nu;
    VECTOR sums[4] = {*(const VECTOR *)start, {0}, {0}, {0}};
    intptr_t j = 0;
    for (; j + 4 <= n_later; j += 4)
        for (int i = 0; i < 4; i++)
            sums[i] -= row[j + i] * all[j + i];
    for (; j < n_later; j++)
        sums[0] -= row[j] * all[j];
    *(VECTOR *)fields = (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* later[j] -= row[j] p, of the features after that of `p`. */
static inline void NAME(binary_few_told)(intptr_t n_later, const REAL *restrict grams,
                                         const REAL *restrict p, REAL *restrict later)
{
    const VECTOR *row = (const VECTOR *)grams, told = *(const VECTOR *)p;
    VECTOR *all = (VECTOR *)later;
    for (intptr_t j = 0; j < n_later; j++)
        all[j] -= row[j] * told;
}
#undef VECTOR
#else
static inline void NAME(binary_fields)(intptr_t n_features, intptr_t k,
                                       const REAL *restrict row, const REAL *restrict nu,
                                       const REAL *restrict start, REAL *restrict fields)
{
    for (intptr_t lane = 0; lane < LANES; lane++)
        fields[lane] = start[lane];
    for (intptr_t i = 1; i < n_features; i++) {
        const intptr_t j = k + i < n_features ? k + i : k + i - n_features;
        for (intptr_t lane = 0; lane < LANES; lane++)
            fields[lane] -= row[j] * nu[j * LANES + lane];
    }
}

static inline void NAME(binary_own_fields)(intptr_t n_features, intptr_t k,
                                           const REAL *restrict grams,
                                           const REAL *restrict nu,
                                           const REAL *restrict start,
                                           REAL *restrict fields)
{
    for (intptr_t lane = 0; lane < LANES; lane++)
        fields[lane] = start[lane];
    for (intptr_t i = 1; i < n_features; i++) {
        const intptr_t j = k + i < n_features ? k + i : k + i - n_features;
        const intptr_t low = j < k ? j : k, high = j < k ? k : j;
        const REAL *restrict entry =
            grams + (TRIANGLE(n_features, low) + high - low) * LANES;
        for (intptr_t lane = 0; lane < LANES; lane++)
            fields[lane] -= entry[lane] * nu[j * LANES + lane];
    }
}
#endif

/* The new probabilities of a feature, in `p`; `change` grows to the size of the step. */
INLINE void NAME(binary_update)(const intptr_t lanes, REAL offset,
                                const REAL *restrict logits,
                                const REAL *restrict powers, REAL *restrict p,
                                REAL *restrict change)
{
    VECTORISE
    for (intptr_t lane = 0; lane < lanes; lane++) {
        const REAL old = p[lane];
        const REAL new = 1 / (1 + NAME(exp)(-powers[lane] * (logits[lane] + offset)));
        const REAL step = new - old, size = step < 0 ? -step : step;
        p[lane] = new;
        change[lane] = size > change[lane] ? size : change[lane];
    }
}

/* One sweep over the features of a panel at its lanes' powers; `change` grows to each
 * lane's largest change.  Where lanes have grams of their own, the products have the
 * offsets in them. */
INLINE void NAME(binary_sweep)(const int own, intptr_t n_features,
                               const REAL *restrict gram, const REAL *restrict offsets,
                               const REAL *restrict products,
                               const REAL *restrict powers, REAL *restrict nu,
                               REAL *restrict change)
{
    for (intptr_t k = 0; k < n_features; k++) {
        const REAL offset = own ? 0 : offsets[k];
        REAL logits[LANES];
        if (own)
            NAME(binary_own_fields)(n_features, k, gram, nu, products + k * LANES,
                                    logits);
        else
            NAME(binary_fields)(n_features, k, gram + k * n_features, nu,
                                products + k * LANES, logits);
        NAME(binary_update)(LANES, offset, logits, powers, nu + k * LANES, change);
    }
}

#ifdef VECTOR_BYTES
/* The same where lanes have grams of their own, and are few.  `fields` has room for the
 * products less what features before have told: so all that is read of the grams is each
 * row of their triangle, once. */
INLINE void NAME(binary_few_sweep)(intptr_t n_features, const REAL *restrict grams,
                                   const REAL *restrict products,
                                   const REAL *restrict powers, REAL *restrict nu,
                                   REAL *restrict fields, REAL *restrict change)
{
    memcpy(fields, products, (size_t)(n_features * FEW_LANES) * sizeof(REAL));
    for (intptr_t k = 0; k < n_features; k++) {
        const intptr_t n_later = n_features - 1 - k;
        REAL *restrict p = nu + k * FEW_LANES, *restrict own = fields + k * FEW_LANES;
        REAL logits[FEW_LANES];
        grams += FEW_LANES;
        NAME(binary_few_fields)(n_later, grams, p + FEW_LANES, own, logits);
        NAME(binary_update)(FEW_LANES, 0, logits, powers, p, change);
        NAME(binary_few_told)(n_later, grams, p, own + FEW_LANES);
        grams += n_later * FEW_LANES;
    }
}
#endif

/* The terms of a panel's bound: fits = nu . products - (nu . gram nu + the variances'
 * share) / 2, and the entropies of nu. */
static void NAME(binary_terms)(intptr_t n_features, const REAL *restrict gram,
                               const REAL *restrict products, const REAL *restrict nu,
                               double *restrict fits, double *restrict entropies)
{
    for (intptr_t lane = 0; lane < LANES; lane++)
        fits[lane] = entropies[lane] = 0;
    for (intptr_t k = 0; k < n_features; k++) {
        const REAL own = gram[k * n_features + k];
        const REAL *restrict p = nu + k * LANES;
        const REAL *restrict product = products + k * LANES;
        REAL fields[LANES];
        NAME(binary_fields)(n_features, k, gram + k * n_features, nu, product, fields);
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++) {
            const REAL on = p[lane], off = 1 - on;
            const REAL safe_on = on > TINY_MASS ? on : TINY_MASS;
            const REAL safe_off = off > TINY_MASS ? off : TINY_MASS;
            fits[lane] += (double)((REAL)0.5 * on * (product[lane] + fields[lane] - own));
            entropies[lane] -=
                (double)(on * NAME(log)(safe_on) + off * NAME(log)(safe_off));
        }
    }
}

/* The same of one sample with a gram of its own. */
static void NAME(binary_own_terms)(intptr_t n_features, const REAL *restrict gram,
                                   const REAL *restrict products,
                                   const REAL *restrict nu, double *restrict fit,
                                   double *restrict entropy)
{
    double sum = 0, information = 0;
    for (intptr_t k = 0; k < n_features; k++) {
        REAL field = products[k] - (REAL)0.5 * gram[0], others = 0;
        VECTORISE_REDUCTION(+ : others)
        for (intptr_t j = 1; j < n_features - k; j++)
            others += gram[j] * nu[k + j];
        sum += (double)(nu[k] * (field - others));
        gram += n_features - k;
    }
    VECTORISE_REDUCTION(+ : information)
    for (intptr_t k = 0; k < n_features; k++) {
        const REAL on = nu[k], off = 1 - on;
        const REAL safe_on = on > TINY_MASS ? on : TINY_MASS;
        const REAL safe_off = off > TINY_MASS ? off : TINY_MASS;
        information += (double)(on * NAME(log)(safe_on) + off * NAME(log)(safe_off));
    }
    *fit = sum;
    *entropy = -information;
}

/* Put a sample's products and probabilities into a lane of a panel. */
INLINE void NAME(fill_lane)(const intptr_t lanes, const binary_block *block,
                            intptr_t sample, intptr_t lane, REAL *restrict products,
                            REAL *restrict nu)
{
    const intptr_t K = block->n_features;
    const REAL *restrict own_products = (const REAL *)block->products + sample * K;
    const REAL *restrict own_nu = (const REAL *)block->nu + sample * K;
    for (intptr_t k = 0; k < K; k++) {
        products[k * lanes + lane] = own_products[k];
        nu[k * lanes + lane] = own_nu[k];
    }
}

/* The same of a sample with a gram of its own: that, and the offsets, too. */
INLINE void NAME(fill_own_lane)(const intptr_t lanes, const binary_block *block,
                                intptr_t sample, intptr_t lane,
                                REAL *restrict products, REAL *restrict nu,
                                REAL *restrict grams)
{
    const intptr_t K = block->n_features, size = K * (K + 1) / 2;
    const REAL *restrict offsets = (const REAL *)block->offsets + sample * K;
    const REAL *restrict own = (const REAL *)block->gram + sample * size;
    NAME(fill_lane)(lanes, block, sample, lane, products, nu);
    for (intptr_t k = 0; k < K; k++)
        products[k * lanes + lane] += offsets[k];
    for (intptr_t i = 0; i < size; i++)
        grams[i * lanes + lane] = own[i];
}

/* The optimum of every sample, by panels of so many lanes; 0, or -1 when told to stop. */
INLINE int NAME(binary_optimise)(binary_block *block, const int own, const intptr_t lanes)
{
    const intptr_t K = block->n_features, n = block->n_samples;
    REAL *restrict products = block->scratch, *restrict nu = products + K * lanes;
    REAL *restrict fields = nu + K * lanes, *restrict grams = fields + K * lanes;
    REAL powers[LANES], cooled[LANES], heat[LANES], sweeps[LANES], change[LANES];
    REAL busy[LANES], done[LANES];
    intptr_t samples[LANES], next = 0, n_busy = 0;
    /* beyond which a float does not count */
    const intptr_t countable = (intptr_t)1 << 24;
    const REAL max_iter =
        (REAL)(block->max_iter < countable ? block->max_iter : countable);
    const REAL tol = (REAL)block->tol, cooling = (REAL)block->cooling;
    for (intptr_t i = 0; i < 2 * K * lanes; i++)
        products[i] = 0;
    for (intptr_t i = 0; own && i < K * (K + 1) / 2 * lanes; i++)
        grams[i] = 0;
    for (intptr_t lane = 0; lane < lanes; lane++) {
        powers[lane] = busy[lane] = sweeps[lane] = 0;
        heat[lane] = done[lane] = 1;
    }
    for (REAL any = 1;;) {
        for (intptr_t lane = 0; any != 0 && lane < lanes; lane++) {
            if (done[lane] == 0)
                continue;
            if (busy[lane] != 0)
                for (intptr_t k = 0; k < K; k++)
                    ((REAL *)block->nu)[samples[lane] * K + k] = nu[k * lanes + lane];
            n_busy -= busy[lane] != 0;
            busy[lane] = next < n;
            if (next == n)
                continue;
            n_busy++;
            samples[lane] = next++;
            powers[lane] = (REAL)block->powers[block->power_per_sample ? samples[lane] : 0];
            heat[lane] = (REAL)block->heats[own ? samples[lane] : 0];
            sweeps[lane] = 0;
            if (own)
                NAME(fill_own_lane)(lanes, block, samples[lane], lane, products, nu, grams);
            else
                NAME(fill_lane)(lanes, block, samples[lane], lane, products, nu);
        }
        if (n_busy == 0)
            return 0;
        if (*block->stop)
            return -1;
        for (intptr_t lane = 0; lane < lanes; lane++)
            cooled[lane] = powers[lane] / heat[lane], change[lane] = 0;
#ifdef VECTOR_BYTES
        if (lanes < LANES)
            NAME(binary_few_sweep)(K, grams, products, cooled, nu, fields, change);
        else
#endif
            NAME(binary_sweep)(own, K, own ? grams : (const REAL *)block->gram,
                               block->offsets, products, cooled, nu, change);
        block->n_iterations += n_busy;
        any = 0;
        VECTORISE_REDUCTION(max : any)
        for (intptr_t lane = 0; lane < lanes; lane++) {
            /* while it cools, a sweep does not count, and nothing has converged */
            const REAL cold = heat[lane] > 1 ? (REAL)0 : (REAL)1;
            const REAL cooler = heat[lane] / cooling;
            const REAL still = change[lane] < tol ? (REAL)1 : (REAL)0;
            sweeps[lane] += cold;
            /* infinite heat, or cooling that rounds to 1, would never end */
            heat[lane] = cooler > 1 && cooler < heat[lane] ? cooler : 1;
            const REAL last = sweeps[lane] < max_iter ? still : (REAL)1;
            done[lane] = busy[lane] * cold * last;
            any = done[lane] > any ? done[lane] : any;
        }
    }
}

/* Brings the features of every sample to the optimum of its bound; 0, or -1 when told to
 * stop. */
LOOP int NAME(binary_local_step)(binary_block *block)
{
    const intptr_t K = block->n_features, n = block->n_samples;
    REAL *restrict products = block->scratch, *restrict nu = products + K * LANES;
    block->n_iterations = 0;
    if (block->gram_per_sample) {
        const intptr_t panel = K * (K + 1) / 2 * LANES * (intptr_t)sizeof(REAL);
        if (panel <= MOST_GRAM_BYTES ? NAME(binary_optimise)(block, 1, LANES)
                                     : NAME(binary_optimise)(block, 1, FEW_LANES))
            return -1;
        for (intptr_t i = 0; i < n; i++)
            NAME(binary_own_terms)(
                K, (const REAL *)block->gram + i * (K * (K + 1) / 2),
                (const REAL *)block->products + i * K, (const REAL *)block->nu + i * K,
                block->fits + i, block->entropies + i);
        return 0;
    }
    if (NAME(binary_optimise)(block, 0, LANES))
        return -1;
    for (intptr_t first = 0; first < n; first += LANES) {
        const intptr_t width = n - first < LANES ? n - first : LANES;
        double fits[LANES], entropies[LANES];
        for (intptr_t lane = 0; lane < width; lane++)
            NAME(fill_lane)(LANES, block, first + lane, lane, products, nu);
        NAME(binary_terms)(K, block->gram, products, nu, fits, entropies);
        for (intptr_t lane = 0; lane < width; lane++) {
            block->fits[first + lane] = fits[lane];
            block->entropies[first + lane] = entropies[lane];
        }
    }
    return 0;
}

#include "_grams.h"

/* out[i] = the sum of squares of row i, in float64; rows are `stride` elements apart. */
LOOP void NAME(row_squares)(intptr_t n_rows, intptr_t n_columns, intptr_t stride,
                              const REAL *restrict x, double *restrict out)
{
    for (intptr_t i = 0; i < n_rows; i++) {
        const REAL *restrict row = x + i * stride;
        double sum = 0;
        VECTORISE_REDUCTION(+ : sum)
        for (intptr_t d = 0; d < n_columns; d++)
            sum += (double)row[d] * (double)row[d];
        out[i] = sum;
    }
}

#undef LANES
#undef FEW_LANES
#undef TRIANGLE
#undef MOST_GRAM_BYTES
#undef PARTS
#undef INLINE
