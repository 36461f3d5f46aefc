/* A document, and sweeps over its words.  For each word, a sweep computes the mass
 * sum_k weight_k row_k, which normalises phi, and ratio = count / mass.  It then computes
 * sums = sum_n ratio_n row_n, from which gamma follows. */

#define DOCUMENT NAME(document)

typedef struct {
    const lda_block *block;
    intptr_t n_words, n_topics, width;
    intptr_t n_places;       /* n_topics rounded up to PANEL, for whole vectors */
    const REAL *rows;        /* exp(b E log beta), scaled */
    const intptr_t *slots;   /* row of each word */
    const intptr_t *words;   /* index of each word in block->words */
    REAL *counts;            /* padded with zeros */
    double b;
    const REAL *prior;       /* padded with ones, like gamma */
    REAL *gamma;
    REAL *weights;           /* exp(b E log theta), scaled by exp(-log_scale) */
    double log_scale;
    REAL *sums;
    REAL *ratios;            /* count / mass, or 0 where the mass underflowed */
    REAL *mass;              /* the normalisers of phi, scaled */
    const REAL *zeros;       /* a row of zeros */
    double *phi;             /* (n_topics,): phi of one word that underflowed */
    /* while topics are skipped: */
    int may_drop;
    int32_t *kept;           /* topics that are not skipped; NULL: all */
    REAL *panels;            /* rows of the kept topics, PANEL words side by side */
    REAL *all_gamma;
    REAL *all_prior;
} DOCUMENT;

/* With at most this number of topics, panels are used in all iterations. */
#define FEW_TOPICS 48
/* Number of words of a panel.  A panel has the rows of some words side by side: the entries
 * of one topic are adjacent and have SIMD_BYTES. */
#define PANEL ((int)(SIMD_BYTES / sizeof(REAL)))

/* Fills gamma and the prior with ones after the n topics, and returns the padded length.
 * This padding never changes. */
static intptr_t NAME(pad)(intptr_t n, REAL *gamma, REAL *prior)
{
    for (; n % PANEL; n++)
        gamma[n] = prior[n] = 1;
    return n;
}

/* Computes phi of a word whose mass underflowed, in logarithms.  Returns the logarithm of the
 * normaliser of phi, without the term digamma(sum gamma) that all words share.  Underflow is
 * rare: it means that the document has none of the word's topics. */
static double NAME(underflown_phi)(DOCUMENT *d, intptr_t word)
{
    double *phi = d->phi;
    NAME(lambda_row)(d->block, word, phi);
    double top = -INFINITY, total = 0;
    for (intptr_t k = 0; k < d->n_topics; k++) {
        phi[k] = d->b * (digamma_one_f64(phi[k]) - d->block->digamma_totals[k]
                         + digamma_one_f64((double)d->gamma[k]));
        top = phi[k] > top ? phi[k] : top;
    }
    for (intptr_t k = 0; k < d->n_topics; k++) {
        phi[k] = exp(phi[k] - top);
        total += phi[k];
    }
    for (intptr_t k = 0; k < d->n_topics; k++)
        phi[k] /= total;
    return top + log(total);
}

/* Computes ratio = count / mass for n words.  If the mass of a word is not larger than
 * TINY_MASS, its ratio is 0, and the caller processes the word in logarithms.  Returns the
 * number of such words whose count is positive. */
static inline int NAME(count_ratios)(int n, const REAL *restrict counts,
                                     const REAL *restrict mass, REAL *restrict ratios)
{
    int underflown = 0;
    VECTORISE_REDUCTION(+ : underflown)
    for (int j = 0; j < n; j++) {
        const int fine = mass[j] > TINY_MASS;
        ratios[j] = fine ? counts[j] / mass[j] : 0;
        underflown += !fine && counts[j] > 0;
    }
    return underflown;
}

/* PLACES: elements of a vector of the instruction set.  PARTS: vectors of a row of a panel.
 * MOST: panels that a sweep processes at once; more would not fit into registers.  ROWS: rows
 * that it processes at once.  Without vectors, all of this has a REAL for a vector. */
#define PLACES ((int)(sizeof(VECTOR) / sizeof(REAL)))
#define PARTS (SIMD_BYTES / (int)sizeof(VECTOR))
#define MOST (PLACES > 1 ? (int)sizeof(VECTOR) / 16 : 1)
#define ROWS (PLACES > 1 ? PLACES : 4)
#define FEW (ROWS < 4 ? ROWS : 4)
#define VECTOR NAME(vector)
#define MASK NAME(mask)
VECTOR_TYPE(VECTOR, REAL, VECTOR_BYTES);
VECTOR_TYPE(MASK, INTEGER, VECTOR_BYTES);
#ifdef VECTOR_BYTES
/* Returns counts / mass, or 0 where a mass is not larger than TINY_MASS.  Sets `underflown` to
 * -1 where the count is then positive. */
