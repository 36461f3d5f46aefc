/* Rows of topics: what the documents of a block need of each of its words. */

/* lambda of a word. */
static void NAME(lambda_row)(const lda_block *block, intptr_t slot, double *restrict out)
{
    const intptr_t v = block->words[slot];
    const double *restrict u = block->u + v * block->n_topics;
    const double *restrict prior = block->prior + v * block->prior_word_stride;
    for (intptr_t k = 0; k < block->n_topics; k++)
        out[k] = block->decay * u[k]
                 + (block->prior_share * prior[k * block->prior_topic_stride]
                    + block->base_share);
}

/* exp(b E log beta) of the block's words, or E log beta where each document has a
 * temperature of its own; scaled to what floats hold: by exp(-b row_tops). */
static void NAME(fill_rows)(const lda_block *block)
{
    const intptr_t n_topics = block->n_topics, width = block->width;
    const double b = block->inverse_temperatures[0];
    const double *restrict lambda = block->double_scratch;
    REAL *restrict rows = block->rows;
    REAL *restrict x = (REAL *)block->topic_scratch + 2 * width, *restrict factors = x + width;
    double least = block->digamma_totals[0];
    for (intptr_t k = 0; k < n_topics; k++)
        least = block->digamma_totals[k] < least ? block->digamma_totals[k] : least;
    for (intptr_t k = 0; k < n_topics; k++)
        factors[k] = (REAL)exp(least - block->digamma_totals[k]);
    for (intptr_t n = 0; n <= block->n_words; n++, rows += width) {
        for (intptr_t k = n < block->n_words ? n_topics : 0; k < width; k++)
            rows[k] = 0;
        if (n == block->n_words)
            return;
        NAME(lambda_row)(block, n, block->double_scratch);
        if (block->temperature_per_document || b != 1.0) {
            block->row_tops[n] = NAME(log_row)(n_topics, lambda, block->digamma_totals, rows);
            if (!block->temperature_per_document)
                NAME(exp_scaled)(n_topics, rows, b, rows);
            continue;
        }
        VECTORISE
        for (intptr_t k = 0; k < n_topics; k++)
            x[k] = (REAL)lambda[k];
        block->row_tops[n] = NAME(exp_digamma)(n_topics, x, 1.0, rows) - least;
        VECTORISE
        for (intptr_t k = 0; k < n_topics; k++)
            rows[k] *= factors[k];
    }
}

/* The mean of a topic-word distribution, lambda / sum lambda, for a word. */
static void NAME(mean_row)(const lda_block *block, intptr_t slot, REAL *restrict row)
{
    const double *restrict totals = block->totals, *restrict lambda = block->double_scratch;
    NAME(lambda_row)(block, slot, block->double_scratch);
    VECTORISE
    for (intptr_t k = 0; k < block->n_topics; k++) {
        const REAL mean = (REAL)(lambda[k] / totals[k]);
        row[k] = mean > TINY_MASS ? mean : TINY_MASS;
    }
}

/* mean^b of the block's words, or log mean where each document has a temperature of its
 * own; in row_tops the sums over the topics of weights * row. */
static void NAME(fill_mean_rows)(const lda_block *block, const REAL *restrict weights)
{
    const intptr_t n_topics = block->n_topics;
    const double b = block->inverse_temperatures[0];
    REAL *restrict row = block->rows;
    for (intptr_t n = 0; n < block->n_words; n++, row += block->width) {
        NAME(mean_row)(block, n, row);
        for (intptr_t k = n_topics; k < block->width; k++)
            row[k] = 0;
        if (block->temperature_per_document || b != 1.0)
            VECTORISE
            for (intptr_t k = 0; k < n_topics; k++)
                row[k] = NAME(log)(row[k]);
        if (block->temperature_per_document)
            continue;
        if (b != 1.0)
            NAME(exp_scaled)(n_topics, row, b, row);
        block->row_tops[n] = NAME(weighted_sum)(block->width, weights, row);
    }
}
