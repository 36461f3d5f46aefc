/* Rows for the words of a block.  A row has a value of one word for each topic. */

/* Computes lambda of a word for all topics.  Usually the prior is the same for all topics; a
 * separate loop without strides is faster in this case.  This is a macro, because it writes
 * rows of two types. */
#define LAMBDA_ROW(block, slot, out, TYPE)                                            \
    const intptr_t v = block->words[slot], stride = block->prior_topic_stride;        \
    const double *restrict u = block->u + v * block->n_topics;                        \
    const double *restrict prior = block->prior + v * block->prior_word_stride;       \
    const double decay = block->decay, share = block->prior_share;                    \
    const double base = block->base_share, offset = share * prior[0] + base;          \
    const intptr_t n_topics = block->n_topics;                                        \
    if (stride == 0) {                                                                \
        VECTORISE                                                                     \
        for (intptr_t k = 0; k < n_topics; k++)                                       \
            out[k] = (TYPE)(decay * u[k] + offset);                                   \
        return;                                                                       \
    }                                                                                 \
    for (intptr_t k = 0; k < n_topics; k++)                                           \
        out[k] = (TYPE)(decay * u[k] + (share * prior[k * stride] + base))

static void NAME(lambda_row)(const lda_block *block, intptr_t slot, double *restrict out)
{
    LAMBDA_ROW(block, slot, out, double);
}

static void NAME(rounded_row)(const lda_block *block, intptr_t slot, REAL *restrict out)
{
    LAMBDA_ROW(block, slot, out, REAL);
}

/* out = digamma(x) - offset - max(...); returns that max. */
static double NAME(log_row)(intptr_t n, const REAL *restrict x,
                            const double *restrict offset, REAL *restrict out)
{
    VECTORISE
    for (intptr_t i = 0; i < n; i++)
        out[i] = NAME(digamma_one)(x[i]) - (REAL)offset[i];
    const REAL top = NAME(largest)(n, out);
    VECTORISE
    for (intptr_t i = 0; i < n; i++)
        out[i] -= top;
    return (double)top;
}

/* The values of a word are prefetched while the word this number of places before it is
 * processed, because words of a block are far apart in memory. */
#define WORDS_AHEAD 8
/* Number of topics that are prefetched; the processor itself fetches further topics. */
#define MOST_AHEAD 128
/* Number of words whose rows are processed at once, if half of the first cache suffices. */
#define ROWS_AT_ONCE 16

/* Prefetches the values of the word `WORDS_AHEAD` places after n, if there is one. */
static inline void NAME(fetch_ahead)(const lda_block *block, intptr_t n)
{
    const intptr_t n_topics = block->n_topics, ahead = n + WORDS_AHEAD;
    const intptr_t n_asked = n_topics < MOST_AHEAD ? n_topics : MOST_AHEAD;
    for (intptr_t k = 0; ahead < block->n_words && k < n_asked; k += 8)
        PREFETCH(block->u + block->words[ahead] * n_topics + k);
}

/* Computes lambda of m words from index n on, and the largest value of each word.  Padding
 * repeats the value of the first topic. */
static void NAME(rounded_rows)(const lda_block *block, intptr_t n, intptr_t m,
                               REAL *restrict rows, REAL *restrict tops)
{
    const intptr_t n_topics = block->n_topics, width = block->width;
    for (intptr_t j = 0; j < m; j++) {
        REAL *restrict row = rows + j * width;
        NAME(fetch_ahead)(block, n + j);
        NAME(rounded_row)(block, n + j, row);
        for (intptr_t k = n_topics; k < width; k++)
            row[k] = row[0];
    }
    /* in a second loop, because values that were just stored cannot be loaded quickly */
    for (intptr_t j = 0; j < m; j++)
        tops[j] = NAME(largest)(width, rows + j * width);
}

