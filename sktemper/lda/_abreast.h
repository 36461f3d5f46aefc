/* The iterations of many documents' gamma at once, each in a lane of vectors: no sum runs
 * across a vector, no topic is left out, and exp(digamma) is of whole vectors.  Documents
 * of few words and topics gain by it.
 *
 * A document that is done leaves its lane to the next one, the longest come first.  What a
 * lane computes depends on no other lane: words behind the end of a document count 0. */

/* Whether a document is one of them; this depends on itself alone. */
static inline int NAME(is_abreast)(const lda_block *block, intptr_t i)
{
#ifdef VECTOR_BYTES
    const intptr_t n_words = block->starts[i + 1] - block->starts[i];
    return n_words <= block->longest_abreast && !(block->sampled && block->sampled[i]);
#else
    (void)block;
    (void)i;
    return 0;
#endif
}

#ifdef VECTOR_BYTES
#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))
#define VECTOR NAME(abreast_vector)
#define MASK NAME(abreast_mask)
#define GROUP NAME(abreast_group)
typedef REAL VECTOR __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)),
                                   may_alias));
typedef INTEGER MASK __attribute__((vector_size(VECTOR_BYTES)));
#define LARGER(x, y)                                                                   \
    ((VECTOR)(((MASK)(x) & (MASK)((x) > (y))) | ((MASK)(y) & ~(MASK)((x) > (y)))))

typedef struct {
    DOCUMENT *d;                    /* what tells of a document that is done */
    const lda_block *block;
    intptr_t n_topics;
    intptr_t n_steps;               /* words of the longest document, in whole ABREASTs */
    int raised;                     /* whether b is not 1 */
    int sweep;                      /* whether masses at the final gamma are wanted */
    REAL *panels;                   /* (n_steps, n_topics, LANES): rows of the words */
    REAL *counts, *mass, *ratios;   /* (n_steps, LANES) */
    REAL *gamma, *weights, *sums;   /* (n_topics, LANES) */
    VECTOR top;                     /* the largest gamma */
    VECTOR shift;                   /* what the weights are scaled by, see `update_weights` */
    VECTOR change;                  /* sum |change of gamma| */
    MASK underflown;                /* where a mass has */
    REAL powers[LANES];             /* b */
    intptr_t documents[LANES];      /* -1: none */
    intptr_t n_words[LANES], iterations[LANES];
    int ending[LANES];              /* gamma is final, masses at it are next */
    intptr_t n_documents, next, n_busy; /* of `abreast_order` */
    intptr_t n_refused;             /* documents of a word whose mass underflowed */
    intptr_t n_iterations;
} GROUP;

/* weights = exp(b (digamma(gamma) - digamma(top))), less a factor where b is 1. */
static void NAME(weigh_abreast)(GROUP *g)
{
    const REAL *powers = g->powers, *top = (const REAL *)&g->top;
    const intptr_t n_places = g->n_topics * LANES;
    REAL *restrict weights = g->weights, shift[LANES];
    const REAL *restrict gamma = g->gamma;
    if (!g->raised) {
        VECTORISE
        for (int lane = 0; lane < LANES; lane++) {
            DIGAMMA_PARTS(top[lane], z, s, R);
            (void)z;
            (void)s;
            shift[lane] = R;
        }
        for (intptr_t at = 0; at < n_places; at += LANES)
            VECTORISE
            for (int lane = 0; lane < LANES; lane++) {
                DIGAMMA_PARTS(gamma[at + lane], z, s, R);
                weights[at + lane] =
                    z * (1 + s * DIGAMMA_H(s)) * NAME(exp)(shift[lane] - R);
            }
    } else {
        VECTORISE
        for (int lane = 0; lane < LANES; lane++)
            shift[lane] = NAME(digamma_one)(top[lane]);
        for (intptr_t at = 0; at < n_places; at += LANES)
            VECTORISE
            for (int lane = 0; lane < LANES; lane++)
                weights[at + lane] = NAME(exp)(
                    powers[lane] * (NAME(digamma_one)(gamma[at + lane]) - shift[lane]));
    }
    g->shift = *(const VECTOR *)shift;
}

