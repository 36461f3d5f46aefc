/* Agglomeration by evidence: clusters are merged, two at a time.
 *
 * The evidence of a partition of rows is the sum of the log evidence of its clusters, plus the log
 * evidence of the sizes of the clusters.  It depends only on the statistics of the clusters.  If
 * clusters are merged, their statistics are added, so that no row is visited again. */
#ifndef SKTEMPER_GAUSSIAN_MERGES_H
#define SKTEMPER_GAUSSIAN_MERGES_H

/* The priors are learned again when this share of the clusters is left, and before each of the last
 * merges. */
#define MERGE_SHARE_LEFT 0.7
#define MERGE_LAST 3

/* Clusters, and the gains of merges under fixed priors. */
typedef struct {
    intptr_t n, most, size;              /* clusters now and first, and natural parameters */
    double constant;                     /* log normaliser of the prior */
    double *statistics, *expected, *gains, *likelihoods, *logs, *sizes, *prior, *pairs;
} merge_state;

static void divide_merges(agglomeration_block *a, intptr_t size, merge_state *m)
{
    const intptr_t K = a->ascent.n_components;
    double *end = a->scratch;
    m->n = m->most = K;
    m->size = size;
    m->statistics = room_for(&end, K * size);
    m->expected = room_for(&end, K * size);
    m->gains = room_for(&end, K * K);
    m->likelihoods = room_for(&end, K * K);
    m->logs = room_for(&end, K);
    m->sizes = room_for(&end, K);
    m->prior = room_for(&end, size);
    m->pairs = room_for(&end, 2 * K);
}

/* Replaces the learned priors by those of the clusters; returns whether they are ill-defined. */
static int learn_from_clusters(ascent_block *b, const merge_state *m)
{
    double *present = b->present;
    b->n_components = m->n;
    for (intptr_t k = 0; k < m->n; k++) {
        b->counts[k] = m->statistics[k * m->size];
        for (intptr_t e = 0; e < m->size; e++)
            b->new_components[k * m->size + e] = m->prior[e] + m->statistics[k * m->size + e];
    }
    if (usual_of(b, b->new_components, &b->next))
        return 1;
    if (m->n > 1) {
        if (learn_priors(b, &b->next, -1))
            return 1;
        copy_priors(b, b->learnt, present);
        return 0;
    }
    if (b->learned & LEARNS_PRECISION)
        present[PRECISION] = 1;
    if (b->learned & LEARNS_FREEDOM)
        present[FREEDOM] = b->least + FREE_DEGREES;
    for (intptr_t e = 0; e < b->entries && b->learned & LEARNS_COVARIANCE; e++)
        present[COVARIANCE + e] =
            present[FREEDOM] * (b->next.inverse[e] / b->next.freedom[0]);
    if (b->learned & LEARNS_COVARIANCE)
        keep_allowed(b, present + COVARIANCE);
    return 0;
}

/* Computes the natural parameters of the prior, and its log normaliser. */
static int prior_of_clusters(ascent_block *b, merge_state *m)
{
    b->n_components = 1;
    b->counts[0] = 0;
    memset(b->sums, 0, (size_t)b->n_features * sizeof(double));
    memset(b->second, 0, (size_t)b->stored * sizeof(double));
    target_components(b, b->present, 1, m->prior);
    if (usual_prior(b, b->present))
        return 1;
    m->constant = log_normaliser_at(b, &b->prior, 0);
    return 0;
}

