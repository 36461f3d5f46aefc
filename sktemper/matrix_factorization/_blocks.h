/* Bytes of a row of a packed panel, at most. */
#define PANEL_BYTES 320

/* Ratings of some rows, users or items, see `_loops.h`. */
typedef struct {
    intptr_t n_rows, n_others, rank, biases, width;
    const intptr_t *starts;              /* row r has the entries starts[r] .. [r + 1] */
    const int32_t *others;               /* of each entry, a row of the table */
    const void *values;
    const void *factors;                 /* of the entries, or NULL: 1 */
    const void *table;                   /* (n_others, width) */
    const int32_t *own_rows;             /* of each row, its own place; NULL: in order */
    const volatile int *stop;
    /* in and out: added to, for each row
     * sum f z z^T, sum f (y - bias) z, and with squares sum f E(y - bias)^2, sum f */
    double *sums;
    /* out: of each entry, in `rating_moments` */
    double *means;
    double *squares;
    const void *row_factors;             /* of the table's rows; NULL: 1 */
    const void *weighted;                /* factors times values */
    int with_squares;                    /* whether the last two sums are wanted */
    void *panel;                         /* room for packed columns; NULL: do not pack */
} ratings_block;

/* Gaussians, see `_loops.h`.  A natural parameter is the packed lower triangle of a
 * precision, and then precision times mean. */
typedef struct {
    intptr_t n_rows, rank, biases, width;
    const double *sums;                  /* rows `stride` apart, natural parameters */
    intptr_t stride;
    const double *scales;                /* of each row */
    const double *prior;                 /* natural parameters */
    const volatile int *stop;
    /* out */
    double *means;                       /* (n_rows, rank + biases) */
    double *covariances;                 /* packed; or NULL */
    double *log_determinants;            /* of the precisions */
    double *prior_traces;                /* trace(prior precision E[x x^T]) */
    double *products;                    /* E[x] . linear sums */
    double *prior_products;              /* E[x] . those of the prior */
    void *table;                         /* (n_rows, width) */
    double *scratch;                     /* see `gaussians` of _kernels.pyx */
} gaussians_block;
