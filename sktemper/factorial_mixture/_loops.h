/* Local step of binary latent features, for one floating type: coordinate sweeps over the
 * mean-field probabilities of a panel of samples, with one sample in each lane.  When a
 * sample has converged, the next sample takes its lane.  Computations in a lane use no values
 * of other lanes, so that results do not depend on other samples.  Converged samples are
 * collected until they fill a vector, and then the entropies in their bounds are computed. */

#include "products.h"
#include "sktemper/_families/mixture_ascent.h"
#include "sktemper/_simd/_blocks.h"

#include "_grams.h"
#include "_sweeps.h"

/* Largest size of the grams of a panel.  A panel with larger grams is made narrower, so that
 * the grams stay in a near cache. */
#define MOST_GRAM_BYTES ((intptr_t)5 << 17)
/* Largest number of features for which a panel of PARTS vectors fits into the nearest cache. */
#define FEW_FEATURES 72
/* Number of lanes whose flags fit into one word. */
#define FLAGGED (8 * (int)sizeof(INTEGER))
#define PANEL NAME(binary_panel)

typedef struct {
    NAME(binary_results) results;
    /* values of each lane; `busy` is -1 if the lane has a sample, and 0 otherwise */
    VECTOR slopes[PARTS], powers[PARTS], coolness[PARTS];
    WORDS sweeps[PARTS], busy[PARTS], flags[PARTS];
    intptr_t samples[LANES];
    binary_block *block;
    int own;                             /* whether each sample has its own gram */
    intptr_t lanes, next, n_busy;
    REAL power, first;                   /* initial `powers`, `coolness` of the next sample */
    /* (n_features, lanes): sums of products and offsets; probabilities and exponents, which
     * sweeps change; and entries of the grams */
    REAL *products, *nu, *exponents, *grams;
    /* samples that have left their lanes, until they fill a vector */
    intptr_t left[FEW_LANES], n_left;
    REAL *left_pairs;                    /* (n_features, FEW_LANES, 2): nu, exponents */
} PANEL;

/* Computes the entropies of the samples that have left their lanes.  The term of a feature is
 * -log max(p, 1 - p) + |logit p| min(p, 1 - p). */
static void NAME(binary_entropies)(PANEL *panel)
{
    const intptr_t K = panel->block->n_features;
    REAL entropies[FEW_LANES], masses[FEW_LANES];
    for (intptr_t i = 0; i < FEW_LANES; i++)
        entropies[i] = 0, masses[i] = 1;
    for (intptr_t k = 0; k < K; k++) {
        const REAL *restrict pairs = panel->left_pairs + 2 * k * FEW_LANES;
        VECTORISE
        for (intptr_t i = 0; i < FEW_LANES; i++) {
            const REAL on = pairs[2 * i], off = 1 - on, x = pairs[2 * i + 1];
            const REAL far = x < 0 ? -x : x;
            const REAL size = far < FARTHEST_POWER ? far : FARTHEST_POWER;
            const REAL most = on > off ? on : off;
            entropies[i] += (REAL)LOG_TWO * size * (1 - most);
            masses[i] *= most;
        }
        if ((k + 1) % FACTORS && k + 1 < K)
            continue;
        VECTORISE
        for (intptr_t i = 0; i < FEW_LANES; i++) {
            entropies[i] -= NAME(log)(masses[i]);
            masses[i] = 1;
        }
    }
    for (intptr_t i = 0; i < panel->n_left; i++)
        panel->block->entropies[panel->left[i]] = (double)entropies[i];
    panel->n_left = 0;
}

/* Removes a sample from its lane. */
ALWAYS_INLINE void NAME(leave_lane)(PANEL *panel, intptr_t lane)
{
    const binary_block *block = panel->block;
    const intptr_t K = block->n_features, lanes = panel->lanes;
    const intptr_t sample = panel->samples[lane], place = panel->n_left++;
    REAL *restrict out = (REAL *)block->nu + sample * K;
    REAL *restrict pairs = panel->left_pairs + 2 * place;
    const REAL *restrict nu = panel->nu + lane;
    const REAL *restrict exponents = panel->exponents + lane;
    const REAL *restrict prior_logits = (const REAL *)block->prior_logits;
    const double score = ((const REAL *)panel->results.scores)[lane];
    double gain = 0;
    for (intptr_t k = 0; k < K; k++) {
        out[k] = nu[k * lanes];
        pairs[2 * k * FEW_LANES] = nu[k * lanes];
        pairs[2 * k * FEW_LANES + 1] = exponents[k * lanes];
        gain += (double)(nu[k * lanes] * prior_logits[k]);
    }
    block->scores[sample] = score;
    block->fits[sample] = score - gain;
    panel->left[place] = sample;
    if (panel->n_left == FEW_LANES)
        NAME(binary_entropies)(panel);
    ((INTEGER *)panel->busy)[lane] = 0;
    panel->n_busy--;
}