/* Computes E u of the components in `now`, see `NormalWishartFamily.expected`. */
static void expected_of_clusters(const ascent_block *b, const merge_state *m)
{
    const intptr_t D = b->n_features;
    const usual_form *q = &b->now;
    double *scale = b->matrices;
    for (intptr_t k = 0; k < m->n; k++) {
        const double *factors = q->factors + k * b->n_factors, *means = q->means + k * D;
        const double nu = q->freedom[k];
        double *own = m->expected + k * m->size, *second = own + 1 + D, square = 0;
        memset(scale, 0, (size_t)(D * D) * sizeof(double));
        for (intptr_t i = 0; i < D && !b->is_full; i++)
            scale[i * D + i] = factors[i] * factors[i];
        if (b->is_full)
            add_scale(b, 1, factors, scale);
        for (intptr_t i = 0; i < D; i++) {
            double weighted = 0;
            for (intptr_t j = 0; j < D; j++)
                weighted += scale[i > j ? i * D + j : j * D + i] * means[j];
            own[1 + i] = nu * weighted;
            square += means[i] * weighted;
            for (intptr_t j = i; j < D && b->is_full; j++)
                *second++ = (i == j ? -0.5 : -1.0) * nu * scale[j * D + i];
        }
        own[0] = -0.5 * (D / q->precision[k] + nu * square);
        for (intptr_t e = 0; e < b->stored && !b->is_full; e++)
            *second++ = -0.5 * (double)(D / b->stored) * nu * scale[e * D + e];
        *second = 0.5 * (q->log_precisions[k] - D * LOG_TWO_PI);
    }
}

/* The gain of a merge of two clusters; -HUGE_VAL if they are not merged. */
static double *gain_of(const merge_state *m, intptr_t i, intptr_t k)
{
    return m->gains + (i < k ? i * m->most + k : k * m->most + i);
}

/* Computes the gains of merges of some pairs; returns whether a merged cluster is ill-defined. */
static int gains_of_pairs(ascent_block *b, const merge_state *m, intptr_t n_pairs)
{
    for (intptr_t p = 0; p < n_pairs; p++) {
        const double *first = m->statistics + (intptr_t)m->pairs[2 * p] * m->size;
        const double *second = m->statistics + (intptr_t)m->pairs[2 * p + 1] * m->size;
        for (intptr_t e = 0; e < m->size; e++)
            b->new_components[p * m->size + e] = m->prior[e] + first[e] + second[e];
    }
    if (log_normalisers_of(b, n_pairs, b->new_components, m->sizes))
        return 1;
    for (intptr_t p = 0; p < n_pairs; p++) {
        const intptr_t first = (intptr_t)m->pairs[2 * p];
        const intptr_t second = (intptr_t)m->pairs[2 * p + 1];
        *gain_of(m, first, second) =
            m->sizes[p] + m->constant - m->logs[first] - m->logs[second];
    }
    return 0;
}

/* Computes the gains that are 0; returns whether a merged cluster is ill-defined. */
static int fill_gains(ascent_block *b, const merge_state *m)
{
    intptr_t n_pairs = 0;
    for (intptr_t i = 0; i < m->n; i++)
        for (intptr_t k = i + 1; k < m->n; k++) {
            if (*gain_of(m, i, k) == 0) {
                m->pairs[2 * n_pairs] = (double)i;
                m->pairs[2 * n_pairs++ + 1] = (double)k;
            }
            if (n_pairs == m->most) {
                if (gains_of_pairs(b, m, n_pairs))
                    return 1;
                n_pairs = 0;
            }
        }
    return n_pairs && gains_of_pairs(b, m, n_pairs);
}

/* Computes the evidence of clusters, and the gains of merges of near clusters. */
static int begin_merges(ascent_block *b, merge_state *m)
{
    const intptr_t n = m->n, most = m->most;
    for (intptr_t k = 0; k < n; k++)
        for (intptr_t e = 0; e < m->size; e++)
            b->new_components[k * m->size + e] = m->prior[e] + m->statistics[k * m->size + e];
    if (log_normalisers_of(b, n, b->new_components, m->logs))
        return 1;
    expected_of_clusters(b, m);
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t k = 0; k < n; k++) {
            double sum = 0;
            for (intptr_t e = 0; e < m->size; e++)
                sum += m->statistics[i * m->size + e] * m->expected[k * m->size + e];
            m->likelihoods[i * most + k] = i == k ? -HUGE_VAL : sum;
            m->gains[i * most + k] = -HUGE_VAL;
        }
    for (intptr_t i = 0; i < n; i++)
        for (int near = 0; near < MERGE_NEIGHBOURS && near < n - 1; near++) {
            double *own = m->likelihoods + i * most;
            intptr_t best = i == 0;
            for (intptr_t k = 0; k < n; k++)
                best = own[k] > own[best] ? k : best;
            own[best] = -HUGE_VAL;
            *gain_of(m, i, best) = 0;
        }
    return fill_gains(b, m);
}