ALWAYS_INLINE VECTOR NAME(ratios_of)(VECTOR counts, VECTOR mass, MASK *underflown)
{
    const MASK fine = (MASK)(mass > (VECTOR){0} + TINY_MASS);
    *underflown |= ~fine & (MASK)(counts > (VECTOR){0});
    return (VECTOR)((MASK)(counts / mass) & fine);
}

/* Adds adjacent elements of n vectors.  The sums fill half as many vectors, rounded up; returns
 * the number of these vectors. */
ALWAYS_INLINE int NAME(add_neighbours)(VECTOR *v, const int n)
{
    for (int i = 0; i < n / 2; i++)
        v[i] = ADD_NEIGHBOURS(v[2 * i], v[2 * i + 1]);
    if (n % 2)
        v[n / 2] = ADD_NEIGHBOURS(v[n - 1], (VECTOR){0});
    return (n + 1) / 2;
}

/* Writes the sums of the elements of n vectors, in order; `sums` has at least PLACES places. */
ALWAYS_INLINE void NAME(sums_of)(VECTOR *v, int n, REAL *sums)
{
    n = NAME(add_neighbours)(v, n);
    if (PLACES > 2)
        n = NAME(add_neighbours)(v, n);
    if (PLACES > 4)
        n = NAME(add_neighbours)(v, n);
    if (PLACES > 8)
        n = NAME(add_neighbours)(v, n);
    *(VECTOR *)sums = v[0];
}
#else
static inline REAL NAME(ratios_of)(REAL counts, REAL mass, INTEGER *underflown)
{
    *underflown |= !(mass > TINY_MASS) && counts > 0;
    return mass > TINY_MASS ? counts / mass : 0;
}

static inline void NAME(sums_of)(VECTOR *v, int n, REAL *sums)
{
    memcpy(sums, v, (size_t)n * sizeof(REAL));
}
#endif

/* Processes the words n .. n + m of a sweep: computes their masses, and adds ratio * row to the
 * sums while the rows are in the first cache.  Words after the end of the document have zero
 * rows and zero counts. */
ALWAYS_INLINE int NAME(sweep_rows)(DOCUMENT *d, intptr_t n, const int m)
{
    /* local copies stay in registers, although pointers to VECTOR may alias any memory */
    const intptr_t width = d->width;
    const REAL *weights = d->weights, *row[ROWS];
    REAL *sums = d->sums, mass[ROWS], ratio[ROWS];
    VECTOR v[ROWS];
    for (int j = 0; j < m; j++) {
        row[j] = n + j < d->n_words ? d->rows + d->slots[n + j] * width : d->zeros;
        v[j] = (VECTOR){0};
    }
    for (intptr_t k = 0; k < width; k += PLACES) {
        const VECTOR w = *(const VECTOR *)(weights + k);
        for (int j = 0; j < m; j++)
            v[j] += w * *(const VECTOR *)(row[j] + k);
    }
    NAME(sums_of)(v, m, mass);
    const int underflown = NAME(count_ratios)(m, d->counts + n, mass, ratio);
    for (int j = 0; j < m; j++) {
        d->mass[n + j] = mass[j];
        d->ratios[n + j] = ratio[j];
    }
    for (intptr_t k = 0; k < width; k += PLACES) {
        VECTOR even = (VECTOR){0}, odd = (VECTOR){0};
        for (int j = 0; j < m; j += 2) {
            even += ratio[j] * *(const VECTOR *)(row[j] + k);
            odd += ratio[j + 1] * *(const VECTOR *)(row[j + 1] + k);
        }
        /* The sum of a long document is large: it is rounded once here, instead of m times. */
        *(VECTOR *)(sums + k) += even + odd;
    }
    return underflown;
}

/* Computes sums = sum_n ratio_n row_n at the current weights.  FEW rows are processed
 * at a time at the end of a document, or if ROWS rows do not fit into the first cache. */
static intptr_t NAME(sweep)(DOCUMENT *d)
{
    intptr_t underflown = 0, n = 0;
    for (intptr_t k = 0; k < d->width; k++)
        d->sums[k] = 0;
    if (d->width * ROWS * sizeof(REAL) <= FIRST_CACHE)
        for (; n + ROWS <= d->n_words; n += ROWS)
            underflown += NAME(sweep_rows)(d, n, ROWS);
    for (; n < d->n_words; n += FEW)
        underflown += NAME(sweep_rows)(d, n, FEW);
    return underflown;
}

