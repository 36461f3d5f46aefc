#include "sktemper/_families/_blocks.h"

/* A panel is a group of samples that are processed at the same time.  This is the largest size
 * in bytes of one feature of the samples in a panel. */
#define MIXTURE_BYTES (4 * SIMD_BYTES)
/* Numbers of samples and of moments that are summed at a time. */
#define MOMENT_ROWS 128
#define MOMENT_COLUMNS 256

/* Input and output of `mixture_local_step`, for a block of samples of a Gaussian mixture.
 * The expected log density of a sample under a component, with the component's weight, is
 *     constants[k] - |factors[k] (samples[i] - means[k])|^2 / 2. */
typedef struct {
    intptr_t n_samples, n_features, n_components;
    const void *samples;                 /* (n_samples, n_features) */
    const void *means;                   /* (n_components, n_features) */
    const void *factors;                 /* for each component, the packed rows of a lower */
    int triangular;                      /* triangle, or a diagonal if not `triangular` */
    const double *constants;             /* (n_components,) */
    const double *powers;                /* one for all samples, or one for each */
    int power_per_sample;
    const volatile int *stop;
    int only_distances;                  /* whether to compute only squared distances */
    /* out */
    void *responsibilities;              /* (n_samples, n_components), or distances */
    double *bounds;                      /* log sum_k exp(power * log density) */
    double *scores;                      /* expected log density */
    void *scratch;                       /* (2 n_features + n_components, MIXTURE_BYTES),
                                            (n_components, n_features) of a diagonal */
} mixture_block;

/* Arguments of `mixture_predictive` in addition to those of a `mixture_block`, whose constants
 * are log densities at the modes.  The log density of a sample under a component, with the
 * component's weight, is
 *     constants[k] - exponents[k] log(1 + scales[k] distance),
 * or, for products over the features,
 *     constants[k] - exponents[k] sum over d of log(1 + scales[k] distance_d),
 * where distance_d = (factors[k, d] (samples[i, d] - origin[d] - centres[k, d]))^2. */
typedef struct {
    mixture_block mixture;               /* with `only_distances`; scores are an output */
    const double *exponents;             /* (n_components,) */
    const double *scales;                /* (n_components,) */
    const double *origin;                /* (n_features,); NULL if not for products */
    const double *centres;               /* (n_components, n_features) */
    const double *factors;               /* (n_components, n_features) */
    double *logs;                        /* scratch: (n_features + n_components, lanes) */
} predictive_block;

/* Input and output of `weighted_moments`. */
typedef struct {
    intptr_t n_samples, n_features, n_components;
    intptr_t n_moments;                  /* number of 1, x, and wanted second moments */
    int squares;                         /* whether second moments are x_i^2, not x_i x_j */
    const void *samples;                 /* (n_samples, n_features) */
    const double *origin;                /* (n_features,), subtracted from samples */
    const void *shares;                  /* (n_samples, n_components) */
    const double *factors;               /* factor of the shares: one, or one per sample */
    int factor_per_sample;
    const volatile int *stop;
    double *scratch;
    /* out */
    double *out;                         /* (n_components, n_moments) */
} moments_block;

/* Number of samples of a block of an ascent. */
#define ASCENT_ROWS 512
/* Number of covariances of gaps, given all components, above which fewer samples with gaps are
 * completed at a time. */
#define MANY_PAIRS 4096
/* Initial degrees of freedom of learned priors minus their lower limit, and the range of this
 * difference.  At its upper end, all covariances are equal. */
#define FREE_DEGREES 3.0
#define LEAST_FREE 0.5
#define MOST_FREE 2e4
/* Range of the learned degrees of freedom of scales.  The variance is finite above 2; at the upper
 * end, components are Gaussian. */
#define LEAST_SCALED 1.0
#define MOST_SCALED 1e4
/* Largest factor of the degrees of freedom in a step of Newton's method. */
#define SCALE_NEWTON_FACTOR 1.25
/* Largest squared distance of a sample that has a scale. */
#define FARTHEST_ROW 1e150

/* Components in their usual form, see `Usual`. */
typedef struct {
    double *precision, *means, *inverse, *freedom, *factors, *log_determinants;
    double *log_precisions, *log_normalisers, *log_densities;
} usual_form;

/* Input, output and scratch memory of `gaussian_ascent`: several steps of coordinate ascent on
 * the samples of a Gaussian mixture.  Parameters have the layouts of `NormalWishartFamily`. */
