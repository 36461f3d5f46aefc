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
 * temperature of its own; scaled so that the largest entry of a row is 1 (or 0). */
static void NAME(fill_rows)(const lda_block *block)
{
    REAL *rows = block->rows;
    for (intptr_t n = 0; n < block->n_words; n++, rows += block->width) {
        NAME(lambda_row)(block, n, block->double_scratch);
        block->row_tops[n] = NAME(log_row)(block->n_topics, block->double_scratch,
                                           block->digamma_totals, rows);
        if (!block->temperature_per_document)
            NAME(exp_scaled)(block->n_topics, rows, block->inverse_temperatures[0], rows);
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
