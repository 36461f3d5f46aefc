#include "sktemper/_families/_blocks.h"

/* A panel is a group of samples that are optimised at the same time.  This is the size in
 * bytes of the probabilities of one feature in a panel. */
#define BINARY_BYTES (8 * SIMD_BYTES)
/* The same size if each sample has its own gram, see `binary_block`. */
#define OWN_BYTES (BINARY_BYTES / 2)

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

/* Input, output and scratch memory of `factorial_ascent`: several steps of coordinate ascent on
 * samples without missing values. */
typedef struct {
    intptr_t n_samples, n_dimensions, n_features;
    int structured;                      /* whether components are correlated */
    int learned;                         /* 1 noise variance, 2 inclusion probabilities */
    int keeps_local;                     /* whether steps start from `nu` of the last step */
    double component_variance, least_noise, least_inclusion, cooling, tol;
    intptr_t max_iter;
    const void *samples;                 /* (n_samples, n_dimensions) */
    const double *squares;               /* (n_samples,) */
    const double *row_weight;            /* (n_samples,), or NULL */
    /* in and out */
    mixture_steps steps;
    double *precision;                   /* (n_features, n_features) */
    double *weighted_means;              /* (n_features, n_dimensions) */
    double *inclusion;                   /* (n_features,) */
    double noise;
    int has_local;                       /* whether `nu` is known */
    void *nu;                            /* (n_samples, n_features) */
    /* out */
    double *iterations;                  /* (n_steps,), mean sweeps over a sample */
    double *row_bounds;                  /* (n_samples,) of the last step */
    double *scratch;
    void *run;                           /* the ascent, for `factorial_section` */
} factorial_block;
