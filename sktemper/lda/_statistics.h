/* Bound and statistics of a document, given its final gamma. */

/* Returns b E log p(x, z) + H(z) at the final gamma.  The term of a word is its count times
 * the logarithm of the normaliser of phi. */
static double NAME(words_bound)(DOCUMENT *d)
{
    const double *restrict row_tops = d->block->scratch.row_tops;
    const REAL *restrict counts = d->counts, *restrict ratios = d->ratios;
    const REAL *restrict mass = d->mass;
    const intptr_t *restrict words = d->words;
    const double b = d->b, log_scale = d->log_scale;
    double bound = 0;
    VECTORISE_REDUCTION(+ : bound)
    for (intptr_t n = 0; n < d->n_words; n++) {
        const double m = ratios[n] == 0 ? 1 : (double)mass[n];
        const double count = ratios[n] == 0 ? 0 : (double)counts[n];
        bound += count * (log_f64(m) + log_scale + b * row_tops[words[n]]);
    }
    for (intptr_t n = 0; n < d->n_words; n++)
        if (ratios[n] == 0 && counts[n] > 0)
            bound += counts[n] * NAME(underflown_phi)(d, d->words[n]);
    return bound;
}

/* statistics[word] += weight count phi, with phi at the final gamma. */
static void NAME(add_own_statistics)(DOCUMENT *d, double weight)
{
    const intptr_t width = d->width;
    const REAL *restrict w = d->weights;
    for (intptr_t n = 0; n < d->n_words; n++) {
        REAL *restrict sum = (REAL *)d->block->statistics + d->words[n] * width;
        if (d->ratios[n] == 0 && d->counts[n] > 0) {
            NAME(underflown_phi)(d, d->words[n]);
            for (intptr_t k = 0; k < d->n_topics; k++)
                sum[k] += (REAL)(weight * d->counts[n] * d->phi[k]);
            continue;
        }
        const REAL factor = (REAL)weight * d->ratios[n];
        const REAL *restrict row = d->rows + d->slots[n] * width;
        VECTORISE
        for (intptr_t k = 0; k < width; k++)
            sum[k] += factor * w[k] * row[k];
    }
}

/* If a row has at most this number of PANELs, all topics are added to the statistics, because
 * a choice of topics would take longer. */
#define FEW_PANELS 4

/* Finds the topics with almost all of the document's weight, and returns their number, or 0
 * if they are many.  All other topics together have a share of less than NEGLIGIBLE. */
static intptr_t NAME(few_topics)(const DOCUMENT *d, int32_t *restrict chosen)
{
    const REAL *restrict w = d->weights, *restrict sums = d->sums;
    INTEGER n = 0, m = 0;
    if (d->block->drop_tol == 0 || d->width <= FEW_PANELS * PANEL)
        return 0;
    const REAL total = NAME(weighted_sum)(d->width, w, sums);
    const REAL least = total * NEGLIGIBLE / (REAL)d->n_topics;
    VECTORISE_REDUCTION(+ : n)
    for (intptr_t k = 0; k < d->width; k++)
        n += w[k] * sums[k] > least;
    if (n * PANEL > d->width)
        return 0;
    for (intptr_t k = 0; k < d->n_topics; k++) {
        chosen[m] = (int32_t)k;
        m += w[k] * sums[k] > least;
    }
    return n;
}

/* Returns the array of a section with a position for each word, see `note_statistics`. */
static inline intptr_t *NAME(places_of)(const lda_block *block, intptr_t section)
{
    return block->scratch.places + section * block->n_words;
}

/* Stores pairs of document i of the block and weight * ratio, sorted by word, from which
 * statistics are computed later.  This is possible if all documents have the same temperature, because the
 * row of a word is then a common factor of its statistics.  If the mass of a word underflowed,
 * the pair is the bitwise complement of the document's index, and weight * count. */
static void NAME(note_statistics)(DOCUMENT *d, intptr_t i, double weight)
{
    const lda_block *block = d->block;
    REAL *shares = (REAL *)block->scratch.shares + i * d->width;
    REAL *ratios = block->scratch.noted_ratios;
    int32_t *topics = block->scratch.share_topics + i * d->width;
    intptr_t *places = NAME(places_of)(block, block->section);
    const intptr_t few = NAME(few_topics)(d, topics);
    block->scratch.n_shares[i] = few;
    for (intptr_t j = 0; j < few; j++)
        shares[j] = d->weights[topics[j]];
    if (!few)
        memcpy(shares, d->weights, d->width * sizeof(REAL));
    for (intptr_t n = 0; n < d->n_words; n++) {
        const int underflown = d->ratios[n] == 0 && d->counts[n] > 0;
        const intptr_t place = places[d->words[n]]++;
        block->scratch.noted_documents[place] = (int32_t)(underflown ? ~i : i);
        ratios[place] = (REAL)weight * (underflown ? d->counts[n] : d->ratios[n]);
    }
}

