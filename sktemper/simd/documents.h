/* The local step of latent Dirichlet allocation (MATH: gamma, phi, b) for one floating
 * type, over the loops of `loops.h`. */

#define DOCUMENT NAME(document)

typedef struct {
    const lda_block *block;
    intptr_t n_words, n_topics, width;
    intptr_t n_places;       /* n_topics in whole PANELs: loops have no remainder */
    const REAL *rows;        /* exp(b E log beta), scaled */
    const intptr_t *slots;   /* of each word, its row */
    const intptr_t *words;   /* of each word, its place in block->words */
    REAL *counts;            /* padded with zeros */
    double b;
    const REAL *prior;       /* padded with ones, as gamma is */
    REAL *gamma;
    REAL *weights;           /* exp(b E log theta), scaled by exp(-log_scale) */
    double log_scale;
    REAL *sums;
    REAL *ratios;            /* count / mass, or 0 where the mass underflowed */
    REAL *mass;              /* the normalisers of phi, scaled */
    const REAL *zeros;       /* a row of them */
    double *phi;             /* of one word that underflowed */
    /* while topics are left out: */
    int may_drop;
    int32_t *kept;           /* those that are not; NULL: all */
    REAL *panels;            /* their rows, PANEL words side by side */
    REAL *all_gamma;
    const REAL *all_prior;
} DOCUMENT;

/* Up to so many topics, panels are better than rows for every iteration. */
#define FEW_TOPICS 48
/* Words of a panel, whose entries of a topic are one SIMD_BYTES. */
#define PANEL ((int)(SIMD_BYTES / sizeof(REAL)))

/* Fills the last places of n topics, which then stay as they are. */
static intptr_t NAME(pad)(intptr_t n, REAL *gamma, REAL *prior)
{
    for (; n % PANEL; n++)
        gamma[n] = prior[n] = 1;
    return n;
}

/* phi of a word whose mass underflowed, computed in logarithms; returns the log of its
 * normaliser (less the digamma(sum gamma) that all share).  Rare: words whose only topics
 * the document lacks. */
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

/* ratio = count / mass.  A mass too small to divide by gives 0: that word is then
 * handled in logarithms.  Returns how many there were. */
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

#ifdef VECTOR_BYTES
/* Vectors of the instruction set, at any address. */
#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))
#define FEW (LANES < 4 ? LANES : 4)
#define PARTS (SIMD_BYTES / VECTOR_BYTES)
/* Panels that are swept at once, while registers last. */
#define MOST (VECTOR_BYTES / 16)
#define VECTOR NAME(vector)
#define MASK NAME(mask)
typedef REAL VECTOR __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)),
                                   may_alias));
typedef INTEGER MASK __attribute__((vector_size(VECTOR_BYTES)));

/* The sums of `n` vectors, in order: neighbours are added, within and between vectors,
 * until one vector is left.  It has LANES places; zeros fill those from n on. */
ALWAYS_INLINE VECTOR NAME(sums_of)(VECTOR *v, int n)
{
    for (int left = LANES; left > 1; left /= 2, n = (n + 1) / 2)
        for (int i = 0; 2 * i < n; i++) {
            const VECTOR next = 2 * i + 1 < n ? v[2 * i + 1] : (VECTOR){0};
            v[i] = ADD_NEIGHBOURS(v[2 * i], next);
        }
    return v[0];
}

/* Words n .. n + m of a sweep: their masses, and sums += ratio * row while the rows
 * are in the first cache.  Places behind the last word hold rows and counts of 0. */
