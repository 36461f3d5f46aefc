/* Sums over ratings of rows of a table, for one floating type.  The columns are summed in
 * panels: the sums of a panel stay in registers during the loop over the ratings of a row,
 * and a packed panel of all rows stays in the cache of a core. */

/* Maximum number of vectors in a row of a panel (MOST_VECTORS), and number of elements of a
 * vector (SUM_LANES). */
#ifdef VECTOR_BYTES
#define MOST_VECTORS (VECTOR_BYTES == 64 ? 5 : 3)
#else
#define MOST_VECTORS 5
#endif
#include "entry_sums.h"
#define SUM_LANES ((intptr_t)(sizeof(VECTOR) / sizeof(REAL)))
/* Largest number of ratings of a partial sum.  Partial sums are added in float64. */
#define MOST_ADDED 256
#define PANEL_COLUMNS (MOST_VECTORS * SUM_LANES)

/* The columns of a panel and their sums over ratings.  The sums in `sums` are weighted by
 * factors, and those in `weighted` by factors times values. */
typedef struct {
    const REAL *rows;
    intptr_t stride, first, n_vectors;
    int is_weighted;                     /* whether `weighted` is needed */
    REAL sums[PANEL_COLUMNS], weighted[PANEL_COLUMNS];
} NAME(panel);

/* Replaces the sums of a panel by the sums over some ratings. */
static inline void NAME(add_ratings)(intptr_t n_ratings, const int32_t *others,
                                     const REAL *factors, const REAL *weighted,
                                     NAME(panel) *panel)
{
/* These are macros, because each call of `sum_entries` needs a constant number of vectors. */
#define SUM(n, both)                                                                   \
    NAME(sum_entries)(n, both, n_ratings, others, factors, weighted, panel->rows,      \
                      panel->stride, 0, panel->sums, panel->weighted)
#define CASE(n)                                                                        \
    case n:                                                                            \
        if (panel->is_weighted)                                                        \
            SUM(n, 1);                                                                 \
        else                                                                           \
            SUM(n, 0);                                                                 \
        break;
    switch (panel->n_vectors) {
        CASE(1)
        CASE(2)
        CASE(3)
#if MOST_VECTORS == 5
        CASE(4)
        CASE(5)
#endif
    }
}

/* Adds the sums of a panel to the sums of a row, which begin at `out`. */
static void NAME(add_panel)(const ratings_block *block, const NAME(panel) *panel,
                            double *restrict out)
{
    const intptr_t d = block->rank, E = d + block->biases, n_own = E * (E + 1) / 2;
    const intptr_t from = d * (d + 1) / 2, first = panel->first;
    const intptr_t end = first + panel->n_vectors * SUM_LANES;
    const REAL *restrict sums = panel->sums, *restrict weighted = panel->weighted;
    const intptr_t n_packed = (end < n_own ? end : n_own) - first;
    double *restrict linear = out + n_own, *restrict packed = out + first;
    VECTORISE
    for (intptr_t i = 0; i < n_packed; i++)
        packed[i] += (double)sums[i];
    if (!panel->is_weighted)
        return;
    const intptr_t start = first > from ? first : from;
    for (intptr_t i = start; i < (end < from + E ? end : from + E); i++)
        linear[i - from] += (double)weighted[i - first];
    if (!block->biases)
        return;
    for (intptr_t i = first > n_own ? first : n_own; i < end && i < n_own + E; i++)
        linear[i - n_own] -= (double)sums[i - first];
    if (!block->with_squares)
        return;
    const intptr_t bias = n_own + E - 1 - first, square = bias + 1;
    if (bias >= 0 && bias < end - first)
        linear[E] -= 2 * (double)weighted[bias];
    if (square >= 0 && square < end - first)
        linear[E] += (double)sums[square];
}

