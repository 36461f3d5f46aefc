/* Panels of samples, one in each lane of VECTORS vectors of WIDTH numbers.  The sums of four
 * rows of a triangle fit into registers: VECTORS is 4 for 32 registers, and 2 for 16. */
#define VECTOR NAME(mixture_vector)
VECTOR_TYPE(VECTOR, REAL, VECTOR_BYTES);
#ifdef VECTOR_BYTES
#define ZEROS {{0}}
#else
#define ZEROS {0}
#endif
#if defined(VECTOR_BYTES) && VECTOR_BYTES < 64
#define VECTORS 2
#else
#define VECTORS 4
#endif
#define WIDTH ((intptr_t)(sizeof(VECTOR) / sizeof(REAL)))
#define LANES (VECTORS * WIDTH)
#define AT(x, v) (*(VECTOR *)((x) + (v) * WIDTH))
#define EACH for (int v = 0; v < VECTORS; v++)

/* x[column * LANES + lane] = rows[lane * n_columns + column].  Lanes after the last row repeat
 * the last row. */
static inline void NAME(load_panel)(intptr_t n_rows, intptr_t n_columns,
                                    const REAL *restrict rows, REAL *restrict x)
{
    for (intptr_t lane = 0; lane < LANES; lane += WIDTH) {
        const REAL *own[WIDTH];
        VECTOR square[WIDTH];
        intptr_t column = 0;
        for (int i = 0; i < WIDTH; i++)
            own[i] = rows + (lane + i < n_rows ? lane + i : n_rows - 1) * n_columns;
        for (; column + WIDTH <= n_columns; column += WIDTH) {
            for (int i = 0; i < WIDTH; i++)
                square[i] = *(const VECTOR *)(own[i] + column);
            TRANSPOSE(VECTOR, VECTOR_BYTES, SUFFIX, square);
            for (int i = 0; i < WIDTH; i++)
                *(VECTOR *)(x + (column + i) * LANES + lane) = square[i];
        }
        for (; column < n_columns; column++)
            for (int i = 0; i < WIDTH; i++)
                x[column * LANES + lane + i] = own[i][column];
    }
}

/* rows[lane * n_columns + column] = x[column * LANES + lane] */
static inline void NAME(store_panel)(intptr_t n_rows, intptr_t n_columns,
                                     const REAL *restrict x, REAL *restrict rows)
{
    for (intptr_t lane = 0; lane < n_rows; lane += WIDTH) {
        const intptr_t height = n_rows - lane < WIDTH ? n_rows - lane : WIDTH;
        REAL *restrict own = rows + lane * n_columns;
        VECTOR square[WIDTH];
        intptr_t column = 0;
        for (; height == WIDTH && column + WIDTH <= n_columns; column += WIDTH) {
            for (int i = 0; i < WIDTH; i++)
                square[i] = *(const VECTOR *)(x + (column + i) * LANES + lane);
            TRANSPOSE(VECTOR, VECTOR_BYTES, SUFFIX, square);
            for (int i = 0; i < WIDTH; i++)
                *(VECTOR *)(own + i * n_columns + column) = square[i];
        }
        for (; column < n_columns; column++)
            for (intptr_t i = 0; i < height; i++)
                own[i * n_columns + column] = x[column * LANES + lane + i];
    }
}
