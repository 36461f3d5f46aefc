/* Products of CSR matrices with dense matrices.  Sums have the order of the entries, as in
 * SciPy, and products are rounded before they are added, so that the bits are SciPy's. */

/* Number of columns that are summed at once, in registers. */
#define COLUMNS 16

UNFUSED

/* Computes `n` columns of a row of X @ matrix; the sums are in registers. */
ALWAYS_INLINE void NAME(sparse_row_times)(const intptr_t n, intptr_t begin, intptr_t end,
                                          intptr_t width, const int32_t *restrict columns,
                                          const double *restrict values,
                                          const double *restrict matrix,
                                          double *restrict product)
{
    double sums[COLUMNS] = {0};
    for (intptr_t entry = begin; entry < end; entry++) {
        const double value = values[entry];
        const double *restrict row = matrix + columns[entry] * width;
        VECTORISE
        for (intptr_t k = 0; k < n; k++)
            sums[k] += value * row[k];
    }
    for (intptr_t k = 0; k < n; k++)
        product[k] = sums[k];
}

/* Computes the next n columns of a row, if there are so many. */
#define NEXT_COLUMNS(n)                                                                     \
    if (width - k >= n) {                                                                   \
        NAME(sparse_row_times)(n, begin, end, width, columns, values, matrix + k,           \
                               product + k);                                                \
        k += n;                                                                             \
    }

/* product = X @ matrix for `n` rows of a CSR matrix X; `matrix` has `width` columns. */
LOOP void NAME(sparse_times)(intptr_t n, intptr_t width, const intptr_t *restrict starts,
                             const int32_t *restrict columns,
                             const double *restrict values, const double *restrict matrix,
                             double *restrict product)
{
    for (intptr_t i = 0; i < n; i++, product += width) {
        const intptr_t begin = starts[i], end = starts[i + 1];
        intptr_t k = 0;
        while (width - k >= COLUMNS)
            NEXT_COLUMNS(COLUMNS)
        NEXT_COLUMNS(8)
        NEXT_COLUMNS(4)
        NEXT_COLUMNS(2)
        NEXT_COLUMNS(1)
    }
}

/* sums += X^T @ shares for `n` rows of a CSR matrix X; `shares` has `width` columns. */
LOOP void NAME(add_sparse_sums)(intptr_t n, intptr_t width, const intptr_t *restrict starts,
                                const int32_t *restrict columns,
                                const double *restrict values,
                                const double *restrict shares, double *restrict sums)
{
    for (intptr_t i = 0; i < n; i++, shares += width)
        for (intptr_t entry = starts[i]; entry < starts[i + 1]; entry++) {
            const double value = values[entry];
            double *restrict row = sums + columns[entry] * width;
            VECTORISE
            for (intptr_t k = 0; k < width; k++)
                row[k] += value * shares[k];
        }
}

FUSED

#undef COLUMNS
