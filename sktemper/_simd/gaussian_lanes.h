/* Gaussians of natural parameters, precision and precision times mean: some at once, a
 * lane each.  In float64, whatever REAL is: a small precision beside a large one would
 * be lost.
 *
 * Every element is a sum in the order of its terms, whatever tile it lies in. */
#define LANES (SIMD_BYTES / (intptr_t)sizeof(double))
/* Where an element of a packed lower triangle begins; and of the upper one. */
#define AT(i, j) (((i) * ((i) + 1) / 2 + (j)) * LANES)
#define UPPER(i, j, d) (((i) * (2 * (d) - (i) - 1) / 2 + (j)) * LANES)

/* Elements of a tile, TILE by TILE: as many sums as fit into registers. */
#ifdef VECTOR_BYTES
#if VECTOR_BYTES == 64
#define TILE 4
#define EACH_ELEMENT(X)                                                                \
    X(0, 0) X(0, 1) X(0, 2) X(0, 3) X(1, 0) X(1, 1) X(1, 2) X(1, 3)                    \
    X(2, 0) X(2, 1) X(2, 2) X(2, 3) X(3, 0) X(3, 1) X(3, 2) X(3, 3)
#define EACH_LINE(X) X(0) X(1) X(2) X(3)
#else
#define TILE 2
#define EACH_ELEMENT(X) X(0, 0) X(0, 1) X(1, 0) X(1, 1)
#define EACH_LINE(X) X(0) X(1)
#endif
#define VECTOR NAME(lanes_vector)
typedef double VECTOR __attribute__((vector_size(SIMD_BYTES), may_alias));
#define TILE_SUMS \
    double sums[TILE * TILE * LANES] __attribute__((aligned(SIMD_BYTES)))

/* sums -= x y^T, for the lines of a tile, over some terms. */
static inline void NAME(subtract_tile)(intptr_t n_terms, const double *const *x,
                                       const double *const *y, double *sums)
{
#define LINES(r)                                                                       \
    const VECTOR *restrict x##r = (const VECTOR *)x[r];                                \
    const VECTOR *restrict y##r = (const VECTOR *)y[r];
#define LOAD(r, c) VECTOR sum##r##c = *(const VECTOR *)(sums + (r * TILE + c) * LANES);
#define ADD(r, c) sum##r##c -= x##r[k] * y##c[k];
#define STORE(r, c) *(VECTOR *)(sums + (r * TILE + c) * LANES) = sum##r##c;
    EACH_LINE(LINES)
    EACH_ELEMENT(LOAD)
    for (intptr_t k = 0; k < n_terms; k++) {
        EACH_ELEMENT(ADD)
    }
    EACH_ELEMENT(STORE)
#undef LINES
#undef LOAD
#undef ADD
#undef STORE
}
#undef VECTOR
#undef EACH_LINE
#undef EACH_ELEMENT
#else
#define TILE 1
#define TILE_SUMS double sums[LANES]
static inline void NAME(subtract_tile)(intptr_t n_terms, const double *const *x,
                                       const double *const *y, double *sums)
{
    for (intptr_t k = 0; k < n_terms; k++)
        for (intptr_t lane = 0; lane < LANES; lane++)
            sums[lane] -= x[0][k * LANES + lane] * y[0][k * LANES + lane];
}
#endif

/* sum -= x y, over some terms, for one element. */
static inline void NAME(subtract_terms)(intptr_t n_terms, const double *restrict x,
                                        const double *restrict y, double *restrict sum)
{
    for (intptr_t k = 0; k < n_terms; k++) {
        VECTORISE
        for (intptr_t lane = 0; lane < LANES; lane++)
            sum[lane] -= x[k * LANES + lane] * y[k * LANES + lane];
    }
}

/* The lines of a tile; missing ones repeat the last. */
static inline void NAME(tile_lines)(const double **lines, const double *first,
                                    intptr_t n_lines, const intptr_t *starts)
{
    for (intptr_t r = 0; r < TILE; r++)
        lines[r] = first + starts[r < n_lines ? r : n_lines - 1];
}

