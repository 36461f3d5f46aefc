/* Collapsed Gibbs sampling of the topics of a document's tokens, for given mean topics
 * and any temperature, one document after the other:
 *
 *   p(z_i = k | other z) ~ [(alpha_k + N_k) beta_kw]^b
 *                        = beta^b alpha^b + beta^b ((alpha + N)^b - alpha^b),
 *
 * where N_k is the number of tokens with topic k, without token i, and b is the inverse
 * temperature.  The first term is the same for all tokens of a word, so that its sum is
 * computed once, and draws from it are rare.  The second term is zero except for the topics
 * of other tokens.  The time for a token therefore depends on the number of topics in its
 * document, and not on the number of all topics.  For many topics and for long documents, this
 * algorithm is faster than the algorithm in `_lanes.h`. */

#define CHAIN NAME(chain)

typedef struct {
    const lda_block *block;
    const REAL *rows;          /* beta^b, scaled */
    const intptr_t *slots;     /* row of each word */
    const intptr_t *words;     /* index of each word in block->words */
    const REAL *counts;
    const REAL *masses;        /* sum_k alpha_k^b row_k of each word */
    intptr_t n_words;
    double b;
    const double *alpha;
    const REAL *prior;         /* alpha^b */
    int32_t *n;                /* number of tokens of each topic */
    int32_t *present, *place;  /* topics with tokens, and their indices in `present` */
    const intptr_t *first_tokens; /* of the document's words, for `draws` */
    intptr_t n_present;
    REAL *gains;               /* (alpha + n)^b - alpha^b of present topics */
    REAL *cumulated;
    uint64_t random;
} CHAIN;

static inline REAL NAME(gain)(const CHAIN *c, int32_t k)
{
    if (c->b == 1.0)
        return (REAL)c->n[k];
    return (REAL)pow(c->alpha[k] + c->n[k], c->b) - c->prior[k];
}

static inline void NAME(add_token)(CHAIN *c, int32_t k)
{
    if (c->n[k]++ == 0) {
        c->place[k] = (int32_t)c->n_present;
        c->present[c->n_present++] = k;
    }
    c->gains[c->place[k]] = NAME(gain)(c, k);
}

static inline void NAME(remove_token)(CHAIN *c, int32_t k)
{
    const int32_t place = c->place[k];
    if (--c->n[k]) {
        c->gains[place] = NAME(gain)(c, k);
        return;
    }
    const int32_t last = c->present[--c->n_present];
    c->present[place] = last;
    c->gains[place] = c->gains[c->n_present];
    c->place[last] = place;
}

/* Returns the topic at which the partial sums of prior * row exceed x. */
static int32_t NAME(draw_from_prior)(const CHAIN *c, const REAL *row, REAL x)
{
    const intptr_t few = PARTS_OF_SUM;
    intptr_t last = 0;
    for (intptr_t start = 0; start < c->block->width; start += few) {
        const REAL mass = NAME(ordered_sum)(few, c->prior + start, row + start);
        if (x >= mass) {
            x -= mass;
            last = mass > 0 ? start : last;
            continue;
        }
        for (intptr_t k = start; k < start + few; k++) {
            x -= c->prior[k] * row[k];
            if (x < 0)
                return (int32_t)k;
        }
        last = start;
        x = 0;
    }
    return (int32_t)last; /* because of rounding, x may equal the total */
}

static inline int32_t NAME(draw)(CHAIN *c, const REAL *row, REAL mass)
{
    REAL sum = 0;
    for (intptr_t j = 0; j < c->n_present; j++) {
        sum += c->gains[j] * row[c->present[j]];
        c->cumulated[j] = sum;
    }
    const REAL x = NAME(uniform)(next_random(&c->random)) * (sum + mass);
    if (!(x < sum))
        return NAME(draw_from_prior)(c, row, x - sum);
    intptr_t j = 0;
    while (c->cumulated[j] <= x)
        j++;
    return c->present[j];
}

/* Draws the topic of every token, in the first sweep given the earlier tokens only, and
 * stores the draws as those of the kept sweep `number`, unless it is negative.  Returns 0, or
 * -1 if `stop` is set. */
