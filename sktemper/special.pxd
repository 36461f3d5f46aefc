"""The C vocabulary that kernels share: see ``simd/simd.h``."""

from libc.stdint cimport int32_t, intptr_t, uint64_t


cdef extern from "simd.h" nogil:
    enum:
        SIMD_BYTES
        MIXTURE_BYTES
        BINARY_BYTES
        PRODUCT_BYTES

    ctypedef struct lda_block:
        intptr_t n_documents, n_words, n_topics, width
        const intptr_t *starts
        const intptr_t *slots
        const void *counts
        const intptr_t *words
        const double *u
        const double *prior
        intptr_t prior_word_stride, prior_topic_stride
        double decay, prior_share, base_share
        const double *digamma_totals
        const double *doc_topic_prior
        const double *inverse_temperatures
        int temperature_per_document
        const double *weights
        double tol
        intptr_t max_iter
        double drop_tol
        const int *stop
        const unsigned char *sampled
        const double *totals
        const double *untempered_prior
        uint64_t seed
        intptr_t n_burn_in, n_kept
        void *gamma
        void *statistics
        double *bounds
        intptr_t n_iterations
        intptr_t longest
        void *rows
        double *row_tops
        void *own_rows
        const intptr_t *own_slots
        void *topic_scratch
        void *word_scratch
        double *double_scratch
        int32_t *kept_topics
        void *kept_gamma
        void *kept_rows
        void *panel_sums
        intptr_t *places
        int32_t *noted_documents
        void *noted_ratios
        void *shares
        int32_t *share_topics
        intptr_t *n_shares
        int32_t *chain_topics
        int32_t *chain_tokens
        void *chain_weights

    ctypedef struct binary_block:
        intptr_t n_samples, n_features
        const void *products
        const void *gram
        const void *offsets
        int gram_per_sample
        const double *powers
        int power_per_sample
        const double *heats
        double cooling
        double tol
        intptr_t max_iter
        const int *stop
        void *nu
        double *fits
        double *entropies
        intptr_t n_iterations
        void *scratch

    ctypedef struct grams_block:
        intptr_t n_samples, n_dimensions, n_features
        intptr_t width
        const unsigned char *missing
        const double *means
        const double *products
        const double *spread
        int completing
        const int *stop
        int32_t *listed
        double *sums
        void *grams
        double *diagonals

    ctypedef struct mixture_block:
        intptr_t n_samples, n_features, n_components
        const void *samples
        const void *means
        const void *factors
        int triangular
        const double *constants
        const double *powers
        int power_per_sample
        const int *stop
        int only_distances
        void *responsibilities
        double *bounds
        double *scores
        void *scratch

    ctypedef struct ratings_block:
        intptr_t n_rows, rank, biases, width
        const intptr_t *starts
        const int32_t *others
        const void *values
        const void *factors
        const void *table
        const int32_t *own_rows
        const int *stop
        double *sums
        double *means
        double *squares
        void *scratch

    ctypedef struct gaussians_block:
        intptr_t n_rows, rank, biases, width
        const double *sums
        intptr_t stride
        const double *scales
        const double *prior
        const int *stop
        double *means
        double *covariances
        double *log_determinants
        double *prior_traces
        void *table
        double *scratch

    ctypedef struct simd_table:
        const char *name
        void (*digamma_f32)(intptr_t, const float *, float *) noexcept nogil
        void (*trigamma_f32)(intptr_t, const float *, double *) noexcept nogil
        void (*log_gamma_f32)(intptr_t, const float *, double *) noexcept nogil
        double (*exp_digamma_f32)(intptr_t, const float *, double, float *) noexcept nogil
        void (*exp_scaled_f32)(intptr_t, const float *, double, float *) noexcept nogil
        void (*add_rows_f32)(
            intptr_t, intptr_t, intptr_t, const intptr_t *, const float *, double, double *,
            double *
        ) noexcept nogil
        int (*lda_local_step_f32)(lda_block *) noexcept nogil
        int (*lda_scores_f32)(lda_block *) noexcept nogil
        int (*binary_local_step_f32)(binary_block *) noexcept nogil
        int (*binary_grams_f32)(grams_block *) noexcept nogil
        void (*row_squares_f32)(
            intptr_t, intptr_t, intptr_t, const float *, double *
        ) noexcept nogil
        int (*mixture_local_step_f32)(mixture_block *) noexcept nogil
        void (*moments_f32)(
            intptr_t, intptr_t, int, const float *, const double *, double *
        ) noexcept nogil
        int (*rating_sums_f32)(ratings_block *) noexcept nogil
        int (*rating_moments_f32)(ratings_block *, const float *) noexcept nogil
        intptr_t (*gaussians_f32)(gaussians_block *) noexcept nogil
        void (*pack_columns_f32)(
            intptr_t, intptr_t, const float *, intptr_t, intptr_t, float *
        ) noexcept nogil
        void (*product_f32)(
            intptr_t, intptr_t, intptr_t, const float *, intptr_t, const float *, float *
        ) noexcept nogil
        void (*digamma_f64)(intptr_t, const double *, double *) noexcept nogil
        void (*trigamma_f64)(intptr_t, const double *, double *) noexcept nogil
        void (*log_gamma_f64)(intptr_t, const double *, double *) noexcept nogil
        double (*exp_digamma_f64)(intptr_t, const double *, double, double *) noexcept nogil
        void (*exp_scaled_f64)(intptr_t, const double *, double, double *) noexcept nogil
        void (*add_rows_f64)(
            intptr_t, intptr_t, intptr_t, const intptr_t *, const double *, double, double *,
            double *
        ) noexcept nogil
        int (*lda_local_step_f64)(lda_block *) noexcept nogil
        int (*lda_scores_f64)(lda_block *) noexcept nogil
        int (*binary_local_step_f64)(binary_block *) noexcept nogil
        int (*binary_grams_f64)(grams_block *) noexcept nogil
        void (*row_squares_f64)(
            intptr_t, intptr_t, intptr_t, const double *, double *
        ) noexcept nogil
        int (*mixture_local_step_f64)(mixture_block *) noexcept nogil
        void (*moments_f64)(
            intptr_t, intptr_t, int, const double *, const double *, double *
        ) noexcept nogil
        int (*rating_sums_f64)(ratings_block *) noexcept nogil
        int (*rating_moments_f64)(ratings_block *, const double *) noexcept nogil
        intptr_t (*gaussians_f64)(gaussians_block *) noexcept nogil
        void (*pack_columns_f64)(
            intptr_t, intptr_t, const double *, intptr_t, intptr_t, double *
        ) noexcept nogil
        void (*product_f64)(
            intptr_t, intptr_t, intptr_t, const double *, intptr_t, const double *, double *
        ) noexcept nogil

    const simd_table *simd_choose(const char *name) noexcept
    unsigned int simd_flush_subnormals() noexcept
    void simd_restore_subnormals(unsigned int mode) noexcept


#: The loops for the instruction set in use.
cdef const simd_table *SIMD