ALWAYS_INLINE int NAME(sweep_rows)(DOCUMENT *d, intptr_t n, const int m)
{
    /* copies in registers: what VECTORs point to may alias anything */
    const intptr_t width = d->width;
    const REAL *weights = d->weights, *row[LANES];
    REAL *sums = d->sums, mass[LANES], ratio[LANES];
    VECTOR v[LANES];
    for (int j = 0; j < m; j++) {
        row[j] = n + j < d->n_words ? d->rows + d->slots[n + j] * width : d->zeros;
        v[j] = (VECTOR){0};
    }
    for (intptr_t k = 0; k < width; k += LANES) {
        const VECTOR w = *(const VECTOR *)(weights + k);
        for (int j = 0; j < m; j++)
            v[j] += w * *(const VECTOR *)(row[j] + k);
    }
    *(VECTOR *)mass = NAME(sums_of)(v, m);
    const int underflown = NAME(count_ratios)(m, d->counts + n, mass, ratio);
    for (int j = 0; j < m; j++) {
        d->mass[n + j] = mass[j];
        d->ratios[n + j] = ratio[j];
    }
    for (intptr_t k = 0; k < width; k += LANES) {
        VECTOR even = (VECTOR){0}, odd = (VECTOR){0};
        for (int j = 0; j < m; j += 2) {
            even += ratio[j] * *(const VECTOR *)(row[j] + k);
            odd += ratio[j + 1] * *(const VECTOR *)(row[j + 1] + k);
        }
        /* one rounding to the digits of a long document's sum, not m */
        *(VECTOR *)(sums + k) += even + odd;
    }
    return underflown;
}

/* sums = sum_n ratio_n row_n, with the ratios at the present weights.  FEW rows at a
 * time at the end of a document, and where LANES of them overflow the first cache. */
static intptr_t NAME(sweep)(DOCUMENT *d)
{
    intptr_t underflown = 0, n = 0;
    for (intptr_t k = 0; k < d->width; k++)
        d->sums[k] = 0;
    if (d->width * LANES * sizeof(REAL) <= FIRST_CACHE)
        for (; n + LANES <= d->n_words; n += LANES)
            underflown += NAME(sweep_rows)(d, n, LANES);
    for (; n < d->n_words; n += FEW)
        underflown += NAME(sweep_rows)(d, n, FEW);
    return underflown;
}
/* The same over m panels at once, where no sum of a mass is across a vector. */
ALWAYS_INLINE void NAME(sweep_some)(DOCUMENT *d, intptr_t n, const VECTOR *panel,
                                    const int m, MASK *underflown)
{
    const intptr_t n_topics = d->n_topics;
    const REAL *weights = d->weights;
    VECTOR *totals = d->block->panel_sums, even[MOST * PARTS], odd[MOST * PARTS];
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
            const MASK fine = (MASK)(mass > (VECTOR){0} + TINY_MASS);
            ratio[p * PARTS + i] = (VECTOR)((MASK)(counts / mass) & fine);
            *underflown |= ~fine & (MASK)(counts > (VECTOR){0});
        }
    for (k = 0; k < n_topics; k++)
        for (int i = 0; i < PARTS; i++) {
            VECTOR total = totals[k * PARTS + i];
            for (int p = 0; p < m; p++)
                total += ratio[p * PARTS + i] * at[p][k * PARTS + i];
            totals[k * PARTS + i] = total;
        }
}

