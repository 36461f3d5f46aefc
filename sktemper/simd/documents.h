/* The local step of latent Dirichlet allocation (MATH: gamma, phi, b) for one floating
 * type, over the loops of `loops.h`. */

#define DOCUMENT NAME(document)

typedef struct {
    const lda_block *block;
    intptr_t n_words, n_topics, width;
    const REAL *rows;        /* exp(b E log beta), each row scaled to a maximum of 1 */
    const intptr_t *slots;   /* of each word, its row */
    const intptr_t *words;   /* of each word, its place in block->words */
    REAL *counts;            /* padded with zeros */
    double b;
    REAL *gamma;
    REAL *weights;           /* exp(b E log theta), scaled by exp(-log_scale) */
    double log_scale;
    REAL *sums;
    REAL *ratios;            /* count / mass, or 0 where the mass underflowed */
    REAL *mass;              /* the normalisers of phi, scaled */
    const REAL *zeros;       /* a row of them */
    double *phi;             /* of one word that underflowed */
} DOCUMENT;

/* phi of a word whose mass underflowed, computed in logarithms; returns the log of its
 * normaliser (less the digamma(sum gamma) that all share).  Rare: words whose only topics
 * the document lacks. */
static double NAME(underflown_phi)(DOCUMENT *d, intptr_t n)
{
    double *phi = d->phi;
    NAME(lambda_row)(d->block, d->words[n], phi);
    double top = -INFINITY, total = 0;
    for (intptr_t k = 0; k < d->n_topics; k++) {
        phi[k] = d->b * (digamma_one_f64(phi[k]) - d->block->digamma_totals[k]
                         + digamma_one_f64((double)d->gamma[k]));
        top = phi[k] > top ? phi[k] : top;
    }
    for (intptr_t k = 0; k < d->n_topics; k++) {
        phi[k] = exp(phi[k] - top);
        total += phi[k];
    }
    for (intptr_t k = 0; k < d->n_topics; k++)
        phi[k] /= total;
    return top + log(total);
}

/* ratio = count / mass.  A mass too small to divide by gives 0: that word is then
 * handled in logarithms.  Returns how many there were. */
static inline int NAME(count_ratios)(int n, const REAL *restrict counts,
                                     const REAL *restrict mass, REAL *restrict ratios)
{
    int underflown = 0;
    VECTORISE_REDUCTION(+ : underflown)
    for (int j = 0; j < n; j++) {
        const int fine = mass[j] > TINY_MASS;
        ratios[j] = fine ? counts[j] / mass[j] : 0;
        underflown += !fine && counts[j] > 0;
    }
    return underflown;
}

#ifdef VECTOR_BYTES
/* Vectors of the instruction set, at any address. */
#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))
#define FEW (LANES < 4 ? LANES : 4)
#define VECTOR NAME(vector)
typedef REAL VECTOR __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)),
                                   may_alias));

/* The sums of `n` vectors, in order: neighbours are added, within and between vectors,
 * until one vector is left.  It has LANES places; zeros fill those from n on. */
ALWAYS_INLINE VECTOR NAME(sums_of)(VECTOR *v, int n)
{
    for (int left = LANES; left > 1; left /= 2, n = (n + 1) / 2)
        for (int i = 0; 2 * i < n; i++) {
            const VECTOR next = 2 * i + 1 < n ? v[2 * i + 1] : (VECTOR){0};
            v[i] = ADD_NEIGHBOURS(v[2 * i], next);
        }
    return v[0];
}

/* Words n .. n + m of a sweep: their masses, and sums += ratio * row while the rows
 * are in the first cache.  Places behind the last word hold rows and counts of 0. */
ALWAYS_INLINE int NAME(sweep_rows)(DOCUMENT *d, intptr_t n, const int m)
{
    /* copies in registers: what VECTORs point to may alias anything */
    const intptr_t width = d->width;
    const REAL *weights = d->weights, *row[LANES];
    REAL *sums = d->sums, mass[LANES], ratio[LANES];
    VECTOR v[LANES];
    for (int j = 0; j < m; j++) {
        row[j] = n + j < d->n_words ? d->rows + d->slots[n + j] * width : d->zeros;
        v[j] = (VECTOR){0};
    }
    for (intptr_t k = 0; k < width; k += LANES) {
        const VECTOR w = *(const VECTOR *)(weights + k);
        for (int j = 0; j < m; j++)
            v[j] += w * *(const VECTOR *)(row[j] + k);
    }
    *(VECTOR *)mass = NAME(sums_of)(v, m);
    const int underflown = NAME(count_ratios)(m, d->counts + n, mass, ratio);
    for (int j = 0; j < m; j++) {
        d->mass[n + j] = mass[j];
        d->ratios[n + j] = ratio[j];
    }
    for (intptr_t k = 0; k < width; k += LANES) {
        VECTOR even = *(VECTOR *)(sums + k), odd = (VECTOR){0};
        for (int j = 0; j < m; j += 2) {
            even += ratio[j] * *(const VECTOR *)(row[j] + k);
            odd += ratio[j + 1] * *(const VECTOR *)(row[j + 1] + k);
        }
        *(VECTOR *)(sums + k) = even + odd;
    }
    return underflown;
}

