/* The table of hot scalar loops, one per instruction set, chosen at import.
 *
 * Every loop is written once, in `loops.h`, in plain C that compilers vectorise.
 * `loops_baseline.c`, `loops_avx2.c` and `loops_avx512.c` compile that source for
 * one instruction set each, in float32 and in float64; `dispatch.c` picks a table.
 */
#ifndef SKTEMPER_SIMD_H
#define SKTEMPER_SIMD_H

#include <stdint.h>

/* Rows of topics are padded to a multiple of this many bytes, the widest vector: no loop
 * over topics has a remainder. */
#define SIMD_BYTES 64
/* Bytes of a panel of samples of a mixture, at most. */
#define MIXTURE_BYTES (2 * SIMD_BYTES)
/* Bytes of a row of a panel of a product's right factor, at most. */
#define PRODUCT_BYTES (2 * SIMD_BYTES)

/* A block of documents of latent Dirichlet allocation: what `lda_local_step` reads and
 * writes.  `void *` stands for arrays of the loop's floating type.  A row of topics
 * has `width` entries, the number of topics rounded up to whole SIMD_BYTES. */
typedef struct {
    intptr_t n_documents, n_words, n_topics, width;
    /* the documents: entries starts[d] .. starts[d + 1] */
    const intptr_t *starts;
    const intptr_t *slots;               /* of each entry, an index into words */
    const void *counts;
    /* the topics: lambda[v] = decay u[v] + prior_share prior[v] + base_share */
    const intptr_t *words;               /* the distinct words of the block */
    const double *u;
    const double *prior;
    intptr_t prior_word_stride, prior_topic_stride;   /* in elements */
    double decay, prior_share, base_share;
    const double *digamma_totals;        /* digamma(sum_v lambda) */
    /* how to infer */
    const double *doc_topic_prior;
    const double *inverse_temperatures;  /* one, or one a document */
    int temperature_per_document;
    const double *weights;               /* factor of each document's statistics */
    double tol;
    intptr_t max_iter;
    double drop_tol;                     /* leave topics out below this times prior */
    const volatile int *stop;
    /* where not NULL: the documents whose statistics and gamma are sampled */
    const unsigned char *sampled;
    const double *totals;                /* sum_v lambda */
    const double *untempered_prior;
    uint64_t seed;
    intptr_t n_burn_in, n_kept;          /* sweeps */
    /* in and out: (n_documents, n_topics) */
    void *gamma;
    /* out, where not NULL */
    void *statistics;                    /* (n_words, width): the rows, or zeros */
    double *bounds;                      /* (n_documents,) */
    intptr_t n_iterations;
    /* scratch */
    intptr_t longest;                    /* document, and 16 words more */
    void *rows;                          /* (n_words + 1, width), zeros in the last */
    double *row_tops;                    /* (n_words,) */
    void *own_rows;                      /* (longest + 1, width) if per document */
    const intptr_t *own_slots;           /* 0, 1, 2, ... */
    void *topic_scratch;                 /* (6, width) */
    void *word_scratch;                  /* (3, longest) */
    double *double_scratch;              /* (3, n_topics) */
    int32_t *kept_topics;                /* (2, width) */
    void *kept_gamma;                    /* (2, width) */
    void *kept_rows;                     /* (longest, quarter of width, or 64) */
    void *panel_sums;                    /* (width, SIMD_BYTES) */
    /* if statistics are wanted and no document has a temperature of its own */
    intptr_t *places;                    /* (n_words,) */
    int32_t *noted_documents;            /* (nnz,) */
    void *noted_ratios;                  /* (nnz,) */
    void *shares;                        /* (n_documents, width) */
    int32_t *share_topics;               /* (n_documents, width) */
    intptr_t *n_shares;                  /* (n_documents,) */
    /* if documents are sampled */
    int32_t *chain_topics;               /* (4, n_topics), zeros */
    int32_t *chain_tokens;               /* (tokens of the longest sampled document,) */
    void *chain_weights;                 /* (3, width), zeros */
} lda_block;