static int NAME(sweep_tokens)(CHAIN *c, int first, intptr_t number)
{
    const intptr_t n_kept = c->block->n_kept;
    const intptr_t width = c->block->width;
    int32_t *token = c->block->scratch.chain_tokens; /* the topic of each */
    int32_t *draws = c->block->scratch.draws;
    for (intptr_t n = 0; n < c->n_words; n++) {
        if (*c->block->stop)
            return -1;
        const REAL *row = c->rows + c->slots[n] * width;
        const intptr_t count = (intptr_t)c->counts[n];
        for (intptr_t i = 0; i < count; i++) {
            if (!first)
                NAME(remove_token)(c, token[i]);
            token[i] = NAME(draw)(c, row, c->masses[n]);
            NAME(add_token)(c, token[i]);
        }
        for (intptr_t i = 0; number >= 0 && i < count; i++)
            draws[(c->first_tokens[n] + i) * n_kept + number] = token[i];
        token += count;
    }
    return 0;
}

/* Samples a document's tokens; gamma = alpha + mean counts. */
static int NAME(sample_document)(CHAIN *c, REAL *restrict gamma)
{
    const lda_block *block = c->block;
    const REAL share = (REAL)(1.0 / block->n_kept);
    const intptr_t n_sweeps = block->n_burn_in + block->n_kept;
    for (intptr_t k = 0; k < block->n_topics; k++)
        gamma[k] = (REAL)c->alpha[k];
    for (intptr_t sweep = 0; sweep < n_sweeps; sweep++) {
        const int kept = sweep >= block->n_burn_in;
        if (NAME(sweep_tokens)(c, sweep == 0,
                               kept && block->statistics ? sweep - block->n_burn_in : -1))
            return -1;
        for (intptr_t j = 0; kept && j < c->n_present; j++)
            gamma[c->present[j]] += share * (REAL)c->n[c->present[j]];
    }
    for (intptr_t j = 0; j < c->n_present; j++)
        c->n[c->present[j]] = 0;
    c->n_present = 0;
    return 0;
}

/* Computes the masses of a document's words, and the rows at its own temperature. */
static void NAME(fill_own)(const CHAIN *c, REAL *restrict own, REAL *restrict masses)
{
    const intptr_t width = c->block->width;
    for (intptr_t n = 0; n < c->n_words; n++) {
        const REAL *row = (const REAL *)c->block->scratch.rows + c->words[n] * width;
        if (own)
            NAME(raise)(c->block->n_topics, row, c->b, own + n * width);
        masses[n] = NAME(ordered_sum)(width, c->prior, own ? own + n * width : row);
    }
}

/* Samples the documents `in_chains`. */
static int NAME(sample_chains)(const lda_block *block)
{
    const intptr_t n_topics = block->n_topics, width = block->width;
    const int own = block->temperature_per_document;
    REAL *prior = block->scratch.chain_weights, *masses = block->scratch.word_scratch;
    CHAIN c = {0};
    c.block = block;
    c.rows = own ? block->scratch.own_rows : block->scratch.rows;
    c.prior = prior;
    c.gains = prior + width;
    c.cumulated = c.gains + width;
    c.masses = masses;
    c.n = block->scratch.chain_topics;
    c.present = c.n + n_topics;
    c.place = c.present + n_topics;
    c.alpha = block->untempered_prior;
    NAME(fill_powers)(n_topics, c.alpha, block->inverse_temperatures[0], prior);
    for (intptr_t j = 0; j < block->n_in_chains; j++) {
        const intptr_t i = block->in_chains[j], start = block->starts[i];
        c.n_words = block->starts[i + 1] - start;
        c.counts = (const REAL *)block->counts + start;
        c.words = block->slots + start;
        c.first_tokens = block->first_tokens + start;
        c.slots = own ? block->scratch.own_slots : c.words;
        c.b = block->inverse_temperatures[own ? i : 0];
        c.random = random_stream(block->seed, (uint64_t)i);
        if (own || block->prior_rows) {
            c.alpha = NAME(prior_of)(block, block->untempered_prior, i);
            NAME(fill_powers)(n_topics, c.alpha, c.b, prior);
            NAME(fill_own)(&c, own ? block->scratch.own_rows : NULL, masses);
        } else {
            for (intptr_t n = 0; n < c.n_words; n++)
                masses[n] = (REAL)block->scratch.row_tops[c.words[n]];
        }
        REAL *gamma = (REAL *)block->gamma + i * n_topics;
        if (NAME(sample_document)(&c, gamma))
            return -1;
    }
    return 0;
}