/* Processes m panels of a sweep, as `sweep_rows` processes m rows.  Each element of a vector
 * belongs to one word, so that no sum over the elements is needed for a mass. */
ALWAYS_INLINE void NAME(sweep_some)(DOCUMENT *d, intptr_t n, const VECTOR *panel,
                                    const int m, MASK *underflown)
{
    const intptr_t n_topics = d->n_topics;
    const REAL *weights = d->weights;
    VECTOR *totals = d->block->scratch.panel_sums, even[MOST * PARTS], odd[MOST * PARTS];
    VECTOR ratio[MOST * PARTS];
    const VECTOR *at[MOST];
    intptr_t k = 0;
    for (int p = 0; p < m; p++)
        at[p] = panel + p * n_topics * PARTS;
    for (int i = 0; i < m * PARTS; i++)
        even[i] = odd[i] = (VECTOR){0};
    for (; k + 1 < n_topics; k += 2)
        for (int p = 0; p < m; p++)
            for (int i = 0; i < PARTS; i++) {
                even[p * PARTS + i] += weights[k] * at[p][k * PARTS + i];
                odd[p * PARTS + i] += weights[k + 1] * at[p][(k + 1) * PARTS + i];
            }
    for (int p = 0; p < m; p++)
        for (int i = 0; i < PARTS; i++) {
            const VECTOR counts = ((const VECTOR *)(d->counts + n))[p * PARTS + i];
            VECTOR mass = even[p * PARTS + i] + odd[p * PARTS + i];
            if (k < n_topics)
                mass += weights[k] * at[p][k * PARTS + i];
            ratio[p * PARTS + i] = NAME(ratios_of)(counts, mass, underflown);
        }
    for (k = 0; k < n_topics; k++)
        for (int i = 0; i < PARTS; i++) {
            VECTOR total = totals[k * PARTS + i];
            for (int p = 0; p < m; p++)
                total += ratio[p * PARTS + i] * at[p][k * PARTS + i];
            totals[k * PARTS + i] = total;
        }
}

/* Computes the sums of n topics by adding, for each topic, the elements of its vectors. */
ALWAYS_INLINE void NAME(sum_panels)(const VECTOR *totals, const int n, REAL *sums)
{
    VECTOR v[PLACES];
    for (int j = 0; j < n; j++) {
        v[j] = totals[j * PARTS];
        for (int i = 1; i < PARTS; i++)
            v[j] += totals[j * PARTS + i];
    }
    NAME(sums_of)(v, n, sums);
}

static intptr_t NAME(sweep_panels)(DOCUMENT *d)
{
    const intptr_t n_topics = d->n_topics, whole = d->n_words - (MOST - 1) * PANEL;
    const VECTOR *panel = (const VECTOR *)d->panels;
    VECTOR *totals = d->block->scratch.panel_sums;
    MASK underflown = {0};
    intptr_t n = 0, k = 0;
    for (intptr_t i = 0; i < n_topics * PARTS; i++)
        totals[i] = (VECTOR){0};
    for (; n < whole; n += MOST * PANEL, panel += MOST * n_topics * PARTS)
        NAME(sweep_some)(d, n, panel, MOST, &underflown);
    for (; MOST > 2 && n < d->n_words - PANEL; n += 2 * PANEL, panel += 2 * n_topics * PARTS)
        NAME(sweep_some)(d, n, panel, MOST > 2 ? 2 : 1, &underflown);
    for (; n < d->n_words; n += PANEL, panel += n_topics * PARTS)
        NAME(sweep_some)(d, n, panel, 1, &underflown);
    for (; k + PLACES <= n_topics; k += PLACES)
        NAME(sum_panels)(totals + k * PARTS, PLACES, d->sums + k);
    for (intptr_t j = n_topics; j % PLACES; j++)
        for (int i = 0; i < PARTS; i++)
            totals[j * PARTS + i] = (VECTOR){0};
    if (n_topics - k > PLACES / 2)
        NAME(sum_panels)(totals + k * PARTS, PLACES, d->sums + k);
    else if (k < n_topics)
        NAME(sum_panels)(totals + k * PARTS, PLACES / 2, d->sums + k);
    for (k = n_topics; k < d->n_places; k++)
        d->sums[k] = 0;
    intptr_t any = 0;
    for (int i = 0; i < PLACES; i++)
        any |= ((const INTEGER *)&underflown)[i] != 0;
    return any;
}
