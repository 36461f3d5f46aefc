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