/* rows = exp(digamma(lambda)) * factors for m words, scaled by exp(-row_tops). */
static void NAME(fill_some_rows)(const lda_block *block, intptr_t n, intptr_t m,
                                 const REAL *restrict factors, double least)
{
    const intptr_t width = block->width;
    REAL *restrict rows = (REAL *)block->scratch.rows + n * width;
    REAL tops[ROWS_AT_ONCE], shifts[ROWS_AT_ONCE];
    for (intptr_t j = m; j < ROWS_AT_ONCE; j++)
        tops[j] = 1;
    NAME(rounded_rows)(block, n, m, rows, tops);
    VECTORISE
    for (int j = 0; j < ROWS_AT_ONCE; j++)
        shifts[j] = NAME(digamma_parts_of)(tops[j]).R;
    for (intptr_t j = 0; j < m; j++, rows += width) {
        const REAL shift = shifts[j];
        block->scratch.row_tops[n + j] = -(double)shift - least;
        VECTORISE
        for (intptr_t k = 0; k < width; k++)
            rows[k] = NAME(exp_digamma_one)(rows[k], shift) * factors[k];
    }
}

/* The same for an inverse temperature b that is not 1.  If each document has its own
 * temperature, rows are E log beta minus its largest value instead. */
static void NAME(fill_raised_rows)(const lda_block *block, intptr_t n, intptr_t m, double b)
{
    const intptr_t n_topics = block->n_topics, width = block->width;
    REAL *restrict rows = (REAL *)block->scratch.rows + n * width;
    REAL *restrict x = (REAL *)block->scratch.topic_scratch + 2 * width;
    for (intptr_t j = 0; j < m; j++, rows += width) {
        NAME(rounded_row)(block, n + j, x);
        block->scratch.row_tops[n + j] =
            NAME(log_row)(n_topics, x, block->digamma_totals, rows);
        if (!block->temperature_per_document)
            NAME(exp_scaled)(n_topics, rows, b, rows);
        for (intptr_t k = n_topics; k < width; k++)
            rows[k] = 0;
    }
}

/* Computes the rows of the words from `first` to `end`: exp(b E log beta), or E log beta if
 * each document has its own temperature.  Rows are scaled by exp(-b row_tops) to avoid
 * overflows.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(lda_rows)(const lda_block *block, intptr_t first, intptr_t end)
{
    const intptr_t n_topics = block->n_topics, width = block->width;
    const double b = block->inverse_temperatures[0];
    const int raised = block->temperature_per_document || b != 1.0;
    REAL *restrict factors = (REAL *)block->scratch.topic_scratch + 3 * width;
    REAL *restrict last = (REAL *)block->scratch.rows + block->n_words * width;
    double least = block->digamma_totals[0];
    for (intptr_t k = 0; k < n_topics; k++)
        least = block->digamma_totals[k] < least ? block->digamma_totals[k] : least;
    for (intptr_t k = 0; k < width; k++)
        factors[k] = k < n_topics ? (REAL)exp(least - block->digamma_totals[k]) : 0;
    intptr_t at_once = FIRST_CACHE / 2 / (width * (intptr_t)sizeof(REAL));
    at_once = at_once < 1 ? 1 : at_once < ROWS_AT_ONCE ? at_once : ROWS_AT_ONCE;
    for (intptr_t n = first; n < end; n += at_once) {
        const intptr_t left = end - n, m = left < at_once ? left : at_once;
        if (*block->stop)
            return -1;
        if (raised)
            NAME(fill_raised_rows)(block, n, m, b);
        else
            NAME(fill_some_rows)(block, n, m, factors, least);
    }
    for (intptr_t k = 0; k < width && end == block->n_words; k++)
        last[k] = 0;
    return 0;
}

/* row = lambda / sum of lambda over words; `double_scratch` has lambda of the word. */
static void NAME(normalise_row)(const lda_block *block, REAL *restrict row)
{
    const double *restrict totals = block->totals;
    const double *restrict lambda = block->scratch.double_scratch;
    VECTORISE
    for (intptr_t k = 0; k < block->n_topics; k++) {
        const REAL mean = (REAL)(lambda[k] / totals[k]);
        row[k] = mean > TINY_MASS ? mean : TINY_MASS;
    }
}

/* u[words] += factor * rows, and totals += factor * sum of rows; u has the shape
 * (., n_topics), and rows have the shape (n_words, width). */
LOOP void NAME(add_rows)(intptr_t n_words, intptr_t n_topics, intptr_t width,
                           const intptr_t *words, const REAL *restrict rows,
                           double factor, double *restrict u, double *restrict totals)
{
    for (intptr_t n = 0; n < n_words; n++, rows += width) {
        double *restrict row = u + words[n] * n_topics;
        VECTORISE
        for (intptr_t k = 0; k < n_topics; k++) {
            const double change = factor * rows[k];
            row[k] += change;
            totals[k] += change;
        }
    }
}
