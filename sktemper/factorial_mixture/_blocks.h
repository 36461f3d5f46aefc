/* Size of the probabilities of a feature in a panel of samples. */
#define BINARY_BYTES (8 * SIMD_BYTES)
/* The same for samples with their own grams. */
#define OWN_BYTES (4 * SIMD_BYTES)

/* A block of samples with binary latent features: input and output of `binary_local_step`.
 * Given the other features of a sample, the logit of a feature is
 *     power (products[k] + offsets[k] - sum_{j != k} gram[k][j] nu[j]). */
typedef struct {
    intptr_t n_samples, n_features;
    const void *products;                /* (n_samples, n_features) */
    const void *gram;                    /* (n_features, n_features), symmetric */
    const void *offsets;                 /* (n_features,): prior_logits - diagonal / 2 */
    const void *prior_logits;            /* (n_features,) */
    /* whether each sample has its own gram (an upper triangle) and offsets */
    int gram_per_sample;
    const double *powers;                /* one, or one a sample */
    int power_per_sample;
    /* the first sweep is at `heats` (one for each gram) times the temperature; this factor
     * is divided by `cooling` after each sweep, until it is 1 */
    const double *heats;
    double cooling;
    double tol;
    intptr_t max_iter;
    const volatile int *stop;
    /* in and out: (n_samples, n_features) */
    void *nu;
    /* out: (n_samples,) */
    double *fits;                        /* nu . products - E[z . gram z] / 2 */
    double *scores;                      /* the same and nu . prior_logits */
    double *entropies;
    intptr_t n_iterations;
    /* (4 n_features, BINARY_BYTES), and (entries of a gram, OWN_BYTES) */
    void *scratch;
} binary_block;

/* Samples with missing values: input and output of `binary_grams`.  Triangles are upper
 * triangles, row by row. */
typedef struct {
    intptr_t n_samples, n_dimensions, n_features;
    intptr_t width;                      /* n_features, rounded up to whole SIMD_BYTES */
    const unsigned char *missing;        /* (n_samples, n_dimensions) */
    const double *means;                 /* (n_dimensions, width), 0 beyond n_features */
    const double *products;              /* triangle of means . means */
    const double *spread;                /* triangle: the addend of each dimension, */
    int completing;                      /* or only of those that are not missing */
    const volatile int *stop;
    int32_t *listed;                     /* scratch (n_dimensions + 1,) */
    double *sums;                        /* scratch (width, width) */
    /* out: (n_samples, .) */
    void *grams;                         /* triangles */
    double *diagonals;                   /* (n_samples, n_features) */
} grams_block;
