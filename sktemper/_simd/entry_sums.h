/* Sums of rows of a table over entries, such as ratings, for one floating type.  The sums of
 * MOST_VECTORS vectors or less of each row stay in registers during the loop over the
 * entries. */
#define VECTOR NAME(sums_vector)
VECTOR_TYPE(VECTOR, REAL, VECTOR_BYTES);
/* Number of entries that are added at once. */
#define AT_ONCE 4

/* Writes the sums of the first n vectors of rows, which are `stride` elements apart, or adds
 * them to `sums` if `add` is set.  Entry k has the row `others[k]` and the factor `factors[k]`.
 * If `both` is set, also writes the sums weighted by `weighted`.  Each call passes constants
 * for n and `both`, so that the sums stay in registers. */
ALWAYS_INLINE void NAME(sum_entries)(const int n, const int both, intptr_t n_entries,
                                     const int32_t *restrict others,
                                     const REAL *restrict factors,
                                     const REAL *restrict weighted,
                                     const REAL *restrict rows, intptr_t stride, int add,
                                     REAL *sums, REAL *weighted_sums)
{
    const VECTOR zero = {0};
    VECTOR sum[MOST_VECTORS], other[MOST_VECTORS];
    intptr_t k = 0;
    UNROLLED
    for (int i = 0; i < n; i++)
        sum[i] = other[i] = zero;
    for (; k + AT_ONCE <= n_entries; k += AT_ONCE) {
        const VECTOR *const a = (const VECTOR *)(rows + others[k] * stride);
        const VECTOR *const b = (const VECTOR *)(rows + others[k + 1] * stride);
        const VECTOR *const c = (const VECTOR *)(rows + others[k + 2] * stride);
        const VECTOR *const d = (const VECTOR *)(rows + others[k + 3] * stride);
        const REAL *f = factors + k, *y = weighted + k;
        UNROLLED
        for (int i = 0; i < n; i++)
            sum[i] += (f[0] * a[i] + f[1] * b[i]) + (f[2] * c[i] + f[3] * d[i]);
        UNROLLED
        for (int i = 0; both && i < n; i++)
            other[i] += (y[0] * a[i] + y[1] * b[i]) + (y[2] * c[i] + y[3] * d[i]);
    }
    for (; k < n_entries; k++) {
        const VECTOR *const a = (const VECTOR *)(rows + others[k] * stride);
        UNROLLED
        for (int i = 0; i < n; i++)
            sum[i] += factors[k] * a[i];
        UNROLLED
        for (int i = 0; both && i < n; i++)
            other[i] += weighted[k] * a[i];
    }
    UNROLLED
    for (int i = 0; i < n; i++) {
        if (add)
            ((VECTOR *)sums)[i] += sum[i];
        else
            ((VECTOR *)sums)[i] = sum[i];
        if (both)
            ((VECTOR *)weighted_sums)[i] = other[i];
    }
}