static intptr_t NAME(sweep_panels)(DOCUMENT *d)
{
    const intptr_t n_topics = d->n_topics, whole = d->n_words - (MOST - 1) * PANEL;
    const VECTOR *panel = (const VECTOR *)d->panels;
    VECTOR *totals = d->block->panel_sums;
    MASK underflown = {0};
    intptr_t n = 0;
    for (intptr_t i = 0; i < n_topics * PARTS; i++)
        totals[i] = (VECTOR){0};
    for (; n < whole; n += MOST * PANEL, panel += MOST * n_topics * PARTS)
        NAME(sweep_some)(d, n, panel, MOST, &underflown);
    for (; n < d->n_words; n += PANEL, panel += n_topics * PARTS)
        NAME(sweep_some)(d, n, panel, 1, &underflown);
    intptr_t k = 0;
    for (; k < n_topics; k += LANES) {
        VECTOR sums[LANES];
        const int m = n_topics - k < LANES ? (int)(n_topics - k) : LANES;
        for (int j = 0; j < m; j++) {
            sums[j] = totals[(k + j) * PARTS];
            for (int i = 1; i < PARTS; i++)
                sums[j] += totals[(k + j) * PARTS + i];
        }
        *(VECTOR *)(d->sums + k) = NAME(sums_of)(sums, m);
    }
    for (; k < d->n_places; k++)
        d->sums[k] = 0;
    intptr_t any = 0;
    for (int i = 0; i < LANES; i++)
        any |= underflown[i] != 0;
    return any;
}
#undef VECTOR
#undef PARTS
#undef MOST
#undef MASK
#undef LANES
#undef FEW
#else
static intptr_t NAME(sweep_panels)(DOCUMENT *d)
{
    const intptr_t n_topics = d->n_topics;
    const REAL *restrict w = d->weights, *restrict panel = d->panels;
    REAL *restrict sums = d->sums;
    intptr_t underflown = 0;
    for (intptr_t k = 0; k < d->n_places; k++)
        sums[k] = 0;
    for (intptr_t n = 0; n < d->n_words; n += PANEL, panel += n_topics * PANEL) {
        REAL mass[PANEL] = {0};
        for (intptr_t k = 0; k < n_topics; k++)
            for (int i = 0; i < PANEL; i++)
                mass[i] += w[k] * panel[k * PANEL + i];
        underflown += NAME(count_ratios)(PANEL, d->counts + n, mass, d->ratios + n);
        for (intptr_t k = 0; k < n_topics; k++) {
            REAL sum = 0;
            VECTORISE_REDUCTION(+ : sum)
            for (int i = 0; i < PANEL; i++)
                sum += d->ratios[n + i] * panel[k * PANEL + i];
            sums[k] += sum;
        }
    }
    return underflown;
}

static intptr_t NAME(sweep)(DOCUMENT *d)
{
    const intptr_t width = d->width;
    const REAL *restrict w = d->weights;
    REAL *restrict sums = d->sums;
    REAL *restrict partial = (REAL *)d->block->topic_scratch + 2 * width;
    intptr_t underflown = 0;
    for (intptr_t k = 0; k < width; k++)
        sums[k] = partial[k] = 0;
    for (intptr_t n = 0; n < d->n_words; n++) {
        const REAL *restrict row = d->rows + d->slots[n] * width;
        REAL mass = 0;
        VECTORISE_REDUCTION(+ : mass)
        for (intptr_t k = 0; k < width; k++)
            mass += w[k] * row[k];
        d->mass[n] = mass;
        underflown += NAME(count_ratios)(1, d->counts + n, &mass, d->ratios + n);
        const REAL ratio = d->ratios[n];
        VECTORISE
        for (intptr_t k = 0; k < width; k++)
            partial[k] += ratio * row[k];
        /* few words at a time: the sum of a long document keeps its digits */
        for (intptr_t k = 0; (n % PANEL == PANEL - 1 || n + 1 == d->n_words) && k < width;
             k++) {
            sums[k] += partial[k];
            partial[k] = 0;
        }
    }
    return underflown;
}
#endif

/* gamma = prior + b sum_n count_n phi_n; returns sum |change|. */
static double NAME(update_gamma)(DOCUMENT *d, intptr_t underflown)
{
    const REAL b = (REAL)d->b;
    const REAL *restrict prior = d->prior;
    const REAL *restrict w = d->weights;
    REAL *restrict sums = d->sums;
    REAL *restrict gamma = d->gamma;
    const intptr_t n_places = d->n_places;
    VECTORISE
    for (intptr_t k = 0; k < n_places; k++)
        sums[k] *= w[k];
    for (intptr_t n = 0; underflown && n < d->n_words; n++)
        if (d->ratios[n] == 0 && d->counts[n] > 0) {
            NAME(underflown_phi)(d, d->words[n]);
            for (intptr_t k = 0; k < d->n_topics; k++)
                sums[k] += (REAL)(d->counts[n] * d->phi[k]);
        }
    REAL change = 0;
    VECTORISE_REDUCTION(+ : change)
    for (intptr_t k = 0; k < n_places; k++) {
        const REAL new = prior[k] + b * sums[k];
        const REAL difference = new - gamma[k];
        change += difference < 0 ? -difference : difference;
        gamma[k] = new;
    }
    return (double)change;
}