/* A panel of samples with binary latent features has at most as many as fit into this. */
#define BINARY_BYTES (4 * SIMD_BYTES)

/* A block of samples with binary latent features: what `binary_local_step` reads and
 * writes.  Given the rest of a sample's features, the logit of one is
 *     power (products[k] + offsets[k] - sum_{j != k} gram[k][j] nu[j]). */
typedef struct {
    intptr_t n_samples, n_features;
    const void *products;                /* (n_samples, n_features) */
    const void *gram;                    /* (n_features, n_features), symmetric */
    const void *offsets;                 /* (n_features,) */
    /* whether each sample has a gram, its upper triangle, and offsets of its own */
    int gram_per_sample;
    const double *powers;                /* one, or one a sample */
    int power_per_sample;
    /* the first sweep is at `heats`, one a gram, times the temperature, each that
     * follows at 1 / `cooling` of that, until it is 1 */
    const double *heats;
    double cooling;
    double tol;
    intptr_t max_iter;
    const volatile int *stop;
    /* in and out: (n_samples, n_features) */
    void *nu;
    /* out: (n_samples,) */
    double *fits;                        /* nu . products - E[z . gram z] / 2 */
    double *entropies;
    intptr_t n_iterations;
    /* (2 n_features, BINARY_BYTES), and as many more as a gram has entries */
    void *scratch;
} binary_block;

/* Samples that miss values: what `binary_grams` reads and writes.  Triangles are upper
 * ones, row by row. */
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

/* Ratings of some rows, users or items, see `ratings.h`. */
typedef struct {
    intptr_t n_rows, rank, biases, width;
    const intptr_t *starts;              /* row r has the entries starts[r] .. [r + 1] */
    const int32_t *others;               /* of each entry, a row of the table */
    const void *values;
    const void *factors;                 /* of the entries, or NULL: 1 */
    const void *table;                   /* (n_others, width) */
    const int32_t *own_rows;             /* of each row, its own place; NULL: in order */
    const volatile int *stop;
    /* in and out: added to, rank + biases + 2 numbers more than a packed triangle:
     * sum f z z^T, sum f (y - bias) z, sum f E(y - bias)^2, sum f */
    double *sums;
    double *means, *squares;             /* out: of each entry, in `rating_moments` */
    void *scratch;                       /* (2 width,) */
} ratings_block;

/* Gaussians, see `ratings.h`.  A natural parameter is the packed lower triangle of a
 * precision, and then precision times mean. */
typedef struct {
    intptr_t n_rows, rank, biases, width;
    const double *sums;                  /* rows `stride` apart, natural parameters */
    intptr_t stride;
    const double *scales;                /* of each row */
    const double *prior;                 /* natural parameters */
    const volatile int *stop;
    /* out */
    double *means;                       /* (n_rows, rank + biases) */
    double *covariances;                 /* packed; or NULL */
    double *log_determinants;            /* of the precisions */
    double *prior_traces;                /* trace(prior precision E[x x^T]) */
    void *table;                         /* (n_rows, width); or NULL */
    double *scratch;                     /* (rank + biases) (rank + biases + 3) lanes */
} gaussians_block;

