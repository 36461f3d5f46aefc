/* A block of counts, the parameters of the components, and the output. */
typedef struct {
    intptr_t n_rows, n_features, n_components;
    const void *counts;                  /* (n_rows, n_features), of REAL */
    const void *log_rates;               /* (n_components, n_features), of REAL */
    const double *constants;             /* (n_components,) */
    const volatile int *stop;
    double *out;                         /* (n_rows, n_components) */
} poisson_block;
