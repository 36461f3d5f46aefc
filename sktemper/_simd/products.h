/* Products of matrices, for one floating type.  Every element is summed over the inner
 * dimension in the same order and with the same instructions.  Therefore the bits of a row
 * do not depend on the number of rows or on the index of the row.  In a BLAS they depend on
 * both, because other loops process the last rows if these do not fill a panel. */

#include "tiles.h"

/* A tile of the result has ROWS rows and COLUMNS columns.  TERMS terms of a tile are summed
 * before the next tile, and MANY_ROWS rows are processed before the next panel, so that this
 * part of the panel stays in the first cache, and this part of the rows in the second cache.
 * With fewer than half of TERMS terms, all panels are processed for each ROWS rows, so that the
 * result is written row by row. */
#define TERMS 256
#define MANY_ROWS (8 * ROWS)
/* Largest number of rows that are processed one by one, because most rows of a tile would be
 * missing. */
#define FEW_ROWS 4

/* Copies a matrix into panels, one after the other.  A panel has the shape (n_inner,
 * COLUMNS); the last panel has (n_inner, LANES) if that suffices.  Zeros follow the last
 * column of the matrix.  Strides are in elements. */
LOOP void NAME(pack_columns)(intptr_t n_inner, intptr_t n_columns,
                               const REAL *restrict matrix, intptr_t row_stride,
                               intptr_t column_stride, REAL *restrict panels)
{
    for (intptr_t first = 0; first < n_columns; first += COLUMNS) {
        const intptr_t left = n_columns - first;
        const intptr_t width = left > LANES ? COLUMNS : LANES;
        const intptr_t filled = left < width ? left : width;
        for (intptr_t i = 0; i < n_inner; i++) {
            const REAL *restrict row = matrix + i * row_stride + first * column_stride;
            for (intptr_t j = 0; j < filled; j++)
                panels[j] = row[j * column_stride];
            for (intptr_t j = filled; j < width; j++)
                panels[j] = 0;
            panels += width;
        }
    }
}

/* Computes the product of ROWS rows and a panel, or of one row if `single` is set.  If `first`
 * is set, the product is written to `out`, otherwise it is added to `out`.  Here and below, a
 * panel has COLUMNS columns if `wide` is set, otherwise LANES columns. */
#ifdef VECTOR_BYTES
ALWAYS_INLINE void NAME(add_product_tile)(const int n_rows, const int n_vectors,
                                          intptr_t n_inner, const REAL *const *rows,
                                          const VECTOR *restrict columns, int first,
                                          REAL *out, intptr_t stride)
{
    const VECTOR zero = {0};
    VECTOR sums[ROWS][2];
    UNROLLED
    for (int r = 0; r < n_rows; r++) {
        UNROLLED
        for (int v = 0; v < n_vectors; v++)
            sums[r][v] = first ? zero : *(const VECTOR *)(out + r * stride + v * LANES);
    }
    for (intptr_t i = 0; i < n_inner; i++) {
        UNROLLED
        for (int r = 0; r < n_rows; r++) {
            UNROLLED
            for (int v = 0; v < n_vectors; v++)
                sums[r][v] += rows[r][i] * columns[i * n_vectors + v];
        }
    }
    UNROLLED
    for (int r = 0; r < n_rows; r++) {
        UNROLLED
        for (int v = 0; v < n_vectors; v++)
            *(VECTOR *)(out + r * stride + v * LANES) = sums[r][v];
    }
}
#endif