static void NAME(update_weights)(DOCUMENT *d)
{
    const REAL top = NAME(largest)(d->n_topics, d->gamma);
    d->log_scale = NAME(exp_digamma_below)(d->n_places, top, d->gamma, d->b, d->weights);
}

/* The topics with more than next to nothing of the document. */
static intptr_t NAME(choose_topics)(const DOCUMENT *d, int32_t *restrict chosen)
{
    const REAL least = 1 + (REAL)d->block->drop_tol;
    const REAL *restrict prior = d->prior, *restrict gamma = d->gamma;
    INTEGER n = 0, m = 0;
    VECTORISE_REDUCTION(+ : n)
    for (intptr_t k = 0; k < d->n_places; k++)
        n += gamma[k] > least * prior[k];
    /* rows are dear to lay side by side, panels cheap to narrow */
    const intptr_t most = d->kept ? 3 * d->n_topics / 4 : d->n_topics / 4;
    if (n == 0 || (n > most && (d->kept || n > FEW_TOPICS)))
        return 0;
    for (intptr_t k = 0; k < d->n_topics; k++) {
        chosen[m] = (int32_t)k;
        m += gamma[k] > least * prior[k];
    }
    return n;
}

/* Panels of the chosen topics, from rows or, in place, from panels of more topics: no
 * entry moves back. */
static void NAME(fill_panels)(DOCUMENT *d, const int32_t *restrict chosen, intptr_t n)
{
    REAL *panel = d->block->kept_rows;
    const REAL *wide = d->panels;
    for (intptr_t start = 0; start < d->n_words; start += PANEL, panel += n * PANEL) {
        const REAL *row[PANEL];
        for (intptr_t j = 0; d->kept && j < n; j++)
            memmove(panel + j * PANEL, wide + chosen[j] * PANEL, SIMD_BYTES);
        wide += d->n_topics * PANEL;
        if (d->kept)
            continue;
        for (int i = 0; i < PANEL; i++)
            row[i] = start + i < d->n_words ? d->rows + d->slots[start + i] * d->width
                                            : d->zeros;
        for (intptr_t j = 0; j < n; j++)
            for (int i = 0; i < PANEL; i++)
                panel[j * PANEL + i] = row[i][chosen[j]];
    }
    d->panels = d->block->kept_rows;
}

/* Leaves out all but the chosen topics. */
static void NAME(keep_topics)(DOCUMENT *d, const int32_t *restrict chosen, intptr_t n)
{
    const lda_block *block = d->block;
    REAL *gamma = block->kept_gamma, *prior = gamma + d->width;
    NAME(fill_panels)(d, chosen, n);
    for (intptr_t k = 0; d->kept && k < d->n_topics; k++)
        d->all_gamma[d->kept[k]] = d->gamma[k];
    for (intptr_t j = 0; j < n; j++) {
        gamma[j] = d->gamma[chosen[j]];
        prior[j] = d->prior[chosen[j]];
        block->kept_topics[j] = d->kept ? d->kept[chosen[j]] : chosen[j];
    }
    d->kept = block->kept_topics;
    d->gamma = gamma;
    d->prior = prior;
    d->n_topics = n;
    d->n_places = NAME(pad)(n, gamma, prior);
}

/* Leaves out the topics with next to nothing of the document, once they are most. */
static void NAME(drop_topics)(DOCUMENT *d)
{
    int32_t *chosen = d->block->kept_topics + d->block->width;
    const intptr_t n = NAME(choose_topics)(d, chosen);
    if (n)
        NAME(keep_topics)(d, chosen, n);
}

/* Few topics are swept in panels from the start. */
static void NAME(keep_few_topics)(DOCUMENT *d)
{
    int32_t *all = d->block->kept_topics + d->block->width;
    for (intptr_t k = 0; k < d->n_topics; k++)
        all[k] = (int32_t)k;
    NAME(keep_topics)(d, all, d->n_topics);
}