typedef struct {
    mixture_steps steps;
    intptr_t n_samples, n_features, n_components;
    int kind;                            /* 1 full, 2 several elements, 4 tied */
    int law;                             /* 0 Wishart, 1 a Gamma per feature, 2 one Gamma */
    int sticks;                          /* whether weights are stick-breaking */
    int learned;                         /* 1 mean precision, 2 degrees, 4 covariance,
                                            8 degrees of freedom of scales */
    int is_diagonal;                     /* whether learned covariances have no correlations */
    const void *samples;                 /* (n_samples, n_features) */
    const double *origin;                /* (n_features,) */
    const double *row_weight;            /* (n_samples,), or NULL */
    const double *prior_mean;            /* (n_features,), about the origin */
    const double *added;                 /* `reg_covar` of each stored variance */
    int is_noisy;                        /* whether densities have this variance, too */
    const intptr_t *order, *starts, *columns; /* see `GappedRows.gaps`, or NULL; samples */
    intptr_t most_pairs, gapped_rows;    /* with gaps are in float64 */
    double concentration;
    /* in and out */
    double *weights;                     /* (n_components,) or (n_components, 2) */
    double *components;
    double *hyper;                       /* mean precision, degrees of freedom, and the
                                            inverse scale of the prior */
    double *freedom_of_scales;           /* (n_components,), or NULL if there are no scales */
    /* out */
    double *row_bounds;                  /* (n_samples,) of the last step */
    double *scratch;
    /* Sizes, and the parts of the scratch memory. */
    int is_full, is_common;              /* bits of `kind` */
    int is_white;                        /* whether the loops read whitened samples */
    intptr_t entries, stored, natural, n_factors, n_matrices, n_moments;
    intptr_t step;                       /* from the factors of a component to the next */
    intptr_t n_total;                    /* number of moments with second ones */
    double least, shift;
    usual_form now, next, prior;
    double *present, *learnt, *best, *trial; /* learned priors, as `hyper` */
    double *counts, *sums, *second, *total;
    double *new_weights, *new_components, *logs, *log_weights, *constants;
    double *halves, *values, *more, *scatter, *inverse, *rows, *dets, *matrices, *vector, *lanes;
    /* of mixtures whose samples have scales, see `_scales.h`; otherwise, `scaled` is `counts` */
    double *scaled, *squares, *scales, *scaled_shares, *log_rates, *of_scales, *learned_scales;
    double *is_settled;                  /* whether the last step of degrees was short */
    double *precisions, *completed, *covariances, *filled; /* see `_gaps.h` */
    double *used, *few_constants, *few, *factors, *scores, *moments;
    void *means, *triangles, *few_means, *few_triangles, *shares, *white, *panels;
    const double *powers;                /* of the local step, and whether it has no statistics */
    int only_bound;
    double *bound;                       /* weighted sum of the samples' bounds */
} ascent_block;

/* Input and output of `gaussian_split`: the search for the best split of a component. */
typedef struct {
    ascent_block ascent;                 /* samples, their weights in the component, and the
                                            kind of the component */
    const void *coordinates;             /* (n_samples, n_features) */
    const double *prior;                 /* natural parameters of the prior */
    const double *whole;                 /* statistics of the component */
    double count_of_whole;               /* number of samples of the component */
    double *axes;                        /* (SPLITS, n_features), starts of iterations */
    void *shares;                        /* scratch: (n_samples, SPLITS) */
    double *statistics;                  /* scratch: (SPLITS, n_natural) */
    /* out */
    double *best;                        /* (n_samples,), shares that the split moves */
    double *moved;                       /* statistics that it moves */
    double entropy;                      /* increase of the entropy of the shares */
} split_block;

/* Input and output of `gaussian_agglomeration`.  Of `ascent`, the sizes, priors, and options of
 * the weights and of learned priors are used; `hyper` and `covariance` are changed. */
typedef struct {
    ascent_block ascent;
    intptr_t n_weights;                  /* number of components of the weights */
    intptr_t least;                      /* number of clusters at which merges end */
    double *statistics;                  /* (n_clusters, n_natural), replaced by the best */
    double *scratch;
    /* out */
    intptr_t n_best;                     /* number of clusters of the best partition */
    double evidence;                     /* of the best partition */
} agglomeration_block;