/* ABREAST words of each lane: their masses, and sums += ratio * row. */
ALWAYS_INLINE void NAME(sweep_words)(GROUP *g, intptr_t t)
{
    const intptr_t n_topics = g->n_topics;
    const VECTOR *weights = (const VECTOR *)g->weights, *row[ABREAST];
    VECTOR *sums = (VECTOR *)g->sums, even[ABREAST], odd[ABREAST], ratio[ABREAST];
    intptr_t k = 0;
    for (int j = 0; j < ABREAST; j++) {
        row[j] = (const VECTOR *)g->panels + (t + j) * n_topics;
        even[j] = odd[j] = (VECTOR){0};
    }
    for (; k + 1 < n_topics; k += 2)
        for (int j = 0; j < ABREAST; j++) {
            even[j] += weights[k] * row[j][k];
            odd[j] += weights[k + 1] * row[j][k + 1];
        }
    for (int j = 0; j < ABREAST; j++) {
        const VECTOR counts = ((const VECTOR *)g->counts)[t + j];
        VECTOR mass = even[j] + odd[j];
        if (k < n_topics)
            mass += weights[k] * row[j][k];
        const MASK fine = (MASK)(mass > (VECTOR){0} + TINY_MASS);
        ratio[j] = (VECTOR)((MASK)(counts / mass) & fine);
        g->underflown |= ~fine & (MASK)(counts > (VECTOR){0});
        ((VECTOR *)g->mass)[t + j] = mass;
        ((VECTOR *)g->ratios)[t + j] = ratio[j];
    }
    for (k = 0; k < n_topics; k++) {
        VECTOR sum = sums[k];
        for (int j = 0; j < ABREAST; j++)
            sum += ratio[j] * row[j][k];
        sums[k] = sum;
    }
}

static void NAME(sweep_abreast)(GROUP *g)
{
    VECTOR *sums = (VECTOR *)g->sums;
    for (intptr_t k = 0; k < g->n_topics; k++)
        sums[k] = (VECTOR){0};
    g->underflown = (MASK){0};
    for (intptr_t t = 0; t < g->n_steps; t += ABREAST)
        NAME(sweep_words)(g, t);
}

/* gamma = prior + b weights * sums */
static void NAME(update_abreast)(GROUP *g)
{
    const REAL *prior = g->d->all_prior;
    const VECTOR *weights = (const VECTOR *)g->weights, *sums = (const VECTOR *)g->sums;
    const VECTOR powers = *(const VECTOR *)g->powers;
    VECTOR *gamma = (VECTOR *)g->gamma, change[2] = {{0}, {0}}, top[2] = {{0}, {0}};
    for (intptr_t k = 0; k < g->n_topics; k++) {
        const VECTOR new = prior[k] + powers * (weights[k] * sums[k]);
        const VECTOR more = new - gamma[k], less = gamma[k] - new;
        change[k % 2] += LARGER(more, less);
        top[k % 2] = LARGER(new, top[k % 2]);
        gamma[k] = new;
    }
    g->change = change[0] + change[1];
    g->top = LARGER(top[0], top[1]);
}

/* Writes down what a lane's document ends with. */
static void NAME(end_abreast)(GROUP *g, int lane)
{
    DOCUMENT *d = g->d;
    NAME(open_document)(d, g->documents[lane]);
    for (intptr_t k = 0; k < g->n_topics; k++) {
        d->weights[k] = g->weights[k * LANES + lane];
        d->sums[k] = g->sums[k * LANES + lane];
    }
    for (intptr_t k = g->n_topics; k < d->width; k++)
        d->weights[k] = d->sums[k] = 0;
    for (intptr_t n = 0; n < d->n_words; n++) {
        d->mass[n] = g->mass[n * LANES + lane];
        d->ratios[n] = g->ratios[n * LANES + lane];
    }
    const double shift = (double)((const REAL *)&g->shift)[lane];
    d->log_scale = g->raised ? (double)g->powers[lane] * shift : -shift;
    NAME(tell_document)(d, g->documents[lane], g->block->statistics != 0);
}

/* Puts the next document into a lane, or none. */
static void NAME(fill_abreast)(GROUP *g, int lane)
{
    const lda_block *block = g->block;
    const intptr_t n_topics = g->n_topics, width = block->width, had = g->n_words[lane];
    const int some = g->next < g->n_documents;
    const intptr_t i = some ? block->abreast_order[g->next++] : -1;
    const intptr_t start = some ? block->starts[i] : 0;
    const intptr_t n_words = some ? block->starts[i + 1] - start : 0;
    const REAL *counts = (const REAL *)block->counts + start;
    const REAL *gamma = (const REAL *)block->gamma + (some ? i : 0) * n_topics;
    const intptr_t own = block->temperature_per_document && some ? i : 0;
    REAL top = 0;
    g->documents[lane] = i;
    g->n_words[lane] = n_words;
    g->iterations[lane] = 0;
    g->ending[lane] = 0;
    g->n_busy += some;
    g->powers[lane] = (REAL)block->inverse_temperatures[own];
    for (intptr_t k = 0; k < n_topics; k++) {
        const REAL begin = some ? gamma[k] : 1;
        g->gamma[k * LANES + lane] = begin;
        top = begin > top ? begin : top;
    }
    ((REAL *)&g->top)[lane] = top;
    for (intptr_t n = 0; n < n_words; n++) {
        const REAL *row = (const REAL *)block->rows + block->slots[start + n] * width;
        REAL *panel = g->panels + n * n_topics * LANES + lane;
        g->counts[n * LANES + lane] = counts[n];
        if (block->temperature_per_document) {
            NAME(exp_scaled)(n_topics, row, block->inverse_temperatures[i], g->d->sums);
            row = g->d->sums;
        }
        for (intptr_t k = 0; k < n_topics; k++)
            panel[k * LANES] = row[k];
    }
    for (intptr_t n = n_words; n < had; n++)
        g->counts[n * LANES + lane] = 0;
}

