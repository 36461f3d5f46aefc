/* Size in bytes of a row of a panel (`_loops.h` describes panels).  A row consists of several
 * SIMD vectors, few enough that their sums fit into registers. */
#define PANEL_BYTES 128

/* Arguments of `pair_sums`, see `_loops.h`: the pairs of some rows.  If the rows are users,
 * the others are items, and vice versa. */
typedef struct {
    intptr_t n_rows, n_others;
    intptr_t n_panels, n_square_panels;  /* the panels for E[x x^T] come first */
    const intptr_t *starts;              /* row r has the pairs starts[r] .. [r + 1] */
    const int32_t *others;               /* row of the table, for each pair */
    const void *square_factors;          /* factor of E[x x^T], for each pair */
    const void *linear_factors;          /* factor of E[x], for each pair */
    const void *table;                   /* (n_panels, n_others, panel) */
    const volatile int *stop;
    void *sums;                          /* out: (n_panels, n_rows, panel) */
} pairs_block;

/* Arguments of `gaussians`, see `_loops.h`. */
typedef struct {
    intptr_t n_rows, rank, n_square_panels;
    intptr_t first, last;                /* range of the rows to compute */
    const void *sums;                    /* (n_panels, n_rows, panel) */
    const double *scales;                /* of each row; NULL: 1 */
    const double *prior;                 /* natural parameters of the prior */
    const double *shared;                /* packed, added to all sums; NULL: 0 */
    const double *traced;                /* packed */
    const double *weights;               /* of each row in `total`; NULL: 1 */
    const volatile int *stop;
    /* out */
    void *table;                         /* (n_panels, n_rows, panel); may be `sums`, or NULL */
    double *means;                       /* (n_rows, rank) */
    double *log_determinants;            /* of the precisions */
    double *traces;                      /* trace(traced E[x x^T]) */
    double *products;                    /* E[x] . linear sums */
    double *total;                       /* += weights E[x x^T], packed, and E[x] */
    double *scratch;                     /* see `gaussians` of _kernels.pyx */
} gaussians_block;
