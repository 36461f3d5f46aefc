/* Rows of topics for sampled documents, with the same bits on all instruction sets. */

/* Returns the row of `priors` that belongs to a document. */
static inline const double *NAME(prior_of)(const lda_block *block, const double *priors,
                                           intptr_t i)
{
    return block->prior_rows ? priors + block->prior_rows[i] * block->n_topics : priors;
}

/* Number of partial sums of `ordered_sum`, which are computed side by side. */
#define PARTS_OF_SUM ((intptr_t)(SIMD_BYTES / sizeof(REAL)))

/* sum_k weights[k] x[k], in an order that is the same everywhere. */
static inline REAL NAME(ordered_sum)(intptr_t n, const REAL *restrict weights,
                                     const REAL *restrict x)
{
    REAL sums[SIMD_BYTES / sizeof(REAL)] = {0};
    for (intptr_t k = 0; k < n; k += PARTS_OF_SUM)
        VECTORISE
        for (intptr_t i = 0; i < PARTS_OF_SUM; i++)
            sums[i] += weights[k + i] * x[k + i];
    for (intptr_t left = PARTS_OF_SUM / 2; left; left /= 2)
        for (intptr_t i = 0; i < left; i++)
            sums[i] += sums[i + left];
    return sums[0];
}

static void NAME(unfused_lambda_row)(const lda_block *block, intptr_t slot,
                                     double *restrict out)
{
    LAMBDA_ROW(block, slot, out, double);
}

static inline void NAME(raise)(intptr_t n, const REAL *logs, double b, REAL *out)
{
    const REAL power = (REAL)b;
    VECTORISE
    for (intptr_t k = 0; k < n; k++)
        out[k] = NAME(unfused_exp)(power * logs[k]);
}

static void NAME(fill_powers)(intptr_t n_topics, const double *alpha, double b,
                              REAL *restrict out)
{
    for (intptr_t k = 0; k < n_topics; k++)
        out[k] = (REAL)pow(alpha[k], b);
}

/* Computes the rows of the words from `first` to `end` for sampled documents: mean^b, or log
 * mean if each document has its own temperature.  The row after the last word is 0.  For
 * chains, also computes the masses of the words in an empty document.  Returns 0, or -1 if
 * `stop` is set. */
LOOP int NAME(lda_mean_rows)(const lda_block *block, intptr_t first, intptr_t end)
{
    const intptr_t n_topics = block->n_topics, width = block->width;
    const double b = block->inverse_temperatures[0];
    const int own = block->temperature_per_document;
    REAL *restrict row = (REAL *)block->scratch.rows + first * width;
    REAL *prior = block->scratch.chain_weights;
    NAME(fill_powers)(n_topics, block->untempered_prior, b, prior);
    for (intptr_t n = first; n < end; n++, row += width) {
        if (*block->stop)
            return -1;
        NAME(fetch_ahead)(block, n);
        NAME(unfused_lambda_row)(block, n, block->scratch.double_scratch);
        NAME(normalise_row)(block, row);
        if (own || b != 1.0)
            VECTORISE
            for (intptr_t k = 0; k < n_topics; k++)
                row[k] = NAME(unfused_log)(row[k]);
        if (!own && b != 1.0)
            NAME(raise)(n_topics, row, b, row);
        for (intptr_t k = n_topics; k < width; k++)
            row[k] = 0;
        if (!own && block->n_in_chains)
            block->scratch.row_tops[n] = NAME(ordered_sum)(width, prior, row);
    }
    for (intptr_t k = 0; k < width && end == block->n_words; k++)
        row[k] = 0;
    return 0;
}