/* sums = sum_n ratio_n row_n, with the ratios at the present weights.  FEW rows at a
 * time at the end of a document, and where LANES of them overflow the first cache. */
static intptr_t NAME(sweep)(DOCUMENT *d)
{
    intptr_t underflown = 0, n = 0;
    for (intptr_t k = 0; k < d->width; k++)
        d->sums[k] = 0;
    if (d->width * LANES * sizeof(REAL) <= FIRST_CACHE)
        for (; n + LANES <= d->n_words; n += LANES)
            underflown += NAME(sweep_rows)(d, n, LANES);
    for (; n < d->n_words; n += FEW)
        underflown += NAME(sweep_rows)(d, n, FEW);
    return underflown;
}
#undef VECTOR
#undef LANES
#undef FEW
#else
static intptr_t NAME(sweep)(DOCUMENT *d)
{
    const intptr_t width = d->width;
    const REAL *restrict w = d->weights;
    REAL *restrict sums = d->sums;
    intptr_t underflown = 0;
    for (intptr_t k = 0; k < width; k++)
        sums[k] = 0;
    for (intptr_t n = 0; n < d->n_words; n++) {
        const REAL *restrict row = d->rows + d->slots[n] * width;
        REAL mass = 0;
        VECTORISE_REDUCTION(+ : mass)
        for (intptr_t k = 0; k < width; k++)
            mass += w[k] * row[k];
        d->mass[n] = mass;
        underflown += NAME(count_ratios)(1, d->counts + n, &mass, d->ratios + n);
        const REAL ratio = d->ratios[n];
        VECTORISE
        for (intptr_t k = 0; k < width; k++)
            sums[k] += ratio * row[k];
    }
    return underflown;
}
#endif

/* gamma = prior + b sum_n count_n phi_n; returns sum |change|. */
static double NAME(update_gamma)(DOCUMENT *d, intptr_t underflown)
{
    const REAL b = (REAL)d->b;
    const double *restrict prior = d->block->doc_topic_prior;
    const REAL *restrict w = d->weights;
    REAL *restrict sums = d->sums;
    REAL *restrict gamma = d->gamma;
    for (intptr_t k = 0; k < d->n_topics; k++)
        sums[k] *= w[k];
    for (intptr_t n = 0; underflown && n < d->n_words; n++)
        if (d->ratios[n] == 0 && d->counts[n] > 0) {
            NAME(underflown_phi)(d, n);
            for (intptr_t k = 0; k < d->n_topics; k++)
                sums[k] += (REAL)(d->counts[n] * d->phi[k]);
        }
    REAL change = 0;
    VECTORISE_REDUCTION(+ : change)
    for (intptr_t k = 0; k < d->n_topics; k++) {
        const REAL new = (REAL)prior[k] + b * sums[k];
        const REAL difference = new - gamma[k];
        change += difference < 0 ? -difference : difference;
        gamma[k] = new;
    }
    return (double)change;
}

static void NAME(update_weights)(DOCUMENT *d)
{
    d->log_scale = NAME(exp_digamma)(d->n_topics, d->gamma, d->b, d->weights);
    for (intptr_t k = d->n_topics; k < d->width; k++)
        d->weights[k] = 0;
}

static intptr_t NAME(fit_document)(DOCUMENT *d, intptr_t max_iter)
{
    intptr_t iteration = 0;
    double change = INFINITY;
    NAME(update_weights)(d);
    while (iteration < max_iter && change >= d->block->tol) {
        if (*d->block->stop)
            return -1;
        const intptr_t underflown = NAME(sweep)(d);
        change = NAME(update_gamma)(d, underflown) / (double)d->n_topics;
        NAME(update_weights)(d);
        iteration++;
    }
    return iteration;
}

/* statistics[word] += weight count phi, with phi at the final gamma; returns
 * b E log p(x, z) + H(z), to which every word gives count log(normaliser). */
static double NAME(finish_document)(DOCUMENT *d, double weight, REAL *restrict statistics)
{
    const intptr_t width = d->width;
    const REAL *restrict w = d->weights;
    const double *row_tops = d->block->row_tops;
    double bound = 0;
    NAME(sweep)(d);
    for (intptr_t n = 0; n < d->n_words; n++) {
        const double count = d->counts[n];
        REAL *restrict sum = statistics ? statistics + d->words[n] * width : 0;
        if (d->ratios[n] == 0 && count > 0) {
            bound += count * NAME(underflown_phi)(d, n);
            for (intptr_t k = 0; sum && k < d->n_topics; k++)
                sum[k] += (REAL)(weight * count * d->phi[k]);
            continue;
        }
        bound += count * (log((double)d->mass[n]) + d->log_scale + d->b * row_tops[d->words[n]]);
        if (!sum)
            continue;
        const REAL factor = (REAL)weight * d->ratios[n];
        const REAL *restrict row = d->rows + d->slots[n] * width;
        VECTORISE
        for (intptr_t k = 0; k < width; k++)
            sum[k] += factor * w[k] * row[k];
    }
    return bound;
}

