/* The variational iterations of several short documents at once, each in a lane of vectors.
 * There are no sums over the elements of a vector, no topic is skipped, and exp(digamma) is
 * computed for whole vectors.  This is faster for documents with few words and topics.
 *
 * When a document is finished, the next one takes its lane; the longest documents come
 * first.  The result of a lane does not depend on other lanes, because words after the
 * end of a document have the count 0. */

/* Additional words and topics of the scratch memory, because ABREAST and CHUNK below
 * round numbers up. */
#define MOST_ABREAST 8
/* Largest numbers of bytes of a row, and of all rows of a document, for which this algorithm
 * was faster in measurements. */
#define MOST_ROW_BYTES (VECTOR_BYTES == 16 ? 160 : 400)
#define MOST_DOCUMENT_BYTES \
    (VECTOR_BYTES == 64 ? 14336 : VECTOR_BYTES == 32 ? 8192 : 4096)

/* Returns the largest number of words of a document for this algorithm; -1 means that no
 * document uses it. */
static intptr_t NAME(longest_abreast)(const lda_block *block)
{
#ifdef VECTOR_BYTES
    const intptr_t row = block->n_topics * (intptr_t)sizeof(REAL), longest = block->longest;
    const intptr_t most = block->all_abreast ? longest : MOST_DOCUMENT_BYTES / row;
    if (block->max_iter > 0 && !block->all_alone
        && (block->all_abreast || row <= MOST_ROW_BYTES))
        return most < longest ? most : longest;
#endif
    (void)block;
    return -1;
}

/* Whether a document uses this algorithm.  This does not depend on other documents. */
static inline int NAME(is_abreast)(const lda_block *block, intptr_t i)
{
    const intptr_t n_words = block->starts[i + 1] - block->starts[i];
    return n_words <= block->longest_abreast && !(block->sampled && block->sampled[i]);
}

#ifdef VECTOR_BYTES
/* Number of lanes.  It is small, so that the rows of all lanes fit into the first cache, and
 * lanes that run out of documents do not wait long for the others.  Arrays with one number
 * for each word and lane, such as masses, have SHARE words in a vector. */
#define LANES (PLACES < 4 ? PLACES : 4)
#define SHARE (PLACES / LANES)
/* Number of topics of a lane that are adjacent in memory.  Rows are copied into lanes in such
 * chunks.  VECTORS vectors have a chunk of each lane. */
#define CHUNK ((int)(16 / sizeof(REAL)))
#define VECTORS (CHUNK / SHARE)
/* Number of words that a sweep processes at once; more would not fit into registers. */
#define ABREAST (MOST_ABREAST / VECTORS)
#define GROUP NAME(abreast_group)

/* Returns the larger of two values in each lane. */
ALWAYS_INLINE VECTOR NAME(larger)(VECTOR x, VECTOR y)
{
    const MASK is_larger = (MASK)(x > y);
    return (VECTOR)(((MASK)x & is_larger) | ((MASK)y & ~is_larger));
}

/* Lanes whose values fill the elements of vector j of `spread`. */
#define FILL_f64(i) i, i
#define FILL_f32(i) i, i, i, i
#define SPREAD_16(i) NAME(FILL)(i)
#define SPREAD_32(i) SPREAD_16(i), SPREAD_16(i + 1)
#define SPREAD_64(i) SPREAD_32(i), SPREAD_32(i + 2)
#define SPREAD(j) JOIN(SPREAD, VECTOR_BYTES)((j) * (VECTOR_BYTES / 16))

typedef struct {
    DOCUMENT *d;                    /* a finished document, for its statistics and bound */
    const lda_block *block;
    intptr_t n_topics, height;      /* height: n_topics rounded up to CHUNK */
    intptr_t n_steps;               /* words of the longest document, rounded up to ABREAST */
    int raised;                     /* whether b, 1 / temperature, may differ from 1 */
    int sweep;                      /* whether masses at the final gamma are wanted */
    REAL *panels;                   /* (n_steps, height, LANES), in CHUNKs: rows of words */
    REAL *counts, *mass, *ratios;   /* (n_steps, LANES) */
    REAL *gamma, *weights, *sums, *prior; /* (height, LANES), in CHUNKs */
    VECTOR top;                     /* the largest gamma */
    VECTOR shift;                   /* determines the scale of weights, see `end_abreast` */
    VECTOR change;                  /* sum |change of gamma| */
    MASK underflown;                /* not 0 where a mass has underflowed */
    REAL powers[PLACES];            /* b */
    intptr_t documents[LANES];      /* -1: no document */
    intptr_t n_words[LANES], iterations[LANES];
    int ending[LANES];              /* whether gamma is final, but not yet the masses */
    /* length of `abreast_order`, next index in it, and number of lanes with a document */
    intptr_t n_documents, next, n_busy;
    intptr_t n_refused;             /* number of documents with an underflowed mass */
    intptr_t n_iterations;
} GROUP;