static void NAME(product_tile)(intptr_t n_inner, const REAL *const *rows, int single,
                               const REAL *panel, int wide, int first,
                               REAL *out, intptr_t stride)
{
#ifdef VECTOR_BYTES
    const VECTOR *columns = (const VECTOR *)panel;
    if (single && wide)
        NAME(add_product_tile)(1, 2, n_inner, rows, columns, first, out, stride);
    else if (single)
        NAME(add_product_tile)(1, 1, n_inner, rows, columns, first, out, stride);
    else if (wide)
        NAME(add_product_tile)(ROWS, 2, n_inner, rows, columns, first, out, stride);
    else
        NAME(add_product_tile)(ROWS, 1, n_inner, rows, columns, first, out, stride);
#else
    const intptr_t width = wide ? COLUMNS : LANES;
    for (intptr_t r = 0; r < (single ? 1 : ROWS); r++) {
        const REAL *restrict row = rows[r];
        REAL sums[COLUMNS] = {0};
        for (intptr_t j = 0; !first && j < width; j++)
            sums[j] = out[r * stride + j];
        for (intptr_t i = 0; i < n_inner; i++)
            for (intptr_t j = 0; j < width; j++)
                sums[j] += row[i] * panel[i * width + j];
        for (intptr_t j = 0; j < width; j++)
            out[r * stride + j] = sums[j];
    }
#endif
}

/* Computes the product of at most ROWS rows and `width` columns.  At most FEW_ROWS rows are
 * processed one by one.  Otherwise, missing rows of the tile repeat the last row. */
static void NAME(product_part)(intptr_t n_rows, intptr_t n_inner, const REAL *x,
                               intptr_t x_stride, const REAL *panel, intptr_t width,
                               int first, REAL *out, intptr_t stride)
{
    const int wide = width > LANES;
    const REAL *rows[ROWS];
    REAL tile[ROWS * COLUMNS];
    for (intptr_t r = 0; r < ROWS; r++)
        rows[r] = x + (r < n_rows ? r : n_rows - 1) * x_stride;
    const int is_whole = width == (wide ? COLUMNS : LANES);
    if (is_whole && n_rows <= FEW_ROWS) {
        for (intptr_t r = 0; r < n_rows; r++)
            NAME(product_tile)(n_inner, rows + r, 1, panel, wide, first,
                               out + r * stride, stride);
        return;
    }
    if (is_whole && n_rows == ROWS) {
        NAME(product_tile)(n_inner, rows, 0, panel, wide, first, out, stride);
        return;
    }
    memset(tile, 0, sizeof(tile));
    for (intptr_t r = 0; !first && r < n_rows; r++)
        for (intptr_t j = 0; j < width; j++)
            tile[r * COLUMNS + j] = out[r * stride + j];
    NAME(product_tile)(n_inner, rows, 0, panel, wide, first, tile, COLUMNS);
    for (intptr_t r = 0; r < n_rows; r++)
        for (intptr_t j = 0; j < width; j++)
            out[r * stride + j] = tile[r * COLUMNS + j];
}

/* out = x times the packed matrix.  Rows of x are `x_stride` elements apart. */
LOOP void NAME(product)(intptr_t n_rows, intptr_t n_inner, intptr_t n_columns,
                          const REAL *x, intptr_t x_stride, const REAL *panels, REAL *out)
{
    for (intptr_t term = 0; term < n_inner; term += TERMS) {
        const intptr_t n_terms = n_inner - term < TERMS ? n_inner - term : TERMS;
        const intptr_t height = n_terms < TERMS / 2 ? ROWS : MANY_ROWS;
        for (intptr_t top = 0; top < n_rows; top += height) {
            const intptr_t end = n_rows - top < height ? n_rows : top + height;
            for (intptr_t column = 0; column < n_columns; column += COLUMNS) {
                const intptr_t left = n_columns - column;
                const intptr_t width = left < COLUMNS ? left : COLUMNS;
                const REAL *panel =
                    panels + column * n_inner + term * (width > LANES ? COLUMNS : LANES);
                for (intptr_t row = top; row < end; row += ROWS)
                    NAME(product_part)(end - row < ROWS ? end - row : ROWS, n_terms,
                                       x + row * x_stride + term, x_stride, panel, width,
                                       term == 0, out + row * n_columns + column,
                                       n_columns);
            }
        }
    }
}

#undef VECTOR
#undef LANES
#undef COLUMNS