/* a = L, the lower triangle with precision = L L^T; inverse: that of its diagonal. */
static inline void NAME(factor_lanes)(intptr_t d, double *restrict a,
                                      double *restrict inverse, double *restrict least)
{
    TILE_SUMS;
    for (intptr_t left = 0; left < d; left += TILE) {
        const intptr_t n_columns = d - left < TILE ? d - left : TILE;
        for (intptr_t top = left; top < d; top += TILE) {
            const intptr_t n_rows = d - top < TILE ? d - top : TILE;
            const double *x[TILE], *y[TILE];
            intptr_t own[TILE], others[TILE];
            for (intptr_t r = 0; r < TILE; r++) {
                own[r] = AT(top + r, 0);
                others[r] = AT(left + r, 0);
            }
            NAME(tile_lines)(x, a, n_rows, own);
            NAME(tile_lines)(y, a, n_columns, others);
            memset(sums, 0, sizeof(sums));
            for (intptr_t r = 0; r < n_rows; r++)
                for (intptr_t c = 0; c < n_columns && left + c <= top + r; c++)
                    memcpy(sums + (r * TILE + c) * LANES, a + AT(top + r, left + c),
                           LANES * sizeof(double));
            NAME(subtract_tile)(left, x, y, sums);
            for (intptr_t r = 0; r < n_rows; r++)
                for (intptr_t c = 0; c < n_columns && left + c <= top + r; c++) {
                    const intptr_t i = top + r, j = left + c;
                    double *restrict sum = sums + (r * TILE + c) * LANES;
                    double *restrict to = a + AT(i, j), *restrict by = inverse + j * LANES;
                    NAME(subtract_terms)(c, a + AT(i, left), a + AT(j, left), sum);
                    if (j < i) {
                        VECTORISE
                        for (intptr_t lane = 0; lane < LANES; lane++)
                            to[lane] = sum[lane] * by[lane];
                        continue;
                    }
                    VECTORISE
                    for (intptr_t lane = 0; lane < LANES; lane++) {
                        const double pivot = sum[lane] > 0 ? sum[lane] : 1;
                        least[lane] = sum[lane] > 0 ? least[lane] : 0;
                        to[lane] = sqrt(pivot);
                        by[lane] = 1 / to[lane];
                    }
                }
        }
    }
}

/* b = L^-1, its columns as the rows of an upper triangle. */
static inline void NAME(invert_lanes)(intptr_t d, const double *restrict a,
                                      const double *restrict inverse,
                                      double *restrict b)
{
    TILE_SUMS;
    for (intptr_t left = 0; left < d; left += TILE) {
        const intptr_t n_columns = d - left < TILE ? d - left : TILE;
        const intptr_t right = left + n_columns;
        for (intptr_t top = left; top < d; top += TILE) {
            const intptr_t n_rows = d - top < TILE ? d - top : TILE;
            memset(sums, 0, sizeof(sums));
            if (top > left) {
                const double *x[TILE], *y[TILE];
                intptr_t own[TILE], others[TILE];
                for (intptr_t r = 0; r < TILE; r++) {
                    own[r] = AT(top + r, right);
                    others[r] = UPPER(left + r, right, d);
                }
                NAME(tile_lines)(x, a, n_rows, own);
                NAME(tile_lines)(y, b, n_columns, others);
                for (intptr_t r = 0; r < n_rows; r++)
                    for (intptr_t c = 0; c < n_columns; c++)
                        NAME(subtract_terms)(n_columns - c, a + AT(top + r, left + c),
                                             b + UPPER(left + c, left + c, d),
                                             sums + (r * TILE + c) * LANES);
                NAME(subtract_tile)(top - right, x, y, sums);
            }
            for (intptr_t r = 0; r < n_rows; r++)
                for (intptr_t c = 0; c < n_columns && left + c <= top + r; c++) {
                    const intptr_t i = top + r, j = left + c;
                    const intptr_t from = top > left ? top : j;
                    double *restrict sum = sums + (r * TILE + c) * LANES;
                    const double *restrict by = inverse + i * LANES;
                    double *restrict to = b + UPPER(j, i, d);
                    NAME(subtract_terms)(i - from, a + AT(i, from), b + UPPER(j, from, d),
                                         sum);
                    VECTORISE
                    for (intptr_t lane = 0; lane < LANES; lane++)
                        to[lane] = i > j ? sum[lane] * by[lane] : by[lane];
                }
        }
    }
}

