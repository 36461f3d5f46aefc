/* Sums of moments of samples, weighted by responsibilities, the shares of components.  Let
 * y = (1, x) for a sample x.  Its moments are, depending on the type of covariances, all
 * products y_i y_j for i <= j, row by row; or y alone; or y followed by all squares x_i^2.
 * Computations are in float64, because sums of moments lose digits.
 *
 * The sums are a product of two matrices.  It is computed in tiles, whose sums fit into
 * registers; each sum adds the samples in their order.  Some moments of some samples are
 * computed at a time, so that they stay in the second cache. */
#define DOUBLES NAME(moment_vector)
VECTOR_TYPE(DOUBLES, double, VECTOR_BYTES);
#define SIZE ((intptr_t)(sizeof(DOUBLES) / sizeof(double)))
#if defined(VECTOR_BYTES) && VECTOR_BYTES == 64
#define HIGHEST 12
#define EACH_HEIGHT(X) X(2) X(4) X(6) X(8) X(10) X(12)
#else
#define HIGHEST 6
#define EACH_HEIGHT(X) X(2) X(4) X(6)
#endif
#define COLUMNS (SIZE + SIZE)

/* A vector of adjacent moments, which is written to index `to`: y[i] times the vector that
 * begins at y[j], or for i < 0 the squares of this vector.  Elements after the end of a row
 * are overwritten later. */
typedef struct {
    intptr_t to, i, j;
} NAME(piece);

/* Divides `n` moments into pieces, beginning with row i and column j.  Moves i and j to the
 * next moment, and returns the number of pieces. */
static intptr_t NAME(cut_moments)(intptr_t n, intptr_t end, int squares, intptr_t *i,
                                  intptr_t *j, NAME(piece) * pieces)
{
    intptr_t n_pieces = 0;
    for (intptr_t to = 0; to < n;) {
        const intptr_t length = end - *j < n - to ? end - *j : n - to;
        for (intptr_t t = 0; t < length; t += SIZE) {
            const NAME(piece) one = {to + t, squares && *i > 0 ? -1 : *i, *j + t};
            pieces[n_pieces++] = one;
        }
        to += length;
        *j += length;
        if (*j == end)
            *j = ++*i;
    }
    return n_pieces;
}

static void NAME(write_moments)(intptr_t n, intptr_t n_pieces,
                                const NAME(piece) *restrict pieces,
                                const double *restrict y, intptr_t y_width,
                                double *restrict table, intptr_t stride)
{
    for (intptr_t row = 0; row < n; row++, y += y_width, table += stride)
        for (intptr_t p = 0; p < n_pieces; p++) {
            const DOUBLES own = *(const DOUBLES *)(y + pieces[p].j);
            *(DOUBLES *)(table + pieces[p].to) =
                pieces[p].i < 0 ? own * own : own * y[pieces[p].i];
        }
}

/* Computes the product shares^T moments for a tile.  If `first` is set, the product is written
 * to `out`, otherwise it is added to `out`.  `height` and `wide` are constants of the caller. */
ALWAYS_INLINE void NAME(moment_tile)(const int height, const int wide, intptr_t n,
                                     const double *restrict shares, intptr_t shares_stride,
                                     const double *restrict moments, intptr_t stride,
                                     int first, double *restrict out)
{
    DOUBLES left[HIGHEST], right[HIGHEST];
    for (int r = 0; r < height; r++) {
        left[r] = right[r] = (DOUBLES){0};
        if (!first) {
            left[r] = *(const DOUBLES *)(out + r * COLUMNS);
            right[r] = *(const DOUBLES *)(out + r * COLUMNS + SIZE);
        }
    }
    for (intptr_t i = 0; i < n; i++) {
        const DOUBLES one = *(const DOUBLES *)moments;
        const DOUBLES other = wide ? *(const DOUBLES *)(moments + SIZE) : one;
        for (int r = 0; r < height; r++) {
            left[r] += shares[r] * one;
            if (wide)
                right[r] += shares[r] * other;
        }
        moments += stride;
        shares += shares_stride;
    }
    for (int r = 0; r < height; r++) {
        *(DOUBLES *)(out + r * COLUMNS) = left[r];
        *(DOUBLES *)(out + r * COLUMNS + SIZE) = right[r];
    }
}

/* Computes all tiles of some columns.  Tiles follow one another in `sums`. */
static void NAME(add_moments)(intptr_t n, intptr_t n_tiles, intptr_t height,
                              intptr_t n_columns, const double *restrict shares,
                              const double *restrict table, intptr_t stride, int first,
                              double *restrict sums)
{
    for (intptr_t column = 0; column < n_columns; column += COLUMNS)
        for (intptr_t tile = 0; tile < n_tiles; tile++) {
            const double *restrict own = shares + tile * height;
            const intptr_t width = n_tiles * height;
            switch (n_columns - column > SIZE ? height : -height) {
#define TILES(h)                                                                       \
    case h:                                                                            \
        NAME(moment_tile)(h, 1, n, own, width, table + column, stride, first, sums);   \
        break;                                                                         \
    case -h:                                                                           \
        NAME(moment_tile)(h, 0, n, own, width, table + column, stride, first, sums);   \
        break;
                EACH_HEIGHT(TILES)
            }
            sums += height * COLUMNS;
        }
}