/* Takes all topics in again. */
static void NAME(take_all_topics)(DOCUMENT *d)
{
    for (intptr_t k = 0; k < d->n_topics; k++)
        d->all_gamma[d->kept[k]] = d->gamma[k];
    d->kept = 0;
    d->gamma = d->all_gamma;
    d->prior = d->all_prior;
    d->n_topics = d->block->n_topics;
    d->n_places = d->width;
    NAME(update_weights)(d);
}

/* After a sweep over all topics: brings those up to date that were left out; returns
 * whether one that had nothing would have something now. */
static int NAME(has_revived)(DOCUMENT *d)
{
    const REAL tol = (REAL)d->block->drop_tol, b = (REAL)d->b;
    int revived = 0;
    for (intptr_t k = 0; k < d->n_topics; k++) {
        const REAL prior = d->prior[k], tokens = b * d->weights[k] * d->sums[k];
        const int left_out = d->gamma[k] <= prior * (1 + tol);
        revived |= left_out && tokens > 100 * tol * prior;
        d->gamma[k] = left_out ? prior + tokens : d->gamma[k];
    }
    if (revived)
        NAME(update_weights)(d);
    return revived;
}

static intptr_t NAME(iterate)(DOCUMENT *d, intptr_t max_iter)
{
    intptr_t iteration = 0;
    double change = INFINITY;
    while (iteration < max_iter && change >= d->block->tol) {
        if (*d->block->stop)
            return -1;
        const intptr_t underflown = d->kept ? NAME(sweep_panels)(d) : NAME(sweep)(d);
        if (underflown)
            d->may_drop = 0;
        if (underflown && d->kept) {
            NAME(take_all_topics)(d);
            continue;
        }
        change = NAME(update_gamma)(d, underflown) / (double)d->block->n_topics;
        if (d->may_drop)
            NAME(drop_topics)(d);
        NAME(update_weights)(d);
        iteration++;
    }
    return iteration;
}

/* Brings gamma to its optimum; returns the number of iterations.  Ends with the weights,
 * and if `sweep` also the masses and ratios, of all topics at that gamma. */
static intptr_t NAME(fit_document)(DOCUMENT *d, intptr_t max_iter, int sweep)
{
    if (max_iter > 0 && d->n_topics <= FEW_TOPICS)
        NAME(keep_few_topics)(d);
    NAME(update_weights)(d);
    intptr_t iterations = NAME(iterate)(d, max_iter);
    if (iterations >= 0 && d->kept) {
        NAME(take_all_topics)(d);
        if (!sweep && d->block->drop_tol == 0)
            return iterations;
        NAME(sweep)(d);
        if (d->block->drop_tol == 0 || !NAME(has_revived)(d))
            return iterations;
        d->may_drop = 0;
        const intptr_t more = NAME(iterate)(d, max_iter - iterations);
        iterations = more < 0 ? -1 : iterations + more;
    }
    if (iterations >= 0 && sweep)
        NAME(sweep)(d);
    return iterations;
}

/* b E log p(x, z) + H(z) at the final gamma, to which every word gives count
 * log(normaliser). */
static double NAME(words_bound)(DOCUMENT *d)
{
    const double *restrict row_tops = d->block->row_tops;
    const REAL *restrict counts = d->counts, *restrict ratios = d->ratios;
    const REAL *restrict mass = d->mass;
    const intptr_t *restrict words = d->words;
    const double b = d->b, log_scale = d->log_scale;
    double bound = 0;
    VECTORISE_REDUCTION(+ : bound)
    for (intptr_t n = 0; n < d->n_words; n++) {
        const double m = ratios[n] == 0 ? 1 : (double)mass[n];
        const double count = ratios[n] == 0 ? 0 : (double)counts[n];
        bound += count * (log_f64(m) + log_scale + b * row_tops[words[n]]);
    }
    for (intptr_t n = 0; n < d->n_words; n++)
        if (ratios[n] == 0 && counts[n] > 0)
            bound += counts[n] * NAME(underflown_phi)(d, d->words[n]);
    return bound;
}