/* After an iteration: which documents are done, and which come next. */
static void NAME(renew_abreast)(GROUP *g)
{
    const lda_block *block = g->block;
    intptr_t longest = 0;
    for (int lane = 0; lane < LANES; lane++) {
        const intptr_t i = g->documents[lane];
        if (i < 0)
            continue;
        const double change = (double)((const REAL *)&g->change)[lane];
        int done = g->ending[lane];
        if (g->underflown[lane]) {
            block->abreast_order[g->n_refused++] = i;
            done = 1;
        } else if (done) {
            NAME(end_abreast)(g, lane);
        } else if (++g->iterations[lane] >= block->max_iter
                   || !(change / (double)g->n_topics >= block->tol)) {
            REAL *gamma = (REAL *)block->gamma + i * g->n_topics;
            for (intptr_t k = 0; k < g->n_topics; k++)
                gamma[k] = g->gamma[k * LANES + lane];
            g->ending[lane] = g->sweep;
            done = !g->sweep;
        }
        if (done) {
            g->n_iterations += g->underflown[lane] ? 0 : g->iterations[lane];
            g->n_busy--;
            NAME(fill_abreast)(g, lane);
        }
        longest = g->n_words[lane] > longest ? g->n_words[lane] : longest;
    }
    g->n_steps = (longest + ABREAST - 1) / ABREAST * ABREAST;
}

/* Sorts the documents that are done abreast, the longest first; returns their number. */
static intptr_t NAME(sort_abreast)(const lda_block *block)
{
    intptr_t *order = block->abreast_order, *places = order + block->n_documents;
    intptr_t total = 0;
    for (intptr_t n = 0; n <= block->longest_abreast; n++)
        places[n] = 0;
    for (intptr_t i = 0; i < block->n_documents; i++)
        if (NAME(is_abreast)(block, i))
            places[block->starts[i + 1] - block->starts[i]]++;
    for (intptr_t n = block->longest_abreast; n >= 0; n--) {
        const intptr_t some = places[n];
        places[n] = total;
        total += some;
    }
    for (intptr_t i = 0; i < block->n_documents; i++)
        if (NAME(is_abreast)(block, i))
            order[places[block->starts[i + 1] - block->starts[i]]++] = i;
    return total;
}

/* Brings to their optimum the documents for which this is the better way; returns how many
 * are left to do of them, the first of `abreast_order`, or -1 when told to stop. */
static intptr_t NAME(fit_abreast)(DOCUMENT *d, lda_block *block)
{
    GROUP g = {0};
    g.n_documents = NAME(sort_abreast)(block);
    if (g.n_documents == 0)
        return 0;
    const intptr_t *first = block->starts + block->abreast_order[0];
    const intptr_t most = (first[1] - first[0] + ABREAST - 1) / ABREAST * ABREAST;
    REAL *scratch = block->abreast_scratch;
    g.d = d;
    g.block = block;
    g.n_topics = block->n_topics;
    g.raised = block->temperature_per_document || block->inverse_temperatures[0] != 1.0;
    g.sweep = block->statistics || block->bounds;
    g.gamma = scratch;
    g.weights = g.gamma + g.n_topics * LANES;
    g.sums = g.weights + g.n_topics * LANES;
    g.counts = g.sums + g.n_topics * LANES;
    g.mass = g.counts + most * LANES;
    g.ratios = g.mass + most * LANES;
    g.panels = g.ratios + most * LANES;
    memset(g.counts, 0, (size_t)(most * LANES) * sizeof(REAL));
    memset(g.panels, 0, (size_t)(most * g.n_topics * LANES) * sizeof(REAL));
    g.n_steps = most;
    for (int lane = 0; lane < LANES; lane++)
        NAME(fill_abreast)(&g, lane);
    while (g.n_busy) {
        if (*block->stop)
            return -1;
        NAME(weigh_abreast)(&g);
        NAME(sweep_abreast)(&g);
        NAME(update_abreast)(&g);
        NAME(renew_abreast)(&g);
    }
    block->n_iterations += g.n_iterations;
    return g.n_refused;
}
#undef LANES
#undef VECTOR
#undef MASK
#undef GROUP
#undef LARGER
#else
static intptr_t NAME(fit_abreast)(DOCUMENT *d, lda_block *block)
{
    (void)d;
    (void)block;
    return 0;
}
#endif