/* Returns the log evidence of the clusters. */
static double evidence_of_clusters(const agglomeration_block *a, const merge_state *m)
{
    const double concentration = a->ascent.concentration;
    double evidence = 0, behind = 0;
    for (intptr_t k = 0; k < m->n; k++) { /* in increasing order */
        const double own = m->statistics[k * m->size];
        intptr_t place = k;
        for (; place > 0 && m->sizes[place - 1] > own; place--)
            m->sizes[place] = m->sizes[place - 1];
        m->sizes[place] = own;
        evidence += m->logs[k] - m->constant;
    }
    for (intptr_t k = m->n - a->n_weights; k < m->n; k++) {
        const double size = k < 0 ? 0 : m->sizes[k];
        evidence += a->ascent.sticks ? log_beta(1 + size, concentration + behind)
                                     : ascent_log_gamma(concentration + size);
        behind += size;
    }
    return evidence;
}

/* Merges the pair with the largest gain; returns whether a cluster is ill-defined. */
static int merge_best(ascent_block *b, merge_state *m)
{
    const intptr_t n = m->n, most = m->most;
    intptr_t first = 0, second = 1;
    for (intptr_t i = 0; i < n; i++)
        for (intptr_t k = i + 1; k < n; k++)
            if (*gain_of(m, i, k) > *gain_of(m, first, second)) {
                first = i;
                second = k;
            }
    for (intptr_t k = 0; k < n; k++) /* gains to compute again */
        if (k != first && k != second
            && (*gain_of(m, k, first) > -HUGE_VAL || *gain_of(m, k, second) > -HUGE_VAL))
            *gain_of(m, k, first) = 0;
    double *whole = m->statistics + first * m->size, *part = m->statistics + second * m->size;
    for (intptr_t e = 0; e < m->size; e++)
        whole[e] += part[e];
    memmove(part, part + m->size, (size_t)((n - 1 - second) * m->size) * sizeof(double));
    for (intptr_t k = second; k < n - 1; k++)
        m->logs[k] = m->logs[k + 1];
    for (intptr_t i = 0; i < n - 1; i++)
        for (intptr_t k = 0; k < n - 1; k++)
            m->gains[i * most + k] = m->gains[(i + (i >= second)) * most + k + (k >= second)];
    m->n = n - 1;
    for (intptr_t e = 0; e < m->size; e++)
        b->new_components[e] = m->prior[e] + whole[e];
    if (log_normalisers_of(b, 1, b->new_components, m->logs + first))
        return 1;
    return fill_gains(b, m);
}

/* Merges clusters until the evidence has fallen by one nat per row, and writes the best partition;
 * returns whether one is ill-defined. */
static int agglomerate(agglomeration_block *a)
{
    ascent_block *b = &a->ascent;
    merge_state m;
    double most = -HUGE_VAL, left = HUGE_VAL, total = 0;
    divide_room(b);
    copy_priors(b, b->hyper, b->present);
    divide_merges(a, b->natural, &m);
    memcpy(m.statistics, a->statistics, (size_t)(m.n * m.size) * sizeof(double));
    for (intptr_t k = 0; k < m.n; k++)
        total += m.statistics[k * m.size];
    if (prior_of_clusters(b, &m))
        return 1;
    while (1) {
        if (m.n <= MERGE_LAST || (double)m.n <= MERGE_SHARE_LEFT * left) {
            if (learn_from_clusters(b, &m) || prior_of_clusters(b, &m) || begin_merges(b, &m))
                return 1;
            left = (double)m.n;
        }
        const double evidence = evidence_of_clusters(a, &m);
        if (evidence > most) {
            most = evidence;
            a->n_best = m.n;
            memcpy(a->statistics, m.statistics, (size_t)(m.n * m.size) * sizeof(double));
            copy_priors(b, b->present, b->hyper);
        }
        if (m.n <= a->least || most - evidence > total)
            break;
        if (merge_best(b, &m))
            return 1;
    }
    a->evidence = most;
    return 0;
}
#endif

/* Returns whether a cluster is ill-defined. */
LOOP int NAME(gaussian_agglomeration)(agglomeration_block *a) { return agglomerate(a); }
