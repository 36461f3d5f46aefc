/* Products of CSR matrices with dense matrices.  Sums have the order of the entries, as in
 * SciPy, and products are rounded before they are added, so that the bits are SciPy's. */

/* Number of columns that are summed at once, in registers. */
#define COLUMNS 16

UNFUSED

/* Returns a column index of a CSR matrix, whose indices have 32 or 64 bits. */
ALWAYS_INLINE intptr_t NAME(column_at)(const int32_t *narrow, const int64_t *wide, intptr_t n)
{
    return narrow ? (intptr_t)narrow[n] : (intptr_t)wide[n];
}

/* Computes `n` columns of a row of X @ matrix; the sums are in registers. */
ALWAYS_INLINE void NAME(sparse_row_times)(const intptr_t n, intptr_t begin, intptr_t end,
                                          intptr_t width, const int32_t *narrow,
                                          const int64_t *wide,
                                          const double *restrict values,
                                          const double *restrict matrix,
                                          double *restrict product)
{
    double sums[COLUMNS] = {0};
    for (intptr_t entry = begin; entry < end; entry++) {
        const double value = values[entry];
        const double *restrict row =
            matrix + NAME(column_at)(narrow, wide, entry) * width;
        VECTORISE
        for (intptr_t k = 0; k < n; k++)
            sums[k] += value * row[k];
    }
    for (intptr_t k = 0; k < n; k++)
        product[k] = sums[k];
}

/* product = X @ matrix for `n` rows of a CSR matrix X; `matrix` has `width` columns.  One of
 * the arrays of indices is NULL. */
LOOP void NAME(sparse_times)(intptr_t n, intptr_t width, const intptr_t *restrict starts,
                             const int32_t *narrow, const int64_t *wide,
                             const double *restrict values, const double *restrict matrix,
                             double *restrict product)
{
    for (intptr_t i = 0; i < n; i++, product += width) {
        const intptr_t begin = starts[i], end = starts[i + 1];
        intptr_t k = 0;
        for (; k + COLUMNS <= width; k += COLUMNS)
            NAME(sparse_row_times)(COLUMNS, begin, end, width, narrow, wide, values,
                                   matrix + k, product + k);
        if (width - k >= 8) {
            NAME(sparse_row_times)(8, begin, end, width, narrow, wide, values, matrix + k,
                                   product + k);
            k += 8;
        }
        if (width - k >= 4) {
            NAME(sparse_row_times)(4, begin, end, width, narrow, wide, values, matrix + k,
                                   product + k);
            k += 4;
        }
        if (width - k >= 2) {
            NAME(sparse_row_times)(2, begin, end, width, narrow, wide, values, matrix + k,
                                   product + k);
            k += 2;
        }
        if (width > k)
            NAME(sparse_row_times)(1, begin, end, width, narrow, wide, values, matrix + k,
                                   product + k);
    }
}

/* sums += X^T @ shares for `n` rows of a CSR matrix X; `shares` has `width` columns.  One of
 * the arrays of indices is NULL. */
LOOP void NAME(add_sparse_sums)(intptr_t n, intptr_t width, const intptr_t *restrict starts,
                                const int32_t *narrow, const int64_t *wide,
                                const double *restrict values,
                                const double *restrict shares, double *restrict sums)
{
    for (intptr_t i = 0; i < n; i++, shares += width)
        for (intptr_t entry = starts[i]; entry < starts[i + 1]; entry++) {
            const double value = values[entry];
            double *restrict row = sums + NAME(column_at)(narrow, wide, entry) * width;
            VECTORISE
            for (intptr_t k = 0; k < width; k++)
                row[k] += value * shares[k];
        }
}

FUSED

#undef COLUMNS
