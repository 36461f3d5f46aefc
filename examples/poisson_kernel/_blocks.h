/* A block of counts, and what is written about it. */
typedef struct {
    intptr_t n_rows, n_features, n_components;
    const void *counts;                  /* (n_rows, n_features), of REAL */
    const void *log_rates;               /* (n_components, n_features), of REAL */
    const double *constants;             /* (n_components,) */
    const volatile int *stop;
    double *out;                         /* (n_rows, n_components) */
} poisson_block;