/* Writes CHUNK vectors, in which each element of x is repeated CHUNK times. */
ALWAYS_INLINE void NAME(spread)(VECTOR x, VECTOR *out)
{
    out[0] = SHUFFLE(x, x, SPREAD(0));
    out[1] = SHUFFLE(x, x, SPREAD(1));
    if (CHUNK == 4) {
        out[2 % CHUNK] = SHUFFLE(x, x, SPREAD(2));
        out[3 % CHUNK] = SHUFFLE(x, x, SPREAD(3));
    }
}

/* Returns the sum of each CHUNK of CHUNK vectors. */
ALWAYS_INLINE VECTOR NAME(sums_of_chunks)(const VECTOR *v)
{
    const VECTOR first = ADD_NEIGHBOURS(v[0], v[1]);
    if (CHUNK == 2)
        return first;
    const VECTOR second = ADD_NEIGHBOURS(v[2 % CHUNK], v[3 % CHUNK]);
    return ADD_NEIGHBOURS(first, second);
}

ALWAYS_INLINE VECTOR NAME(larger_neighbours)(VECTOR x, VECTOR y)
{
    const VECTOR even = EVENS(x, y), odd = ODDS(x, y);
    return NAME(larger)(even, odd);
}

ALWAYS_INLINE VECTOR NAME(largest_of_chunks)(const VECTOR *v)
{
    const VECTOR first = NAME(larger_neighbours)(v[0], v[1]);
    if (CHUNK == 2)
        return first;
    return NAME(larger_neighbours)(
        first, NAME(larger_neighbours)(v[2 % CHUNK], v[3 % CHUNK]));
}

/* weights = exp(b digamma(gamma)), divided by a common factor of a lane. */
static void NAME(weigh_abreast)(GROUP *g)
{
    const int raised = g->raised;
    const REAL *top = (const REAL *)&g->top;
    const intptr_t n_places = g->height * LANES;
    const REAL *restrict gamma = g->gamma;
    REAL *restrict weights = g->weights, shift[PLACES];
    VECTOR shifts[CHUNK], powers[CHUNK];
    if (raised)
        NAME(digamma)(PLACES, top, shift);
    else
        VECTORISE
        for (int i = 0; i < PLACES; i++)
            shift[i] = NAME(digamma_parts_of)(top[i]).R;
    g->shift = *(const VECTOR *)shift;
    NAME(spread)(g->shift, shifts);
    NAME(spread)(*(const VECTOR *)g->powers, powers);
    const REAL *restrict all_shifts = (const REAL *)shifts;
    const REAL *restrict all_powers = (const REAL *)powers;
    for (intptr_t at = 0; at < n_places; at += CHUNK * LANES)
        if (raised)
            VECTORISE
            for (int i = 0; i < CHUNK * LANES; i++)
                weights[at + i] = NAME(exp)(
                    all_powers[i] * (NAME(digamma_one)(gamma[at + i]) - all_shifts[i]));
        else
            VECTORISE
            for (int i = 0; i < CHUNK * LANES; i++)
                weights[at + i] = NAME(exp_digamma_one)(gamma[at + i], all_shifts[i]);
}

/* Processes ABREAST words of each lane: computes masses, and adds ratio * row to the sums. */
ALWAYS_INLINE void NAME(sweep_words)(GROUP *g, intptr_t t)
{
    const intptr_t height = g->height;
    const VECTOR *weights = (const VECTOR *)g->weights, *row[ABREAST];
    VECTOR *sums = (VECTOR *)g->sums, all[ABREAST * VECTORS], ratio[ABREAST * VECTORS];
    MASK underflown = {0};
    for (int w = 0; w < ABREAST; w++)
        row[w] = (const VECTOR *)g->panels + (t + w) * (height / SHARE);
    for (int i = 0; i < ABREAST * VECTORS; i++)
        all[i] = (VECTOR){0};
    for (intptr_t at = 0; at < height / SHARE; at += VECTORS)
        for (int j = 0; j < VECTORS; j++)
            for (int w = 0; w < ABREAST; w++)
                all[w * VECTORS + j] += weights[at + j] * row[w][at + j];
    for (int w = 0; w < ABREAST; w += SHARE) {
        const intptr_t place = (t + w) / SHARE;
        const VECTOR counts = ((const VECTOR *)g->counts)[place];
        const VECTOR mass = NAME(sums_of_chunks)(all + w * VECTORS);
        const VECTOR ratios = NAME(ratios_of)(counts, mass, &underflown);
        ((VECTOR *)g->mass)[place] = mass;
        ((VECTOR *)g->ratios)[place] = ratios;
        NAME(spread)(ratios, ratio + w * VECTORS);
    }
    g->underflown |= underflown;
    for (intptr_t at = 0; at < height / SHARE; at += VECTORS)
        for (int j = 0; j < VECTORS; j++) {
            VECTOR sum = sums[at + j];
            for (int w = 0; w < ABREAST; w++)
                sum += ratio[w * VECTORS + j] * row[w][at + j];
            sums[at + j] = sum;
        }
}

