/* Products of matrices, for one floating type.  Every element of a product is summed over
 * the inner dimension in its order, each term by the same instruction: a row's bits depend
 * neither on how many rows there are nor on its place among them, as they do in a BLAS,
 * which has other loops for the rows that its panels leave over. */

#include "tiles.h"

#ifdef VECTOR_BYTES
#define VECTOR NAME(product_vector)
typedef REAL VECTOR
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#endif
/* Terms that are summed before the next tile, and rows before the next panel: the part
 * of a panel stays in the first cache, that of the rows in the second.  Where terms are
 * few, it is the product that should be written in its order. */
#define TERMS 256
#define FEW_TERMS 128
#define MANY_ROWS (8 * ROWS)

/* A matrix, whose strides are in elements, as panels, one after the other: each is
 * (n_inner, COLUMNS), the last one (n_inner, LANES) if that is enough, with zeros behind
 * the last column. */
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

/* out += rows times panel, of a tile of ROWS rows; from 0 if `first`.  Here and below,
 * `wide` says whether the panel has COLUMNS or LANES columns. */
#ifdef VECTOR_BYTES
#define START_WIDE(r)                                                                  \
    VECTOR left##r = {0}, right##r = {0};                                              \
    const REAL *restrict row##r = rows[r];                                             \
    if (!first) {                                                                      \
        left##r = *(const VECTOR *)(out + r * stride);                                 \
        right##r = *(const VECTOR *)(out + r * stride + LANES);                        \
    }
#define ADD_WIDE(r)                                                                    \
    left##r += row##r[i] * left;                                                       \
    right##r += row##r[i] * right;
#define STORE_WIDE(r)                                                                  \
    *(VECTOR *)(out + r * stride) = left##r;                                           \
    *(VECTOR *)(out + r * stride + LANES) = right##r;
#define START_NARROW(r)                                                                \
    VECTOR sum##r = {0};                                                               \
    const REAL *restrict row##r = rows[r];                                             \
    if (!first)                                                                        \
        sum##r = *(const VECTOR *)(out + r * stride);
#define ADD_NARROW(r) sum##r += row##r[i] * column;
#define STORE_NARROW(r) *(VECTOR *)(out + r * stride) = sum##r;

static void NAME(product_tile)(intptr_t n_inner, const REAL *const *rows,
                               const REAL *panel, int wide, int first,
                               REAL *out, intptr_t stride)
{
    const VECTOR *restrict columns = (const VECTOR *)panel;
    if (wide) {
        EACH_ROW(START_WIDE)
        for (intptr_t i = 0; i < n_inner; i++) {
            const VECTOR left = columns[2 * i], right = columns[2 * i + 1];
            EACH_ROW(ADD_WIDE)
        }
        EACH_ROW(STORE_WIDE)
    } else {
        EACH_ROW(START_NARROW)
        for (intptr_t i = 0; i < n_inner; i++) {
            const VECTOR column = columns[i];
            EACH_ROW(ADD_NARROW)
        }
        EACH_ROW(STORE_NARROW)
    }
}
#undef START_WIDE
#undef ADD_WIDE
#undef STORE_WIDE
#undef START_NARROW
#undef ADD_NARROW
#undef STORE_NARROW
#undef VECTOR
#else
static void NAME(product_tile)(intptr_t n_inner, const REAL *const *rows,
                               const REAL *panel, int wide, int first,
                               REAL *out, intptr_t stride)
{
    const intptr_t width = wide ? COLUMNS : LANES;
    for (intptr_t r = 0; r < ROWS; r++) {
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
}
#endif

/* The same of at most ROWS rows and `width` columns.  Rows that are missing from the tile
 * repeat the last, so that there is one loop for all. */
static void NAME(product_part)(intptr_t n_rows, intptr_t n_inner, const REAL *x,
                               intptr_t x_stride, const REAL *panel, intptr_t width,
                               int first, REAL *out, intptr_t stride)
{
    const int wide = width > LANES;
    const REAL *rows[ROWS];
    REAL tile[ROWS * COLUMNS];
    for (intptr_t r = 0; r < ROWS; r++)
        rows[r] = x + (r < n_rows ? r : n_rows - 1) * x_stride;
    if (n_rows == ROWS && width == (wide ? COLUMNS : LANES)) {
        NAME(product_tile)(n_inner, rows, panel, wide, first, out, stride);
        return;
    }
    memset(tile, 0, sizeof(tile));
    for (intptr_t r = 0; !first && r < n_rows; r++)
        for (intptr_t j = 0; j < width; j++)
            tile[r * COLUMNS + j] = out[r * stride + j];
    NAME(product_tile)(n_inner, rows, panel, wide, first, tile, COLUMNS);
    for (intptr_t r = 0; r < n_rows; r++)
        for (intptr_t j = 0; j < width; j++)
            out[r * stride + j] = tile[r * COLUMNS + j];
}

/* out = x times what was packed; rows of x are `x_stride` elements apart. */
LOOP void NAME(product)(intptr_t n_rows, intptr_t n_inner, intptr_t n_columns,
                          const REAL *x, intptr_t x_stride, const REAL *panels, REAL *out)
{
    for (intptr_t term = 0; term < n_inner; term += TERMS) {
        const intptr_t n_terms = n_inner - term < TERMS ? n_inner - term : TERMS;
        const intptr_t height = n_terms < FEW_TERMS ? ROWS : MANY_ROWS;
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

#undef LANES
#undef COLUMNS
#undef ROWS
#undef EACH_ROW
#undef TERMS
#undef FEW_TERMS
#undef MANY_ROWS
