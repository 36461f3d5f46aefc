/* Largest size in bytes of a row of a packed panel, a group of columns of a table. */
#define PANEL_BYTES 320

/* Arguments of loops over the ratings of some rows.  If the rows are users, the "others" are
 * items, and vice versa.  `factor_gaussians.h` describes the tables. */
typedef struct {
    intptr_t n_rows, n_others, rank, biases, width;
    const intptr_t *starts;              /* row r has the entries starts[r] .. [r + 1] */
    const int32_t *others;               /* for each entry, a row of the table */
    const void *values;
    const void *factors;                 /* one for each entry; NULL: all are 1 */
    const void *table;                   /* (n_others, width) */
    const int32_t *own_rows;             /* row of `own_table` for each row; NULL: same */
    const volatile int *stop;
    /* In and out.  The loop adds sum f z z^T and sum f (y - bias) z to each row.  If
     * `with_squares` is set, it also adds sum f E(y - bias)^2 and sum f.  Here f are the
     * factors, and `factor_gaussians.h` defines z. */
    double *sums;
    /* out: moments of each entry, from `rating_moments` */
    double *means;
    double *squares;
    const void *row_factors;             /* one for each row of the table; NULL: all are 1 */
    const void *weighted;                /* factors times values */
    int with_squares;                    /* whether to add the last two sums */
    void *panel;                         /* memory for packed columns; NULL: do not pack */
} ratings_block;
