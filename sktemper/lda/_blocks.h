/* A block of documents of latent Dirichlet allocation.  `void *` stands for arrays of the
 * loop's floating type.  A row of topics has `width` entries, the number of topics rounded up
 * to whole SIMD_BYTES. */

/* Documents are sampled in lanes if a row of topics has at most MOST_LANE_BYTES, and the
 * number of tokens times that of topics is at most MOST_LANE_PLACES.  Other documents are
 * sampled in chains.  Constants in this file are macros, which setup.py declares to Cython. */
#define MOST_LANE_BYTES 1024
#define MOST_LANE_PLACES 65536
/* Number of partial sums over the topics, which hide the latency of additions.  Sum c adds the
 * topics c, c + LANE_SUMS, c + 2 LANE_SUMS, ... */
#define LANE_SUMS 2
/* Number of groups of documents in lanes that are sampled at once.  With more than
 * FEW_LANE_TOPICS topics it is half of this, and with more than SOME_LANE_TOPICS it is one,
 * so that the memory of the groups fits into the nearest caches. */
#define LANE_GROUPS 4
#define FEW_LANE_TOPICS 48
#define SOME_LANE_TOPICS 128

/* Scratch memory of the local step.  `_scratch.h` divides one piece of memory into these
 * arrays.  The arrays of routes that are not taken stay unset. */
typedef struct {
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
    /* for documents abreast */
    intptr_t *abreast_order;             /* (n_documents + longest_abreast + 1,) */
    void *abreast_scratch;               /* (4 topics + words (3 + topics), lanes) */
    /* for documents sampled in lanes */
    void *lane_prior;                    /* (n_topics in whole LANE_SUMS, and 1) */
    /* for each group, of documents with at most this number of tokens: */
    void *lane_panels;                   /* (tokens, height, SIMD_BYTES) */
    void *lane_scratch;                  /* (4, height and 1, SIMD_BYTES) */
    void *lane_places;                   /* (1 + n_kept, tokens, SIMD_BYTES) */
    int32_t *lane_slots;                 /* (tokens, 16), and one row */
    /* for documents sampled in chains */
    int32_t *chain_topics;               /* (4, n_topics), zeros */
    int32_t *chain_tokens;               /* (tokens of the longest document in a chain,) */
    void *chain_weights;                 /* (3, width), zeros */
} lda_scratch;

/* Input and output of `lda_local_step`. */
typedef struct {
    intptr_t n_documents, n_words, n_topics, width;
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
    const double *doc_topic_prior;
    const double *inverse_temperatures;  /* one for all documents, or for each */
    int temperature_per_document;
    const double *factors;               /* factor of each document's statistics */
    double tol;
    intptr_t max_iter;
    double drop_tol;                     /* leave topics out below this times prior */
    const volatile int *stop;
    /* if not NULL: whether each document's statistics and gamma are sampled */
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
    /* routes and sizes */
    intptr_t longest;                    /* document, and 16 words more */
    /* 1: all documents are optimized abreast; -1: none; 0: those with at most
     * `longest_abreast` words, which is -1 for none */
    int abreast;
    intptr_t longest_abreast;
    /* if documents are sampled: in lanes, the shortest first, and in chains */
    const intptr_t *in_lanes;
    const intptr_t *in_chains;
    intptr_t n_in_lanes, n_in_chains;
    intptr_t longest_in_lanes, longest_in_chains; /* in tokens */
    intptr_t n_lane_groups;
    lda_scratch scratch;
} lda_block;
