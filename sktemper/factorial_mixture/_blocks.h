/* A panel is a group of samples that are optimised at the same time.  This is the size in
 * bytes of the probabilities of one feature in a panel. */
#define BINARY_BYTES (8 * SIMD_BYTES)
/* The same size if each sample has its own gram, see `binary_block`. */
#define OWN_BYTES (4 * SIMD_BYTES)

/* Input and output of `binary_local_step`, for a block of samples with binary latent features.
 * The components are mu, and the probabilities of the features are nu.  The gram is
 * E[mu mu^T] divided by the noise variance, and the products are those of samples and mu,
 * divided by it, too.
 * Given the other features of a sample, the logit of a feature is
 *     power (products[k] + offsets[k] - sum_{j != k} gram[k][j] nu[j]). */
typedef struct {
    intptr_t n_samples, n_features;
    const void *products;                /* (n_samples, n_features) */
    const void *gram;                    /* (n_features, n_features), symmetric */
    const void *offsets;                 /* (n_features,): prior_logits - diagonal / 2 */
    const void *prior_logits;            /* (n_features,) */
    /* whether each sample has its own gram (an upper triangle) and its own offsets */
    int gram_per_sample;
    const double *powers;                /* of the likelihood: one, or one per sample */
    int power_per_sample;
    /* The temperature of the first sweep is multiplied by a factor from `heats`, which has one
     * factor for each gram.  The factor is divided by `cooling` after each sweep, until the
     * factor is 1. */
    const double *heats;
    double cooling;
    double tol;
    intptr_t max_iter;
    const volatile int *stop;
    /* in and out: (n_samples, n_features) */
    void *nu;
    /* out: (n_samples,) */
    double *fits;                        /* nu . products - E[z . gram z] / 2 */
    double *scores;                      /* fits + nu . prior_logits */
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
    const double *spread;                /* triangle that is added for each dimension */
    int completing;                      /* whether missing values add it, too */
    const volatile int *stop;
    int32_t *listed;                     /* scratch (n_dimensions + 1,) */
    double *sums;                        /* scratch (width, width) */
    /* out: (n_samples, .) */
    void *grams;                         /* triangles */
    double *diagonals;                   /* (n_samples, n_features) */
} grams_block;