static void NAME(sweep_abreast)(GROUP *g)
{
    VECTOR *sums = (VECTOR *)g->sums;
    for (intptr_t at = 0; at < g->height / SHARE; at++)
        sums[at] = (VECTOR){0};
    g->underflown = (MASK){0};
    for (intptr_t t = 0; t < g->n_steps; t += ABREAST)
        NAME(sweep_words)(g, t);
}

/* gamma = prior + b weights * sums */
static void NAME(update_abreast)(GROUP *g)
{
    const VECTOR *weights = (const VECTOR *)g->weights, *sums = (const VECTOR *)g->sums;
    const VECTOR *prior = (const VECTOR *)g->prior;
    VECTOR *gamma = (VECTOR *)g->gamma, change[CHUNK], top[CHUNK], powers[CHUNK];
    NAME(spread)(*(const VECTOR *)g->powers, powers);
    for (int j = 0; j < CHUNK; j++)
        change[j] = top[j] = (VECTOR){0};
    for (intptr_t at = 0; at < g->height / SHARE; at += VECTORS)
        for (int j = 0; j < VECTORS; j++) {
            const VECTOR old = gamma[at + j];
            const VECTOR new = prior[at + j] + powers[j] * (weights[at + j] * sums[at + j]);
            const VECTOR more = new - old, less = old - new;
            change[j] += NAME(larger)(more, less);
            top[j] = NAME(larger)(new, top[j]);
            gamma[at + j] = new;
        }
    for (int j = VECTORS; j < CHUNK; j++) {
        change[j] = change[j % VECTORS];
        top[j] = top[j % VECTORS];
    }
    g->change = NAME(sums_of_chunks)(change);
    g->top = NAME(largest_of_chunks)(top);
}

/* Copies the row of topics of a lane's document out of chunks, or into chunks. */
ALWAYS_INLINE void NAME(copy_lane)(const GROUP *g, const int into, int lane, REAL *chunks,
                                   REAL *row)
{
    for (intptr_t k = 0; k < g->height; k += CHUNK) {
        REAL *chunk = chunks + k * LANES + lane * CHUNK;
        memcpy(into ? chunk : row + k, into ? row + k : chunk, 16);
    }
}

