/* Implicit feedback, for one floating type.
 *
 * A table has the moments of the Gaussian posteriors of all items or of some users.  It is
 * divided into panels, one after the other.  A row of a panel has PANEL moments of one
 * posterior.  The first panels have the packed lower triangle of E[x x^T], and the remaining
 * panels have E[x].  Both are padded with zeros to whole panels.  Sums over pairs have the
 * same layout.  One panel is summed at a time, because a panel fits into the cache of a core,
 * and a whole table does not. */

#define PANEL (PANEL_BYTES / (intptr_t)sizeof(REAL))
/* Largest number of pairs in one partial sum, because the rounding error of a sum grows with
 * the number of its terms. */
#define MOST_ADDED 512
#define MOST_VECTORS ((int)(PANEL_BYTES / sizeof(VECTOR)))
#include "entry_sums.h"

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
                NAME(sum_entries)(MOST_VECTORS, 0, n, block->others + next, factors + next,
                                  factors, panel, PANEL, next != start,
                                  sums + row * PANEL, NULL);
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