/* statistics[word] += weight count phi, with phi at the final gamma. */
static void NAME(add_own_statistics)(DOCUMENT *d, double weight)
{
    const intptr_t width = d->width;
    const REAL *restrict w = d->weights;
    for (intptr_t n = 0; n < d->n_words; n++) {
        REAL *restrict sum = (REAL *)d->block->statistics + d->words[n] * width;
        if (d->ratios[n] == 0 && d->counts[n] > 0) {
            NAME(underflown_phi)(d, d->words[n]);
            for (intptr_t k = 0; k < d->n_topics; k++)
                sum[k] += (REAL)(weight * d->counts[n] * d->phi[k]);
            continue;
        }
        const REAL factor = (REAL)weight * d->ratios[n];
        const REAL *restrict row = d->rows + d->slots[n] * width;
        VECTORISE
        for (intptr_t k = 0; k < width; k++)
            sum[k] += factor * w[k] * row[k];
    }
}

/* The topics that have all but a negligible share of the document, if they are few:
 * together the others have less than NEGLIGIBLE of it. */
static intptr_t NAME(few_topics)(const DOCUMENT *d, int32_t *restrict chosen)
{
    const REAL *restrict w = d->weights, *restrict sums = d->sums;
    REAL total = 0;
    INTEGER n = 0, m = 0;
    if (d->block->drop_tol == 0)
        return 0;
    VECTORISE_REDUCTION(+ : total)
    for (intptr_t k = 0; k < d->width; k++)
        total += w[k] * sums[k];
    const REAL least = total * NEGLIGIBLE / (REAL)d->n_topics;
    VECTORISE_REDUCTION(+ : n)
    for (intptr_t k = 0; k < d->width; k++)
        n += w[k] * sums[k] > least;
    if (n * PANEL > d->width)
        return 0;
    for (intptr_t k = 0; k < d->n_topics; k++) {
        chosen[m] = (int32_t)k;
        m += w[k] * sums[k] > least;
    }
    return n;
}

/* Where all documents share the rows, a row is a factor of its word's statistics: they
 * wait for it as pairs of a document and weight * ratio, in the order of the words.  Of
 * a word that underflowed the pair is the complement and weight * count. */
static void NAME(note_statistics)(DOCUMENT *d, intptr_t i, double weight)
{
    const lda_block *block = d->block;
    REAL *shares = (REAL *)block->shares + i * d->width, *ratios = block->noted_ratios;
    int32_t *topics = block->share_topics + i * d->width;
    const intptr_t few = NAME(few_topics)(d, topics);
    block->n_shares[i] = few;
    for (intptr_t j = 0; j < few; j++)
        shares[j] = d->weights[topics[j]];
    if (!few)
        memcpy(shares, d->weights, d->width * sizeof(REAL));
    for (intptr_t n = 0; n < d->n_words; n++) {
        const int underflown = d->ratios[n] == 0 && d->counts[n] > 0;
        const intptr_t place = block->places[d->words[n]]++;
        block->noted_documents[place] = (int32_t)(underflown ? ~i : i);
        ratios[place] = (REAL)weight * (underflown ? d->counts[n] : d->ratios[n]);
    }
}

/* Where the pairs of each word begin. */
static void NAME(find_places)(const lda_block *block)
{
    intptr_t *places = block->places, total = 0;
    for (intptr_t v = 0; v < block->n_words; v++)
        places[v] = 0;
    for (intptr_t i = 0; i < block->n_documents; i++)
        for (intptr_t n = block->starts[i]; n < block->starts[i + 1]; n++)
            places[block->slots[n]] += !(block->sampled && block->sampled[i]);
    for (intptr_t v = 0; v < block->n_words; v++) {
        const intptr_t n = places[v];
        places[v] = total;
        total += n;
    }
}