/* Stores the result of a lane's document. */
static void NAME(end_abreast)(GROUP *g, int lane)
{
    DOCUMENT *d = g->d;
    NAME(open_document)(d, g->documents[lane]);
    NAME(copy_lane)(g, 0, lane, g->weights, d->weights);
    NAME(copy_lane)(g, 0, lane, g->sums, d->sums);
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

/* Puts the next document, if there is one, into a lane. */
static void NAME(fill_abreast)(GROUP *g, int lane)
{
    const lda_block *block = g->block;
    const int some = g->next < g->n_documents;
    const intptr_t i = some ? block->scratch.abreast_order[g->next++] : -1;
    const intptr_t n_topics = g->n_topics, width = block->width, had = g->n_words[lane];
    const intptr_t start = i < 0 ? 0 : block->starts[i];
    const intptr_t n_words = i < 0 ? 0 : block->starts[i + 1] - start;
    const REAL *counts = (const REAL *)block->counts + start;
    REAL *gamma = g->d->sums;
    g->n_busy += some;
    g->documents[lane] = i;
    g->n_words[lane] = n_words;
    g->iterations[lane] = g->ending[lane] = 0;
    for (intptr_t n = n_words; n < had; n++)
        g->counts[n * LANES + lane] = 0;
    if (i < 0)
        return;
    const double b = block->inverse_temperatures[block->temperature_per_document ? i : 0];
    g->powers[lane] = (REAL)b;
    memcpy(gamma, (const REAL *)block->gamma + i * n_topics, n_topics * sizeof(REAL));
    for (intptr_t k = n_topics; k < g->height; k++)
        gamma[k] = g->d->all_prior[0]; /* padding, which does not change */
    NAME(copy_lane)(g, 1, lane, g->gamma, gamma);
    ((REAL *)&g->top)[lane] = NAME(largest)(g->height, gamma);
    if (block->prior_rows) {
        NAME(fill_prior)(block, i, gamma); /* the padding stays */
        NAME(copy_lane)(g, 1, lane, g->prior, gamma);
    }
    for (intptr_t n = 0; n < n_words; n++) {
        REAL *row = (REAL *)block->scratch.rows + block->slots[start + n] * width;
        g->counts[n * LANES + lane] = counts[n];
        if (block->temperature_per_document) {
            NAME(exp_scaled)(n_topics, row, b, g->d->weights);
            row = g->d->weights;
        }
        NAME(copy_lane)(g, 1, lane, g->panels + n * g->height * LANES, row);
    }
}

/* Replaces finished documents by the next documents, after an iteration. */
static void NAME(renew_abreast)(GROUP *g)
{
    const lda_block *block = g->block;
    INTEGER underflown[LANES] = {0};
    intptr_t longest = 0;
    for (int i = 0; i < PLACES; i++)
        underflown[i % LANES] |= g->underflown[i];
    for (int lane = 0; lane < LANES; lane++) {
        const intptr_t i = g->documents[lane];
        if (i < 0)
            continue;
        const double change = (double)((const REAL *)&g->change)[lane];
        int done = g->ending[lane];
        if (underflown[lane]) {
            block->scratch.abreast_order[g->n_refused++] = i;
            done = 1;
        } else if (done) {
            NAME(end_abreast)(g, lane);
        } else if (++g->iterations[lane] >= block->max_iter
                   || !(change / (double)g->n_topics >= block->tol)) {
            REAL *gamma = (REAL *)block->gamma + i * g->n_topics;
            NAME(copy_lane)(g, 0, lane, g->gamma, g->d->sums);
            memcpy(gamma, g->d->sums, g->n_topics * sizeof(REAL));
            g->ending[lane] = g->sweep;
            done = !g->sweep;
        }
        if (done) {
            g->n_iterations += underflown[lane] ? 0 : g->iterations[lane];
            g->n_busy--;
            NAME(fill_abreast)(g, lane);
        }
        longest = g->n_words[lane] > longest ? g->n_words[lane] : longest;
    }
    g->n_steps = (longest + ABREAST - 1) / ABREAST * ABREAST;
}

/* Sorts the documents for this algorithm, the longest first, and returns their number. */
static intptr_t NAME(sort_abreast)(const lda_block *block)
{
    intptr_t *order = block->scratch.abreast_order, total = 0;
    intptr_t *places = order + (block->end - block->first);
    for (intptr_t i = block->first; i < block->end; i++)
        if (NAME(is_abreast)(block, i))
            places[block->starts[i + 1] - block->starts[i]]++;
    for (intptr_t n = block->longest_abreast; n >= 0; n--) {
        const intptr_t some = places[n];
        places[n] = total;
        total += some;
    }
    for (intptr_t i = block->first; i < block->end; i++)
        if (NAME(is_abreast)(block, i))
            order[places[block->starts[i + 1] - block->starts[i]]++] = i;
    return total;
}

/* Sets the arrays of a group, and their initial contents. */
static void NAME(lay_out_abreast)(GROUP *g, const lda_block *block)
{
    const intptr_t *first = block->starts + block->scratch.abreast_order[0];
    const intptr_t height = (block->n_topics + CHUNK - 1) / CHUNK * CHUNK;
    const intptr_t plane = height * LANES;
    g->block = block;
    g->n_topics = block->n_topics;
    g->height = height;
    g->n_steps = (first[1] - first[0] + ABREAST - 1) / ABREAST * ABREAST;
    g->raised = block->temperature_per_document || block->inverse_temperatures[0] != 1.0;
    g->sweep = block->statistics || block->bounds;
    g->gamma = block->scratch.abreast_scratch;
    g->weights = g->gamma + plane;
    g->sums = g->weights + plane;
    g->prior = g->sums + plane;
    g->counts = g->prior + plane;
    g->mass = g->counts + g->n_steps * LANES;
    g->ratios = g->mass + g->n_steps * LANES;
    g->panels = g->ratios + g->n_steps * LANES;
    memset(g->counts, 0, (size_t)(g->n_steps * (3 * LANES + plane)) * sizeof(REAL));
    for (intptr_t i = 0; i < plane; i++) {
        const intptr_t k = i / (CHUNK * LANES) * CHUNK + i % CHUNK;
        g->prior[i] = g->d->all_prior[k < g->n_topics ? k : 0];
        g->gamma[i] = 1;
    }
    for (int i = 0; i < PLACES; i++)
        ((REAL *)&g->top)[i] = g->powers[i] = 1;
}

/* Optimises the documents for this algorithm.  Documents in which a mass underflowed are
 * refused: they are then the first entries of `abreast_order`.  Returns their number, or -1
 * if `stop` is set. */
static intptr_t NAME(fit_abreast)(DOCUMENT *d, lda_block *block)
{
    GROUP g = {0};
    g.n_documents = block->longest_abreast < 0 ? 0 : NAME(sort_abreast)(block);
    if (g.n_documents == 0)
        return 0;
    g.d = d;
    NAME(lay_out_abreast)(&g, block);
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
#undef GROUP
#endif
