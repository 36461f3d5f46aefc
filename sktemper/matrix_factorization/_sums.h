/* Sums over ratings of rows of a table, for one floating type.  Some columns at once, a
 * panel: their sums stay in registers while the ratings of a row are gone through, and of
 * a packed panel all rows stay in a core's own cache. */

/* Vectors of a panel, and ratings whose rows of it are added at once. */
#ifdef VECTOR_BYTES
#define SUM_LANES (VECTOR_BYTES / (intptr_t)sizeof(REAL))
#if VECTOR_BYTES == 64
#define MOST_VECTORS 5
#else
#define MOST_VECTORS 3
#endif
#else
#define SUM_LANES 1
#define MOST_VECTORS 16
#endif
#define AT_ONCE 4
/* After so many ratings sums go on in float64. */
#define MOST_ADDED 256
#define PANEL_COLUMNS (MOST_VECTORS * SUM_LANES)

/* The columns of a panel, their sums by factors, and those by factors times values. */
typedef struct {
    const REAL *rows;
    intptr_t stride, first, n_vectors;
    int is_weighted;                     /* whether it has columns of the latter */
    REAL sums[PANEL_COLUMNS], weighted[PANEL_COLUMNS];
} NAME(panel);

#ifdef VECTOR_BYTES
#define VECTOR NAME(sums_vector)
typedef REAL VECTOR
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#define EACH_1(X) X(0)
#define EACH_2(X) EACH_1(X) X(1)
#define EACH_3(X) EACH_2(X) X(2)
#define EACH_4(X) EACH_3(X) X(3)
#define EACH_5(X) EACH_4(X) X(4)
#define ROW(name, i)                                                                   \
    const VECTOR *const name = (const VECTOR *)(rows + (intptr_t)others[k + i] * stride);
#define START(i) VECTOR sum##i = {0};
#define ADD(i) sum##i += (fa * a[i] + fb * b[i]) + (fc * c[i] + fd * d[i]);
#define ADD_ONE(i) sum##i += fa * a[i];
#define WRITE(i) *(VECTOR *)(panel->sums + i * SUM_LANES) = sum##i;
#define START_WEIGHTED(i) VECTOR other##i = {0};
#define ADD_WEIGHTED(i) other##i += (ya * a[i] + yb * b[i]) + (yc * c[i] + yd * d[i]);
#define ADD_ONE_WEIGHTED(i) other##i += ya * a[i];
#define WRITE_WEIGHTED(i) *(VECTOR *)(panel->weighted + i * SUM_LANES) = other##i;
#define ADDERS(n)                                                                      \
    static void NAME(add_##n)(intptr_t n_ratings, const int32_t *restrict others,      \
                              const REAL *restrict factors, NAME(panel) *panel)        \
    {                                                                                  \
        const REAL *const rows = panel->rows;                                          \
        const intptr_t stride = panel->stride;                                         \
        intptr_t k = 0;                                                                \
        EACH_##n(START)                                                                \
        for (; k + AT_ONCE <= n_ratings; k += AT_ONCE) {                               \
            ROW(a, 0) ROW(b, 1) ROW(c, 2) ROW(d, 3)                                    \
            const REAL fa = factors[k], fb = factors[k + 1];                           \
            const REAL fc = factors[k + 2], fd = factors[k + 3];                       \
            EACH_##n(ADD)                                                              \
        }                                                                              \
        for (; k < n_ratings; k++) {                                                   \
            ROW(a, 0)                                                                  \
            const REAL fa = factors[k];                                                \
            EACH_##n(ADD_ONE)                                                          \
        }                                                                              \
        EACH_##n(WRITE)                                                                \
    }                                                                                  \
    static void NAME(add_both_##n)(intptr_t n_ratings, const int32_t *restrict others, \
                                   const REAL *restrict factors,                       \
                                   const REAL *restrict weighted, NAME(panel) *panel)  \
    {                                                                                  \
        const REAL *const rows = panel->rows;                                          \
        const intptr_t stride = panel->stride;                                         \
        intptr_t k = 0;                                                                \
        EACH_##n(START)                                                                \
        EACH_##n(START_WEIGHTED)                                                       \
        for (; k + AT_ONCE <= n_ratings; k += AT_ONCE) {                               \
            ROW(a, 0) ROW(b, 1) ROW(c, 2) ROW(d, 3)                                    \
            const REAL fa = factors[k], fb = factors[k + 1];                           \
            const REAL fc = factors[k + 2], fd = factors[k + 3];                       \
            const REAL ya = weighted[k], yb = weighted[k + 1];                         \
            const REAL yc = weighted[k + 2], yd = weighted[k + 3];                     \
            EACH_##n(ADD)                                                              \
            EACH_##n(ADD_WEIGHTED)                                                     \
        }                                                                              \
        for (; k < n_ratings; k++) {                                                   \
            ROW(a, 0)                                                                  \
            const REAL fa = factors[k], ya = weighted[k];                              \
            EACH_##n(ADD_ONE)                                                          \
            EACH_##n(ADD_ONE_WEIGHTED)                                                 \
        }                                                                              \
        EACH_##n(WRITE)                                                                \
        EACH_##n(WRITE_WEIGHTED)                                                       \
    }
ADDERS(1)
ADDERS(2)
ADDERS(3)
#if MOST_VECTORS == 5
ADDERS(4)
ADDERS(5)
#endif
#define CASE(n)                                                                        \
    case n:                                                                            \
        if (panel->is_weighted)                                                        \
            NAME(add_both_##n)(n_ratings, others, factors, weighted, panel);           \
        else                                                                           \
            NAME(add_##n)(n_ratings, others, factors, panel);                          \
        break;

/* The sums of a panel over some ratings, in place of what it had. */
static inline void NAME(add_ratings)(intptr_t n_ratings, const int32_t *others,
                                     const REAL *factors, const REAL *weighted,
                                     NAME(panel) *panel)
{
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
#undef VECTOR
#undef EACH_1
#undef EACH_2
#undef EACH_3
#undef EACH_4
#undef EACH_5
#undef ROW
#undef START
#undef ADD
#undef ADD_ONE
#undef WRITE
#undef START_WEIGHTED
#undef ADD_WEIGHTED
#undef ADD_ONE_WEIGHTED
#undef WRITE_WEIGHTED
#undef ADDERS
#undef CASE
#else
static inline void NAME(add_ratings)(intptr_t n_ratings, const int32_t *others,
                                     const REAL *factors, const REAL *weighted,
                                     NAME(panel) *panel)
{
    memset(panel->sums, 0, sizeof(panel->sums));
    memset(panel->weighted, 0, sizeof(panel->weighted));
    for (intptr_t k = 0; k < n_ratings; k++) {
        const REAL *row = panel->rows + (intptr_t)others[k] * panel->stride;
        for (intptr_t i = 0; i < panel->n_vectors; i++) {
            panel->sums[i] += factors[k] * row[i];
            panel->weighted[i] += weighted[k] * row[i];
        }
    }
}
#endif

/* Adds a panel's sums to those of a row, which begin at `out`. */
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

/* Columns of the table one row after the other, times the rows' factors. */
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

/* Adds factor value^2, and factor, to the sums of each row. */
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

/* Adds what ratings tell of their rows to sums; 0, or -1 when told to stop. */
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

/* The sum of the rows of a table, each times its factor. */
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

#undef SUM_LANES
#undef MOST_VECTORS
#undef AT_ONCE
#undef MOST_ADDED
#undef PANEL_COLUMNS