/* Returns 1 / heat, or 1 (no cooling) if the heat is infinite, NAN or below 1. */
static inline REAL NAME(first_coolness)(double heat)
{
    const REAL coolness = (REAL)(1 / heat);
    return coolness > 0 && coolness < 1 ? coolness : 1;
}

/* Puts the next sample into a lane. */
ALWAYS_INLINE void NAME(enter_lane)(PANEL *panel, intptr_t lane)
{
    const binary_block *block = panel->block;
    const intptr_t K = block->n_features, lanes = panel->lanes;
    const intptr_t sample = panel->next++, own = panel->own ? sample : 0;
    const intptr_t size = panel->own ? K * (K + 1) / 2 : 0;
    const REAL *restrict from = (const REAL *)block->products + sample * K;
    const REAL *restrict offsets = (const REAL *)block->offsets + own * K;
    const REAL *restrict start = (const REAL *)block->nu + sample * K;
    const REAL *restrict gram = (const REAL *)block->gram + own * size;
    REAL *restrict products = panel->products + lane, *restrict nu = panel->nu + lane;
    REAL *restrict grams = panel->grams + lane;
    for (intptr_t k = 0; k < K; k++) {
        products[k * lanes] = from[k] + offsets[k];
        nu[k * lanes] = start[k];
    }
    for (intptr_t i = 0; i < size; i++)
        grams[i * lanes] = gram[i];
    if (block->power_per_sample)
        panel->power = (REAL)(-M_LOG2E * block->powers[sample]);
    if (panel->own)
        panel->first = NAME(first_coolness)(block->heats[sample]);
    panel->samples[lane] = sample;
    ((REAL *)panel->powers)[lane] = panel->power;
    ((REAL *)panel->coolness)[lane] = panel->first;
    ((REAL *)panel->slopes)[lane] = panel->power * panel->first;
    ((INTEGER *)panel->sweeps)[lane] = 0;
    ((INTEGER *)panel->busy)[lane] = -1;
    panel->n_busy++;
}

/* Replaces the samples in flagged lanes by the next samples. */
static void NAME(change_lanes)(PANEL *panel, intptr_t first, uint64_t flags)
{
    for (intptr_t lane = first; flags; lane++, flags >>= 1) {
        if (!(flags & 1))
            continue;
        if (((const INTEGER *)panel->busy)[lane])
            NAME(leave_lane)(panel, lane);
        if (panel->next < panel->block->n_samples)
            NAME(enter_lane)(panel, lane);
    }
}

/* Ends a sweep: replaces samples that have converged, and cools the other samples. */
ALWAYS_INLINE void NAME(binary_outcome)(PANEL *panel, const int parts)
{
    const binary_block *block = panel->block;
    const int64_t wanted = block->max_iter, most = SIZE_BITS;
    const INTEGER max_iter = (INTEGER)(wanted < most ? wanted : most);
    const REAL tol = (REAL)block->tol, cooling = (REAL)block->cooling;
    WORDS done[PARTS];
    for (int i = 0; i < parts; i++) {
        /* sweeps during cooling neither count nor test for convergence */
        const VECTOR coolness = panel->coolness[i], cooler = coolness * cooling;
        const WORDS cold = WHERE(coolness >= 1);
        const WORDS still = WHERE(NAME(to_reals)(panel->results.changes[i]) < tol);
        const WORDS sweeps = panel->sweeps[i] - cold;
        const VECTOR coldest = NAME(to_reals)(cold & 0) + 1;
        /* cooling ends at once if it would never end: for an infinite temperature, or for a
         * factor that rounds to 1 */
        const WORDS hot = WHERE(cooler > coolness) & WHERE(cooler < 1);
        panel->coolness[i] = NAME(to_reals)(
            SELECTED(hot, NAME(to_words)(cooler), NAME(to_words)(coldest)));
        panel->slopes[i] = panel->powers[i] * panel->coolness[i];
        panel->sweeps[i] = sweeps;
        done[i] = panel->busy[i] & cold & (still | WHERE(sweeps >= max_iter))
                  & panel->flags[i];
    }
    for (int first = 0; first < parts; first += FLAGGED / WIDTH) {
        INTEGER words[WIDTH];
        BITS flags = 0;
        for (int i = first + 1; i < parts && i < first + FLAGGED / WIDTH; i++)
            done[first] |= done[i];
        memcpy(words, &done[first], sizeof(words));
        VECTORISE_REDUCTION(| : flags)
        for (int i = 0; i < WIDTH; i++)
            flags |= (BITS)words[i];
        if (flags)
            NAME(change_lanes)(panel, first * WIDTH, flags);
    }
}