/* Computes the number of pairs of each word in a section. */
LOOP void NAME(lda_count_pairs)(const lda_block *block)
{
    intptr_t *places = NAME(places_of)(block, block->section);
    for (intptr_t i = block->first; i < block->end; i++)
        for (intptr_t n = block->starts[i]; n < block->starts[i + 1]; n++)
            places[block->slots[n]] += !(block->sampled && block->sampled[i]);
}

/* Computes the position of the first pair of each word in each section, from the numbers of
 * pairs.  Pairs of a word in consecutive sections are adjacent. */
LOOP void NAME(lda_find_places)(const lda_block *block)
{
    intptr_t total = 0;
    for (intptr_t v = 0; v < block->n_words; v++)
        for (intptr_t section = 0; section < block->n_sections; section++) {
            intptr_t *place = NAME(places_of)(block, section) + v;
            const intptr_t n = *place;
            *place = total;
            total += n;
        }
}

/* statistics of a word += weight count phi of the documents in which it underflowed. */
static void NAME(add_underflown)(DOCUMENT *d, intptr_t word, intptr_t start, intptr_t stop)
{
    const lda_block *block = d->block;
    REAL *sum = (REAL *)block->statistics + word * d->width;
    for (intptr_t e = start; e < stop; e++) {
        const intptr_t i = ~block->scratch.noted_documents[e];
        if (i < 0)
            continue;
        d->gamma = (REAL *)block->gamma + i * d->n_topics;
        NAME(underflown_phi)(d, word);
        for (intptr_t k = 0; k < d->n_topics; k++)
            sum[k] += ((const REAL *)block->scratch.noted_ratios)[e] * (REAL)d->phi[k];
    }
}

/* sums = sum of ratio * shares over the pairs start .. stop of a word, without pairs in which
 * the word underflowed. */
static void NAME(add_pairs)(const lda_block *block, intptr_t start, intptr_t stop,
                            REAL *restrict sums)
{
    const intptr_t width = block->width;
    const REAL *ratios = block->scratch.noted_ratios;
    for (intptr_t k = 0; k < width; k++)
        sums[k] = 0;
    for (intptr_t e = start; e < stop; e++) {
        const REAL ratio = ratios[e];
        const intptr_t i = block->scratch.noted_documents[e];
        if (i < 0)
            continue;
        const REAL *restrict shares = (const REAL *)block->scratch.shares + i * width;
        const int32_t *restrict topics = block->scratch.share_topics + i * width;
        const intptr_t few = block->scratch.n_shares[i];
        for (intptr_t j = 0; j < few; j++)
            sums[topics[j]] += ratio * shares[j];
        if (few)
            continue;
        VECTORISE
        for (intptr_t k = 0; k < width; k++)
            sums[k] += ratio * shares[k];
    }
}

/* Computes the statistics of the words from `first` to `end` from the pairs.  Statistics may
 * overwrite the rows. */
static void NAME(collect_statistics)(DOCUMENT *d, intptr_t first, intptr_t end)
{
    const lda_block *block = d->block;
    const intptr_t width = d->width;
    const intptr_t *stops = NAME(places_of)(block, block->n_sections - 1);
    REAL *restrict sums = d->sums;
    for (intptr_t v = first, start = v ? stops[v - 1] : 0; v < end; v++) {
        const intptr_t stop = stops[v];
        int underflown = 0;
        NAME(add_pairs)(block, start, stop, sums);
        for (intptr_t e = start; e < stop; e++)
            underflown |= block->scratch.noted_documents[e] < 0;
        const REAL *row = d->rows + v * width;
        REAL *sum = (REAL *)block->statistics + v * width;
        if (block->sampled)
            for (intptr_t k = 0; k < width; k++)
                sum[k] += sums[k] * row[k];
        else
            VECTORISE
            for (intptr_t k = 0; k < width; k++)
                sum[k] = sums[k] * row[k];
        if (underflown)
            NAME(add_underflown)(d, v, start, stop);
        start = stop;
    }
}

/* E log p(theta) - E log q(theta) without the prior's normaliser, plus the part of
 * E log p(z | theta) that is common to all words. */
static double NAME(theta_bound)(const DOCUMENT *d, const double *prior, double *scratch)
{
    const intptr_t n_topics = d->n_topics;
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
