/* Grams of samples with missing values, see `grams_block`. */

#define VECTOR NAME(gram_vector)
VECTOR_TYPE(VECTOR, double, VECTOR_BYTES);
#define WIDE ((intptr_t)(sizeof(VECTOR) / sizeof(double)))

ALWAYS_INLINE void NAME(gram_tile)(const int n_vectors, intptr_t width, intptr_t n_listed,
                                   const int32_t *restrict listed,
                                   const double *restrict means, intptr_t k, intptr_t j,
                                   double *restrict sums)
{
    VECTOR tile[4][2];
    memset(tile, 0, sizeof(tile));
    for (intptr_t i = 0; i < n_listed; i++) {
        const double *restrict row = means + listed[i] * width;
        for (int v = 0; v < n_vectors; v++) {
            const VECTOR right = *(const VECTOR *)(row + j + v * WIDE);
            for (int r = 0; r < 4; r++)
                tile[r][v] += row[k + r] * right;
        }
    }
    for (int r = 0; r < 4; r++)
        for (int v = 0; v < n_vectors; v++)
            *(VECTOR *)(sums + (k + r) * width + j + v * WIDE) = tile[r][v];
}

/* sums[k][j] = sum of means[i][k] means[i][j] over the listed dimensions i.  Only the upper
 * triangle is computed. */
static void NAME(gram_sums)(intptr_t n_features, intptr_t width, intptr_t n_listed,
                            const int32_t *restrict listed, const double *restrict means,
                            double *restrict sums)
{
    for (intptr_t k = 0; k < n_features; k += 4) {
        intptr_t j = k - k % WIDE;
        for (; j + 2 * WIDE <= width; j += 2 * WIDE)
            NAME(gram_tile)(2, width, n_listed, listed, means, k, j, sums);
        for (; j < width; j += WIDE)
            NAME(gram_tile)(1, width, n_listed, listed, means, k, j, sums);
    }
}
#undef VECTOR

/* Writes the gram of each sample, from the dimensions in which it has a value.  Returns 0,
 * or -1 if `stop` is set. */
LOOP int NAME(binary_grams)(grams_block *block)
{
    const intptr_t K = block->n_features, D = block->n_dimensions;
    const intptr_t width = block->width, size = K * (K + 1) / 2;
    for (intptr_t i = 0; i < block->n_samples; i++) {
        const unsigned char *restrict missing = block->missing + i * D;
        REAL *restrict gram = (REAL *)block->grams + i * size;
        double *restrict diagonal = block->diagonals + i * K;
        intptr_t n_missing = 0, n_listed = 0;
        if (*block->stop)
            return -1;
        for (intptr_t d = 0; d < D; d++)
            n_missing += missing[d] != 0;
        /* For speed, the sums run over the smaller set of dimensions: the products of observed
         * dimensions are added, or the products of missing dimensions are subtracted from the
         * total. */
        const int of_missing = 2 * n_missing <= D;
        for (intptr_t d = 0; d < D; d++) {
            block->listed[n_listed] = (int32_t)d;
            n_listed += (missing[d] != 0) == of_missing;
        }
        NAME(gram_sums)(K, width, n_listed, block->listed, block->means, block->sums);
        const double dimensions = (double)(block->completing ? D : D - n_missing);
        const double sign = of_missing ? -1 : 1, all = of_missing ? 1 : 0;
        for (intptr_t k = 0, entry = 0; k < K; k++) {
            const double *restrict sums = block->sums + k * width + k;
            const double *restrict products = block->products + entry;
            const double *restrict spread = block->spread + entry;
            VECTORISE
            for (intptr_t j = 0; j < K - k; j++)
                gram[entry + j] = (REAL)(all * products[j] + dimensions * spread[j] +
                                         sign * sums[j]);
            diagonal[k] = all * products[0] + dimensions * spread[0] + sign * sums[0];
            entry += K - k;
        }
    }
    return 0;
}
