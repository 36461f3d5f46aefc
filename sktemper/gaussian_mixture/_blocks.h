/* Bytes of a panel of samples of a mixture, at most. */
#define MIXTURE_BYTES (2 * SIMD_BYTES)

/* A block of samples of a Gaussian mixture: what `mixture_local_step` reads and writes.
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
    void *scratch;                       /* (2 n_features + n_components, MIXTURE_BYTES) */
} mixture_block;
