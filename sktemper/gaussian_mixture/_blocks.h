/* Bytes of a panel of samples of a mixture, at most. */
#define MIXTURE_BYTES (4 * SIMD_BYTES)
/* Numbers of samples and of moments in a table whose columns are summed together. */
#define MOMENT_ROWS 128
#define MOMENT_COLUMNS 256

/* A block of samples of a Gaussian mixture: input and output of `mixture_local_step`.
 * The expected log density of a sample under a component, its weight included, is
 *     constants[k] - |factors[k] (samples[i] - means[k])|^2 / 2. */
typedef struct {
    intptr_t n_samples, n_features, n_components;
    const void *samples;                 /* (n_samples, n_features) */
    const void *means;                   /* (n_components, n_features) */
    const void *factors;                 /* of each component: the packed rows of a */
    int triangular;                      /* lower triangle, or a diagonal */
    const double *constants;             /* (n_components,) */
    const double *powers;                /* one, or one a sample */
    int power_per_sample;
    const volatile int *stop;
    int only_distances;                  /* in place of responsibilities, squared */
    /* out */
    void *responsibilities;              /* (n_samples, n_components) */
    double *bounds;                      /* log sum_k exp(power * log density) */
    double *scores;                      /* expected log density */
    void *scratch;                       /* (2 n_features + n_components, MIXTURE_BYTES),
                                            (n_components, n_features) of a diagonal */
} mixture_block;

/* What `weighted_moments` reads and writes. */
typedef struct {
    intptr_t n_samples, n_features, n_components;
    intptr_t n_moments;                  /* 1, x; and of second moments as many as wanted */
    int squares;                         /* which are x_i^2 in place of x_i x_j */
    const void *samples;                 /* (n_samples, n_features) */
    const double *origin;                /* (n_features,), subtracted first */
    const void *shares;                  /* (n_samples, n_components) */
    const double *factors;               /* of the shares: one, or one a sample */
    int factor_per_sample;
    const volatile int *stop;
    double *scratch;
    /* out */
    double *out;                         /* (n_components, n_moments) */
} moments_block;