#define DECLARE_LOOPS(REAL, SUFFIX)                                                   \
    /* out = digamma(x) */                                                            \
    void (*digamma_##SUFFIX)(intptr_t n, const REAL *x, REAL *out);                   \
    /* out = trigamma(x), x > 0 */                                                    \
    void (*trigamma_##SUFFIX)(intptr_t n, const REAL *x, double *out);                \
    /* out = log Gamma(x), 0 < x < 1e40 */                                            \
    void (*log_gamma_##SUFFIX)(intptr_t n, const REAL *x, double *out);               \
    /* out = exp(b digamma(x) - shift), shift chosen so that max(out) neither over-   \
     * nor underflows; returns shift */                                               \
    double (*exp_digamma_##SUFFIX)(intptr_t n, const REAL *x, double b, REAL *out);   \
    /* out = exp(b x) */                                                              \
    void (*exp_scaled_##SUFFIX)(intptr_t n, const REAL *x, double b, REAL *out);      \
    /* out = digamma(x) - offset - max(...); returns that max */                      \
    double (*log_row_##SUFFIX)(intptr_t n, const REAL *x, const double *offset,       \
                               REAL *out);                                            \
    /* u[words] += factor rows, totals += factor sum of rows; u is (., n_topics), rows    \
     * are (n_words, width) */                                                        \
    void (*add_rows_##SUFFIX)(intptr_t n_words, intptr_t n_topics, intptr_t width,    \
                              const intptr_t *words, const REAL *rows, double factor, \
                              double *u, double *totals);                             \
    /* bring every document of a block to the optimum of its bound; 0, or -1 when     \
     * told to stop */                                                                \
    int (*lda_local_step_##SUFFIX)(lda_block *block);                                 \
    /* bounds = the log-likelihoods of the documents at their mean topics */           \
    int (*lda_scores_##SUFFIX)(lda_block *block);                                      \
    /* bring the features of every sample to the optimum of its bound; 0, or -1 */     \
    int (*binary_local_step_##SUFFIX)(binary_block *block);                           \
    /* the grams of samples that miss values; 0, or -1 when told to stop */            \
    int (*binary_grams_##SUFFIX)(grams_block *block);                                 \
    /* out = the rows' sums of squares; rows are `stride` elements apart */            \
    void (*row_squares_##SUFFIX)(intptr_t n_rows, intptr_t n_columns,                 \
                                 intptr_t stride, const REAL *x, double *out);        \
    /* responsibilities of a block; 0, or -1 when told to stop */                      \
    int (*mixture_local_step_##SUFFIX)(mixture_block *block);                         \
    /* the rows' first and second moments about an origin */                           \
    void (*moments_##SUFFIX)(intptr_t n, intptr_t n_features, int triangular,         \
                             const REAL *x, const double *origin, double *out);       \
    /* add what ratings tell of their rows to sums; 0, or -1 when told to stop */      \
    int (*rating_sums_##SUFFIX)(ratings_block *block);                                \
    /* E[f] and E[f^2] of each rating, f its expectation given all; 0, or -1 */        \
    int (*rating_moments_##SUFFIX)(ratings_block *block, const REAL *own_table);      \
    /* moments of Gaussians; the number that are indefinite, or -1 */                  \
    intptr_t (*gaussians_##SUFFIX)(gaussians_block *block);                           \
    /* panels, PRODUCT_BYTES wide at most, of a matrix whose strides are in elements */   \
    void (*pack_columns_##SUFFIX)(intptr_t n_inner, intptr_t n_columns,               \
                                  const REAL *matrix, intptr_t row_stride,            \
                                  intptr_t column_stride, REAL *panels);              \
    /* out = x times what was packed; rows of x are x_stride elements apart */         \
    void (*product_##SUFFIX)(intptr_t n_rows, intptr_t n_inner, intptr_t n_columns,   \
                             const REAL *x, intptr_t x_stride, const REAL *panels,    \
                             REAL *out)

typedef struct {
    const char *name;
    DECLARE_LOOPS(float, f32);
    DECLARE_LOOPS(double, f64);
} simd_table;

extern const simd_table simd_baseline;
extern const simd_table simd_avx2;
extern const simd_table simd_avx512;

/* The table for a name ("baseline", "avx2", "avx512"), or the best one for NULL
 * and ""; NULL if the name is unknown or this machine lacks it. */
const simd_table *simd_choose(const char *name);

/* Flush subnormals to zero in this thread; restore the caller's mode. */
#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#define FLUSH_BITS 0x8040u /* flush to zero, denormals are zero */

static inline unsigned int simd_flush_subnormals(void)
{
    const unsigned int mode = _mm_getcsr();
    _mm_setcsr(mode | FLUSH_BITS);
    return mode;
}

static inline void simd_restore_subnormals(unsigned int mode)
{
    _mm_setcsr(mode);
}
#else
static inline unsigned int simd_flush_subnormals(void) { return 0; }
static inline void simd_restore_subnormals(unsigned int mode) { (void)mode; }
#endif

#endif
