#ifndef SKTEMPER_FAMILIES_BLOCKS_H
#define SKTEMPER_FAMILIES_BLOCKS_H

/* Steps of an ascent, see `Ascent.run`. */
typedef struct {
    const volatile int *stop;
    double scale;
    intptr_t n_steps, n_left;            /* steps of this call, and of the ascent */
    const double *powers;                /* (n_steps, 3): prior, statistics, local */
    const int *flags;                    /* (n_steps,) */
    const double *limits;                /* best bound, same bound, at rest, least gain, tol */
    double before;                       /* lower bound of the last step; in and out */
    /* Sections of the samples, whose sums are `section_size` apart.  `share` takes the local step
     * of each, in threads, and returns whether it was stopped; it is NULL if there is one section
     * that needs no call. */
    intptr_t n_sections, section_size;
    void *sharing;
    int (*share)(void *sharing);
    /* out */
    intptr_t n_done;                     /* number of steps taken */
    double *local_bounds;                /* (n_steps,) */
    double *lower_bounds;                /* (n_steps,) */
} mixture_steps;

/* Components with a smaller weighted number of rows count as empty. */
#define USED_ROWS 0.5
/* Number of nearest components with which merges of a component are tried. */
#define MERGE_NEIGHBOURS 4
/* Searches for the best split of a component: number of splits that are refined at first, along
 * principal axes and a random axis, and of the power iterations that find the principal axes. */
#define SPLITS 3
#define SPLIT_POWER_ITERATIONS 8
/* Largest number of rounds that refine a split.  All starts are refined in the first rounds; then
 * only the best start continues. */
#define SPLIT_ROUNDS 6
#define SPLIT_ROUNDS_OF_STARTS 2
/* Smallest number of rows of a part, and smallest gain, in nats, that rounding errors cannot
 * explain. */
#define SPLIT_LEAST_COUNT 2.0
#define SPLIT_ROUNDING 1e-3

/* Number of samples whose responsibilities are computed at a time. */
#define PRODUCT_ROWS 96

/* Input, output and scratch memory of `product_ascent`: steps of coordinate ascent of a mixture
 * whose components are products of conjugate families.  Parameters and moments have the layouts
 * of the families, one part after another. */
typedef struct {
    mixture_steps steps;
    intptr_t n_samples, n_components, n_natural, n_parts;
    const int *kinds;                    /* (n_parts,): 0 Dirichlet, 1 Gamma, 2 normal-gamma */
    const intptr_t *sizes;               /* (n_parts,): numbers of options, rates, columns */
    int sticks;                          /* whether weights are stick-breaking */
    double concentration;                /* of the weights */
    const double *prior;                 /* (n_natural,) */
    const double *moments;               /* (n_samples, n_natural), or the entries of CSR */
    const intptr_t *starts;              /* (n_samples + 1,) of CSR, or NULL */
    const int32_t *columns;              /* of the entries of CSR */
    const double *log_base;              /* (n_samples,), or NULL */
    const double *row_weight;            /* (n_samples,), or NULL */
    /* in and out */
    double *weights;                     /* (n_components,) or (n_components, 2) */
    double *components;                  /* (n_components, n_natural) */
    /* out */
    double *row_bounds;                  /* (n_samples,) of the last step */
    double *scratch;
    /* The ascent, for `product_section`, which `share` calls for the blocks of each section, in
     * their order.  Without `share`, this block has the moments of all samples. */
    void *run;
} product_block;

/* Input, output and scratch memory of `product_split`: the search for the best split of a
 * component in two.  Of `product`, the family, the prior, the concentration, and the samples
 * are used; `row_weight` has the weights of samples in the component. */
typedef struct {
    product_block product;
    intptr_t n_coordinates;
    const double *coordinates;           /* (n_samples, n_coordinates), or the entries of CSR
                                            at the places of the moments */
    const double *whole;                 /* (n_natural,), statistics of the component */
    double count_of_whole;               /* number of samples of the component */
    double *axes;                        /* (3, n_coordinates), starts of iterations */
    double *shares;                      /* scratch: (3, n_samples) */
    double *scratch;                     /* (3 n_coordinates + 11 n_natural + 2 n_parts + 48) */
    /* out */
    double *best;                        /* (n_samples,), shares that the split moves */
    double *moved;                       /* statistics that it moves */
    double count;                        /* number of samples that it moves */
    double entropy;                      /* increase of the entropy of the shares */
} product_split_block;
/* Arguments of `gaussians`, see `factor_gaussians.h`.  The natural parameters of a Gaussian are
 * the packed lower triangle of its precision, followed by precision times mean. */
typedef struct {
    intptr_t n_rows, rank, biases;
    intptr_t first, last;                /* range of the rows to compute */
    intptr_t n_sums, sums_panel;         /* number and width of panels of sums */
    intptr_t n_panels, panel;            /* the same of the table */
    intptr_t at_linear;                  /* where sums for precisions times means begin */
    intptr_t at_mean;                    /* where the means of a table begin */
    const void *sums;                    /* (n_sums, n_rows, sums_panel) */
    int has_wide_sums;                   /* whether the sums are in float64 */
    const double *scales;                /* of each row; NULL: 1 */
    const double *prior;                 /* natural parameters of the prior */
    const double *shared;                /* packed, added to all sums; NULL: 0 */
    const double *traced;                /* packed */
    const double *weights;               /* of each row in `total`; NULL: 1 */
    const volatile int *stop;
    /* out */
    void *table;                         /* (n_panels, n_rows, panel); may be `sums`, or NULL */
    double *means;                       /* (n_rows, rank + biases) */
    /* (4, n_rows): log determinants of the precisions, trace(traced E[x x^T]), and products of
     * E[x] with the linear sums and with the linear parameters of the prior */
    double *scalars;
    double *covariances;                 /* packed; NULL: not wanted */
    double *total;                       /* += weights E[v v^T], packed, and E[v]; or NULL */
    double *scratch;                     /* see `gaussians` of _kernels.pyx */
} gaussians_block;
#endif