/* Packs the columns of a panel, row after row, multiplied by the factors of the rows. */
static void NAME(pack_panel)(const ratings_block *block, NAME(panel) *panel)
{
    const REAL *from = (const REAL *)block->table + panel->first;
    const REAL *factors = block->row_factors;
    const intptr_t n_columns = panel->n_vectors * SUM_LANES;
    REAL *restrict to = block->panel;
    panel->rows = to;
    panel->stride = n_columns;
    for (intptr_t row = 0; row < block->n_others; row++) {
        const REAL factor = factors ? factors[row] : 1;
        const REAL *restrict columns = from + row * block->width;
        VECTORISE
        for (intptr_t i = 0; i < n_columns; i++)
            to[i] = factor * columns[i];
        to += n_columns;
    }
}

/* Adds the sums of factor * value^2 and of factor over the ratings of each row. */
static void NAME(add_squares)(const ratings_block *block, intptr_t at, intptr_t stride)
{
    const REAL *restrict values = block->values, *restrict weighted = block->weighted;
    const REAL *restrict factors = block->factors;
    for (intptr_t row = 0; row < block->n_rows; row++) {
        const intptr_t start = block->starts[row], end = block->starts[row + 1];
        double squares = 0, total = factors ? 0 : (double)(end - start);
        VECTORISE_REDUCTION(+ : squares)
        for (intptr_t k = start; k < end; k++)
            squares += (double)weighted[k] * values[k];
        if (factors) {
            VECTORISE_REDUCTION(+ : total)
            for (intptr_t k = start; k < end; k++)
                total += (double)factors[k];
        }
        block->sums[row * stride + at] += squares;
        block->sums[row * stride + at + 1] += total;
    }
}

/* Adds the statistics of ratings to the sums of their rows.  Returns 0, or -1 if `stop` is
 * set. */
LOOP int NAME(rating_sums)(ratings_block *block)
{
    const intptr_t d = block->rank, E = d + block->biases, n_own = E * (E + 1) / 2;
    const intptr_t from = d * (d + 1) / 2, end = from + (block->biases ? 2 * E + 1 : E);
    const intptr_t stride = n_own + E + (block->with_squares ? 2 : 0);
    const intptr_t n_vectors = block->width / SUM_LANES;
    const intptr_t n_panels = (n_vectors + MOST_VECTORS - 1) / MOST_VECTORS;
    REAL ones[MOST_ADDED];
    NAME(panel) panel;
    if (block->with_squares)
        NAME(add_squares)(block, n_own + E, stride);
    for (intptr_t i = 0; i < MOST_ADDED; i++)
        ones[i] = 1;
    for (intptr_t p = 0; p < n_panels; p++) {
        const intptr_t before = p * n_vectors / n_panels;
        panel.first = before * SUM_LANES;
        panel.n_vectors = (p + 1) * n_vectors / n_panels - before;
        panel.is_weighted =
            panel.first < end && panel.first + panel.n_vectors * SUM_LANES > from;
        panel.rows = (const REAL *)block->table + panel.first;
        panel.stride = block->width;
        if (block->panel)
            NAME(pack_panel)(block, &panel);
        for (intptr_t row = 0; row < block->n_rows; row++) {
            intptr_t next = block->starts[row];
            const intptr_t last = block->starts[row + 1];
            while (next < last) {
                if (*block->stop)
                    return -1;
                const intptr_t n = last - next < MOST_ADDED ? last - next : MOST_ADDED;
                const REAL *factors = block->factors;
                NAME(add_ratings)(n, block->others + next,
                                  factors ? factors + next : ones,
                                  (const REAL *)block->weighted + next, &panel);
                NAME(add_panel)(block, &panel, block->sums + row * stride);
                next += n;
            }
        }
    }
    return 0;
}

/* sums += the rows of a table times their factors. */
LOOP void NAME(table_sums)(intptr_t n_rows, intptr_t width, const double *factors,
                           const REAL *table, double *sums)
{
    for (intptr_t row = 0; row < n_rows; row++) {
        const double factor = factors[row];
        const REAL *restrict from = table + row * width;
        double *restrict to = sums;
        VECTORISE
        for (intptr_t i = 0; i < width; i++)
            to[i] += factor * (double)from[i];
    }
}