/* Prepares some samples: computes y, whose rows have `y_width` numbers so that a vector may
 * exceed a row's end, and the shares in float64, with `width` numbers in each row. */
static void NAME(begin_part)(const moments_block *block, intptr_t first, intptr_t n,
                             intptr_t y_width, double *restrict y, intptr_t width,
                             double *restrict shares)
{
    const intptr_t D = block->n_features, K = block->n_components;
    for (intptr_t i = 0; i < n; i++) {
        const REAL *restrict x = (const REAL *)block->samples + (first + i) * D;
        const REAL *restrict given = (const REAL *)block->shares + (first + i) * K;
        const double factor = block->factors[block->factor_per_sample ? first + i : 0];
        const double *restrict origin = block->origin;
        double *restrict own = y + i * y_width, *restrict share = shares + i * width;
        own[0] = 1;
        VECTORISE
        for (intptr_t d = 0; d < D; d++)
            own[1 + d] = (double)x[d] - origin[d];
        VECTORISE
        for (intptr_t k = 0; k < K; k++)
            share[k] = factor * (double)given[k];
        for (intptr_t k = K; k < width; k++)
            share[k] = 0;
    }
}

/* Copies sums from tiles to rows. */
static void NAME(end_moments)(const moments_block *block, intptr_t n_tiles,
                              intptr_t height, const double *restrict sums)
{
    const intptr_t K = block->n_components, M = block->n_moments;
    for (intptr_t column = 0; column < M; column += COLUMNS) {
        const intptr_t width = M - column < COLUMNS ? M - column : COLUMNS;
        for (intptr_t k = 0; k < n_tiles * height; k++, sums += COLUMNS)
            if (k < K)
                memcpy(block->out + k * M + column, sums, width * sizeof(double));
    }
}

/* Returns the size of the scratch memory of `weighted_moments`.  The number of components is
 * rounded up to whole tiles of even height. */
LOOP intptr_t NAME(moments_size)(intptr_t n_components, intptr_t n_features,
                                 intptr_t n_moments)
{
    const intptr_t width = n_components + n_components / 3 + 2;
    const intptr_t some = n_moments < MOMENT_COLUMNS ? n_moments : MOMENT_COLUMNS;
    return MOMENT_ROWS * (width + n_features + some + SIMD_BYTES)
           + width * (n_moments + SIMD_BYTES);
}

/* Computes weighted sums of moments.  Returns 0, or -1 if `stop` is set. */
LOOP int NAME(weighted_moments)(moments_block *block)
{
    const intptr_t K = block->n_components, M = block->n_moments;
    const intptr_t n_tiles = (K + HIGHEST - 1) / HIGHEST;
    const intptr_t height = ((K + n_tiles - 1) / n_tiles + 1) / 2 * 2;
    const intptr_t width = n_tiles * height, y_width = 1 + block->n_features + SIZE;
    const intptr_t stride = (M < MOMENT_COLUMNS ? M : MOMENT_COLUMNS) + COLUMNS;
    double *restrict shares = block->scratch, *restrict y = shares + MOMENT_ROWS * width;
    double *restrict table = y + MOMENT_ROWS * y_width;
    double *restrict sums = table + MOMENT_ROWS * stride;
    NAME(piece) pieces[MOMENT_COLUMNS];
    for (intptr_t first = 0; first < block->n_samples; first += MOMENT_ROWS) {
        const intptr_t left = block->n_samples - first;
        const intptr_t n = left < MOMENT_ROWS ? left : MOMENT_ROWS;
        intptr_t i = 0, j = 0;
        NAME(begin_part)(block, first, n, y_width, y, width, shares);
        for (intptr_t column = 0; column < M; column += MOMENT_COLUMNS) {
            const intptr_t n_columns =
                M - column < MOMENT_COLUMNS ? M - column : MOMENT_COLUMNS;
            const intptr_t n_pieces = NAME(cut_moments)(
                n_columns, 1 + block->n_features, block->squares, &i, &j, pieces);
            if (*block->stop)
                return -1;
            NAME(write_moments)(n, n_pieces, pieces, y, y_width, table, stride);
            NAME(add_moments)(n, n_tiles, height, n_columns, shares, table, stride,
                              first == 0, sums + column * width);
        }
    }
    NAME(end_moments)(block, n_tiles, height, sums);
    return 0;
}

#undef COLUMNS
