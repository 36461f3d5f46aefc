/* The local step of latent Dirichlet allocation, for one floating-point type, with the
 * rows of `_topics.h`.  Its phases are, in this order: rows of words for sampling, sampling;
 * rows of words, statistics of sampled documents, places of pairs; optimisation; statistics.
 * Several threads share each phase.  The symbols gamma, phi and b are those of
 * doc/mathematics/lda.md. */

/* Converts the prior of a document. */
static void NAME(fill_prior)(const lda_block *block, intptr_t i, REAL *out)
{
    const double *prior = NAME(prior_of)(block, block->doc_topic_prior, i);
    for (intptr_t k = 0; k < block->n_topics; k++)
        out[k] = (REAL)prior[k];
}

/* Sets the document that the following functions process. */
static void NAME(open_document)(DOCUMENT *d, intptr_t i)
{
    const lda_block *block = d->block;
    const intptr_t start = block->starts[i], width = d->width, n_topics = block->n_topics;
    const REAL *counts = (const REAL *)block->counts + start;
    d->n_words = block->starts[i + 1] - start;
    for (intptr_t n = 0; n < d->n_words + PANEL; n++)
        d->counts[n] = n < d->n_words ? counts[n] : 0;
    d->words = block->slots + start;
    d->slots = d->words;
    d->gamma = d->all_gamma;
    memcpy(d->gamma, (const REAL *)block->gamma + i * n_topics, n_topics * sizeof(REAL));
    if (block->prior_rows)
        NAME(fill_prior)(block, i, d->all_prior);
    d->may_drop = block->drop_tol > 0;
    d->b = block->inverse_temperatures[0];
    if (!block->temperature_per_document)
        return;
    d->b = block->inverse_temperatures[i];
    d->slots = block->scratch.own_slots;
    for (intptr_t n = 0; n < d->n_words; n++)
        NAME(exp_scaled)(n_topics,
                         (const REAL *)block->scratch.rows + d->words[n] * width, d->b,
                         (REAL *)block->scratch.own_rows + n * width);
}

/* Adds an optimised document to the statistics if `counted` is set, and computes its bound. */
static void NAME(tell_document)(DOCUMENT *d, intptr_t i, int counted)
{
    const lda_block *block = d->block;
    if (counted && !block->temperature_per_document)
        NAME(note_statistics)(d, i, block->factors[i]);
    else if (counted)
        NAME(add_own_statistics)(d, block->factors[i]);
    if (block->bounds)
        block->bounds[i] = NAME(words_bound)(d)
                           + NAME(theta_bound)(
                                d, NAME(prior_of)(block, block->doc_topic_prior, i),
                                block->scratch.double_scratch + block->n_topics);
}

#include "_abreast.h"

/* Optimises one document.  Returns 0, or -1 if `stop` is set. */
static int NAME(fit_alone)(DOCUMENT *d, lda_block *block, intptr_t i)
{
    const int sampled = block->sampled && block->sampled[i];
    const int counted = block->statistics && !sampled;
    NAME(open_document)(d, i);
    const intptr_t iterations =
        NAME(fit_document)(d, sampled ? 0 : block->max_iter, counted || block->bounds);
    if (iterations < 0)
        return -1;
    block->n_iterations += iterations;
    memcpy((REAL *)block->gamma + i * block->n_topics, d->gamma,
           block->n_topics * sizeof(REAL));
    NAME(tell_document)(d, i, counted);
    return 0;
}

/* Returns a document with its arrays. */
static DOCUMENT NAME(document_of)(lda_block *block)
{
    const intptr_t width = block->width;
    const int own = block->temperature_per_document;
    DOCUMENT d = {0};
    d.block = block;
    d.n_topics = block->n_topics;
    d.width = width;
    d.rows = own ? block->scratch.own_rows : block->scratch.rows;
    d.weights = block->scratch.topic_scratch;
    d.sums = d.weights + width;
    d.ratios = block->scratch.word_scratch;
    d.mass = d.ratios + block->longest;
    d.counts = d.mass + block->longest;
    d.zeros = d.rows + (own ? block->longest : block->n_words) * width;
    d.phi = block->scratch.double_scratch;
    REAL *gamma = d.weights + 4 * width, *prior = gamma + width;
    NAME(fill_prior)(block, 0, prior);
    d.all_gamma = gamma;
    d.prior = d.all_prior = prior;
    d.n_places = NAME(pad)(block->n_topics, gamma, prior);
    return d;
}

/* Samples the documents `in_lanes` and `in_chains`.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(lda_sample)(const lda_block *block)
{
    return NAME(sample_lanes)(block) || NAME(sample_chains)(block) ? -1 : 0;
}

/* Optimises the bound of every document of a section.  Returns 0, or -1 if `stop` is
 * set. */
LOOP int NAME(lda_fit)(lda_block *block)
{
    DOCUMENT d = NAME(document_of)(block);
    intptr_t n_refused = 0;
#ifdef VECTOR_BYTES
    n_refused = NAME(fit_abreast)(&d, block);
    if (n_refused < 0)
        return -1;
#endif
    for (intptr_t i = block->first; i < block->end; i++)
        if (!NAME(is_abreast)(block, i) && NAME(fit_alone)(&d, block, i))
            return -1;
    for (intptr_t j = 0; j < n_refused; j++)
        if (NAME(fit_alone)(&d, block, block->scratch.abreast_order[j]))
            return -1;
    return 0;
}

/* Computes the statistics of the words from `first` to `end`, for all sections of the block,
 * if all documents have the same temperature. */
LOOP void NAME(lda_collect)(lda_block *block, intptr_t first, intptr_t end)
{
    DOCUMENT d = NAME(document_of)(block);
    d.b = block->inverse_temperatures[0];
    NAME(collect_statistics)(&d, first, end);
}

/* bounds[d] = sum_n count_n log sum_k E[theta_dk] E[beta_kv]. */
LOOP int NAME(lda_scores)(lda_block *block)
{
    const intptr_t width = block->width, n_topics = block->n_topics;
    REAL *rows = block->scratch.rows, *theta = block->scratch.topic_scratch;
    for (intptr_t n = 0; n < block->n_words; n++) {
        NAME(lambda_row)(block, n, block->scratch.double_scratch);
        NAME(normalise_row)(block, rows + n * width);
        for (intptr_t k = n_topics; k < width; k++)
            rows[n * width + k] = 0;
    }
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

#undef VECTOR