/* statistics of a word += weight count phi of the documents in which it underflowed. */
static void NAME(add_underflown)(DOCUMENT *d, intptr_t word, intptr_t start, intptr_t stop)
{
    const lda_block *block = d->block;
    REAL *sum = (REAL *)block->statistics + word * d->width;
    for (intptr_t e = start; e < stop; e++) {
        const intptr_t i = ~block->noted_documents[e];
        if (i < 0)
            continue;
        d->gamma = (REAL *)block->gamma + i * d->n_topics;
        NAME(underflown_phi)(d, word);
        for (intptr_t k = 0; k < d->n_topics; k++)
            sum[k] += ((const REAL *)block->noted_ratios)[e] * (REAL)d->phi[k];
    }
}

/* The statistics of all words, from what was noted; they may be where the rows are. */
static void NAME(collect_statistics)(DOCUMENT *d)
{
    const lda_block *block = d->block;
    const intptr_t width = d->width;
    const REAL *ratios = block->noted_ratios;
    REAL *restrict sums = d->sums;
    for (intptr_t v = 0, start = 0; v < block->n_words; v++) {
        const intptr_t stop = block->places[v];
        int underflown = 0;
        for (intptr_t k = 0; k < width; k++)
            sums[k] = 0;
        for (intptr_t e = start; e < stop; e++) {
            const REAL ratio = ratios[e];
            const intptr_t i = block->noted_documents[e];
            if (i < 0) {
                underflown = 1;
                continue;
            }
            const REAL *restrict shares = (const REAL *)block->shares + i * width;
            const int32_t *restrict topics = block->share_topics + i * width;
            const intptr_t few = block->n_shares[i];
            for (intptr_t j = 0; j < few; j++)
                sums[topics[j]] += ratio * shares[j];
            if (few)
                continue;
            VECTORISE
            for (intptr_t k = 0; k < width; k++)
                sums[k] += ratio * shares[k];
        }
        const REAL *row = d->rows + v * width;
        REAL *sum = (REAL *)block->statistics + v * width;
        if (block->sampled)
            for (intptr_t k = 0; k < width; k++)
                sum[k] += sums[k] * row[k];
        else
            VECTORISE
            for (intptr_t k = 0; k < width; k++)
                sum[k] = sums[k] * row[k];
        if (underflown)
            NAME(add_underflown)(d, v, start, stop);
        start = stop;
    }
}

/* E log p(theta) - E log q(theta) less the prior's normaliser, and the part of
 * E log p(z | theta) that all words share. */
static double NAME(theta_bound)(const DOCUMENT *d, double *scratch)
{
    const intptr_t n_topics = d->n_topics;
    const double *prior = d->block->doc_topic_prior;
    double *digammas = scratch, *log_gammas = scratch + n_topics;
    double total = 0, tokens = 0, bound = 0, digamma_total, log_gamma_total;
    for (intptr_t k = 0; k < n_topics; k++) {
        digammas[k] = d->gamma[k];
        total += digammas[k];
    }
    for (intptr_t n = 0; n < d->n_words; n++)
        tokens += d->counts[n];
    log_gamma_f64(n_topics, digammas, log_gammas);
    digamma_f64(n_topics, digammas, digammas);
    log_gamma_f64(1, &total, &log_gamma_total);
    digamma_total = digamma_one_f64(total);
    for (intptr_t k = 0; k < n_topics; k++)
        bound += (prior[k] - d->gamma[k]) * (digammas[k] - digamma_total)
                 + log_gammas[k];
    return bound - log_gamma_total - d->b * tokens * digamma_total;
}