/* Puts the first samples into a panel of `parts` vectors. */
static void NAME(binary_begin)(PANEL *panel, binary_block *block, int own, int parts)
{
    const intptr_t K = block->n_features, lanes = parts * WIDTH;
    const intptr_t size = own ? K * (K + 1) / 2 : 0;
    memset(panel, 0, sizeof(*panel));
    panel->block = block;
    panel->own = own;
    panel->lanes = lanes;
    panel->products = block->scratch;
    panel->nu = panel->products + K * lanes;
    panel->exponents = panel->nu + K * lanes;
    panel->grams = panel->exponents + K * lanes;
    panel->left_pairs = panel->grams + size * lanes;
    memset(panel->products, 0, (size_t)((3 * K + size) * lanes) * sizeof(REAL));
    memset(panel->left_pairs, 0, (size_t)(2 * K * FEW_LANES) * sizeof(REAL));
    panel->power = (REAL)(-M_LOG2E * block->powers[0]);
    panel->first = NAME(first_coolness)(block->heats[0]);
    for (intptr_t lane = 0; lane < lanes; lane++) {
        ((REAL *)panel->coolness)[lane] = 1;
        ((INTEGER *)panel->flags)[lane] = (INTEGER)((BITS)1 << lane % FLAGGED);
        NAME(change_lanes)(panel, lane, 1);
    }
}

/* Optimizes all samples in panels of `parts` vectors.  Returns 0, or -1 if `stop` is set. */
ALWAYS_INLINE int NAME(binary_optimise)(binary_block *block, const int own, const int parts)
{
    const intptr_t K = block->n_features;
    PANEL panel;
    NAME(binary_begin)(&panel, block, own, parts);
    const VECTOR *products = (const VECTOR *)panel.products;
    VECTOR *nu = (VECTOR *)panel.nu, *exponents = (VECTOR *)panel.exponents;
    while (panel.n_busy > 0) {
        if (*block->stop)
            return -1;
        NAME(binary_sweep)(own, parts, K, own ? panel.grams : block->gram, products,
                           panel.slopes, nu, exponents, &panel.results);
        block->n_iterations += panel.n_busy;
        NAME(binary_outcome)(&panel, parts);
    }
    if (panel.n_left > 0)
        NAME(binary_entropies)(&panel);
    return 0;
}

/* Optimizes the bound of every sample over its features.  Returns 0, or -1 if `stop` is
 * set. */
LOOP int NAME(binary_local_step)(binary_block *block)
{
    const intptr_t K = block->n_features;
    const intptr_t size = K * (K + 1) / 2 * OWN_PARTS * (intptr_t)sizeof(VECTOR);
    block->n_iterations = 0;
    if (!block->gram_per_sample)
        return K <= FEW_FEATURES ? NAME(binary_optimise)(block, 0, PARTS)
                                 : NAME(binary_optimise)(block, 0, OWN_PARTS);
    if (size <= MOST_GRAM_BYTES)
        return NAME(binary_optimise)(block, 1, OWN_PARTS);
    return NAME(binary_optimise)(block, 1, FEW_PARTS);
}

#include "_ascent.h"

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

#undef VECTOR
#undef LANES
#undef FARTHEST_POWER
