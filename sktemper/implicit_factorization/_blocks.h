/* Bytes of a row of a panel: some whole vectors, of which sums stay in registers. */
#define PANEL_BYTES 128

/* Pairs of some rows, users or items, see `_loops.h`. */
typedef struct {
    intptr_t n_rows, n_others;
    intptr_t n_panels, n_square_panels;
    const intptr_t *starts;              /* row r has the pairs starts[r] .. [r + 1] */
    const int32_t *others;               /* of each pair, a row of the table */
    const void *square_factors;          /* of each pair, for the panels of E[x x^T] */
    const void *linear_factors;          /* and for those of E[x] */
    const void *table;                   /* (n_panels, n_others, panel) */
    const volatile int *stop;
    void *sums;                          /* out: (n_panels, n_rows, panel) */
} pairs_block;

/* Gaussians, see `_loops.h`. */
typedef struct {
    intptr_t n_rows, rank, n_square_panels;
    intptr_t first, last;                /* the rows to do; counted from the arrays' */
    const void *sums;                    /* (n_panels, n_rows, panel) */
    const double *scales;                /* of each row; NULL: 1 */
    const double *prior;                 /* natural parameters of all */
    const double *shared;                /* packed, added to all sums; NULL: 0 */
    const double *traced;                /* packed */
    const double *weights;               /* of each row in `total`; NULL: 1 */
    const volatile int *stop;
    /* out */
    void *table;                         /* (n_panels, n_rows, panel): `sums` or other */
    double *means;                       /* (n_rows, rank) */
    double *log_determinants;            /* of the precisions */
    double *traces;                      /* trace(traced E[x x^T]) */
    double *products;                    /* E[x] . linear sums */
    double *total;                       /* added to: weights E[x x^T], packed; E[x] */
    double *scratch;                     /* see `gaussians` of _kernels.pyx */
} gaussians_block;