/* a = the covariance L^-T L^-1. */
static inline void NAME(covary_lanes)(intptr_t d, const double *restrict b,
                                      double *restrict a)
{
    TILE_SUMS;
    for (intptr_t top = 0; top < d; top += TILE) {
        const intptr_t n_rows = d - top < TILE ? d - top : TILE, bottom = top + n_rows;
        for (intptr_t left = 0; left <= top; left += TILE) {
            const intptr_t n_columns = d - left < TILE ? d - left : TILE;
            const double *x[TILE], *y[TILE];
            intptr_t own[TILE], others[TILE];
            for (intptr_t r = 0; r < TILE; r++) {
                own[r] = UPPER(top + r, bottom, d);
                others[r] = UPPER(left + r, bottom, d);
            }
            NAME(tile_lines)(x, b, n_rows, own);
            NAME(tile_lines)(y, b, n_columns, others);
            memset(sums, 0, sizeof(sums));
            for (intptr_t r = 0; r < n_rows; r++)
                for (intptr_t c = 0; c < n_columns && left + c <= top + r; c++)
                    NAME(subtract_terms)(n_rows - r, b + UPPER(top + r, top + r, d),
                                         b + UPPER(left + c, top + r, d),
                                         sums + (r * TILE + c) * LANES);
            NAME(subtract_tile)(d - bottom, x, y, sums);
            for (intptr_t r = 0; r < n_rows; r++)
                for (intptr_t c = 0; c < n_columns && left + c <= top + r; c++) {
                    const double *restrict sum = sums + (r * TILE + c) * LANES;
                    double *restrict to = a + AT(top + r, left + c);
                    VECTORISE
                    for (intptr_t lane = 0; lane < LANES; lane++)
                        to[lane] = -sum[lane];
                }
        }
    }
}

/* Of precisions `a`, packed, and precisions times means `m`: the covariances in place of
 * `a`, the means in place of `m`, and the logs of the precisions' determinants, which are
 * NAN where these are not positive definite.  `b` has the room of `a`, `inverse` that of
 * `m`.  Returns how many of the first `n_lanes` are not positive definite. */
static inline intptr_t NAME(solve_lanes)(intptr_t d, intptr_t n_lanes,
                                         double *restrict a, double *restrict b,
                                         double *restrict m, double *restrict inverse,
                                         double *restrict log_determinant)
{
    double least[LANES];
    intptr_t n_indefinite = 0;
    for (intptr_t lane = 0; lane < LANES; lane++) {
        least[lane] = 1;
        log_determinant[lane] = 0;
    }
    NAME(factor_lanes)(d, a, inverse, least);
    /* m = L^-1 (precision mean), and then L^-T m, the mean */
    for (intptr_t i = 0; i < d; i++) {
        double *restrict own = m + i * LANES;
        NAME(subtract_terms)(i, a + AT(i, 0), m, own);
        for (intptr_t lane = 0; lane < LANES; lane++) {
            own[lane] *= inverse[i * LANES + lane];
            log_determinant[lane] += 2 * log(a[AT(i, i) + lane]);
        }
    }
    NAME(invert_lanes)(d, a, inverse, b);
    for (intptr_t i = 0; i < d; i++) {
        double sum[LANES] = {0};
        for (intptr_t k = i; k < d; k++) {
            const double *restrict x = b + UPPER(i, k, d), *restrict y = m + k * LANES;
            VECTORISE
            for (intptr_t lane = 0; lane < LANES; lane++)
                sum[lane] += x[lane] * y[lane];
        }
        for (intptr_t lane = 0; lane < LANES; lane++)
            m[i * LANES + lane] = sum[lane];
    }
    NAME(covary_lanes)(d, b, a);
    for (intptr_t lane = 0; lane < n_lanes; lane++)
        if (!(least[lane] > 0)) {
            n_indefinite++;
            log_determinant[lane] = NAN;
        }
    return n_indefinite;
}