/* E log p(theta) - E log q(theta) less the prior's normaliser, and the part of
 * E log p(z | theta) that all words share. */
static double NAME(theta_bound)(const DOCUMENT *d, double *scratch)
{
    const intptr_t n_topics = d->n_topics;
    const double *prior = d->block->doc_topic_prior;
    double *digammas = scratch, *log_gammas = scratch + n_topics;
    double total = 0, tokens = 0, bound = 0, digamma_total, log_gamma_total;
    for (intptr_t k = 0; k < n_topics; k++) {
        digammas[k] = d->gamma[k];
        total += digammas[k];
    }
    for (intptr_t n = 0; n < d->n_words; n++)
        tokens += d->counts[n];
    log_gamma_f64(n_topics, digammas, log_gammas);
    digamma_f64(n_topics, digammas, digammas);
    log_gamma_f64(1, &total, &log_gamma_total);
    digamma_total = digamma_one_f64(total);
    for (intptr_t k = 0; k < n_topics; k++)
        bound += (prior[k] - d->gamma[k]) * (digammas[k] - digamma_total)
                 + log_gammas[k];
    return bound - log_gamma_total - d->b * tokens * digamma_total;
}

static int NAME(lda_local_step)(lda_block *block)
{
    const intptr_t width = block->width, n_topics = block->n_topics;
    REAL *own_rows = block->own_rows;
    DOCUMENT d = {0};
    d.block = block;
    d.n_topics = n_topics;
    d.width = width;
    d.rows = block->temperature_per_document ? own_rows : block->rows;
    d.weights = block->topic_scratch;
    d.sums = (REAL *)block->topic_scratch + width;
    d.ratios = block->word_scratch;
    d.mass = (REAL *)block->word_scratch + block->longest;
    d.counts = d.mass + block->longest;
    d.zeros = d.rows + (block->temperature_per_document ? block->longest : block->n_words)
                           * width;
    d.phi = block->double_scratch;
    block->n_iterations = 0;
    if (block->sampled && NAME(sample_documents)(block))
        return -1;
    NAME(fill_rows)(block);
    for (intptr_t i = 0; i < block->n_documents; i++) {
        const intptr_t start = block->starts[i];
        d.n_words = block->starts[i + 1] - start;
        const REAL *counts = (const REAL *)block->counts + start;
        for (intptr_t n = 0; n < d.n_words + (intptr_t)(SIMD_BYTES / sizeof(REAL)); n++)
            d.counts[n] = n < d.n_words ? counts[n] : 0;
        d.words = block->slots + start;
        d.slots = d.words;
        d.gamma = (REAL *)block->gamma + i * n_topics;
        d.b = block->inverse_temperatures[0];
        if (block->temperature_per_document) {
            d.b = block->inverse_temperatures[i];
            d.slots = block->own_slots;
            for (intptr_t n = 0; n < d.n_words; n++)
                NAME(exp_scaled)(n_topics, (const REAL *)block->rows + d.words[n] * width,
                                 d.b, own_rows + n * width);
        }
        const int sampled = block->sampled && block->sampled[i];
        REAL *statistics = sampled ? 0 : block->statistics;
        const intptr_t iterations = NAME(fit_document)(&d, sampled ? 0 : block->max_iter);
        if (iterations < 0)
            return -1;
        block->n_iterations += iterations;
        if (!statistics && !block->bounds)
            continue;
        const double word_bound = NAME(finish_document)(&d, block->weights[i], statistics);
        if (block->bounds)
            block->bounds[i] = word_bound
                               + NAME(theta_bound)(&d, block->double_scratch + n_topics);
    }
    return 0;
}

/* bounds[d] = sum_n count_n log sum_k E[theta_dk] E[beta_kv]. */
static int NAME(lda_scores)(lda_block *block)
{
    const intptr_t width = block->width, n_topics = block->n_topics;
    REAL *rows = block->rows, *theta = block->topic_scratch;
    for (intptr_t n = 0; n < block->n_words; n++)
        NAME(mean_row)(block, n, rows + n * width);
    for (intptr_t i = 0; i < block->n_documents; i++) {
        const REAL *gamma = (const REAL *)block->gamma + i * n_topics;
        double total = 0, score = 0;
        if (*block->stop)
            return -1;
        for (intptr_t k = 0; k < n_topics; k++)
            total += gamma[k];
        for (intptr_t k = 0; k < n_topics; k++)
            theta[k] = (REAL)(gamma[k] / total);
        for (intptr_t n = block->starts[i]; n < block->starts[i + 1]; n++) {
            const REAL *row = rows + block->slots[n] * width;
            score += (double)((const REAL *)block->counts)[n]
                     * log((double)NAME(weighted_sum)(width, theta, row));
        }
        block->bounds[i] = score;
    }
    return 0;
}

#undef DOCUMENT