static int NAME(lda_local_step)(lda_block *block)
{
    const intptr_t width = block->width, n_topics = block->n_topics;
    REAL *own_rows = block->own_rows;
    DOCUMENT d = {0};
    d.block = block;
    d.n_topics = n_topics;
    d.width = width;
    d.rows = block->temperature_per_document ? own_rows : block->rows;
    d.weights = block->topic_scratch;
    d.sums = (REAL *)block->topic_scratch + width;
    d.ratios = block->word_scratch;
    d.mass = (REAL *)block->word_scratch + block->longest;
    d.counts = d.mass + block->longest;
    d.zeros = d.rows + (block->temperature_per_document ? block->longest : block->n_words)
                           * width;
    d.phi = block->double_scratch;
    REAL *gamma = (REAL *)block->topic_scratch + 4 * width, *prior = gamma + width;
    for (intptr_t k = 0; k < n_topics; k++)
        prior[k] = (REAL)block->doc_topic_prior[k];
    d.all_gamma = gamma;
    d.prior = d.all_prior = prior;
    d.n_places = NAME(pad)(n_topics, gamma, prior);
    block->n_iterations = 0;
    const int noted = block->statistics && !block->temperature_per_document;
    if (block->sampled && NAME(sample_documents)(block))
        return -1;
    if (NAME(fill_rows)(block))
        return -1;
    if (noted)
        NAME(find_places)(block);
    for (intptr_t i = 0; i < block->n_documents; i++) {
        const intptr_t start = block->starts[i];
        d.n_words = block->starts[i + 1] - start;
        const REAL *counts = (const REAL *)block->counts + start;
        for (intptr_t n = 0; n < d.n_words + (intptr_t)(SIMD_BYTES / sizeof(REAL)); n++)
            d.counts[n] = n < d.n_words ? counts[n] : 0;
        d.words = block->slots + start;
        d.slots = d.words;
        d.gamma = gamma;
        memcpy(gamma, (REAL *)block->gamma + i * n_topics, n_topics * sizeof(REAL));
        d.may_drop = block->drop_tol > 0;
        d.b = block->inverse_temperatures[0];
        if (block->temperature_per_document) {
            d.b = block->inverse_temperatures[i];
            d.slots = block->own_slots;
            for (intptr_t n = 0; n < d.n_words; n++)
                NAME(exp_scaled)(n_topics, (const REAL *)block->rows + d.words[n] * width,
                                 d.b, own_rows + n * width);
        }
        const int sampled = block->sampled && block->sampled[i];
        const int counted = block->statistics && !sampled;
        const intptr_t iterations = NAME(fit_document)(
            &d, sampled ? 0 : block->max_iter, counted || block->bounds);
        if (iterations < 0)
            return -1;
        block->n_iterations += iterations;
        memcpy((REAL *)block->gamma + i * n_topics, gamma, n_topics * sizeof(REAL));
        if (counted && noted)
            NAME(note_statistics)(&d, i, block->weights[i]);
        else if (counted)
            NAME(add_own_statistics)(&d, block->weights[i]);
        if (block->bounds)
            block->bounds[i] = NAME(words_bound)(&d)
                               + NAME(theta_bound)(&d, block->double_scratch + n_topics);
    }
    if (noted)
        NAME(collect_statistics)(&d);
    return 0;
}

/* bounds[d] = sum_n count_n log sum_k E[theta_dk] E[beta_kv]. */
static int NAME(lda_scores)(lda_block *block)
{
    const intptr_t width = block->width, n_topics = block->n_topics;
    REAL *rows = block->rows, *theta = block->topic_scratch;
    for (intptr_t n = 0; n < block->n_words; n++) {
        NAME(mean_row)(block, n, rows + n * width);
        for (intptr_t k = n_topics; k < width; k++)
            rows[n * width + k] = 0;
    }
    for (intptr_t i = 0; i < block->n_documents; i++) {
        const REAL *gamma = (const REAL *)block->gamma + i * n_topics;
        double total = 0, score = 0;
        if (*block->stop)
            return -1;
        for (intptr_t k = 0; k < n_topics; k++)
            total += gamma[k];
        for (intptr_t k = 0; k < n_topics; k++)
            theta[k] = (REAL)(gamma[k] / total);
        for (intptr_t n = block->starts[i]; n < block->starts[i + 1]; n++) {
            const REAL *row = rows + block->slots[n] * width;
            score += (double)((const REAL *)block->counts)[n]
                     * log((double)NAME(weighted_sum)(width, theta, row));
        }
        block->bounds[i] = score;
    }
    return 0;
}

#undef FEW_TOPICS
#undef PANEL
#undef DOCUMENT
