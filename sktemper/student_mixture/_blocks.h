/* Arguments of the loops in `_loops.h`: rows under one component. */
typedef struct {
    intptr_t n_rows, n_factors;
    double width;                        /* half of the number of features */
    double half;                         /* half of the degrees of freedom of the scales */
    double exponent;
    double kappa;                        /* precision of the mean */
    const double *squares;               /* (n_rows, n_factors) */
    const volatile int *stop;
    /* out */
    double *logs;                        /* (n_rows,) */
} scales_block;
