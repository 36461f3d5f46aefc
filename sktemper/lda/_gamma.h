/* The variational iterations of a document, which skip topics that are irrelevant for it. */

/* Adds words whose masses underflowed to the sums.  Their phi is computed in logarithms.
 * First, the sums are multiplied by the weights, and the weights are set to 1. */
static void NAME(add_logarithms)(DOCUMENT *d)
{
    for (intptr_t k = 0; k < d->n_places; k++)
        d->sums[k] *= d->weights[k];
    for (intptr_t n = 0; n < d->n_words; n++)
        if (d->ratios[n] == 0 && d->counts[n] > 0) {
            NAME(underflown_phi)(d, d->words[n]);
            for (intptr_t k = 0; k < d->n_topics; k++)
                d->sums[k] += (REAL)(d->counts[n] * d->phi[k]);
        }
    for (intptr_t k = 0; k < d->n_places; k++)
        d->weights[k] = 1;
}

/* gamma = prior + b sum_n count_n phi_n.  Returns sum |change|, and the number of relevant
 * topics: those whose gamma exceeds the prior by more than the share `drop_tol`. */
static double NAME(update_gamma)(DOCUMENT *d, intptr_t underflown, intptr_t *n_chosen)
{
    const REAL b = (REAL)d->b, least = 1 + (REAL)d->block->drop_tol;
    const REAL *restrict prior = d->prior;
    const REAL *restrict w = d->weights;
    const REAL *restrict sums = d->sums;
    REAL *restrict gamma = d->gamma;
    const intptr_t n_places = d->n_places;
    if (underflown)
        NAME(add_logarithms)(d);
    REAL change = 0, chosen = 0;
    VECTORISE_REDUCTION(+ : change, chosen)
    for (intptr_t k = 0; k < n_places; k++) {
        const REAL tokens = sums[k] * w[k], new = prior[k] + b * tokens;
        const REAL difference = new - gamma[k];
        change += difference < 0 ? -difference : difference;
        chosen += new > least * prior[k] ? 1 : 0;
        gamma[k] = new;
    }
    *n_chosen = (intptr_t)chosen;
    return (double)change;
}

static void NAME(update_weights)(DOCUMENT *d)
{
    const REAL top = NAME(largest)(d->n_topics, d->gamma);
    d->log_scale = NAME(exp_digamma)(d->n_places, top, d->gamma, d->b, d->weights);
}

/* Whether to skip all but n topics.  Panels (see PANEL) are expensive to make from rows, and
 * cheap to make from larger panels. */
static int NAME(are_few)(const DOCUMENT *d, intptr_t n)
{
    if (d->kept)
        return n > 0 && n <= 3 * d->n_topics / 4;
    return n > 0 && (n <= d->n_topics / 4 || n <= FEW_TOPICS);
}

/* Makes panels of the chosen topics from rows, or from panels of more topics.  Panels are
 * made smaller in place, which is safe because no entry moves to a higher address. */
static void NAME(fill_panels)(DOCUMENT *d, const int32_t *restrict chosen, intptr_t n)
{
    REAL *panel = d->block->scratch.kept_rows;
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
    d->panels = d->block->scratch.kept_rows;
}

/* Skips all but the chosen topics from now on. */
static void NAME(keep_topics)(DOCUMENT *d, const int32_t *restrict chosen, intptr_t n)
{
    const lda_block *block = d->block;
    REAL *gamma = block->scratch.kept_gamma, *prior = gamma + d->width;
    NAME(fill_panels)(d, chosen, n);
    for (intptr_t k = 0; d->kept && k < d->n_topics; k++)
        d->all_gamma[d->kept[k]] = d->gamma[k];
    for (intptr_t j = 0; j < n; j++) {
        gamma[j] = d->gamma[chosen[j]];
        prior[j] = d->prior[chosen[j]];
        block->scratch.kept_topics[j] = d->kept ? d->kept[chosen[j]] : chosen[j];
    }
    d->kept = block->scratch.kept_topics;
    d->gamma = gamma;
    d->prior = prior;
    d->n_topics = n;
    d->n_places = NAME(pad)(n, gamma, prior);
}

/* Makes panels of topics whose gamma exceeds `least` times the prior, and skips all other
 * topics from now on. */
static void NAME(choose_topics)(DOCUMENT *d, REAL least)
{
    const REAL *restrict prior = d->prior, *restrict gamma = d->gamma;
    int32_t *restrict chosen = d->block->scratch.kept_topics + d->block->width;
    intptr_t n = 0;
    for (intptr_t k = 0; k < d->n_topics; k++) {
        chosen[n] = (int32_t)k;
        n += gamma[k] > least * prior[k];
    }
    NAME(keep_topics)(d, chosen, n);
}

/* Stops skipping topics. */
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

/* Updates gamma of skipped topics, after a sweep over all topics.  Returns whether a skipped
 * topic has become relevant. */
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
    intptr_t iteration = 0, n;
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
        change = NAME(update_gamma)(d, underflown, &n) / (double)d->block->n_topics;
        if (d->may_drop && NAME(are_few)(d, n))
            NAME(choose_topics)(d, 1 + (REAL)d->block->drop_tol);
        NAME(update_weights)(d);
        iteration++;
    }
    return iteration;
}

/* Optimises gamma, and returns the number of iterations, or -1 if `stop` is set.  Afterwards,
 * the weights of all topics are those of the final gamma.  If `sweep` is set, the masses and
 * ratios are computed from these weights. */
static intptr_t NAME(fit_document)(DOCUMENT *d, intptr_t max_iter, int sweep)
{
    if (max_iter > 0 && d->n_topics <= FEW_TOPICS)
        NAME(choose_topics)(d, -1); /* all */
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

