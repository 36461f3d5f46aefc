/* Input, output and scratch memory of the local step of latent Dirichlet allocation, for a
 * block of documents, or a section of it.  `void *` stands for arrays of the loop's floating
 * type.  A row has a value for each topic; it is padded to `width` entries, a multiple of
 * SIMD_BYTES.
 *
 * The sections of a block are consecutive documents, so that several threads can share a
 * block.  The rows of words are common to all sections. */

/* Number of partial sums over the topics, which hide the latency of additions.  Sum c adds the
 * topics c, c + LANE_SUMS, c + 2 LANE_SUMS, ... */
#define LANE_SUMS 2
/* A group has a document in each lane of a vector.  LANE_GROUPS groups are sampled at once,
 * or half of this number, or one.  Constants in this file are macros, because setup.py declares
 * macros to Cython. */
#define LANE_GROUPS 4

/* Scratch memory of the local step.  `_scratch.h` divides one piece of memory into these
 * arrays.  Arrays that no document of the block needs stay unset. */
typedef struct {
    /* of the block: */
    void *rows;                          /* (n_words + 1, width); the last row is zero */
    double *row_tops;                    /* (n_words,) */
    /* if statistics are wanted and all documents have the same temperature */
    intptr_t *places;                    /* (n_sections, n_words), zeros */
    int32_t *noted_documents;            /* (nnz,) */
    void *noted_ratios;                  /* (nnz,) */
    void *shares;                        /* (all documents, width) */
    int32_t *share_topics;               /* (all documents, width) */
    intptr_t *n_shares;                  /* (all documents,) */
    /* if documents are sampled and statistics are wanted */
    int32_t *draws;                      /* (sampled tokens, n_kept): topics */
    /* of a thread: */
    void *own_rows;                      /* (longest + 1, width): rows of one document, if
                                          * each document has its own temperature */
    const intptr_t *own_slots;           /* 0, 1, 2, ... */
    void *topic_scratch;                 /* (6, width) */
    void *word_scratch;                  /* (3, longest) */
    double *double_scratch;              /* (3, n_topics) */
    int32_t *kept_topics;                /* (2, width) */
    void *kept_gamma;                    /* (2, width) */
    void *kept_rows;                     /* (longest, max(width / 4, min(width, 64))) */
    void *panel_sums;                    /* (width, SIMD_BYTES) */
    /* for documents that are optimised abreast, that is side by side in vectors */
    intptr_t *abreast_order;             /* (n_documents + longest_abreast + 1,), zeros */
    void *abreast_scratch;               /* (4 topics + words (3 + topics), lanes) */
    /* for documents sampled in lanes */
    /* for each group, of documents with at most this number of tokens: */
    void *lane_panels;                   /* (tokens, height, SIMD_BYTES) */
    void *lane_scratch;                  /* (5, height and 1, SIMD_BYTES) */
    void *lane_places;                   /* (1 + n_kept, tokens, SIMD_BYTES) */
    int32_t *lane_slots;                 /* (tokens, 16), and one row */
    /* for documents sampled in chains */
    int32_t *chain_topics;               /* (4, n_topics), zeros */
    int32_t *chain_tokens;               /* (tokens of the longest document in a chain,) */
    void *chain_weights;                 /* (3, width), zeros */
} lda_scratch;

/* Input and output of the loops. */
typedef struct {
    intptr_t n_documents, n_words, n_topics, width;
    intptr_t section, n_sections;
    intptr_t first, end;                 /* documents of the section: first .. end */
    /* the documents: entries starts[d] .. starts[d + 1] */
    const intptr_t *starts;
    const intptr_t *slots;               /* for each entry, an index into words */
    const void *counts;
    /* the topics: lambda[v] = decay u[v] + prior_share prior[v] + base_share */
    const intptr_t *words;               /* the distinct words of the block */
    const double *u;
    const double *prior;
    intptr_t prior_word_stride, prior_topic_stride;   /* in elements */
    double decay, prior_share, base_share;
    const double *digamma_totals;        /* digamma(sum_v lambda) */
    /* how to infer */
    const double *doc_topic_prior;       /* (priors, n_topics), tempered by the caller */
    const double *inverse_temperatures;  /* one for all documents, or for each */
    /* whether each document has its own temperature.  Even one document is then processed
     * differently, so that bits do not depend on the number of documents. */
    int temperature_per_document;
    const double *factors;               /* factor of each document's statistics */
    /* the iterations of a document end when the mean |change of gamma| is below `tol`, or
     * after `max_iter` iterations */
    double tol;
    intptr_t max_iter;
    double drop_tol;                     /* skip topics with fewer tokens than this times
                                          * the prior */
    /* read in each iteration; if another thread sets it, the call returns early */
    const volatile int *stop;
    /* if not NULL: for each document, whether its statistics and gamma are sampled.  Its counts
     * must then be whole.  The statistics are means of counts over draws, and gamma is
     * `untempered_prior` plus the mean number of tokens. */
    const unsigned char *sampled;
    const double *totals;                /* sum_v lambda */
    const double *untempered_prior;      /* (priors, n_topics) */
    const intptr_t *prior_rows;          /* the prior of each document; NULL: the first */
    uint64_t seed;                       /* each document has a stream of random numbers */
    intptr_t n_burn_in, n_kept;          /* discarded and averaged sweeps over the tokens */
    /* in and out: (n_documents, n_topics) */
    void *gamma;
    /* out, where not NULL */
    void *statistics;                    /* (n_words, width): the rows, or zeros */
    /* (n_documents,): b E log p(x, z) + H(z) + E log p(theta) - E log q(theta), without the
     * normaliser of theta's prior */
    double *bounds;
    intptr_t n_iterations;
    /* choice of the algorithm for each document, and sizes */
    intptr_t longest;                    /* words of the longest document, plus 16 */
    /* whether all documents or no documents are optimised abreast; otherwise short ones are */
    int all_abreast, all_alone;
    /* words of the longest document that is optimised abreast; -1 if none is */
    intptr_t longest_abreast;
    /* if documents are sampled: their tokens, and for each entry of a sampled document the
     * number of tokens before it; documents in lanes, the shortest first; those in chains */
    intptr_t n_tokens;
    const intptr_t *first_tokens;
    const intptr_t *in_lanes;
    const intptr_t *in_chains;
    intptr_t n_in_lanes, n_in_chains;
    intptr_t longest_in_lanes, longest_in_chains; /* in tokens */
    intptr_t n_lane_groups;
    lda_scratch scratch;
} lda_block;
