/* Implicit feedback, for one floating type.
 *
 * A table has the moments of the Gaussian posteriors of all items or of some users.  It is
 * divided into panels, one after the other.  A row of a panel has PANEL moments of one
 * posterior.  The first panels have the packed lower triangle of E[x x^T], and the remaining
 * panels have E[x].  Both are padded with zeros to whole panels.  Sums over pairs have the
 * same layout.  One panel is summed at a time, because a panel fits into the cache of a core,
 * and a whole table does not. */

#define PANEL (PANEL_BYTES / (intptr_t)sizeof(REAL))
/* Number of pairs that are added at once, and largest number in one partial sum, because the
 * rounding error of a sum grows with the number of its terms. */
#define AT_ONCE 4
#define MOST_ADDED 512

#ifdef VECTOR_BYTES
#define VECTOR NAME(panel_vector)
typedef REAL VECTOR __attribute__((vector_size(VECTOR_BYTES), may_alias));
#else
#define VECTOR REAL
#endif
#define N_VECTORS ((int)(PANEL_BYTES / sizeof(VECTOR)))

/* Computes the sum of factor times row over some pairs.  Writes the sum to `out` if `first` is
 * set, and adds it to `out` otherwise. */
static inline void NAME(add_pairs)(intptr_t n_pairs, const int32_t *restrict others,
                                   const REAL *restrict factors,
                                   const REAL *restrict panel, int first,
                                   REAL *restrict out)
{
    const VECTOR *restrict rows = (const VECTOR *)panel;
    VECTOR *restrict to = (VECTOR *)out;
    const VECTOR zero = {0};
    VECTOR sums[N_VECTORS];
    intptr_t k = 0;
    UNROLLED
    for (int i = 0; i < N_VECTORS; i++)
        sums[i] = zero;
    for (; k + AT_ONCE <= n_pairs; k += AT_ONCE) {
        const VECTOR *restrict a = rows + (intptr_t)others[k] * N_VECTORS;
        const VECTOR *restrict b = rows + (intptr_t)others[k + 1] * N_VECTORS;
        const VECTOR *restrict c = rows + (intptr_t)others[k + 2] * N_VECTORS;
        const VECTOR *restrict d = rows + (intptr_t)others[k + 3] * N_VECTORS;
        const REAL fa = factors[k], fb = factors[k + 1];
        const REAL fc = factors[k + 2], fd = factors[k + 3];
        UNROLLED
        for (int i = 0; i < N_VECTORS; i++)
            sums[i] += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
    }
    for (; k < n_pairs; k++) {
        const VECTOR *restrict a = rows + (intptr_t)others[k] * N_VECTORS;
        const REAL fa = factors[k];
        UNROLLED
        for (int i = 0; i < N_VECTORS; i++)
            sums[i] += fa * a[i];
    }
    UNROLLED
    for (int i = 0; i < N_VECTORS; i++) {
        if (first)
            to[i] = sums[i];
        else
            to[i] += sums[i];
    }
}

/* Writes the sums over the pairs of each row.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(pair_sums)(pairs_block *block)
{
    const intptr_t n_rows = block->n_rows, n_others = block->n_others;
    for (intptr_t p = 0; p < block->n_panels; p++) {
        const REAL *panel = (const REAL *)block->table + p * n_others * PANEL;
        const REAL *factors = p < block->n_square_panels ? block->square_factors
                                                         : block->linear_factors;
        REAL *sums = (REAL *)block->sums + p * n_rows * PANEL;
        for (intptr_t row = 0; row < n_rows; row++) {
            const intptr_t start = block->starts[row], end = block->starts[row + 1];
            intptr_t next = start;
            do {
                const intptr_t left = end - next;
                const intptr_t n = left < MOST_ADDED ? left : MOST_ADDED;
                if (*block->stop)
                    return -1;
                NAME(add_pairs)(n, block->others + next, factors + next, panel,
                                next == start, sums + row * PANEL);
                next += n;
            } while (next < end);
        }
    }
    return 0;
}

/* total += factor part.  Row r of the part is added to row `places[r]` of the total, or to
 * row r if `places` is NULL. */
LOOP int NAME(add_sums)(intptr_t n_panels, intptr_t n_rows, intptr_t n_part,
                        const int32_t *places, double factor,
                        const REAL *restrict part, REAL *restrict total,
                        const volatile int *stop)
{
    const REAL by = (REAL)factor;
    for (intptr_t p = 0; p < n_panels; p++) {
        if (*stop)
            return -1;
        for (intptr_t r = 0; r < n_part; r++) {
            const REAL *restrict from = part + (p * n_part + r) * PANEL;
            REAL *restrict to = total + (p * n_rows + (places ? places[r] : r)) * PANEL;
            VECTORISE
            for (intptr_t i = 0; i < PANEL; i++)
                to[i] += by * from[i];
        }
    }
    return 0;
}
